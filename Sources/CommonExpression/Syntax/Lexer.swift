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

    var tokens: [Token] = []
    var payloads: [Payload] = []
    var problems: [Problem] = []
    /// A Boolean value that indicates whether the closing brace was found.
    var isClosed = false
    /// The offset after the text read, including the closing brace.
    var position: Int

    let bytes: [UInt8]
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

    func peek(_ distance: Int = 0) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    mutating func add(_ kind: Token.Kind, from start: Int) {
        tokens.append(Token(kind: kind, range: SourceRange(start: start, end: position), payload: -1))
    }

    mutating func add(_ kind: Token.Kind, _ payload: Payload, from start: Int) {
        tokens.append(
            Token(kind: kind, range: SourceRange(start: start, end: position), payload: payloads.count)
        )
        payloads.append(payload)
    }

    mutating func report(
        _ code: Problem.Code, _ statement: String, advice: String? = nil, from start: Int, to end: Int,
        detail: Problem.Detail? = nil
    ) {
        guard problems.count < Problems.most else { return }
        let range = SourceRange(start: start, end: end)
        problems.append(Problem(code: code, statement: statement, advice: advice, range: range, detail: detail))
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
            reportUnknown("<>", "inequality is written '!='", from: start)
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

    static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    static func isNamePart(_ byte: UInt8) -> Bool {
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
