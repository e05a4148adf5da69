package import FeedbackKit
public import OpenCombine

/// The states of a system, loop, view model or store, or the values of a mediator, as a publisher.
///
/// It delivers to its subscribers in the order in which they subscribed, which OpenCombine's own subjects do not. It
/// delivers where its source does: states on the loop's turn, a mediator's values on the thread of a sender. To have
/// them elsewhere, say `receive(on:)`. A closure that belongs to an actor (the main actor's, in a view) must say so:
/// Swift stops a program in which such a closure is called elsewhere.
///
/// A subscription begins with the current state, or with a mediator's current value if it has one. It ends when it is
/// cancelled, when its `AnyCancellable` is released, or, with a completion, when its source has stopped. Until then it
/// keeps its source alive, and so does the publisher, for as long as it is kept itself; a feedback that captures the
/// publisher of its own system makes a cycle. The source does not keep the publisher. No value is delivered after the
/// cancellation, apart from one whose delivery is under way on another thread.
///
/// Demand is heeded: values for which there is none wait, at most ``limit`` of them, and the oldest makes room for the
/// next. `sink` and `assign` have demand for everything, so nothing waits there.
public struct OrderedPublisher<Output: Sendable>: Publisher, Sendable {
    /// It never fails.
    public typealias Failure = Never

    /// How many values may wait for demand where nothing else is said.
    public static var defaultLimit: Int { 1_024 }

    /// How many values of a subscription may wait for demand.
    public let limit: Int
    private let watch:
        @Sendable (_ see: @escaping @Sendable (Output) -> Void, _ end: @escaping @Sendable () -> Void)
            -> FeedbackKit.Subscription
    private let begin: @Sendable () -> Void
    private let owner: (any Sendable)?

    /// A publisher of whatever can be watched.
    ///
    /// - Parameters:
    ///   - limit: how many values may wait for demand, at least 1.
    ///   - owner: kept alive by each subscription, until its end.
    ///   - begin: called for each subscription when it is in place.
    ///   - watch: called for each subscription; calls `see` with one value after the other, and `end` at most once.
    package init(
        limit: Int = defaultLimit, owner: (any Sendable)? = nil, begin: @escaping @Sendable () -> Void = {},
        watch:
            @escaping @Sendable (_ see: @escaping @Sendable (Output) -> Void, _ end: @escaping @Sendable () -> Void)
            -> FeedbackKit.Subscription
    ) {
        self.limit = Swift.max(1, limit)
        self.owner = owner
        self.begin = begin
        self.watch = watch
    }

    /// The same publisher with another ``limit``; one below 1 counts as 1.
    public func limit(_ limit: Int) -> OrderedPublisher {
        OrderedPublisher(limit: limit, owner: owner, begin: begin, watch: watch)
    }

    /// Begins a subscription.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Never {
        let relay = Relay(to: subscriber, limit: limit, owner: owner)
        subscriber.receive(subscription: relay)
        relay.connect(watch({ relay.offer($0) }, { relay.end() }))
        begin()
    }
}
