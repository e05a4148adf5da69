/// Compiles a checked tree to code, front to back, and evaluates parts that depend on no variable.
struct Compiler {
    let checked: CheckedTree
    var codes: [Code]

    private let isRecording: Bool
    /// The values of constant nodes, if outcomes are recorded.
    private(set) var constants: [SyntaxTree.ID: Value] = [:]
    /// The most functions that are kept with a prepared constant argument. An argument such as a pattern takes memory,
    /// so a lower limit for patterns lowers this number.
    static let mostSpecialized = 64

    let limits: Limits
    /// The number of functions kept with a prepared argument.
    var specialized = 0
    /// Indicates for each node whether it reads a variable of the environment or calls an impure function.
    private var readsVariable: [Bool]
    /// The lowest slot of a macro's variable that a node reads but does not bind; `Int.max` if it reads none.
    private var lowestFree: [Int]
    /// Indicates for each node whether it depends on nothing and failed.
    private var hasFailed: [Bool]
    private var folding: Frame

    /// - Parameters:
    ///   - checked: The tree.
    ///   - limits: The limits, which also apply to constant folding.
    ///   - isRecording: Whether the code records the outcome of each node, for an explanation.
    init(_ checked: CheckedTree, limits: Limits, isRecording: Bool = false) {
        self.isRecording = isRecording
        self.checked = checked
        self.limits = limits
        let count = checked.tree.nodes.count
        codes = Array(repeating: .constant(.null), count: count)
        readsVariable = Array(repeating: false, count: count)
        lowestFree = Array(repeating: Int.max, count: count)
        hasFailed = Array(repeating: false, count: count)
        folding = Frame(VariableSlots([]))
        folding.begin(slots: checked.tree.slots, limits: limits)
    }

    var tree: SyntaxTree { checked.tree }

    /// Compiles the whole tree.
    mutating func run() -> Code {
        for id in tree.nodes.indices {
            codes[id] = compile(id)
            trackDependencies(of: id)
            fold(id)
            guard isRecording else { continue }
            if let constant = constant(id) { constants[id] = constant }
            record(id)
        }
        return codes[tree.root]
    }

    /// Makes the code of a node record its outcome. Constants do not record theirs.
    private mutating func record(_ id: SyntaxTree.ID) {
        switch codes[id] {
        case .constant: break
        case .chain(let base, var steps):
            // Only the last step belongs to this node.
            codes[id] = .constant(.null)
            steps.append(Recorder.recording(id, steps.removeLast()))
            codes[id] = .chain(base: base, steps: steps)
        default:
            codes[id] = .value(Recorder.recording(id, codes[id].valueCode))
        }
    }

    func range(of id: SyntaxTree.ID) -> SourceRange { tree.nodes[id].range }

    func type(of id: SyntaxTree.ID) -> StaticType { checked.types[id] }

    func constant(_ id: SyntaxTree.ID) -> Value? {
        if case .constant(let value) = codes[id] { return value }
        return nil
    }

