/// Parses tokens into a syntax tree by recursive descent (CEL specification, "Syntax").
///
/// Operators are handled by precedence with a stack of their own, so that one level of nesting in the source costs a
/// fixed, small number of calls; nesting is bounded by `Limits.nesting`.
struct Parser {
    /// Thrown after the problem was added to ``problems``, to leave the descent.
    struct Abort: Error {}

    var tree = SyntaxTree()
    private(set) var problems: [Problem]

    private let tokens: [Token]
    private let payloads: [Payload]
    private let limits: Limits
    private var position = 0
    private var depth = 0
    /// The variables of the macros around the present position; their positions are their slots.
    private var scopes: [(name: String, binding: Int)] = []

    init(lexer: Lexer, limits: Limits) {
        tokens = lexer.tokens
        payloads = lexer.payloads
        problems = lexer.problems
        self.limits = limits
    }

    /// Parses all tokens as one expression.
    mutating func run() {
        do throws(Abort) {
            if token.kind == .end {
                throw report(.syntax, "an expression is missing here", at: token.range)
            }
            tree.root = try parseExpression()
            if token.kind != .end { throw unexpected("the end of the expression") }
        } catch {}
    }

    // MARK: Tokens

    var token: Token { tokens[position] }

    func peek(_ distance: Int) -> Token.Kind {
        position + distance < tokens.count ? tokens[position + distance].kind : .end
    }

    mutating func advance() {
        if position + 1 < tokens.count { position += 1 }
    }

    mutating func accept(_ kind: Token.Kind) -> Bool {
        guard token.kind == kind else { return false }
        advance()
        return true
    }

    mutating func expect(_ kind: Token.Kind, _ what: String) throws(Abort) -> SourceRange {
        guard token.kind == kind else { throw unexpected(what) }
        defer { advance() }
        return token.range
    }

    func text(of token: Token) -> String {
        if token.payload >= 0, case .text(let text) = payloads[token.payload] { return text }
        return ""
    }

    // MARK: Problems

    mutating func report(
        _ code: Problem.Code, _ message: String, at range: SourceRange, suggestion: String? = nil
    ) -> Abort {
        if problems.count < Problems.most {
            problems.append(Problem(code: code, message: message, range: range, suggestion: suggestion))
        }
        return Abort()
    }

    /// Reports the present token, unless the lexer did already.
    mutating func unexpected(_ what: String) -> Abort {
        let token = token
        guard token.kind != .invalid else { return Abort() }
        if token.kind == .end {
            return report(.syntax, "expected \(what), but the expression ends here", at: token.range)
        }
        return report(.syntax, "expected \(what), not \(describe(token))\(advice(for: token))", at: token.range)
    }

    private func describe(_ token: Token) -> String {
        switch token.kind {
        case .end: "the end"
        case .identifier: "'\(text(of: token))'"
        case .quotedIdentifier: "'`\(text(of: token))`'"
        case .int, .uint, .double: "a number"
        case .string: "a string"
        case .bytes: "bytes"
        default: "'\(token.kind.symbol)'"
        }
    }

    /// What was probably meant by a word where an operator belongs.
    private func advice(for token: Token) -> String {
        guard token.kind == .identifier else { return "" }
        return switch text(of: token).lowercased() {
        case "and": "; 'and' is written '&&'"
        case "or": "; 'or' is written '||'"
        case "is", "eq", "equals": "; equality is written '=='"
        case "not": "; 'not' is written '!'"
        default: ""
        }
    }

    // MARK: Nodes

    /// Adds a node, whose height is one more than that of its highest operand.
    mutating func add(
        _ kind: SyntaxTree.Kind, _ range: SourceRange, operands: [SyntaxTree.ID] = []
    ) throws(Abort) -> SyntaxTree.ID {
        var height = 0
        for operand in operands { height = max(height, tree.nodes[operand].height) }
        return try append(kind, range, height: height + 1, spine: 0)
    }

    /// Adds a node with a left operand, along which operators in a row do not add to the height beyond
    /// ``SyntaxTree/longestNestedSpine``.
    mutating func addSpine(
        _ kind: SyntaxTree.Kind, _ range: SourceRange, left: SyntaxTree.ID, others: [SyntaxTree.ID] = []
    ) throws(Abort) -> SyntaxTree.ID {
        let spine = tree.nodes[left].spine + 1
        var height = tree.nodes[left].height + (spine <= SyntaxTree.longestNestedSpine ? 1 : 0)
        for other in others { height = max(height, tree.nodes[other].height + 1) }
        return try append(kind, range, height: height, spine: spine)
    }

