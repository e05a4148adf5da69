package import FeedbackKit
public import OpenCombine

/// A publisher of the states of a system, loop, view model or store, or of the values of a mediator.
///
/// Unlike OpenCombine's own subjects, it delivers to its subscribers in the order in which they subscribed. It delivers
/// in the context of its source: states on the loop's executor, a mediator's values on the thread of a sender. Use
/// `receive(on:)` to deliver elsewhere. A closure that is isolated to an actor, such as the main actor in a view, must
/// be declared so. Swift stops a program that calls such a closure elsewhere.
///
/// A subscription begins with the current state, or with a mediator's current value if it has one. It ends when it is
/// cancelled or its `AnyCancellable` is released, or with a completion when its source has stopped. Until then it keeps
/// its source alive. The publisher also keeps the source alive while it exists, so a feedback that captures the
/// publisher of its own system creates a cycle. The source does not keep the publisher alive. After the cancellation no
/// value is delivered, except one that another thread is delivering at that moment.
///
/// The publisher respects demand. Without demand, at most ``limit`` values wait, and a new value displaces the oldest.
/// `sink` and `assign` have unlimited demand, so no value waits there.
public struct OrderedPublisher<Output: Sendable>: Publisher, Sendable {
    /// A publisher of this type never fails.
    public typealias Failure = Never

    /// The default maximum number of values that wait for demand.
    public static var defaultLimit: Int { 1_024 }

    /// The maximum number of values of one subscription that wait for demand.
    public let limit: Int
    private let watch:
        @Sendable (_ handler: @escaping @Sendable (Output) -> Void, _ end: @escaping @Sendable () -> Void)
            -> FeedbackKit.Subscription
    private let begin: @Sendable () -> Void
    private let owner: (any Sendable)?

    /// Creates a publisher from a watch function.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of values that wait for demand, at least 1.
    ///   - owner: An object that each subscription keeps alive until it ends.
    ///   - begin: Called for each subscription after it has been set up.
    ///   - watch: Called for each subscription; calls `handler` with one value after the other, and `end` at most once.
    package init(
        limit: Int = defaultLimit, owner: (any Sendable)? = nil, begin: @escaping @Sendable () -> Void = {},
        watch:
            @escaping @Sendable (_ handler: @escaping @Sendable (Output) -> Void, _ end: @escaping @Sendable () -> Void)
            -> FeedbackKit.Subscription
    ) {
        self.limit = Swift.max(1, limit)
        self.owner = owner
        self.begin = begin
        self.watch = watch
    }

    /// Returns the same publisher with another ``limit``; a limit below 1 counts as 1.
    public func limit(_ limit: Int) -> OrderedPublisher {
        OrderedPublisher(limit: limit, owner: owner, begin: begin, watch: watch)
    }

    /// Adds a subscriber.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Never {
        let relay = Relay(to: subscriber, limit: limit, owner: owner)
        subscriber.receive(subscription: relay)
        relay.connect(watch({ relay.offer($0) }, { relay.end() }))
        begin()
    }
}
