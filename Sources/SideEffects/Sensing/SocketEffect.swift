import CLinux
public import CommonExpression
import Glibc
import Logging
public import MediatorConfiguration
public import MediatorHost
import StrictJSON
import Synchronization
import SystemPackage

/// The side effect `socket`: listens on a UNIX socket, and turns each line or datagram of JSON into an outcome.
///
/// The socket's file has the configured permissions and is removed at the end. A stale file is replaced. If another
/// program listens already, or the socket cannot be created for another reason, that is a fault, and the effect tries
/// again periodically.
public struct SocketEffect: EffectImplementation {
    /// The longest line or datagram in bytes, without its line break.
    public static let lineLimit = 64 * 1024
    /// The number of connections that are read at once. One user may have half of them. If the process may open few
    /// descriptors, the number is lower.
    public static let connectionLimit = 64
    /// The time for which a connection may send no whole line while another one waits for its place.
    public static let idleLimit = Duration.seconds(30)

    /// The time before it tries to listen again.
    public let retryInterval: Duration

    /// The pause in accepting connections when no descriptor is free.
    private static let shortagePause = Duration.seconds(1)
    /// The bytes of one read.
    private static let chunk = 16 * 1024
    /// The most datagrams that are read before other tasks run.
    private static let burst = 64

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .socket }

    /// Creates the side effect with the time before it tries to listen again.
    public init(retryInterval: Duration = .seconds(10)) {
        self.retryInterval = retryInterval
    }

    /// Listens until it is cancelled. Reports `onMessage` for valid JSON, and `onInvalid` for anything else.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let path = arguments["path"]?.text else { return }
        let kind = arguments["type"]?.text.flatMap(UnixListener.Kind.init) ?? .stream
        let mode = arguments["mode"]?.text.flatMap(EffectSchema.Parameter.Constraint.mode) ?? 0o600
        var complaints = Complaints()
        while !Task.isCancelled {
            do {
                let listener = try UnixListener(path: path, kind: kind, mode: mode)
                defer { listener.close() }
                complaints.clear(context)
                switch kind {
                case .stream: try await accept(listener, context)
                case .datagram: try await receive(listener, Inbox(context))
                }
            } catch let problem as SensingProblem {
                complaints.add(problem.message, context)
            } catch let failure as Errno {
                complaints.add("cannot listen on \(path): \(failure)", context)
            } catch {
                return
            }
            guard (try? await context.clock.sleep(for: retryInterval)) != nil else { return }
        }
    }

    // MARK: Streams

    private func accept(_ listener: UnixListener, _ context: EffectContext) async throws {
        let inbox = Inbox(context)
        let gate = SocketGate(most: min(Self.connectionLimit, DescriptorReserve.mostConnections / 2))
        // The group discards each task when it ends.
        try await withThrowingDiscardingTaskGroup { connections in
            var complaints = Complaints()
            // What other programs do is no fault of the system.
            var (waits, refusals) = (Refusals(), Refusals())
            while true {
                try await Poller.shared.readable(listener.descriptor)
                guard var reserved = DescriptorReserve.connect() else {
                    waits.add("a connection waits: all sockets together have as many as they may", [:], context)
                    try await context.clock.sleep(for: Self.shortagePause)
                    continue
                }
                let descriptor = linux_accept(listener.descriptor)
                if descriptor >= 0 {
                    let user = Self.user(of: descriptor)
                    guard reserved.count(for: user) else {
                        close(descriptor)
                        refusals.add(
                            "closed a connection: its user has half of all connections to sockets",
                            ["uid": "\(user)"], context)
                        continue
                    }
                    complaints.clear(context)
                    let connection = Connection(descriptor: descriptor, entry: gate.arrive(of: user), reserved)
                    Self.log(connection.entry, context)
                    connections.addTask { await serve(connection, gate, inbox, context) }
                    continue
                }
                let failure = Errno(rawValue: errno)
                switch failure {
                case .wouldBlock, .interrupted, .connectionAbort: continue
                case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noBufferSpace, .noMemory:
                    complaints.add("cannot accept a connection: \(failure)", context)
                    try await context.clock.sleep(for: Self.shortagePause)
                default: throw failure
                }
            }
        }
    }

    /// Warnings about connections, of which only those with the numbers 1, 10, 100 and so on are logged.
    private struct Refusals {
        private var count = 0
        private var next = 1

        mutating func add(_ message: String, _ metadata: Logger.Metadata, _ context: EffectContext) {
            count += 1
            guard count >= next else { return }
            next *= 10
            context.logger.warning("\(message)", metadata: metadata.merging(["count": "\(count)"]) { $1 })
        }
    }

    /// A connection, which is closed on release.
    private final class Connection: Sendable {
        let descriptor: Int32
        let entry: SocketGate.Entry
        /// The number of lines that were read.
        let lines = Atomic(0)
        private let reserved: DescriptorReserve.Connection

        init(descriptor: Int32, entry: SocketGate.Entry, _ reserved: consuming DescriptorReserve.Connection) {
            self.descriptor = descriptor
            self.entry = entry
            self.reserved = reserved
        }

        deinit { close(descriptor) }
    }

    /// Logs that connections must wait, for the first one since places were free.
    private static func log(_ entry: SocketGate.Entry, _ context: EffectContext) {
        guard entry.isFirstOfKind else { return }
        let reason =
            switch entry.decision {
            case .read: nil as String?
            case .wait: "a connection waits because its user has no free place"
            case .refuse: "a connection was closed because too many of its user, or of all users, wait for a place"
            }
        if let reason { context.logger.warning("\(reason)", metadata: ["uid": "\(entry.user)"]) }
    }

    /// Reads a connection to its end when it gets a place. Ends it if it sends no whole line for ``idleLimit`` while
    /// another one waits for the place. Single bytes do not keep a place.
    private func serve(
        _ connection: Connection, _ gate: SocketGate, _ inbox: Inbox, _ context: EffectContext
    ) async {
        guard await gate.admission(of: connection.entry) else { return }
        defer { gate.leave(connection.entry) }
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try? await read(connection, inbox) }
            tasks.addTask {
                var before = -1
                while (try? await context.clock.sleep(for: Self.idleLimit)) != nil {
                    let lines = connection.lines.load(ordering: .relaxed)
                    if lines == before, gate.isWanted(connection.entry) {
                        context.logger.warning(
                            "a connection was closed because it sent no whole line and another one waits for its place",
                            metadata: ["uid": "\(connection.entry.user)"])
                        return
                    }
                    before = lines
                }
            }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    /// Reads a connection to its end.
    private func read(_ connection: Connection, _ inbox: Inbox) async throws {
        let (descriptor, user) = (connection.descriptor, connection.entry.user)
        var lines = LineSplitter(limit: Self.lineLimit)
        var buffer = [UInt8](repeating: 0, count: Self.chunk)
        while true {
            try await Poller.shared.readable(descriptor)
            // The buffer has no room for descriptors, so the system closes those that are sent along.
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 {
                for line in buffer.withUnsafeBytes({ lines.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }) {
                    connection.lines.wrappingAdd(1, ordering: .relaxed)
                    inbox.take(line, from: user)
                }
            } else if count == 0 {
                if let line = lines.finish() { inbox.take(line, from: user) }
                return
            } else if ![EAGAIN, EINTR].contains(errno) {
                return
            }
        }
    }

    /// Returns the user who has connected, as the system reports it; −1 if it does not.
    private static func user(of descriptor: Int32) -> Int64 {
        // `struct ucred`: the process, the user and the group.
        var credentials: (pid_t, uid_t, gid_t) = (0, 0, 0)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return -1 }
        return Int64(credentials.1)
    }

    // MARK: Datagrams

    private func receive(_ listener: UnixListener, _ inbox: Inbox) async throws {
        var buffer = [UInt8](repeating: 0, count: Self.lineLimit + 1)
        while true {
            try await Poller.shared.readable(listener.descriptor)
            for _ in 0..<Self.burst {
                guard let (line, user) = Self.datagram(listener.descriptor, &buffer) else { break }
                inbox.take(line, from: user)
            }
        }
    }

    /// Returns one datagram and its sender; `nil` if none has arrived.
    private static func datagram(_ descriptor: Int32, _ buffer: inout [UInt8]) -> (LineSplitter.Line, Int64)? {
        // Room for the header of a control message and `struct ucred` only. The system closes descriptors that are sent
        // along, because they do not fit (cmsg(3), unix(7)).
        var control: (UInt, Int32, Int32, pid_t, uid_t, gid_t, Int32) = (0, 0, 0, 0, 0, 0, 0)
        var isCut = false
        let count = buffer.withUnsafeMutableBytes { bytes in
            withUnsafeMutableBytes(of: &control) { control in
                var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    let count = recvmsg(descriptor, &message, 0)
                    isCut = message.msg_flags & Int32(MSG_TRUNC) != 0
                    return count
                }
            }
        }
        guard count >= 0 else { return nil }
        let isKnown = control.1 == SOL_SOCKET && control.2 == scmCredentials
        var bytes = Array(buffer[..<count])
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.count > lineLimit {
            isCut = true
            bytes.removeLast(bytes.count - lineLimit)
        }
        return (LineSplitter.Line(bytes: bytes, isCut: isCut), isKnown ? Int64(control.4) : -1)
    }

    /// `SCM_CREDENTIALS` (unix(7)).
    private static let scmCredentials: Int32 = 2
}

/// The receiver of a socket's messages, which counts them, parses them as JSON, and reports them.
private final class Inbox: Sendable {
    private let context: EffectContext
    private let count = Atomic<Int64>(0)

    init(_ context: EffectContext) {
        self.context = context
    }

    func take(_ line: LineSplitter.Line, from user: Int64) {
        // A blank line is not a message.
        if !line.isCut, line.bytes.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == 9 || $0 == 13 }) { return }
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        func refuse(_ reason: String) {
            let text = String(decoding: line.bytes, as: UTF8.self)
            context.report(
                "onInvalid", of: .socket, [.string(text), .string(reason), .int(number), .int(user)])
        }
        if line.isCut { return refuse("it is longer than \(SocketEffect.lineLimit) bytes") }
        guard let text = String(validating: line.bytes, as: UTF8.self) else { return refuse("it is not UTF-8") }
        do {
            let json = try Value(parsingJSON: line.bytes)
            context.report("onMessage", of: .socket, [.string(text), json, .int(number), .int(user)])
        } catch {
            refuse("it is not JSON: \(error.reason), at byte \(error.offset)")
        }
    }
}
