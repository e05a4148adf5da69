import CommonExpression

/// Finds states and events by name, and compiles what names and data make up.
struct Lookup {
    /// The compilation context.
    let context: CompilationContext
    /// The file in which the names are written.
    let source: SourceText

    /// Reports a mistake.
    func report(_ code: Diagnostic.Code, at span: Span, _ message: String, hint: @autoclosure () -> String? = nil) {
        context.diagnostics.report(code, in: source, at: span, message, hint: hint())
    }

    /// The index of a state, where other words are possible too; nil after reporting, or if the states are unknown.
    func state(_ name: Scalar, of system: SystemScope, or others: [String] = []) -> Int? {
        if let index = system.stateNames.index(of: name.text) { return index }
        guard system.knowsStates else { return nil }
        report(
            .unknownState, at: name.span, "'\(system.name)' has no state '\(name.text)'",
            hint: name.text == "*"
                ? "for every state write '\(Names.any)'"
                : Names.hint(for: name.text, among: system.stateNames.names + others))
        return nil
    }

    /// The index of an event; nil after reporting, or if the events are unknown.
    func event(_ name: Scalar, of system: SystemScope) -> Int? {
        if let index = system.eventNames.index(of: name.text) { return index }
        guard system.knowsEvents else { return nil }
        report(
            .unknownEvent, at: name.span, "'\(system.name)' has no event '\(name.text)'",
            hint: Names.hint(for: name.text, among: system.eventNames.names) ?? "it has no events")
        return nil
    }

    /// An event with its data.
    func event(_ written: WrittenConstruct, of system: SystemScope, _ scope: VariableScope) -> EventProgram? {
        guard let index = event(written.name, of: system), !system.events[index].isBroken else { return nil }
        let data = DataCompiler(context, source).structure(
            written.fields ?? [], as: system.events[index].type, Subject("the event", written.name.text),
            at: written.name.span, scope)
        guard let data else { return nil }
        if let rule = system.kind?.events[index].rule {
            let node = written.fields.map { Node(content: .mapping($0), span: written.node.span) } ?? written.node
            guard obeys(data, rule, at: "", node) else { return nil }
        }
        return EventProgram(event: index, data: data)
    }

    /// The selected states; nil if some are missing, or if the states are unknown. Nothing is reported.
    func meant(_ written: WrittenSelector?, of system: SystemScope) -> [Int]? {
        switch written?.form {
        case nil: return nil
        case .any: return system.knowsStates ? Array(system.states.indices) : nil
        case .states(let names):
            var states: [Int] = []
            for name in names {
                guard let index = system.stateNames.index(of: name.text) else { return nil }
                if !states.contains(index) { states.append(index) }
            }
            return states
        case .equals(let construct): return system.stateNames.index(of: construct.name.text).map { [$0] }
        }
    }

    /// The selected states with a compiled condition for each, and whether that condition is constant in some state.
    /// The condition is checked even if the states are wrong.
    func selector(
        _ written: WrittenSelector, condition: Scalar?, of system: SystemScope
    ) -> (selector: StateSelector, isConstant: Bool)? {
        let conditions = condition.map { condition in
            perState(meant(written, of: system), of: system) { context.condition(condition, $0, in: source) }
        }
        guard var selector = states(written, of: system) else { return nil }
        switch conditions {
        case nil: return (selector, false)
        case .some(nil): return nil
        case .some(.some(let conditions)):
            selector.conditions = conditions.mapValues(\.program)
            return (selector, conditions.values.contains(where: \.isConstant))
        }
    }

    /// The selected states; nil after reporting, or if the states are unknown.
    private func states(_ written: WrittenSelector, of system: SystemScope) -> StateSelector? {
        var states: [Int] = []
        var equals: [(field: Int, value: Value)] = []
        let text: String
        switch written.form {
        case .any:
            guard system.knowsStates else { return nil }
            states = Array(system.states.indices)
            text = Names.any
        case .states(let names):
            var isWhole = true
            for name in names {
                guard let index = state(name, of: system) else {
                    isWhole = false
                    continue
                }
                if states.contains(index) {
                    report(.duplicateName, at: name.span, "the state '\(name.text)' stands twice in this list")
                    isWhole = false
                } else {
                    states.append(index)
                }
            }
            guard isWhole else { return nil }
            text = names.map(\.text).joined(separator: ", ")
        case .equals(let construct):
            guard let index = state(construct.name, of: system), !system.states[index].isBroken else { return nil }
            let type = system.states[index].type
            let subject = Subject("the state", construct.name.text)
            guard
                let given = DataCompiler(context, source).fields(construct.fields ?? [], of: type, subject, .fixed)
            else { return nil }
            for (field, program) in given.enumerated() {
                guard let program, !context.isGeneric else { continue }
                guard case .constant(let value) = program else {
                    report(
                        .notConstant, at: construct.node.mark,
                        "the field '\(type.fields[field].name)' must be a fixed value here", hint: "use 'when'")
                    return nil
                }
                equals.append((field, value))
            }
            if let record = system.kind?.states[index] {
                var isRight = true
                for (field, value) in equals {
                    guard let rule = record.fields[field].rule else { continue }
                    let name = record.fields[field].name
                    let node = construct.fields?.first { $0.key.text == name }?.value ?? construct.node
                    isRight = obeys(.constant(value), rule, at: name, node) && isRight
                }
                guard isRight else { return nil }
            }
            states = [index]
            text = FlowText.of(construct.node, with: ShownConstants(context))
        }
        return StateSelector(states: states, equals: equals, conditions: [:], text: text)
    }

    /// Compiles something for some states: once if it does not name `state`, else for each state until the first mistake.
    ///
    /// Returns nil if it is wrong, if a state is broken, or if the states are unknown. In the last case the parts that do not
    /// depend on the states are checked.
    func perState<Result>(
        _ states: [Int]?, of system: SystemScope, result: Environment.Variable? = nil,
        _ compile: (VariableScope) -> Result?
    ) -> [Int: Result]? {
        guard let states else {
            _ = compile(.unknownState)
            return nil
        }
        let number = result.map { context.number(of: $0.type) } ?? 0
        var results = [Int: Result](minimumCapacity: states.count)
        var shared: Result?
        var isWhole = true
        for state in states {
            if let shared {
                results[state] = shared
                continue
            }
            let record = system.states[state]
            let scope =
                result.map { VariableScope.outcome(record, $0, number: number, label: states.count > 1) }
                ?? VariableScope.state(record, label: states.count > 1)
            let compiled = context.compiling { compile(scope) }
            if let value = compiled.value {
                results[state] = value
                if !compiled.dependencies.mentionsState { shared = value }
            } else {
                isWhole = false
                guard record.isBroken else { break }
            }
            guard context.spend(1) else {
                context.diagnostics.report(
                    .tooLarge, in: system.source, at: system.nameSpan,
                    "'\(system.name)' needs more than \(ConfigurationLimits.statePrograms) programs, "
                        + "one for each of many states")
                return nil
            }
        }
        return isWhole ? results : nil
    }
}
