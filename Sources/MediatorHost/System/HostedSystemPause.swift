import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The pauses of a system, and its end because of a fault.
extension HostedSystem {
    /// Pauses the system, which takes no event and begins no side effect until it is resumed.
    ///
    /// - Returns: `false` if the system was paused already, or `nil` if it does not run.
    func pause(_ pause: Pause) -> Bool? {
        // The loop pauses under the lock, so that a simultaneous resume or stop comes before or after. The loop makes no
        // callbacks here.
        var forgotten: Trace.Forgotten?
        let (isNews, limit) = status.withLock { status -> (Bool?, PendingCall?) in
            guard status.phase == .running else { return (nil, nil) }
            guard status.pause == nil else { return (false, nil) }
            // A loop whose first state waits for the journal begins with the pause.
            let isStarting = status.incarnation.commits?.isStarting ?? false
            guard isStarting || status.incarnation.pause() else { return (nil, nil) }
            status.pause = pause
            forgotten = status.trace.note(.other(Happening(.paused(by: pause.by), nil, nil, at: pause.since)))
            _ = status.note(at: pause.since)
            defer { status.readiness = nil }
            return (true, status.readiness)
        }
        withExtendedLifetime(forgotten) {}
        limit?.cancel()
        if isNews == true { healthChanged() }
        return isNews
    }

    /// Resumes a paused system. Returns `false` if it was not paused, or if another caller resumes it now.
    ///
    /// - Parameters:
    ///   - who: The user who resumes the system, in words.
    ///   - begins: A function that is called if the system was paused, before it takes an event.
    func resume(by who: String, begins: () -> Void) -> Bool {
        let now = time.now()
        var forgotten: Trace.Forgotten?
        // Only one of several simultaneous callers resumes the system. Until that is done, it counts as paused.
        let incarnation = status.withLock { status -> Incarnation? in
            guard let pause = status.pause, !status.isResuming else { return nil }
            status.isResuming = true
            let span = now.span(since: pause.since)
            forgotten = status.trace.note(.other(Happening(.resumed(by: who, after: span), nil, nil, at: now)))
            return status.incarnation
        }
        withExtendedLifetime(forgotten) {}
        guard let incarnation else { return false }
        begins()
        let hasResumed = incarnation.resume()
        let (isResumed, isStarting) = status.withLock { status in
            status.isResuming = false
            let isStarting = incarnation.commits?.isStarting ?? false
            guard hasResumed || isStarting, status.incarnation === incarnation else { return (hasResumed, isStarting) }
            status.pause = nil
            _ = status.note(at: now)
            return (true, isStarting)
        }
        guard isResumed else { return false }
        healthChanged()
        // The time limit for readiness starts again. A loop that has yet to start has it from its start.
        if !isStarting { limitReadiness(of: incarnation) }
        return true
    }

    /// The present pause, or `nil` if the system is not paused.
    var pauseState: Pause? { status.withLock { $0.pause } }

    /// Ends the system because of a fault. Returns `false` if it has ended already or ends for good.
    func giveUp(_ treatment: String) -> Bool {
        let (incarnation, waiters) = status.withLock { status -> (Incarnation?, [@Sendable () -> Void]) in
            guard status.phase != .givenUp, status.phase != .leaving else { return (nil, []) }
            let now = time.now()
            status.giveUp(treatment, at: now)
            _ = status.note(at: now)
            return (status.incarnation, status.takeWaiters())
        }
        guard let incarnation else { return false }
        incarnation.commits?.end()
        incarnation.cancel()
        healthChanged()
        for tell in waiters { tell() }
        return true
    }

    /// Forgets the restarts and resets because of faults, when an administrator restarts or resets the system.
    func forgetFaults() {
        status.withLock { $0.supervision.forget() }
    }
}
