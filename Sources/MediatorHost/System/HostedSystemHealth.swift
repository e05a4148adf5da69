import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The health of a system.
extension HostedSystem {
    /// The present health of the system.
    var health: Health { health(at: time.elapsed()) }

    /// Returns the present health. The caller passes the present time.
    func health(at elapsed: Duration) -> Health {
        lookAtRuns(at: elapsed)
        return status.withLock { $0.present }
    }

    /// The health of the system, with its beginning unless the system is stopped, and with the reason if it is not healthy.
    var wellness: Wellness {
        lookAtRuns(at: time.elapsed())
        return status.withLock { status in
            let health = status.present
            let reason = status.reason
            return Wellness(
                health: health, since: health == .stopped ? nil : status.since, reason: reason?.text,
                // A reason does not apply before the present health began.
                reasonSince: reason?.since.map { max($0, status.since) })
        }
    }

    /// The health of a system, with its beginning and its reason.
    struct Wellness {
        let health: Health
        /// The beginning of the health, or `nil` for a stopped system.
        let since: Timestamp?
        /// The reason, if the system is not healthy.
        let reason: String?
        /// The beginning of the reason.
        let reasonSince: Timestamp?
    }

    /// A Boolean value that indicates whether the system has reached a state that counts as ready.
    var isReady: Bool { status.withLock { $0.isReady } }

    /// The last fault, its time, and the number of faults.
    var faults: (last: Fault?, time: Timestamp?, count: UInt64) {
        status.withLock { ($0.lastFault, $0.faultTime, $0.faults) }
    }

    /// The name of the system with the part that keeps it degraded, such as `disk: feedback watch`.
    var failingPart: String? {
        status.withLock { status in
            guard status.present == .degraded, !status.isPaused, status.inState != .degraded else { return nil }
            return status.conditions.oldest.map { "\(name): \($0.fault.part)" }
        }
    }

    /// The names of the feedbacks that do not work.
    var failingFeedbacks: Set<String> {
        status.withLock { Set($0.conditions.all.compactMap(\.source.feedback)) }
    }

    /// The number of failures that no rule handled.
    var failures: UInt64 { status.withLock { $0.failures } }
}
