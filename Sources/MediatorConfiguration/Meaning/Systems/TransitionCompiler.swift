import CommonExpression

/// Compiles a system's transitions and expands their wildcards.
struct TransitionCompiler {
    private let lists: [WrittenTransitionList]
    private let scope: SystemScope
    private let lookup: Lookup

    /// A compiler of one system's transitions.
    init(_ lists: [WrittenTransitionList], _ scope: SystemScope, _ lookup: Lookup) {
        self.lists = lists
        self.scope = scope
        self.lookup = lookup
    }

    /// Rules by state and event, with one event more that stands for any; of one level of precision.
    private struct Level {
        private let events: Int
        private var cells: [[TransitionRule]]

        init(_ scope: SystemScope) {
            events = scope.events.count
            cells = Array(repeating: [], count: scope.states.count * (events + 1))
        }

        subscript(state: Int, event: Int?) -> [TransitionRule] {
            get { cells[state * (events + 1) + (event ?? events)] }
            _modify { yield &cells[state * (events + 1) + (event ?? events)] }
        }
    }

    /// Compiles all; nil if anything is wrong.
    func compile() -> (rules: [[[TransitionRule]]], written: [WrittenTransition])? {
        var written: [WrittenTransition] = []
        var exact = Level(scope)
        var wild = Level(scope)
        var isWhole = true
        for list in lists {
            let isAnyState = list.from.text == Names.any
            let isAnyEvent = list.event.text == Names.any
            let from = isAnyState ? nil : lookup.state(list.from, of: scope)
            let isStateUnknown = !isAnyState && from == nil
            if list.rules.isEmpty, list.event.span == list.from.span {
                isWhole = isWhole && !isStateUnknown
                continue
            }
            if isStateUnknown, scope.eventNames.index(of: list.from.text) != nil {
                // The event stands above the state: what is below is upside down as well.
                isWhole = false
                continue
            }
            let event = isAnyEvent ? nil : lookup.event(list.event, of: scope)
            checkOrder(list.rules)
            guard !isStateUnknown, isAnyEvent || event != nil else {
                isWhole = false
                for rule in list.rules { RuleCompiler(rule, scope, lookup, event: nil, hasLabels: false).check() }
                continue
            }
            let states = from.map { [$0] } ?? Array(scope.states.indices)
            if from == nil {
                isWhole = compile(list.rules, from: states, on: event, into: &wild) && isWhole
            } else {
                isWhole = compile(list.rules, from: states, on: event, into: &exact) && isWhole
            }
            for rule in list.rules {
                written.append(
                    WrittenTransition(
                        from: list.from.text, event: list.event.text, to: rule.target?.text ?? "",
                        condition: rule.condition?.text, source: lookup.source.location(at: rule.span.start)))
            }
        }
        guard isWhole else { return nil }
        return expand(exact, wild).map { ($0, written) }
    }

    /// Reports the first rule of a list that comes after one without a condition.
    private func checkOrder(_ rules: [WrittenRule]) {
        guard let last = rules.firstIndex(where: \.isUnconditional), last + 1 < rules.count else { return }
        lookup.report(
            .unreachableRule, at: rules[last + 1].span, "this rule is never reached: the one before it always holds",
            hint: "give the one before a 'when', or move it to the end")
    }

    /// Compiles one list of rules for some states; false if any is wrong.
    private func compile(
        _ rules: [WrittenRule], from states: [Int], on event: Int?, into level: inout Level
    ) -> Bool {
        var isWhole = true
        for rule in rules {
            var compiler = RuleCompiler(rule, scope, lookup, event: event, hasLabels: states.count > 1)
            for state in states {
                if let compiled = compiler.rule(from: state) {
                    level[state, event].append(compiled)
                } else {
                    isWhole = false
                    break
                }
            }
        }
        return isWhole
    }

    /// Puts the rules of each pair in the order in which they are tried, up to the first that always holds.
    private func expand(_ exact: Level, _ wild: Level) -> [[[TransitionRule]]]? {
        var count = 0
        var table: [[[TransitionRule]]] = []
        table.reserveCapacity(scope.states.count)
        for state in scope.states.indices {
            var row: [[TransitionRule]] = []
            row.reserveCapacity(scope.events.count)
            for event in scope.events.indices {
                var rules: [TransitionRule] = []
                func add(_ more: [TransitionRule]) {
                    if more.isEmpty { return }
                    if rules.isEmpty {
                        rules = more
                    } else if rules[rules.count - 1].condition != nil {
                        rules += more
                    }
                }
                add(exact[state, event])
                add(exact[state, nil])
                add(wild[state, event])
                add(wild[state, nil])
                count += rules.count
                row.append(rules)
            }
            table.append(row)
            guard count <= ConfigurationLimits.expandedRules else {
                lookup.report(
                    .tooLarge, at: scope.nameSpan,
                    "'\(scope.name)' has more than \(ConfigurationLimits.expandedRules) rules "
                        + "once 'any' is written out", hint: "make several systems of it")
                return nil
            }
        }
        return table
    }
}

