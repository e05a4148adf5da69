import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The conditions for which a system is degraded.
extension HostedSystem {
    /// Takes a report of a feedback of an incarnation.
    func take(_ report: FeedbackReport, _ stretch: Standing.Stretch, of number: UInt64) {
        switch report {
        case .fault(let fault): note(fault, of: number, in: stretch)
        case .failure(let failure): note(failure: failure, of: number, in: stretch)
        case .lasts(let fault): noteAgain(fault, of: number, in: stretch)
        case .ended(let event): end(by: event, of: number, in: stretch)
        }
    }

    /// Notes a failure that no rule handles. Supervision does not react to it.
    private func note(failure: Fault, of number: UInt64, in stretch: Standing.Stretch) {
        let failure = failure.concealed(by: concealment).written(in: place)
        let now = time.now()
        let isNews = status.withLock { status in
            guard number == status.incarnation.number else { return false }
            status.failures += 1
            _ = begin(failure, in: stretch, &status, at: now)
            return status.note(at: now)
        }
        if isNews { healthChanged() }
    }

    /// Begins the condition of a fault that was reported in an earlier stretch.
    private func noteAgain(_ fault: Fault, of number: UInt64, in stretch: Standing.Stretch) {
        let fault = fault.concealed(by: concealment).written(in: place)
        let now = time.now()
        let isNews = status.withLock { status in
            guard number == status.incarnation.number else { return false }
            _ = begin(fault, in: stretch, &status, at: now)
            return status.note(at: now)
        }
        if isNews { healthChanged() }
    }

    /// Begins the condition of a fault, unless the fault belongs to a stretch of a feedback that has ended.
    ///
    /// - Returns: `true` if the condition is new.
    func begin(_ fault: Fault, in stretch: Standing.Stretch?, _ status: inout Status, at now: Timestamp) -> Bool {
        if let stretch {
            // In this order: see ``Standing``.
            stretch.standing.mark(true)
            guard stretch.isPresent else {
                stretch.standing.mark(status.conditions.hasCondition(of: fault.condition.feedback ?? ""))
                return false
            }
        }
        let isNew = status.conditions.begin(fault.condition, fault, at: now)
        if isNew { reports.hasConditionOfState.store(status.conditions.hasConditionOfState, ordering: .releasing) }
        return isNew
    }

    /// Ends the conditions that an event ends.
    ///
    /// - Parameters:
    ///   - again: The sources that have failed at the same time.
    ///   - number: The incarnation with the event, or `nil` for the present one.
    ///   - stretch: The stretch to which a result of a feedback belongs. A result of an earlier one ends nothing.
    func end(
        by event: Conditions.Event, unless again: Set<Conditions.Source> = [], of number: UInt64?,
        in stretch: Standing.Stretch? = nil
    ) {
        let (ended, isNews) = status.withLock { status -> ([Conditions.Condition], Bool) in
            guard number == nil || number == status.incarnation.number else { return ([], false) }
            if event.isResult, let stretch, !stretch.isPresent { return ([], false) }
            let ended = status.conditions.end(by: event, unless: again)
            if event.isStored, status.failure?.condition == .store { status.failure = nil }
            if let stretch, let feedback = event.feedback {
                stretch.standing.mark(status.conditions.hasCondition(of: feedback))
            }
            guard !ended.isEmpty else { return ([], false) }
            reports.hasConditionOfState.store(status.conditions.hasConditionOfState, ordering: .releasing)
            return (
                // A feedback with another condition does not work yet.
                ended.filter { !status.conditions.hasCondition(of: $0.source.feedback ?? "") },
                status.note(at: time.now())
            )
        }
        if isNews { healthChanged() }
        guard event.isRecovery, let feedback = ended.first?.source.feedback else { return }
        tellRecovery(of: feedback, from: ended.map { "\($0.fault.place)" })
    }

    /// Logs that a feedback works again. If that recurs, it is logged three times, and then once a minute.
    ///
    /// The withheld lines about its failures come before. Its next failure is logged at once, because the log would say
    /// that it works.
    private func tellRecovery(of feedback: String, from places: [String]) {
        let runner = incarnation.runners.withLock { $0.present }.first { $0.runner.definition.name == feedback }?.runner
        recurring.log(
            logger.with(["feedback": "\(feedback)"]), .notice, key: RepeatLog.Key("works again: \(feedback)"), burst: 3
        ) { [faultLog] in
            runner?.repeats.forget()
            for place in places { faultLog.forget(kind: place) }
            return ("works again", .about(.effectWorks))
        }
    }

    /// Notes that a link fires without a fault.
    func linkFired(_ link: ObjectIdentifier) { end(by: .fired(link), of: nil) }

    /// Looks for runs that take too long. Each begins a condition, which the end of the run ends.
    func lookAtRuns(at elapsed: Duration) {
        let incarnation = incarnation
        if let commits = incarnation.commits { look(at: commits, of: incarnation, at: elapsed) }
        var isNews = false
        for (runner, _) in incarnation.runners.withLock({ $0.present }) where runner.isAtWork {
            for run in runner.overdueRuns(at: elapsed) {
                let fault = runner.fault(of: run).written(in: place)
                let now = time.now()
                let isNew = status.withLock { status in
                    guard incarnation === status.incarnation else { return false }
                    // In this order: the end of the run removes it first, and looks at the mark then.
                    runner.standing.mark(true)
                    guard runner.hasRun(run.number) else {
                        runner.standing.mark(status.conditions.hasCondition(of: runner.definition.name))
                        return false
                    }
                    let isNew = status.conditions.begin(fault.condition, fault, at: now)
                    if status.note(at: now) { isNews = true }
                    return isNew
                }
                guard isNew else { continue }
                runner.logger.warning(
                    "a side effect takes too long",
                    metadata: .about(.effectOverdue, ["place": "\(fault.place)", "reason": "\(fault.message)"]))
            }
        }
        if isNews { healthChanged() }
    }
}