    private mutating func append(
        _ kind: SyntaxTree.Kind, _ range: SourceRange, height: Int, spine: Int
    ) throws(Abort) -> SyntaxTree.ID {
        guard height <= limits.nesting else { throw tooDeep(at: range) }
        guard tree.nodes.count < limits.nodes else {
            throw report(
                .tooComplex, "the expression has more than \(limits.nodes) parts, which is the limit; split it",
                at: range)
        }
        tree.nodes.append(SyntaxTree.Node(kind: kind, range: range, height: height, spine: spine))
        return tree.nodes.count - 1
    }

    private mutating func tooDeep(at range: SourceRange) -> Abort {
        report(
            .tooDeep, "the expression is nested more than \(limits.nesting) levels deep, which is the limit; split it",
            at: range)
    }

    private func range(from start: SyntaxTree.ID, to end: SyntaxTree.ID) -> SourceRange {
        tree.nodes[start].range.joined(with: tree.nodes[end].range)
    }

    // MARK: Expr

    /// Expr = ConditionalOr ["?" ConditionalOr ":" Expr].
    mutating func parseExpression() throws(Abort) -> SyntaxTree.ID {
        depth += 1
        guard depth <= limits.nesting else { throw tooDeep(at: token.range) }
        let condition = try parseOperators()
        let result = token.kind == .question ? try parseConditional(condition) : condition
        depth -= 1
        return result
    }

    private mutating func parseConditional(_ condition: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        advance()
        let then = try parseOperators()
        _ = try expect(.colon, "':' and the value for when the condition is false")
        let otherwise = try parseExpression()
        return try add(
            .conditional(condition: condition, then: then, otherwise: otherwise),
            range(from: condition, to: otherwise), operands: [condition, then, otherwise])
    }

    // MARK: ConditionalOr to Multiplication

    private enum Operator {
        case logic(LogicOperator)
        case binary(BinaryOperator)
    }

    private struct Pending {
        let operation: Operator
        let precedence: Int
        let range: SourceRange
    }

    /// ConditionalOr, ConditionalAnd, Relation, Addition and Multiplication, all of which associate to the left.
    private mutating func parseOperators() throws(Abort) -> SyntaxTree.ID {
        var operands = [try parseUnary()]
        var pending: [Pending] = []
        while let next = Self.pending(token) {
            while let last = pending.last, last.precedence >= next.precedence {
                try reduce(&operands, &pending)
            }
            pending.append(next)
            advance()
            operands.append(try parseUnary())
        }
        while !pending.isEmpty { try reduce(&operands, &pending) }
        return operands[0]
    }

    private static func pending(_ token: Token) -> Pending? {
        let (operation, precedence): (Operator, Int)
        switch token.kind {
        case .or: (operation, precedence) = (.logic(.or), 1)
        case .and: (operation, precedence) = (.logic(.and), 2)
        case .equal: (operation, precedence) = (.binary(.equal), 3)
        case .notEqual: (operation, precedence) = (.binary(.notEqual), 3)
        case .less: (operation, precedence) = (.binary(.less), 3)
        case .lessOrEqual: (operation, precedence) = (.binary(.lessOrEqual), 3)
        case .greater: (operation, precedence) = (.binary(.greater), 3)
        case .greaterOrEqual: (operation, precedence) = (.binary(.greaterOrEqual), 3)
        case .in: (operation, precedence) = (.binary(.in), 3)
        case .plus: (operation, precedence) = (.binary(.add), 4)
        case .minus: (operation, precedence) = (.binary(.subtract), 4)
        case .star: (operation, precedence) = (.binary(.multiply), 5)
        case .slash: (operation, precedence) = (.binary(.divide), 5)
        case .percent: (operation, precedence) = (.binary(.remainder), 5)
        default: return nil
        }
        return Pending(operation: operation, precedence: precedence, range: token.range)
    }

    /// Joins the last two operands by the last operator.
    private mutating func reduce(_ operands: inout [SyntaxTree.ID], _ pending: inout [Pending]) throws(Abort) {
        let operation = pending.removeLast()
        let right = operands.removeLast()
        let left = operands.removeLast()
        let range = range(from: left, to: right)
        switch operation.operation {
        case .binary(let binary):
            operands.append(
                try addSpine(
                    .binary(binary, left: left, right: right, operatorRange: operation.range),
                    range, left: left, others: [right]))
        case .logic(let logic):
            operands.append(try addLogic(logic, left: left, right: right, range))
        }
    }

