import FeedbackKitTesting
import Foundation
import Glibc
import MediatorCommands
import MediatorControl
import StrictJSON
import Synchronization
import Testing
import Varlink

/// A command line whose daemon restarts while it runs.
@Suite(.timeLimit(.minutes(5)))
struct RepetitionTests {
    private static let measured = ["emit", "disk-guard", "Measured", "percent=5", "mount=/", "within=1s"]

    private func run(_ arguments: [String], over relay: Relay) async -> Bench.Result {
        // The clock of waits stands still; other waits need no time.
        let clock: any Clock<Duration> = arguments.contains("--wait") ? ManualClock() : ImmediateClock()
        return await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": relay.path], clock: clock)
    }

    @Test(arguments: [
        measured, ["publish", "backup", "on"], ["pause", "disk-guard"], ["why", "disk-guard"], ["status"],
        ["show", "disk-guard"], ["list"], ["reload"], ["log-level", "debug"],
        ["set", "tell-full", "when=a", "--dry-run"],
        measured + ["--wait", "Full"],
    ])
    func `a connection that is closed after its first call is no failure`(arguments: [String]) async throws {
        let bench = try await Bench()
        let relay = try Relay(to: bench.socket) { connection, _ in connection == 0 ? .serveAndClose : .serve }
        let result = await run(arguments, over: relay)
        #expect(result.status == .success, "\(result.error)")
        #expect(result.error == "")
        #expect(bench.handler.emitted.count == (arguments[0] == "emit" ? 1 : 0))
        #expect(bench.handler.published.count == (arguments[0] == "publish" ? 1 : 0))
        relay.close()
        await bench.service.close(within: .zero)
    }

    @Test(arguments: [["why", "disk-guard"], ["status"], ["metrics"], measured, ["publish", "backup", "on"]])
    func `what is only read is asked for again when no answer came`(arguments: [String]) async throws {
        let bench = try await Bench()
        let relay = try Relay(to: bench.socket) { connection, _ in connection < 3 ? .close : .serve }
        let result = await run(arguments, over: relay)
        #expect(result.status == .success, "\(result.error)")
        #expect(bench.handler.emitted.count == (arguments[0] == "emit" ? 1 : 0))
        relay.close()
        await bench.service.close(within: .zero)
    }

    @Test func `what may have been done is not done again`() async throws {
        let bench = try await Bench()
        let relay = try Relay(to: bench.socket) { _, method in method.hasSuffix(".Emit") ? .swallow : .serve }
        for more in [[], ["--wait", "Unknown"]] {
            let result = await run(Self.measured + more, over: relay)
            #expect(result.status == .noConnection)
            #expect(
                result.error == "mediatorctl: mediatord closed the connection; what was asked for may have been done\n"
                    + "See the output of `mediatord`, where it was started.\n")
        }
        #expect(bench.handler.emitted.count == 2)
        relay.close()
        await bench.service.close(within: .zero)
    }

    @Test func `what a daemon that is being stopped refused is sent to the next`() async throws {
        let bench = try await Bench()
        bench.handler.refuseEvents(3)
        let relay = try Relay(to: bench.socket) { _, _ in .serve }
        #expect(await run(Self.measured, over: relay).status == .success)
        #expect(bench.handler.emitted.count == 1)
        relay.close()
        await bench.service.close(within: .zero)
    }

    @Test func `after a while it is given up`() async throws {
        let bench = try await Bench()
        let connections = Atomic(0)
        let closing = try Relay(to: bench.socket) { _, _ in
            connections.add(1, ordering: .relaxed)
            return .close
        }
        let closed = await run(["status"], over: closing)
        #expect(closed.status == .noConnection)
        let words = "mediatorctl: mediatord closed the connection without an answer, 8 times in a row\n"
        #expect(closed.error.hasPrefix(words))
        #expect(connections.load(ordering: .relaxed) == 8)
        closing.close()
        bench.handler.refuseEvents(.max)
        let serving = try Relay(to: bench.socket) { _, _ in .serve }
        let refused = await run(Self.measured, over: serving)
        #expect(refused.status == .noConnection)
        #expect(refused.error.hasPrefix("mediatorctl: 'disk-guard' did not accept it: it is stopping\n"))
        serving.close()
        await bench.service.close(within: .zero)
    }

    @Test(arguments: [
        ("/run/user/1/no/socket", "", "`systemctl --user status mediatord`"),
        ("/tmp/no-such-directory/a/socket", "/tmp/no-such-directory/a", "`systemctl --user status mediatord`"),
        ("/run/mediatord@lab/socket", "", "`systemctl status mediatord@lab`"),
        ("/var/run/no-such-directory/socket", "", "`systemctl status mediatord`"),
        ("/tmp/mediatord@lab/socket", "", "the output of `mediatord`, where it was started"),
        ("/run/user/1/mediatord@lab/socket", "", "`systemctl --user status mediatord`"),
        (
            "/tmp/no-such-directory/ab/socket", "/tmp/no-such-directory/a",
            "the output of `mediatord`, where it was started"
        ),
    ])
    func `whose service manager to ask follows from the socket`(
        socket: String, runtime: String, advice: String
    ) async {
        let result = await Bench.run(["status", "--socket", socket], variables: ["XDG_RUNTIME_DIR": runtime])
        #expect(result.error.contains("See \(advice). "), "\(result.error)")
    }
}

/// A clock on which nobody waits.
private struct ImmediateClock: Clock {
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        // The first messages come from a socket.
        await Task.yield()
    }
}

/// Hands calls on to a service, and closes connections as a test wants it.
private final class Relay: Sendable {
    enum Treatment: Sendable {
        case serve, serveAndClose, close
        /// It is handed on, but the answer is not.
        case swallow
    }

    let path: String
    private let listener: Int32

    /// - Parameter treatment: the answer to a call, by the number of its connection and its method.
    init(to service: String, treatment: @escaping @Sendable (Int, String) -> Treatment) throws {
        path = service + "-relay"
        unlink(path)
        let listener = Self.open(path, bind)
        self.listener = listener
        try #require(listener >= 0 && listen(listener, 16) == 0)
        Thread.detachNewThread {
            var number = 0
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                let connection = number
                number += 1
                Thread.detachNewThread { Self.serve(client, service) { treatment(connection, $0) } }
            }
        }
    }

    func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
        unlink(path)
    }

    private static func serve(_ client: Int32, _ path: String, _ treatment: (String) -> Treatment) {
        let service = open(path, connect)
        defer {
            Glibc.close(service)
            Glibc.close(client)
        }
        while let call = message(from: client) {
            let object = try? JSONValue(parsing: String(decoding: call.dropLast(), as: UTF8.self))
            let treatment = treatment(object?["method"]?.stringValue ?? "")
            guard treatment != .close else { return }
            send(service, call, call.count, Int32(MSG_NOSIGNAL))
            var continues = true
            while continues {
                guard let answer = message(from: service), treatment != .swallow else { return }
                send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
                let object = try? JSONValue(parsing: String(decoding: answer.dropLast(), as: UTF8.self))
                continues = object?["continues"]?.boolValue ?? false
            }
            if treatment == .serveAndClose { return }
        }
    }

    /// A whole message with its end; nil at the end of the stream.
    private static func message(from descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 1
        while byte != 0 {
            guard read(descriptor, &byte, 1) == 1 else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func open(
        _ path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return result == 0 ? descriptor : -1
    }
}
