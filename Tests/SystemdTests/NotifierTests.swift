import Glibc
import Synchronization
import Systemd
import Testing

/// Tests that depend on environment variables run in a child process, where no other test reads them.
@Suite
struct `The notifier` {
    @Test
    func `Without a socket it is not available and returns that`() async {
        await #expect(processExitsWith: .success) {
            unsetenv("NOTIFY_SOCKET")
            let notifier = Notifier()
            #expect(!notifier.isAvailable)
            #expect(notifier.notify(.ready) == .noSocket)
            #expect(notifier.barrier(timeout: .milliseconds(1)) == .noSocket)
            setenv("NOTIFY_SOCKET", "", 1)
            #expect(!notifier.isAvailable)
        }
    }

    @Test
    func `Several assignments share one datagram, and later ones still arrive`() async {
        await #expect(processExitsWith: .success) {
            let socket = try NotifySocket()
            setenv("NOTIFY_SOCKET", socket.path, 1)
            let notifier = Notifier()
            #expect(notifier.isAvailable)
            #expect(notifier.notify(.ready, .status("2 systems: 2 healthy")) == .delivered)
            #expect(try socket.receive() == "READY=1\nSTATUS=2 systems: 2 healthy")
            #expect(notifier.notify(.watchdog) == .delivered)
            #expect(try socket.receive() == "WATCHDOG=1")
        }
    }

    @Test
    func `A socket that nobody has bound is a failure with its error number`() async {
        await #expect(processExitsWith: .success) {
            setenv("NOTIFY_SOCKET", "/tmp/there-is-no-such-socket", 1)
            #expect(Notifier().notify(.ready) == .failed(errno: ENOENT))
            setenv("NOTIFY_SOCKET", "neither/absolute/nor/abstract", 1)
            #expect(Notifier().notify(.ready) != .delivered)
            #expect(Notifier().notify(.ready) != .noSocket)
        }
    }

    @Test
    func `A descriptor is sent with the name under which it is kept`() async {
        await #expect(processExitsWith: .success) {
            let socket = try NotifySocket()
            let notifier = Notifier()
            unsetenv("NOTIFY_SOCKET")
            setenv("FDSTORE", "4", 1)
            #expect(notifier.storeLimit == 0)
            #expect(notifier.store(STDIN_FILENO, as: "state") == .noSocket)
            setenv("NOTIFY_SOCKET", socket.path, 1)
            #expect(notifier.storeLimit == 4)
            let ends = UnsafeMutablePointer<Int32>.allocate(capacity: 2)
            #expect(pipe(ends) == 0)
            #expect(notifier.store(ends[1], as: "state") == .delivered)
            #expect(notifier.store(-1, as: "state") == .failed(errno: EBADF))
            close(ends[1])
            // The receiver has closed the descriptor, so the pipe has no other writing end.
            #expect(try socket.receive() == "FDSTORE=1\nFDNAME=state\nFDPOLL=0")
            var byte: UInt8 = 0
            #expect(read(ends[0], &byte, 1) == 0)
            #expect(notifier.notify(.discard("state")) == .delivered)
            #expect(try socket.receive() == "FDSTOREREMOVE=1\nFDNAME=state")
            setenv("FDSTORE", "many", 1)
            #expect(notifier.storeLimit == 0)
        }
    }

    @Test
    func `A barrier returns once the manager has closed its descriptor`() async {
        await #expect(processExitsWith: .success) {
            let socket = try NotifySocket()
            setenv("NOTIFY_SOCKET", socket.path, 1)
            async let outcome = Task.detached { Notifier().barrier(timeout: .seconds(10)) }.value
            #expect(try socket.receive() == "BARRIER=1")
            #expect(await outcome == .delivered)
        }
    }

    @Test
    func `A barrier without an answer ends after its time`() async {
        await #expect(processExitsWith: .success) {
            let socket = try NotifySocket()
            setenv("NOTIFY_SOCKET", socket.path, 1)
            #expect(Notifier().barrier(timeout: .milliseconds(5)) == .failed(errno: ETIMEDOUT))
            #expect(try socket.receive() == "BARRIER=1")
        }
    }

    @Test
    func `A receiver replaces the socket`() {
        let received = Received()
        let notifier = Notifier(receiver: { received.append($0) })
        #expect(notifier.isAvailable)
        #expect(notifier.notify(.ready, .mainPID(7)) == .delivered)
        #expect(notifier.notify([]) == .delivered)
        #expect(notifier.barrier(timeout: .seconds(1)) == .delivered)
        #expect(received.all == ["READY=1\nMAINPID=7"])
    }

    @Test
    func `A datagram that is too long for systemd is not sent`() {
        let received = Received()
        let notifier = Notifier(receiver: { received.append($0) })
        let status = NotifyMessage.status(String(repeating: "a", count: NotifyMessage.statusLimit))
        #expect(notifier.notify(status, status, status) == .delivered)
        #expect(notifier.notify(status, status, status, status) == .failed(errno: EMSGSIZE))
        #expect(received.all.count == 1)
        #expect(received.all.allSatisfy { $0.utf8.count <= Notifier.datagramLimit })
    }
}

/// The texts that a notifier's receiver was given.
final class Received: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }
    func append(_ text: String) { texts.withLock { $0.append(text) } }
}
