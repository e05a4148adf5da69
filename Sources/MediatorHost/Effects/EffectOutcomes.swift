import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The handling of the outcomes of a side effect.
extension EffectRunner {
    /// Carries out a side effect without a run, in the activation of the system. Returns the event of an `emit`.
    func act(_ asked: Asked) -> SystemEvent? {
        if let effect = implementation as? any ImmediateEffect {
            carryOut(effect, asked)
            return nil
        }
        guard definition.effect == EffectSchema.publish.name else {
            let emission = event(for: EffectSchema.emit.name, .null, by: asked, run: nil)
            if case .fault = emission { return nil }
            succeeded(nil, in: asked.stretch)
            return emission.event
        }
        // The faults of its links are theirs.
        succeeded(nil, in: asked.stretch)
        publish(asked.state)
        return nil
    }

    private func carryOut(_ effect: any ImmediateEffect, _ asked: Asked) {
        let state = asked.state
        guard let arguments = given(asked)?.arguments else { return }
        let (begun, begin) = (time.now(), time.elapsed())
        figures.begin()
        let verdict = RunVerdict(asked.stretch)
        let context = context(
            of: state, arguments,
            fault: { [self] message in
                let fault = fault(message)
                verdict.note(fault)
                note(fault, in: asked.stretch)
            }, works: {}, outcome: { _, _ in false })
        effect.act(arguments, in: context)
        figures.end(after: time.elapsed() - begin)
        if !verdict.hasFault { succeeded(nil, in: asked.stretch) }
        happened(
            Happening(
                EffectRun(
                    feedback: definition.name, record: state.record, begun: begun, ended: time.now(), outcomes: [],
                    others: 0, isCancelled: false)))
    }

    /// Takes an outcome that the side effect reports. Returns `true` if the configuration has rules for it.
    ///
    /// An outcome that contradicts the schema is noted as a fault and counts as handled: the method returns `true`.
    func hear(_ outcome: String, _ result: Value, _ run: Run) -> Bool {
        guard let problem = schema?.problem(withOutcome: outcome, result) else { return deliver(outcome, result, run) }
        if !run.turn.isReplaced, !Task.isCancelled { note(fault(key: run.turn.key, problem), in: run) }
        return true
    }

    /// Turns an outcome into its event and sends it. Returns `true` if the configuration has rules for the outcome.
    ///
    /// - Parameter told: The reaction of the rules to a change of level that was reported before.
    func deliver(_ outcome: String, _ result: Value, _ run: Run, level told: Emission? = nil) -> Bool {
        figures.report(outcome)
        run.outcomes.note(outcome, self.told(result), at: time.now())
        // The report goes first: the event of the outcome may lead to a state that withdraws later events.
        var level = told
        if !run.turn.isReplaced, let report = probe?.count(outcome, of: run.asked.stretch.number, run.thresholds) {
            level = tell(report, result, run)
        }
        let emission = event(for: outcome, result, by: run.asked, run: run)
        let isCounted = isCounted(outcome, by: run.asked)
        // Judged first, because the event may lead to a state that ends the stretch.
        judge(outcome, result, emission, level: level, isCounted: isCounted, run)
        if let event = emission.event, !run.turn.isReplaced { run.send(event) }
        return emission.hasRule || isCounted || definition.failureReactions[outcome] == .log
    }

    /// Returns a Boolean value that indicates whether a probe is to report its level again in a state: no event of its own led
    /// there.
    func repeatsLevel(in state: SystemState) -> Bool {
        guard definition.levelReport == .entries else { return false }
        guard let origin = state.record.cause?.origin as? Cause.FeedbackOrigin else { return true }
        return origin.source.name != definition.name
    }

    /// Delivers a change of the level of a probe, if the configuration has rules for it.
    ///
    /// The event belongs to the feedback, not to this run, so a new state does not withdraw it. The system takes the event
    /// unless it has since entered a state that does not ask for the side effect.
    ///
    /// - Returns: The reaction of the rules.
    func tell(_ report: ProbeWatch.Report, _ result: Value, _ run: Run) -> Emission {
        let emission = event(for: report.outcome, result, by: run.asked, run: run)
        guard emission.hasRule else { return emission }
        figures.report(report.outcome)
        run.outcomes.note(report.outcome, told(result), at: time.now())
        if let event = emission.event { whenDue({ [probe] in probe?.holds(report) == true ? event : nil }, {}) }
        return emission
    }

