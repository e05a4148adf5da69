import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The reports of a system's loop, its faults and their treatment.
extension HostedSystem {
    func take(_ report: ReportBox.Report) {
        switch report {
        case .fault(let fault, let number, let isFailure): note(fault, of: number, isFailure: isFailure)
        case .traced(let happening, let number): trace(happening, of: number)
        case .broke(let fault, let number):
            note(Fault("the loop", message: "\(fault.error)"), of: number, isOver: true)
        case .ended(let number):
            let ended = status.withLock { status -> Incarnation? in
                if number == status.incarnation.number { status.isOver = true }
                return status.earlier.first { $0.number == number }
            }
            if let ended { settle(ended) }
        case .wasReset(let number):
            take(.tookReset(number))
            take(.hasReset(number))
        case .tookReset(let number):
            status.withLock { status in
                if number == status.incarnation.number { status.waitingResets -= 1 }
            }
        case .hasReset(let number):
            status.withLock { status in
                guard number == status.incarnation.number else { return }
                status.isResetting = false
                status.failure = nil
            }
            end(by: .reset, of: number)
        case .feedback(let report, let stretch, let number): take(report, stretch, of: number)
        case .ends(let event, let again, let number): end(by: event, unless: again, of: number)
        }
    }

    /// Keeps the counters of an ended incarnation, and releases the incarnation.
    func settle(_ ended: Incarnation) {
        status.withLock { status in
            guard let index = status.earlier.firstIndex(where: { $0 === ended }) else { return }
            status.earlier.remove(at: index)
            status.counters = status.counters + ended.loop.counters
        }
    }

    func entered(_ state: SystemState, from old: SystemState?, of number: UInt64) {
        let words = state.definition
        let isReadyState = words.readyStates.isEmpty || words.readyStates.contains(state.index)
        // Forgotten steps are released after the lock.
        var forgotten: Trace.Forgotten?
        let (isNews, waiters, readiness) = status.withLock { status -> (Bool, [@Sendable () -> Void], PendingCall?) in
            guard number == status.incarnation.number else { return (false, [], nil) }
            forgotten = status.trace.note(entered: state.record, from: old?.record)
            status.hasBegun = true
            if isReadyState { status.isReady = true }
            if status.words !== words { status.words = words }
            status.state = state.index
            status.entered = state.since
            status.inState = Health(words.stateHealth[state.index])
            // A state that was carried over may be older than the system.
            let isNews = status.note(at: max(state.changed, status.since)) || state.previous == nil
            guard isReadyState else { return (isNews, [], nil) }
            defer { status.readiness = nil }
            return (isNews, status.takeWaiters(), status.readiness)
        }
        withExtendedLifetime(forgotten) {}
        readiness?.cancel()
        for tell in waiters { tell() }
        if isNews { healthChanged() }
        // A reset restarts the time limit for readiness.
        if state.record.isOfReset, !isReadyState { limitReadiness(of: incarnation) }
    }

    /// Records a step in the trace.
    func trace(_ happening: Happening, of number: UInt64) {
        let happening = happening.concealed(by: concealment).written(in: place)
        let forgotten = status.withLock { status -> Trace.Forgotten? in
            guard number == status.incarnation.number else { return nil }
            return status.trace.note(.other(happening))
        }
        withExtendedLifetime(forgotten) {}
    }

    /// The recent steps of the system with their numbers, the oldest first.
    var trace: [(number: Int, step: Trace.Step)] { status.withLock { $0.trace.steps } }

    /// Notes a fault of a link of the system.
    func note(_ fault: Fault) { note(fault, of: nil) }

