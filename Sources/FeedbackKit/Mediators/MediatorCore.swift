public import DequeModule
public import Synchronization

/// What a mediator knows and decides, as a plain value.
///
/// Joining is an item of the same queue as the values, so that the order of everything is the order of the queue: a
/// subscriber gets the value that is current where it stands in the queue, then every value behind it.
@usableFromInline
package struct MediatorMachine<Value: Sendable>: Sendable {
    /// One who receives.
    @usableFromInline
    package final class Subscriber: Sendable {
        @usableFromInline package let id: UInt64
        @usableFromInline package let receive: @Sendable (Value) -> Void
        /// Set when it leaves, so that a delivery which is under way passes it over.
        @usableFromInline package let hasLeft = Atomic<Bool>(false)

        @inlinable
        init(id: UInt64, receive: @escaping @Sendable (Value) -> Void) {
            self.id = id
            self.receive = receive
        }
    }

    @usableFromInline
    enum Item: Sendable {
        case value(Value)
        case join(Subscriber)
    }

    /// What a delivery has to do next.
    @usableFromInline
    package enum Step: Sendable {
        /// Nothing: the delivery is over.
        case idle
        /// Deliver to these, in this order.
        case deliver(Value, [Subscriber])
    }

    @usableFromInline var queue = Deque<Item>()
    @usableFromInline var waitingValues = 0
    @usableFromInline var subscribers: [Subscriber] = []
    /// The value delivered last, for a mediator that remembers.
    @usableFromInline var delivered: Value?
    @usableFromInline var isDelivering = false
    @usableFromInline var nextID: UInt64 = 1
    @usableFromInline var sent: UInt64 = 0
    @usableFromInline var dropped: UInt64 = 0
    @usableFromInline let remembers: Bool
    @usableFromInline let limit: Int
    @usableFromInline let overflow: Overflow
    /// The value sent last, for a mediator that remembers.
    @usableFromInline package internal(set) var current: Value?

    @inlinable
    package init(current: Value?, limit: Int, overflow: Overflow) {
        precondition(limit >= 1, "a mediator needs room for at least one value, not \(limit)")
        self.current = current
        delivered = current
        remembers = current != nil
        self.limit = limit
        self.overflow = overflow
    }

    /// Values that the machine no longer holds. They are handed out, since nothing may be released under the lock.
    @usableFromInline
    package struct Retired: Sendable {
        @usableFromInline var current: Value?
        @usableFromInline var delivered: Value?
        @usableFromInline var dropped: [Value] = []

        @inlinable
        package init() {}
    }

    /// A value arrives; `true` if the caller must deliver.
    @inlinable
    package mutating func send(_ value: Value, _ retired: inout Retired) -> Bool {
        sent += 1
        if waitingValues >= limit, !makeRoom(&retired) { return false }
        if remembers {
            retired.current = current
            current = value
        }
        queue.append(.value(value))
        waitingValues += 1
        return wake()
    }

    /// A value arrives while nothing is being delivered, so that nothing waits: it need not go through the queue. Answers
    /// who is to get it; the caller must deliver, and then take what has come meanwhile. `nil`: it must be sent.
    @inlinable
    package mutating func takeAtOnce(_ value: Value, _ retired: inout Retired) -> [Subscriber]? {
        guard !isDelivering else { return nil }
        sent += 1
        isDelivering = true
        if remembers {
            retired.current = current
            retired.delivered = delivered
            current = value
            delivered = value
        }
        return subscribers
    }

    /// The same for a mediator that does not remember, which holds no value that would have to be handed out. `nil`: it must be sent,
    /// or the mediator does remember.
    @inlinable
    package mutating func takeAtOnce() -> [Subscriber]? {
        guard !isDelivering, !remembers else { return nil }
        sent += 1
        isDelivering = true
        return subscribers
    }

    /// The delivery is over, unless something has come meanwhile; whether it is.
    @inlinable
    package mutating func endIfIdle() -> Bool {
        guard queue.isEmpty else { return false }
        isDelivering = false
        return true
    }

    /// Too many values wait: makes room for one more, or answers `false`: the new one is dropped.
    @usableFromInline
    mutating func makeRoom(_ retired: inout Retired) -> Bool {
        dropped += 1
        switch overflow {
        case .dropNewest, .fail, .block: return false
        case .dropOldest: removeOldestValue(&retired)
        case .keepLatest:
            dropped += UInt64(waitingValues - 1)
            while waitingValues > 0 { removeOldestValue(&retired) }
        }
        return true
    }

    /// Takes the oldest value out of the queue; those who join before it stay.
    @usableFromInline
    mutating func removeOldestValue(_ retired: inout Retired) {
        guard let oldest = queue.firstIndex(where: { if case .value = $0 { true } else { false } }) else { return }
        if case .value(let value) = queue.remove(at: oldest) { retired.dropped.append(value) }
        waitingValues -= 1
    }

    /// Someone subscribes; answers the id, and whether the caller must deliver.
    @inlinable
    package mutating func join(_ receive: @escaping @Sendable (Value) -> Void) -> (id: UInt64, mustDeliver: Bool) {
        let subscriber = Subscriber(id: nextID, receive: receive)
        nextID += 1
        queue.append(.join(subscriber))
        return (subscriber.id, wake())
    }

    /// Someone leaves. Answers who, so that what it holds is not released under the lock.
    @usableFromInline
    package mutating func leave(_ id: UInt64) -> [Subscriber] {
        var left = subscribers.filter { $0.id == id }
        subscribers.removeAll { $0.id == id }
        queue.removeAll { item in
            guard case .join(let subscriber) = item, subscriber.id == id else { return false }
            left.append(subscriber)
            return true
        }
        for subscriber in left { subscriber.hasLeft.store(true, ordering: .releasing) }
        return left
    }

    @inlinable
    mutating func wake() -> Bool {
        if isDelivering { return false }
        isDelivering = true
        return true
    }

    /// Takes the next item.
    @inlinable
    package mutating func next(_ retired: inout Retired) -> Step {
        while let item = queue.popFirst() {
            switch item {
            case .value(let value):
                waitingValues -= 1
                if remembers {
                    retired.delivered = delivered
                    delivered = value
                }
                // Also to nobody: the value is released by who delivers it, not under the lock.
                return .deliver(value, subscribers)
            case .join(let subscriber):
                subscribers.append(subscriber)
                if let delivered { return .deliver(delivered, [subscriber]) }
            }
        }
        isDelivering = false
        return .idle
    }

    /// How it stands.
    @usableFromInline
    package var snapshot: MediatorSnapshot {
        MediatorSnapshot(subscribers: subscribers.count, waiting: waitingValues, sent: sent, dropped: dropped)
    }
}

