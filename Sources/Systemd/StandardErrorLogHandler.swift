public import Logging

/// A log handler that writes readable lines to standard error, in the format which suits its reader.
///
/// Under systemd standard error is the journal, which gets each line as a ``JournalRecord``; elsewhere it is a terminal or a
/// file.
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
    private let detailsKey: String?
    private let lossID: String?

    /// A handler that writes to standard error.
    ///
    /// - Parameters:
    ///   - level: The least grave level that is written.
    ///   - levels: Says instead of `level` what is written, and may be changed while the program runs.
    ///   - writer: Where lines go. Handlers that share a descriptor must share its writer.
    ///   - format: How lines look; by default, as suits standard error.
    ///   - metadataProvider: Gives further keys.
    ///   - journal: Where lines go if standard error is the journal.
    ///   - detailsKey: The key of a dictionary in a line's metadata which is told to the journal alone, and printed nowhere:
    ///     each of its keys is one like those of the metadata, and ``JournalRecord/idKey`` the id of the message.
    ///   - lossID: The id of the message that lines were lost.
    ///   - now: The time, counted from 1970-01-01T00:00:00Z; by default the system's.
    public init(
        level: Logger.Level = .info,
        levels: LogLevelSwitch? = nil,
        writer: LineWriter = .standardError,
        format: LogFormat = .suited(to: 2),
        metadataProvider: Logger.MetadataProvider? = nil,
        journal: JournalSocket = .shared,
        detailsKey: String? = nil,
        lossID: String? = nil,
        now: (@Sendable () -> Duration)? = nil
    ) {
        self.journal = journal
        self.detailsKey = detailsKey
        self.lossID = lossID
        self.levels = levels ?? LogLevelSwitch(level)
        self.writer = writer
        self.format = format
        self.metadataProvider = metadataProvider
        self.now = now ?? { LogTime.now() }
    }

    /// Writes one event as one line. An event's own keys win over the provider's, and those over ``metadata``.
    public func log(event: LogEvent) {
        var merged = metadata
        var details = details(of: metadata)
        for more in [metadataProvider?.get(), event.metadata] {
            guard let more else { continue }
            let others = self.details(of: more)
            // As a rule there is little in one of the two.
            if merged.isEmpty { merged = more } else { merged.merge(more) { $1 } }
            if details.isEmpty { details = others } else { details.merge(others) { $1 } }
        }
        if let detailsKey { merged[detailsKey] = nil }
        if let error = event.error, merged["error"] == nil { merged["error"] = .string(String(describing: error)) }
        let own = JournalFields.take(from: &merged)
        let belonging = merged
        for (name, value) in own?.fields ?? [:] { merged[name] = .string(value) }
        if format == .journal {
            let entry = JournalRecord(
                message: format.text(message: event.message.description, metadata: merged), level: event.level,
                // What the configuration says comes from no place in the program.
                place: own == nil
                    ? JournalRecord.Place(file: event.file, line: event.line, function: event.function) : nil,
                metadata: belonging.merging(details) { $1 }, own: own)
            // What the journal does not take in this way it gets as a line.
            guard journal.send(entry.fields, notice: lossEntry) == .refused else { return }
        }
        let time = now()
        writer.write(
            format.line(time: time, level: event.level, message: event.message.description, metadata: merged)
        ) { [format] lost in
            format.line(time: time, level: .warning, message: Self.lossMessage(lost), metadata: [:])
        }
    }

    /// What a source of metadata tells the journal alone.
    private func details(of metadata: Logger.Metadata) -> Logger.Metadata {
        guard let detailsKey, case .dictionary(let details)? = metadata[detailsKey] else { return [:] }
        return details
    }

    private static func lossMessage(_ lost: Int) -> String {
        "\(lost) lines of the log could not be written, and are lost"
    }

    private func lossEntry(_ lost: Int) -> [(name: String, value: String)] {
        var metadata: Logger.Metadata = ["count": "\(lost)"]
        if let lossID { metadata[JournalRecord.idKey] = .string(lossID) }
        return JournalRecord(message: Self.lossMessage(lost), level: .warning, metadata: metadata).fields
    }

    /// One of the keys that go with every line.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}
