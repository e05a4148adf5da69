/// A length of time, the language's `duration`: seconds and nanoseconds of the same sign, up to 10 000 years either way
/// (the range of `google.protobuf.Duration`, which the CEL specification adopts).
public struct TimeSpan: Sendable, Hashable {
    /// The most seconds either way: 10 000 years of 365.25 days.
    package static let mostSeconds: Int64 = 315_576_000_000

    /// Whole seconds, rounded towards zero.
    public let seconds: Int64
    /// Nanoseconds beyond the seconds, -999 999 999 ... 999 999 999, with the sign of `seconds`.
    public let nanoseconds: Int32

    /// Creates a length of time, or nil if it is out of range or the two signs differ.
    public init?(seconds: Int64, nanoseconds: Int32) {
        guard nanoseconds.magnitude < 1_000_000_000, seconds.magnitude <= UInt64(Self.mostSeconds),
            seconds.magnitude < UInt64(Self.mostSeconds) || nanoseconds == 0,
            seconds.signum() * Int64(nanoseconds.signum()) >= 0
        else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Creates a length of time from one of the standard library, rounded towards zero to nanoseconds, or nil if it is
    /// out of range.
    public init?(_ duration: Swift.Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(seconds: seconds, nanoseconds: Int32(attoseconds / 1_000_000_000))
    }

    /// The same length as a value of the standard library.
    public var swiftDuration: Swift.Duration {
        Swift.Duration(secondsComponent: seconds, attosecondsComponent: Int64(nanoseconds) * 1_000_000_000)
    }

    /// The whole length in nanoseconds.
    var totalNanoseconds: Int128 {
        Int128(seconds) * 1_000_000_000 + Int128(nanoseconds)
    }

    /// Creates a length of time from nanoseconds, or nil if it is out of range.
    init?(totalNanoseconds: Int128) {
        let (quotient, remainder) = totalNanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard let seconds = Int64(exactly: quotient) else { return nil }
        self.init(seconds: seconds, nanoseconds: Int32(remainder))
    }
}

extension TimeSpan: Comparable {
    /// Returns whether one length is less than another. A negative length is less than zero.
    public static func < (left: TimeSpan, right: TimeSpan) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

extension TimeSpan: CustomStringConvertible {
    /// The units of a length of time, in nanoseconds.
    private static let units: [(name: String, nanoseconds: Int128)] = [
        ("ns", 1), ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000),
        ("m", 60_000_000_000), ("h", 3_600_000_000_000),
    ]

    /// The most digits before or after the point of one number. More digits are out of range or below a nanosecond.
    private static let mostDigits = 18

    /// Reads a length of time in the form that the specification takes from Go (`time.ParseDuration`): an optional
    /// sign, then numbers, each with an optional fraction and a unit. The units are `h`, `m`, `s`, `ms`, `us` and `ns`,
    /// as in `1h30m`, `1.5s`, `250ms`, `-2s`. `0` alone needs no unit.
    ///
    /// Parts of a nanosecond are dropped. Any other text, or a length out of range, gives nil.
    public init?(text: String) {
        var rest = Substring(text)
        let isNegative = rest.hasPrefix("-")
        if isNegative || rest.hasPrefix("+") { rest.removeFirst() }
        guard !rest.isEmpty else { return nil }
        guard rest != "0" else {
            self.init(seconds: 0, nanoseconds: 0)
            return
        }
        var total: Int128 = 0
        while !rest.isEmpty {
            guard let component = Self.component(of: &rest) else { return nil }
            total += component
            guard total <= Int128(Self.mostSeconds) * 1_000_000_000 else { return nil }
        }
        self.init(totalNanoseconds: isNegative ? -total : total)
    }

    /// Removes one number and its unit from the text and returns it in nanoseconds.
    private static func component(of rest: inout Substring) -> Int128? {
        func isDigit(_ character: Character) -> Bool { character >= "0" && character <= "9" && character.isASCII }
        let whole = rest.prefix(while: isDigit)
        rest = rest.dropFirst(whole.count)
        var fraction = Substring()
        if rest.hasPrefix(".") {
            rest.removeFirst()
            fraction = rest.prefix(while: isDigit)
            rest = rest.dropFirst(fraction.count)
        }
        guard !whole.isEmpty || !fraction.isEmpty, whole.count <= mostDigits else { return nil }
        let name = rest.prefix { !isDigit($0) && $0 != "." }
        guard let unit = units.first(where: { $0.name == name }) else { return nil }
        rest = rest.dropFirst(name.count)
        fraction = fraction.prefix(mostDigits)
        var scale: Int128 = 1
        for _ in 0..<fraction.count { scale *= 10 }
        let wholeNumber = Int128(whole) ?? 0
        let fractionNumber = Int128(fraction) ?? 0
        return wholeNumber * unit.nanoseconds + fractionNumber * unit.nanoseconds / scale
    }

    /// The length in the usual notation, which ``init(text:)`` reads: `1h30m`, `10m`, `1.5s`, `250ms`, `-2s`.
    public var brief: String {
        guard self != TimeSpan(seconds: 0, nanoseconds: 0) else { return "0s" }
        let sign = seconds < 0 || nanoseconds < 0 ? "-" : ""
        let whole = seconds.magnitude
        let part = nanoseconds.magnitude
        if whole == 0 {
            // The largest unit that divides the length without a remainder.
            for (size, unit) in [(UInt32(1_000_000), "ms"), (1_000, "us")] where part.isMultiple(of: size) {
                return "\(sign)\(part / size)\(unit)"
            }
            return "\(sign)\(part)ns"
        }
        var text = sign
        if whole >= 3_600 { text += "\(whole / 3_600)h" }
        if whole % 3_600 >= 60 { text += "\(whole % 3_600 / 60)m" }
        if whole % 60 > 0 || part > 0 { text += "\(whole % 60)\(FractionText.text(nanoseconds: Int32(part)))s" }
        return text
    }

    /// The result of the language's `humanize()`: the largest unit and the next smaller one, as in `2 h 5 min`, `3 d` and
    /// `1.5 s`. Smaller parts are dropped.
    var humanized: String {
        let sign = seconds < 0 || nanoseconds < 0 ? "-" : ""
        let whole = seconds.magnitude
        let part = nanoseconds.magnitude
        if whole >= 60 {
            let units: [(name: String, seconds: UInt64)] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
            let large = units.firstIndex { whole >= $0.seconds } ?? 0
            let (count, rest) = whole.quotientAndRemainder(dividingBy: units[large].seconds)
            let small = rest / units[large + 1].seconds
            return "\(sign)\(count) \(units[large].name)" + (small > 0 ? " \(small) \(units[large + 1].name)" : "")
        }
        if whole > 0 {
            let tenths = part / 100_000_000
            return "\(sign)\(whole)\(tenths > 0 ? ".\(tenths)" : "") s"
        }
        for (size, unit) in [(UInt32(1_000_000), "ms"), (1_000, "us"), (1, "ns")] where part >= size {
            return "\(sign)\(part / size) \(unit)"
        }
        return "0 s"
    }

    /// The result of the language's `string()`: seconds with as many fraction digits as needed, and `s`, as in `5400s`,
    /// `1.5s`, `-0.25s`.
    public var description: String {
        let sign = seconds < 0 || nanoseconds < 0 ? "-" : ""
        return sign + String(seconds.magnitude)
            + FractionText.text(nanoseconds: Int32(nanoseconds.magnitude)) + "s"
    }
}
