import Glibc
import Synchronization

/// Writes whole lines to a descriptor, from any thread, one `write(2)` a line.
///
/// A line that cannot be written is lost and counted, never fatal: neither a closed descriptor, nor a reader that is
/// gone (the `SIGPIPE` is held back), nor a full pipe stops the process.
public final class LineWriter: Sendable {
    /// Standard error, shared by all who write to it, so that their lines do not mix.
    public static let standardError = LineWriter(descriptor: STDERR_FILENO)

    /// How long a line may wait, in milliseconds, when a non-blocking descriptor is full.
    public static let patience: Int32 = 100

    private struct State {
        var lost = 0
        /// The last line was lost half-way, so the next one must begin on a new line.
        var isMidLine = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    /// A writer to a descriptor, which it does not own: it is never closed here.
    public init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// How many lines were lost since the beginning.
    public var lostLines: Int {
        state.withLock { $0.lost }
    }

    /// Writes one line, whole before any other of this writer's lines.
    ///
    /// - Parameter line: The text, with its newline.
    public func write(_ line: String) {
        let hold = BrokenPipeHold()
        state.withLock { state in
            // What is locked is the descriptor: only so do lines stay whole when the system takes a part of one.
            let text = state.isMidLine ? "\n" + line : line
            let total = text.utf8.count
            let written = writeAll(text)
            if written > 0 { state.isMidLine = written < total }
            if written < total { state.lost += 1 }
        }
        hold.release()
    }

    /// Writes as much as the system takes, and says how many bytes that were.
    private func writeAll(_ text: String) -> Int {
        var text = text
        return text.withUTF8 { bytes in
            var written = 0
            while written < bytes.count {
                let result = Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                if result > 0 {
                    written += result
                } else if result < 0, errno == EINTR {
                    continue
                } else if result < 0, errno == EAGAIN, waitUntilWritable() {
                    continue
                } else {
                    break
                }
            }
            return written
        }
    }

    private func waitUntilWritable() -> Bool {
        var request = pollfd(descriptor: descriptor)
        return poll(&request, 1, Self.patience) == 1 && request.revents & Int16(POLLOUT) != 0
    }
}

extension pollfd {
    fileprivate init(descriptor: Int32) {
        self.init(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    }
}

/// Keeps the `SIGPIPE` of this thread's next writes from ending the process.
///
/// The signal is blocked for this thread alone and taken back if a write has raised it. Ignoring it for the whole
/// process would do too, but child processes would inherit that.
private struct BrokenPipeHold {
    private var signals = sigset_t()
    private var previous = sigset_t()
    /// The signal was waiting before, so it is not ours to take.
    private let wasPending: Bool

    init() {
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        var pending = sigset_t()
        sigemptyset(&pending)
        sigpending(&pending)
        wasPending = sigismember(&pending, SIGPIPE) == 1
        pthread_sigmask(SIG_BLOCK, &signals, &previous)
    }

    /// Takes back a `SIGPIPE` that was raised meanwhile, and lets the thread have its signals as before.
    func release() {
        var signals = signals
        var previous = previous
        if !wasPending {
            var immediately = timespec(tv_sec: 0, tv_nsec: 0)
            while sigtimedwait(&signals, nil, &immediately) < 0, errno == EINTR {}
        }
        pthread_sigmask(SIG_SETMASK, &previous, nil)
    }
}
