/// Turns a checked tree into code, front to back, and evaluates what depends on no variable.
struct Compiler {
    let checked: CheckedTree
    var codes: [Code]

    private let limits: Limits
    /// Whether a node reads a variable of the environment.
    private var readsVariable: [Bool]
    /// The lowest slot of a macro's variable that a node reads but does not bind; `Int.max` for none.
    private var lowestFree: [Int]
    /// Whether a node depends on nothing and has no value.
    private var hasFailed: [Bool]
    private var folding: Frame

    init(_ checked: CheckedTree, limits: Limits) {
        self.checked = checked
        self.limits = limits
        let count = checked.tree.nodes.count
        codes = Array(repeating: .constant(.null), count: count)
        readsVariable = Array(repeating: false, count: count)
        lowestFree = Array(repeating: Int.max, count: count)
        hasFailed = Array(repeating: false, count: count)
        folding = Frame(variables: [], slots: checked.tree.slots, limits: limits)
    }

    var tree: SyntaxTree { checked.tree }

    /// The code of the whole tree.
    mutating func run() -> Code {
        for id in tree.nodes.indices {
            codes[id] = compile(id)
            trackDependencies(of: id)
            fold(id)
        }
        return codes[tree.root]
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
        if case .type(let type) = checked.meanings[id] { return .constant(.typeValue(type)) }
        switch tree.nodes[id].kind {
        // A name without meaning lies below a qualified variable and is never evaluated.
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

    /// The code of an operator with a left operand: nested in a short row, a further step of the loop in a long one.
    mutating func spine(_ id: SyntaxTree.ID, _ left: SyntaxTree.ID, _ step: @escaping Step) -> Code {
        guard tree.nodes[id].spine > SyntaxTree.longestNestedSpine else {
            let code = codes[left].valueCode
            return .value { frame throws(EvaluationError) in try step(try code(&frame), &frame) }
        }
        guard case .chain(let base, var steps) = codes[left] else {
            return .chain(base: codes[left].valueCode, steps: [step])
        }
        // No other node uses the operand's code, so that its steps can grow in place.
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
        var operands: [SyntaxTree.ID] = []
        switch tree.nodes[id].kind {
        case .none, .literal, .variable: break
        case .binding(let binding): lowestFree[id] = tree.bindings[binding].slot
        case .select(let operand, _), .has(let operand, _), .optionalSelect(let operand, _), .unary(_, let operand):
            operands = [operand]
        case .index(let operand, let index), .optionalIndex(let operand, let index): operands = [operand, index]
        case .bind(let bind): (own, operands) = (bind.slot, [bind.value, bind.body])
        case .optionalMap(let map): (own, needsAll, operands) = (map.slot, false, [map.operand, map.body])
        case .call(_, _, let arguments): operands = arguments
        case .binary(_, let left, let right, _): operands = [left, right]
        case .logic(_, let conditions): (operands, needsAll) = (conditions, false)
        case .conditional(let condition, let then, let otherwise):
            (operands, needsAll) = ([condition, then, otherwise], false)
        case .list(let elements): operands = elements.map(\.value)
        case .map(let entries): operands = entries.flatMap { [$0.key, $0.value] }
        case .comprehension(let comprehension):
            (own, needsAll) = (comprehension.slot, false)
            operands = [comprehension.range] + [comprehension.filter, comprehension.body].compactMap { $0 }
        }
        for operand in operands {
            if readsVariable[operand] { readsVariable[id] = true }
            if hasFailed[operand], needsAll { hasFailed[id] = true }
            let free = lowestFree[operand]
            if free < own { lowestFree[id] = min(lowestFree[id], free) }
        }
    }

    /// Replaces code that depends on nothing by its value. What fails is left to fail at evaluation, and is not tried
    /// again as an operand; all folding together is held to the limit for one evaluation.
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
