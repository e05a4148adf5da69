/// An expression that was parsed, not yet checked (CEL specification, "Syntax").
public struct Expression: Sendable {
    /// The source; the ranges of problems are offsets into it. For a part of a template, the whole template.
    public let source: String

    private let tree: SyntaxTree
    private let text: SourceText

    /// Parses an expression. Linear in the length of the source.
    /// - Parameters:
    ///   - source: The expression.
    ///   - limits: The limits for length, nesting and number of nodes.
    /// - Throws: What is wrong: all malformed literals, and the first violation of the grammar.
    public init(parsing source: String, limits: Limits = .default) throws(Problems) {
        try Self.checkLength(of: source, limits)
        let bytes = Array(source.utf8)
        var lexer = Lexer(bytes)
        lexer.run()
        let parser = Parser(lexer: lexer, limits: limits)
        parser.run()
        guard parser.problems.isEmpty else { throw Problems(source: source, sorting: parser.problems) }
        self.init(parser.tree, source: source, text: SourceText(bytes))
    }

    /// Takes over what was parsed.
    init(_ tree: SyntaxTree, source: String, text: SourceText) {
        self.tree = tree
        self.source = source
        self.text = text
    }

    /// Holds the length of a source against its limit.
    static func checkLength(of source: String, _ limits: Limits) throws(Problems) {
        let length = source.utf8.count
        guard length > limits.sourceLength else { return }
        let problem = Problem(
            code: .tooLong,
            message: "the source has \(length) bytes, more than \(limits.sourceLength), which is the limit",
            range: SourceRange(start: limits.sourceLength, end: length))
        throw Problems(source: source, sorting: [problem])
    }

    /// Checks the types against an environment and compiles (CEL specification, "Gradual Type Checking").
    ///
    /// There is no implicit conversion: where `double` is expected, an `int` is a problem whose message says how to
    /// convert. Where the static type leaves open what is expected (`dyn`), the value is held against the expected
    /// type whenever the program is evaluated.
    /// - Parameters:
    ///   - environment: The variables the expression may use, and the limits for evaluation.
    ///   - expecting: The type the result must have; `dyn` for any.
    /// - Throws: All problems at once; an erroneous part is reported once, not again by what contains it.
    public func checked(in environment: Environment, expecting: ValueType = .dyn) throws(Problems) -> Program {
        var checker = Checker(tree, source: text, environment: environment)
        checker.run(expecting: expecting)
        guard checker.problems.isEmpty else { throw Problems(source: source, sorting: checker.problems) }
        return Program(checker.checked, source: source, environment: environment, expecting: expecting)
    }

    /// What the expression reads, before any environment is known: names and the fields selected from them, as in
    /// ``Program/references``. A part of a qualified variable's name appears as a field. The variables of macros, the
    /// namespaces of standard functions and the names of types are no part of it.
    public var references: Set<[String]> {
        var references: Set<[String]> = []
        var covered: Set<SyntaxTree.ID> = []
        for id in tree.nodes.indices.reversed() where !covered.contains(id) {
            var path: [String] = []
            var current = id
            if case .call(let function, true, let operands) = tree.nodes[id].kind,
                case .variable(let namespace) = tree.nodes[operands[0]].kind,
                Functions.all[namespace + "." + function.text] != nil
            {
                covered.insert(operands[0])
                continue
            }
            walk: while true {
                switch tree.nodes[current].kind {
                case .variable(let name):
                    path.append(name)
                    let spelled = path.reversed().joined(separator: ".")
                    if ValueType.denotations[spelled] == nil { references.insert(path.reversed()) }
                    break walk
                case .select(let operand, let name), .has(let operand, let name),
                    .optionalSelect(let operand, let name):
                    path.append(name.text)
                    covered.insert(operand)
                    current = operand
                default: break walk
                }
            }
        }
        return references
    }

    /// Where it divides, or takes a remainder, by a zero that is written: whatever else is computed, that cannot be. Of
    /// whole numbers only; a fraction may be divided by zero.
    public var zeroDivisions: [SourceRange] {
        tree.nodes.compactMap { node in
            guard case .binary(let operation, _, let right, _) = node.kind, [.divide, .remainder].contains(operation)
            else { return nil }
            switch tree.nodes[right].kind {
            case .literal(.int(0)), .literal(.uint(0)): return node.range
            default: return nil
            }
        }
    }

    /// Compiles without checking types: all variables are `dyn`, and what has no meaning (an unknown name, a call no
    /// function takes) is an error when, and only when, it is evaluated (CEL specification, "Gradual Type Checking"
    /// makes checking optional). Slower to evaluate than what was checked.
    /// - Parameter environment: The variables the expression may use, and the limits for evaluation.
    /// - Throws: The problems that are no matter of types: values nested too deep.
    public func unchecked(in environment: Environment) throws(Problems) -> Program {
        var checker = Checker(tree, source: text, environment: environment, checksTypes: false)
        checker.run(expecting: .dyn)
        guard checker.problems.isEmpty else { throw Problems(source: source, sorting: checker.problems) }
        return Program(checker.checked, source: source, environment: environment, expecting: .dyn)
    }

    /// The source range of the whole expression.
    var range: SourceRange { tree.nodes[tree.root].range }
}
