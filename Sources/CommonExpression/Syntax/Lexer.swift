/// Splits a source, or the part of a template between `${` and `}`, into tokens (CEL specification, "Syntax").
///
/// The lexer reads every byte once and creates at most one token per byte. It continues after an error, so that it
/// finds all malformed literals at once.
struct Lexer {
    /// The end of the text to read.
    enum Extent {
        /// At the end of the source.
        case source
        /// At the brace that closes the one before the first byte.
        case braces
    }

    private(set) var tokens: [Token] = []
    private(set) var payloads: [Payload] = []
    private(set) var problems: [Problem] = []
    /// A Boolean value that indicates whether the closing brace was found.
    private(set) var isClosed = false
    /// The offset after the text read, including the closing brace.
    private(set) var position: Int

    private let bytes: [UInt8]
    private let extent: Extent
    private var openBraces = 0

    /// Creates a lexer that reads UTF-8 from an offset.
    init(_ bytes: [UInt8], from start: Int = 0, extent: Extent = .source) {
        self.bytes = bytes
        self.extent = extent
        position = start
    }

    /// Reads all tokens. The last one is `end`.
    mutating func run() {
        while !isClosed {
            skipBlanks()
            guard let byte = peek() else { break }
            read(byte)
        }
        if !isClosed { add(.end, from: position) }
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    private mutating func add(_ kind: Token.Kind, from start: Int) {
        tokens.append(Token(kind: kind, range: SourceRange(start: start, end: position), payload: -1))
    }

    private mutating func add(_ kind: Token.Kind, _ payload: Payload, from start: Int) {
        tokens.append(
            Token(kind: kind, range: SourceRange(start: start, end: position), payload: payloads.count)
        )
        payloads.append(payload)
    }

    private mutating func report(_ code: Problem.Code, _ message: String, from start: Int, to end: Int) {
        guard problems.count < Problems.most else { return }
        problems.append(Problem(code: code, message: message, range: SourceRange(start: start, end: end)))
    }

    /// WHITESPACE and COMMENT.
    private mutating func skipBlanks() {
        while let byte = peek() {
            switch byte {
            case 0x09, 0x0A, 0x0C, 0x0D, 0x20:
                position += 1
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"):
                while let byte = peek(), byte != 0x0A, byte != 0x0D { position += 1 }
            default:
                return
            }
        }
    }

    private mutating func read(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            readNumber()
        case UInt8(ascii: ".") where peek(1).map(Self.isDigit) == true:
            readNumber()
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
            readNameOrPrefixedString()
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            readString(prefix: 0, isBytes: false, isRaw: false)
        case UInt8(ascii: "`"):
            readQuotedName()
        default:
            readPunctuation(byte)
        }
    }

    // MARK: Names