    /// Joins two conditions; a chain of the same operator becomes one node, which takes over the operands of the
    /// former.
    private mutating func addLogic(
        _ logic: LogicOperator, left: SyntaxTree.ID, right: SyntaxTree.ID, _ range: SourceRange
    ) throws(Abort) -> SyntaxTree.ID {
        guard case .logic(logic, var operands) = tree.nodes[left].kind, !tree.nodes[left].isParenthesized else {
            return try add(.logic(logic, operands: [left, right]), range, operands: [left, right])
        }
        tree.nodes[left].kind = .none
        operands.append(right)
        let height = max(tree.nodes[left].height, tree.nodes[right].height + 1)
        return try append(.logic(logic, operands: operands), range, height: height, spine: 0)
    }

    // MARK: Unary

    /// Unary = Member | "!" {"!"} Member | "-" {"-"} Member. A minus just before a number belongs to the number.
    private mutating func parseUnary() throws(Abort) -> SyntaxTree.ID {
        guard token.kind == .not || token.kind == .minus else {
            return try parseMember(try parsePrimary())
        }
        return try parsePrefixed(token.kind)
    }

    private mutating func parsePrefixed(_ kind: Token.Kind) throws(Abort) -> SyntaxTree.ID {
        let first = position
        while token.kind == kind {
            guard position - first < limits.nesting else { throw tooDeep(at: token.range) }
            advance()
        }
        var signs = position - first
        var operand: SyntaxTree.ID
        if kind == .minus, token.kind == .int || token.kind == .double {
            signs -= 1
            operand = try parseMember(try parseNegativeNumber(sign: tokens[position - 1].range))
        } else if token.kind == .not || token.kind == .minus {
            throw report(
                .syntax, "'\(kind.symbol)' and '\(token.kind.symbol)' cannot follow each other; use parentheses",
                at: token.range)
        } else {
            operand = try parseMember(try parsePrimary())
        }
        while signs > 0 {
            signs -= 1
            let range = tokens[first + signs].range.joined(with: tree.nodes[operand].range)
            operand = try add(
                .unary(kind == .not ? .not : .negate, operand: operand), range, operands: [operand])
        }
        return operand
    }

    private mutating func parseNegativeNumber(sign: SourceRange) throws(Abort) -> SyntaxTree.ID {
        let token = token
        let range = sign.joined(with: token.range)
        advance()
        switch payloads[token.payload] {
        case .magnitude(let magnitude):
            guard magnitude <= Int64.min.magnitude else { throw outOfRange(at: range) }
            return try add(.literal(.int(Int64(truncatingIfNeeded: 0 &- magnitude))), range)
        case .double(let double):
            return try add(.literal(.double(-double)), range)
        case .text, .bytes:
            throw Abort()
        }
    }

    private mutating func outOfRange(at range: SourceRange) -> Abort {
        report(
            .invalidLiteral,
            "the number is out of range for int, -9223372036854775808 to 9223372036854775807",
            at: range)
    }

    // MARK: Member

    /// Member = Primary {"." IDENT ["(" [ExprList] ")"] | "[" Expr "]"}.
    private mutating func parseMember(_ primary: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        var operand = primary
        while true {
            switch token.kind {
            case .point: operand = try parseSelection(operand)
            case .leftBracket: operand = try parseIndex(operand)
            case .leftBrace where isTypeName(operand): throw unsupportedMessage(operand)
            default: return operand
            }
        }
    }

    private mutating func parseIndex(_ operand: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        advance()
        if token.kind == .question { throw unsupportedOptional() }
        let index = try parseExpression()
        let end = try expect(.rightBracket, "']' after the index")
        return try addSpine(
            .index(operand: operand, index: index), tree.nodes[operand].range.joined(with: end),
            left: operand, others: [index])
    }

    private mutating func parseSelection(_ operand: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        advance()
        let name = try parseSelector()
        let range = tree.nodes[operand].range.joined(with: name.range)
        guard token.kind == .leftParenthesis, tokens[position - 1].kind == .identifier else {
            return try addSpine(.select(operand: operand, name: name), range, left: operand)
        }
        if let macro = Macro(rawValue: name.text) {
            return try parseComprehension(macro, name.range, over: operand)
        }
        advance()
        let (arguments, end) = try parseArguments()
        return try addSpine(
            .call(function: name, hasReceiver: true, operands: [operand] + arguments),
            range.joined(with: end), left: operand, others: arguments)
    }

