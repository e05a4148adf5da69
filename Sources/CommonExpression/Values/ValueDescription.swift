extension Value: CustomStringConvertible {
    /// The value, similar to its form in an expression: `"abc"`, `3u`, `duration("5s")`, `[1, 2]`, `{"a": 1}`,
    /// `Offline{since: timestamp("…")}`, `optional.of(1)`. The entries of a map are in the order of their printed keys.
    public var description: String {
        var text = ""
        write(to: &text, level: 0, longest: Int.max)
        return text
    }

    /// Returns the description, cut off after a number of code points. It reads only the elements that it shows, and
    /// all keys of maps.
    package func description(longest: Int) -> String {
        var text = ""
        // A code point takes at most four bytes.
        write(to: &text, level: 0, longest: longest * 4)
        guard text.unicodeScalars.count > longest else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(longest))) + "…"
    }

    private func write(to text: inout String, level: Int, longest: Int) {
        guard level <= Value.deepestLevel, text.utf8.count <= longest else {
            text += "…"
            return
        }
        switch self {
        case .null: text += "null"
        case .bool(let bool): text += bool ? "true" : "false"
        case .int(let int): text += String(int)
        case .uint(let uint): text += "\(uint)u"
        case .double(let double): text += DoubleText.literal(of: double)
        case .string(let string): LiteralText.write(string, to: &text)
        case .bytes(let bytes): LiteralText.write(bytes, to: &text)
        case .timestamp(let timestamp): text += "timestamp(\"\(timestamp)\")"
        case .duration(let duration): text += "duration(\"\(duration)\")"
        case .list(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                guard text.utf8.count <= longest else { break }
                if index > 0 { text += ", " }
                element.write(to: &text, level: level + 1, longest: longest)
            }
            text += "]"
        case .map(let entries): Self.write(entries, to: &text, level: level, longest: longest)
        case .structure(let structure): Self.write(structure, to: &text, level: level, longest: longest)
        case .typeValue(let type): text += type.denotation
        case .optional(nil): text += "optional.none()"
        case .optional(let value?):
            text += "optional.of("
            value.write(to: &text, level: level + 1, longest: longest)
            text += ")"
        }
    }

    private static func write(_ entries: [Value: Value], to text: inout String, level: Int, longest: Int) {
        let sorted = entries.map { (key: $0.key.description, value: $0.value) }.sorted { $0.key < $1.key }
        text += "{"
        for (index, entry) in sorted.enumerated() {
            guard text.utf8.count <= longest else { break }
            if index > 0 { text += ", " }
            text += entry.key
            text += ": "
            entry.value.write(to: &text, level: level + 1, longest: longest)
        }
        text += "}"
    }

    private static func write(_ structure: Structure, to text: inout String, level: Int, longest: Int) {
        text += structure.type.name
        text += "{"
        for (index, pair) in zip(structure.type.fields, structure.fields).enumerated() {
            if index > 0 { text += ", " }
            text += pair.0.name
            text += ": "
            pair.1.write(to: &text, level: level + 1, longest: longest)
        }
        text += "}"
    }
}

/// Writes string and bytes literals.
enum LiteralText {
    /// Writes the string between double quotes, with escapes for quotes, backslashes and control characters.
    static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                text += "\\x"
                text += hexadecimal(UInt8(truncatingIfNeeded: scalar.value))
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }

    /// Writes the bytes as `b"…"`, with `\xNN` for all bytes that are not printable ASCII.
    static func write(_ bytes: [UInt8], to text: inout String) {
        text += "b\""
        for byte in bytes {
            switch byte {
            case 0x22: text += "\\\""
            case 0x5C: text += "\\\\"
            case 0x20..<0x7F: text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text += "\\x"
                text += hexadecimal(byte)
            }
        }
        text += "\""
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.utf8.count < 2 ? "0" + digits : digits
    }
}

/// Reads and writes `double` values.
enum DoubleText {
    /// Returns the result of `string()`.
    static func text(of double: Double) -> String {
        if double.isNaN { return "NaN" }
        if double.isInfinite { return double < 0 ? "-Infinity" : "Infinity" }
        let text = double.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Returns the number as a literal of the language.
    static func literal(of double: Double) -> String {
        double.isFinite ? double.description : "double(\"\(text(of: double))\")"
    }

    /// Reads the language's FLOAT_LIT or INT_LIT, or `NaN`, `Inf` or `Infinity` in any case with an optional sign. Any
    /// other text, and a number too large for a `double`, gives nil.
    static func number(in text: String) -> Double? {
        var digits = Substring(text)
        let isNegative = digits.hasPrefix("-")
        if isNegative || digits.hasPrefix("+") { digits.removeFirst() }
        switch digits.lowercased() {
        case "nan": return Double.nan
        case "inf", "infinity": return isNegative ? -Double.infinity : Double.infinity
        default: break
        }
        guard isDecimal(digits.utf8), let number = Double(digits), number.isFinite else { return nil }
        return isNegative ? -number : number
    }

    /// Returns whether the text is digits with an optional fraction and exponent, with at least one digit before the
    /// exponent.
    private static func isDecimal(_ text: Substring.UTF8View) -> Bool {
        var rest = text[...]
        func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
        let whole = rest.prefix(while: isDigit)
        rest = rest.dropFirst(whole.count)
        var count = whole.count
        if rest.first == 0x2E {
            rest = rest.dropFirst()
            let fraction = rest.prefix(while: isDigit)
            rest = rest.dropFirst(fraction.count)
            count += fraction.count
        }
        guard count > 0 else { return false }
        guard let mark = rest.first else { return true }
        guard mark == 0x65 || mark == 0x45 else { return false }
        rest = rest.dropFirst()
        if rest.first == 0x2B || rest.first == 0x2D { rest = rest.dropFirst() }
        return !rest.isEmpty && rest.allSatisfy(isDigit)
    }
}
