import Glibc
import MediatorControl

/// When text for people has colours.
package enum ColorChoice: String, Sendable, Hashable, CaseIterable {
    /// On a terminal that knows them, unless NO_COLOR is set.
    case auto
    /// Always.
    case always
    /// Never.
    case never
}

/// The severity of a line, if the journal reads it. Source: sd-daemon(3).
package enum JournalPriority: Int, Sendable, Hashable {
    /// Something is wrong.
    case error = 3
    /// Something may be wrong.
    case warning = 4
    /// For the record.
    case info = 6

    /// A text of whole lines, each with this priority.
    package func marked(_ text: String) -> String {
        text.split(separator: "\n").map { "<\(rawValue)>\($0)\n" }.joined()
    }
}

/// The environment of the commands; a test gives them another one.
public struct CommandEnvironment: Sendable {
    /// The value of an environment variable.
    public var variable: @Sendable (String) -> String?
    /// The effective user.
    public var userID: UInt32
    /// Its name, if it is known. It is looked up on demand, since a directory service may be far away.
    public var userName: @Sendable () -> String?
    /// The user that it is outside of its user namespace, where that is another one.
    package var outerUserID: UInt32?
    /// The time now, in seconds since 1970.
    public var now: @Sendable () -> Int64
    /// A time as the clocks on the wall show it.
    public var localTime: @Sendable (Int64) -> CalendarTime
    /// Whether standard output is a terminal.
    public var isTerminal: Bool
    /// The width of the terminal, in columns.
    public var columns: Int?
    /// The clock of verbs that wait for a time.
    package var clock: any Clock<Duration> = ContinuousClock()
    /// When text for people has colours.
    package var color = ColorChoice.auto
    /// Whether standard output is the journal, which takes the priority of each line from its beginning.
    package var isJournal = false
    /// The time that a daemon has for an answer, in seconds, unless the command line sets another.
    package var answerLimit = 10.0
    /// The time that a daemon has to propose words for completion.
    package var completionLimit = Duration.milliseconds(1500)
    /// Writes to standard output, at once and in whole. Throws ``OutputClosed`` when nobody reads any longer, and
    /// another error when it cannot be written.
    public var write: @Sendable (String) throws -> Void
    /// Writes to standard error.
    public var writeError: @Sendable (String) -> Void
    /// Reads standard input, at most so many bytes.
    public var readInput: @Sendable (Int) -> [UInt8]
    /// Called before a command that goes on until it is interrupted: from then on ^C ends the program with 0.
    public var endQuietlyWhenInterrupted: @Sendable () -> Void

    /// An environment of one's own making.
    public init(
        variable: @escaping @Sendable (String) -> String?,
        userID: UInt32,
        userName: @escaping @Sendable () -> String? = { nil },
        now: @escaping @Sendable () -> Int64,
        localTime: @escaping @Sendable (Int64) -> CalendarTime,
        isTerminal: Bool,
        columns: Int?,
        write: @escaping @Sendable (String) throws -> Void,
        writeError: @escaping @Sendable (String) -> Void,
        readInput: @escaping @Sendable (Int) -> [UInt8] = { _ in [] },
        endQuietlyWhenInterrupted: @escaping @Sendable () -> Void
    ) {
        self.variable = variable
        self.userID = userID
        self.userName = userName
        self.now = now
        self.localTime = localTime
        self.isTerminal = isTerminal
        self.columns = columns
        self.write = write
        self.writeError = writeError
        self.readInput = readInput
        self.endQuietlyWhenInterrupted = endQuietlyWhenInterrupted
    }

