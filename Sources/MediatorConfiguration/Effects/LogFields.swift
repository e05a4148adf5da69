import CommonExpression

/// The rules for the fields of a journal entry (systemd.journal-fields(7)).
enum LogFields {
    /// The largest number of fields, and the largest size of their names and values together.
    static let limits = (fields: 32, bytes: 32_768)
    /// The fields that each entry has already.
    private static let taken: Set = ["message", "priority", "system", "feedback"]
    private static let reserved = ["syslog_", "mediator_"]

    /// The reason why a map breaks the rules; `nil` if it does not.
    static func problem(with entries: [Value: Value]) -> String? {
        guard entries.count <= limits.fields else {
            return "has \(entries.count) fields, and at most \(limits.fields) are kept"
        }
        let texts = entries.map { ($0.key.text ?? "", $0.value.text ?? "") }.sorted { $0.0 < $1.0 }
        guard texts.reduce(0, { $0 + $1.0.utf8.count + $1.1.utf8.count }) <= limits.bytes else {
            return "is longer than \(limits.bytes) bytes"
        }
        var names: [String: String] = [:]
        for (name, _) in texts {
            guard isName(name) else {
                return
                    "cannot have '\(name.prefix(64))': a field has a name of at most 64 letters, digits and underscores, "
                    + "which begins with a letter"
            }
            let lower = name.lowercased()
            if taken.contains(lower) || reserved.contains(where: lower.hasPrefix) {
                return "cannot have '\(name)', which the daemon says itself"
            }
            if let other = names.updateValue(name, forKey: lower) {
                return "has '\(other)' and '\(name)', which are one field of the journal"
            }
        }
        return nil
    }

    private static func isName(_ text: String) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
        guard let first = text.utf8.first, text.utf8.count <= 64, isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
    }
}
