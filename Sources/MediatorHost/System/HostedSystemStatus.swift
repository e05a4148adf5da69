import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The status of a system, under its lock.
extension HostedSystem {
    struct Status {
        var phase = Phase.built
        /// The phase in which the system was ended for good.
        var left: Phase?
        var incarnation: Incarnation
        /// The system in whose last state this one begins, until the start.
        var predecessor: HostedSystem?
        /// The system that takes the place of this one.
        var successor: HostedSystem?
        /// A Boolean value that indicates whether the present incarnation has ended.
        var isOver = false
        /// The number of the last claim. A restart goes on only while its claim is the last one.
        var claim: UInt64 = 0
        /// The links from current-value buses that have not yet shown the present value. The system takes no events from
        /// them.
        var awaited: Set<ObjectIdentifier> = []
        /// The earlier incarnations that have not ended.
        var earlier: [Incarnation] = []
        /// The counters of all ended incarnations.
        var counters = LoopCounters()
        var supervision: SupervisionMachine
        /// The number of restarts.
        var restarts: UInt64 = 0
        /// The number of resets.
        var resets: UInt64 = 0
        /// A Boolean value that indicates whether the system is on its way to its initial state.
        var isResetting = false
        /// The number of resets that wait in the mailbox. They do not count as events.
        var waitingResets = 0
        /// A Boolean value that indicates whether the last restart failed to compute the initial state.
        var couldNotBeMade = false
        /// The present pause.
        var pause: Pause? { didSet { isPaused = pause != nil } }
        /// A Boolean value that indicates whether the system is paused. It is read at each event, and ``pause`` is large.
        private(set) var isPaused = false
        /// A Boolean value that indicates whether a caller resumes the system now.
        var isResuming = false
        /// The treatment of a fault, in words, and its beginning, if the system does not run.
        var treatment: (text: String, since: Timestamp)?
        /// The side effects for which a stop waits, and the end of that wait by the clock of the host.
        var stopWait: (feedbacks: [String], until: Duration, isCancelled: Bool)?
        /// The cause of the present restart.
        var cause: Cause?
        /// The recent steps of the system.
        var trace = Trace()

        /// A Boolean value that indicates whether the system has reached a state that counts as ready.
        var isReady = false
        /// A Boolean value that indicates whether the first state has been shown.
        var hasBegun = false
        /// The call at the end of the time limit for readiness.
        var readiness: PendingCall?
        /// The functions to call when the system becomes ready or can no longer become ready.
        var waiters: [UInt64: @Sendable () -> Void] = [:]
        var nextWaiter: UInt64 = 1

        var lastFault: Fault?
        /// The conditions of the parts that do not work.
        var conditions = Conditions()
        /// The number of failures that no rule handled.
        var failures: UInt64 = 0
        /// The fault of an event that the system must handle and did not. It makes the system failed until a restart or
        /// a reset.
        var failure: Fault? { didSet { hasFailed = failure != nil } }
        /// The time of ``failure``.
        var failureTime: Timestamp?
        /// A Boolean value that indicates whether ``failure`` is set. It is read at each event.
        private(set) var hasFailed = false
        /// The time of the last fault.
        var faultTime: Timestamp?
        var faults: UInt64 = 0
        /// The time of the restart for which the system waits, by the clock of the host.
        var begins: Duration?
        /// The definition to which the index of the state belongs.
        var words: SystemDefinition
        /// The index of the state.
        var state: Int
        /// The time at which the state was entered.
        var entered: Timestamp
        /// The health that the definition declares for the state.
        var inState = Health.healthy
        /// The health at the last look, and its beginning.
        var health = Health.starting
        var since: Timestamp
        /// The watch over the progress of the loop.
        var watch = LoopWatch()
        /// The time at which the loop was found to be late.
        var lateSince: Timestamp?
        /// The functions to call when the loop proves that it makes progress.
        var proofs: [@Sendable () -> Void] = []

        /// The present health. It is read at each event, so it must not copy the whole status.
        @inline(__always)
        var present: Health {
            HealthSigns(
                phase: phase, inState: inState, isLate: watch.isLate, hasFailed: hasFailed, isPaused: isPaused,
                isReady: isReady, isDegraded: conditions.isDegraded
            ).health
        }

