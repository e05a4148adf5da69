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

    /// What fails whatever its variables are: a division of whole numbers by a zero that is written (a fraction may be
    /// divided by zero), and what is computed of literals alone, such as `duration("5 min")`. It is told although a part
    /// that is never reached has it. What is no matter of values, such as an unknown function, is left to the checker.
    ///
    /// Of parts that take long nothing is said, and only the first 32 are looked at.
    ///
    /// - Complexity: linear in the number of nodes.
    public var certainFailures: [EvaluationError] {
        let divisions = tree.nodes.compactMap { node -> EvaluationError? in
            guard case .binary(let operation, _, let right, _) = node.kind, [.divide, .remainder].contains(operation)
            else { return nil }
            switch tree.nodes[right].kind {
            case .literal(.int(0)), .literal(.uint(0)):
                return EvaluationError(
                    code: .divisionByZero, message: "\(text.snippet(node.range)): division by zero", range: node.range)
            default: return nil
            }
        }
        let constants = tree.computedConstants.prefix(Self.mostConstants).filter { part in
            let range = tree.nodes[part].range
            return !divisions.contains { range.start <= $0.range.start && $0.range.end <= range.end }
        }
        return (divisions + constants.compactMap(failure)).sorted { $0.range.start < $1.range.start }
    }

    /// How many constant parts are evaluated at most to see whether they fail.
    private static let mostConstants = 32

    /// What evaluating one of them may take.
    private static let limitsOfConstants: Limits = {
        var limits = Limits.default
        limits.cost = 10_000
        limits.valueSize = min(limits.valueSize, 1 << 16)
        return limits
    }()

    /// Why a constant part has no value; nil: it has one, or the checker has something to say of it.
    private func failure(of part: SyntaxTree.ID) -> EvaluationError? {
        let range = tree.nodes[part].range
        guard let alone = try? Expression(parsing: text.text(range)),
            let program = try? alone.checked(in: Environment(limits: Self.limitsOfConstants))
        else { return nil }
        do throws(EvaluationError) {
            _ = try program.evaluate([])
            return nil
        } catch {
            if error.code == .costExceeded || error.code == .valueTooLarge { return nil }
            return EvaluationError(
                code: error.code, message: error.message,
                range: SourceRange(start: range.start + error.range.start, end: range.start + error.range.end))
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
