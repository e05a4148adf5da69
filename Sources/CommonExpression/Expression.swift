/// A parsed expression that is not yet checked (CEL specification, "Syntax").
public struct Expression: Sendable {
    /// The source. The ranges of problems are offsets into it. For a part of a template, this is the whole template.
    public let source: String

    private let tree: SyntaxTree
    private let text: SourceText
    /// The offset behind the `${` of a part of a template; nil for a whole source.
    private let start: Int?

    /// Parses an expression in time linear in its length.
    /// - Parameters:
    ///   - source: The expression.
    ///   - limits: The limits for length, nesting and number of nodes.
    /// - Throws: All malformed literals, and the first violation of the grammar.
    public init(parsing source: String, limits: Limits = .default) throws(Problems) {
        try Self.checkLength(of: source, limits)
        let bytes = Array(source.utf8)
        let parser = Self.parser(of: bytes, limits)
        guard parser.problems.isEmpty else { throw Problems(source: source, sorting: parser.problems) }
        self.init(parser.tree, source: source, text: SourceText(bytes))
    }

    /// Creates an expression from its tree.
    ///
    /// - Parameter start: The offset behind the `${` of a part of a template; nil for a whole source.
    init(_ tree: SyntaxTree, source: String, text: SourceText, from start: Int? = nil) {
        self.tree = tree
        self.source = source
        self.text = text
        self.start = start
    }

    /// Parses a source, or the part of a template that begins behind a `${`.
    private static func parser(of bytes: [UInt8], from start: Int? = nil, _ limits: Limits) -> Parser {
        var lexer = start.map { Lexer(bytes, from: $0, extent: .braces) } ?? Lexer(bytes)
        lexer.run()
        let parser = Parser(lexer: lexer, limits: limits)
        parser.run()
        return parser
    }

    /// Parses and checks a source a second time. The first time found no problem within its limits, so no limits apply.
    ///
    /// - Parameter start: The offset behind the `${` of a part of a template; nil for a whole source.
    static func checkedAgain(
        _ source: String, from start: Int?, in environment: Environment, expecting: ValueType, checksTypes: Bool
    ) -> CheckedTree {
        let bytes = Array(source.utf8)
        let tree = parser(of: bytes, from: start, Limits(sourceLength: .max, nesting: .max, nodes: .max)).tree
        var checker = Checker(tree, source: SourceText(bytes), environment: environment, checksTypes: checksTypes)
        checker.run(expecting: expecting)
        return checker.checked
    }

    /// Throws if a source exceeds the limit for its length.
    static func checkLength(of source: String, _ limits: Limits) throws(Problems) {
        let length = source.utf8.count
        guard length > limits.sourceLength else { return }
        let problem = Problem(
            code: .tooLong,
            statement: "the source has \(length) bytes, more than \(limits.sourceLength), which is the limit",
            range: SourceRange(start: limits.sourceLength, end: length))
        throw Problems(source: source, sorting: [problem])
    }

    /// Checks the types against an environment and compiles (CEL specification, "Gradual Type Checking").
    ///
    /// The language has no implicit conversion. An `int` in place of a `double` is a problem, and its message shows the
    /// conversion. If the static type leaves the result open (`dyn`), each evaluation compares the result with the
    /// expected type.
    /// - Parameters:
    ///   - environment: The variables that the expression may use, and the limits for evaluation.
    ///   - expecting: The type that the result must have; `dyn` for any.
    /// - Throws: All problems at once. An erroneous part is reported once, not again by the parts that contain it.
    public func checked(in environment: Environment, expecting: ValueType = .dyn) throws(Problems) -> Program {
        var checker = Checker(tree, source: text, environment: environment)
        checker.run(expecting: expecting)
        guard checker.problems.isEmpty else { throw Problems(source: source, sorting: checker.problems) }
        return Program(checker.checked, source: source, from: start, environment: environment, expecting: expecting)
    }

    /// The paths that the expression reads: names and the fields selected from them, as in ``Program/references``.
    ///
    /// No environment is known yet, so a part of a qualified variable's name appears as a field. The set does not
    /// contain variables of macros, namespaces of standard functions, or names of types.
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

    /// The errors of parts that fail for any values of the variables.
    ///
    /// These are divisions of integers by a literal zero, and parts that consist of literals, such as `duration("5
    /// min")`. Division of a `double` by zero is allowed. A part counts even if evaluation never reaches it. Errors
    /// that do not depend on values, such as an unknown function, are left to the checker.
    ///
    /// The search skips expensive parts and evaluates at most 32.
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

    /// The most constant parts that the search for certain failures evaluates.
    private static let mostConstants = 32

    /// The limits for evaluating one constant part.
    private static let limitsOfConstants: Limits = {
        var limits = Limits.default
        limits.cost = 10_000
        limits.valueSize = min(limits.valueSize, 1 << 16)
        return limits
    }()

    /// Returns the error of a constant part; nil if the part has a value or the checker reports it.
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

    /// Compiles without checking types. All variables are `dyn`. An unknown name or a call that no function takes
    /// becomes an error of the evaluation that reaches it.
    ///
    /// The CEL specification makes checking optional ("Gradual Type Checking"). The program is slower than a checked
    /// one.
    /// - Parameter environment: The variables that the expression may use, and the limits for evaluation.
    /// - Throws: The problems that do not concern types: values nested too deep.
    public func unchecked(in environment: Environment) throws(Problems) -> Program {
        var checker = Checker(tree, source: text, environment: environment, checksTypes: false)
        checker.run(expecting: .dyn)
        guard checker.problems.isEmpty else { throw Problems(source: source, sorting: checker.problems) }
        return Program(
            checker.checked, source: source, from: start, environment: environment, expecting: .dyn, checksTypes: false)
    }

    /// The source range of the whole expression.
    var range: SourceRange { tree.nodes[tree.root].range }
}
