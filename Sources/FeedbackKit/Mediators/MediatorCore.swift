public import DequeModule
public import Synchronization

/// The task of a sender, which distinguishes it from other senders.
///
/// All senders outside of tasks count as one, because the library cannot distinguish threads. Such a sender delivers
/// the values of other threads without a bound.
@usableFromInline
package struct SenderTask: Sendable, Hashable {
    @usableFromInline let hash: Int

    @inlinable
    package init(_ hash: Int) { self.hash = hash }

    /// The task of the caller.
    @inlinable
    package static var present: SenderTask { SenderTask(withUnsafeCurrentTask { $0?.hashValue ?? 0 }) }
}

/// The state machine of a mediator, as a plain value.
///
/// A subscription is an item of the same queue as the values, so the queue defines the order of everything. A
/// subscriber receives the value that is current at its position in the queue, then every value behind it.
@usableFromInline
package struct MediatorStateMachine<Value: Sendable>: Sendable {
    /// A receiver of values.
    @usableFromInline
    package final class Subscriber: Sendable {
        @usableFromInline package let id: UInt64
        @usableFromInline package let receive: @Sendable (Value) -> Void
        /// Set on unsubscribing, so that a running delivery skips the subscriber.
        @usableFromInline package let hasLeft = Atomic<Bool>(false)

        @inlinable
        init(id: UInt64, receive: @escaping @Sendable (Value) -> Void) {
            self.id = id
            self.receive = receive
        }
    }

    /// An entry of the queue with the task that added it.
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

    /// A function that is called once between two values. It receives the value before it if the mediator remembers
    /// values.
    @usableFromInline package typealias Visit = @Sendable (Value?) -> Void

    /// The next step of a delivery.
    @usableFromInline
    package enum Step: Sendable {
        /// The queue is empty and the delivery is over.
        case idle
        /// Another task must continue, because this one has delivered its share for others. Nobody else delivers until
        /// then.
        case handOn
        /// Deliver the value to these subscribers, in this order.
        case deliver(Value, [Subscriber])
        /// Call the function with the value.
        case visit(Visit, Value?)
    }

    @usableFromInline var queue = Deque<Item>()
    @usableFromInline var waitingValues = 0
    @usableFromInline var subscribers: [Subscriber] = []
    /// The last value delivered, if the mediator remembers values.
    @usableFromInline var delivered: Value?
    @usableFromInline var isDelivering = false
    @usableFromInline var nextID: UInt64 = 1
    @usableFromInline var sent: UInt64 = 0
    @usableFromInline var dropped: UInt64 = 0
    @usableFromInline let remembers: Bool
    @usableFromInline var limit: Int
    @usableFromInline var overflow: Overflow
    /// The last value sent, if the mediator remembers values.
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

    /// Values that the state machine no longer holds. The caller receives them, because nothing may be released under
    /// the lock.
    @usableFromInline
    package struct Retired: Sendable {
        @usableFromInline var current: Value?
        @usableFromInline var delivered: Value?
        @usableFromInline var dropped: [Value] = []

        @inlinable
        package init() {}
    }

    /// Adds a sender's value. Returns `true` if the caller must deliver.
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

    /// Starts the delivery of a value directly if none runs, so that the value bypasses the empty queue. Returns the
    /// receivers; the caller delivers to them and then takes the items that have arrived since. Returns `nil` if the
    /// value must go through the queue.
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

    /// The same for a mediator without memory, which holds no value that the caller would have to release. Also returns
    /// `nil` if the mediator remembers values.
    @inlinable
    package mutating func takeAtOnce() -> [Subscriber]? {
        guard !isDelivering, !remembers else { return nil }
        sent += 1
        isDelivering = true
        return subscribers
    }

    /// Ends the delivery if the queue is empty. Returns whether it ended.
    @inlinable
    package mutating func endIfIdle() -> Bool {
        guard queue.isEmpty else { return false }
        isDelivering = false
        return true
    }

    /// Makes room for one more value. Returns `false` if the new value must be dropped instead.
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

    /// Removes the oldest value from the queue; subscriptions before it stay.
    @usableFromInline
    mutating func removeOldestValue(_ retired: inout Retired) {
        guard let oldest = queue.firstIndex(where: { if case .value = $0 { true } else { false } }) else { return }
        if case .value(let value, _) = queue.remove(at: oldest) { retired.dropped.append(value) }
        waitingValues -= 1
    }

    /// Adds a subscriber. Returns its identifier and whether the caller must deliver.
    @inlinable
    package mutating func join(
        _ receive: @escaping @Sendable (Value) -> Void, of sender: SenderTask
    ) -> (id: UInt64, mustDeliver: Bool) {
        let subscriber = Subscriber(id: nextID, receive: receive)
        nextID += 1
        queue.append(.join(subscriber, of: sender))
        return (subscriber.id, wake())
    }

    /// Queues a visit behind all waiting items. Returns `true` if the caller must deliver.
    @inlinable
    package mutating func add(_ visit: @escaping Visit, of sender: SenderTask) -> Bool {
        queue.append(.visit(visit, of: sender))
        return wake()
    }

    /// Sets the maximum number of waiting values and the rule for values beyond it. Waiting values stay.
    @inlinable
    package mutating func bound(limit: Int, overflow: Overflow) {
        precondition(limit >= 1, "a mediator needs room for at least one value, not \(limit)")
        (self.limit, self.overflow) = (limit, overflow)
    }

    /// Removes a subscriber and returns it, so that its closure is not released under the lock.
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

    /// Takes the next item, unless another task sent it and the share is used up.
    ///
    /// - Parameters:
    ///   - deliverer: The task that delivers.
    ///   - share: The remaining number of items of other tasks that it delivers.
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
                // Deliver even without subscribers, so that the value is released by the deliverer and not under the
                // lock.
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

    /// The current counters.
    @usableFromInline
    package var snapshot: MediatorSnapshot {
        MediatorSnapshot(subscribers: subscribers.count, waiting: waitingValues, sent: sent, dropped: dropped)
    }
}

