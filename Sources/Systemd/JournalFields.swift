import Logging

/// What the journal is to keep of a log line in fields of their own, as a value of its metadata under ``key``; elsewhere they
/// are printed like other metadata.
public struct JournalFields: Sendable, CustomStringConvertible {
    /// The key in the metadata.
    public static let key = "journal-fields"
    /// The longest name of a field that the journal takes, in bytes.
    static let longestName = 64

    /// By their names as they are written, in small letters or large ones.
    public let fields: [String: String]

    /// Fields, perhaps none: a line that says so comes from a configuration, rather than from a place in the program.
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
        guard let first = name.utf8.first, name.utf8.count <= longestName, isLetter(first) else { return false }
        return name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