    /// Notes, counts and logs a fault, and carries out the supervision decision.
    ///
    /// The system is degraded until an event ends the condition that the fault begins: see ``Conditions``.
    ///
    /// - Parameters:
    ///   - stretch: The stretch to which a fault of a feedback belongs. A fault of an earlier one begins no condition.
    ///   - number: The incarnation with the fault, or `nil` for the present one. A fault of an earlier one is recorded
    ///     and logged only.
    ///   - isFailure: A Boolean value that indicates whether the system counts as failed until a restart or a reset.
    ///   - isOver: A Boolean value that indicates whether the loop has ended with the fault.
    ///   - wanted: The action to take, or `nil` for the action that the definition has for all faults.
    ///   - duringRestart: A Boolean value that indicates whether a restart has failed with the fault.
    func note(
        _ fault: Fault, of number: UInt64?, in stretch: Standing.Stretch? = nil, isFailure: Bool = false,
        isOver: Bool = false,
        action wanted: FaultAction? = nil,
        duringRestart: Bool = false
    ) {
        let fault = fault.concealed(by: concealment).written(in: place)
        let elapsed = time.elapsed()
        let now = time.now()
        var forgotten: Trace.Forgotten?
        // The state at the time of the fault.
        var present: (state: String, entered: Timestamp)?
        let (isNews, decision, claimed, waiters) = status.withLock {
            status -> (Bool, SupervisionMachine.Decision, (claim: UInt64, Incarnation), [@Sendable () -> Void]) in
            func untreated(_ isNews: Bool) -> (
                Bool, SupervisionMachine.Decision, (claim: UInt64, Incarnation), [@Sendable () -> Void]
            ) { (isNews, .none, (status.claim, status.incarnation), []) }
            forgotten = status.trace.note(.other(Happening(.failed, nil, nil, at: now, fault)))
            status.lastFault = fault
            status.faultTime = now
            status.faults += 1
            guard number == nil || number == status.incarnation.number else { return untreated(false) }
            present = (status.nameOfState, status.entered)
            if !isFailure {
                _ = begin(fault, in: stretch, &status, at: now)
            } else if status.failure == nil {
                (status.failure, status.failureTime) = (fault, now)
            }
            // A system that restarts, resets or ends needs no other treatment.
            let isTreated = duringRestart ? status.phase != .restarting : status.phase != .running || status.isResetting
            guard !isTreated || (isOver && status.phase == .running) else { return untreated(status.note(at: now)) }
            let action = wanted ?? definition.supervision.onFault
            let cause = Cause(Cause.FaultOrigin("restart", of: definition.name, on: fault), at: now)
            let decision = status.supervision.decide(
                duringRestart && action != .escalate ? .restart : action, at: elapsed, isOver: isOver)
            // Decided and begun under one lock, so that simultaneous faults are not treated twice.
            status.begin(decision, because: cause, at: now)
            return (status.note(at: now), decision, (status.claim, status.incarnation), status.takeWaiters())
        }
        withExtendedLifetime(forgotten) {}
        if isNews { healthChanged() }
        let told = Logger.Metadata.about(
            .systemFault, because: present.map { "\(definition.name)/\($0.entered)" },
            ["place": "\(fault.place)", "reason": "\(fault.message)"]
        )
        .inJournal(["state": present?.state])
        let text = "a part of the system failed"
        if case .none = decision {
            faultLog.log(logger, .error, kind: "\(fault.place)", detail: fault.message) { (text, told) }
        } else {
            // The consequence is logged each time, so its reason is, too.
            logger.error("\(text)", metadata: told)
        }
        for tell in waiters { tell() }
        carryOut(
            decision, on: fault, Claim(system: self, number: claimed.claim), claimed.1, at: elapsed, now)
    }

    /// Carries out a supervision decision on this system, whose status is prepared, and passes the rest to the host.
    func carryOut(
        _ decision: SupervisionMachine.Decision, on fault: Fault, _ claim: Claim, _ incarnation: Incarnation,
        at elapsed: Duration, _ now: Timestamp
    ) {
        let limit = definition.supervision.limit
        func told(_ id: MessageID, _ metadata: Logger.Metadata = [:]) -> Logger.Metadata {
            metadata.about(id, because: Cause.id(ofFaultOf: definition.name))
        }
        switch decision {
        case .none: return
        case .reset(let attempt):
            let cause = Cause(Cause.FaultOrigin("reset", of: definition.name, on: fault), at: now)
            guard sendReset(to: incarnation, because: cause) else { return }
            logger.warning(
                "reset to the initial state", metadata: told(.systemReset, ["attempt": "\(limit.text(attempt))"]))
        case .restart(let delay, let attempt):
            incarnation.commits?.end()
            logger.warning(
                "restarting",
                metadata: told(
                    .systemRestarting,
                    ["delay": "\(TimeSpan(delay)?.brief ?? "\(delay)")", "attempt": "\(limit.text(attempt))"]))
        case .stop(let isLimit):
            incarnation.commits?.end()
            incarnation.cancel()
            logger.error(
                "\(limit.ending(isLimit)); it begins anew when it is restarted, or its configuration is changed",
                metadata: told(.systemEnded))
        case .escalate(let isLimit):
            incarnation.commits?.end()
            logger.critical(
                "the daemon ends on account of this system",
                metadata: told(
                    .systemEscalates, isLimit ? ["limit": "\(limit)"] : [:]))
        }
        supervise(claim, decision, elapsed)
    }
}
