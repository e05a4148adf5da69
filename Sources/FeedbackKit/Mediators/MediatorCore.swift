public import DequeModule
public import Synchronization

/// The task of a sender, which tells it from other senders.
///
/// All senders outside of tasks count as one, since the library cannot tell threads apart. Such a sender delivers the values of other
/// threads without a bound.
@usableFromInline
package struct SenderTask: Sendable, Hashable {
    @usableFromInline let hash: Int

    @inlinable
    package init(_ hash: Int) { self.hash = hash }

    /// The caller's.
    @inlinable
    package static var present: SenderTask { SenderTask(withUnsafeCurrentTask { $0?.hashValue ?? 0 }) }
}

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

    /// An entry of the queue, and the task that put it there.
    @usableFromInline
    enum Item: Sendable {
        case value(Value, of: SenderTask)
        case join(Subscriber, of: SenderTask)
        case visit(Visit, of: SenderTask)

        @inlinable
        var sender: SenderTask {
            switch self {
            case .value(_, let sender), .join(_, let sender), .visit(_, let sender): sender
            }
        }
    }

    /// A function that is called once, between two values, with the value before it if the mediator remembers.
    @usableFromInline package typealias Visit = @Sendable (Value?) -> Void

    /// What a delivery has to do next.
    @usableFromInline
    package enum Step: Sendable {
        /// Nothing: the delivery is over.
        case idle
        /// Have another task go on: this one has delivered its share for others. Nobody else delivers until then.
        case handOn
        /// Deliver to these, in this order.
        case deliver(Value, [Subscriber])
        /// Call this with that.
        case visit(Visit, Value?)
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
    @usableFromInline var limit: Int
    @usableFromInline var overflow: Overflow
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

    /// A value of a sender arrives; `true` if the caller must deliver.
    @inlinable
    package mutating func send(_ value: Value, of sender: SenderTask, _ retired: inout Retired) -> Bool {
        sent += 1
        if waitingValues >= limit, !makeRoom(&retired) { return false }
        if remembers {
            retired.current = current
            current = value
        }
        queue.append(.value(value, of: sender))
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
        if case .value(let value, _) = queue.remove(at: oldest) { retired.dropped.append(value) }
        waitingValues -= 1
    }

    /// Someone subscribes; answers the id, and whether the caller must deliver.
    @inlinable
    package mutating func join(
        _ receive: @escaping @Sendable (Value) -> Void, of sender: SenderTask
    ) -> (id: UInt64, mustDeliver: Bool) {
        let subscriber = Subscriber(id: nextID, receive: receive)
        nextID += 1
        queue.append(.join(subscriber, of: sender))
        return (subscriber.id, wake())
    }

    /// Puts a visit behind all that waits; `true` if the caller must deliver.
    @inlinable
    package mutating func add(_ visit: @escaping Visit, of sender: SenderTask) -> Bool {
        queue.append(.visit(visit, of: sender))
        return wake()
    }

    /// Changes how many values may wait, and what happens beyond that. Values that wait already stay.
    @inlinable
    package mutating func bound(limit: Int, overflow: Overflow) {
        precondition(limit >= 1, "a mediator needs room for at least one value, not \(limit)")
        (self.limit, self.overflow) = (limit, overflow)
    }

    /// Someone leaves. Answers who, so that what it holds is not released under the lock.
    @usableFromInline
    package mutating func leave(_ id: UInt64) -> [Subscriber] {
        var left = subscribers.filter { $0.id == id }
        subscribers.removeAll { $0.id == id }
        queue.removeAll { item in
            guard case .join(let subscriber, _) = item, subscriber.id == id else { return false }
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

    /// Takes the next item, unless it is another's and the share is used up.
    ///
    /// - Parameters:
    ///   - deliverer: the task that delivers.
    ///   - share: how many items of others it delivers.
    @inlinable
    package mutating func next(by deliverer: SenderTask, _ share: inout Int, _ retired: inout Retired) -> Step {
        while let sender = queue.first?.sender {
            if sender != deliverer {
                guard share > 0 else { return .handOn }
                share -= 1
            }
            switch queue.removeFirst() {
            case .value(let value, _):
                waitingValues -= 1
                if remembers {
                    retired.delivered = delivered
                    delivered = value
                }
                // Also to nobody: the value is released by who delivers it, not under the lock.
                return .deliver(value, subscribers)
            case .join(let subscriber, _):
                subscribers.append(subscriber)
                if let delivered { return .deliver(delivered, [subscriber]) }
            case .visit(let visit, _): return .visit(visit, delivered)
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
                isOver = !queue(value, &retired)
            }
        } else if let subscribers = machine.withLock({ $0.takeAtOnce() }) {
            isOver = deliver(value, to: subscribers)
        } else {
            isOver = !queue(value, &retired)
        }
        if !isOver { deliver() }
    }

    /// Puts a value at the end of the queue; `true` if the caller must deliver.
    @inlinable
    func queue(_ value: Value, _ retired: inout MediatorMachine<Value>.Retired) -> Bool {
        let sender = SenderTask.present
        return machine.withLock { $0.send(value, of: sender, &retired) }
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
        let sender = SenderTask.present
        let (id, mustDeliver) = machine.withLock { $0.join(receive, of: sender) }
        if mustDeliver { deliver() }
        return Subscription { [weak self] in
            let left = self?.machine.withLock { $0.leave(id) }
            withExtendedLifetime(left) {}
        }
    }

    /// Calls a function once, between two values, with the value before it if the mediator remembers.
    @usableFromInline
    func visit(_ visit: @escaping MediatorMachine<Value>.Visit) {
        let sender = SenderTask.present
        if machine.withLock({ $0.add(visit, of: sender) }) { deliver() }
    }

    @usableFromInline
    func bound(limit: Int, overflow: Overflow) {
        machine.withLock { $0.bound(limit: limit, overflow: overflow) }
    }

    /// The number of items of others that one task delivers in a row: as many as a loop takes events on the shared pool.
    @inlinable static var share: Int { 256 }

    /// Delivers the queue; never called by two at a time.
    ///
    /// It delivers everything that this task has sent from within a subscriber before it returns. Of the items of other tasks it
    /// delivers its share, and a job of the shared pool goes on with the rest.
    @inlinable
    func deliver() {
        let deliverer = SenderTask.present
        var share = Self.share
        while true {
            var retired = MediatorMachine<Value>.Retired()
            switch machine.withLock({ $0.next(by: deliverer, &share, &retired) }) {
            case .idle: return
            case .handOn: return SharedPool().enqueue { self.deliver() }
            case .deliver(let value, let subscribers):
                for subscriber in subscribers where !subscriber.hasLeft.load(ordering: .acquiring) {
                    subscriber.receive(value)
                }
            case .visit(let visit, let value): visit(value)
            }
        }
    }
}
