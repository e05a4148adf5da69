import CommonExpression

/// Compiles one rule for one state after another. It compiles common parts only once.
struct RuleCompiler {
    /// The parts of a rule that do not depend on the old state's fields.
    private struct Parts {
        var condition: Program?
        /// By field of the new state; nil where nothing is set.
        var set: [DataProgram?]
        /// The time for which the condition must hold.
        var hold: DataProgram?
    }

    private let written: WrittenRule
    private let scope: SystemScope
    private let lookup: Lookup
    private let event: Int?
    private let hasLabels: Bool
    private let isAlways: Bool
    private let source: SourceLocation
    /// The end of a rule that leads to a state.
    private enum Target {
        /// A state, and the compound state that the rule names instead.
        case state(Int, enters: Int?)
        /// The state inside a compound state that was left last.
        case history(Int, isDeep: Bool)
    }

    /// The end of the rule, if that is the same for every state from which it leads.
    private let fixedTarget: Target?
    private var shared: Parts?
    /// The parts for the last state.
    private var latest: Parts?

    init(
        _ written: WrittenRule, _ scope: SystemScope, _ lookup: Lookup, event: Int?, hasLabels: Bool,
        isAlways: Bool = false
    ) {
        self.isAlways = isAlways
        self.written = written
        self.scope = scope
        self.lookup = lookup
        self.event = event
        self.hasLabels = hasLabels
        source = lookup.source.location(at: written.span.start)
        fixedTarget = written.isStay || written.isUpdate ? nil : Self.target(written, scope, lookup)
    }

    private static func target(_ written: WrittenRule, _ scope: SystemScope, _ lookup: Lookup) -> Target? {
        guard let name = written.target else { return nil }
        if name.text == Names.any {
            lookup.report(
                .reservedName, at: name.span, "a transition cannot lead to 'any'",
                hint: "write a state, or 'stay'")
            return nil
        }
        let last = name.text.split(separator: ".", omittingEmptySubsequences: false).last.map(String.init)
        if last == Names.history || last == Names.deepHistory {
            guard let around = Names.around(name.text) else {
                lookup.report(
                    .unknownState, at: name.span, "'\(name.text)' stands behind the name of a state with states inside",
                    hint: "write to: STATE.\(name.text)")
                return nil
            }
            return history(
                Scalar(text: around, style: name.style, span: name.span), last == Names.deepHistory, scope, lookup)
        }
        return lookup.states(name, of: scope, or: [Names.stay]).map { found in
            let initial = found.compound.map { scope.compounds.definitions[$0].initial }
            return .state(initial ?? found.states[0], enters: found.compound)
        }
    }

    private static func history(
        _ name: Scalar, _ isDeep: Bool, _ scope: SystemScope, _ lookup: Lookup
    ) -> Target? {
        guard let found = lookup.states(name, of: scope) else { return nil }
        if let compound = found.compound { return .history(compound, isDeep: isDeep) }
        lookup.report(
            .unknownState, at: name.span, "'\(name.text)' has no states inside, so none of them was left last",
            hint: "write to: \(name.text)")
        return nil
    }

    /// The type of the data that the rule may set.
    private func type(of target: Target) -> (type: StructureType, name: String, isBroken: Bool) {
        switch target {
        case .state(let index, _): (scope.states[index].type, scope.states[index].name, scope.states[index].isBroken)
        case .history(let index, _):
            (scope.compounds.types[index], scope.compounds.definitions[index].name, scope.compounds.isBroken[index])
        }
    }

    /// Checks the parts of the rule that do not need the unknown state or event.
    func check() {
        if let text = written.condition { _ = lookup.context.condition(text, .unknownState, in: lookup.source) }
        guard let fixedTarget, !type(of: fixedTarget).isBroken else { return }
        _ = set(fixedTarget, .unknownState)
    }

    private func set(_ target: Target, _ variables: VariableScope) -> [DataProgram?]? {
        let (type, name, _) = type(of: target)
        if written.isUpdate, let stray = written.set.first(where: { type.index(of: $0.key.text) == nil })?.key,
            let other = scope.states.first(where: { !$0.isBroken && $0.type.index(of: stray.text) != nil })
        {
            lookup.report(
                .unknownField, at: stray.span, "the state '\(name)' has no field '\(stray.text)'",
                hint: "without 'to' the system stays in '\(name)'; for a state with this field write to: \(other.name)")
            return nil
        }
        return DataCompiler(lookup.context, lookup.source).fields(
            written.set, of: type, Subject("the state", name), variables)
    }

