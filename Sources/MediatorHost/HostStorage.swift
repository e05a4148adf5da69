import MediatorConfiguration
import Synchronization

extension Host {
    /// Notes which systems go on in memory, because the store does not have their newest states. They are degraded.
    ///
    /// - Parameter troubles: The reasons with the remedies, by the names of the systems. The store has the states of all others.
    package func note(storeTroubles troubles: [String: String]) {
        for system in current.systems where system.definition.persistence == .state {
            system.note(storeTrouble: troubles[system.name])
        }
    }
}

extension HostedSystem {
    /// Begins the condition of a state that is not stored, or ends it if there is no reason any more.
    fileprivate func note(storeTrouble reason: String?) {
        guard let reason else { return end(by: .accepted, of: nil) }
        let fault = Fault(part: "state", message: "is not stored: \(reason)", condition: .refusal)
        let now = time.now()
        let isNews = status.withLock { status in
            _ = status.conditions.begin(.refusal, fault, at: now)
            return status.note(at: now)
        }
        if isNews { healthChanged() }
    }
}
