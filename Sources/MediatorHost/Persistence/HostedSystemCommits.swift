import CommonExpression
import Logging
import MediatorConfiguration
import Synchronization

// The commits of a persisted system.
extension CommitGate {
    /// The wait for the journal after which a system is degraded.
    static let lateLimit = Duration.seconds(1)
    /// The wait for the journal after which a system has failed.
    static let failureLimit = Duration.seconds(30)

    /// Returns a gate for an incarnation, or `nil` if the system is not persisted.
    convenience init?(
        of definition: SystemDefinition, number: UInt64, journal: HostJournal?, reportingTo box: ReportBox,
        time: HostTime
    ) {
        guard let journal, definition.persistence == .state else { return nil }
        self.init(of: definition.name, number: number, journal: journal, reportingTo: box, time: time)
    }
}

extension HostedSystem {
    /// Returns the gate for the commits of an incarnation, or `nil` if the system is not persisted.
    func commits(of definition: SystemDefinition, _ number: UInt64) -> CommitGate? {
        CommitGate(of: definition, number: number, journal: journal, reportingTo: reports, time: time)
    }

    /// Looks whether the incarnation waits too long for the journal. The end of the wait ends the condition.
    func look(at commits: CommitGate, of incarnation: Incarnation, at elapsed: Duration) {
        guard let wait = commits.wait, elapsed - wait.start >= CommitGate.lateLimit else { return }
        let fault = Fault(part: "state", message: "waits for the store since \(wait.since)", condition: .store)
        let hasFailed = elapsed - wait.start >= CommitGate.failureLimit
        let now = time.now()
        let (isNew, isNews) = status.withLock { status in
            // Asked under the lock, so that the end of the wait comes before or after.
            guard incarnation === status.incarnation, commits.tells(wait) else { return (false, false) }
            let isNew = status.conditions.begin(.store, fault, at: now)
            if hasFailed, status.failure == nil { (status.failure, status.failureTime) = (fault, wait.since) }
            return (isNew, status.note(at: now))
        }
        if isNews { healthChanged() }
        if isNew {
            logger.warning(
                "a new state waits for the store", metadata: ["since": "\(wait.since)"])
        }
    }
}
