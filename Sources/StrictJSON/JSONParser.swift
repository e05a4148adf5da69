/// The reason why a text is not valid JSON.
public struct JSONSyntaxError: Error, Hashable, CustomStringConvertible {
    /// The error, as a clause: "a string ends in the middle".
    public let reason: String
    /// The offset of the position where the error was noticed, in bytes.
    public let offset: Int

    /// Creates an error at a byte offset.
    public init(reason: String, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The reason with its position.
    public var description: String { "invalid JSON at byte \(offset): \(reason)" }
}

extension JSONValue {
    /// The default limit for the nesting of arrays and objects.
    public static let defaultMaximumDepth = 128

    /// Parses one JSON text (RFC 8259) strictly. The text must be valid UTF-8, without duplicate member names, without
    /// numbers outside the range of a double, and with only white space after the value.
    ///
    /// - Parameters:
    ///   - bytes: The text in UTF-8, without byte order mark.
    ///   - maximumDepth: The deepest nesting of arrays and objects. It also bounds the recursion of the parser.
    /// - Throws: ``JSONSyntaxError`` with the offset of the error.
    /// - Complexity: O(n) in the length of the text.
    public init(parsing bytes: Span<UInt8>, maximumDepth: Int = defaultMaximumDepth) throws(JSONSyntaxError) {
        var parser = JSONParser(maximumDepth: maximumDepth)
        self = try parser.parseText(bytes)
    }

    /// A whole number: ``int(_:)`` if it fits, otherwise ``uint(_:)``.
    public init(_ number: UInt64) {
        self = Int64(exactly: number).map { .int($0) } ?? .uint(number)
    }

    /// Parses one JSON text; see ``init(parsing:maximumDepth:)-(Span<UInt8>,_)``.
    public init(parsing text: String, maximumDepth: Int = defaultMaximumDepth) throws(JSONSyntaxError) {
        let bytes = Array(text.utf8)
        try self.init(parsing: bytes.span, maximumDepth: maximumDepth)
    }
}

/// A recursive descent parser for RFC 8259. Every function receives the text, so that the parser holds only its
/// position.
private struct JSONParser {
    /// The longest text of a number. Longer text has no practical use and is slow to convert.
    static let maximumNumberLength = 1024

    let maximumDepth: Int
    var position = 0

    init(maximumDepth: Int) {
        self.maximumDepth = maximumDepth
    }

    func failure(_ reason: String, at offset: Int? = nil) -> JSONSyntaxError {
        JSONSyntaxError(reason: reason, offset: offset ?? position)
    }

    mutating func parseText(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> JSONValue {
        skipWhitespace(bytes)
        let value = try parseValue(bytes, depth: 0)
        skipWhitespace(bytes)
        guard position == bytes.count else { throw failure("text follows the value") }
        return value
    }

    func peek(_ bytes: Span<UInt8>) -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    mutating func skipWhitespace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    mutating func parseValue(_ bytes: Span<UInt8>, depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard let first = peek(bytes) else { throw failure("a value is missing") }
        switch first {
        case UInt8(ascii: "\""):
            return .string(try parseString(bytes))
        case UInt8(ascii: "{"):
            guard depth < maximumDepth else { throw failure("more than \(maximumDepth) levels of nesting") }
            return .object(try parseObject(bytes, depth: depth + 1))
        case UInt8(ascii: "["):
            guard depth < maximumDepth else { throw failure("more than \(maximumDepth) levels of nesting") }
            return .array(try parseArray(bytes, depth: depth + 1))
        case UInt8(ascii: "t"):
            try expect("true", bytes)
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false", bytes)
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null", bytes)
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try parseNumber(bytes)
        default:
            throw failure("a value cannot begin like this")
        }
    }

    mutating func expect(_ word: StaticString, _ bytes: Span<UInt8>) throws(JSONSyntaxError) {
        let start = position
        for index in 0..<word.utf8CodeUnitCount {
            guard peek(bytes) == word.utf8Start[index] else {
                throw failure("a value cannot begin like this", at: start)
            }
            position += 1
        }
    }

    mutating func parseObject(_ bytes: Span<UInt8>, depth: Int) throws(JSONSyntaxError) -> JSONObject {
        position += 1
        var members: JSONObject = [:]
        skipWhitespace(bytes)
        if peek(bytes) == UInt8(ascii: "}") {
            position += 1
            return members
        }
        while true {
            skipWhitespace(bytes)
            guard peek(bytes) == UInt8(ascii: "\"") else { throw failure("a member name is missing") }
            let start = position
            let name = try parseString(bytes)
            skipWhitespace(bytes)
            guard peek(bytes) == UInt8(ascii: ":") else { throw failure("a colon is missing") }
            position += 1
            skipWhitespace(bytes)
            let value = try parseValue(bytes, depth: depth)
            guard members.updateValue(value, forKey: name) == nil else {
                throw failure("a member name appears twice", at: start)
            }
            skipWhitespace(bytes)
            switch peek(bytes) {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"):
                position += 1
                return members
            default: throw failure("a comma or closing brace is missing")
            }
        }
    }

    mutating func parseArray(_ bytes: Span<UInt8>, depth: Int) throws(JSONSyntaxError) -> [JSONValue] {
        position += 1
        var elements: [JSONValue] = []
        skipWhitespace(bytes)
        if peek(bytes) == UInt8(ascii: "]") {
            position += 1
            return elements
        }
        while true {
            skipWhitespace(bytes)
            elements.append(try parseValue(bytes, depth: depth))
            skipWhitespace(bytes)
            switch peek(bytes) {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "]"):
                position += 1
                return elements
            default: throw failure("a comma or closing bracket is missing")
            }
        }
    }

