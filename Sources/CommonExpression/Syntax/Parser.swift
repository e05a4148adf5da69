/// Parses tokens into a syntax tree by recursive descent (CEL specification, "Syntax").
///
/// The parser handles operators by precedence with its own stack. One level of nesting in the source therefore costs a
/// fixed, small number of calls, and `Limits.nesting` bounds the nesting.
///
/// An unoptimized build gives every temporary value and every copy of a structure a place in the stack frame. The
/// recursive functions therefore hold little more than positions of tokens and nodes, other functions build nodes and
/// messages, and the parser is a class.
final class Parser {
    /// Leaves the descent after the problem was added to ``problems``.
    struct Abort: Error {}

    var tree = SyntaxTree()
    var problems: [Problem]

    let tokens: [Token]
    let payloads: [Payload]
    let limits: Limits
    var position = 0
    var depth = 0
    /// The variables of the enclosing macros. Their positions are their slots.
    var scopes: [(name: String, binding: Int)] = []
    /// The operands and operators of the chains that are being read, the innermost last.
    var operands: [SyntaxTree.ID] = []
    var pending: [Pending] = []

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

    /// The range of the last token read.
    var lastRange: SourceRange { tokens[position - 1].range }

    func name(at index: Int) -> SyntaxTree.Name {
        SyntaxTree.Name(text: text(of: tokens[index]), range: tokens[index].range)
    }

    func text(of token: Token) -> String {
        if token.payload >= 0, case .text(let text) = payloads[token.payload] { return text }
        return ""
    }

    // MARK: Nodes

    /// Adds a node whose height is one more than that of its highest operand.
    func add(
        _ kind: SyntaxTree.Kind, _ range: SourceRange, operands: [SyntaxTree.ID] = []
    ) throws(Abort) -> SyntaxTree.ID {
        var height = 0
        for operand in operands { height = max(height, tree.nodes[operand].height) }
        return try append(kind, range, height: height + 1, spine: 0)
    }

    /// Adds a node with a left operand. Beyond ``SyntaxTree/longestNestedSpine`` operators, a chain along the left
    /// operand does not add to the height.
    func addSpine(
        _ kind: SyntaxTree.Kind, _ range: SourceRange, left: SyntaxTree.ID, others: [SyntaxTree.ID] = []
    ) throws(Abort) -> SyntaxTree.ID {
        let spine = tree.nodes[left].spine + 1
        var height = tree.nodes[left].height + (spine <= SyntaxTree.longestNestedSpine ? 1 : 0)
        for other in others { height = max(height, tree.nodes[other].height + 1) }
        return try append(kind, range, height: height, spine: spine)
    }

    func append(
        _ kind: SyntaxTree.Kind, _ range: SourceRange, height: Int, spine: Int
    ) throws(Abort) -> SyntaxTree.ID {
        guard height <= limits.nesting else { throw tooDeep(at: range) }
        guard tree.nodes.count < limits.nodes else {
            throw report(
                .tooComplex, "the expression has more than \(limits.nodes) parts, which is the limit",
                advice: "split it", at: range)
        }
        tree.nodes.append(SyntaxTree.Node(kind: kind, range: range, height: height, spine: spine))
        return tree.nodes.count - 1
    }

    func tooDeep(at range: SourceRange) -> Abort {
        report(
            .tooDeep, "the expression is nested more than \(limits.nesting) levels deep, which is the limit",
            advice: "split it", at: range)
    }

    func range(from start: SyntaxTree.ID, to end: SyntaxTree.ID) -> SourceRange {
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
}
