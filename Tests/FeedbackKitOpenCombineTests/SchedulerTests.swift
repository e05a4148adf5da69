import Dispatch
import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import OpenCombineDispatch
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SchedulerTests {
    private static let key = DispatchSpecificKey<String>()

    /// A serial queue whose code can detect that it runs there.
    private func queue(_ name: String) -> DispatchQueue {
        let queue = DispatchQueue(label: name)
        queue.setSpecific(key: Self.key, value: name)
        return queue
    }

    private static var here: String { DispatchQueue.getSpecific(key: key) ?? "elsewhere" }

    /// Runs a system until it has counted to one, and returns the place of each step.
    private func places(_ make: (Log<String>) -> System) async -> [String] {
        let places = Log<String>()
        let system = make(places)
        let states = system.stream
        system.start()
        for await state in states where state is DoneState { break }
        await system.stop()
        return places.entries
    }

    private func system(
        feedbacks: (Feedbacks) -> Feedbacks = { $0 }, transitions: (Transitions) -> Transitions = { $0 },
        _ log: Log<String>, _ effect: @escaping @Sendable (CountState) -> AnyPublisher<any Event, Never>
    ) -> System {
        System {
            InitialState { CountState(value: 0) }
            feedbacks(
                Feedbacks {
                    Feedback(on: CountState.self, strategy: .continueOnNewState, perform: effect)
                })
            transitions(
                Transitions {
                    From(CountState.self) { _ in
                        On(FinishEvent.self, transitionTo: DoneState.self) { _ in
                            log.add("transition \(Self.here)")
                            return DoneState()
                        }
                    }
                })
        }
    }

    private func finish(_ log: Log<String>) -> @Sendable (CountState) -> AnyPublisher<any Event, Never> {
        { _ in
            log.add("effect \(Self.here)")
            return Just(FinishEvent()).eraseToAnyPublisher()
        }
    }

    @Test func `a feedback's publisher is made on its scheduler`() async {
        let queue = queue("effects")
        let seen = await places { log in
            System {
                InitialState { CountState(value: 0) }
                Feedbacks {
                    Feedback(on: CountState.self, strategy: .continueOnNewState, perform: finish(log)).execute(
                        on: queue)
                }
                Transitions { From(CountState.self) { _ in On(FinishEvent.self, transitionTo: DoneState()) } }
            }
        }
        #expect(seen == ["effect effects"])
    }

    @Test func `all feedbacks' publishers are made on the scheduler of the container`() async {
        let queue = queue("effects")
        let seen = await places { log in system(feedbacks: { $0.execute(on: queue) }, log, finish(log)) }
        #expect(seen == ["effect effects", "transition elsewhere"])
    }

    @Test func `transitions on a scheduler are computed there`() async {
        let queue = queue("transitions")
        let seen = await places { log in system(transitions: { $0.execute(on: queue) }, log, finish(log)) }
        #expect(seen == ["effect transitions", "transition transitions"])
    }

    @Test func `a system on a scheduler runs there`() async {
        let queue = queue("system")
        let seen = await places { log in system(log, finish(log)).execute(on: queue) }
        #expect(seen == ["effect system", "transition system"])
    }

    @Test func `an async side effect runs on the scheduler`() async {
        let queue = queue("effects")
        let seen = await places { log in
            System {
                InitialState { CountState(value: 0) }
                Feedbacks {
                    Feedback(on: CountState.self, strategy: .continueOnNewState) { _ async -> (any Event)? in
                        log.add("effect \(Self.here)")
                        await Task.yield()
                        log.add("effect \(Self.here)")
                        return FinishEvent()
                    }
                }.execute(on: queue)
                Transitions { From(CountState.self) { _ in On(FinishEvent.self, transitionTo: DoneState()) } }
            }
        }
        #expect(seen == ["effect effects", "effect effects"])
    }

    @Test func `the whole-stream form gets its states on the scheduler, in their order`() async {
        let queue = queue("effects")
        let seen = Log<String>()
        let system = System.counter(
            Feedback(on: CountState.self) { (states: OrderedPublisher<CountState>) in
                seen.add("made \(Self.here)")
                return states.map { state -> any Event in
                    seen.add("\(state.value) \(Self.here)")
                    return state.value < 2 ? AddEvent(amount: 1) : FinishEvent()
                }
            }.execute(on: queue))
        let states = system.stream
        system.start()
        for await state in states where state is DoneState { break }
        #expect(seen.entries == ["made effects", "0 effects", "1 effects", "2 effects"])
        await system.stop()
    }

    @Test func `a typed operator's publisher is made on the scheduler`() async {
        let queue = queue("effects")
        let seen = Log<String>()
        let loop = Loop.adder(
            Feedback(effects: { (state: Int) -> AnyPublisher<Int, Never> in
                seen.add("\(state) \(Self.here)")
                return state < 2 ? Just(1).eraseToAnyPublisher() : Empty().eraseToAnyPublisher()
            }).execute(on: queue))
        let states = loop.states()
        loop.start()
        for await state in states where state == 2 { break }
        await loop.stop()
        #expect(seen.entries == ["0 effects", "1 effects", "2 effects"])
    }

    @Test func `a publisher cancelled before its scheduler comes to it is never made`() async {
        let queue = queue("effects")
        let made = Log<Int>()
        queue.suspend()
        let system = System.counter(
            Feedback(on: CountState.self, strategy: .cancelOnNewState) { state -> AnyPublisher<any Event, Never> in
                made.add(state.value)
                return Empty(completeImmediately: false).eraseToAnyPublisher()
            }.execute(on: queue))
        system.start()
        system.send(AddEvent(amount: 1))
        queue.resume()
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        #expect(made.entries == [1])
        system.cancel()
    }

    @Test func `the immediate scheduler is the sender's thread, for a chain of any length`() {
        let loop = Loop<Int, Int>(
            initial: 0, feedbacks: [Feedback { (state: Int, _: Int?) in state < 300_000 ? 1 : nil }],
            executor: .scheduler(ImmediateScheduler.shared)
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        #expect(loop.state == 300_000)
    }
}
