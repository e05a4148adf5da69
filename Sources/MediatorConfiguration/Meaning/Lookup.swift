import CommonExpression

/// Finds states and events by name, and compiles what names and data make up.
struct Lookup {
    /// What the compilation shares.
    let session: Session
    /// The file in which the names are written.
    let source: SourceText

    /// Reports a mistake.
    func report(_ code: Diagnostic.Code, at span: Span, _ message: String, hint: @autoclosure () -> String? = nil) {
        session.findings.report(code, in: source, at: span, message, hint: hint())
    }

    /// The index of a state, where other words are possible too; nil after reporting, or if nobody knows which states there are.
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

    /// The index of an event; nil after reporting, or if nobody knows which events there are.
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
        let data = DataCompiler(session, source).structure(
            written.fields ?? [], as: system.events[index].type, Subject("the event", written.name.text),
            at: written.name.span, scope)
        guard let data else { return nil }
        if let rule = system.kind?.events[index].rule {
            let node = written.fields.map { Node(content: .mapping($0), span: written.node.span) } ?? written.node
            guard obeys(data, rule, at: "", node) else { return nil }
        }
        return EventProgram(event: index, data: data)
    }

    /// Which states are meant; nil if some are not there, or nobody knows which there are. Nothing is reported.
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

    /// Which states are meant, with a condition compiled for each, which is looked at whatever is wrong with the states.
    func selector(_ written: WrittenSelector, condition: Scalar?, of system: SystemScope) -> StateSelector? {
        let conditions = condition.map { condition in
            perState(meant(written, of: system), of: system) { session.condition(condition, $0, in: source) }
        }
        guard var selector = states(written, of: system) else { return nil }
        if let conditions {
            guard let conditions else { return nil }
            selector.conditions = conditions
        }
        return selector
    }

    /// Which states are meant; nil after reporting, or if nobody knows which there are.
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
                let given = DataCompiler(session, source).fields(construct.fields ?? [], of: type, subject, .fixed)
            else { return nil }
            for (field, program) in given.enumerated() {
                guard let program, !session.isGeneric else { continue }
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
            text = FlowText.of(construct.node, with: ShownConstants(session))
        }
        return StateSelector(states: states, equals: equals, conditions: [:], text: text)
    }

    /// Compiles something for each of some states: once if it does not name `state`, else for each until the first
    /// where it is wrong. Nil if it is wrong or a state is broken, and if nobody knows the states: then all that does not
    /// depend on them is looked at.
    func perState<Result>(
        _ states: [Int]?, of system: SystemScope, result: Environment.Variable? = nil,
        _ compile: (VariableScope) -> Result?
    ) -> [Int: Result]? {
        guard let states else {
            _ = compile(.unknownState)
            return nil
        }
        let number = result.map { session.number(of: $0.type) } ?? 0
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
            session.mentionsState = false
            if let compiled = compile(scope) {
                results[state] = compiled
                if !session.mentionsState { shared = compiled }
            } else {
                isWhole = false
                guard record.isBroken else { break }
            }
            guard session.spend(1) else {
                session.findings.report(
                    .tooLarge, in: system.source, at: system.nameSpan,
                    "'\(system.name)' needs more than \(ConfigurationLimits.statePrograms) programs, "
                        + "one for each of many states")
                return nil
            }
        }
        return isWhole ? results : nil
    }
}
