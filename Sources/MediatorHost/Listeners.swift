import FeedbackKit
import Synchronization

/// Those who want to be told of something. That nobody does costs one load.
final class Listeners<Subject: Sendable>: Sendable {
    private struct Machine {
        var nextID: UInt64 = 1
        var listeners: [UInt64: @Sendable (Subject) -> Void] = [:]
    }

    private let machine = Mutex(Machine())
    private let isAnyone = Atomic<Bool>(false)

    /// Whether anybody listens.
    var isEmpty: Bool { !isAnyone.load(ordering: .acquiring) }

    /// Tells all, in no order.
    func tell(_ subject: @autoclosure () -> Subject) {
        guard !isEmpty else { return }
        let listeners = machine.withLock { Array($0.listeners.values) }
        guard !listeners.isEmpty else { return }
        let subject = subject()
        for listener in listeners { listener(subject) }
    }

    /// Tells one from now on; it must not wait.
    func listen(_ listener: @escaping @Sendable (Subject) -> Void) -> Subscription {
        let id = machine.withLock { machine in
            defer { machine.nextID += 1 }
            machine.listeners[machine.nextID] = listener
            isAnyone.store(true, ordering: .releasing)
            return machine.nextID
        }
        return Subscription { [weak self] in
            guard let self else { return }
            // Handed out, so that what it holds is not released under the lock.
            let gone = machine.withLock { machine in
                defer { self.isAnyone.store(!machine.listeners.isEmpty, ordering: .releasing) }
                return machine.listeners.removeValue(forKey: id)
            }
            withExtendedLifetime(gone) {}
        }
    }
}
