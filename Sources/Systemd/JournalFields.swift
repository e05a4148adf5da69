import Logging

/// Fields that the journal keeps separately for a log line. They are a value of the line's metadata under ``key``.
/// Other log handlers print them like other metadata.
public struct JournalFields: Sendable, CustomStringConvertible {
    /// The key in the metadata.
    public static let key = "journal-fields"
    /// The longest field name that the journal accepts, in bytes.
    static let longestName = 64

    /// The fields by their names, in lowercase or uppercase.
    public let fields: [String: String]

    /// Creates fields, possibly none. Their presence marks a line that comes from a configuration rather than from a
    /// location in the program.
    public init(_ fields: [String: String]) {
        self.fields = fields
    }

    /// The form in which other log handlers print the fields.
    public var description: String {
        fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }

    /// Removes the fields from a line's metadata and returns them.
    static func take(from metadata: inout Logger.Metadata) -> JournalFields? {
        guard case .stringConvertible(let value)? = metadata[key], let fields = value as? JournalFields else {
            return nil
        }
        metadata[key] = nil
        return fields
    }

    /// Returns whether the journal accepts a field of this name from any process (systemd.journal-fields(7)): letters,
    /// digits and underscores, beginning with a letter. Lowercase letters become uppercase.
    static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= longestName, isLetter(first) else { return false }
        return name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
