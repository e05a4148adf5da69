import CommonExpression

// The checks of side effects that fail, and of states that a system cannot leave.
extension GraphAnalysis {
    /// Warns of side effects whose failures nothing handles, and of those that may run for ever.
    func checkFailures(_ index: Int) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, definition.kind == nil else { return }
        for (feedback, text) in zip(definition.feedbacks, written.feedbacks) {
            guard let effect = text.effect, feedback.selector.states.contains(where: { system.reachable[$0] }) else {
                continue
            }
            if effect.schema.acts, !text.handlesFailures {
                let has = text.rules(of: EffectSchema.failure) != nil
                warn(
                    .unhandledFailure, about: .system(index), in: written.source, at: effect.key.span,
                    has
                        ? "no rule of '\(EffectSchema.failure)' holds for every failure of '\(effect.schema.name)'"
                        : "nothing handles a failure of '\(effect.schema.name)'",
                    hint: (has ? "add a last rule: an event" : "add \(EffectSchema.failure): and an event")
                        + ", or 'log' if a failure is of no importance, or 'degrade' to report it as the system's health"
                )
            }
            if let limit = text.handling.timeout, !text.handlesTimeouts {
                warn(
                    .unhandledFailure, about: .system(index), in: written.source, at: limit.mark,
                    "nothing handles the end of this time",
                    hint: "add \(EffectSchema.timeoutOutcome.name): and an event, or 'log' or 'degrade'")
            }
            let isRepeated =
                switch feedback.schedule {
                case .every, .at: true
                case .atOnce, .after: false
                }
            if isRepeated, effect.schema.name == EffectSchema.run.name, feedback.timeout == nil,
                feedback.arguments.values.allSatisfy({ $0["timeout"] == nil })
            {
                warn(
                    .noTimeLimit, about: .system(index), in: written.source, at: text.name.span,
                    "'\(feedback.name)' has no time limit: if its command hangs, it does not run again in this state",
                    hint:
                        "write run: { command: […], timeout: 5s }, which leads to onFailure, or timeout: and onTimeout:"
                )
            }
        }
    }

    /// Warns of states that a system cannot leave, and of those that it leaves only if a rule does not fail.
    func checkWaysOut(_ index: Int) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, definition.kind == nil,
            definition.states.count > 1
        else { return }
        let places = Dictionary(
            (written.states ?? []).map { ($0.name.text, $0.name.span) }, uniquingKeysWith: { first, _ in first })
        let outside = outsideEvents(index)
        for (state, definitionOfState) in definition.states.enumerated() where system.reachable[state] {
            let leading = definition.events(leading: { _ in true }, from: state)
            guard !leading.isEmpty else {
                // A rule of `always` leads on by itself.
                guard definition.always.isEmpty || definition.always[state].isEmpty, !definitionOfState.isFinal,
                    let span = places[definitionOfState.name]
                else { continue }
                let name = definitionOfState.name
                warn(
                    .deadEnd, about: .system(index), in: written.source, at: span,
                    "no rule leads on from the state '\(name)'",
                    hint: "add a transition, or final: [\(name)] if the system is meant to end there")
                continue
            }
            let leaving = definition.events(leading: { if case .update = $0 { false } else { true } }, from: state)
            guard definition.always.isEmpty || definition.always[state].isEmpty, outside.isDisjoint(with: leaving),
                let feedback = definition.onlyWay(from: state, by: leaving)
            else { continue }
            checkOnlyWay(feedback, from: state, by: leaving, of: index)
        }
    }

    /// Warns if the only feedback that leads on from a state may report an outcome without an event.
    private func checkOnlyWay(_ number: Int, from state: Int, by leading: Set<Int>, of index: Int) {
        guard let definition = whole.systems[index].definition, let written = whole.systems[index].written else {
            return
        }
        let feedback = definition.feedbacks[number]
        let text = written.feedbacks[number]
        // A side effect that is repeated has another chance.
        switch feedback.schedule {
        case .every, .at: return
        case .atOnce, .after: break
        }
        guard let effect = text.effect, !effect.schema.isLasting, let outcomes = feedback.outcomes[state] else {
            return
        }
        // Other outcomes are reported again and again.
        let ends = [effect.schema.name, "onSuccess", EffectSchema.failure, EffectSchema.timeoutOutcome.name]
        for outcome in ends {
            guard let rules = outcomes[outcome], rules.contains(where: { leading.contains($0.event.event) }) else {
                continue
            }
            let fails = rules.contains { rule in
                // A test in the condition also protects the data, so one check reads both.
                var check = FailureCheck()
                let conditionFails = rule.condition.map { check.mayFail($0) } ?? false
                return check.mayFail(rule.event.data) || conditionFails
            }
            let isOpen = rules.last?.condition != nil && feedback.failureReactions[outcome] == nil
            guard fails || isOpen else { continue }
            let span = text.outcomes.first { $0.key.text == outcome }?.key.span ?? effect.key.span
            warn(
                .doubtfulOutcome, about: .system(index), in: written.source, at: span,
                "only '\(feedback.name)' leads on from '\(definition.states[state].name)', and "
                    + (fails ? "a rule of '\(outcome)' can fail" : "perhaps no rule of '\(outcome)' holds"),
                hint: fails
                    ? "add another way, such as a feedback with after:, or test the data first, such as by has(…) and type(…)"
                    : "add a last rule without 'when', or another way, such as a feedback with after:")
        }
    }

    /// The events of a system that links or the outside cause.
    private func outsideEvents(_ index: Int) -> Set<Int> {
        let system = whole.systems[index]
        guard let definition = system.definition else { return [] }
        var events: Set<Int> = []
        switch system.written?.fromOutside {
        case .any: return Set(definition.events.indices)
        case .events(let names): events.formUnion(names.compactMap { system.scope.eventNames.index(of: $0.text) })
        case nil: break
        }
        for link in joints.attached[index] + joints.targeting[index] {
            switch whole.links[link].definition.form {
            case .busToSystem(_, _, let made) where whole.links[link].definition.system == index:
                events.insert(made.event)
            case .systemToSystem(let target, _, let made) where target == index:
                events.formUnion(made.values.map(\.event))
            default: break
            }
        }
        return events
    }
}

