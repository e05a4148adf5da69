import Logging

/// What the journal is to keep of a log line in fields of their own, as a value of its metadata under ``key``; elsewhere they
/// are printed like other metadata.
public struct JournalFields: Sendable, CustomStringConvertible {
    /// The key in the metadata.
    public static let key = "journal-fields"

    /// By their names as they are written, in small letters or large ones.
    public let fields: [String: String]

    /// Fields, perhaps none: the line is an entry of its own then too, which names its system.
    public init(_ fields: [String: String]) {
        self.fields = fields
    }

    /// As other handlers of logs print it.
    public var description: String {
        fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }

    /// Takes them out of a line's metadata, where they are.
    static func take(from metadata: inout Logger.Metadata) -> JournalFields? {
        guard case .stringConvertible(let value)? = metadata[key], let fields = value as? JournalFields else {
            return nil
        }
        metadata[key] = nil
        return fields
    }

    /// Whether the journal takes a field of this name from anyone (systemd.journal-fields(7)): letters, digits and
    /// underscores, and neither a digit nor an underscore first. Small letters become large ones.
    static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= 64, isLetter(first) else { return false }
        return name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    /// An entry with them.
    ///
    /// - Parameters:
    ///   - message: The sentence, with what a line of the log says besides.
    ///   - priority: How grave it is, from 0 to 7.
    ///   - metadata: What else the line carries: `system` and `feedback` become fields.
    ///   - identifier: The name of the program.
    func entry(
        message: String, priority: Int, metadata: Logger.Metadata, identifier: String
    ) -> [(name: String, value: String)] {
        var entry = [
            ("MESSAGE", message), ("PRIORITY", String(priority)), ("SYSLOG_IDENTIFIER", identifier),
        ]
        for key in ["system", "feedback"] {
            if case .string(let value)? = metadata[key] { entry.append(("MEDIATOR_" + key.uppercased(), value)) }
        }
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) where Self.isName(name) {
            entry.append((name.uppercased(), value))
        }
        return entry
    }
}
