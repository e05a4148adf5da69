import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import OpenCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ConcurrencyTests {
    @Test func `many senders at once: every subscriber sees the same order, and each sender's own`() async {
        let mediator = PassthroughMediator<[Int]>()
        let logs = [AwaitedValue<[[Int]]>([]), AwaitedValue<[[Int]]>([])]
        let subscriptions = logs.map { log in
            mediator.publisher.sink { value in log.change { $0.append(value) } }
        }
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<8 {
                group.addTask { for number in 0..<200 { mediator.subject.send([sender, number]) } }
            }
        }
        // The last of them may be delivered by the shared pool.
        for log in logs { await log.wait { $0.count >= 1_600 } }
        #expect(logs[0].value.count == 1_600)
        #expect(logs[0].value == logs[1].value)
        for sender in 0..<8 {
            #expect(logs[0].value.filter { $0[0] == sender }.map { $0[1] } == Array(0..<200))
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func `subscribing and cancelling while values are sent leaves nobody behind`() async {
        let mediator = CurrentValueMediator(0)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for number in 1...500 { mediator.send(number) } }
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<100 {
                        let seen = Log<Int>()
                        let subscription = mediator.subject.sink { seen.add($0) }
                        subscription.cancel()
                        #expect(seen.entries == seen.entries.sorted(), "values come in their order")
                    }
                }
            }
        }
        #expect(mediator.snapshot.subscribers == 0)
    }

    @Test func `a publisher can be debounced and timed out like any effect`() async {
        let clock = ManualClock()
        let never = PassthroughMediator<Int>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { _, event in
                    switch event {
                    case nil: .publisher { Just(1) }.debounce(id: "first", for: .seconds(5))
                    case 1: .publisher(never.publisher).timeout(after: .seconds(7), 10)
                    default: .nothing
                    }
                }
            ], clock: clock
        ) { state, event in
            state += event
            return .handled
        }
        let states = loop.states()
        loop.start()
        var seen: [Int] = []
        for await state in states {
            seen.append(state)
            if state == 11 { break }
            let pause = Duration.seconds(state == 0 ? 5 : 7)
            await clock.nextDeadline(in: pause)
            clock.advance(by: pause)
        }
        #expect(seen == [0, 1, 11])
        loop.cancel()
        await loop.stopped()
        #expect(never.snapshot.subscribers == 0)
    }
}