    private mutating func compile(_ id: SyntaxTree.ID) -> Code {
        if case .variable(let slot) = checked.meanings[id] {
            return Access.variable(slot, type(of: id), range(of: id))
        }
        if case .failure(let error) = checked.meanings[id] {
            return .value { _ throws(EvaluationError) in throw error }
        }
        if case .constant(let value) = checked.meanings[id] { return .constant(value) }
        if case .type(let type) = checked.meanings[id] { return .constant(.typeValue(type)) }
        switch tree.nodes[id].kind {
        // A name without a meaning is part of a qualified variable, which is never evaluated.
        case .none, .variable: return .constant(.null)
        case .literal(let value): return .constant(value)
        case .binding(let binding):
            let slot = tree.bindings[binding].slot
            return .value { frame throws(EvaluationError) in frame.bindings[slot] }
        case .select(let operand, let name): return compileSelection(id, operand, name)
        case .has(let operand, let name):
            let (code, range) = (codes[operand].valueCode, name.range)
            return .bool { frame throws(EvaluationError) in
                try Access.has(name.text, in: try code(&frame), at: range)
            }
        case .index(let operand, let index):
            let (code, range) = (codes[index].valueCode, range(of: id))
            return spine(id, operand) { value, frame throws(EvaluationError) in
                let index = try code(&frame)
                try frame.charge(key: index, at: range)
                return try Access.element(of: value, at: index, range)
            }
        case .optionalSelect(let operand, let name):
            let (text, range) = (name.text, name.range)
            return spine(id, operand) { value, _ throws(EvaluationError) in
                try Access.optionalField(text, of: value, at: range)
            }
        case .optionalIndex(let operand, let index):
            let (code, range) = (codes[index].valueCode, range(of: id))
            return spine(id, operand) { value, frame throws(EvaluationError) in
                let index = try code(&frame)
                try frame.charge(key: index, at: range)
                return try Access.optionalElement(of: value, at: index, range)
            }
        case .call(_, let hasReceiver, let operands): return compileCall(id, hasReceiver, operands)
        case .unary(let operation, let operand): return compileUnary(id, operation, operand)
        case .binary(let operation, let left, let right, _): return compileBinary(id, operation, left, right)
        case .logic(let operation, let operands): return compileLogic(operation, operands)
        case .conditional(let condition, let then, let otherwise):
            return compileConditional(id, condition, then, otherwise)
        case .list(let elements): return compileList(id, elements)
        case .map(let entries): return compileMap(id, entries)
        case .comprehension(let comprehension): return compileComprehension(id, comprehension)
        case .bind(let bind): return compileBind(bind)
        case .optionalMap(let map): return compileOptionalMap(map)
        }
    }

    /// Returns the code of an operator with a left operand: nested in a short chain, a further step of the loop in a
    /// long one.
    mutating func spine(_ id: SyntaxTree.ID, _ left: SyntaxTree.ID, _ step: @escaping Step) -> Code {
        guard tree.nodes[id].spine > SyntaxTree.longestNestedSpine else {
            let code = codes[left].valueCode
            return .value { frame throws(EvaluationError) in try step(try code(&frame), &frame) }
        }
        guard case .chain(let base, var steps) = codes[left] else {
            return .chain(base: codes[left].valueCode, steps: [step])
        }
        // No other node uses the operand's code, so its steps can grow in place.
        codes[left] = .constant(.null)
        steps.append(step)
        return .chain(base: base, steps: steps)
    }

    // MARK: Constant folding

    private mutating func trackDependencies(of id: SyntaxTree.ID) {
        if case .variable = checked.meanings[id] {
            readsVariable[id] = true
            return
        }
        if case .failure = checked.meanings[id] { return }
        var own = Int.max
        var needsAll = true
        switch tree.nodes[id].kind {
        case .binding(let binding): lowestFree[id] = tree.bindings[binding].slot
        case .bind(let bind): own = bind.slot
        case .logic, .conditional: needsAll = false
        case .optionalMap(let map): (own, needsAll) = (map.slot, false)
        case .comprehension(let comprehension): (own, needsAll) = (comprehension.slot, false)
        case .call:
            if case .function(let function) = checked.meanings[id], function.isImpure { readsVariable[id] = true }
        default: break
        }
        for operand in tree.operands(of: id) {
            if readsVariable[operand] { readsVariable[id] = true }
            if hasFailed[operand], needsAll { hasFailed[id] = true }
            let free = lowestFree[operand]
            if free < own { lowestFree[id] = min(lowestFree[id], free) }
        }
    }

    /// Replaces code that depends on nothing by its value.
    ///
    /// A part that fails fails again at evaluation, and folding does not retry it as an operand. The limit for one
    /// evaluation applies to all folding together.
    private mutating func fold(_ id: SyntaxTree.ID) {
        guard !readsVariable[id], lowestFree[id] == Int.max, constant(id) == nil else { return }
        do throws(EvaluationError) {
            guard !hasFailed[id] else { return }
            try folding.charge(1, at: range(of: id))
            codes[id] = .constant(try codes[id].valueCode(&folding))
        } catch {
            hasFailed[id] = true
        }
    }
}
