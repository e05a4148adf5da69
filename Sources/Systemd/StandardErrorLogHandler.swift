public import Logging

/// A log handler that writes readable lines to standard error, in the format which suits its reader.
///
/// Under systemd standard error is the journal, which takes each line's priority; elsewhere it is a terminal or a file.
public struct StandardErrorLogHandler: LogHandler {
    /// Less grave events than this are not written: what the handler was made with says, until it is set.
    public var logLevel: Logger.Level {
        get { ownLevel ?? levels.get() }
        set { ownLevel = newValue }
    }
    /// Keys that go with every line.
    public var metadata: Logger.Metadata = [:]
    /// Gives further keys, from the task in which a line is logged.
    public var metadataProvider: Logger.MetadataProvider?

    private let levels: LogLevelSwitch
    private var ownLevel: Logger.Level?
    private let writer: LineWriter
    private let format: LogFormat
    private let now: @Sendable () -> Duration
    private let journal: JournalSocket
    /// The name of the program, as systemd has it for what it takes from its output.
    private static let program = String(CommandLine.arguments.first?.split(separator: "/").last ?? "mediatord")

    /// A handler that writes to standard error.
    ///
    /// - Parameters:
    ///   - level: The least grave level that is written.
    ///   - levels: Says instead of `level` what is written, and may be changed while the program runs.
    ///   - writer: Where lines go. Handlers that share a descriptor must share its writer.
    ///   - format: How lines look; by default, as suits standard error.
    ///   - metadataProvider: Gives further keys.
    ///   - journal: Where lines with ``JournalFields`` go if standard error is the journal.
    ///   - now: The time, counted from 1970-01-01T00:00:00Z; by default the system's.
    public init(
        level: Logger.Level = .info,
        levels: LogLevelSwitch? = nil,
        writer: LineWriter = .standardError,
        format: LogFormat = .suited(to: 2),
        metadataProvider: Logger.MetadataProvider? = nil,
        journal: JournalSocket = .shared,
        now: (@Sendable () -> Duration)? = nil
    ) {
        self.journal = journal
        self.levels = levels ?? LogLevelSwitch(level)
        self.writer = writer
        self.format = format
        self.metadataProvider = metadataProvider
        self.now = now ?? { LogTime.now() }
    }

    /// Writes one event as one line. An event's own keys win over the provider's, and those over ``metadata``.
    public func log(event: LogEvent) {
        var merged = metadata
        if let provided = metadataProvider?.get() { merged.merge(provided) { $1 } }
        if let own = event.metadata { merged.merge(own) { $1 } }
        if let error = event.error, merged["error"] == nil { merged["error"] = .string(String(describing: error)) }
        if let fields = JournalFields.take(from: &merged) {
            let carried = merged
            for (name, value) in fields.fields { merged[name] = .string(value) }
            let text = LogText.truncated(
                format.text(message: event.message.description, metadata: merged), limit: LogFormat.lineLimit)
            let entry = fields.entry(
                message: text, priority: LogFormat.priority(of: event.level), metadata: carried,
                identifier: Self.program)
            // What the journal does not take in this way it gets as a line.
            if format == .journal, journal.send(entry) { return }
        }
        let time = now()
        writer.write(
            format.line(time: time, level: event.level, message: event.message.description, metadata: merged)
        ) { [format] lost in
            let message = "\(lost) lines of the log could not be written, and are lost"
            return format.line(time: time, level: .warning, message: message, metadata: [:])
        }
    }

    /// One of the keys that go with every line.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}
