/// A bus between systems that do not know each other.
///
/// A mediator delivers values one at a time, in the order in which they were sent, to its subscribers in the order in
/// which they subscribed. All subscribers see the same order.
///
/// Delivery happens on the thread of a sender. If a delivery runs already, on another thread or around the current
/// call, a sender only queues its value, and the running delivery delivers it. A sender delivers at most 256 values of
/// other threads in a row; the shared pool then continues. No lock is held during a call.
public protocol Mediator<Value>: AnyObject, Sendable {
    /// The type of the values.
    associatedtype Value: Sendable

    /// Sends a value to all subscribers.
    ///
    /// `send` may return before the values that other senders sent at the same time are delivered. A task of the concurrency
    /// pool delivers the rest. If a delivery runs already, `send` may also return before its own value is delivered. A
    /// program that blocks all threads of the pool until a value is delivered can therefore wait forever.
    func send(_ value: Value)

    /// Calls `receive` for each value, until the subscription is cancelled or released.
    func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription
}

extension Mediator {
    /// Returns the values sent from now on as a sequence.
    ///
    /// - Parameter buffering: The policy for a reader that is slower than the senders. By default every value is kept.
    public func values(
        buffering: AsyncStream<Value>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let subscription = subscribe { continuation.yield($0) }
            continuation.onTermination = { _ in subscription.cancel() }
        }
    }
}

/// The counters of a mediator.
public struct MediatorSnapshot: Sendable, Hashable, Codable {
    /// The number of subscribers.
    public var subscribers: Int
    /// The number of values that wait for the running delivery.
    public var waiting: Int
    /// The number of values sent, including dropped ones.
    public var sent: UInt64
    /// The number of values dropped because too many waited.
    public var dropped: UInt64

    /// Creates a snapshot with the given counts.
    public init(subscribers: Int, waiting: Int, sent: UInt64, dropped: UInt64) {
        self.subscribers = subscribers
        self.waiting = waiting
        self.sent = sent
        self.dropped = dropped
    }
}

/// A mediator without memory: a subscriber receives only values sent after it subscribed.
public final class PassthroughMediator<Value: Sendable>: Mediator {
    @usableFromInline let core: MediatorCore<Value>

    /// Creates a mediator that holds at most `limit` waiting values during a delivery.
    @inlinable
    public init(limit: Int = .max, overflow: Overflow = .dropOldest) {
        core = MediatorCore(current: nil, limit: limit, overflow: overflow)
    }

    /// Sends a value to all subscribers.
    @inlinable
    public func send(_ value: Value) { core.send(value) }

    /// Calls `receive` for each value sent from now on.
    @inlinable
    public func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription { core.subscribe(receive) }

    /// The current counters.
    public var snapshot: MediatorSnapshot { core.snapshot }

    /// Calls a function once at its position in the queue: after all values sent before, and before all values sent
    /// later.
    ///
    /// The function receives the value before it if the mediator remembers values. It runs on the thread of a sender,
    /// possibly after this call returns.
    package func visit(_ body: @escaping @Sendable (Value?) -> Void) { core.visit(body) }

    /// Sets the maximum number of waiting values and the rule for values beyond it.
    package func bound(limit: Int, overflow: Overflow) { core.bound(limit: limit, overflow: overflow) }
}

/// A mediator that remembers its last value and delivers it to each new subscriber first.
public final class CurrentValueMediator<Value: Sendable>: Mediator {
    @usableFromInline let core: MediatorCore<Value>
    @usableFromInline let initial: Value

    /// Creates a mediator with a first value that holds at most `limit` waiting values during a delivery.
    @inlinable
    public init(_ value: Value, limit: Int = .max, overflow: Overflow = .dropOldest) {
        initial = value
        core = MediatorCore(current: value, limit: limit, overflow: overflow)
    }

    /// The last value sent. Setting it sends a value.
    @inlinable
    public var value: Value {
        get { core.current ?? initial }
        set { core.send(newValue) }
    }

    /// Sends a value to all subscribers and remembers it.
    @inlinable
    public func send(_ value: Value) { core.send(value) }

    /// Calls `receive` with the current value, then with each later one, without a gap.
    @inlinable
    public func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription { core.subscribe(receive) }

    /// The current counters.
    public var snapshot: MediatorSnapshot { core.snapshot }

    /// Calls a function once at its position in the queue: after all values sent before, and before all values sent
    /// later.
    ///
    /// The function receives the value before it if the mediator remembers values. It runs on the thread of a sender,
    /// possibly after this call returns.
    package func visit(_ body: @escaping @Sendable (Value?) -> Void) { core.visit(body) }

    /// Sets the maximum number of waiting values and the rule for values beyond it.
    package func bound(limit: Int, overflow: Overflow) { core.bound(limit: limit, overflow: overflow) }
}
