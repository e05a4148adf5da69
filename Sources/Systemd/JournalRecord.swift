public import Logging

/// An entry of the journal: a message, and fields for searching (systemd.journal-fields(7)).
///
/// `MESSAGE` contains the whole log line, so it is understandable without the fields. The line's metadata is repeated
/// in fields, each named `MEDIATOR_` and the key in capital letters.
public struct JournalRecord: Sendable {
    /// The location in the program where a log line comes from.
    public struct Place: Sendable {
        /// The module and the file.
        public var file: String
        /// The line of the file.
        public var line: UInt
        /// The function.
        public var function: String

        /// Creates a location.
        public init(file: String, line: UInt, function: String) {
            self.file = file
            self.line = line
            self.function = function
        }
    }

    /// The prefix of this program's field names.
    public static let prefix = "MEDIATOR_"
    /// The metadata key of the message's ID, which becomes `MESSAGE_ID`.
    public static let idKey = "message-id"
    /// The longest value of a field with ``prefix``, in bytes of UTF-8. Longer values are cut and end in "…".
    public static let valueLimit = 4096
    /// The most fields with ``prefix``, and their most bytes in total. Beyond that, the fields with the last keys are
    /// only in the message.
    public static let limits = (fields: 64, bytes: 65_536)

    /// The fields, in order.
    public private(set) var fields: [(name: String, value: String)]

    /// The name of the program, as systemd derives it for captured output.
    private static let program = String(CommandLine.arguments.first?.split(separator: "/").last ?? "mediatord")

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - message: The message, which may have several lines.
    ///   - level: The level.
    ///   - place: The location in the program; nil if the line comes from elsewhere.
    ///   - metadata: The metadata by key.
    ///   - own: Fields with their own names, which no other field may overwrite.
    public init(
        message: String, level: Logger.Level, place: Place? = nil, metadata: Logger.Metadata = [:],
        own: JournalFields? = nil
    ) {
        fields = [
            ("MESSAGE", LogText.truncated(message, limit: LogFormat.lineLimit)),
            ("PRIORITY", String(LogFormat.priority(of: level))),
            ("SYSLOG_IDENTIFIER", Self.program),
        ]
        if let place {
            fields.append(("CODE_FILE", place.file))
            fields.append(("CODE_LINE", String(place.line)))
            fields.append(("CODE_FUNC", place.function))
        }
        var metadata = metadata
        if case .string(let id)? = metadata.removeValue(forKey: Self.idKey), Self.isID(id) {
            fields.append(("MESSAGE_ID", id))
        }
        append(metadata)
        for (name, value) in own?.fields.sorted(by: { $0.key < $1.key }) ?? [] where JournalFields.isName(name) {
            fields.append((name.uppercased(), value))
        }
    }

    private mutating func append(_ metadata: Logger.Metadata) {
        var names: Set<String> = []
        var bytes = 0
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let text = Self.text(of: value)
            let name = Self.name(of: key)
            guard !text.isEmpty, names.count < Self.limits.fields, !names.contains(name) else { continue }
            bytes += name.utf8.count + text.utf8.count
            guard bytes <= Self.limits.bytes else { return }
            names.insert(name)
            fields.append((name, text))
        }
    }

    /// Returns the name of a key's field. A character that the journal does not accept becomes an underscore.
    static func name(of key: String) -> String {
        let scalars = key.uppercased().unicodeScalars.map { scalar in
            ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar) ? Character(scalar) : "_"
        }
        return String((prefix + String(scalars)).prefix(JournalFields.longestName))
    }

    /// Returns a value unchanged, so that it can be matched. A list or map has the form of a log line.
    private static func text(of value: Logger.MetadataValue) -> String {
        let text: String
        switch value {
        case .string(let string): text = string
        case .stringConvertible(let convertible): text = convertible.description
        case .array, .dictionary:
            var line = ""
            LogText.appendValue(value, to: &line)
            text = line
        }
        return LogText.truncated(text, limit: valueLimit)
    }

    /// Returns whether a text is a message ID: 128 bits in lowercase hexadecimal digits.
    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
