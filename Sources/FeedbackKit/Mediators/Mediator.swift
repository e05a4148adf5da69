/// A bus between systems that need not know each other.
///
/// A mediator delivers each value to its subscribers in the order in which they subscribed, one value after the
/// other, in the order in which the values were sent: all subscribers see the same order. It delivers on the thread
/// of a sender: whoever sends while a delivery is under way (on another thread, or from within a subscriber) only
/// queues, and the delivery that is under way takes the value along. A sender in a task delivers at most 256 values of
/// others in a row; a job of the shared pool goes on with the rest. Nothing is called while a lock is held.
public protocol Mediator<Value>: AnyObject, Sendable {
    /// What it carries.
    associatedtype Value: Sendable

    /// Sends a value to all who have subscribed.
    func send(_ value: Value)

    /// Calls `receive` for each value, until the subscription is cancelled or released.
    func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription
}

extension Mediator {
    /// The values as a sequence, from when iteration is prepared on.
    ///
    /// - Parameter buffering: what to keep for a reader that is slower than the senders; everything, if not said.
    public func values(
        buffering: AsyncStream<Value>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let subscription = subscribe { continuation.yield($0) }
            continuation.onTermination = { _ in subscription.cancel() }
        }
    }
}

/// How a mediator stands.
public struct MediatorSnapshot: Sendable, Hashable, Codable {
    /// How many subscribe.
    public var subscribers: Int
    /// How many values wait for the delivery that is under way.
    public var waiting: Int
    /// How many values have been sent, those dropped included.
    public var sent: UInt64
    /// How many values were dropped because too many waited.
    public var dropped: UInt64

    /// A picture of the given figures.
    public init(subscribers: Int, waiting: Int, sent: UInt64, dropped: UInt64) {
        self.subscribers = subscribers
        self.waiting = waiting
        self.sent = sent
        self.dropped = dropped
    }
}

/// A mediator without memory: who subscribes late gets only what comes later.
public final class PassthroughMediator<Value: Sendable>: Mediator {
    @usableFromInline let core: MediatorCore<Value>

    /// A mediator that holds at most `limit` values while a delivery is under way.
    @inlinable
    public init(limit: Int = .max, overflow: Overflow = .dropOldest) {
        core = MediatorCore(current: nil, limit: limit, overflow: overflow)
    }

    /// Sends a value to all who have subscribed.
    @inlinable
    public func send(_ value: Value) { core.send(value) }

    /// Calls `receive` for each value from now on.
    @inlinable
    public func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription { core.subscribe(receive) }

    /// How it stands.
    public var snapshot: MediatorSnapshot { core.snapshot }

    /// Calls a function once, at its place among the values: those sent before have been delivered, and none sent after.
    ///
    /// The function gets the value before it, if the mediator remembers. It is called on the thread of a sender, perhaps
    /// after this returns.
    package func visit(_ body: @escaping @Sendable (Value?) -> Void) { core.visit(body) }

    /// Changes how many values may wait, and what happens beyond that.
    package func bound(limit: Int, overflow: Overflow) { core.bound(limit: limit, overflow: overflow) }
}

/// A mediator that remembers its last value and gives it first to whoever subscribes.
public final class CurrentValueMediator<Value: Sendable>: Mediator {
    @usableFromInline let core: MediatorCore<Value>
    @usableFromInline let initial: Value

    /// A mediator with a first value, that holds at most `limit` values while a delivery is under way.
    @inlinable
    public init(_ value: Value, limit: Int = .max, overflow: Overflow = .dropOldest) {
        initial = value
        core = MediatorCore(current: value, limit: limit, overflow: overflow)
    }

    /// The value sent last. Setting it sends.
    @inlinable
    public var value: Value {
        get { core.current ?? initial }
        set { core.send(newValue) }
    }

    /// Sends a value to all who have subscribed, and remembers it.
    @inlinable
    public func send(_ value: Value) { core.send(value) }

    /// Calls `receive` with the current value, then with each later one, missing none between.
    @inlinable
    public func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription { core.subscribe(receive) }

    /// How it stands.
    public var snapshot: MediatorSnapshot { core.snapshot }

    /// Calls a function once, at its place among the values: those sent before have been delivered, and none sent after.
    ///
    /// The function gets the value before it, if the mediator remembers. It is called on the thread of a sender, perhaps
    /// after this returns.
    package func visit(_ body: @escaping @Sendable (Value?) -> Void) { core.visit(body) }

    /// Changes how many values may wait, and what happens beyond that.
    package func bound(limit: Int, overflow: Overflow) { core.bound(limit: limit, overflow: overflow) }
}
