extension String {
    /// Returns whether it holds a short pattern of ASCII characters. Much faster than `contains`, which compares
    /// characters.
    func holds(_ pattern: StaticString) -> Bool {
        var copy = self
        return copy.withUTF8 { bytes in
            pattern.withUTF8Buffer { pattern in
                guard let first = pattern.first, bytes.count >= pattern.count else { return false }
                for start in 0...(bytes.count - pattern.count) where bytes[start] == first {
                    if pattern.indices.allSatisfy({ bytes[start + $0] == pattern[$0] }) { return true }
                }
                return false
            }
        }
    }
}

/// YAML 1.2's core schema (YAML 1.2.2 § 10.3.2): what a plain scalar's text means.
package enum CoreSchema: Sendable, Equatable {
    /// `null`, `~` or nothing.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A whole number, decimal, `0o17` or `0x1F`, with its sign.
    case int(isNegative: Bool, magnitude: UInt64)
    /// A whole number beyond 64 bits.
    case hugeInt
    /// A number with a fraction or exponent, `.inf` or `.nan`.
    case float(Double)
    /// A finite number too large for a double.
    case hugeFloat
    /// Everything else, `on`, `off`, `yes` and `no` among it.
    case text

    /// A Boolean value that indicates whether it is a number of any kind.
    package var isNumber: Bool {
        switch self {
        case .int, .hugeInt, .float, .hugeFloat: true
        case .null, .bool, .text: false
        }
    }

    /// Resolves a plain scalar's text. Linear.
    package init(plain text: String) {
        var copy = text
        self = copy.withUTF8 { Self.resolve($0, text) }
    }

    private static func resolve(_ bytes: UnsafeBufferPointer<UInt8>, _ text: String) -> CoreSchema {
        guard let first = bytes.first else { return .null }
        switch first {
        case UInt8(ascii: "~"), UInt8(ascii: "n"), UInt8(ascii: "N"), UInt8(ascii: "t"), UInt8(ascii: "T"),
            UInt8(ascii: "f"), UInt8(ascii: "F"):
            // None of the words is longer than `false`.
            return bytes.count <= 5 ? word(text) : .text
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            return number(bytes, text)
        default:
            return .text
        }
    }

    private static func word(_ text: String) -> CoreSchema {
        switch text {
        case "~", "null", "Null", "NULL": .null
        case "true", "True", "TRUE": .bool(true)
        case "false", "False", "FALSE": .bool(false)
        default: .text
        }
    }

    private static func number(_ bytes: UnsafeBufferPointer<UInt8>, _ text: String) -> CoreSchema {
        if bytes.count > 2, bytes[0] == UInt8(ascii: "0") {
            if bytes[1] == UInt8(ascii: "o") { return integer(bytes.dropFirst(2), radix: 8) ?? .text }
            if bytes[1] == UInt8(ascii: "x") { return integer(bytes.dropFirst(2), radix: 16) ?? .text }
        }
        let isSigned = bytes[0] == UInt8(ascii: "+") || bytes[0] == UInt8(ascii: "-")
        let isNegative = bytes[0] == UInt8(ascii: "-")
        let digits = isSigned ? bytes.dropFirst() : bytes[...]
        guard let first = digits.first, first < UInt8(ascii: ":") else { return .text }
        if let result = integer(digits, radix: 10, isNegative: isNegative) { return result }
        switch isSigned ? String(text.dropFirst()) : text {
        case ".inf", ".Inf", ".INF": return .float(isNegative ? -.infinity : .infinity)
        case ".nan", ".NaN", ".NAN": return isSigned ? .text : .float(.nan)
        default: break
        }
        guard isFloat(digits), let value = Double(text) else { return .text }
        return value.isFinite ? .float(value) : .hugeFloat
    }

    /// Digits of a radix and nothing else, at least one; nil if it is something else.
    private static func integer(
        _ digits: Slice<UnsafeBufferPointer<UInt8>>, radix: UInt64, isNegative: Bool = false
    ) -> CoreSchema? {
        guard !digits.isEmpty else { return nil }
        var magnitude: UInt64 = 0
        var isHuge = false
        for byte in digits {
            let digit: UInt64
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = UInt64(byte - UInt8(ascii: "a")) + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = UInt64(byte - UInt8(ascii: "A")) + 10
            default: return nil
            }
            guard digit < radix else { return nil }
            let (product, overflowed) = magnitude.multipliedReportingOverflow(by: radix)
            let (sum, carried) = product.addingReportingOverflow(digit)
            isHuge = isHuge || overflowed || carried
            magnitude = sum
        }
        return isHuge ? .hugeInt : .int(isNegative: isNegative, magnitude: magnitude)
    }

    /// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
    private static func isFloat(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        var rest = digits
        let whole = rest.prefix(while: isDigit).count
        rest = rest.dropFirst(whole)
        var fraction = 0
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            fraction = rest.prefix(while: isDigit).count
            rest = rest.dropFirst(fraction)
        }
        guard whole + fraction > 0 else { return false }
        guard let mark = rest.first else { return true }
        guard mark == UInt8(ascii: "e") || mark == UInt8(ascii: "E") else { return false }
        rest = rest.dropFirst()
        if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        return !rest.isEmpty && rest.allSatisfy(isDigit)
    }
}