    /// Parses a string. The position is at its opening quote.
    mutating func parseString(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        while let byte = peek(bytes) {
            switch byte {
            case UInt8(ascii: "\""):
                let text = try string(bytes, start..<position)
                position += 1
                return text
            case UInt8(ascii: "\\"):
                return try parseEscapedString(bytes, start: start)
            case 0..<0x20:
                throw failure("a control character in a string")
            default:
                position += 1
            }
        }
        throw failure("a string ends in the middle")
    }

    /// Continues a string at its first escape.
    private mutating func parseEscapedString(_ bytes: Span<UInt8>, start: Int) throws(JSONSyntaxError) -> String {
        var text = try string(bytes, start..<position)
        var pieceStart = position
        while let byte = peek(bytes) {
            switch byte {
            case UInt8(ascii: "\""):
                text += try string(bytes, pieceStart..<position)
                position += 1
                return text
            case UInt8(ascii: "\\"):
                text += try string(bytes, pieceStart..<position)
                position += 1
                text.unicodeScalars.append(try parseEscape(bytes))
                pieceStart = position
            case 0..<0x20:
                throw failure("a control character in a string")
            default:
                position += 1
            }
        }
        throw failure("a string ends in the middle")
    }

    private mutating func parseEscape(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> Unicode.Scalar {
        guard let byte = peek(bytes) else { throw failure("a string ends in the middle") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try parseUnicodeEscape(bytes)
        default: throw failure("an unknown escape", at: position - 1)
        }
    }

    private mutating func parseUnicodeEscape(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position
        let first = UInt32(try parseFourHexDigits(bytes))
        if let scalar = Unicode.Scalar(first) { return scalar }
        // `first` is a surrogate. Only a high surrogate followed by a low one encodes a character.
        guard first < 0xDC00, peek(bytes) == UInt8(ascii: "\\") else {
            throw failure("a surrogate without its other half", at: start)
        }
        position += 1
        guard peek(bytes) == UInt8(ascii: "u") else { throw failure("a surrogate without its other half", at: start) }
        position += 1
        let second = UInt32(try parseFourHexDigits(bytes))
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else { throw failure("a surrogate without its other half", at: start) }
        return scalar
    }

    private mutating func parseFourHexDigits(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> UInt16 {
        var result: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek(bytes) else { throw failure("a string ends in the middle") }
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw failure("four hexadecimal digits must follow \\u")
            }
            result = result << 4 | UInt16(digit)
            position += 1
        }
        return result
    }

    private func string(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(JSONSyntaxError) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes.extracting(range)))
        } catch {
            throw failure("invalid UTF-8 in a string", at: range.lowerBound)
        }
    }

    mutating func parseNumber(_ bytes: Span<UInt8>) throws(JSONSyntaxError) -> JSONValue {
        let start = position
        let negative = peek(bytes) == UInt8(ascii: "-")
        if negative { position += 1 }

        var magnitude: UInt64 = 0
        var fits = true
        let firstDigit = position
        while let byte = peek(bytes), isDigit(byte) {
            let (product, tooLarge) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carries) = product.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
            magnitude = sum
            if tooLarge || carries { fits = false }
            position += 1
        }
        guard position > firstDigit else { throw failure("a digit is missing") }
        guard position == firstDigit + 1 || bytes[firstDigit] != UInt8(ascii: "0") else {
            throw failure("a number begins with a superfluous zero", at: firstDigit)
        }

        var isWhole = true
        if peek(bytes) == UInt8(ascii: ".") {
            isWhole = false
            position += 1
            try skipDigits(bytes)
        }
        if let byte = peek(bytes), byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            isWhole = false
            position += 1
            if let sign = peek(bytes), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
            try skipDigits(bytes)
        }
        if isWhole, fits {
            if !negative { return JSONValue(magnitude) }
            if negative, magnitude <= Int64.min.magnitude { return .int(Int64(truncatingIfNeeded: 0 &- magnitude)) }
        }
        guard position - start <= Self.maximumNumberLength else { throw failure("a number is too long", at: start) }
        let text = try string(bytes, start..<position)
        guard let value = Double(text), value.isFinite else { throw failure("a number is out of range", at: start) }
        return .double(value)
    }

    private mutating func skipDigits(_ bytes: Span<UInt8>) throws(JSONSyntaxError) {
        let start = position
        while let byte = peek(bytes), isDigit(byte) { position += 1 }
        guard position > start else { throw failure("a digit is missing") }
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}
