import CommonExpression

/// Knowledge about data before anything runs.
enum Known: Sendable {
    /// Nothing.
    case nothing
    /// All of it.
    case whole(Value)
    /// Some fields of a structure, by index.
    case fields(StructureType, [Value?])

    /// The knowledge about the result of a program.
    init(_ program: DataProgram) {
        switch program {
        case .constant(let value): self = .whole(value)
        case .structure(let type, let fields):
            self = .fields(
                type,
                fields.map { field in
                    if case .constant(let value) = field { value } else { nil }
                })
        case .template, .list, .map, .optional: self = .nothing
        }
    }

    /// The knowledge about the new state of a transition.
    init(_ program: StateProgram, of system: SystemDefinition) {
        self = .fields(
            system.states[program.state].type,
            program.fields.map { field in
                if case .data(.constant(let value)) = field { value } else { nil }
            })
    }

    /// A field, if it is known.
    func field(_ index: Int) -> Value? {
        switch self {
        case .nothing: nil
        case .whole(.structure(let structure)): structure.fields[index]
        case .whole: nil
        case .fields(_, let fields): fields[index]
        }
    }

    /// The value, with `null` in place of unknown parts.
    fileprivate var value: Value {
        switch self {
        case .nothing: .null
        case .whole(let value): value
        case .fields(let type, let fields): .structure(Structure(type: type, fields: fields.map { $0 ?? .null }))
        }
    }

    /// Returns whether what an expression reads by a path of names is known.
    fileprivate func knows(_ path: ArraySlice<String>) -> Bool {
        switch self {
        case .nothing: return false
        case .whole: return true
        case .fields(let type, let fields):
            guard let name = path.first, let index = type.index(of: name) else { return false }
            return fields[index] != nil
        }
    }
}

extension Program {
    /// The result of a condition; nil if it depends on unknown data.
    ///
    /// - Parameter variables: The knowledge about each variable of its environment, in order.
    func decided(_ variables: [(name: String, known: Known)]) -> Bool? {
        if case .bool(let constant)? = constant { return constant }
        for path in reads {
            guard let name = path.first, let variable = variables.first(where: { $0.name == name }),
                variable.known.knows(path.dropFirst())
            else { return nil }
        }
        return try? evaluateBool(variables.map(\.known.value))
    }
}

extension StateSelector {
    /// Returns whether it picks a state; nil: that depends on data.
    func picks(_ state: Int, _ known: Known) -> Bool? {
        guard states.contains(state) else { return false }
        var isSure = true
        for (field, value) in equals {
            guard let given = known.field(field) else {
                isSure = false
                continue
            }
            if given != value { return false }
        }
        guard let condition = conditions[state] else { return isSure ? true : nil }
        switch condition.decided([("state", known), ("now", .nothing)]) {
        case false?: return false
        case true? where isSure: return true
        default: return nil
        }
    }
}

extension ValueFilter {
    /// Returns whether it lets a value through; nil: that depends.
    func admits(_ known: Known) -> Bool? {
        switch self {
        case .all: return true
        case .equals(let expected):
            switch known {
            case .nothing: return nil
            case .whole(let value): return value == expected
            case .fields(_, let fields):
                guard case .structure(let structure) = expected else { return nil }
                let differs = zip(fields, structure.fields).contains { given, wanted in
                    given.map { $0 != wanted } ?? false
                }
                return differs ? false : nil
            }
        case .condition(let condition): return condition.decided([("value", known), ("now", .nothing)])
        }
    }
}

extension SystemDefinition {
    /// The states to which an event may lead, with the knowledge about their data; empty if the state does not handle
    /// the event. An instance of a kind may go to any state.
    func targets(from state: Int, on event: Int, _ data: Known = .nothing) -> [(state: Int, data: Known)] {
        if kind != nil { return states.indices.map { ($0, .nothing) } }
        var targets: [(state: Int, data: Known)] = []
        forEachTarget(from: state, on: event, data) { targets.append(($0.state, Known($0, of: self))) }
        return targets
    }

    /// Calls a function for each state that an event may make in a state, in the order of the rules, up to the first that
    /// surely holds. An instance of a kind has no rules.
    private func forEachTarget(from state: Int, on event: Int, _ data: Known = .nothing, _ body: (StateProgram) -> Void)
    {
        for rule in rules[state][event] {
            let holds = rule.condition.map {
                $0.decided([("state", .nothing), ("event", data), ("now", .nothing)])
            }
            if case false?? = holds { continue }
            if case .to(let program) = rule.outcome { body(program) }
            guard case nil? = holds else { return }
        }
    }

    /// By state, what is known of its data: once for each way into it from a state that can be reached.
    func entries(_ reachable: [Bool]) -> [[Known]] {
        if kind != nil { return states.map { _ in [.nothing] } }
        var entries = Array(repeating: [Known](), count: states.count)
        entries[initialState.state].append(Known(initialState, of: self))
        for from in states.indices where reachable[from] {
            for event in events.indices {
                forEachTarget(from: from, on: event) { entries[$0.state].append(Known($0, of: self)) }
            }
        }
        return entries
    }

    /// By state, whether it can be reached from the initial one by any events.
    func reachableStates() -> [Bool] {
        if kind != nil { return states.map { _ in true } }
        var reached = Array(repeating: false, count: states.count)
        reached[initialState.state] = true
        var waiting = [initialState.state]
        while let state = waiting.popLast() {
            for event in events.indices {
                forEachTarget(from: state, on: event) { target in
                    guard !reached[target.state] else { return }
                    reached[target.state] = true
                    waiting.append(target.state)
                }
            }
        }
        return reached
    }
}
