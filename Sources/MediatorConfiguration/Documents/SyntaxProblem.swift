/// A problem that libyaml reports, by the text that it has for it. libyaml has no other code.
///
/// Source: scanner.c and parser.c of libyaml 0.2.5.
enum SyntaxProblem: String {
    case mappingValueNotAllowed = "mapping values are not allowed in this context"
    case noColon = "could not find expected ':'"
    case unexpectedColon = "found unexpected ':'"
    case noDocumentStart = "did not find expected <document start>"
    case unknownDirective = "found unknown directive name"
    case incompatibleVersion = "found incompatible YAML document"
    case undefinedTagHandle = "found undefined tag handle"
    case noLineBreak = "did not find expected comment or line break"
    case noHexadecimalNumber = "did not find expected hexdecimal number"
    case invalidEscapedCharacter = "found invalid Unicode character escape code"
    case noNodeContent = "did not find expected node content"
    case noListEnd = "did not find expected ',' or ']'"
    case noMappingEnd = "did not find expected ',' or '}'"
    case noKey = "did not find expected key"
    case noListEntry = "did not find expected '-' indicator"
    case unexpectedEnd = "found unexpected end of stream"
    case unexpectedDocumentMark = "found unexpected document indicator"
    case noToken = "found character that cannot start any token"
    case noName = "did not find expected alphabetic or numeric character"
    case unknownEscape = "found unknown escape character"
}

/// The part of a document that libyaml was reading when it met a problem, by libyaml's text for it.
enum SyntaxContext: String {
    case blockMapping = "while parsing a block mapping"
    case blockSequence = "while parsing a block collection"
    case flowMapping = "while parsing a flow mapping"
    case flowSequence = "while parsing a flow sequence"
    case quotedScalar = "while scanning a quoted scalar"
    case alias = "while scanning an alias"

    /// The name of a list, mapping or text that encloses a problem.
    var construct: String? {
        switch self {
        case .blockMapping: "the mapping"
        case .blockSequence: "the list"
        case .flowMapping: "the '{'"
        case .flowSequence: "the '['"
        case .quotedScalar: "the quoted text"
        case .alias: nil
        }
    }
}
