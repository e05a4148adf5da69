import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DemandTests {
    /// A subscriber that requests values on command.
    private final class Reader: Subscriber {
        typealias Input = Int
        typealias Failure = Never
        var seen: [Int] = []
        var isOver = false
        var subscription: (any OpenCombine.Subscription)?

        func receive(subscription: any OpenCombine.Subscription) { self.subscription = subscription }
        func receive(_ input: Int) -> Subscribers.Demand {
            seen.append(input)
            return .none
        }
        func receive(completion: Subscribers.Completion<Never>) { isOver = true }
    }

    @Test func `values wait for demand`() async {
        let loop = Loop.adder()
        let reader = Reader()
        loop.publisher.subscribe(reader)
        for _ in 0..<3 { loop.send(1) }
        #expect(reader.seen == [])
        reader.subscription?.request(.max(2))
        #expect(reader.seen == [0, 1])
        loop.send(1)
        await loop.stop()
        #expect(!reader.isOver, "what waits comes before the completion")
        reader.subscription?.request(.max(5))
        #expect(reader.seen == [0, 1, 2, 3, 4])
        #expect(reader.isOver)
    }

    @Test func `waiting values are bounded, and a new one displaces the oldest`() {
        let loop = Loop.adder()
        let reader = Reader()
        loop.publisher.limit(3).subscribe(reader)
        for _ in 0..<10 { loop.send(1) }
        reader.subscription?.request(.unlimited)
        #expect(reader.seen == [8, 9, 10])
        reader.subscription?.cancel()
        loop.send(1)
        #expect(reader.seen == [8, 9, 10])
    }

    @Test(arguments: [0, -1, .min]) func `a limit below one counts as one`(limit: Int) {
        #expect(PassthroughMediator<Int>().publisher.limit(limit).limit == 1)
    }
}