    /// Returns a Boolean value that indicates whether an outcome of a probe counts towards a change of its level for which the
    /// configuration has rules.
    func isCounted(_ outcome: String, by asked: Asked) -> Bool {
        guard probe != nil else { return false }
        switch outcome {
        case "onSuccess": return rules(for: "onUp", by: asked) != nil
        case "onFailure", EffectSchema.timeoutOutcome.name: return rules(for: "onDown", by: asked) != nil
        default: return false
        }
    }

    /// Returns the rules for an outcome, and the event definitions that their indices refer to. Returns `nil` without rules.
    ///
    /// The rules are those of the current definition. If a reload has removed the state that asked, they are those with which
    /// the run began.
    private func rules(for outcome: String, by asked: Asked) -> (rules: [EmissionRule], events: [EventDefinition])? {
        let program = present.now
        let isKnown = program.system.index(of: asked.state.index, in: asked.state.definition) != nil
        let used = isKnown ? program : asked.program
        return used.rules(for: outcome, in: asked.state).map { ($0, used.system.events) }
    }

    /// The reaction of the rules of the configuration to an outcome.
    enum Emission {
        case noRule
        case noneHolds
        case fault
        case event(SystemEvent)

        /// A Boolean value that indicates whether the configuration has rules for the outcome.
        var hasRule: Bool { if case .noRule = self { false } else { true } }

        /// A Boolean value that indicates whether a rule failed.
        var isFault: Bool { if case .fault = self { true } else { false } }

        /// A Boolean value that indicates whether there are rules, and none of them made an event.
        var isUnheard: Bool { hasRule && event == nil }

        /// The event that a rule made, or `nil`.
        var event: SystemEvent? { if case .event(let event) = self { event } else { nil } }
    }

    /// Returns the reaction of the rules to an outcome. Notes a fault if a rule fails.
    ///
    /// - Parameter run: The run that reports the outcome, or `nil` without a run.
    private func event(for outcome: String, _ result: Value, by asked: Asked, run: Run?) -> Emission {
        let asked = run == nil ? asked : updated(asked)
        guard let (rules, events) = rules(for: outcome, by: asked) else { return .noRule }
        let state = asked.state
        let now = time.now()
        var variables =
            state.definition.inputs.isEmpty
            ? Variables(state.data, .timestamp(now), result)
            : Variables([state.data, .timestamp(now), result, state.levels.inputs])
        var tried = 0
        do {
            for (index, rule) in rules.enumerated() {
                tried = index
                if let condition = rule.condition, try !condition.evaluateBool(&variables) { continue }
                let data = try rule.event.data.evaluate(&variables)
                if let breach = events[rule.event.event].breach(of: data) {
                    noteOutcome(outcome, breach.description, rule: tried, in: asked, run)
                    return .fault
                }
                let size = SystemEvent.size(of: data)
                if let excess = room.excess(ofSize: size, "the event '\(events[rule.event.event].name)'") {
                    noteOutcome(outcome, excess, rule: tried, in: asked, run)
                    return .fault
                }
                let cause = Cause(
                    Cause.FeedbackOrigin(sources.first { $0.outcome == outcome } ?? ownSource, begun: run?.begun),
                    of: asked.record, at: now,
                    value: told(result))
                return .event(SystemEvent(index: rule.event.event, data: data, cause: cause, size: size))
            }
        } catch {
            noteOutcome(outcome, error.message, rule: tried, in: asked, run)
            return .fault
        }
        return .noneHolds
    }

    /// Returns the excerpt of a result for traces and causes. Returns `null` if the side effect has secret arguments, because
    /// the result may repeat a secret.
    func told(_ result: Value) -> Value {
        definition.secretArguments.isEmpty ? Excerpt.of(result) : .null
    }

    /// Notes the fault that an outcome gave no event.
    ///
    /// With secret arguments, the fault omits the message. The message may repeat the outcome, and the outcome a secret.
    private func noteOutcome(_ outcome: String, _ message: String, rule: Int, in asked: Asked, _ run: Run?) {
        let isOpen = definition.secretArguments.isEmpty
        let part = WrittenPart.outcome(
            feedback: definition.name, state: asked.state.record.name, outcome: outcome, index: rule)
        let fault = fault(
            of: outcome, in: part, key: run?.turn.key,
            isOpen ? message : "no event could be made of it; why is not shown, since a secret was given")
        if let run { note(fault, in: run) } else { note(fault, in: asked.stretch) }
    }
}
