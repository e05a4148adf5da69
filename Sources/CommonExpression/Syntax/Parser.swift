/// Parses tokens into a syntax tree by recursive descent (CEL specification, "Syntax").
///
/// Operators are handled by precedence with a stack of their own, so that one level of nesting in the source costs a
/// fixed, small number of calls; nesting is bounded by `Limits.nesting`. The functions that call each other hold little
/// more than positions of tokens and nodes and leave the building of nodes and messages to others, and the parser is a
/// class, because an unoptimized build gives every temporary value, and every copy of a structure, a place in the
/// frame.
final class Parser {
    /// Thrown after the problem was added to ``problems``, to leave the descent.
    struct Abort: Error {}

    var tree = SyntaxTree()
    private(set) var problems: [Problem]

    let tokens: [Token]
    private let payloads: [Payload]
    private let limits: Limits
    private var position = 0
    private var depth = 0
    /// The variables of the macros around the present position; their positions are their slots.
    var scopes: [(name: String, binding: Int)] = []
    /// The operands and operators of the rows that are being read, the innermost last.
    private var operands: [SyntaxTree.ID] = []
    private var pending: [Pending] = []

    init(lexer: Lexer, limits: Limits) {
        tokens = lexer.tokens
        payloads = lexer.payloads
        problems = lexer.problems
        self.limits = limits
    }

    /// Parses all tokens as one expression.
    func run() {
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

    var kind: Token.Kind { tokens[position].kind }

    func peek(_ distance: Int) -> Token.Kind {
        position + distance < tokens.count ? tokens[position + distance].kind : .end
    }

    func advance() {
        if position + 1 < tokens.count { position += 1 }
    }

    func accept(_ kind: Token.Kind) -> Bool {
        guard token.kind == kind else { return false }
        advance()
        return true
    }

    func expect(_ kind: Token.Kind, _ what: String) throws(Abort) {
        guard token.kind == kind else { throw unexpected(what) }
        advance()
    }

    /// The range of the token just read.
    var lastRange: SourceRange { tokens[position - 1].range }

    func name(at index: Int) -> SyntaxTree.Name {
        SyntaxTree.Name(text: text(of: tokens[index]), range: tokens[index].range)
    }

    func text(of token: Token) -> String {
        if token.payload >= 0, case .text(let text) = payloads[token.payload] { return text }
        return ""
    }

    // MARK: Problems

    func report(
        _ code: Problem.Code, _ message: String, at range: SourceRange, suggestion: String? = nil
    ) -> Abort {
        if problems.count < Problems.most {
            problems.append(Problem(code: code, message: message, range: range, suggestion: suggestion))
        }
        return Abort()
    }

    /// Reports the present token, unless the lexer did already.
    func unexpected(_ what: String) -> Abort {
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
        case .identifier: "'\(Excerpt.of(text(of: token)))'"
        case .quotedIdentifier: "'`\(Excerpt.of(text(of: token)))`'"
        case .int, .uint, .double: "a number"
        case .string: "a string"
        case .bytes: "bytes"
        default: "'\(token.kind.symbol)'"
        }
    }

    /// What was probably meant by a word where an operator belongs, or by the one before it.
    private func advice(for token: Token) -> String {
        if position > 0, tokens[position - 1].kind == .identifier, text(of: tokens[position - 1]) == "not" {
            return "; 'not' is written '!'"
        }
        if token.kind == .comma, isDecimal(at: position) { return "; a decimal point is written '.'" }
        guard token.kind == .identifier else { return "" }
        return switch text(of: token) {
        case "contains", "startsWith", "endsWith", "matches": "; it is a function: write .\(text(of: token))(…)"
        case let text: advice(forOperator: text.lowercased())
        }
    }

    private func advice(forOperator word: String) -> String {
        switch word {
        case "and": "; 'and' is written '&&'"
        case "or": "; 'or' is written '||'"
        case "is", "eq", "equals": "; equality is written '=='"
        case "ne": "; inequality is written '!='"
        case "not": "; 'not' is written '!'"
        default: ""
        }
    }

    /// Whether the comma there stands between two whole numbers without a blank.
    private func isDecimal(at index: Int) -> Bool {
        guard index > 0, index + 1 < tokens.count else { return false }
        let (before, comma, after) = (tokens[index - 1], tokens[index], tokens[index + 1])
        return before.kind == .int && after.kind == .int && before.range.end == comma.range.start
            && comma.range.end == after.range.start
    }