/// The gate around the state machine of a mediator.
@usableFromInline
final class MediatorCore<Value: Sendable>: Sendable {
    @usableFromInline let machine: Mutex<MediatorStateMachine<Value>>
    /// A Boolean value that indicates whether a late subscriber receives the last value.
    @usableFromInline let remembers: Bool

    @inlinable
    init(current: Value?, limit: Int, overflow: Overflow) {
        remembers = current != nil
        machine = Mutex(MediatorStateMachine(current: current, limit: limit, overflow: overflow))
    }

    @inlinable
    var current: Value? { machine.withLock { $0.current } }

    var snapshot: MediatorSnapshot { machine.withLock { $0.snapshot } }

    @inlinable
    func send(_ value: Value) {
        var isOver = false
        var retired = MediatorStateMachine<Value>.Retired()
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

    /// Queues a value. Returns `true` if the caller must deliver.
    @inlinable
    func queue(_ value: Value, _ retired: inout MediatorStateMachine<Value>.Retired) -> Bool {
        let sender = SenderTask.present
        return machine.withLock { $0.send(value, of: sender, &retired) }
    }

    /// Delivers a value. Returns whether the delivery is over because nothing else has arrived. The subscribers are
    /// released before it returns.
    @inlinable
    func deliver(_ value: Value, to subscribers: consuming [MediatorStateMachine<Value>.Subscriber]) -> Bool {
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

    /// Calls a function once between two values. The function receives the value before it if the mediator remembers
    /// values.
    @usableFromInline
    func visit(_ visit: @escaping MediatorStateMachine<Value>.Visit) {
        let sender = SenderTask.present
        if machine.withLock({ $0.add(visit, of: sender) }) { deliver() }
    }

    @usableFromInline
    func bound(limit: Int, overflow: Overflow) {
        machine.withLock { $0.bound(limit: limit, overflow: overflow) }
    }

    /// The number of items of other tasks that one task delivers in a row, as many as a loop takes events on the shared
    /// pool.
    @inlinable static var share: Int { 256 }

    /// Delivers the queue. Only one caller runs this at a time.
    ///
    /// It delivers everything that this task sent from within a subscriber before it returns. It delivers its share of
    /// the items of other tasks; a job on the shared pool continues with the rest.
    @inlinable
    func deliver() {
        let deliverer = SenderTask.present
        var share = Self.share
        while true {
            var retired = MediatorStateMachine<Value>.Retired()
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
