/// A checked and compiled expression. It is immutable, and any number of threads may evaluate it at once.
public struct Program: Sendable {
    /// The data that copies of a program share.
    private final class Storage: Sendable {
        let source: String
        let type: ValueType
        let constant: Value?
        let reads: [[String]]
        let code: ValueCode
        let boolCode: BoolCode
        let variableCount: Int
        let slots: Int
        /// The steps of evaluating every node once.
        let weight: Int
        let range: SourceRange
        /// The type that every result must have, if the static type leaves it open.
        let expected: ValueType?
        /// A Boolean value that indicates whether `expected` is set.
        let isOpen: Bool
        /// A Boolean value that indicates whether a result may hold parts, and so may become too large.
        let mayHoldParts: Bool
        // An explanation parses and checks the source again. A stored tree would take most of the memory of a program.
        /// The offset in the source at which a part of a template begins; nil for a whole source.
        let start: Int?
        let environment: Environment
        /// The type that the result was checked for.
        let wanted: ValueType
        let checksTypes: Bool

        init(
            _ checked: CheckedTree, source: String, from start: Int?, environment: Environment, expecting: ValueType,
            checksTypes: Bool
        ) {
            var compiler = Compiler(checked, limits: environment.limits)
            let code = compiler.run()
            let root = checked.tree.root
            let rootType = checked.types[root]
            let isOpen = rootType.hasUnknownPart && expecting != .dyn
            self.isOpen = isOpen
            self.source = source
            self.start = start
            self.environment = environment
            self.checksTypes = checksTypes
            wanted = expecting
            type = isOpen ? expecting : rootType.valueType
            mayHoldParts = rootType.valueType.mayHoldParts
            expected = isOpen ? expecting : nil
            range = checked.tree.nodes[root].range
            let reads = checked.reads
            self.reads = reads
            if reads.isEmpty, case .constant(let value) = code, !isOpen || expecting.accepts(value) {
                constant = value
            } else {
                constant = nil
            }
            self.code = code.valueCode
            boolCode = code.boolCode(at: range)
            variableCount = environment.variables.count
            slots = checked.tree.slots
            weight = checked.tree.nodes.count
        }

        var limits: Limits { environment.limits }
    }

    private let storage: Storage

    /// - Parameter start: The offset in the source at which a part of a template begins; nil for a whole source.
    init(
        _ checked: CheckedTree, source: String, from start: Int?, environment: Environment, expecting: ValueType,
        checksTypes: Bool = true
    ) {
        storage = Storage(
            checked, source: source, from: start, environment: environment, expecting: expecting,
            checksTypes: checksTypes)
    }

    /// The source. The ranges of errors are offsets into it.
    public var source: String { storage.source }

    /// The static type of the result.
    public var type: ValueType { storage.type }

    /// The value, if the expression reads no variable and evaluates without error.
    public var constant: Value? { storage.constant }

    /// The paths that the expression reads, each a variable's name and the fields selected from it: `["state",
    /// "failures"]` for `state.failures`, `["event"]` for `event` alone. Paths of unreachable parts are included.
    public var references: Set<[String]> { Set(storage.reads) }
    /// The same paths, each once, in an arbitrary order.
    package var reads: [[String]] { storage.reads }

    /// Evaluates the expression.
    /// - Parameter variables: One value per variable of the environment, in its order.
    /// - Throws: The reason why there is no value; see ``EvaluationError/Code``.
    public func evaluate(_ variables: [Value]) throws(EvaluationError) -> Value {
        var variables = Variables(variables)
        return try evaluate(&variables)
    }

    /// Evaluates the expression. Allocates nothing if all operands are scalars.
    /// - Parameter variables: One value per variable of the environment, in its order.
    /// - Throws: The reason why there is no value; see ``EvaluationError/Code``.
    public func evaluate(_ variables: inout Variables) throws(EvaluationError) -> Value {
        try begin(&variables.frame)
        let value = try storage.code(&variables.frame)
        if storage.isOpen { try holdToType(value, &variables.frame) }
        if storage.mayHoldParts { try holdToSize(value) }
        return value
    }

    /// Throws if a result is too large. A part may occur many times in it, which takes memory only when the result is
    /// written as text.
    private func holdToSize(_ value: Value) throws(EvaluationError) {
        let limit = storage.limits.resultSize
        guard value.heldBytes(upTo: limit) > limit else { return }
        throw EvaluationError(
            code: .valueTooLarge, message: "the result would hold more than \(limit) bytes, which is the limit",
            range: storage.range)
    }

    private func holdToType(_ value: Value, _ frame: inout Frame) throws(EvaluationError) {
        guard let expected = storage.expected else { return }
        try frame.charge(reading: value, at: storage.range)
        if !expected.accepts(value) {
            throw EvaluationError(
                code: .noSuchOverload, message: "the result is \(value.typeName), but \(expected) is needed",
                range: storage.range)
        }
    }

    /// Parses and checks the expression again. The program does not keep its tree.
    func checkedAgain() -> CheckedTree {
        Expression.checkedAgain(
            storage.source, from: storage.start, in: storage.environment, expecting: storage.wanted,
            checksTypes: storage.checksTypes)
    }

    /// Evaluates the expression and returns the outcome of each part. It parses and compiles the expression each time, so
    /// it takes many times as long as ``evaluate(_:)-([Value])``.
    /// - Parameter variables: One value per variable of the environment, in its order.
    public func explain(_ variables: [Value]) -> Explanation {
        let checked = checkedAgain()
        var compiler = Compiler(checked, limits: storage.limits, isRecording: true)
        let code = compiler.run()
        let recorder = Recorder()
        for (id, constant) in compiler.constants { recorder.outcomes[id] = Recorder.Outcome(.success(constant)) }
        let result: Result<Value, EvaluationError>
        do throws(EvaluationError) {
            var frame = Frame(VariableSlots(variables))
            try begin(&frame)
            frame.recorder = recorder
            let value = try code.valueCode(&frame)
            try holdToType(value, &frame)
            if storage.mayHoldParts { try holdToSize(value) }
            result = .success(value)
        } catch {
            result = .failure(error)
        }
        return Explanation(checked, source: storage.source, recorder: recorder, result: result)
    }

    /// Evaluates a condition. A result that is not a `bool` is an error; the checker allows it for `dyn` only.
    /// - Parameter variables: One value per variable of the environment, in its order.
    /// - Throws: The reason why there is no value; see ``EvaluationError/Code``.
    public func evaluateBool(_ variables: [Value]) throws(EvaluationError) -> Bool {
        var variables = Variables(variables)
        return try evaluateBool(&variables)
    }

    /// Evaluates a condition. A result that is not a `bool` is an error; the checker allows it for `dyn` only.
    /// - Parameter variables: One value per variable of the environment, in its order.
    /// - Throws: The reason why there is no value; see ``EvaluationError/Code``.
    public func evaluateBool(_ variables: inout Variables) throws(EvaluationError) -> Bool {
        try begin(&variables.frame)
        return try storage.boolCode(&variables.frame)
    }

    @inline(__always)
    private func begin(_ frame: inout Frame) throws(EvaluationError) {
        guard frame.variables.count == storage.variableCount else { throw wrongCount(frame.variables.count) }
        frame.begin(slots: storage.slots, limits: storage.limits)
        try frame.charge(storage.weight, at: storage.range)
    }

    private func wrongCount(_ count: Int) -> EvaluationError {
        EvaluationError(
            code: .invalidArgument,
            message: "\(count) values were given for the \(storage.variableCount) variables of the environment",
            range: storage.range)
    }
}
