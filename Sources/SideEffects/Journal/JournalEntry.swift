import CommonExpression

/// An entry of the journal (systemd.journal-fields(7)), as `journalctl --output=json` prints it.
struct JournalEntry: Sendable, Hashable {
    /// The bytes that are kept of a field.
    static let fieldLimit = 16 * 1024
    /// The limits of an entry: the number of its fields, and their bytes together.
    static let limits = (fields: 64, bytes: 64 * 1024)
    /// Fields that come first, so that the limits never exclude them.
    private static let important = ["MESSAGE", "PRIORITY", "_SYSTEMD_UNIT"]

    /// The time at which journald received the entry, in microseconds since 1970.
    let microseconds: UInt64
    /// The position of the entry, for `journalctl --cursor=`.
    let cursor: String
    /// The id of the machine.
    let machine: String
    /// The id of the machine's boot.
    let boot: String
    /// The fields, without those of the position, such as `__CURSOR`. Invalid UTF-8 is replaced.
    let fields: [String: String]

    /// Parses a line of journalctl. Returns nil if the line is not an entry.
    init?(line: [UInt8]) {
        guard case .map(let object)? = try? Value(parsingJSON: line) else { return nil }
        func text(_ name: String) -> String? { object[.string(name)].flatMap { Self.text($0, limit: Self.fieldLimit) } }
        guard let cursor = text("__CURSOR"), !cursor.isEmpty,
            let microseconds = text("__REALTIME_TIMESTAMP").flatMap({ UInt64($0) })
        else { return nil }
        self.cursor = cursor
        self.microseconds = microseconds
        machine = text("_MACHINE_ID") ?? ""
        boot = text("_BOOT_ID") ?? ""
        var fields: [String: String] = [:]
        var bytes = 0
        func keep(_ name: String, _ value: Value) {
            // The limit covers NAME=VALUE.
            let room = max(0, Self.fieldLimit - name.utf8.count - 1)
            guard fields.count < Self.limits.fields, let text = Self.text(value, limit: room) else { return }
            let length = name.utf8.count + 1 + text.utf8.count
            guard bytes + length <= Self.limits.bytes else { return }
            bytes += length
            fields[name] = text
        }
        for name in Self.important { if let value = object[.string(name)] { keep(name, value) } }
        let names = object.keys.compactMap { if case .string(let name) = $0 { name } else { nil } }
        // journalctl prints fields in a random order. Sorted, the limits keep the same ones each time.
        for name in names.sorted() where !name.hasPrefix("__") && !Self.important.contains(name) {
            if let value = object[.string(name)] { keep(name, value) }
        }
        self.fields = fields
    }

    /// Returns the text of a field.
    ///
    /// journalctl prints a string, or an array of bytes if the field is not printable text. If the field occurs more
    /// than once, it prints an array of those, of which the first counts.
    private static func text(_ value: Value, limit: Int) -> String? {
        switch value {
        case .string(let text):
            return text.utf8.count <= limit ? text : String(decoding: text.utf8.prefix(limit), as: UTF8.self)
        case .list(let elements):
            guard let first = elements.first else { return nil }
            guard case .int = first else { return text(first, limit: limit) }
            let bytes = elements.prefix(limit).map { element -> UInt8 in
                if case .int(let number) = element { UInt8(truncatingIfNeeded: number) } else { UInt8(ascii: "?") }
            }
            return String(decoding: bytes, as: UTF8.self)
        default:
            return nil
        }
    }
}

/// The syntax of a position in the journal (sd_journal_get_cursor(3)).
enum JournalCursor {
    /// Returns whether journalctl can seek to a text.
    ///
    /// A cursor has fields such as `i=1f`, separated by semicolons. Some combinations of fields suffice to find a
    /// position.
    static func isValid(_ text: String) -> Bool {
        guard let fields = fields(text) else { return false }
        return fields["t"] != nil || (fields["s"] != nil && fields["i"] != nil)
            || (fields["m"] != nil && fields["b"] != nil)
    }

    /// Returns whether two cursors belong to the same entry.
    static func areSame(_ first: String, _ second: String) -> Bool {
        if first == second { return true }
        guard let first = fields(first), let second = fields(second), let sequence = first["s"], let number = first["i"]
        else { return false }
        return second["s"] == sequence && second["i"] == number
    }

    private static func fields(_ text: String) -> [Character: Substring]? {
        var fields: [Character: Substring] = [:]
        for field in text.split(separator: ";", omittingEmptySubsequences: false) {
            let value = field.dropFirst(2)
            guard let name = field.first, field.dropFirst().first == "=", !value.isEmpty,
                value.utf8.allSatisfy({ isHexadecimal($0) })
            else { return nil }
            fields[name] = value
        }
        return fields
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) || (0x41...0x46).contains(byte)
    }
}
