import Glibc

/// A signal for a thread that waits. It stays until it is cleared.
final class ThreadSignal: Sendable {
    private let reader: Int32
    private let writer: Int32

    init() throws(StoreTrouble) {
        var ends: [Int32] = [-1, -1]
        // Swift's module of the C library has no pipe2(2), and a child process must not inherit the descriptors.
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw StoreTrouble(errno, at: "socketpair") }
        (reader, writer) = (ends[0], ends[1])
    }

    deinit {
        close(reader)
        close(writer)
    }

    /// Sends the signal. A full socket has one already.
    func send() {
        var byte: UInt8 = 1
        _ = write(writer, &byte, 1)
    }

    func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(reader, &bytes, bytes.count) == bytes.count {}
    }

    /// Blocks the thread until the signal is there. Returns `false` if a limit has passed.
    func wait(within limit: Duration?) -> Bool {
        let end = limit.map { ContinuousClock.now + $0 }
        while true {
            var request = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
            let left = end.map { max(.zero, $0 - ContinuousClock.now) }
            switch poll(&request, 1, left.map(Self.milliseconds) ?? -1) {
            case 1...: return true
            // A wait that was interrupted, or that was longer than poll(2) can wait, goes on.
            default: if let end, ContinuousClock.now >= end { return false }
            }
        }
    }

    /// The milliseconds of a duration, rounded up.
    private static func milliseconds(_ duration: Duration) -> Int32 {
        let (seconds, attoseconds) = duration.components
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
