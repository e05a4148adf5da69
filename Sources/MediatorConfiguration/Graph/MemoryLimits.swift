/// The limits for the memory that data of systems and buses takes. Beyond any of them there is a fault, and nothing changes.
public struct MemoryLimits: Sendable, Hashable {
    /// Bytes of one state, of the data of one event, and of one value of a bus.
    public var value: Int
    /// Bytes of all states, and of all values of buses that are kept or on their way.
    public var states: Int
    /// Bytes of the events that wait in all mailboxes.
    public var mailboxes: Int

    /// The limits of a daemon of which the configuration says nothing: 1 MiB, 128 MiB and 128 MiB.
    public static let standard = MemoryLimits()

    /// The range of the first limit: from 4 KiB to 16 MiB.
    static let valueRange = 4096...(16 << 20)
    /// The range of the others: from 16 MiB, so that each value has room, to 64 GiB.
    static let totalRange = (16 << 20)...(64 << 30)

    /// Limits.
    public init(value: Int = 1 << 20, states: Int = 128 << 20, mailboxes: Int = 128 << 20) {
        self.value = value
        self.states = states
        self.mailboxes = mailboxes
    }

    /// The differences from other limits in words, such as `value: 4 MiB instead of 1 MiB`; empty if they are equal.
    public func difference(from old: MemoryLimits) -> String {
        [("value", old.value, value), ("states", old.states, states), ("mailboxes", old.mailboxes, mailboxes)]
            .filter { $1 != $2 }
            .map { "\($0): \(ByteSize.text(of: $2)) instead of \(ByteSize.text(of: $1))" }.joined(separator: ", ")
    }
}

/// Numbers of bytes as they are written and shown.
public enum ByteSize {
    private static let units: [(name: String, factor: Int)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
    ]

    /// A number of bytes for people, with one decimal at most: `1 MiB`, `1.5 MiB`, `300 B`. It is rounded up, so that a number
    /// beyond a limit never looks like the limit.
    public static func text(of bytes: Int) -> String {
        let unit = units.first { bytes >= $0.factor } ?? ("B", 1)
        let whole = bytes / unit.factor
        let rest = bytes % unit.factor
        guard rest > 0 else { return "\(whole) \(unit.name)" }
        let tenths = whole * 10 + (rest * 10 + unit.factor - 1) / unit.factor
        return tenths % 10 == 0 ? "\(tenths / 10) \(unit.name)" : "\(tenths / 10).\(tenths % 10) \(unit.name)"
    }

    /// Reads a whole number with a unit, such as `64KiB`, or without one, which is of bytes; nil: it is none.
    static func bytes(in text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let written = text.dropFirst(digits.count)
        guard !digits.isEmpty, let number = Int(digits),
            let unit = written.isEmpty ? ("B", 1) : units.first(where: { $0.name == written })
        else { return nil }
        let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: unit.factor)
        return isTooLarge ? nil : bytes
    }

    /// A hint that suggests a size in place of a wrong text.
    static func hint(for text: String) -> String {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let letter = text.dropFirst(digits.count).drop { $0 == " " }.first?.uppercased() ?? "B"
        guard !digits.isEmpty, let unit = units.first(where: { $0.name.hasPrefix(letter) }),
            bytes(in: "\(digits)\(unit.name)") != nil, "\(digits)\(unit.name)" != text
        else { return "write a whole number and a unit, such as 64KiB or 1MiB" }
        return "write \(digits)\(unit.name): the units are KiB, MiB and GiB"
    }
}
