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
    /// The states to which an event may lead, with the knowledge about their data. It is empty if the state does not handle the
    /// event. An instance of a kind may go to any state.
    func targets(from state: Int, on event: Int, _ data: Known = .nothing) -> [Target] {
        if kind != nil { return states.indices.map { Target(state: $0, data: .nothing) } }
        var targets: [Target] = []
        forEachTarget(from: state, on: event, data) { program, way in
            var target = Target(state: program.state, data: Known(program, of: self), isUpdate: way == .update)
            if way == .direct, program.enters == nil {
                target.staysIn = Set(states[state].compounds).intersection(states[program.state].compounds)
            }
            targets.append(target)
        }
        return targets
    }

    /// A state to which an event may lead.
    struct Target {
        var state: Int
        /// The knowledge about its data.
        var data: Known
        /// A Boolean value that indicates whether the event updates the state in place.
        var isUpdate = false
        /// The compound states in which the system surely is all the while.
        var staysIn: Set<Int> = []
    }

    /// The way to a state.
    private enum Way {
        /// A rule for an event.
        case direct
        /// A rule of `always`, perhaps after others.
        case always
        /// No state is entered.
        case update
    }

    /// Calls a function for each state that an event may make in a state, in the order of the rules, up to the first that
    /// surely holds. An instance of a kind has no rules.
    private func forEachTarget(
        from state: Int, on event: Int, _ data: Known = .nothing, _ body: (StateProgram, Way) -> Void
    ) {
        // Rules of `always` lead on from a state that the event enters, or in which it sets an input.
        func follow(from state: Int) { forEachAlways(from: state) { body($0, $1 ? .update : .always) } }
        for rule in rules[state][event] {
            let holds = rule.condition.map {
                $0.decided([("state", .nothing), ("event", data), ("now", .nothing)])
            }
            if case false?? = holds { continue }
            switch rule.outcome {
            case .to, .history:
                for program in rule.outcome.entered {
                    if !isTransient(program.state) { body(program, .direct) }
                    follow(from: program.state)
                }
            case .update(let program):
                body(program, .update)
                follow(from: program.state)
            case .input: follow(from: state)
            case .stay: break
            }
            // A rule without a condition, or whose condition surely holds, is the last one, unless it may find nothing remembered.
            guard case nil? = holds else {
                if rule.outcome.needsMemory { continue }
                return
            }
        }
    }

    /// Calls a function for each state that rules of `always` lead to, one after the other, from a state.
    ///
    /// - Parameter waits: A Boolean value that indicates whether rules that wait for a time count.
    private func forEachAlways(
        from state: Int, waits: Bool = false, _ body: (StateProgram, _ isUpdate: Bool) -> Void
    ) {
        guard !always.isEmpty else { return }
        var seen: Set<Int> = [state]
        var waiting = [state]
        while let state = waiting.popLast() {
            for each in always[state] where waits || each.hold == nil {
                switch each.rule.outcome {
                case .to, .history:
                    for program in each.rule.outcome.entered {
                        body(program, false)
                        if seen.insert(program.state).inserted { waiting.append(program.state) }
                    }
                case .update(let program): body(program, true)
                case .stay, .input: break
                }
            }
        }
    }

    /// Returns whether a rule of `always` leaves a state as soon as it is entered, whatever the data are.
    func isTransient(_ state: Int) -> Bool {
        guard !always.isEmpty, let first = always[state].first, first.hold == nil, first.rule.condition == nil else {
            return false
        }
        return !first.rule.outcome.entered.isEmpty && !first.rule.outcome.needsMemory
    }

    /// By state, what is known of its data at the entry: once for each way into it from a state that can be reached.
    func entries(_ reachable: [Bool]) -> [[Known]] {
        if kind != nil { return states.map { _ in [.nothing] } }
        var entries = Array(repeating: [Known](), count: states.count)
        entries[initialState.state].append(Known(initialState, of: self))
        for from in states.indices where reachable[from] {
            forEachAlways(from: from, waits: true) { program, isUpdate in
                if !isUpdate { entries[program.state].append(Known(program, of: self)) }
            }
            for event in events.indices {
                forEachTarget(from: from, on: event) { program, way in
                    if way != .update { entries[program.state].append(Known(program, of: self)) }
                }
            }
        }
        return entries
    }

    /// Returns a Boolean value that indicates whether a rule updates one of some states in place.
    func hasUpdates(of states: [Int]) -> Bool {
        func updates(_ rule: TransitionRule) -> Bool { if case .update = rule.outcome { true } else { false } }
        return states.contains { state in
            rules.indices.contains(state) && rules[state].contains { $0.contains(where: updates) }
                || always.indices.contains(state) && always[state].contains { updates($0.rule) }
        }
    }

    /// By state, whether it can be reached from the initial one by any events.
    func reachableStates() -> [Bool] {
        if kind != nil { return states.map { _ in true } }
        var reached = Array(repeating: false, count: states.count)
        reached[initialState.state] = true
        var waiting = [initialState.state]
        func reach(_ target: StateProgram) {
            guard !reached[target.state] else { return }
            reached[target.state] = true
            waiting.append(target.state)
        }
        while let state = waiting.popLast() {
            forEachAlways(from: state, waits: true) { target, _ in reach(target) }
            for event in events.indices {
                for rule in rules[state][event] {
                    // A state that is left at once is reached all the same.
                    for program in rule.outcome.entered where isTransient(program.state) { reach(program) }
                }
                forEachTarget(from: state, on: event) { target, _ in reach(target) }
            }
        }
        return reached
    }
}