    private mutating func readNameOrPrefixedString() {
        var prefix = 0
        var (isBytes, isRaw) = (false, false)
        if let first = peek(), first | 0x20 == UInt8(ascii: "b") {
            isBytes = true
            prefix = 1
        }
        if let next = peek(prefix), next | 0x20 == UInt8(ascii: "r") {
            isRaw = true
            prefix += 1
        }
        if prefix > 0, let quote = peek(prefix), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            readString(prefix: prefix, isBytes: isBytes, isRaw: isRaw)
            return
        }
        let start = position
        while let byte = peek(), Self.isNamePart(byte) { position += 1 }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        switch name {
        case "true": add(.true, from: start)
        case "false": add(.false, from: start)
        case "null": add(.null, from: start)
        case "in": add(.in, from: start)
        default: add(.identifier, .text(name), from: start)
        }
    }

    private mutating func readQuotedName() {
        let start = position
        position += 1
        while let byte = peek(), byte != UInt8(ascii: "`"), byte != 0x0A, byte != 0x0D { position += 1 }
        guard peek() == UInt8(ascii: "`"), position > start + 1 else {
            report(
                .syntax, "a name between backticks must not be empty and must end with '`'", from: start, to: position)
            if peek() == UInt8(ascii: "`") { position += 1 }
            add(.invalid, from: start)
            return
        }
        let name = String(decoding: bytes[(start + 1)..<position], as: UTF8.self)
        position += 1
        add(.quotedIdentifier, .text(name), from: start)
    }

    // MARK: Numbers

    private mutating func readNumber() {
        let start = position
        if peek() == UInt8(ascii: "0"), let mark = peek(1), mark | 0x20 == UInt8(ascii: "x") {
            position += 2
            finishInteger(from: start, digitsFrom: position, radix: 16)
            return
        }
        skipDigits()
        var isDouble = false
        if peek() == UInt8(ascii: "."), peek(1).map(Self.isDigit) == true {
            isDouble = true
            position += 1
            skipDigits()
        }
        if let mark = peek(), mark | 0x20 == UInt8(ascii: "e") {
            let signed = peek(1) == UInt8(ascii: "+") || peek(1) == UInt8(ascii: "-")
            if peek(signed ? 2 : 1).map(Self.isDigit) == true {
                isDouble = true
                position += signed ? 2 : 1
                skipDigits()
            }
        }
        guard isDouble else {
            finishInteger(from: start, digitsFrom: start, radix: 10)
            return
        }
        guard !reportTail(from: start) else { return }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let number = DoubleText.number(in: text) else {
            report(
                .invalidLiteral, "'\(Excerpt.of(text))' is out of range for double; the largest is about 1.8e308",
                from: start, to: position)
            add(.invalid, from: start)
            return
        }
        add(.double, .double(number), from: start)
    }

    private mutating func skipDigits() {
        while let byte = peek(), Self.isDigit(byte) { position += 1 }
    }

    private mutating func finishInteger(from start: Int, digitsFrom: Int, radix: Int) {
        if radix == 16 {
            while let byte = peek(), Self.hexadecimal(byte) != nil { position += 1 }
        }
        let digits = bytes[digitsFrom..<position]
        var isUnsigned = false
        if let mark = peek(), mark | 0x20 == UInt8(ascii: "u") {
            isUnsigned = true
            position += 1
        }
        guard !reportTail(from: start) else { return }
        guard !digits.isEmpty else {
            report(.invalidLiteral, "'0x' must be followed by hexadecimal digits", from: start, to: position)
            add(.invalid, from: start)
            return
        }
        guard let magnitude = UInt64(String(decoding: digits, as: UTF8.self), radix: radix) else {
            let type = isUnsigned ? "uint" : "int"
            let most = isUnsigned ? "18446744073709551615u" : "9223372036854775807"
            report(
                .invalidLiteral, "the number is out of range for \(type); the largest is \(most)",
                from: start, to: position)
            add(.invalid, from: start)
            return
        }
        add(isUnsigned ? .uint : .int, .magnitude(magnitude), from: start)
    }

    /// Reports letters that follow a number without a gap.
    private mutating func reportTail(from start: Int) -> Bool {
        guard let byte = peek(), Self.isNamePart(byte) else { return false }
        let tail = position
        while let byte = peek(), Self.isNamePart(byte) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        let unit = String(decoding: bytes[tail..<position], as: UTF8.self)
        let isDuration = ["s", "m", "h", "ms", "us", "ns"].contains(unit)
        let advice =
            isDuration
            ? "write a duration as duration(\"\(Excerpt.of(text))\")" : "put an operator or a blank between"
        report(.invalidLiteral, "'\(Excerpt.of(text))' is not a number; \(advice)", from: start, to: position)
        add(.invalid, from: start)
        return true
    }

    // MARK: Strings

    private mutating func readString(prefix: Int, isBytes: Bool, isRaw: Bool) {
        let start = position
        position += prefix
        let quote = bytes[position]
        let isTriple = peek(1) == quote && peek(2) == quote
        let width = isTriple ? 3 : 1
        position += width
        let content = position
        while let byte = peek() {
            if byte == quote, !isTriple || (peek(1) == quote && peek(2) == quote) {
                let decoder = EscapeDecoder(bytes[content..<position], isBytes: isBytes, isRaw: isRaw)
                position += width
                finishString(decoder, isBytes: isBytes, from: start)
                return
            }
            if !isTriple, byte == 0x0A || byte == 0x0D { break }
            position += byte == UInt8(ascii: "\\") && !isRaw && position + 1 < bytes.count ? 2 : 1
        }
        position = min(position, bytes.count)
        let mark = String(repeating: Character(Unicode.Scalar(quote)), count: width)
        let advice = isTriple ? "" : "; a string over several lines is written between three quotes"
        report(.syntax, "the string is not closed with \(mark)\(advice)", from: start, to: position)
        add(.invalid, from: start)
    }

    private mutating func finishString(_ decoder: EscapeDecoder, isBytes: Bool, from start: Int) {
        var decoder = decoder
        decoder.run()
        for problem in decoder.problems where problems.count < Problems.most { problems.append(problem) }
        if isBytes {
            add(.bytes, .bytes(decoder.output), from: start)
        } else {
            add(.string, .text(String(decoding: decoder.output, as: UTF8.self)), from: start)
        }
    }

    // MARK: Punctuation

    private mutating func readPunctuation(_ byte: UInt8) {
        let start = position
        let next = peek(1)
        if let (kind, width) = Self.punctuation(byte, next) {
            if kind == .leftBrace { openBraces += 1 }
            if kind == .rightBrace {
                if openBraces == 0, extent == .braces {
                    tokens.append(
                        Token(kind: .end, range: SourceRange(start: start, end: start), payload: -1))
                    position += 1
                    isClosed = true
                    return
                }
                openBraces -= 1
            }
            position += width
            takeExcess(of: kind, from: start)
            add(kind, from: start)
            return
        }
        if byte == UInt8(ascii: "<"), next == UInt8(ascii: ">") {
            position += 2
            reportUnknown("<>", "; inequality is written '!='", from: start)
            add(.notEqual, from: start)
            return
        }
        readUnknown(byte, next)
    }

    private static func punctuation(_ byte: UInt8, _ next: UInt8?) -> (Token.Kind, Int)? {
        let isFollowedByEqual = next == UInt8(ascii: "=")
        switch byte {
        case UInt8(ascii: "("): return (.leftParenthesis, 1)
        case UInt8(ascii: ")"): return (.rightParenthesis, 1)
        case UInt8(ascii: "["): return (.leftBracket, 1)
        case UInt8(ascii: "]"): return (.rightBracket, 1)
        case UInt8(ascii: "{"): return (.leftBrace, 1)
        case UInt8(ascii: "}"): return (.rightBrace, 1)
        case UInt8(ascii: ","): return (.comma, 1)
        case UInt8(ascii: "."): return (.point, 1)
        case UInt8(ascii: ":"): return (.colon, 1)
        case UInt8(ascii: "?"): return (.question, 1)
        case UInt8(ascii: "+"): return (.plus, 1)
        case UInt8(ascii: "-"): return (.minus, 1)
        case UInt8(ascii: "*"): return (.star, 1)
        case UInt8(ascii: "/"): return (.slash, 1)
        case UInt8(ascii: "%"): return (.percent, 1)
        case UInt8(ascii: "<") where next == UInt8(ascii: ">"): return nil
        case UInt8(ascii: "<"): return isFollowedByEqual ? (.lessOrEqual, 2) : (.less, 1)
        case UInt8(ascii: ">"): return isFollowedByEqual ? (.greaterOrEqual, 2) : (.greater, 1)
        case UInt8(ascii: "!"): return isFollowedByEqual ? (.notEqual, 2) : (.not, 1)
        case UInt8(ascii: "=") where isFollowedByEqual: return (.equal, 2)
        case UInt8(ascii: "&") where next == byte: return (.and, 2)
        case UInt8(ascii: "|") where next == byte: return (.or, 2)
        default: return nil
        }
    }

    /// Reports the third character of `===` and `!==`.
    private mutating func takeExcess(of kind: Token.Kind, from start: Int) {
        guard kind == .equal || kind == .notEqual, peek() == UInt8(ascii: "=") else { return }
        position += 1
        let word = kind == .equal ? "equality" : "inequality"
        reportUnknown("\(kind.symbol)=", "; \(word) is written '\(kind.symbol)'", from: start)
    }

    /// Reports a character that begins no token, and takes it for what was probably meant.
    private mutating func readUnknown(_ byte: UInt8, _ next: UInt8?) {
        let start = position
        position += 1
        while let byte = peek(), byte & 0xC0 == 0x80 { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if let scalar = text.unicodeScalars.first, let lookAlike = LookAlike(scalar) {
            return take(lookAlike, text, from: start)
        }
        let (advice, kind): (String, Token.Kind?) =
            switch byte {
            case UInt8(ascii: "=") where next == UInt8(ascii: "~"): ("; try a pattern with .matches(…)", .invalid)
            case UInt8(ascii: "~") where next == UInt8(ascii: "="): ("; try a pattern with .matches(…)", .invalid)
            case UInt8(ascii: "="): ("; equality is written '=='", .equal)
            case UInt8(ascii: "&"): ("; 'and' is written '&&'", .and)
            case UInt8(ascii: "|"): ("; 'or' is written '||'", .or)
            case UInt8(ascii: "#"): ("; a comment begins with '//'", .invalid)
            case UInt8(ascii: "$") where next == UInt8(ascii: "{"):
                ("; the text is already an expression; remove '${' and '}'", .invalid)
            case UInt8(ascii: "$"): ("; write the variable without it", nil)
            default: ("", .invalid)
            }
        let isMatch = byte == UInt8(ascii: "=") && next == UInt8(ascii: "~")
        if isMatch || (byte == UInt8(ascii: "~") && next == UInt8(ascii: "=")) { position += 1 }
        reportUnknown(String(decoding: bytes[start..<position], as: UTF8.self), advice, from: start)
        if let kind { add(kind, from: start) }
    }

    private mutating func take(_ lookAlike: LookAlike, _ text: String, from start: Int) {
        switch lookAlike {
        case .blank(let advice): reportUnknown(text, "; \(advice)", from: start)
        case .quote(let closing):
            let advice = "; a string is written between \" or '"
            guard let end = closed(by: closing) else {
                reportUnknown(text, advice, from: start)
                return add(.invalid, from: start)
            }
            let string = String(decoding: bytes[position..<end.lowerBound], as: UTF8.self)
            position = end.upperBound
            reportUnknown(text, advice, from: start)
            add(.string, .text(string), from: start)
        case .token(let kind):
            reportUnknown(text, "; it is written '\(kind.symbol)'", from: start)
            add(kind, from: start)
        }
    }

    /// Where the next of some characters is in this line.
    private func closed(by closing: Set<Unicode.Scalar>) -> Range<Int>? {
        var end = position
        while end < bytes.count, bytes[end] != 0x0A, bytes[end] != 0x0D {
            let start = end
            end += 1
            guard bytes[start] >= 0x80 else { continue }
            while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
            let text = String(decoding: bytes[start..<end], as: UTF8.self)
            if let scalar = text.unicodeScalars.first, closing.contains(scalar) { return start..<end }
        }
        return nil
    }

    /// Reports what has been read from there on.
    private mutating func reportUnknown(_ text: String, _ advice: String, from start: Int) {
        let shown = text.unicodeScalars.allSatisfy { scalar in
            if case .blank? = LookAlike(scalar) { return false }
            return scalar.value >= 0x20 && scalar.value != 0x7F
        }
        let name = shown ? "'\(text)'" : "the character U+\(Self.codePoint(of: text))"
        report(.syntax, "\(name) is not part of the language\(advice)", from: start, to: position)
    }

    private static func codePoint(of text: String) -> String {
        let digits = String(text.unicodeScalars.first?.value ?? 0, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "_")
            || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
    }

    /// The value of a hexadecimal digit.
    static func hexadecimal(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}
