/// Reads a file of the IANA time zone database in the format TZif (RFC 8536), versions 1 to 4.
struct TimeZoneFile {
    /// The most transitions, and types of local time, in a file. The largest of the database has some 250.
    private static let mostTransitions = 8_192
    private static let mostTypes = 256
    /// The longest footer, in bytes.
    private static let longestFooter = 256

    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Returns the time zone that a file describes, or nil if it is malformed or counts leap seconds.
    static func zone(_ bytes: [UInt8]) -> ZoneOffsets? {
        var file = TimeZoneFile(bytes)
        guard let first = file.header() else { return nil }
        guard first.version >= UInt8(ascii: "2") else { return file.zone(first, timeWidth: 4) }
        // The first block repeats the second for readers that know only 32-bit times.
        guard file.skip(first.length(timeWidth: 4)), let second = file.header() else { return nil }
        return file.zone(second, timeWidth: 8)
    }

    /// The header of a data block (section 3.1).
    private struct Header {
        let version: UInt8
        let utcIndicators: Int
        let standardIndicators: Int
        let leapSeconds: Int
        let transitions: Int
        let types: Int
        let characters: Int

        /// The length of the data block in bytes (section 3.2).
        func length(timeWidth: Int) -> Int {
            transitions * (timeWidth + 1) + types * 6 + characters + leapSeconds * (timeWidth + 4)
                + standardIndicators + utcIndicators
        }
    }

    private mutating func header() -> Header? {
        guard bytes.count - position >= 44, bytes[position...].starts(with: "TZif".utf8) else { return nil }
        let version = bytes[position + 4]
        position += 20
        var counts: [Int] = []
        for _ in 0..<6 { counts.append(Int(integer(width: 4))) }
        guard counts.allSatisfy({ $0 >= 0 && $0 <= bytes.count }), counts[3] <= Self.mostTransitions,
            counts[4] <= Self.mostTypes
        else { return nil }
        return Header(
            version: version, utcIndicators: counts[0], standardIndicators: counts[1], leapSeconds: counts[2],
            transitions: counts[3], types: counts[4], characters: counts[5])
    }

    private mutating func skip(_ length: Int) -> Bool {
        guard length <= bytes.count - position else { return false }
        position += length
        return true
    }

    /// Reads a signed integer, the most significant byte first. The caller has checked that the bytes exist.
    private mutating func integer(width: Int) -> Int64 {
        var bits: UInt64 = bytes[position] & 0x80 == 0 ? 0 : .max
        for _ in 0..<width {
            bits = bits << 8 | UInt64(bytes[position])
            position += 1
        }
        return Int64(bitPattern: bits)
    }

    /// Reads the data block and the footer.
    private mutating func zone(_ header: Header, timeWidth: Int) -> ZoneOffsets? {
        let length = header.length(timeWidth: timeWidth)
        guard header.leapSeconds == 0, header.types > 0, length <= bytes.count - position else { return nil }
        let end = position + length
        var times: [Int64] = []
        for _ in 0..<header.transitions { times.append(integer(width: timeWidth)) }
        let indices = bytes[position..<(position + header.transitions)].map { Int($0) }
        position += header.transitions
        var offsets: [Int64] = []
        for _ in 0..<header.types {
            offsets.append(integer(width: 4))
            position += 2
        }
        guard indices.allSatisfy({ $0 < offsets.count }), zip(times, times.dropFirst()).allSatisfy({ $0 < $1 }),
            offsets.allSatisfy({ $0.magnitude <= UInt64(ZoneOffsets.largestOffset) })
        else { return nil }
        position = end
        return ZoneOffsets(
            transitions: times, offsets: indices.map { offsets[$0] }, first: offsets[0], rule: footer())
    }

    /// Reads the rule for the time after the last transition (section 3.3), if the file has one.
    private func footer() -> TimeZoneRule? {
        guard position < bytes.count, bytes[position] == 0x0A else { return nil }
        let line = bytes[(position + 1)...].prefix(Self.longestFooter).prefix { $0 != 0x0A }
        return TimeZoneRule(text: Array(line))
    }
}

/// A time zone: the offsets of local time from UTC, and their transitions.
public struct ZoneOffsets: Sendable {
    /// The zone that is always equal to UTC.
    public static let utc = ZoneOffsets(transitions: [], offsets: [], first: 0, rule: nil)

    /// The largest offset in either direction, in seconds (RFC 8536, section 3.2 allows -25 to 26 hours).
    package static let largestOffset: Int64 = 26 * 3_600

    /// The times at which the offset changes, in seconds since 1970-01-01T00:00:00Z, ascending.
    let transitions: [Int64]
    /// The offset from each transition on, in seconds.
    let offsets: [Int64]
    /// The offset before all transitions.
    let first: Int64
    /// The rule after the last transition.
    let rule: TimeZoneRule?

    init(transitions: [Int64], offsets: [Int64], first: Int64, rule: TimeZoneRule?) {
        self.transitions = transitions
        self.offsets = offsets
        self.first = first
        self.rule = rule
    }

    /// Creates a zone that follows a rule at all times.
    init(rule: TimeZoneRule) {
        self.init(transitions: [], offsets: [], first: 0, rule: rule)
    }

    /// Returns how many seconds local time is ahead of UTC at a moment.
    public func offset(at seconds: Int64) -> Int64 {
        guard let last = transitions.last, seconds < last else {
            return rule?.offset(at: seconds) ?? offsets.last ?? first
        }
        // A binary search for the last transition that is not later.
        var (low, high) = (0, transitions.count)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? first : offsets[low - 1]
    }

    /// Returns the next moment at which the offset may change, in seconds since 1970-01-01T00:00:00Z; nil if it no
    /// longer changes.
    package func transition(after seconds: Int64) -> Int64? {
        guard let last = transitions.last, seconds < last else { return rule?.change(after: seconds) }
        var (low, high) = (0, transitions.count)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        return transitions[low]
    }
}
