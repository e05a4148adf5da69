public import FeedbackKit
public import OpenCombine
import Synchronization

extension Mediator {
    /// The values as a publisher: see ``OrderedPublisher``. It does not complete.
    public var publisher: OrderedPublisher<Value> {
        OrderedPublisher(owner: self) { [weak self] see, _ in
            self?.subscribe(see) ?? FeedbackKit.Subscription {}
        }
    }
}

/// A mediator as a `Subject`: what is sent to it goes to all who subscribe to the mediator, by whatever way, in the
/// order in which they subscribed.
///
/// A completion concerns the subject alone: those who have subscribed to it get it, what is sent to it later is
/// dropped, and the mediator goes on for everybody else.
public final class MediatorSubject<Base: Mediator>: Subject, Sendable {
    /// A value of the mediator.
    public typealias Output = Base.Value
    /// It never fails.
    public typealias Failure = Never

    private struct Guarded {
        var isOver = false
        var nextID: UInt64 = 0
        /// Ends a subscription. Ordered by age.
        var ends: [(id: UInt64, end: @Sendable () -> Void)] = []
    }

    /// The mediator.
    public let mediator: Base
    private let guarded = Mutex(Guarded())

    init(_ mediator: Base) {
        self.mediator = mediator
    }

    /// Sends a value to all who have subscribed to the mediator.
    public func send(_ value: Output) {
        if !guarded.withLock({ $0.isOver }) { mediator.send(value) }
    }

    /// Completes the subject.
    public func send(completion: Subscribers.Completion<Never>) {
        let ends = guarded.withLock { guarded in
            guarded.isOver = true
            defer { guarded.ends = [] }
            return guarded.ends
        }
        for (_, end) in ends { end() }
    }

    /// Asks a publisher that is subscribed to this subject for everything it has.
    public func send(subscription: any OpenCombine.Subscription) {
        subscription.request(.unlimited)
    }

    /// Begins a subscription.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Never {
        let id = guarded.withLock { guarded in
            guarded.nextID += 1
            return guarded.nextID
        }
        let relay = Relay(
            to: subscriber, limit: OrderedPublisher<Output>.defaultLimit, owner: self,
            onCancel: { [weak self] in self?.guarded.withLock { $0.ends.removeAll { $0.id == id } } })
        subscriber.receive(subscription: relay)
        let isOver = guarded.withLock { guarded in
            if !guarded.isOver { guarded.ends.append((id, { [weak relay] in relay?.end() })) }
            return guarded.isOver
        }
        if isOver { return relay.end() }
        relay.connect(mediator.subscribe { relay.offer($0) })
    }
}

/// A mediator whose last value can be read.
public protocol RememberingMediator: Mediator {
    /// The value sent last.
    var value: Value { get }
}

extension CurrentValueMediator: RememberingMediator {
    /// The mediator as a subject. Each access makes another subject on the same mediator.
    public var subject: MediatorSubject<CurrentValueMediator> { MediatorSubject(self) }
}

extension PassthroughMediator {
    /// The mediator as a subject. Each access makes another subject on the same mediator.
    public var subject: MediatorSubject<PassthroughMediator> { MediatorSubject(self) }
}

extension MediatorSubject where Base: RememberingMediator {
    /// The value sent last. Setting it sends.
    public var value: Base.Value {
        get { mediator.value }
        set { send(newValue) }
    }
}
