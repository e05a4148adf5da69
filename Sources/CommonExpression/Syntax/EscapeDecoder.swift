/// Replaces the escape sequences in the content of a string or bytes literal (CEL specification, "String and Bytes
/// Values").
struct EscapeDecoder {
    /// The value: UTF-8 for a string, octets for bytes.
    private(set) var output: [UInt8] = []
    private(set) var problems: [Problem] = []

    private let content: ArraySlice<UInt8>
    private let isBytes: Bool
    private let isRaw: Bool
    private var position: Int

    /// - Parameters:
    ///   - content: The text between the quotes. Its indices are offsets into the source.
    ///   - isBytes: Whether it is a bytes literal.
    ///   - isRaw: Whether it has the prefix `r`, so that backslashes stand for themselves.
    init(_ content: ArraySlice<UInt8>, isBytes: Bool, isRaw: Bool) {
        self.content = content
        self.isBytes = isBytes
        self.isRaw = isRaw
        position = content.startIndex
    }

    /// Decodes the whole content. Reports a malformed escape and skips it.
    mutating func run() {
        guard !isRaw else {
            output = Array(content)
            return
        }
        output.reserveCapacity(content.count)
        while position < content.endIndex {
            let byte = content[position]
            if byte == UInt8(ascii: "\\") {
                readEscape()
            } else {
                output.append(byte)
                position += 1
            }
        }
    }

    private mutating func readEscape() {
        let start = position
        position += 1
        guard position < content.endIndex else {
            report("a backslash must be followed by an escape", from: start)
            return
        }
        let mark = content[position]
        position += 1
        switch mark {
        case UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
            output.append(mark)
        case UInt8(ascii: "a"): output.append(0x07)
        case UInt8(ascii: "b"): output.append(0x08)
        case UInt8(ascii: "f"): output.append(0x0C)
        case UInt8(ascii: "n"): output.append(0x0A)
        case UInt8(ascii: "r"): output.append(0x0D)
        case UInt8(ascii: "t"): output.append(0x09)
        case UInt8(ascii: "v"): output.append(0x0B)
        case UInt8(ascii: "x"), UInt8(ascii: "X"): readCode(digits: 2, from: start)
        case UInt8(ascii: "u"): readUnicode(digits: 4, from: start)
        case UInt8(ascii: "U"): readUnicode(digits: 8, from: start)
        case UInt8(ascii: "0")...UInt8(ascii: "3"): readOctal(first: mark, from: start)
        default:
            while position < content.endIndex, content[position] & 0xC0 == 0x80 { position += 1 }
            let text = String(decoding: content[start..<position], as: UTF8.self)
            report(
                "'\(text)' is not an escape",
                advice: "a backslash itself is written '\\\\', or the string with the prefix r", from: start)
        }
    }

    /// `\x` and two digits: a code point in strings, an octet in bytes.
    private mutating func readCode(digits: Int, from start: Int) {
        guard let code = hexadecimal(digits: digits, from: start) else { return }
        append(code)
    }

    /// Three octal digits: a code point in strings, an octet in bytes.
    private mutating func readOctal(first: UInt8, from start: Int) {
        var code = UInt32(first - UInt8(ascii: "0"))
        for _ in 0..<2 {
            guard position < content.endIndex, (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(content[position])
            else {
                report("an octal escape has three digits, from \\000 to \\377", from: start)
                return
            }
            code = code * 8 + UInt32(content[position] - UInt8(ascii: "0"))
            position += 1
        }
        append(code)
    }

    /// `\u` and `\U`, in strings only; surrogates must come as a pair.
    private mutating func readUnicode(digits: Int, from start: Int) {
        guard var code = hexadecimal(digits: digits, from: start) else { return }
        guard !isBytes else {
            report("\\u and \\U are not allowed in bytes", advice: "write the octets with \\x", from: start)
            return
        }
        if digits == 4, (0xD800..<0xDC00).contains(code), position + 6 <= content.endIndex,
            content[position] == UInt8(ascii: "\\"), content[position + 1] == UInt8(ascii: "u")
        {
            let before = position
            position += 2
            if let low = hexadecimal(digits: 4, from: before), (0xDC00..<0xE000).contains(low) {
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            } else {
                position = before
            }
        }
        guard let scalar = Unicode.Scalar(code) else {
            report("the escape stands for no Unicode code point", from: start)
            return
        }
        output.append(contentsOf: String(scalar).utf8)
    }

    /// Reads a number of hexadecimal digits. Reports missing ones.
    private mutating func hexadecimal(digits: Int, from start: Int) -> UInt32? {
        var code: UInt32 = 0
        for _ in 0..<digits {
            guard position < content.endIndex, let digit = Lexer.hexadecimal(content[position]) else {
                report("the escape must have \(digits) hexadecimal digits", from: start)
                return nil
            }
            code = code << 4 | digit
            position += 1
        }
        return code
    }

    private mutating func append(_ code: UInt32) {
        if isBytes {
            output.append(UInt8(truncatingIfNeeded: code))
        } else if let scalar = Unicode.Scalar(code) {
            output.append(contentsOf: String(scalar).utf8)
        }
    }

    private mutating func report(_ statement: String, advice: String? = nil, from start: Int) {
        guard problems.count < Problems.most else { return }
        problems.append(
            Problem(
                code: .invalidLiteral, statement: statement, advice: advice,
                range: SourceRange(start: start, end: max(position, start + 1))))
    }
}
