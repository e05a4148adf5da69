import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SystemFeedbackPublisherTests {
    private struct Failure: Error {}

    @Test func `a strategy with a condition cancels when the condition holds`() {
        let ticks = PassthroughMediator<Int>()
        let system = System.counter(
            Feedback(
                on: CountState.self, strategy: .cancel { ($0 as? CountState)?.value == 3 }
            ) { state -> AnyPublisher<any Event, Never> in
                state.value == 0
                    ? ticks.publisher.map { AddEvent(amount: $0) }.eraseToAnyPublisher()
                    : Empty().eraseToAnyPublisher()
            })
        system.start()
        for _ in 0..<5 { ticks.send(1) }
        #expect(system.count == 3)
        #expect(ticks.snapshot.subscribers == 0)
    }

    @Test func `leaving the state's type cancels too`() {
        let ticks = PassthroughMediator<Int>()
        let system = System.counter(
            Feedback(on: CountState.self, strategy: .cancelOnNewState) { _ in
                ticks.publisher.map { AddEvent(amount: $0) as any Event }
            })
        system.start()
        #expect(ticks.snapshot.subscribers == 1)
        system.send(FinishEvent())
        #expect(ticks.snapshot.subscribers == 0)
    }

    @Test func `a publisher for a part of the state goes on while the part is equal`() {
        let ticks = PassthroughMediator<Int>()
        let started = Log<Int>()
        let system = System.counter(
            Feedback(on: CountState.self, while: { $0.value / 10 }) { state -> AnyPublisher<any Event, Never> in
                started.add(state.value)
                return ticks.publisher.map { AddEvent(amount: $0) as any Event }.eraseToAnyPublisher()
            })
        system.start()
        for amount in [1, 2, 10] { ticks.send(amount) }
        #expect(started.entries == [0, 13])
        #expect(ticks.snapshot.subscribers == 1)
        system.send(FinishEvent())
        #expect(ticks.snapshot.subscribers == 0)
    }

    @Test func `a publisher that fails becomes an event by rule`() async {
        let system = System.counter(
            Feedback(
                on: CountState.self, strategy: .continueOnNewState, recover: { _ in FinishEvent() }
            ) { state -> AnyPublisher<any Event, any Error> in
                state.value == 0
                    ? Just(AddEvent(amount: 1) as any Event).setFailureType(to: (any Error).self).eraseToAnyPublisher()
                    : Fail(error: Failure()).eraseToAnyPublisher()
            })
        let states = system.stream
        system.start()
        for await state in states where state is DoneState { break }
        await system.stop()
    }

    @Test func `the whole-stream form sees every state of its type, once for each system`() {
        let made = Log<String>()
        let feedback = Feedback(on: CountState.self) { (states: OrderedPublisher<CountState>) in
            made.add("made")
            return states.filter { $0.value < 3 }.map { state -> any Event in
                made.add("\(state.value)")
                return AddEvent(amount: 1)
            }
        }
        for _ in 0..<2 {
            let system = System.counter(feedback)
            system.start()
            #expect(system.count == 3)
        }
        #expect(made.entries == ["made", "0", "1", "2", "made", "0", "1", "2"])
    }

    @Test func `the whole-stream form takes a closure of an AnyPublisher, as in Feedbacks`() {
        let ofType = Feedback(on: CountState.self) { (states: AnyPublisher<CountState, Never>) in
            states.filter { $0.value < 2 }.map { _ -> any Event in AddEvent(amount: 1) }
        }
        let first = System.counter(ofType)
        first.start()
        #expect(first.count == 2)
        let ofEvery = Feedback(on: AnyState.self) { (states: AnyPublisher<any FeedbackKit.State, Never>) in
            states.filter { ($0 as? CountState)?.value == 0 }.map { _ -> any Event in AddEvent(amount: 5) }
        }
        let second = System.counter(ofEvery)
        second.start()
        #expect(second.count == 5)
    }

    @Test func `the whole-stream form on every state ends by itself and is not made again`() async {
        let made = Log<Int>()
        let system = System.counter(
            Feedback(on: AnyState.self) { states in
                made.add(1)
                return states.prefix(2).map { _ in AddEvent(amount: 1) as any Event }
            })
        system.start()
        system.send(AddEvent(amount: 10))
        #expect(system.count == 12)
        #expect(made.entries == [1])
        await system.stop()
    }

    @Test func `a graceful stop ends the whole-stream form`() async {
        let system = System.counter(
            Feedback(on: AnyState.self) { states in
                states.filter { _ in false }.map { _ in FinishEvent() as any Event }
            })
        system.start()
        // If the feedback did not end, this would take the whole limit, and the suite's time.
        await system.stop(within: .seconds(3_600))
        #expect(system.snapshot.phase == .stopped)
    }
}