    /// The name after a point; reserved words are allowed there.
    private mutating func parseSelector() throws(Abort) -> SyntaxTree.Name {
        let token = token
        switch token.kind {
        case .identifier, .quotedIdentifier:
            advance()
            return SyntaxTree.Name(text: text(of: token), range: token.range)
        case .question:
            throw unsupportedOptional()
        case .true, .false, .null, .in:
            let word = token.kind.symbol
            throw report(.syntax, "'\(word)' cannot follow '.'; write .`\(word)`", at: token.range)
        default:
            throw unexpected("a field or function name after '.'")
        }
    }

    /// The rest of a call after its opening parenthesis.
    private mutating func parseArguments() throws(Abort) -> ([SyntaxTree.ID], SourceRange) {
        var arguments: [SyntaxTree.ID] = []
        if token.kind != .rightParenthesis {
            repeat {
                arguments.append(try parseExpression())
            } while accept(.comma)
        }
        let end = try expect(.rightParenthesis, "',' or ')' after the argument")
        return (arguments, end)
    }

    // MARK: Primary

    private mutating func parsePrimary() throws(Abort) -> SyntaxTree.ID {
        switch token.kind {
        case .identifier: return try parseName(isRooted: false)
        case .leftParenthesis: return try parseParentheses()
        case .leftBracket: return try parseList()
        case .leftBrace: return try parseMap()
        case .point where peek(1) == .identifier:
            advance()
            return try parseName(isRooted: true)
        case .quotedIdentifier:
            throw report(.syntax, "a name between backticks must follow '.'", at: token.range)
        default: return try parseLiteral()
        }
    }

    private mutating func parseParentheses() throws(Abort) -> SyntaxTree.ID {
        let start = token.range
        advance()
        let inner = try parseExpression()
        let end = try expect(.rightParenthesis, "')'")
        tree.nodes[inner].range = start.joined(with: end)
        tree.nodes[inner].isParenthesized = true
        return inner
    }

    private mutating func parseLiteral() throws(Abort) -> SyntaxTree.ID {
        let token = token
        let value: Value
        switch token.kind {
        case .true: value = .bool(true)
        case .false: value = .bool(false)
        case .null: value = .null
        case .int, .uint, .double, .string, .bytes: value = try literal(token)
        default: throw unexpected("a value")
        }
        advance()
        return try add(.literal(value), token.range)
    }

    private mutating func literal(_ token: Token) throws(Abort) -> Value {
        switch payloads[token.payload] {
        case .magnitude(let magnitude):
            if token.kind == .uint { return .uint(magnitude) }
            guard let int = Int64(exactly: magnitude) else { throw outOfRange(at: token.range) }
            return .int(int)
        case .double(let double): return .double(double)
        case .text(let text): return .string(text)
        case .bytes(let bytes): return .bytes(bytes)
        }
    }

    /// A variable, or a function that is called. A leading point skips the variables of macros.
    private mutating func parseName(isRooted: Bool) throws(Abort) -> SyntaxTree.ID {
        let token = token
        let name = SyntaxTree.Name(text: text(of: token), range: token.range)
        if ReservedWords.all.contains(name.text) {
            throw report(.syntax, "'\(name.text)' is a reserved word and cannot be a name", at: name.range)
        }
        advance()
        if self.token.kind == .leftParenthesis { return try parseCall(name) }
        if !isRooted, let scope = scopes.last(where: { $0.name == name.text }) {
            return try add(.binding(scope.binding), name.range)
        }
        return try add(.variable(name: name.text), name.range)
    }

    private mutating func parseCall(_ name: SyntaxTree.Name) throws(Abort) -> SyntaxTree.ID {
        advance()
        let (arguments, end) = try parseArguments()
        let range = name.range.joined(with: end)
        if name.text == "has" { return try convertToPresence(arguments, range) }
        return try add(
            .call(function: name, hasReceiver: false, operands: arguments), range, operands: arguments)
    }

    /// `has(e.f)`: turns the selection into a test for presence.
    private mutating func convertToPresence(
        _ arguments: [SyntaxTree.ID], _ range: SourceRange
    ) throws(Abort) -> SyntaxTree.ID {
        guard arguments.count == 1, case .select(let operand, let name) = tree.nodes[arguments[0]].kind,
            !tree.nodes[arguments[0]].isParenthesized
        else {
            throw report(.syntax, "has() takes a field, as in has(state.since)", at: range)
        }
        tree.nodes[arguments[0]].kind = .none
        return try add(.has(operand: operand, name: name), range, operands: [operand])
    }

