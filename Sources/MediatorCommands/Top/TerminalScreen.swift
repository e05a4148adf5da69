import Glibc
import Synchronization

/// The whole terminal: the alternate screen without a cursor, and each key as it is pressed.
///
/// There is one in a process at a time; it is left by ``leave()``, which may be called more than once.
final class TerminalScreen: Sendable {
    /// An input from outside.
    enum Input: Sendable {
        case keys([TopKey])
        case resized
        /// The process must end, or the terminal is gone.
        case ended
    }

    /// The write end of a pipe that receives signals; -1 for none.
    private static let signals = Atomic<Int32>(-1)

    private let before: termios
    private let hasLeft = Atomic<Bool>(false)
    private let pipe: (read: Int32, write: Int32)

    /// Takes the terminal, unless standard input or output is none.
    init?() {
        var before = termios()
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &before) == 0 else {
            return nil
        }
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A handler must not wait; what has no room says nothing new.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        self.before = before
        pipe = (ends[0], ends[1])
        var raw = before
        cfmakeraw(&raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
        Self.signals.store(ends[1], ordering: .releasing)
        for number in [SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT] {
            // Only write(2) is called, which a handler may (signal-safety(7)).
            signal(number) { number in
                let code = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(TerminalScreen.signals.load(ordering: .acquiring), &byte, 1)
                errno = code
            }
        }
        Self.put("\u{1B}[?1049h\u{1B}[?25l")
    }

    /// Restores the terminal.
    func leave() {
        guard !hasLeft.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Self.put("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l")
        var before = before
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before)
    }

    /// The size of the terminal, as it is now.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// The time that the screen has for its end after a signal, in milliseconds: a stopped terminal takes no output.
    private static let patience: Int32 = 2_000

    /// Ends the process, since nobody else does: whoever draws waits for a terminal that stands still.
    private func abandon() -> Never {
        let flags = fcntl(STDOUT_FILENO, F_GETFL)
        // Others use this terminal, too.
        _ = fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK)
        if !hasLeft.exchange(true, ordering: .acquiringAndReleasing) {
            Self.put("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l")
        }
        var before = before
        tcsetattr(STDIN_FILENO, TCSANOW, &before)
        _ = fcntl(STDOUT_FILENO, F_SETFL, flags)
        _exit(CommandStatus.success.rawValue)
    }

    /// Writes without waiting for a reader.
    private static func put(_ text: String) {
        var text = text
        text.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }

    // MARK: Input

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Waits for input on a thread of its own until it ends, or ``stop()``.
    func listen(_ receive: @escaping @Sendable (Input) -> Void) {
        let work = Work { [self] in
            guard Self.loop(pipe.read, receive) else { return }
            // The process ends here, unless it cannot.
            poll(nil, 0, Self.patience)
            abandon()
        }
        var thread = pthread_t()
        let held = Unmanaged.passRetained(work)
        let code = pthread_create(
            &thread, nil,
            { pointer in
                guard let pointer else { return nil }
                Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
                return nil
            }, held.toOpaque())
        if code == 0 {
            pthread_detach(thread)
        } else {
            held.release()
            receive(.ended)
        }
    }

    /// Ends the waiting for input.
    func stop() {
        var byte: UInt8 = 0
        _ = write(pipe.write, &byte, 1)
    }

    /// Takes input until its end, or ``stop()``; whether it was ended by a signal.
    private static func loop(_ pipe: Int32, _ receive: @Sendable (Input) -> Void) -> Bool {
        while true {
            var polls = [
                pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
                pollfd(fd: pipe, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&polls, 2, -1) >= 0 else {
                if errno == EINTR { continue }
                receive(.ended)
                return false
            }
            if polls[1].revents != 0 {
                var isResized = false
                for byte in read(pipe) {
                    switch Int32(byte) {
                    case 0: return false
                    case SIGWINCH: isResized = true
                    default:
                        receive(.ended)
                        return true
                    }
                }
                if isResized { receive(.resized) }
            }
            if polls[0].revents != 0 {
                let bytes = read(STDIN_FILENO)
                guard !bytes.isEmpty else {
                    receive(.ended)
                    return false
                }
                receive(.keys(TopKey.keys(bytes)))
            }
        }
    }

    private static func read(_ descriptor: Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
            count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
        }
    }
}
