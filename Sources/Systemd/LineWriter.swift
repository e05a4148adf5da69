import Glibc
import Synchronization

/// Writes whole lines to a descriptor, from any thread.
///
/// A line that cannot be written is lost and counted. Nothing stops the process: neither a closed descriptor, nor a
/// missing reader (`SIGPIPE` is blocked), nor a full pipe.
///
/// The writer writes only as much as the system reports room for, so a slow reader delays nobody, even if the
/// descriptor is blocking. The first line waits for at most ``timeout``. While there is no room, later lines do not
/// wait at all.
public final class LineWriter: Sendable {
    /// The writer for standard error. All users share it, so that their lines do not mix.
    public static let standardError = LineWriter(descriptor: STDERR_FILENO)

    /// The longest wait of a line for a full descriptor, in milliseconds.
    public static let timeout: Int32 = 100

    private struct State {
        var lost = 0
        /// The number of lost lines that were not reported yet.
        var unreported = 0
        /// A Boolean value that indicates whether the last line was cut off, so that the next one must begin on a new
        /// line.
        var isMidLine = false
        /// A Boolean value that indicates whether the last line found no room, so that the next does not wait.
        var isStalled = false

        mutating func lose() {
            lost += 1
            unreported += 1
        }
    }

    private let descriptor: Int32
    private let isSocket: Bool
    /// A Boolean value that indicates whether a write may raise `SIGPIPE`. Files and terminals have no reader that may
    /// close, and a flag turns the signal off for sockets.
    private let raisesSignals: Bool
    private let state = Mutex(State())

    /// Creates a writer to a descriptor. The writer never closes it.
    public init(descriptor: Int32) {
        self.descriptor = descriptor
        var status = stat()
        let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        isSocket = kind == S_IFSOCK
        raisesSignals = ![S_IFSOCK, S_IFREG, S_IFCHR].contains(kind)
    }

    /// The number of lines lost so far.
    public var lostLines: Int {
        state.withLock { $0.lost }
    }

    /// Writes one line completely before any other line of this writer.
    ///
    /// - Parameters:
    ///   - line: The text, with its newline.
    ///   - notice: Returns a line that reports a number of lost lines. It is written before this line when there is
    ///     room again; `nil` for no report.
    public func write(_ line: String, notice: ((Int) -> String)? = nil) {
        let hold = raisesSignals ? BrokenPipeHold() : nil
        state.withLock { state in
            // The lock protects the descriptor, because the system may accept only a part of a line.
            if state.unreported > 0, let notice {
                guard writeWhole(notice(state.unreported), &state) else { return state.lose() }
                state.unreported = 0
            }
            if !writeWhole(line, &state) { state.lose() }
        }
        hold?.release()
    }

    /// Writes a line. Returns whether it was written completely.
    private func writeWhole(_ line: String, _ state: inout State) -> Bool {
        let text = state.isMidLine ? "\n" + line : line
        let total = text.utf8.count
        let written = writeAll(text, isStalled: &state.isStalled)
        if written > 0 { state.isMidLine = written < total }
        return written == total
    }

    /// Writes as much as the system accepts. Returns the number of bytes written.
    private func writeAll(_ text: String, isStalled: inout Bool) -> Int {
        var text = text
        return text.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            var written = 0
            while written < bytes.count {
                guard hasRoom(timeout: isStalled ? 0 : Self.timeout) else {
                    isStalled = true
                    break
                }
                isStalled = false
                let result = writeOnce(start + written, bytes.count - written)
                if result > 0 {
                    written += result
                } else if result < 0, errno == EINTR || errno == EAGAIN {
                    continue
                } else {
                    break
                }
            }
            return written
        }
    }

    /// Writes a part that does not block: a pipe with any room has room for `PIPE_BUF` bytes (pipe(7)).
    private func writeOnce(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int {
        if isSocket { return send(descriptor, start, count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) }
        return Glibc.write(descriptor, start, min(count, Int(PIPE_BUF)))
    }

    private func hasRoom(timeout: Int32) -> Bool {
        var request = pollfd(descriptor: descriptor)
        while true {
            let result = poll(&request, 1, timeout)
            if result < 0, errno == EINTR { continue }
            // The write itself reports an error condition.
            return result == 1
        }
    }
}

extension pollfd {
    fileprivate init(descriptor: Int32) {
        self.init(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    }
}

/// Keeps the `SIGPIPE` of this thread's next writes from ending the process.
///
/// The signal is blocked only for this thread, and consumed if a write has raised it. Ignoring it for the whole process
/// would also work, but child processes would inherit that.
private struct BrokenPipeHold {
    private var signals = sigset_t()
    private var previous = sigset_t()
    /// A Boolean value that indicates whether the signal was already pending, so that it must not be consumed.
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

    /// Consumes a `SIGPIPE` that a write has raised, and restores the thread's signals.
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
