import DequeModule
import Synchronization

/// What a mediator knows and decides, as a plain value.
///
/// Joining is an item of the same queue as the values, so that the order of everything is the order of the queue: a
/// subscriber gets the value that is current where it stands in the queue, then every value behind it.
package struct MediatorMachine<Value: Sendable> {
    /// One who receives.
    package struct Subscriber: Sendable {
        package let id: UInt64
        package let receive: @Sendable (Value) -> Void
    }

    private enum Item {
        case value(Value)
        case join(Subscriber)
    }

    /// What a delivery has to do next.
    package enum Step {
        /// Nothing: the delivery is over.
        case idle
        /// Deliver to these, in this order.
        case deliver(Value, [Subscriber])
    }

    private var queue = Deque<Item>()
    private var waitingValues = 0
    private var subscribers: [Subscriber] = []
    /// The value delivered last, for a mediator that remembers.
    private var delivered: Value?
    private var isDelivering = false
    private var nextID: UInt64 = 1
    private var sent: UInt64 = 0
    private var dropped: UInt64 = 0
    private let remembers: Bool
    private let limit: Int
    private let overflow: Overflow
    /// The value sent last, for a mediator that remembers.
    package private(set) var current: Value?

    package init(current: Value?, limit: Int, overflow: Overflow) {
        precondition(limit >= 1, "a mediator needs room for at least one value, not \(limit)")
        self.current = current
        delivered = current
        remembers = current != nil
        self.limit = limit
        self.overflow = overflow
    }

    /// A value arrives; `true` if the caller must deliver.
    package mutating func send(_ value: Value) -> Bool {
        sent += 1
        if waitingValues >= limit {
            dropped += 1
            guard overflow == .dropOldest,
                let oldest = queue.firstIndex(where: { if case .value = $0 { true } else { false } })
            else { return false }
            queue.remove(at: oldest)
            waitingValues -= 1
        }
        if remembers { current = value }
        queue.append(.value(value))
        waitingValues += 1
        return wake()
    }

    /// Someone subscribes; answers the id, and whether the caller must deliver.
    package mutating func join(_ receive: @escaping @Sendable (Value) -> Void) -> (id: UInt64, mustDeliver: Bool) {
        let subscriber = Subscriber(id: nextID, receive: receive)
        nextID += 1
        queue.append(.join(subscriber))
        return (subscriber.id, wake())
    }

    /// Someone leaves.
    package mutating func leave(_ id: UInt64) {
        subscribers.removeAll { $0.id == id }
        queue.removeAll { if case .join(let subscriber) = $0 { subscriber.id == id } else { false } }
    }

    /// Whether a subscriber is still there.
    package func contains(_ id: UInt64) -> Bool {
        subscribers.contains { $0.id == id }
    }

    private mutating func wake() -> Bool {
        if isDelivering { return false }
        isDelivering = true
        return true
    }

    /// Takes the next item.
    package mutating func next() -> Step {
        while let item = queue.popFirst() {
            switch item {
            case .value(let value):
                waitingValues -= 1
                if remembers { delivered = value }
                if !subscribers.isEmpty { return .deliver(value, subscribers) }
            case .join(let subscriber):
                subscribers.append(subscriber)
                if let delivered { return .deliver(delivered, [subscriber]) }
            }
        }
        isDelivering = false
        return .idle
    }

    /// How it stands.
    package var snapshot: MediatorSnapshot {
        MediatorSnapshot(subscribers: subscribers.count, waiting: waitingValues, sent: sent, dropped: dropped)
    }
}

/// The gate around a ``MediatorMachine``.
final class MediatorCore<Value: Sendable>: Sendable {
    private let machine: Mutex<MediatorMachine<Value>>

    init(current: Value?, limit: Int, overflow: Overflow) {
        machine = Mutex(MediatorMachine(current: current, limit: limit, overflow: overflow))
    }

    var current: Value? { machine.withLock { $0.current } }

    var snapshot: MediatorSnapshot { machine.withLock { $0.snapshot } }

    func send(_ value: Value) {
        if machine.withLock({ $0.send(value) }) { deliver() }
    }

    func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription {
        let (id, mustDeliver) = machine.withLock { $0.join(receive) }
        if mustDeliver { deliver() }
        return Subscription { [weak self] in
            self?.machine.withLock { $0.leave(id) }
        }
    }

    /// Delivers what waits. Only one delivery is under way at a time.
    private func deliver() {
        while case .deliver(let value, let subscribers) = machine.withLock({ $0.next() }) {
            for subscriber in subscribers {
                // Looked up only where someone may have left meanwhile: the first has just been seen.
                if subscribers.count > 1, !machine.withLock({ $0.contains(subscriber.id) }) { continue }
                subscriber.receive(value)
            }
        }
    }
}
