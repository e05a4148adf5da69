public import Logging

/// An entry of the journal: what is said, and fields by which it can be found (systemd.journal-fields(7)).
///
/// What is said stands in `MESSAGE` with everything that a line of the log says besides, so that it is understood without
/// the fields. What belongs to it is told in fields again, each below `MEDIATOR_` and the key in capital letters.
public struct JournalRecord: Sendable {
    /// Where in the program a line of the log comes from.
    public struct Place: Sendable {
        /// The module and the file.
        public var file: String
        /// The line of the file.
        public var line: UInt
        /// The function.
        public var function: String

        /// A place.
        public init(file: String, line: UInt, function: String) {
            self.file = file
            self.line = line
            self.function = function
        }
    }

    /// What stands before the names of its own fields.
    public static let prefix = "MEDIATOR_"
    /// The key of the id of the message, which becomes `MESSAGE_ID`.
    public static let idKey = "message-id"
    /// The longest value of a field below ``prefix``, in bytes of UTF-8; longer ones are cut, and end in "…".
    public static let valueLimit = 4096
    /// How many fields there are below ``prefix`` at most, and how many bytes they have together; of more, those whose keys
    /// come last are only in the message.
    public static let limits = (fields: 64, bytes: 65_536)

    /// The fields, in order.
    public private(set) var fields: [(name: String, value: String)]

    /// The name of the program, as systemd has it for what it takes from its output.
    private static let program = String(CommandLine.arguments.first?.split(separator: "/").last ?? "mediatord")

    /// An entry.
    ///
    /// - Parameters:
    ///   - message: What is said, which may have several lines.
    ///   - level: How grave it is.
    ///   - place: Where it comes from in the program; nil: it comes from elsewhere.
    ///   - metadata: What belongs to it, by key.
    ///   - own: Fields under names of their own; none of them is told by anything else then.
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

    /// The name of a key's field: what the journal does not take in one is an underscore.
    static func name(of key: String) -> String {
        let scalars = key.uppercased().unicodeScalars.map { scalar in
            ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar) ? Character(scalar) : "_"
        }
        return String((prefix + String(scalars)).prefix(JournalFields.longestName))
    }

    /// A value as it is, so that it can be matched; a list or map as a line of the log shows it.
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

    /// Whether a text is an id of a message: 128 bits, in small hexadecimal digits.
    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
