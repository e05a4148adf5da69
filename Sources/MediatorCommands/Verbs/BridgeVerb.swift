import ArgumentParser
import Glibc
import MediatorControl

/// `mediatorctl bridge`: what `--host` runs on the other machine.
struct BridgeVerb: LocalVerb {
    static let configuration = CommandConfiguration(
        commandName: "bridge",
        abstract: "Connect standard input and output with the control socket; --host runs this on the other machine.",
        discussion: """
            It is for mediatorctl --host on another machine, and for any program that speaks Varlink over ssh.

            EXAMPLES
              ssh machine mediatorctl bridge

            \(CommandStatus.help([.success, .usage, .permissionDenied, .noConnection]))
            """,
        shouldDisplay: false
    )

    @Option(
        help: ArgumentHelp("The control socket (default: $MEDIATORD_SOCKET, else the usual place).", valueName: "path"),
        completion: .file())
    var socket: String?

    var isJSON: Bool { false }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        let path = socket ?? environment.socket()
        let descriptor = try Self.connect(path)
        defer { close(descriptor) }
        Self.join(descriptor)
        return .success
    }

    /// Connects to a socket.
    private static func connect(_ path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw CommandError(.usage, "the path of the socket is too long: '\(path)'")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            throw CommandError(.noConnection, "no socket: \(String(cString: strerror(errno)))")
        }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            let reason = String(cString: strerror(code))
            throw CommandError(
                code == EACCES ? .permissionDenied : .noConnection, "no connection to '\(path)': \(reason)",
                advice: code == EACCES
                    ? CommandError.advice(for: .read) : "Is mediatord running on this machine?")
        }
        return descriptor
    }

    /// One way of the bridge: what was read and is not written yet.
    private struct Way {
        let source: Int32
        let sink: Int32
        var bytes: [UInt8] = []
        var start = 0
        var hasEnded = false

        var isEmpty: Bool { start == bytes.count }
    }

    /// The time to wait for an answer after the end of input, in milliseconds.
    private static let patience: Int32 = 5000

    /// Carries bytes both ways until both have ended, one cannot be written, or nobody reads the answers. At most 64 KiB wait
    /// in each.
    private static func join(_ descriptor: Int32) {
        var ways = [
            Way(source: STDIN_FILENO, sink: descriptor), Way(source: descriptor, sink: STDOUT_FILENO),
        ]
        while ways.contains(where: { !$0.hasEnded }) {
            var polls: [pollfd] = []
            for way in ways where !way.hasEnded {
                polls.append(
                    way.isEmpty
                        ? pollfd(fd: way.source, events: Int16(POLLIN), revents: 0)
                        : pollfd(fd: way.sink, events: Int16(POLLOUT), revents: 0))
            }
            // poll(2) reports the end of the reader without a request.
            polls.append(pollfd(fd: STDOUT_FILENO, events: 0, revents: 0))
            let count = poll(&polls, nfds_t(polls.count), ways[0].hasEnded ? patience : -1)
            guard count > 0 || (count < 0 && errno == EINTR) else { return }
            if polls[polls.count - 1].revents != 0 { return }
            var next = 0
            for index in ways.indices where !ways[index].hasEnded {
                let events = polls[next].revents
                next += 1
                guard events != 0 else { continue }
                guard ways[index].isEmpty ? read(&ways[index]) : write(&ways[index]) else { return }
            }
            // The daemon has closed the connection, so further input is in vain.
            if ways[1].hasEnded { return }
        }
    }

    /// Reads; returns `false` if that failed. At the end of input it tells the other side.
    private static func read(_ way: inout Way) -> Bool {
        var count = 0
        way.bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, used in
            count = Glibc.read(way.source, buffer.baseAddress, buffer.count)
            used = max(0, count)
        }
        way.start = 0
        if count < 0 { return errno == EINTR || errno == EAGAIN }
        guard count == 0 else { return true }
        way.hasEnded = true
        _ = shutdown(way.sink, Int32(SHUT_WR))
        return true
    }

    /// Writes; `false` if it failed.
    private static func write(_ way: inout Way) -> Bool {
        let count = way.bytes[way.start...].withUnsafeBytes { Glibc.write(way.sink, $0.baseAddress, $0.count) }
        if count < 0 { return errno == EINTR || errno == EAGAIN }
        way.start += count
        return true
    }
}
