import CommonExpression
import FeedbackKit
import MediatorConfiguration

extension HostedSet {
    /// Returns what the rules of `always` of a system wait for.
    func whyNotAlways(_ number: Int, now: Timestamp) -> WhyNot {
        let (system, definition) = (systems[number], graph.systems[number])
        let state = system.presentState(in: definition)
        let rules = definition.always.isEmpty ? [] : definition.always[state.index]
        let others = definition.always.indices.filter { $0 != state.index && !definition.always[$0].isEmpty }
        var inputs: Set<Int> = []
        for rule in rules {
            for path in rule.rule.condition?.references ?? [] where path.first == Names.input {
                inputs.formUnion(
                    definition.inputs.filter { path.count == 1 || path[1] == $0.name }.map(\.event))
            }
        }
        return WhyNot(
            definition: definition, state: state,
            obstacle: system.phase == .running ? nil : Host.obstacle(to: system).text,
            transitions: WhyNot.Candidate.always(
                rules, of: definition, at: system.place, in: state, until: system.end(of:)),
            otherStates: others.map { definition.states[$0].name }, isOpaque: definition.kind != nil,
            senders: inputs.sorted().flatMap { links(sending: $0, to: number, now) }, unknownSenders: [])
    }
}

extension WhyNot.Candidate {
    /// Returns the rules of `always` of a state.
    ///
    /// - Parameter end: A function that returns the end of a wait of a rule.
    fileprivate static func always(
        _ rules: [AlwaysRule], of definition: SystemDefinition, at place: WrittenSystemPlace, in state: SystemState,
        until end: (Levels.Wait) -> Timestamp?
    ) -> [WhyNot.Candidate] {
        let levels = state.levels
        let variables = [state.data] + (definition.inputs.isEmpty ? [] : [levels.inputs])
        let name = definition.states[state.index].name
        var verdict: String?
        return rules.enumerated().map { index, rule in
            let written = definition.transitions.first { $0.source == rule.rule.source }
            var (holds, fails): (Bool?, Bool) = (true, false)
            var reasons: [String] = []
            var due: Timestamp?
            if let verdict {
                holds = nil
                reasons.append("not tried, since one before it \(verdict)")
            } else if let condition = rule.rule.condition {
                let explanation = condition.explain(variables)
                holds = explanation.value ?? false
                fails = explanation.value == nil
                reasons.append(explanation.summary)
            }
            if holds == true, case .history(let history) = rule.rule.outcome,
                let lack = history.lack(levels, definition)
            {
                holds = false
                reasons.append(lack)
            }
            if holds == true, let wait = levels.waits.first(where: { $0.rule == index }) {
                switch wait.phase {
                case .waits:
                    due = end(wait)
                    holds = nil
                    reasons.append(
                        "it has held since \(wait.since), and must hold for \(TimeSpan(wait.delay)?.brief ?? "longer")"
                            + (due.map { "; it applies at \($0)" } ?? ""))
                case .hasApplied:
                    holds = false
                    reasons.append("it has applied, and applies again when the condition has held anew for its time")
                case .isDue: break
                }
            }
            var setting: (field: String, reason: String)?
            if holds == true {
                setting = rule.rule.failingField(of: definition, variables)
                fails = setting != nil
            }
            if fails {
                verdict = "fails"
            } else if holds == true, rule.hold == nil || setting != nil {
                verdict = "holds"
            }
            return WhyNot.Candidate(
                from: written?.from ?? name, event: Names.always, to: definition.target(of: rule.rule),
                condition: rule.condition.isEmpty ? nil : rule.condition,
                source: place.source(of: .rule(state: name, event: Names.always, index: index)), holds: holds,
                fails: fails, reason: reasons.isEmpty ? nil : reasons.joined(separator: "; "), field: setting?.field,
                fieldReason: setting?.reason, due: due)
        }
    }
}

extension SystemDefinition {
    /// Returns the new state of a rule, `stay` or `in place`.
    func target(of rule: TransitionRule) -> String {
        switch rule.outcome {
        case .stay, .input: Names.stay
        case .to(let program): program.enters.map { compounds[$0].name } ?? states[program.state].name
        case .history(let history):
            "\(compounds[history.compound].name).\(history.isDeep ? Names.deepHistory : Names.history)"
        case .update: WrittenTransition.inPlace
        }
    }
}

extension TransitionRule {
    /// Returns the first field whose new value cannot be computed.
    fileprivate func failingField(
        of definition: SystemDefinition, _ variables: [Value]
    ) -> (field: String, reason: String)? {
        switch outcome {
        case .stay, .input: return nil
        case .to, .update, .history:
            guard let program = outcome.setting else { return nil }
            let names = definition.states[program.state].type.fields.map(\.name)
            for case (let name, .data(let data)) in zip(names, program.fields) {
                do {
                    _ = try data.evaluate(variables)
                } catch {
                    return (name, error.message)
                }
            }
            return nil
        }
    }
}
