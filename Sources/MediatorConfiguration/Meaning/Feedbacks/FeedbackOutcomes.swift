import CommonExpression

extension FeedbackCompiler {
    /// The reactions to failures for which no rule makes an event, by outcome.
    var failureReactions: [String: FailureReaction] {
        written.outcomes.reduce(into: [:]) { $0[$1.key.text] = $1.reaction(in: scope) }
    }

    /// The rules of the outcomes, by state. They are compiled once if none of them names `state`.
    func outcomes(_ effect: WrittenEffect, _ states: [Int]?) -> [Int: [String: [EmissionRule]]]? {
        if let emission = effect.emission {
            // Its programs get as many variables as any outcome's, though there is no result to name.
            return lookup.perState(states, of: scope, result: VariableScope.nameless) { variables in
                lookup.event(emission, of: scope, variables).map {
                    [effect.schema.name: [EmissionRule(condition: nil, event: $0)]]
                }
            }
        }
        var byState: [Int: [String: [EmissionRule]]]?
        var isWhole = true
        for outcome in written.outcomes {
            let isTimeout = outcome.key.text == EffectSchema.timeoutOutcome.name
            guard
                let schema = effect.schema.outcome(outcome.key.text) ?? (isTimeout ? EffectSchema.timeoutOutcome : nil)
            else {
                isWhole = false
                continue
            }
            checkOrder(outcome.rules)
            let written = outcome.reaction(in: scope) == nil ? outcome.rules[...] : outcome.rules.dropLast()
            if written.isEmpty, !outcome.rules.isEmpty { continue }
            let result = Environment.Variable(name: "result", type: .structure(schema.result))
            let compiled = lookup.perState(states, of: scope, result: result) { variables -> [EmissionRule]? in
                let rules = written.map { rule($0, variables, orWords: outcome.takesReactions ? Self.reactions : []) }
                let whole = rules.compactMap(\.self)
                return whole.count == rules.count ? whole : nil
            }
            guard let compiled else {
                isWhole = false
                continue
            }
            if byState == nil {
                byState = compiled.mapValues { [outcome.key.text: $0] }
            } else {
                for (state, rules) in compiled { byState?[state]?[outcome.key.text] = rules }
            }
        }
        guard isWhole, let states else { return nil }
        return byState ?? Dictionary(uniqueKeysWithValues: states.map { ($0, [:]) })
    }

    private static let reactions = FailureReaction.allCases.map(\.rawValue)

    private func rule(
        _ rule: WrittenEmission, _ variables: VariableScope, orWords words: [String]
    ) -> EmissionRule? {
        var condition: Program?
        if let text = rule.condition {
            condition = lookup.context.condition(text, variables, in: lookup.source)?.program
        }
        let event = rule.event.flatMap { lookup.event($0, of: scope, variables, orWords: words) }
        guard let event, rule.condition == nil || condition != nil, !rule.isConditionBroken else { return nil }
        return EmissionRule(
            condition: condition, event: event, source: lookup.source.location(at: rule.span.start))
    }

    private func checkOrder(_ rules: [WrittenEmission]) {
        guard let last = rules.firstIndex(where: \.isUnconditional), last + 1 < rules.count else { return }
        lookup.report(
            .unreachableRule, at: rules[last + 1].span, "this rule is never reached: the one before it always holds",
            hint: "give the one before a 'when', or move it to the end")
    }
}

extension WrittenOutcome {
    /// A Boolean value that indicates whether a reaction to failures may stand in it.
    fileprivate var takesReactions: Bool {
        key.text == EffectSchema.failure || key.text == EffectSchema.timeoutOutcome.name
    }

    /// The word in place of the last event: a reaction to failures. An event of that name comes first.
    fileprivate func reaction(in scope: SystemScope) -> FailureReaction? {
        guard takesReactions,
            let last = rules.last, last.isUnconditional, let event = last.event, event.fields == nil, !event.isInput,
            let reaction = FailureReaction(rawValue: event.name.text),
            scope.eventNames.index(of: event.name.text) == nil
        else { return nil }
        return reaction
    }
}
