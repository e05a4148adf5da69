import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OrderTests {
    /// Returns the order in which 50 subscribers received their values.
    private func order<P: Publisher>(
        of publisher: P, _ act: () -> Void
    ) -> [String] where P.Output: Sendable, P.Failure == Never {
        let seen = Log<String>()
        var subscriptions: [AnyCancellable] = []
        for index in 0..<50 {
            publisher.sink { seen.add("\(index): \($0)") }.store(in: &subscriptions)
        }
        act()
        return seen.entries
    }

    @Test func `subscribers of a subject get a value in the order in which they subscribed, in 100 runs`() {
        let expected = ["a", "b"].flatMap { value in (0..<50).map { "\($0): \(value)" } }
        for _ in 0..<100 {
            let subject = PassthroughMediator<String>().subject
            #expect(
                order(of: subject) {
                    subject.send("a")
                    subject.send("b")
                } == expected)
        }
    }

    @Test func `subscribers of a subject with memory get its value first, in 100 runs`() {
        let expected =
            (0..<50).map { "\($0): first" } + (0..<50).map { "\($0): second" }
        for _ in 0..<100 {
            let subject = CurrentValueMediator("first").subject
            #expect(order(of: subject) { subject.send("second") } == expected)
        }
    }

    @Test func `subscribers of a system get a state in the order in which they subscribed, in 100 runs`() {
        for _ in 0..<100 {
            let loop = Loop.adder()
            let seen = order(of: loop.publisher) { loop.send(1) }
            #expect(seen == (0..<50).map { "\($0): 0" } + (0..<50).map { "\($0): 1" })
        }
    }

    @Test func `publishers of several feedbacks deliver in the order of the feedbacks, in 100 runs`() {
        for _ in 0..<100 {
            let seen = Log<Int>()
            let feedbacks = (1...8).map { number in
                Feedback(on: CountState.self, strategy: .continueOnNewState) {
                    state -> AnyPublisher<any Event, Never> in
                    state.value > 0
                        ? Empty().eraseToAnyPublisher() : Just(AddEvent(amount: number)).eraseToAnyPublisher()
                }
            }
            let system = System.counter(
                .combine(feedbacks),
                .sink { state, event in if let event = event as? AddEvent { seen.add(event.amount) } })
            system.start()
            #expect(seen.entries == Array(1...8))
        }
    }

    @Test func `a value sent from within a subscriber comes later, for all subscribers`() {
        let subject = PassthroughMediator<Int>().subject
        let seen = Log<String>()
        var subscriptions: [AnyCancellable] = []
        subject.sink { value in
            if value == 1 { subject.send(2) }
            seen.add("first \(value)")
        }.store(in: &subscriptions)
        subject.sink { seen.add("second \($0)") }.store(in: &subscriptions)
        subject.send(1)
        #expect(seen.entries == ["first 1", "second 1", "first 2", "second 2"])
    }
}
