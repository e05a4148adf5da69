import Glibc
public import Logging

/// How a log line looks, by where it goes.
public enum LogFormat: Sendable, Hashable {
    /// For people who watch: `HH:MM:SS level    message  key=value`.
    ///
    /// `colour` marks the level by ANSI escapes; `localTime` tells the time of the process's time zone rather than UTC.
    case terminal(colour: Bool, localTime: Bool = true)
    /// For a file or a pipe, which is read later and elsewhere: the time in full, in UTC, by RFC 3339.
    case file
    /// For the journal, which keeps the time itself: each line begins with its priority, such as `<6>`.
    ///
    /// Source: sd-daemon(3).
    case journal

    /// The longest line, in bytes of UTF-8 with the newline; longer ones are cut, and end in "…".
    ///
    /// Below the 48 KiB at which the journal splits a line (`LineMax=` in journald.conf(5)).
    public static let lineLimit = 16 * 1024

    /// The format for what a descriptor is connected to: the journal, a terminal, or anything else.
    ///
    /// A terminal gets colours unless `$NO_COLOR` is set and not empty (no-color.org) or `$TERM` is `dumb`.
    public static func suited(to descriptor: Int32) -> LogFormat {
        suited(to: descriptor, environment: { Environment[$0] })
    }

    /// The same choice with the environment as a parameter.
    package static func suited(to descriptor: Int32, environment: (String) -> String?) -> LogFormat {
        if JournalStream.isConnected(descriptor, journalStream: environment("JOURNAL_STREAM")) { return .journal }
        guard isatty(descriptor) == 1 else { return .file }
        let isPlain = environment("NO_COLOR").map { !$0.isEmpty } ?? false
        return .terminal(colour: !isPlain && environment("TERM") != "dumb")
    }

    /// One log line, with its newline at the end and no other inside.
    ///
    /// - Parameters:
    ///   - time: When it happened, counted from 1970-01-01T00:00:00Z.
    ///   - level: How grave it is.
    ///   - message: The sentence.
    ///   - metadata: Its keys, which are printed in alphabetical order.
    /// - Returns: A line of at most ``lineLimit`` bytes.
    public func line(time: Duration, level: Logger.Level, message: String, metadata: Logger.Metadata) -> String {
        var line = prefix(time: time, level: level)
        append(message, metadata, to: &line)
        line = LogText.truncated(line, limit: Self.lineLimit - 1)
        line += "\n"
        return line
    }

    /// What a line says behind its prefix.
    func text(message: String, metadata: Logger.Metadata) -> String {
        var line = ""
        append(message, metadata, to: &line)
        return line
    }

    private func append(_ message: String, _ metadata: Logger.Metadata, to line: inout String) {
        LogText.append(message, to: &line)
        for (index, (key, value)) in metadata.sorted(by: { $0.key < $1.key }).enumerated() {
            line += index == 0 ? "  " : " "
            LogText.append(key, to: &line)
            line += "="
            LogText.appendValue(value, to: &line)
        }
    }

    private func prefix(time: Duration, level: Logger.Level) -> String {
        switch self {
        case .terminal(let colour, let localTime):
            let name = level.rawValue + String(repeating: " ", count: max(0, 8 - level.rawValue.utf8.count))
            let shown = colour ? Self.colour(of: level) + name + "\u{1B}[0m" : name
            return "\(LogTime.clock(time, local: localTime)) \(shown) "
        case .file:
            return "\(LogTime.rfc3339(time)) \(level.rawValue) "
        case .journal:
            return "<\(Self.priority(of: level))>"
        }
    }

    /// The priority of syslog(3), 0 (gravest) to 7.
    static func priority(of level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    /// The escape that sets a level's colour. Source: ECMA-48, "Select graphic rendition".
    private static func colour(of level: Logger.Level) -> String {
        switch level {
        case .trace, .debug: "\u{1B}[2m"
        case .info: "\u{1B}[32m"
        case .notice: "\u{1B}[36m"
        case .warning: "\u{1B}[33m"
        case .error: "\u{1B}[31m"
        case .critical: "\u{1B}[1;31m"
        }
    }
}