    // MARK: Nodes

    /// Adds a node, whose height is one more than that of its highest operand.
    func add(
        _ kind: SyntaxTree.Kind, _ range: SourceRange, operands: [SyntaxTree.ID] = []
    ) throws(Abort) -> SyntaxTree.ID {
        var height = 0
        for operand in operands { height = max(height, tree.nodes[operand].height) }
        return try append(kind, range, height: height + 1, spine: 0)
    }

    /// Adds a node with a left operand, along which operators in a row do not add to the height beyond
    /// ``SyntaxTree/longestNestedSpine``.
    func addSpine(
        _ kind: SyntaxTree.Kind, _ range: SourceRange, left: SyntaxTree.ID, others: [SyntaxTree.ID] = []
    ) throws(Abort) -> SyntaxTree.ID {
        let spine = tree.nodes[left].spine + 1
        var height = tree.nodes[left].height + (spine <= SyntaxTree.longestNestedSpine ? 1 : 0)
        for other in others { height = max(height, tree.nodes[other].height + 1) }
        return try append(kind, range, height: height, spine: spine)
    }

    private func append(
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

    private func tooDeep(at range: SourceRange) -> Abort {
        report(
            .tooDeep, "the expression is nested more than \(limits.nesting) levels deep, which is the limit; split it",
            at: range)
    }

    private func range(from start: SyntaxTree.ID, to end: SyntaxTree.ID) -> SourceRange {
        tree.nodes[start].range.joined(with: tree.nodes[end].range)
    }

    // MARK: Expr

    /// Expr = ConditionalOr ["?" ConditionalOr ":" Expr].
    func parseExpression() throws(Abort) -> SyntaxTree.ID {
        try enter()
        let condition = try parseOperators()
        let result = kind == .question ? try parseConditional(condition) : condition
        depth -= 1
        return result
    }

    private func enter() throws(Abort) {
        depth += 1
        guard depth <= limits.nesting else { throw tooDeep(at: token.range) }
    }

    private func parseConditional(_ condition: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        advance()
        let then = try parseOperators()
        try expect(.colon, "':' and the value for when the condition is false")
        let otherwise = try parseExpression()
        return try addConditional(condition, then, otherwise)
    }

    private func addConditional(
        _ condition: SyntaxTree.ID, _ then: SyntaxTree.ID, _ otherwise: SyntaxTree.ID
    ) throws(Abort) -> SyntaxTree.ID {
        try add(
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
    private func parseOperators() throws(Abort) -> SyntaxTree.ID {
        let base = pending.count
        operands.append(try parseUnary())
        while try takeOperator(above: base) {
            operands.append(try parseUnary())
        }
        while pending.count > base { try reduce() }
        return operands.removeLast()
    }

    /// Takes the operator that comes next, if one does, after those before it that bind as tightly.
    private func takeOperator(above base: Int) throws(Abort) -> Bool {
        guard let next = Self.pending(token) else { return false }
        while pending.count > base, let last = pending.last, last.precedence >= next.precedence {
            try reduce()
        }
        pending.append(next)
        advance()
        return true
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
    private func reduce() throws(Abort) {
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
    private func addLogic(
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

    /// Unary = Member | "!" {"!"} Member | "-" {"-"} Member.
    private func parseUnary() throws(Abort) -> SyntaxTree.ID {
        if kind == .not || kind == .minus { return try parsePrefixed() }
        return try parseMember(try parsePrimary())
    }

    private func parsePrefixed() throws(Abort) -> SyntaxTree.ID {
        let first = position
        try skipSigns()
        let count = position - first
        let operand = try parseMember(try parsePrimaryOrNegative(after: first))
        return try addSigns(from: first, count: count, operand)
    }

    /// Takes signs of one kind.
    private func skipSigns() throws(Abort) {
        let (first, sign) = (position, kind)
        while kind == sign {
            guard position - first < limits.nesting else { throw tooDeep(at: token.range) }
            advance()
        }
        guard kind == .not || kind == .minus else { return }
        throw report(
            .syntax, "'\(sign.symbol)' and '\(kind.symbol)' cannot follow each other; use parentheses",
            at: token.range)
    }

    /// A minus just before a number belongs to the number.
    private func parsePrimaryOrNegative(after first: Int) throws(Abort) -> SyntaxTree.ID {
        if tokens[first].kind == .minus, kind == .int || kind == .double {
            return try parseNegativeNumber(sign: lastRange)
        }
        return try parsePrimary()
    }

    /// Applies the signs to their operand, but for the one that belongs to a number.
    private func addSigns(
        from first: Int, count: Int, _ operand: SyntaxTree.ID
    ) throws(Abort) -> SyntaxTree.ID {
        let isNegation = tokens[first].kind == .minus
        let next = tokens[first + count].kind
        var signs = isNegation && (next == .int || next == .double) ? count - 1 : count
        var operand = operand
        while signs > 0 {
            signs -= 1
            let range = tokens[first + signs].range.joined(with: tree.nodes[operand].range)
            operand = try add(.unary(isNegation ? .negate : .not, operand: operand), range, operands: [operand])
        }
        return operand
    }

    private func parseNegativeNumber(sign: SourceRange) throws(Abort) -> SyntaxTree.ID {
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

    private func outOfRange(at range: SourceRange) -> Abort {
        report(
            .invalidLiteral,
            "the number is out of range for int, -9223372036854775808 to 9223372036854775807",
            at: range)
    }

    // MARK: Member

    /// Member = Primary {"." IDENT ["(" [ExprList] ")"] | "[" Expr "]"}.
    private func parseMember(_ primary: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        var operand = primary
        while true {
            switch kind {
            case .point: operand = try parseSelection(operand)
            case .leftBracket: operand = try parseIndex(operand)
            case .leftBrace where isTypeName(operand): throw constructsMessage(operand)
            default: return operand
            }
        }
    }

    private func parseIndex(_ operand: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        advance()
        let isOptional = accept(.question)
        let index = try parseExpression()
        try expect(.rightBracket, "']' after the index")
        return try addIndex(operand, index, isOptional: isOptional)
    }

    private func addIndex(
        _ operand: SyntaxTree.ID, _ index: SyntaxTree.ID, isOptional: Bool
    ) throws(Abort) -> SyntaxTree.ID {
        try addSpine(
            isOptional ? .optionalIndex(operand: operand, index: index) : .index(operand: operand, index: index),
            tree.nodes[operand].range.joined(with: lastRange), left: operand, others: [index])
    }

    private func parseSelection(_ operand: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        advance()
        let isOptional = accept(.question)
        let selector = position
        try skipSelector()
        guard kind == .leftParenthesis, tokens[selector].kind == .identifier, !isOptional else {
            return try addSelection(operand, selector, isOptional: isOptional)
        }
        if isMacro(selector) { return try parseComprehension(selector, over: operand) }
        if isBind(operand, selector) { return try parseBind(operand, selector) }
        if isOptionalMacro(selector) { return try parseOptionalMap(operand, selector) }
        let arguments = try parseArguments()
        return try addMemberCall(operand, selector, arguments)
    }

    private func addSelection(
        _ operand: SyntaxTree.ID, _ selector: Int, isOptional: Bool
    ) throws(Abort) -> SyntaxTree.ID {
        let name = name(at: selector)
        return try addSpine(
            isOptional ? .optionalSelect(operand: operand, name: name) : .select(operand: operand, name: name),
            tree.nodes[operand].range.joined(with: name.range), left: operand)
    }

    private func addMemberCall(
        _ operand: SyntaxTree.ID, _ selector: Int, _ arguments: [SyntaxTree.ID]
    ) throws(Abort) -> SyntaxTree.ID {
        try addSpine(
            .call(function: name(at: selector), hasReceiver: true, operands: [operand] + arguments),
            tree.nodes[operand].range.joined(with: lastRange), left: operand, others: arguments)
    }

    /// Takes the name after a point; reserved words are allowed there.
    private func skipSelector() throws(Abort) {
        switch kind {
        case .identifier, .quotedIdentifier: advance()
        case .true, .false, .null, .in:
            let word = kind.symbol
            throw report(.syntax, "'\(word)' cannot follow '.'; write .`\(word)`", at: token.range)
        default: throw unexpected("a field or function name after '.'")
        }
    }

    /// The arguments of a call with the parentheses around them.
    private func parseArguments() throws(Abort) -> [SyntaxTree.ID] {
        advance()
        var arguments: [SyntaxTree.ID] = []
        if kind != .rightParenthesis {
            repeat {
                arguments.append(try parseExpression())
            } while accept(.comma)
        }
        try expect(.rightParenthesis, "',' or ')' after the argument")
        return arguments
    }

    // MARK: Primary

    private func parsePrimary() throws(Abort) -> SyntaxTree.ID {
        switch kind {
        case .identifier: return peek(1) == .leftParenthesis ? try parseCall() : try parseName(isRooted: false)
        case .leftParenthesis: return try parseParentheses()
        case .leftBracket: return try parseList()
        case .leftBrace: return try parseMap()
        case .point where peek(1) == .identifier:
            advance()
            return peek(1) == .leftParenthesis ? try parseCall() : try parseName(isRooted: true)
        default: return try parseLiteral()
        }
    }

    private func parseParentheses() throws(Abort) -> SyntaxTree.ID {
        let start = position
        advance()
        let inner = try parseExpression()
        try expect(.rightParenthesis, "')'")
        enclose(inner, from: start)
        return inner
    }

    /// Counts the parentheses to a node.
    private func enclose(_ inner: SyntaxTree.ID, from start: Int) {
        tree.nodes[inner].range = tokens[start].range.joined(with: lastRange)
        tree.nodes[inner].isParenthesized = true
    }

    private func parseLiteral() throws(Abort) -> SyntaxTree.ID {
        let token = token
        let value: Value
        switch token.kind {
        case .true: value = .bool(true)
        case .false: value = .bool(false)
        case .null: value = .null
        case .int, .uint, .double, .string, .bytes: value = try literal(token)
        case .quotedIdentifier:
            throw report(.syntax, "a name between backticks must follow '.'", at: token.range)
        default: throw unexpected("a value")
        }
        advance()
        return try add(.literal(value), token.range)
    }

    private func literal(_ token: Token) throws(Abort) -> Value {
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

    /// A variable. A leading point skips the variables of macros.
    private func parseName(isRooted: Bool) throws(Abort) -> SyntaxTree.ID {
        let name = try takeName()
        if !isRooted, let scope = scopes.last(where: { $0.name == name.text }) {
            return try add(.binding(scope.binding), name.range)
        }
        return try add(.variable(name: name.text), name.range)
    }

    /// An identifier that is not reserved.
    private func takeName() throws(Abort) -> SyntaxTree.Name {
        let name = name(at: position)
        guard !ReservedWords.all.contains(name.text) else {
            throw report(.syntax, "'\(name.text)' is a reserved word and cannot be a name", at: name.range)
        }
        advance()
        return name
    }

    private func parseCall() throws(Abort) -> SyntaxTree.ID {
        let start = position
        _ = try takeName()
        let arguments = try parseArguments()
        return try addCall(start, arguments)
    }

    private func addCall(_ start: Int, _ arguments: [SyntaxTree.ID]) throws(Abort) -> SyntaxTree.ID {
        let name = name(at: start)
        let range = name.range.joined(with: lastRange)
        if name.text == "has" { return try convertToPresence(arguments, range) }
        return try add(
            .call(function: name, hasReceiver: false, operands: arguments), range, operands: arguments)
    }

    private func parseList() throws(Abort) -> SyntaxTree.ID {
        let start = position
        advance()
        var elements: [SyntaxTree.Element] = []
        while kind != .rightBracket {
            let isOptional = accept(.question)
            elements.append(SyntaxTree.Element(value: try parseExpression(), isOptional: isOptional))
            guard accept(.comma) else { break }
        }
        try expect(.rightBracket, "',' or ']' after the element")
        return try addList(elements, from: start)
    }

    private func addList(_ elements: [SyntaxTree.Element], from start: Int) throws(Abort) -> SyntaxTree.ID {
        try add(.list(elements), tokens[start].range.joined(with: lastRange), operands: elements.map(\.value))
    }

    private func parseMap() throws(Abort) -> SyntaxTree.ID {
        let start = position
        advance()
        var entries: [SyntaxTree.Entry] = []
        while kind != .rightBrace {
            let isOptional = accept(.question)
            let key = try parseExpression()
            try expect(.colon, "':' after the key")
            entries.append(SyntaxTree.Entry(key: key, value: try parseExpression(), isOptional: isOptional))
            guard accept(.comma) else { break }
        }
        try expect(.rightBrace, "',' or '}' after the entry")
        return try addMap(entries, from: start)
    }

    private func addMap(_ entries: [SyntaxTree.Entry], from start: Int) throws(Abort) -> SyntaxTree.ID {
        try add(
            .map(entries), tokens[start].range.joined(with: lastRange),
            operands: entries.flatMap { [$0.key, $0.value] }
        )
    }
}
