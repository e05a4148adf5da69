/// A syntax error in an interface definition.
public struct InterfaceSyntaxError: Error, Hashable, CustomStringConvertible {
    /// The error, as a clause.
    public let reason: String
    /// The line, from 1.
    public let line: Int
    /// The column in bytes, from 1.
    public let column: Int

    /// The reason with its position.
    public var description: String { "line \(line), column \(column): \(reason)" }
}

extension InterfaceDefinition {
    /// The longest text that is parsed, in bytes.
    public static let maximumTextLength = 1 << 20

    /// The deepest nesting of types.
    public static let maximumTypeDepth = 32

    /// Parses the text of an interface definition with its comments (Varlink interface definition grammar,
    /// varlink.org).
    ///
    /// - Throws: ``InterfaceSyntaxError`` for the first error.
    public init(parsing text: String) throws(InterfaceSyntaxError) {
        var parser = InterfaceParser(bytes: Array(text.utf8))
        self = try parser.parse()
    }
}

private struct InterfaceParser {
    private typealias Field = InterfaceDefinition.Field
    private typealias TypeExpression = InterfaceDefinition.TypeExpression

    private let bytes: [UInt8]
    private var position = 0
    /// The comment lines directly above the position.
    private var comments: [String] = []
    /// Uses of types by name, which are resolved at the end.
    private var references: [(name: String, position: Int)] = []

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func parse() throws(InterfaceSyntaxError) -> InterfaceDefinition {
        guard bytes.count <= InterfaceDefinition.maximumTextLength else {
            throw failure("the text is longer than \(InterfaceDefinition.maximumTextLength) bytes", at: 0)
        }
        skipTrivia()
        let documentation = takeDocumentation()
        guard takeWord() == "interface" else { throw failure("a definition begins with 'interface NAME'", at: 0) }
        skipTrivia()
        let nameStart = position
        let name = takeWhile { Names.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
        guard Names.isInterfaceName(name) else {
            throw failure("'\(name)' is not an interface name such as 'org.example.Thing'", at: nameStart)
        }
        comments = []

        var members: [InterfaceDefinition.Member] = []
        var names: Set<String> = []
        skipTrivia()
        while position < bytes.count {
            let (member, nameStart) = try parseMember()
            guard names.insert(member.name).inserted else {
                throw failure("'\(member.name)' is declared twice", at: nameStart)
            }
            members.append(member)
            skipTrivia()
        }
        let definition = InterfaceDefinition(documentation: documentation, name: name, members: members)
        for reference in references where definition.type(named: reference.name) == nil {
            throw failure("the type '\(reference.name)' is not declared", at: reference.position)
        }
        return definition
    }

    private mutating func parseMember() throws(InterfaceSyntaxError) -> (InterfaceDefinition.Member, Int) {
        let documentation = takeDocumentation()
        let start = position
        let keyword = takeWord()
        guard keyword == "type" || keyword == "method" || keyword == "error" else {
            throw failure("'type', 'method' or 'error' is expected", at: start)
        }
        skipTrivia()
        let nameStart = position
        let name = takeWord()
        guard Names.isMemberName(name) else {
            throw failure(
                "'\(name)' is not a valid \(keyword) name; it must begin with a capital letter", at: nameStart)
        }
        skipTrivia()
        switch keyword {
        case "type":
            let type = try parseParenthesized(depth: 0)
            return (.type(.init(documentation: documentation, name: name, type: type)), nameStart)
        case "method":
            let parameters = try parseStructure()
            skipTrivia()
            guard takeIf("->") else { throw failure("'->' and the reply are expected") }
            skipTrivia()
            let reply = try parseStructure()
            let method = InterfaceDefinition.MethodDefinition(
                documentation: documentation,
                name: name,
                parameters: parameters,
                reply: reply
            )
            return (.method(method), nameStart)
        default:
            let parameters = try parseStructure()
            return (.error(.init(documentation: documentation, name: name, parameters: parameters)), nameStart)
        }
    }

    private mutating func parseStructure() throws(InterfaceSyntaxError) -> [Field] {
        let start = position
        guard case .structure(let fields) = try parseParenthesized(depth: 0) else {
            throw failure("fields with types are expected here, not an enumeration", at: start)
        }
        return fields
    }

    /// Parses a structure or an enumeration. The token after the first name distinguishes them.
    private mutating func parseParenthesized(depth: Int) throws(InterfaceSyntaxError) -> TypeExpression {
        guard takeIf("(") else { throw failure("'(' is expected") }
        comments = []
        skipTrivia()
        if takeIf(")") { return .structure([]) }

        var fields: [Field] = []
        var values: [InterfaceDefinition.EnumerationValue] = []
        var names: Set<String> = []
        while true {
            skipTrivia()
            let documentation = takeDocumentation()
            let nameStart = position
            let name = takeWord()
            guard Names.isFieldName(name) else { throw failure("'\(name)' is not a field name", at: nameStart) }
            guard names.insert(name).inserted else { throw failure("'\(name)' is declared twice", at: nameStart) }
            skipTrivia()
            if takeIf(":") {
                guard values.isEmpty else { throw failure("an enumeration's values have no type", at: position - 1) }
                skipTrivia()
                let type = try parseType(depth: depth + 1)
                fields.append(Field(documentation: documentation, name: name, type: type))
            } else {
                guard fields.isEmpty else { throw failure("':' and the type of '\(name)' are expected") }
                values.append(.init(documentation: documentation, name: name))
            }
            skipTrivia()
            if takeIf(")") { return fields.isEmpty ? .enumeration(values) : .structure(fields) }
            guard takeIf(",") else { throw failure("',' or ')' is expected") }
            comments = []
        }
    }

    private mutating func parseType(depth: Int) throws(InterfaceSyntaxError) -> TypeExpression {
        guard depth <= InterfaceDefinition.maximumTypeDepth else {
            throw failure("types are nested more than \(InterfaceDefinition.maximumTypeDepth) levels deep")
        }
        let start = position
        if takeIf("?") {
            skipTrivia()
            let type = try parseType(depth: depth + 1)
            if case .optional = type { throw failure("'?' appears twice", at: start) }
            return .optional(type)
        }
        if takeIf("[]") {
            skipTrivia()
            return .array(try parseType(depth: depth + 1))
        }
        if takeIf("[string]") {
            skipTrivia()
            return .map(try parseType(depth: depth + 1))
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: "(") {
            return try parseParenthesized(depth: depth)
        }
        let word = takeWord()
        switch word {
        case "bool": return .bool
        case "int": return .int
        case "float": return .float
        case "string": return .string
        case "object": return .object
        case "any": return .any
        default:
            guard Names.isMemberName(word) else { throw failure("'\(word)' is not a type", at: start) }
            references.append((word, start))
            return .named(word)
        }
    }

    /// Skips white space and comments. Keeps the comment lines directly above the next token.
    private mutating func skipTrivia() {
        var lineHasOnlyTrivia = position == 0
        var newlines = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
                position += 1
            case UInt8(ascii: "\n"):
                position += 1
                newlines += 1
                lineHasOnlyTrivia = true
                if newlines > 1 { comments = [] }
            case UInt8(ascii: "#"):
                position += 1
                if position < bytes.count, bytes[position] == UInt8(ascii: " ") { position += 1 }
                var text = takeWhile { $0 != UInt8(ascii: "\n") }
                // Several carriage returns before the end of the line still belong to the line ending.
                while text.utf8.last == UInt8(ascii: "\r") { text.unicodeScalars.removeLast() }
                if lineHasOnlyTrivia { comments.append(text) }
                newlines = 0
            default:
                return
            }
        }
    }

    private mutating func takeDocumentation() -> String {
        defer { comments = [] }
        return comments.joined(separator: "\n")
    }

    private mutating func takeWord() -> String {
        takeWhile { Names.isLetterOrDigit($0) || $0 == UInt8(ascii: "_") }
    }

    private mutating func takeWhile(_ matches: (UInt8) -> Bool) -> String {
        let start = position
        while position < bytes.count, matches(bytes[position]) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func takeIf(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    private func failure(_ reason: String, at offset: Int? = nil) -> InterfaceSyntaxError {
        let before = bytes[..<(offset ?? position)]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return InterfaceSyntaxError(reason: reason, line: line, column: before.count - lineStart + 1)
    }
}