extension SystemDefinition {
    /// The events for which a state has a rule that enters a state or changes data in a way that counts.
    fileprivate func events(leading counts: (TransitionRule.Outcome) -> Bool, from state: Int) -> Set<Int> {
        Set(
            rules[state].indices.filter { event in
                rules[state][event].contains {
                    switch $0.outcome {
                    case .to, .history, .update: counts($0.outcome)
                    case .stay, .input: false
                    }
                }
            })
    }

    /// The feedback that alone causes some events in a state; nil: none does, or several may.
    fileprivate func onlyWay(from state: Int, by events: Set<Int>) -> Int? {
        var only: Int?
        for (index, feedback) in feedbacks.enumerated() {
            // A side effect that outlasts its state may report in another one.
            let states = feedback.strategy == .cancelOnNewState ? [state] : Array(feedback.outcomes.keys)
            let leads = states.contains { state in
                feedback.outcomes[state]?.values.joined().contains { events.contains($0.event.event) } ?? false
            }
            guard leads else { continue }
            guard only == nil, feedback.selector.states.contains(state) else { return nil }
            only = index
        }
        return only
    }
}

extension FailureCheck {
    /// Returns whether a computation may fail.
    fileprivate mutating func mayFail(_ program: DataProgram) -> Bool {
        switch program {
        case .constant: return false
        case .template(let template):
            return template.programs.reduce(false) { mayFail($1) || $0 }
        case .structure(_, let parts), .list(let parts): return parts.reduce(false) { mayFail($1) || $0 }
        case .map(let entries): return entries.reduce(false) { mayFail($1.value) || $0 }
        case .optional(let part): return mayFail(part)
        }
    }
}

extension EffectSchema {
    /// A Boolean value that indicates whether it changes something, and may fail to.
    fileprivate var acts: Bool { !onlyTells && !isLasting && outcome(Self.failure) != nil }
}

extension WrittenFeedback {
    /// The rules of an outcome, as written.
    fileprivate func rules(of outcome: String) -> [WrittenEmission]? {
        outcomes.first { $0.key.text == outcome }?.rules
    }

    /// A Boolean value that indicates whether some rule handles each failure, or a probe counts it.
    fileprivate var handlesFailures: Bool { handles(EffectSchema.failure) }

    /// A Boolean value that indicates whether some rule handles each run that exceeds its time, or a probe counts it.
    fileprivate var handlesTimeouts: Bool { handles(EffectSchema.timeoutOutcome.name) }

    private func handles(_ outcome: String) -> Bool {
        ["onDown", outcome].contains { rules(of: $0)?.last?.isUnconditional ?? false }
    }
}
