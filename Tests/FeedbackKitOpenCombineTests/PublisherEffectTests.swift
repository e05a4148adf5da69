import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PublisherEffectTests {
    private struct Failure: Error {}

    @Test func `synchronous values of a publisher are queued in order within one activation`() {
        let seen = Log<Int>()
        let loop = Loop.adder(
            Feedback(cancellation: .never) { state, event in
                event == nil ? .publisher { [1, 2, 3].publisher } : .nothing
            },
            Feedback(cancellation: .never) { _, event in event == nil ? .just(10) : .nothing },
            .sink { state, _ in seen.add(state) })
        loop.start()
        #expect(seen.entries == [0, 1, 3, 6, 16])
        #expect(loop.snapshot.feedbacks.allSatisfy { $0.running == 0 }, "a publisher that has completed runs no more")
    }

    @Test func `an effect ends when its publisher completes`() async {
        let mediator = PassthroughMediator<Int>()
        let subject = mediator.subject
        let loop = Loop.adder(
            Feedback(cancellation: .never) { _, event in event == nil ? .publisher(subject) : .nothing })
        loop.start()
        subject.send(2)
        #expect(loop.snapshot.feedbacks[0].running == 1)
        subject.send(completion: .finished)
        #expect(loop.snapshot.feedbacks[0].running == 0)
        subject.send(5)
        #expect(loop.state == 2)
    }

    @Test func `cancelling an effect cancels its subscription and withdraws its values`() {
        let mediator = PassthroughMediator<Int>()
        let loop = Loop.adder(
            // The first state starts the publisher, which delivers two values at once. The state after the first value
            // cancels the publisher and withdraws the second value.
            Feedback(cancellation: .onNewState) { _, event in
                event == nil ? .publisher { [1, 100].publisher.append(mediator.publisher) } : .nothing
            })
        loop.start()
        #expect(loop.state == 1)
        #expect(loop.counters.withdrawn == 1)
        #expect(mediator.snapshot.subscribers == 0)
        mediator.send(50)
        #expect(loop.state == 1)
    }

    @Test func `an effect keeps its name, also when it is a publisher`() {
        let mediator = PassthroughMediator<Int>()
        let loop = Loop.adder(
            Feedback(cancellation: .never) { state, _ in
                state < 2 ? .publisher(mediator.publisher).id("ticks") : .cancel(id: "ticks")
            })
        loop.start()
        mediator.send(1)
        #expect(mediator.snapshot.subscribers == 1, "the second effect of the name has replaced the first")
        mediator.send(1)
        #expect(mediator.snapshot.subscribers == 0)
        #expect(loop.state == 2)
    }

    @Test func `values beyond the mailbox's limit meet its policy and are counted`() {
        let loop = Loop.adder(
            Feedback(cancellation: .never) { _, event in event == nil ? .publisher { (1...10).publisher } : .nothing },
            mailboxLimit: 4)
        loop.start()
        #expect(loop.state == 1 + 2 + 3 + 4)
        #expect(loop.counters.droppedByLimit == 6)
    }

    @Test func `a publisher with demand only for available room loses no value`() async {
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { _, event in
                    event == nil ? .publisherWhenRoom { (1...100).publisher } : .nothing
                }
            ], mailboxLimit: 1, overflow: .block
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        for await state in loop.states() where state == 5050 { break }
        #expect(loop.counters.droppedByLimit == 0)
        loop.cancel()
        await loop.stopped()
    }

    @Test func `a failure becomes an event by rule`() async {
        let loop = Loop.adder(
            Feedback(cancellation: .never) { _, event in
                event == nil
                    ? .attempt(
                        publisher: { [1].publisher.setFailureType(to: Failure.self).append(Fail(error: Failure())) },
                        recover: { _ in 40 }) : .nothing
            })
        loop.start()
        for await state in loop.states() where state == 41 { break }
        #expect(loop.fault == nil)
        loop.cancel()
        await loop.stopped()
    }

    @Test func `a failure without a rule is a fault`() async {
        let loop = Loop.adder(
            Feedback(name: "load", cancellation: .never) { _, event in
                event == nil ? .attempt(publisher: { Fail<Int, Failure>(error: Failure()) }) : .nothing
            })
        try? await loop.run()
        #expect(loop.fault?.feedback == "load")
        #expect(loop.fault?.error is Failure)
    }

    @Test func `a failing publisher is created again as often as its policy allows`() async {
        let tries = Log<Int>()
        let loop = Loop.adder(
            Feedback(cancellation: .never) { _, event in
                event == nil
                    ? .attempt(
                        retry: .constant(.zero, limit: 2),
                        publisher: {
                            tries.add(1)
                            return Fail<Int, Failure>(error: Failure())
                        }, recover: { _ in 7 }) : .nothing
            })
        loop.start()
        for await state in loop.states() where state == 7 { break }
        #expect(tries.entries.count == 3)
        loop.cancel()
        await loop.stopped()
    }

    @Test func `stopping gently waits for a publisher, stopping hard cancels it`() async {
        let mediator = PassthroughMediator<Int>()
        let subject = mediator.subject
        let loop = Loop.adder(
            Feedback(cancellation: .never) { _, event in event == nil ? .publisher(subject) : .nothing })
        loop.start()
        loop.beginStop()
        #expect(loop.phase == .stopping)
        subject.send(completion: .finished)
        await loop.stopped()

        let other = Loop.adder(
            Feedback(cancellation: .never) { _, event in event == nil ? .publisher(mediator.publisher) : .nothing })
        other.start()
        #expect(mediator.snapshot.subscribers == 1)
        other.cancel()
        await other.stopped()
        #expect(mediator.snapshot.subscribers == 0)
    }
}