        /// The reason for a health other than healthy, and the beginning of the reason. The health itself may have begun
        /// earlier.
        var reason: (text: String, since: Timestamp?)? {
            var byState: (String, Timestamp?) { ("its state is '\(nameOfState)'", entered) }
            func told(_ fault: Fault, _ time: Timestamp?) -> (String, Timestamp?) {
                ("\(fault.place): \(fault.message)", time)
            }
            if let treatment {
                let fault = lastFault.map { "; \(told($0, nil).0)" } ?? ""
                return (treatment.text + fault, treatment.since)
            }
            switch present {
            case .healthy, .stopped: return nil
            case .failed:
                if let late = watch.late { return (late.reason, lateSince) }
                return failure.map { told($0, failureTime) } ?? byState
            case .degraded:
                if let pause { return (pause.text, pause.since) }
                return inState == .degraded ? byState : condition
            case .starting:
                guard phase == .running else { return nil }
                let wanted = words.names(of: words.readyStates).map { "'\($0)'" }
                guard !wanted.isEmpty else { return nil }
                let text = "\(byState.0), and it is ready in \(wanted.joined(separator: " or "))"
                return (text + (condition.map { "; \($0.text)" } ?? ""), entered)
            }
        }

        /// The condition that has lasted longest, with the number of the others, and its beginning.
        private var condition: (text: String, since: Timestamp?)? {
            guard let oldest = conditions.oldest else { return nil }
            let others = conditions.count > 1 ? "; \(conditions.count - 1) more" : ""
            return ("\(oldest.fault.place): \(oldest.fault.message.prefix(300))\(others)", oldest.since)
        }

        var nameOfState: String { words.states[state].name }

        /// Updates the health. Returns `true` if it has changed.
        mutating func note(at time: Timestamp) -> Bool {
            let present = present
            guard present != health else { return false }
            health = present
            since = time
            return true
        }

        /// Removes and returns the waiting functions, if the system is ready or can no longer become ready.
        mutating func takeWaiters() -> [@Sendable () -> Void] {
            guard !waiters.isEmpty, !mayBecomeReady else { return [] }
            defer { waiters = [:] }
            // In their order, so that one seed gives one simulation.
            return waiters.sorted { $0.key < $1.key }.map(\.value)
        }

        /// Claims the system for a restart. Returns the number of the claim.
        mutating func claim(_ treatment: String, because cause: Cause, at time: Timestamp) -> UInt64 {
            phase = .restarting
            pause = nil
            self.cause = cause
            begins = nil
            self.treatment = (treatment, time)
            claim += 1
            return claim
        }

        /// Ends the system because of a fault.
        mutating func giveUp(_ treatment: String, at time: Timestamp) {
            phase = .givenUp
            pause = nil
            self.treatment = (treatment, time)
            claim += 1
        }

        /// Prepares the status for a supervision decision.
        mutating func begin(_ decision: SupervisionMachine.Decision, because cause: Cause, at time: Timestamp) {
            let limit = supervision.policy.limit
            switch decision {
            case .none, .escalate: break
            case .reset: isResetting = true
            case .restart(_, let attempt):
                _ = claim("being restarted (\(limit.text(attempt)))", because: cause, at: time)
            case .stop(let isLimit): giveUp(limit.ending(isLimit), at: time)
            }
        }

        /// A Boolean value that indicates whether the system is not ready and can still become ready.
        var mayBecomeReady: Bool { !(isReady && hasBegun) && phase != .givenUp && phase != .leaving }
    }
}

extension Health {
    /// The health that the configuration declares for a state. Without a declaration, it is healthy.
    init(_ health: StateHealth?) {
        switch health {
        case nil, .healthy: self = .healthy
        case .degraded: self = .degraded
        case .failed: self = .failed
        }
    }
}

extension RateLimit {
    /// Returns the text for an attempt, such as `2 of 10 per 600s`.
    func text(_ attempt: Int) -> String { "\(attempt) of \(self)" }

    /// Returns the text for the end of a system because of a fault or because of the limit.
    func ending(_ isLimit: Bool) -> String {
        isLimit ? "ended for good, after \(count) restarts or resets within \(period.brief)" : "ended for good"
    }
}