    /// The environment of this process.
    public static func process() -> CommandEnvironment {
        // A closed pipe is an error of write(2), rather than the end of the process.
        signal(SIGPIPE, SIG_IGN)
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let isErrorJournal = isJournal(STDERR_FILENO)
        var environment = CommandEnvironment(
            variable: { name in getenv(name).map { String(cString: $0) } },
            userID: geteuid(),
            userName: { name(ofUser: geteuid()) },
            now: { Int64(time(nil)) },
            localTime: CalendarTime.local,
            isTerminal: isTerminal,
            columns: isTerminal ? terminalColumns() : nil,
            write: {
                let code = writeAll($0, to: STDOUT_FILENO)
                guard code != EPIPE else { throw OutputClosed() }
                guard code == 0 else { throw CommandError.notWritten(String(cString: strerror(code))) }
            },
            writeError: { text in
                let text = isErrorJournal ? JournalPriority.error.marked(text) : text
                _ = writeAll(text, to: STDERR_FILENO)
            },
            readInput: { read(STDIN_FILENO, atMost: $0) },
            // All output is written at once, so nothing is lost by ending right here; _exit(2) may be called in a
            // signal handler.
            endQuietlyWhenInterrupted: { signal(SIGINT) { _ in _exit(CommandStatus.success.rawValue) } }
        )
        environment.isJournal = isJournal(STDOUT_FILENO)
        let map = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC)
        if map >= 0 {
            environment.outerUserID = outerUser(
                of: environment.userID, map: String(decoding: read(map, atMost: 65_536), as: UTF8.self))
            close(map)
        }
        return environment
    }

    /// Whether a descriptor is the connection to the journal that systemd has given to this process. Source:
    /// `$JOURNAL_STREAM` in systemd.exec(5).
    private static func isJournal(_ descriptor: Int32) -> Bool {
        guard let stream = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }

    /// The path of the usual daemon's socket.
    ///
    /// - Parameter isQuiet: whether to stay silent when the user's own socket is ignored.
    func socket(isQuiet: Bool = false) -> String {
        ControlSocket.clientPath(environment: variable, userID: userID) { reason in
            if !isQuiet { writeError("mediatorctl: \(reason)\n") }
        }
    }

    /// The user, for people: `alice (user 1000)`. The daemon may know root of a user namespace as another user.
    var who: String {
        let name = userName()
        if let outerUserID {
            return "user \(outerUserID), who is \(name ?? "user \(userID)") in a user namespace only,"
        }
        return name.map { "\($0) (user \(userID))" } ?? "user \(userID)"
    }

    /// Returns the user outside of a user namespace; nil if there is no namespace, or the user is the same.
    ///
    /// - Parameter map: `/proc/self/uid_map`, lines of first user inside, first user outside, and count.
    package static func outerUser(of user: UInt32, map: String) -> UInt32? {
        for line in map.split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { UInt32($0) }
            guard numbers.count == 3, user >= numbers[0], user - numbers[0] < numbers[2] else { continue }
            let (outer, isBeyond) = numbers[1].addingReportingOverflow(user - numbers[0])
            return isBeyond || outer == user ? nil : outer
        }
        return nil
    }

    private static func name(ofUser number: UInt32) -> String? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getpwuid_r(number, &record, &buffer, buffer.count, &found) == 0, found != nil,
            let name = record.pw_name
        else { return nil }
        // The text lies in the buffer.
        return withExtendedLifetime(buffer) { String(cString: name) }
    }

    private static func terminalColumns() -> Int? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Whether to use colours: as chosen, else on a terminal that has them, unless NO_COLOR is set (no-color.org).
    var wantsColor: Bool {
        switch color {
        case .always: true
        case .never: false
        case .auto: isTerminal && (variable("NO_COLOR") ?? "").isEmpty && variable("TERM") != "dumb"
        }
    }

    /// The bytes of a descriptor, to its end or the limit; what can no longer be read is not there.
    static func read(_ descriptor: Int32, atMost limit: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let room = min(65_536, limit - bytes.count)
            var code: Int32 = 0
            let chunk = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                let result = Glibc.read(descriptor, buffer.baseAddress, room)
                code = result < 0 ? errno : 0
                count = max(0, result)
            }
            if code == EINTR { continue }
            if code == EAGAIN {
                var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&wait, 1, -1)
                continue
            }
            if chunk.isEmpty { break }
            bytes += chunk
        }
        return bytes
    }

    /// Writes a text; the error number if it cannot be written in whole, else 0.
    private static func writeAll(_ text: String, to descriptor: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count > 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                } else if count == 0 {
                    return EIO
                } else if errno == EAGAIN {
                    // Standard output may have been made non-blocking by whoever shares it.
                    var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&wait, 1, -1)
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }
}
