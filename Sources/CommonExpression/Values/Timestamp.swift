/// A point in time: seconds and nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// The range is from the beginning of year 1 to the end of year 9999, as for `google.protobuf.Timestamp`, which the CEL
/// specification adopts.
public struct Timestamp: Sendable, Hashable {
    /// The first second of the range, 0001-01-01T00:00:00Z.
    package static let firstSecond: Int64 = -62_135_596_800
    /// The last second of the range, 9999-12-31T23:59:59Z.
    package static let lastSecond: Int64 = 253_402_300_799

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded towards the past.
    public let seconds: Int64
    /// Nanoseconds to add to `seconds`, 0 ..< 1 000 000 000, also before 1970.
    public let nanoseconds: Int32

    /// Creates a point in time, or nil if it is out of range.
    /// - Parameters:
    ///   - seconds: Whole seconds since 1970-01-01T00:00:00Z.
    ///   - nanoseconds: Nanoseconds to add, 0 ..< 1 000 000 000.
    public init?(seconds: Int64, nanoseconds: Int32) {
        guard seconds >= Self.firstSecond, seconds <= Self.lastSecond, nanoseconds >= 0, nanoseconds < 1_000_000_000
        else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The start of Unix time, 1970-01-01T00:00:00Z.
    package static let epoch = Timestamp(unchecked: 0)

    private init(unchecked seconds: Int64) {
        self.seconds = seconds
        nanoseconds = 0
    }

    /// Nanoseconds since 1970-01-01T00:00:00Z.
    package var totalNanoseconds: Int128 {
        Int128(seconds) * 1_000_000_000 + Int128(nanoseconds)
    }

    /// Creates a point in time from nanoseconds since 1970-01-01T00:00:00Z, or nil if it is out of range.
    package init?(totalNanoseconds: Int128) {
        let (quotient, remainder) = totalNanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let isBefore = remainder < 0
        guard let seconds = Int64(exactly: isBefore ? quotient - 1 : quotient) else { return nil }
        self.init(seconds: seconds, nanoseconds: Int32(isBefore ? remainder + 1_000_000_000 : remainder))
    }
}

extension Timestamp {
    /// Returns the time since another point; negative if this one is earlier.
    package func span(since other: Timestamp) -> Duration {
        .seconds(seconds - other.seconds) + .nanoseconds(Int64(nanoseconds) - Int64(other.nanoseconds))
    }

    /// Returns the point in time after a span, to the nanosecond, or nil if it is out of range.
    package func advanced(by span: Duration) -> Timestamp? {
        let (seconds, attoseconds) = span.components
        return Timestamp(
            totalNanoseconds: totalNanoseconds + Int128(seconds) * 1_000_000_000
                + Int128(attoseconds / 1_000_000_000))
    }
}

extension Timestamp: Comparable {
    /// Returns whether one point in time is before another.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

extension Timestamp: CustomStringConvertible {
    /// Reads a point in time in the format of RFC 3339, section 5.6, such as `2026-11-21T10:00:00.5Z` or
    /// `2026-11-21T11:00:00+01:00`.
    ///
    /// Digits of the fraction after the ninth are dropped. The leap second `:60` is not accepted. Any other text, or a
    /// time out of range, gives nil.
    public init?(rfc3339 text: String) {
        var reader = DigitReader(Array(text.utf8))
        guard
            let year = reader.number(digits: 4), reader.take("-"),
            let month = reader.number(digits: 2), reader.take("-"),
            let day = reader.number(digits: 2), reader.take("T") || reader.take("t"),
            let hour = reader.number(digits: 2), reader.take(":"),
            let minute = reader.number(digits: 2), reader.take(":"),
            let second = reader.number(digits: 2),
            let nanoseconds = reader.fraction(),
            let offset = reader.offset(), reader.isAtEnd,
            year >= 1, hour <= 23, minute <= 59, second <= 59,
            let days = CivilDate.days(year: year, month: month, day: day)
        else { return nil }
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        self.init(seconds: seconds, nanoseconds: Int32(nanoseconds))
    }

    /// The point in time as RFC 3339 in UTC, with as many digits of the fraction as it needs.
    public var description: String {
        let date = CivilDate(secondsSinceEpoch: seconds)
        // The text is built in place, because log lines and references to them contain one each.
        return String(unsafeUninitializedCapacity: Self.longestText) { buffer in
            var count = 0
            func add(_ byte: UInt8) {
                buffer.initializeElement(at: count, to: byte)
                count += 1
            }
            func add(_ number: Int64, digits: Int) {
                var divisor: Int64 = 1
                for _ in 1..<digits { divisor *= 10 }
                while divisor > 0 {
                    add(UInt8(ascii: "0") + UInt8(number / divisor % 10))
                    divisor /= 10
                }
            }
            add(date.year, digits: 4)
            add(UInt8(ascii: "-"))
            add(date.month, digits: 2)
            add(UInt8(ascii: "-"))
            add(date.day, digits: 2)
            add(UInt8(ascii: "T"))
            add(date.hour, digits: 2)
            add(UInt8(ascii: ":"))
            add(date.minute, digits: 2)
            add(UInt8(ascii: ":"))
            add(date.second, digits: 2)
            if nanoseconds > 0 {
                add(UInt8(ascii: "."))
                add(Int64(nanoseconds), digits: 9)
                while buffer[count - 1] == UInt8(ascii: "0") { count -= 1 }
            }
            add(UInt8(ascii: "Z"))
            return count
        }
    }

    /// The length of the longest text, `YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ`.
    private static let longestText = 30
}

/// Writes fractions of a second.
enum FractionText {
    /// Returns an empty text for zero, otherwise a point and the digits without trailing zeros.
    static func text(nanoseconds: Int32) -> String {
        guard nanoseconds > 0 else { return "" }
        var digits = String(nanoseconds)
        digits = String(repeating: "0", count: 9 - digits.utf8.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "." + digits
    }
}

/// Reads fixed-width numbers from ASCII text.
struct DigitReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    /// The next byte, if it is a digit.
    private mutating func digit() -> Int64? {
        guard position < bytes.count, bytes[position] >= 0x30, bytes[position] <= 0x39 else { return nil }
        defer { position += 1 }
        return Int64(bytes[position] - 0x30)
    }

    /// Reads a number of exactly that many digits.
    mutating func number(digits: Int) -> Int64? {
        var number: Int64 = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Reads the character if it is next.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
        position += 1
        return true
    }

    /// Reads an optional fraction, in nanoseconds; nil for a point without digits.
    mutating func fraction() -> Int64? {
        guard take(".") else { return 0 }
        guard var nanoseconds = digit() else { return nil }
        var count = 1
        while let digit = digit() {
            if count < 9 {
                nanoseconds = nanoseconds * 10 + digit
                count += 1
            }
        }
        while count < 9 {
            nanoseconds *= 10
            count += 1
        }
        return nanoseconds
    }

    /// Reads `Z` or an offset `±hh:mm`, in seconds.
    mutating func offset() -> Int64? {
        if take("Z") || take("z") { return 0 }
        let isNegative = take("-")
        guard isNegative || take("+") else { return nil }
        return hoursAndMinutes().map { isNegative ? -$0 : $0 }
    }

    /// Reads `hh:mm` in seconds.
    mutating func hoursAndMinutes() -> Int64? {
        guard let hours = number(digits: 2), take(":"), let minutes = number(digits: 2), hours <= 23, minutes <= 59
        else { return nil }
        return hours * 3_600 + minutes * 60
    }
}
