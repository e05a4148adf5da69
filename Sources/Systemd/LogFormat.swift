import Glibc
public import Logging

/// The format of a log line for its destination.
public enum LogFormat: Sendable, Hashable {
    /// For a terminal: `HH:MM:SS level    message  key=value`.
    ///
    /// `colour` marks the level with ANSI escapes. `localTime` selects the process's time zone rather than UTC.
    case terminal(colour: Bool, localTime: Bool = true)
    /// For a file or a pipe: the full time in UTC (RFC 3339).
    case file
    /// For the journal, which records the time itself: each line begins with its priority, such as `<6>`.
    ///
    /// Source: sd-daemon(3).
    case journal

    /// The longest line, in bytes of UTF-8 with the newline. Longer lines are cut and end in "…".
    ///
    /// It is below the 48 KiB at which the journal splits a line (`LineMax=` in journald.conf(5)).
    public static let lineLimit = 16 * 1024

    /// Returns the format for the destination of a descriptor: the journal, a terminal, or anything else.
    ///
    /// A terminal gets colours unless `$NO_COLOR` is set and not empty (no-color.org) or `$TERM` is `dumb`.
    public static func suited(to descriptor: Int32) -> LogFormat {
        suited(to: descriptor, environment: { Environment[$0] })
    }

    /// Returns the same with the environment as a parameter.
    package static func suited(to descriptor: Int32, environment: (String) -> String?) -> LogFormat {
        if JournalStream.isConnected(descriptor, journalStream: environment("JOURNAL_STREAM")) { return .journal }
        guard isatty(descriptor) == 1 else { return .file }
        let isPlain = environment("NO_COLOR").map { !$0.isEmpty } ?? false
        return .terminal(colour: !isPlain && environment("TERM") != "dumb")
    }

    /// Returns one log line, with its newline at the end and no other inside.
    ///
    /// - Parameters:
    ///   - time: The time of the event, since 1970-01-01T00:00:00Z.
    ///   - level: The level.
    ///   - message: The sentence.
    ///   - metadata: The metadata, which is printed in alphabetical order of its keys.
    /// - Returns: A line of at most ``lineLimit`` bytes.
    public func line(time: Duration, level: Logger.Level, message: String, metadata: Logger.Metadata) -> String {
        var line = prefix(time: time, level: level)
        append(onTheClock(message, now: time), onTheClock(metadata, now: time), to: &line)
        line = LogText.truncated(line, limit: Self.lineLimit - 1)
        line += "\n"
        return line
    }

    /// Returns the text of a line after its prefix.
    func text(message: String, metadata: Logger.Metadata) -> String {
        var line = ""
        append(message, metadata, to: &line)
        return line
    }

    /// Returns a text for people at a terminal, where the line itself has the time on the clock.
    private func onTheClock(_ text: String, now: Duration) -> String {
        guard case .terminal(_, let local) = self, text.utf8.count <= Self.lineLimit else { return text }
        return LogTime.onTheClock(text, now: now, local: local)
    }

    private func onTheClock(_ metadata: Logger.Metadata, now: Duration) -> Logger.Metadata {
        guard case .terminal = self else { return metadata }
        return metadata.mapValues { value in
            switch value {
            case .string(let text): .string(onTheClock(text, now: now))
            case .stringConvertible(let convertible): .string(onTheClock(convertible.description, now: now))
            case .array, .dictionary: value
            }
        }
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

    /// Returns the priority of syslog(3), from 0 (most severe) to 7.
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

    /// Returns the escape that sets a level's colour. Source: ECMA-48, "Select graphic rendition".
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