    /// The rule for a state; nil after reporting, or if something it depends on is broken.
    mutating func rule(from state: Int) -> TransitionRule? {
        let target = written.isUpdate ? .state(state, enters: nil) : fixedTarget
        let fields = target.map { cost($0) } ?? 0
        lookup.context.count(1 + fields)
        guard lookup.context.spend(1 + fields / 8) else {
            lookup.report(
                .tooLarge, at: written.span,
                "'\(scope.name)' needs more than \(ConfigurationLimits.statePrograms) programs, one for each of many "
                    + "states", hint: "make several systems of it")
            return nil
        }
        let parts = shared ?? parts(from: state, to: target)
        guard let parts, !written.isConditionBroken, !written.isSetBroken else { return nil }
        guard !written.isStay else {
            return TransitionRule(condition: parts.condition, outcome: .stay, source: source)
        }
        guard let target, let outcome = outcome(target, from: state, parts.set) else { return nil }
        return TransitionRule(condition: parts.condition, outcome: outcome, source: source)
    }

    private func outcome(_ target: Target, from state: Int, _ set: [DataProgram?]) -> TransitionRule.Outcome? {
        switch target {
        case .state(let index, let enters):
            guard let fields = fields(of: index, from: state, set) else { return nil }
            let program = StateProgram(state: index, fields: fields, enters: enters)
            return written.isUpdate ? .update(program) : .to(program)
        case .history(let index, let isDeep):
            let compound = scope.compounds.definitions[index]
            let first = fields(of: compound.historyInitial, from: state, set, isOptional: true)
            var programs: [Int: StateProgram] = [:]
            for inside in compound.states {
                guard let fields = fields(of: inside, from: state, set, remembered: true) else { return nil }
                programs[inside] = StateProgram(state: inside, fields: fields)
            }
            let initial = first.map { StateProgram(state: compound.historyInitial, fields: $0) }
            guard !isDeep else {
                return .history(
                    HistoryProgram(compound: index, isDeep: true, programs: programs, initial: initial))
            }
            // Of a compound state that lies directly inside, the initial state is entered.
            for inside in compound.states {
                let chain = scope.compounds.around[inside]
                guard let place = chain.firstIndex(of: index), place + 1 < chain.count else { continue }
                let leaf = scope.compounds.definitions[chain[place + 1]].initial
                if leaf == inside { continue }
                guard let fields = fields(of: leaf, from: state, set, like: inside) else { return nil }
                programs[inside] = StateProgram(state: leaf, fields: fields)
            }
            return .history(
                HistoryProgram(compound: index, isDeep: false, programs: programs, initial: initial))
        }
    }

    /// The number of fields that the programs for a target have.
    private func cost(_ target: Target) -> Int {
        switch target {
        case .state(let index, _): scope.states[index].type.fields.count
        case .history(let index, _):
            // A program for each state that may be remembered counts like one of a rule.
            scope.compounds.definitions[index].states.reduce(0) { $0 + 8 + scope.states[$1].type.fields.count }
        }
    }

    /// The rule of `always` for a state; nil after reporting, or if something it depends on is broken.
    mutating func always(from state: Int) -> AlwaysRule? {
        guard let rule = rule(from: state) else { return nil }
        var hold: DataProgram?
        if written.hold != nil {
            hold = (shared ?? latest)?.hold
            if hold == nil { return nil }
        }
        let condition = written.condition?.text
        let time = written.hold.map { $0.scalar?.text ?? FlowText.of($0) }
        // Two rules with the same text differ if their parameters have other values.
        let constants = lookup.context.constants.map { "\($0.name) \($0.value)" }
        let set = written.set.map { "\($0.key.text): \(FlowText.of($0.value))" }
        let parts =
            constants + set
            + [condition, time.map { "for \($0)" }, written.target?.text ?? WrittenTransition.inPlace]
        return AlwaysRule(
            rule: rule, hold: hold, text: parts.map { $0 ?? "" }.joined(separator: "\n"),
            condition: [condition, time.map { "for \($0)" }].compactMap(\.self).joined(separator: " "))
    }

