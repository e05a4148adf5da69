/// A lexical element (CEL specification, "Syntax").
struct Token: Sendable {
    enum Kind: Sendable, Equatable {
        /// The end of the text; in a template, the closing brace or the end.
        case end
        /// Text that is not a token and was already reported.
        case invalid
        case identifier
        /// A name between backticks, which is valid only after a point.
        case quotedIdentifier
        case int, uint, double, string, bytes
        case `true`, `false`, null, `in`
        case leftParenthesis, rightParenthesis, leftBracket, rightBracket, leftBrace, rightBrace
        case comma, point, colon, question
        case plus, minus, star, slash, percent, not
        case less, lessOrEqual, greater, greaterOrEqual, equal, notEqual, and, or
    }

    let kind: Kind
    let range: SourceRange
    /// The position of the literal or identifier in the payloads, or -1.
    let payload: Int
}

/// The value of a literal or name.
enum Payload: Sendable {
    /// The digits of an `int` or `uint` literal, without sign.
    case magnitude(UInt64)
    case double(Double)
    /// A string literal's value or a name.
    case text(String)
    case bytes([UInt8])
}

/// The words that are not identifiers (CEL specification, "Syntax", RESERVED).
enum ReservedWords {
    static let all: Set<String> = [
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    ]
}

extension Token.Kind {
    /// The form of the token in messages.
    var symbol: String {
        switch self {
        case .end: "end"
        case .invalid: "?"
        case .identifier, .quotedIdentifier: "name"
        case .int, .uint, .double, .string, .bytes: "literal"
        case .true: "true"
        case .false: "false"
        case .null: "null"
        case .in: "in"
        case .leftParenthesis: "("
        case .rightParenthesis: ")"
        case .leftBracket: "["
        case .rightBracket: "]"
        case .leftBrace: "{"
        case .rightBrace: "}"
        case .comma: ","
        case .point: "."
        case .colon: ":"
        case .question: "?"
        case .plus: "+"
        case .minus: "-"
        case .star: "*"
        case .slash: "/"
        case .percent: "%"
        case .not: "!"
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        case .equal: "=="
        case .notEqual: "!="
        case .and: "&&"
        case .or: "||"
        }
    }
}