/// Compiles one rule for one state after another. It compiles common parts only once.
private struct RuleCompiler {
    /// The parts of a rule that do not depend on the old state's fields.
    private struct Parts {
        var condition: Program?
        /// By field of the new state; nil where nothing is set.
        var set: [DataProgram?]
    }

    private let written: WrittenRule
    private let scope: SystemScope
    private let lookup: Lookup
    private let event: Int?
    private let hasLabels: Bool
    private let source: SourceLocation
    private let target: Int?
    private var shared: Parts?

    init(_ written: WrittenRule, _ scope: SystemScope, _ lookup: Lookup, event: Int?, hasLabels: Bool) {
        self.written = written
        self.scope = scope
        self.lookup = lookup
        self.event = event
        self.hasLabels = hasLabels
        source = lookup.source.location(at: written.span.start)
        target = written.isStay ? nil : Self.target(written, scope, lookup)
    }

    private static func target(_ written: WrittenRule, _ scope: SystemScope, _ lookup: Lookup) -> Int? {
        guard let name = written.target else { return nil }
        if name.text == Names.any {
            lookup.report(
                .reservedName, at: name.span, "a transition cannot lead to 'any'",
                hint: "write a state, or 'stay'")
            return nil
        }
        return lookup.state(name, of: scope, or: [Names.stay])
    }

    /// Checks the parts of the rule that do not need the unknown state or event.
    func check() {
        if let text = written.condition { _ = lookup.context.condition(text, .unknownState, in: lookup.source) }
        guard let target, !scope.states[target].isBroken else { return }
        _ = set(target, .unknownState)
    }

    private func set(_ target: Int, _ variables: VariableScope) -> [DataProgram?]? {
        DataCompiler(lookup.context, lookup.source).fields(
            written.set, of: scope.states[target].type, Subject("the state", scope.states[target].name), variables)
    }

    /// The rule for a state; nil after reporting, or if something it depends on is broken.
    mutating func rule(from state: Int) -> TransitionRule? {
        guard lookup.context.spend(1 + (target.map { scope.states[$0].type.fields.count } ?? 0) / 8) else {
            lookup.report(
                .tooLarge, at: written.span,
                "'\(scope.name)' needs more than \(ConfigurationLimits.statePrograms) programs, one for each of many "
                    + "states", hint: "make several systems of it")
            return nil
        }
        let parts = shared ?? parts(from: state)
        guard let parts, !written.isConditionBroken, !written.isSetBroken else { return nil }
        guard !written.isStay else {
            return TransitionRule(condition: parts.condition, outcome: .stay, source: source)
        }
        guard let target, let fields = fields(of: target, from: state, parts.set) else { return nil }
        return TransitionRule(
            condition: parts.condition, outcome: .to(StateProgram(state: target, fields: fields)), source: source)
    }

    private mutating func parts(from state: Int) -> Parts? {
        guard written.condition != nil || !written.set.isEmpty else {
            let parts = Parts(
                condition: nil,
                set: target.map { Array(repeating: nil, count: scope.states[$0].type.fields.count) } ?? [])
            shared = parts
            return parts
        }
        let variables = VariableScope.transition(
            scope.states[state], event.map { scope.events[$0] }, label: hasLabels)
        let compiled = lookup.context.compiling { parts(variables) }
        if !compiled.dependencies.mentionsState { shared = compiled.value }
        return compiled.value
    }

    private func parts(_ variables: VariableScope) -> Parts? {
        var condition: Program?
        var isWhole = true
        if let text = written.condition {
            condition = lookup.context.condition(text, variables, in: lookup.source)?.program
            isWhole = condition != nil
        }
        var set: [DataProgram?]? = []
        if let target, !scope.states[target].isBroken {
            set = self.set(target, variables)
        }
        guard isWhole, let set else { return nil }
        return Parts(condition: condition, set: set)
    }

    /// The new state's fields: set, or kept from the old state.
    private func fields(of target: Int, from state: Int, _ set: [DataProgram?]) -> [FieldProgram]? {
        let old = scope.states[state]
        let new = scope.states[target]
        if old.isBroken || new.isBroken { return nil }
        var programs: [FieldProgram] = []
        programs.reserveCapacity(new.type.fields.count)
        var missing: [String] = []
        var isBroken = false
        for (index, field) in new.type.fields.enumerated() {
            if let program = set[index] {
                programs.append(.data(program))
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
}