    private mutating func parts(from state: Int, to target: Target?) -> Parts? {
        guard written.condition != nil || !written.set.isEmpty || written.hold != nil else {
            let parts = Parts(
                condition: nil,
                set: target.map { Array(repeating: nil, count: type(of: $0).type.fields.count) } ?? [])
            shared = parts
            return parts
        }
        let variables =
            isAlways
            ? VariableScope.always(scope.states[state], label: hasLabels)
            : VariableScope.transition(scope.states[state], event.map { scope.events[$0] }, label: hasLabels)
        let compiled = lookup.context.compiling { parts(variables, to: target) }
        // The fields of an update are those of its state.
        if !compiled.dependencies.mentionsState, !written.isUpdate { shared = compiled.value }
        latest = compiled.value
        return compiled.value
    }

    private func parts(_ variables: VariableScope, to target: Target?) -> Parts? {
        var condition: Program?
        var isWhole = true
        if let text = written.condition {
            condition = lookup.context.condition(text, variables, in: lookup.source)?.program
            isWhole = condition != nil
        }
        var set: [DataProgram?]? = []
        if let target, !type(of: target).isBroken {
            set = self.set(target, variables)
        }
        var hold: DataProgram?
        if let node = written.hold {
            hold = lookup.delay(node, "for", atLeast: 1, variables)
            isWhole = isWhole && hold != nil
        }
        guard isWhole, let set else { return nil }
        return Parts(condition: condition, set: set, hold: hold)
    }

    /// The new state's fields: set, kept from the old state, or taken from the remembered one.
    ///
    /// - Parameters:
    ///   - remembered: Whether the state itself is remembered.
    ///   - like: The state that is remembered, if it is another.
    ///   - isOptional: Whether a missing field is no error.
    private func fields(
        of target: Int, from state: Int, _ set: [DataProgram?], remembered: Bool = false, like: Int? = nil,
        isOptional: Bool = false
    ) -> [FieldProgram]? {
        let old = scope.states[state]
        let new = scope.states[target]
        if old.isBroken || new.isBroken { return nil }
        var programs: [FieldProgram] = []
        programs.reserveCapacity(new.type.fields.count)
        var missing: [String] = []
        var isBroken = false
        for (index, field) in new.type.fields.enumerated() {
            let before = remembered ? index : like.flatMap { place(of: field, in: $0) }
            if index < set.count, let program = set[index] {
                programs.append(.data(program))
            } else if let before, place(of: field, in: state) == nil, field.type != .dyn {
                programs.append(.remembered(before))
            } else if let kept = old.type.index(of: field.name) {
                let type = old.type.fields[kept].type
                if type == field.type {
                    programs.append(.keep(kept))
                } else if type == .dyn || field.type == .dyn {
                    isBroken = true
                } else {
                    missing.append("'\(field.name)' (\(type) there, \(field.type) here)")
                }
            } else {
                missing.append("'\(field.name)'")
            }
        }
        guard missing.isEmpty else {
            if isOptional { return nil }
            if let like {
                lookup.report(
                    .missingField, at: written.target?.span ?? written.span,
                    "after '\(scope.states[like].name)' this leads to '\(new.name)', which needs the field"
                        + "\(missing.count > 1 ? "s" : "") \(missing.joined(separator: ", "))",
                    hint: "write \(written.target?.text ?? "")*, which leads to the remembered state itself")
                return nil
            }
            let event = event.map { scope.events[$0].type }
            lookup.report(
                .missingField, at: written.target?.span ?? written.span,
                "'\(new.name)' needs the field\(missing.count > 1 ? "s" : "") \(missing.joined(separator: ", ")), "
                    + "which '\(old.name)' does not have",
                hint: "write { to: \(new.name), set: { \(DataCompiler.sample(new.type, from: event)) } }")
            return nil
        }
        return isBroken ? nil : programs
    }

    /// The index of a field of the same name and type.
    private func place(of field: StructureType.Field, in state: Int) -> Int? {
        let type = scope.states[state].type
        return type.index(of: field.name).flatMap { type.fields[$0].type == field.type ? $0 : nil }
    }
}
