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

    /// The index of a state, where other words are possible too; nil after reporting, or if the states are unknown. Of a compound
    /// state it is that of its initial one.
    func state(_ name: Scalar, of system: SystemScope, or others: [String] = []) -> Int? {
        states(name, of: system, or: others).map { found in
            found.compound.map { system.compounds.definitions[$0].initial } ?? found.states[0]
        }
    }

    /// The indices of the states that a name means; nil after reporting, or if the states are unknown.
    func states(
        _ name: Scalar, of system: SystemScope, or others: [String] = []
    ) -> (states: [Int], compound: Int?)? {
        if let found = system.states(named: name.text) { return found }
        guard system.knowsStates else { return nil }
        report(
            .unknownState, at: name.span, "'\(system.name)' has no state '\(name.text)'",
            hint: Self.hint(forState: name.text, of: system, or: others))
        return nil
    }

    /// Advice about an unknown name of a state.
    private static func hint(forState name: String, of system: SystemScope, or others: [String]) -> String? {
        if name == "*" { return "for every state write '\(Names.any)'" }
        if name.hasPrefix("[") { return "a list of states has no quotes: [Idle, Broken]: { Start: Busy }" }
        let inside = system.allStateNames.filter { $0.hasSuffix(".\(name)") }
        if inside.count == 1 { return "did you mean '\(inside[0])'?" }
        return Names.hint(for: name, among: system.allStateNames + others)
    }

    /// The index of an event; nil after reporting, or if the events are unknown.
    ///
    /// - Parameter words: Words with a meaning of their own in place of an event.
    func event(_ name: Scalar, of system: SystemScope, orWords words: [String] = []) -> Int? {
        if let index = system.eventNames.index(of: name.text) { return index }
        guard system.knowsEvents else { return nil }
        if name.text.hasPrefix("\(Names.input)."), system.inputNames.index(of: String(name.text.dropFirst(6))) != nil {
            let input = name.text.dropFirst(6)
            report(
                .unknownEvent, at: name.span, "'\(name.text)' is an input, not an event",
                hint: "a link sets it: setInput: \(input); a rule of always: looks at it: when: \(name.text)")
            return nil
        }
        report(
            .unknownEvent, at: name.span, "'\(system.name)' has no event '\(name.text)'",
            hint: Names.hint(for: name.text, among: system.eventNames.names + words) ?? "it has no events")
        return nil
    }

    /// An event with its data.
    ///
    /// - Parameter words: Words with a meaning of their own in place of an event.
    func event(
        _ written: WrittenConstruct, of system: SystemScope, _ scope: VariableScope, orWords words: [String] = []
    ) -> EventProgram? {
        if written.isInput { return input(written, of: system, scope) }
        guard let index = event(written.name, of: system, orWords: words), !system.events[index].isBroken else {
            return nil
        }
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

    /// The event that sets an input, with its value.
    private func input(_ written: WrittenConstruct, of system: SystemScope, _ scope: VariableScope) -> EventProgram? {
        let name = written.name
        guard let index = system.event(ofInput: name.text) else {
            guard system.knowsInputs else { return nil }
            report(
                .unknownInput, at: name.span, "'\(system.name)' has no input '\(name.text)'",
                hint: Names.hint(for: name.text, among: system.inputNames.names)
                    ?? (system.kind == nil ? "add it to the 'inputs' of '\(system.name)'" : "a kind has no inputs"))
            return nil
        }
        let type = system.events[index].type
        guard !system.events[index].isBroken, let value = written.fields?.first?.value,
            let program = DataCompiler(context, source).data(
                value, as: type.fields[0].type, Subject("the input", name.text), scope)
        else { return nil }
        guard case .constant(let constant) = program else {
            return EventProgram(event: index, data: .structure(type, [program]))
        }
        return EventProgram(event: index, data: .constant(.structure(Structure(type: type, fields: [constant]))))
    }

    /// The selected states; nil if some are missing, or if the states are unknown. Nothing is reported.
    func meant(_ written: WrittenSelector?, of system: SystemScope) -> [Int]? {
        switch written?.form {
        case nil: return nil
        case .any: return system.knowsStates ? Array(system.states.indices) : nil
        case .states(let names):
            var states: [Int] = []
            for name in names {
                guard let found = system.states(named: name.text) else { return nil }
                for index in found.states where !states.contains(index) { states.append(index) }
            }
            return states
        case .equals(let construct): return system.states(named: construct.name.text)?.states
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
        var compounds: [Int] = []
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
                guard let found = self.states(name, of: system) else {
                    isWhole = false
                    continue
                }
                if let twice = found.states.first(where: states.contains) {
                    let inside = system.states[twice].name
                    let isSame = names.count { $0.text == name.text } > 1
                    report(
                        .duplicateName, at: name.span,
                        isSame
                            ? "the state '\(name.text)' stands twice in this list"
                            : "the state '\(inside)' is meant twice in this list, since it lies in a compound state",
                        hint: isSame ? nil : "a compound state means all states inside")
                    isWhole = false
                } else {
                    states += found.states
                    if let compound = found.compound { compounds.append(compound) }
                }
            }
            guard isWhole else { return nil }
            text = names.map(\.text).joined(separator: ", ")
        case .equals(let construct):
            guard let found = self.states(construct.name, of: system),
                !found.states.contains(where: { system.states[$0].isBroken })
            else { return nil }
            let type = found.compound.map { system.compounds.types[$0] } ?? system.states[found.states[0]].type
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
            if let record = system.kind?.states[found.states[0]] {
                var isRight = true
                for (field, value) in equals {
                    guard let rule = record.fields[field].rule else { continue }
                    let name = record.fields[field].name
                    let node = construct.fields?.first { $0.key.text == name }?.value ?? construct.node
                    isRight = obeys(.constant(value), rule, at: name, node) && isRight
                }
                guard isRight else { return nil }
            }
            states = found.states
            if let compound = found.compound { compounds.append(compound) }
            text = FlowText.of(construct.node, with: ShownConstants(context))
        }
        var selector = StateSelector(states: states, equals: equals, conditions: [:], text: text)
        selector.compounds = compounds
        return selector
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
        context.count(states.count)
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
                context.count(3)
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