/// The gate around a ``MediatorMachine``.
@usableFromInline
final class MediatorCore<Value: Sendable>: Sendable {
    @usableFromInline let machine: Mutex<MediatorMachine<Value>>
    /// Whether it has a value for who comes late.
    @usableFromInline let remembers: Bool

    @inlinable
    init(current: Value?, limit: Int, overflow: Overflow) {
        remembers = current != nil
        machine = Mutex(MediatorMachine(current: current, limit: limit, overflow: overflow))
    }

    @inlinable
    var current: Value? { machine.withLock { $0.current } }

    var snapshot: MediatorSnapshot { machine.withLock { $0.snapshot } }

    @inlinable
    func send(_ value: Value) {
        var isOver = false
        var retired = MediatorMachine<Value>.Retired()
        if remembers {
            if let subscribers = machine.withLock({ $0.takeAtOnce(value, &retired) }) {
                isOver = deliver(value, to: subscribers)
            } else {
                isOver = !machine.withLock { $0.send(value, &retired) }
            }
        } else if let subscribers = machine.withLock({ $0.takeAtOnce() }) {
            isOver = deliver(value, to: subscribers)
        } else {
            isOver = !machine.withLock { $0.send(value, &retired) }
        }
        if !isOver { deliver() }
    }

    /// Delivers a value; whether nothing has come meanwhile, so that the delivery is over. Whom it was delivered to is not kept
    /// beyond that.
    @inlinable
    func deliver(_ value: Value, to subscribers: consuming [MediatorMachine<Value>.Subscriber]) -> Bool {
        for subscriber in subscribers where !subscriber.hasLeft.load(ordering: .acquiring) {
            subscriber.receive(value)
        }
        return machine.withLock { $0.endIfIdle() }
    }

    @inlinable
    func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription {
        let (id, mustDeliver) = machine.withLock { $0.join(receive) }
        if mustDeliver { deliver() }
        return Subscription { [weak self] in
            let left = self?.machine.withLock { $0.leave(id) }
            withExtendedLifetime(left) {}
        }
    }

    /// Delivers what waits. Only one delivery is under way at a time.
    @inlinable
    func deliver() {
        while true {
            var retired = MediatorMachine<Value>.Retired()
            guard case .deliver(let value, let subscribers) = machine.withLock({ $0.next(&retired) }) else { return }
            for subscriber in subscribers where !subscriber.hasLeft.load(ordering: .acquiring) {
                subscriber.receive(value)
            }
        }
    }
}
