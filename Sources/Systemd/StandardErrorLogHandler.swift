public import Logging

/// A log handler that writes readable lines to standard error, in the format for its destination.
///
/// Under systemd, standard error is the journal, which receives each line as a ``JournalRecord``. Otherwise it is a
/// terminal or a file.
public struct StandardErrorLogHandler: LogHandler {
    /// The least severe level that is written. Until it is set, the initializer's level or switch decides.
    public var logLevel: Logger.Level {
        get { ownLevel ?? output.levels.get() }
        set { ownLevel = newValue }
    }
    /// The metadata of every line.
    public var metadata: Logger.Metadata = [:]
    /// Provides more metadata, from the task that logs a line.
    public var metadataProvider: Logger.MetadataProvider? {
        get { output.metadataProvider }
        set { output = Output(output, metadataProvider: newValue) }
    }

    private var ownLevel: Logger.Level?
    private var output: Output

    /// The parts that copies of a handler share. A program may have thousands of loggers, which differ in their metadata.
    private final class Output: Sendable {
        let levels: LogLevelSwitch
        let writer: LineWriter
        let format: LogFormat
        let metadataProvider: Logger.MetadataProvider?
        let journal: JournalSocket
        let detailsKey: String?
        let lossID: String?
        let now: @Sendable () -> Duration

        init(
            levels: LogLevelSwitch, writer: LineWriter, format: LogFormat, metadataProvider: Logger.MetadataProvider?,
            journal: JournalSocket, detailsKey: String?, lossID: String?, now: @escaping @Sendable () -> Duration
        ) {
            self.levels = levels
            self.writer = writer
            self.format = format
            self.metadataProvider = metadataProvider
            self.journal = journal
            self.detailsKey = detailsKey
            self.lossID = lossID
            self.now = now
        }

        convenience init(_ other: Output, metadataProvider: Logger.MetadataProvider?) {
            self.init(
                levels: other.levels, writer: other.writer, format: other.format, metadataProvider: metadataProvider,
                journal: other.journal, detailsKey: other.detailsKey, lossID: other.lossID, now: other.now)
        }
    }

    /// Creates a handler that writes to standard error.
    ///
    /// - Parameters:
    ///   - level: The least severe level that is written.
    ///   - levels: A switch that replaces `level` and may change while the program runs.
    ///   - writer: The destination of lines. Handlers that share a descriptor must share its writer.
    ///   - format: The format of lines; by default the one for standard error.
    ///   - metadataProvider: Provides more metadata.
    ///   - journal: The destination of lines if standard error is the journal.
    ///   - detailsKey: The key of a dictionary in a line's metadata that goes only to the journal and is never printed.
    ///     Its keys are like those of the metadata, and ``JournalRecord/idKey`` is the ID of the message.
    ///   - lossID: The ID of the message that lines were lost.
    ///   - now: The time since 1970-01-01T00:00:00Z; by default the system's.
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
        output = Output(
            levels: levels ?? LogLevelSwitch(level), writer: writer, format: format,
            metadataProvider: metadataProvider, journal: journal, detailsKey: detailsKey, lossID: lossID,
            now: now ?? { LogTime.now() })
    }

    /// Writes one event as one line. The event's own keys override the provider's, and those override ``metadata``.
    public func log(event: LogEvent) {
        let format = output.format
        var merged = metadata
        var details = details(of: metadata)
        for more in [metadataProvider?.get(), event.metadata] {
            guard let more else { continue }
            let others = self.details(of: more)
            // Usually one of the two is empty or small.
            if merged.isEmpty { merged = more } else { merged.merge(more) { $1 } }
            if details.isEmpty { details = others } else { details.merge(others) { $1 } }
        }
        if let detailsKey = output.detailsKey { merged[detailsKey] = nil }
        if let error = event.error, merged["error"] == nil { merged["error"] = .string(String(describing: error)) }
        let own = JournalFields.take(from: &merged)
        let belonging = merged
        for (name, value) in own?.fields ?? [:] { merged[name] = .string(value) }
        if format == .journal {
            let entry = JournalRecord(
                message: format.text(message: event.message.description, metadata: merged), level: event.level,
                // A message of the configuration has no location in the program.
                place: own == nil
                    ? JournalRecord.Place(file: event.file, line: event.line, function: event.function) : nil,
                metadata: belonging.merging(details) { $1 }, own: own)
            // A line that the journal does not accept as an entry is written as text.
            guard output.journal.send(entry.fields, notice: lossEntry) == .refused else { return }
        }
        let time = output.now()
        output.writer.write(
            format.line(time: time, level: event.level, message: event.message.description, metadata: merged)
        ) { lost in
            format.line(time: time, level: .warning, message: Self.lossMessage(lost), metadata: [:])
        }
    }

    /// Returns the metadata that only the journal receives.
    private func details(of metadata: Logger.Metadata) -> Logger.Metadata {
        guard let detailsKey = output.detailsKey, case .dictionary(let details)? = metadata[detailsKey] else {
            return [:]
        }
        return details
    }

    private static func lossMessage(_ lost: Int) -> String {
        "\(lost) log lines could not be written and are lost"
    }

    private func lossEntry(_ lost: Int) -> [(name: String, value: String)] {
        var metadata: Logger.Metadata = ["count": "\(lost)"]
        if let lossID = output.lossID { metadata[JournalRecord.idKey] = .string(lossID) }
        return JournalRecord(message: Self.lossMessage(lost), level: .warning, metadata: metadata).fields
    }

    /// A value of the metadata of every line.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}