    private mutating func parseList() throws(Abort) -> SyntaxTree.ID {
        let start = token.range
        advance()
        var elements: [SyntaxTree.ID] = []
        while token.kind != .rightBracket {
            if token.kind == .question { throw unsupportedOptional() }
            elements.append(try parseExpression())
            guard accept(.comma) else { break }
        }
        let end = try expect(.rightBracket, "',' or ']' after the element")
        return try add(.list(elements), start.joined(with: end), operands: elements)
    }

    private mutating func parseMap() throws(Abort) -> SyntaxTree.ID {
        let start = token.range
        advance()
        var entries: [SyntaxTree.Entry] = []
        while token.kind != .rightBrace {
            if token.kind == .question { throw unsupportedOptional() }
            let key = try parseExpression()
            _ = try expect(.colon, "':' after the key")
            entries.append(SyntaxTree.Entry(key: key, value: try parseExpression()))
            guard accept(.comma) else { break }
        }
        let end = try expect(.rightBrace, "',' or '}' after the entry")
        return try add(
            .map(entries), start.joined(with: end), operands: entries.flatMap { [$0.key, $0.value] })
    }

    // MARK: Macros

    /// The arguments of a macro: one or two names, then expressions in which the names are variables.
    private mutating func parseComprehension(
        _ macro: Macro, _ macroRange: SourceRange, over range: SyntaxTree.ID
    ) throws(Abort) -> SyntaxTree.ID {
        advance()
        let outer = scopes.count
        let allowsTwo = macro != .map && macro != .filter
        let needsTwo = macro == .transformList || macro == .transformMap
        let first = try parseBindingName(macro, macroRange)
        let hasTwo = allowsTwo && token.kind == .identifier && peek(1) == .comma
        guard hasTwo || !needsTwo else { throw malformed(macro, macroRange) }
        bind(first, hasTwo ? .key : .item, range)
        if hasTwo { bind(try parseBindingName(macro, macroRange), .value, range) }

        let start = tree.nodes.count
        var arguments = [try parseExpression()]
        if macro == .map || needsTwo, accept(.comma) { arguments.append(try parseExpression()) }
        guard token.kind != .comma else { throw malformed(macro, macroRange) }
        let end = try expect(.rightParenthesis, "')' after \(macro.form)")
        scopes.removeSubrange(outer...)

        let isFilter = macro == .filter
        let comprehension = SyntaxTree.Comprehension(
            macro: macro, macroRange: macroRange, range: range, slot: outer, hasTwoVariables: hasTwo,
            filter: isFilter || arguments.count == 2 ? arguments[0] : nil,
            body: isFilter ? nil : arguments[arguments.count - 1],
            weight: tree.nodes.count - start + 1)
        return try add(
            .comprehension(comprehension), tree.nodes[range].range.joined(with: end),
            operands: [range] + arguments)
    }

    /// A name and the comma after it.
    private mutating func parseBindingName(_ macro: Macro, _ range: SourceRange) throws(Abort) -> Token {
        let token = token
        guard token.kind == .identifier, peek(1) == .comma else {
            if token.kind == .invalid { throw Abort() }
            throw malformed(macro, range)
        }
        guard !ReservedWords.all.contains(text(of: token)) else {
            throw report(.syntax, "'\(text(of: token))' is a reserved word and cannot be a name", at: token.range)
        }
        advance()
        advance()
        return token
    }

    private mutating func bind(_ token: Token, _ role: SyntaxTree.Binding.Role, _ range: SyntaxTree.ID) {
        tree.bindings.append(SyntaxTree.Binding(slot: scopes.count, role: role, range: range))
        scopes.append((name: text(of: token), binding: tree.bindings.count - 1))
        tree.slots = max(tree.slots, scopes.count)
    }

    private mutating func malformed(_ macro: Macro, _ range: SourceRange) -> Abort {
        report(.syntax, "\(macro.rawValue)() is written \(macro.form), where x names the element", at: range)
    }

    // MARK: What is not supported

    private mutating func unsupportedOptional() -> Abort {
        report(
            .unsupported,
            "optional access and optional elements ('?') are not supported yet; test with has(a.b) or \"b\" in a first",
            at: token.range)
    }

    private func isTypeName(_ operand: SyntaxTree.ID) -> Bool {
        guard !tree.nodes[operand].isParenthesized else { return false }
        return switch tree.nodes[operand].kind {
        case .variable, .select: true
        default: false
        }
    }

    private mutating func unsupportedMessage(_ operand: SyntaxTree.ID) -> Abort {
        report(
            .unsupported,
            "constructing a structure by its type's name is not supported yet; maps {\"key\": value} and lists are",
            at: tree.nodes[operand].range.joined(with: token.range))
    }
}

extension Token.Kind {
    /// How the token is written, for messages.
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
