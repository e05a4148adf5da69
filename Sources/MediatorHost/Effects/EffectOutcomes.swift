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
            return event(for: EffectSchema.emit.name, .null, by: asked, begun: nil).event
        }
        publish(asked.state)
        return nil
    }

    private func carryOut(_ effect: any ImmediateEffect, _ asked: Asked) {
        let state = asked.state
        guard let arguments = given(asked)?.arguments else { return }
        let (begun, begin) = (time.now(), time.elapsed())
        figures.begin()
        effect.act(arguments, in: context(of: state, arguments) { _, _ in false })
        figures.end(after: time.elapsed() - begin)
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
        if !run.turn.isReplaced, !Task.isCancelled { note(fault(problem)) }
        return true
    }

    /// Turns an outcome into its event and sends it. Returns `true` if the configuration has rules for the outcome.
    func deliver(_ outcome: String, _ result: Value, _ run: Run) -> Bool {
        figures.report(outcome)
        run.outcomes.note(outcome, told(result), at: time.now())
        // The report goes first: the event of the outcome may lead to a state that withdraws later events.
        if !run.turn.isReplaced, let report = probe?.count(outcome, of: run.asked.stretch, run.thresholds) {
            tell(report, result, run)
        }
        let (hasRule, event) = event(for: outcome, result, by: run.asked, begun: run.begun)
        if let event, !run.turn.isReplaced { run.send(event) }
        return hasRule || isCounted(outcome, by: run.asked)
    }

    /// Delivers a change of the level of a probe, if the configuration has rules for it.
    ///
    /// The event belongs to the feedback, not to this run, so a new state does not withdraw it. The system takes the event
    /// unless it has since entered a state that does not ask for the side effect.
    func tell(_ report: ProbeWatch.Report, _ result: Value, _ run: Run) {
        let (hasRule, event) = event(for: report.outcome, result, by: run.asked, begun: run.begun)
        guard hasRule else { return }
        figures.report(report.outcome)
        run.outcomes.note(report.outcome, told(result), at: time.now())
        if let event { whenDue({ [probe] in probe?.holds(report) == true ? event : nil }, {}) }
    }

    /// Returns a Boolean value that indicates whether an outcome of a probe counts towards a change of its level for which the
    /// configuration has rules.
    func isCounted(_ outcome: String, by asked: Asked) -> Bool {
        guard probe != nil, outcome == "onSuccess" || outcome == "onFailure" else { return false }
        return rules(for: outcome == "onFailure" ? "onDown" : "onUp", by: asked) != nil
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

    /// Returns the event for an outcome, and a Boolean value that indicates whether the configuration has rules for it.
    ///
    /// - Parameter begun: The time at which the run began, or `nil` without a run.
    private func event(
        for outcome: String, _ result: Value, by asked: Asked, begun: Timestamp?
    ) -> (hasRule: Bool, event: SystemEvent?) {
        let asked = begun == nil ? asked : updated(asked)
        guard let (rules, events) = rules(for: outcome, by: asked) else { return (false, nil) }
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
                    noteOutcome(outcome, breach.description, rule: tried, in: state)
                    return (true, nil)
                }
                let size = SystemEvent.size(of: data)
                if let excess = room.excess(ofSize: size, "the event '\(events[rule.event.event].name)'") {
                    noteOutcome(outcome, excess, rule: tried, in: state)
                    return (true, nil)
                }
                let cause = Cause(
                    Cause.FeedbackOrigin(sources[outcome] ?? ownSource, begun: begun), of: asked.record, at: now,
                    value: told(result))
                return (true, SystemEvent(index: rule.event.event, data: data, cause: cause, size: size))
            }
        } catch {
            noteOutcome(outcome, error.message, rule: tried, in: state)
        }
        return (true, nil)
    }

    /// Returns the excerpt of a result for traces and causes. Returns `null` if the side effect has secret arguments, because
    /// the result may repeat a secret.
    func told(_ result: Value) -> Value {
        definition.secretArguments.isEmpty ? Excerpt.of(result) : .null
    }

    /// Notes the fault that an outcome gave no event.
    ///
    /// With secret arguments, the fault omits the message. The message may repeat the outcome, and the outcome a secret.
    private func noteOutcome(_ outcome: String, _ message: String, rule: Int, in state: SystemState) {
        let isOpen = definition.secretArguments.isEmpty
        let part = WrittenPart.outcome(
            feedback: definition.name, state: state.record.name, outcome: outcome, index: rule)
        note(
            fault(
                of: outcome, in: part,
                isOpen ? message : "no event could be made of it; why is not shown, since a secret was given"))
    }
}
