import FeedbackKit
import Synchronization

/// The listeners to something. Without listeners, a notification costs one atomic load.
final class Listeners<Subject: Sendable>: Sendable {
    private struct Machine {
        var nextID: UInt64 = 1
        var listeners: [UInt64: @Sendable (Subject) -> Void] = [:]
    }

    private let machine = Mutex(Machine())
    private let isAnyone = Atomic<Bool>(false)

    /// A Boolean value that indicates whether nobody listens.
    var isEmpty: Bool { !isAnyone.load(ordering: .acquiring) }

    /// Calls all listeners, in the order in which they were added.
    func tell(_ subject: @autoclosure () -> Subject) {
        guard !isEmpty else { return }
        let listeners = machine.withLock { $0.listeners }.sorted { $0.key < $1.key }
        guard !listeners.isEmpty else { return }
        let subject = subject()
        for (_, listener) in listeners { listener(subject) }
    }

    /// Adds a listener. The listener must not wait.
    func listen(_ listener: @escaping @Sendable (Subject) -> Void) -> Subscription {
        let id = machine.withLock { machine in
            defer { machine.nextID += 1 }
            machine.listeners[machine.nextID] = listener
            isAnyone.store(true, ordering: .releasing)
            return machine.nextID
        }
        return Subscription { [weak self] in
            guard let self else { return }
            // The listener leaves the lock first, because its release may run other code.
            let gone = machine.withLock { machine in
                defer { self.isAnyone.store(!machine.listeners.isEmpty, ordering: .releasing) }
                return machine.listeners.removeValue(forKey: id)
            }
            withExtendedLifetime(gone) {}
        }
    }
}
