import CommonExpression
package import MediatorConfiguration

/// A state machine that decides on the treatment of a system's faults, within a limit. It has no clock. All times count
/// from the start of the host.
package struct SupervisionMachine {
    /// The treatment of a fault.
    package enum Decision: Equatable, Sendable {
        /// No treatment.
        case none
        /// A reset to the initial state. The attempts count from 1 within the period.
        case reset(attempt: Int)
        /// A restart after a delay. The attempts count from 1 within the period.
        case restart(after: Duration, attempt: Int)
        /// The end of the system. `isLimit` is `true` if the limit of restarts and resets is reached.
        case stop(isLimit: Bool)
        /// The end of the daemon. `isLimit` is `true` if the limit of restarts and resets is reached.
        case escalate(isLimit: Bool)
    }

    private(set) var policy: SupervisionPolicy
    /// The times of restarts and resets within the last period, at most as many as the limit.
    private var times: [Duration] = []
    /// The delay of the next restart.
    private var delay: Duration

    package init(_ policy: SupervisionPolicy) {
        self.policy = policy
        delay = policy.delay.swiftDuration
    }

    /// Decides on the treatment of a fault, and counts the treatment.
    ///
    /// - Parameters:
    ///   - action: The action in the configuration.
    ///   - elapsed: The time of the fault.
    ///   - isOver: A Boolean value that indicates whether the loop has ended with the fault, so that the system cannot
    ///     go on.
    /// - Complexity: O(the limit).
    package mutating func decide(_ action: FaultAction, at elapsed: Duration, isOver: Bool = false) -> Decision {
        switch action {
        case .continue: return isOver ? .stop(isLimit: false) : .none
        case .stop: return .stop(isLimit: false)
        case .escalate: return .escalate(isLimit: false)
        case .reset, .restart: break
        }
        let period = policy.limit.period.swiftDuration
        times.removeAll { elapsed - $0 >= period }
        if times.isEmpty { delay = policy.delay.swiftDuration }
        guard times.count < policy.limit.count else {
            return policy.beyond == .stop ? .stop(isLimit: true) : .escalate(isLimit: true)
        }
        times.append(elapsed)
        if action == .reset {
            return isOver ? .restart(after: .zero, attempt: times.count) : .reset(attempt: times.count)
        }
        let present = delay
        delay = min(delay + delay, max(policy.maxDelay.swiftDuration, policy.delay.swiftDuration))
        return .restart(after: present, attempt: times.count)
    }

    /// Replaces the policy for later decisions. The counted restarts and resets stay.
    package mutating func follow(_ policy: SupervisionPolicy) {
        guard policy != self.policy else { return }
        self.policy = policy
        delay = policy.delay.swiftDuration
    }

    /// Forgets the counted restarts and resets, because an administrator has restarted or reset the system.
    package mutating func forget() {
        times = []
        delay = policy.delay.swiftDuration
    }
}
