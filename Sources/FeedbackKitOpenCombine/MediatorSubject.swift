public import FeedbackKit
public import OpenCombine
import Synchronization

extension Mediator {
    /// The values as a publisher that never completes: see ``OrderedPublisher``.
    public var publisher: OrderedPublisher<Value> {
        OrderedPublisher(owner: self) { [weak self] handler, _ in
            self?.subscribe(handler) ?? FeedbackKit.Subscription {}
        }
    }
}

/// A mediator as a `Subject`. Its values go to all subscribers of the mediator, however they subscribed, in the order
/// of subscription.
///
/// A completion affects only the subject: its own subscribers receive it, and values sent to it later are dropped. The
/// mediator continues for all other subscribers.
public final class MediatorSubject<Base: Mediator>: Subject, Sendable {
    /// A value of the mediator.
    public typealias Output = Base.Value
    /// A subject never fails.
    public typealias Failure = Never

    private struct State {
        var isOver = false
        var nextID: UInt64 = 0
        /// The functions that end the subscriptions, oldest first.
        var ends: [(id: UInt64, end: @Sendable () -> Void)] = []
    }

    /// The underlying mediator.
    public let mediator: Base
    private let state = Mutex(State())

    init(_ mediator: Base) {
        self.mediator = mediator
    }

    /// Sends a value to all subscribers of the mediator.
    public func send(_ value: Output) {
        if !state.withLock({ $0.isOver }) { mediator.send(value) }
    }

    /// Completes the subject.
    public func send(completion: Subscribers.Completion<Never>) {
        let ends = state.withLock { state in
            state.isOver = true
            defer { state.ends = [] }
            return state.ends
        }
        for (_, end) in ends { end() }
    }

    /// Requests unlimited values from a publisher that is connected to this subject.
    public func send(subscription: any OpenCombine.Subscription) {
        subscription.request(.unlimited)
    }

    /// Adds a subscriber.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Never {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let relay = Relay(
            to: subscriber, limit: OrderedPublisher<Output>.defaultLimit, owner: self,
            onCancel: { [weak self] in self?.state.withLock { $0.ends.removeAll { $0.id == id } } })
        subscriber.receive(subscription: relay)
        let isOver = state.withLock { state in
            if !state.isOver { state.ends.append((id, { [weak relay] in relay?.end() })) }
            return state.isOver
        }
        if isOver { return relay.end() }
        relay.connect(mediator.subscribe { relay.offer($0) })
    }
}

/// A mediator whose last value is readable.
public protocol RememberingMediator: Mediator {
    /// The last value sent.
    var value: Value { get }
}

extension CurrentValueMediator: RememberingMediator {
    /// The mediator as a subject. Each access creates another subject on the same mediator.
    public var subject: MediatorSubject<CurrentValueMediator> { MediatorSubject(self) }
}

extension PassthroughMediator {
    /// The mediator as a subject. Each access creates another subject on the same mediator.
    public var subject: MediatorSubject<PassthroughMediator> { MediatorSubject(self) }
}

extension MediatorSubject where Base: RememberingMediator {
    /// The last value sent. Setting it sends a value.
    public var value: Base.Value {
        get { mediator.value }
        set { send(newValue) }
    }
}
