import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import Testing

/// A subscriber that cancels with the third value.
private final class ThreeValues: Subscriber {
    private let seen: Log<Int>
    private var subscription: (any OpenCombine.Subscription)?

    init(_ seen: Log<Int>) {
        self.seen = seen
    }

    func receive(subscription: any OpenCombine.Subscription) {
        self.subscription = subscription
        subscription.request(.unlimited)
    }

    func receive(_ input: Int) -> Subscribers.Demand {
        seen.add(input)
        if seen.entries.count == 3 { subscription?.cancel() }
        return .none
    }

    func receive(completion: Subscribers.Completion<Never>) {}
}

@Suite(.timeLimit(.minutes(5)))
struct LifetimeTests {
    @Test func `a released subscription ends, and the system continues for its other owners`() {
        let system = System.counter()
        let seen = Log<Int?>()
        var subscriptions: Set<AnyCancellable> = []
        system.stream.sink { seen.add(($0 as? CountState)?.value) }.store(in: &subscriptions)
        system.send(AddEvent(amount: 1))
        subscriptions.removeAll()
        system.send(AddEvent(amount: 1))
        #expect(seen.entries == [0, 1])
        #expect(system.count == 2)
    }

    @Test func `a subscription keeps the system alive, and nothing else does`() {
        weak var released: System?
        weak var loop: Loop<any State, any Event>?
        var subscription: AnyCancellable?
        let mediator = PassthroughMediator<Int>()
        do {
            let system = System.counter(
                Feedback(on: AnyState.self, strategy: .cancelOnNewState) { _ in
                    mediator.publisher.map { AddEvent(amount: $0) as any Event }
                })
            released = system
            loop = system.loop
            subscription = system.publisher.sink { _ in }
        }
        #expect(released == nil, "the system is a shell around its loop, which the subscription keeps")
        #expect(loop != nil)
        mediator.send(3)
        #expect((loop?.state as? CountState)?.value == 3)
        #expect(mediator.snapshot.subscribers == 1)
        subscription?.cancel()
        #expect(loop == nil)
        #expect(mediator.snapshot.subscribers == 0, "the released loop has cancelled its side effect")
    }

    @Test func `releasing the subscription releases a system that subscribes to itself`() {
        weak var loop: Loop<any State, any Event>?
        do {
            let system = System.counter()
            loop = system.loop
            // The closure holds the system, and the system's loop holds the closure.
            var subscription: AnyCancellable? = system.stream.sink { _ in _ = system.state }
            #expect(loop != nil)
            subscription = nil
            _ = subscription
        }
        #expect(loop == nil)
    }

    @Test func `a mediator's subscriber leaves when its subscription is released`() {
        let mediator = CurrentValueMediator(1)
        weak var released: CurrentValueMediator<Int>?
        do {
            let other = CurrentValueMediator(1)
            released = other
            let subscription = other.subject.sink { _ in _ = other.value }
            #expect(other.snapshot.subscribers == 1)
            subscription.cancel()
        }
        #expect(released == nil)
        do {
            let subscription = mediator.publisher.sink { _ in }
            #expect(mediator.snapshot.subscribers == 1)
            _ = subscription
        }
        #expect(mediator.snapshot.subscribers == 0)
    }

    @Test func `a publisher of states completes when the loop has stopped, and releases it`() async {
        weak var released: Loop<Int, Int>?
        let completed = Log<String>()
        var subscription: AnyCancellable?
        do {
            let loop = Loop.adder()
            released = loop
            subscription = loop.publisher.sink(
                receiveCompletion: { completed.add("\($0)") }, receiveValue: { completed.add("\($0)") })
            loop.send(1)
            await loop.stop()
        }
        #expect(completed.entries == ["0", "1", "finished"])
        #expect(released == nil)
        subscription?.cancel()
    }

    @Test func `a late subscriber to a stopped loop gets the completion`() async {
        let loop = Loop.adder()
        loop.start()
        await loop.stop()
        let seen = Log<String>()
        let subscription = loop.publisher.sink(
            receiveCompletion: { seen.add("\($0)") }, receiveValue: { seen.add("\($0)") })
        #expect(seen.entries == ["finished"])
        subscription.cancel()
    }

    @Test func `a subscriber that cancels while it is called gets nothing more`() {
        let loop = Loop.adder()
        let seen = Log<Int>()
        let subscription = loop.publisher.prefix(2).sink { seen.add($0) }
        for _ in 0..<5 { loop.send(1) }
        #expect(seen.entries == [0, 1])
        subscription.cancel()
    }

    @Test func `a cold system makes a loop for each subscription`() {
        let described = FeedbackKit.system(
            initial: 0, reduce: { (state: inout Int, event: Int) in state += event },
            feedbacks: [
                Feedback(effects: { (state: Int) -> AnyPublisher<Int, Never> in
                    state < 3 ? Just(1).eraseToAnyPublisher() : Empty().eraseToAnyPublisher()
                })
            ], executor: .sendersThread)
        for _ in 0..<2 {
            let seen = Log<Int>()
            let subscription = described.publisher.sink { seen.add($0) }
            #expect(seen.entries == [0, 1, 2, 3])
            subscription.cancel()
        }
    }

    /// Answers each state at once, up to a bound, so that a loop that does not stop fails the test instead of hanging
    /// it.
    private static let answering = Feedback<Int, Int>(effects: { (state: Int) -> AnyPublisher<Int, Never> in
        state < 1_000 ? Just(1).eraseToAnyPublisher() : Empty().eraseToAnyPublisher()
    })

    @Test func `a subscriber that cancels stops a cold system on the sender's thread`() {
        let (reduced, seen) = (Log<Int>(), Log<Int>())
        let described = FeedbackKit.system(
            initial: 0,
            reduce: { (state: inout Int, event: Int) in
                state += event
                reduced.add(state)
            },
            feedbacks: [Self.answering], executor: .sendersThread)
        described.publisher.subscribe(ThreeValues(seen))
        #expect(seen.entries == [0, 1, 2])
        #expect(reduced.entries == [1, 2])
    }
}
