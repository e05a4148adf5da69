import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// A restart: another incarnation takes the place of the present one.
extension HostedSystem {
    /// The right to restart a system. A later claim or a stop ends it.
    struct Claim: Sendable {
        let system: HostedSystem
        let number: UInt64
    }

    /// Claims the system for a restart. Returns `nil` if it is not started, restarts already, or leaves.
    ///
    /// - Parameters:
    ///   - treatment: The treatment, in words for `status`.
    ///   - cause: The reason.
    ///   - isByHand: A Boolean value that indicates whether a system that has ended because of faults may restart.
    func claim(_ treatment: String, because cause: Cause, isByHand: Bool = false) -> Claim? {
        let (number, isNews, incarnation) = status.withLock { status -> (UInt64?, Bool, Incarnation?) in
            guard status.phase == .running || (isByHand && status.phase == .givenUp) else { return (nil, false, nil) }
            let now = time.now()
            return (status.claim(treatment, because: cause, at: now), status.note(at: now), status.incarnation)
        }
        incarnation?.commits?.end()
        if isNews { healthChanged() }
        return number.map { Claim(system: self, number: $0) }
    }

    /// Puts a successor in the place of the present incarnation, and cancels that one. Later events wait for the
    /// successor.
    ///
    /// - Returns: The cancelled incarnation, or `nil` without a successor: the claim is lost, or a fault was noted.
    func exchange(_ claim: Claim) -> Incarnation? {
        // A lost claim is not carried out.
        guard status.withLock({ $0.phase == .restarting && $0.claim == claim.number }) else { return nil }
        // An incarnation that has ended reports its end only once.
        let present = incarnation
        let wasOver = present.loop.phase == .stopped
        var (lost, resets) = (0, 0)
        defer {
            if lost > 0 {
                logger.warning(
                    "events that waited are lost, since it begins anew",
                    metadata: .about(.eventsLost, ["count": "\(lost)"]))
            }
        }
        do throws(InitialStateError) {
            let design = design.now
            let behaviour = try design.make()
            let (number, cause) = status.withLock { ($0.incarnation.number + 1, $0.cause) }
            let successor = Incarnation(
                number, of: design.definition, behaviour, outlets,
                because: cause ?? Cause(Cause.BeginningOrigin(.start), at: time.now()),
                in: room, effects: effects, figures: design.figures, time: time,
                logger: hostLogger,
                repeats: repeats, recurring: recurring, reports: reports.reports(of: number),
                commits: commits(of: design.definition, number))
            var isOutdated = false
            let isOver = status.withLock { status -> Bool? in
                guard status.phase == .restarting, status.claim == claim.number else { return nil }
                // A reload came first.
                isOutdated = self.design.now.definition !== design.definition
                guard !isOutdated else { return nil }
                present.leaveLinks()
                status.incarnation = successor
                status.conditions.restart()
                reports.hasConditionOfState.store(false, ordering: .releasing)
                resets = status.waitingResets
                status.waitingResets = 0
                status.couldNotBeMade = false
                defer { status.isOver = false }
                if wasOver {
                    status.counters = status.counters + present.loop.counters
                } else {
                    status.earlier.append(present)
                }
                return status.isOver && !wasOver
            }
            if isOutdated { return exchange(claim) }
            // Another claim or a stop came first. The successor never begins.
            guard let isOver else { return nil }
            if isOver { settle(present) }
            renewals.tell(())
            lost = present.cancel() - resets
            return present
        } catch {
            let isClaimed = status.withLock { status in
                guard status.phase == .restarting, status.claim == claim.number else { return false }
                // Set before the fault claims the system again.
                status.couldNotBeMade = true
                return true
            }
            guard isClaimed else { return nil }
            lost = present.cancel() - status.withLock { $0.waitingResets }
            note(
                Fault("the initial state", in: .whole, message: error.description), of: nil, isOver: true,
                duringRestart: true)
            return nil
        }
    }

    /// A Boolean value that indicates whether the last restart failed, because the initial state could not be computed.
    var couldNotBeMade: Bool { status.withLock { $0.couldNotBeMade } }

    /// Notes the time, by the clock of the host, at which the restart of this claim begins.
    func willBegin(_ claim: Claim, at due: Duration) {
        status.withLock { status in
            guard status.phase == .restarting, status.claim == claim.number else { return }
            status.begins = due
        }
    }

    /// Starts the successor. Returns `false` if the claim is lost.
    ///
    /// - Parameter inputs: The events that set its inputs to their present values.
    /// - Parameter awaited: The links from buses with a value. Each shows the present value to the system.
    func beginAnew(_ claim: Claim, _ inputs: [SystemEvent], awaiting awaited: Set<ObjectIdentifier>) -> Bool {
        let now = time.now()
        let incarnation = status.withLock { status -> Incarnation? in
            guard status.phase == .restarting, status.claim == claim.number else { return nil }
            status.phase = .running
            status.awaited = awaited
            status.treatment = nil
            status.cause = nil
            status.failure = nil
            status.isResetting = false
            let words = status.incarnation.loop.state.definition
            status.isReady = words.readyStates.isEmpty
            status.hasBegun = false
            status.restarts += 1
            status.words = words
            status.state = status.incarnation.behaviour.initial.index
            status.inState = Health(words.stateHealth[status.state])
            _ = status.note(at: now)
            status.incarnation.commits?.count()
            return status.incarnation
        }
        guard let incarnation else { return false }
        healthChanged()
        start(incarnation, inputs, afterWaiting: true)
        return true
    }
}
