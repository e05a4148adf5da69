import CommonExpression
import MediatorConfiguration

/// Decides what is done about the faults of a system, and how often. It knows no clock: times are how long the host has
/// run.
struct SupervisionMachine {
    /// What is to be done about a fault.
    enum Decision: Equatable, Sendable {
        /// Nothing.
        case none
        /// The system goes to its initial state; the how many-th time within the period this is.
        case reset(attempt: Int)
        /// The system ends, and begins anew after a delay; the how many-th time within the period this is.
        case restart(after: Duration, attempt: Int)
        /// The system ends. `isLimit`: since it has been restarted or reset as often as it may.
        case stop(isLimit: Bool)
        /// The daemon ends.
        case escalate(isLimit: Bool)
    }

    let policy: SupervisionPolicy
    /// When it was restarted or reset within the last period; as many as the limit at most.
    private var times: [Duration] = []
    /// How long the next delay is.
    private var delay: Duration

    init(_ policy: SupervisionPolicy) {
        self.policy = policy
        delay = policy.delay.swiftDuration
    }

    /// What is to be done about a fault, and notes that it is done.
    ///
    /// - Parameters:
    ///   - action: what the configuration wants.
    ///   - elapsed: when the fault was.
    ///   - isOver: whether the system's loop has ended with the fault, so that it cannot go on as it is.
    /// - Complexity: O(the limit).
    mutating func decide(_ action: FaultAction, at elapsed: Duration, isOver: Bool = false) -> Decision {
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

    /// An administrator has restarted or reset it: what was before counts no longer.
    mutating func forget() {
        times = []
        delay = policy.delay.swiftDuration
    }
}
