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
        let (health, isNews) = status.withLock { status in
            let isNews = status.forget(at: elapsed, time.now())
            return (status.present, isNews)
        }
        if isNews { healthChanged() }
        return health
    }

    /// The health of the system, with its beginning unless the system is stopped, and with the reason if it is not healthy.
    ///
    /// A fault that is older than ``faultMemory`` expires here, at the next transition or at the next look at the loop.
    var wellness: Wellness {
        let elapsed = time.elapsed()
        let (wellness, isNews) = status.withLock { status in
            let isNews = status.forget(at: elapsed, time.now())
            let health = status.present
            let reason = status.reason
            return (
                Wellness(
                    health: health, since: health == .stopped ? nil : status.since, reason: reason?.text,
                    // A reason does not apply before the present health began.
                    reasonSince: reason?.since.map { max($0, status.since) }), isNews
            )
        }
        if isNews { healthChanged() }
        return wellness
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
}
