public import DequeModule
public import Synchronization

/// The thread of a sender, which distinguishes it from other senders, and the task-local values that it had. A call to
/// `send` stays on its thread.
@usableFromInline
package struct SenderThread: Sendable {
    @usableFromInline let identity: UInt
    @usableFromInline let baggage: Baggage?

    @usableFromInline
    package init(_ identity: UInt, baggage: Baggage? = nil) {
        self.identity = identity
        self.baggage = baggage
    }

    /// The thread of the caller, without values.
    @usableFromInline package static var current: SenderThread { SenderThread(WorkerThread.identity) }

    /// The thread of the caller, who sends something.
    @usableFromInline package static var present: SenderThread {
        SenderThread(WorkerThread.identity, baggage: Baggage.present)
    }
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

    /// An entry of the queue with the thread that added it.
    @usableFromInline
    enum Item: Sendable {
        case value(Value, of: SenderThread)
        case join(Subscriber, of: SenderThread)
        case visit(Visit, of: SenderThread)

        @inlinable
        var sender: SenderThread {
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
        /// Another thread must continue, because this one has delivered its share for others. Nobody else delivers until
        /// then.
        case handOn
        /// Deliver the value to these subscribers, in this order.
        case deliver(Value, [Subscriber], Baggage?)
        /// Call the function with the value.
        case visit(Visit, Value?, Baggage?)
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
        @usableFromInline var dropped: [Item] = []
        @usableFromInline var subscribers: [Subscriber] = []

        @inlinable
        package init() {}
    }

    /// Adds a sender's value. Returns `true` if the caller must deliver.
    @inlinable
    package mutating func send(_ value: Value, of sender: SenderThread, _ retired: inout Retired) -> Bool {
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
        retired.dropped.append(queue.remove(at: oldest))
        waitingValues -= 1
    }

    /// Adds a subscriber. Returns its identifier and whether the caller must deliver.
    @inlinable
    package mutating func join(
        _ receive: @escaping @Sendable (Value) -> Void, of sender: SenderThread
    ) -> (id: UInt64, mustDeliver: Bool) {
        let subscriber = Subscriber(id: nextID, receive: receive)
        nextID += 1
        queue.append(.join(subscriber, of: sender))
        return (subscriber.id, wake())
    }

    /// Queues a visit behind all waiting items. Returns `true` if the caller must deliver.
    @inlinable
    package mutating func add(_ visit: @escaping Visit, of sender: SenderThread) -> Bool {
        queue.append(.visit(visit, of: sender))
        return wake()
    }

    /// Sets the maximum number of waiting values and the rule for values beyond it. Waiting values stay.
    @inlinable
    package mutating func bound(limit: Int, overflow: Overflow) {
        precondition(limit >= 1, "a mediator needs room for at least one value, not \(limit)")
        (self.limit, self.overflow) = (limit, overflow)
    }

    /// Removes a subscriber. The caller receives it, so that nothing of it is released under the lock.
    @usableFromInline
    package mutating func leave(_ id: UInt64, _ retired: inout Retired) {
        retired.subscribers = subscribers.filter { $0.id == id }
        subscribers.removeAll { $0.id == id }
        for subscriber in retired.subscribers { subscriber.hasLeft.store(true, ordering: .releasing) }
        func isIts(_ item: Item) -> Bool {
            guard case .join(let subscriber, _) = item else { return false }
            return subscriber.id == id
        }
        while let index = queue.firstIndex(where: isIts) {
            let item = queue.remove(at: index)
            if case .join(let subscriber, _) = item { subscriber.hasLeft.store(true, ordering: .releasing) }
            retired.dropped.append(item)
        }
    }

    @inlinable
    mutating func wake() -> Bool {
        if isDelivering { return false }
        isDelivering = true
        return true
    }

    /// Takes the next item, unless another thread sent it and the share is used up.
    ///
    /// - Parameters:
    ///   - deliverer: The thread that delivers.
    ///   - share: The remaining number of items of other threads that it delivers.
    @inlinable
    package mutating func next(by deliverer: SenderThread, _ share: inout Int, _ retired: inout Retired) -> Step {
        while let sender = queue.first?.sender {
            if sender.identity != deliverer.identity {
                guard share > 0 else { return .handOn }
                share -= 1
            }
            switch queue.removeFirst() {
            case .value(let value, let sender):
                waitingValues -= 1
                if remembers {
                    retired.delivered = delivered
                    delivered = value
                }
                // Deliver even without subscribers, so that the value is released by the deliverer and not under the
                // lock.
                return .deliver(value, subscribers, sender.baggage)
            case .join(let subscriber, let sender):
                subscribers.append(subscriber)
                if let delivered { return .deliver(delivered, [subscriber], sender.baggage) }
                retired.dropped.append(.join(subscriber, of: sender))
            case .visit(let visit, let sender): return .visit(visit, delivered, sender.baggage)
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
        let sender = SenderThread.present
        return machine.withLock { $0.send(value, of: sender, &retired) }
    }

    /// Delivers a value. Returns whether the delivery is over because nothing else has arrived. The subscribers are
    /// released before it returns.
    @inlinable
    func deliver(_ value: Value, to subscribers: consuming [MediatorStateMachine<Value>.Subscriber]) -> Bool {
        show(value, to: subscribers)
        return machine.withLock { $0.endIfIdle() }
    }

    @inlinable
    func show(_ value: Value, to subscribers: [MediatorStateMachine<Value>.Subscriber]) {
        for subscriber in subscribers where !subscriber.hasLeft.load(ordering: .acquiring) {
            subscriber.receive(value)
        }
    }

    @inlinable
    func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription {
        let sender = SenderThread.present
        let (id, mustDeliver) = machine.withLock { $0.join(receive, of: sender) }
        if mustDeliver { deliver() }
        return Subscription { [weak self] in
            var retired = MediatorStateMachine<Value>.Retired()
            self?.machine.withLock { $0.leave(id, &retired) }
        }
    }

    /// Calls a function once between two values. The function receives the value before it if the mediator remembers
    /// values.
    @usableFromInline
    func visit(_ visit: @escaping MediatorStateMachine<Value>.Visit) {
        let sender = SenderThread.present
        if machine.withLock({ $0.add(visit, of: sender) }) { deliver() }
    }

    @usableFromInline
    func bound(limit: Int, overflow: Overflow) {
        machine.withLock { $0.bound(limit: limit, overflow: overflow) }
    }

    /// The number of items of other threads that one thread delivers in a row, as many as a loop takes events on the shared
    /// pool.
    @inlinable static var share: Int { 256 }

    /// Delivers the queue. Only one caller runs this at a time.
    ///
    /// It delivers everything that this thread sent from within a subscriber before it returns. It delivers its share of
    /// the items of other threads; the shared pool continues with the rest.
    @inlinable
    func deliver() {
        let deliverer = SenderThread.current
        var share = Self.share
        while true {
            var retired = MediatorStateMachine<Value>.Retired()
            switch machine.withLock({ $0.next(by: deliverer, &share, &retired) }) {
            case .idle: return
            case .handOn: return SharedPool().enqueue { self.deliver() }
            case .deliver(let value, let subscribers, let baggage):
                Baggage.bind(baggage) { show(value, to: subscribers) }
            case .visit(let visit, let value, let baggage):
                Baggage.bind(baggage) { visit(value) }
            }
        }
    }
}
