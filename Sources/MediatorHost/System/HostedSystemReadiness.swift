import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The readiness of a system.
extension HostedSystem {
    /// Calls `done` when the system becomes ready or can no longer become ready, at once if that is the case already.
    func whenReady(_ done: @escaping @Sendable () -> Void) -> Subscription {
        let id: UInt64? = status.withLock { status in
            guard status.mayBecomeReady else { return nil }
            defer { status.nextWaiter += 1 }
            status.waiters[status.nextWaiter] = done
            return status.nextWaiter
        }
        guard let id else {
            done()
            return Subscription {}
        }
        return Subscription { [weak self] in
            // Returned from the lock, so that the closure is not released under it.
            let waiter = self?.status.withLock { $0.waiters.removeValue(forKey: id) }
            withExtendedLifetime(waiter) {}
        }
    }

    /// Starts the time limit for readiness, if the definition has a limit.
    func limitReadiness(of incarnation: Incarnation) {
        // A pause suspends the limit, and its end starts it again.
        guard let within = definition.readinessLimit.within, !isReady, pauseState == nil else { return }
        let call = incarnation.afterLimit(within.swiftDuration) { [weak self] in
            self?.isLate(incarnation.number, within: within.brief)
        }
        guard let call else { return }
        let isOver = status.withLock { status in
            guard status.incarnation.number == incarnation.number, !status.isReady else { return true }
            status.readiness = call
            return false
        }
        if isOver { call.cancel() }
    }

    func isLate(_ number: UInt64, within limit: String) {
        let name = status.withLock { status -> String? in
            guard status.incarnation.number == number, status.phase == .running, !status.isReady else { return nil }
            status.readiness = nil
            return status.nameOfState
        }
        guard let name else { return }
        let action = definition.readinessLimit.otherwise
        guard action != .continue else {
            logger.warning(
                "not ready in time; going on",
                metadata: .about(.systemNotReady, ["limit": "\(limit)", "state": "\(name)"]))
            return
        }
        note(
            Fault("ready", message: "not ready within \(limit): its state is '\(name)'"), of: number,
            action: action)
    }
}
