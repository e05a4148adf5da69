import Glibc
import Synchronization

/// Writes whole lines to a descriptor, from any thread.
///
/// A line that cannot be written is lost and counted, never fatal: neither a closed descriptor, nor a reader that is
/// gone (the `SIGPIPE` is held back), nor a full pipe stops the process. It never writes more at once than the system
/// has just said it would take, so that a reader which stands still holds nobody up, whether the descriptor is blocking
/// or not: the first line waits for ``patience``, and as long as there is no room the next ones do not wait at all.
public final class LineWriter: Sendable {
    /// Standard error, shared by all who write to it, so that their lines do not mix.
    public static let standardError = LineWriter(descriptor: STDERR_FILENO)

    /// How long a line may wait, in milliseconds, when the descriptor is full.
    public static let patience: Int32 = 100

    private struct State {
        var lost = 0
        /// How many of these have not been told of.
        var untold = 0
        /// The last line was lost half-way, so the next one must begin on a new line.
        var isMidLine = false
        /// There was no room the last time, so nobody waits for it.
        var isStalled = false

        mutating func lose() {
            lost += 1
            untold += 1
        }
    }

    private let descriptor: Int32
    private let isSocket: Bool
    /// Whether a write to it may raise `SIGPIPE`: files and terminals have no reader that may be gone, and a socket is told
    /// not to.
    private let raisesSignals: Bool
    private let state = Mutex(State())

    /// A writer to a descriptor, which it does not own: it is never closed here.
    public init(descriptor: Int32) {
        self.descriptor = descriptor
        var status = stat()
        let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        isSocket = kind == S_IFSOCK
        raisesSignals = ![S_IFSOCK, S_IFREG, S_IFCHR].contains(kind)
    }

    /// How many lines were lost since the beginning.
    public var lostLines: Int {
        state.withLock { $0.lost }
    }

    /// Writes one line, whole before any other of this writer's lines.
    ///
    /// - Parameters:
    ///   - line: The text, with its newline.
    ///   - notice: A line that says that so many were lost, written before it when there is room again; `nil`: none is.
    public func write(_ line: String, notice: ((Int) -> String)? = nil) {
        let hold = raisesSignals ? BrokenPipeHold() : nil
        state.withLock { state in
            // What is locked is the descriptor: only so do lines stay whole when the system takes a part of one.
            if state.untold > 0, let notice {
                guard writeWhole(notice(state.untold), &state) else { return state.lose() }
                state.untold = 0
            }
            if !writeWhole(line, &state) { state.lose() }
        }
        hold?.release()
    }

    /// Writes a line; whether all of it.
    private func writeWhole(_ line: String, _ state: inout State) -> Bool {
        let text = state.isMidLine ? "\n" + line : line
        let total = text.utf8.count
        let written = writeAll(text, isStalled: &state.isStalled)
        if written > 0 { state.isMidLine = written < total }
        return written == total
    }

    /// Writes as much as the system takes, and says how many bytes that were.
    private func writeAll(_ text: String, isStalled: inout Bool) -> Int {
        var text = text
        return text.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            var written = 0
            while written < bytes.count {
                guard hasRoom(patience: isStalled ? 0 : Self.patience) else {
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

    /// Writes a part that does not block: a pipe that has room at all has room for `PIPE_BUF` bytes (pipe(7)).
    private func writeOnce(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int {
        if isSocket { return send(descriptor, start, count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) }
        return Glibc.write(descriptor, start, min(count, Int(PIPE_BUF)))
    }

    private func hasRoom(patience: Int32) -> Bool {
        var request = pollfd(descriptor: descriptor)
        while true {
            let result = poll(&request, 1, patience)
            if result < 0, errno == EINTR { continue }
            // An error condition is told by the write itself.
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
