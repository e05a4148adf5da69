import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import OpenCombine
import Testing

// The examples of the documentation of Feedbacks, each first with a publisher and then with an async function. The
// document leaves out the parts that a comment marks as completed ("…"). `Event` and `State` are written `any Event`
// and `any State`.

@Suite(.timeLimit(.minutes(5)))
struct FeedbacksDocumentTests {
    // MARK: "A prototype is worth a thousand pictures"

    @Test(arguments: [10, 15, 20]) func `the speaker's volume goes step by step to the target`(from: Int) async {
        let expected = from <= 15 ? Array(from...15) : Array((15...from).reversed())
        for system in [speaker(from: from), asyncSpeaker(from: from), plainSpeaker(from: from)] {
            let states = await system.states(until: Self.isAtTarget)
            #expect(states.map { ($0 as? VolumeState)?.value } == expected)
            await system.stop()
            #expect((system.state as? VolumeState)?.value == 15, "the loop stays at the stable value")
        }
    }

    // MARK: "Lifecycle"

    /// Counts. In each state it starts an effect that continues until a mediator carries the state's number.
    private static func counting(_ answers: PassthroughMediator<Int>, _ strategy: ExecutionStrategy) -> System {
        System {
            InitialState { VolumeState(value: 0) }
            Feedbacks {
                Feedback(on: VolumeState.self, strategy: strategy) { state -> AnyPublisher<any Event, Never> in
                    answers.publisher
                        .filter { $0 == state.value }
                        .map { _ in DataIsLoaded(data: "\(state.value)") }
                        .eraseToAnyPublisher()
                }
            }
            Transitions {
                From(VolumeState.self) { state in
                    On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                    On(DataIsLoaded.self, transitionTo: LoadedState.self) { LoadedState(data: $0.data) }
                }
            }
        }.execute(on: .sendersThread)
    }

    private static func asyncCounting(_ answers: PassthroughMediator<Int>, _ strategy: ExecutionStrategy) -> System {
        System {
            InitialState { VolumeState(value: 0) }
            Feedbacks {
                Feedback(on: VolumeState.self, strategy: strategy) { state in
                    AsyncStream<any Event> { continuation in
                        let subscription = answers.subscribe { value in
                            if value == state.value { continuation.yield(DataIsLoaded(data: "\(value)")) }
                        }
                        continuation.onTermination = { _ in subscription.cancel() }
                    }
                }
            }
            Transitions {
                From(VolumeState.self) { state in
                    On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                    On(DataIsLoaded.self, transitionTo: LoadedState.self) { LoadedState(data: $0.data) }
                }
            }
        }.execute(on: .sendersThread)
    }

    @Test func `cancelOnNewState cancels the operation of the state before`() async {
        for make in [Self.counting, Self.asyncCounting] {
            let answers = PassthroughMediator<Int>()
            let system = make(answers, .cancelOnNewState)
            system.start()
            system.send(IncreaseEvent())
            answers.send(0)
            #expect(system.state as? VolumeState == VolumeState(value: 1), "the answer to state 0 came too late")
            answers.send(1)
            _ = await system.states { $0 as? LoadedState == LoadedState(data: "1") }
            system.cancel()
        }
    }

    @Test func `continueOnNewState lets the operation of the state before end`() async {
        for make in [Self.counting, Self.asyncCounting] {
            let answers = PassthroughMediator<Int>()
            let system = make(answers, .continueOnNewState)
            system.start()
            system.send(IncreaseEvent())
            answers.send(0)
            _ = await system.states { $0 as? LoadedState == LoadedState(data: "0") }
            system.cancel()
        }
    }

    // MARK: "Dependencies"

    /// A side effect with five dependencies, and the state as its last parameter.
    @Sendable private static func load(
        base: String, retries: Int, log: Log<String>, isFast: Bool, suffix: Character, state: LoadingState
    ) -> AnyPublisher<any Event, Never> {
        log.add("\(base) \(retries) \(isFast)")
        return Just(DataIsLoaded(data: "\(base)\(state.page)\(suffix)")).eraseToAnyPublisher()
    }

    @Sendable private static func loadAsync(
        base: String, retries: Int, log: Log<String>, isFast: Bool, suffix: Character, state: LoadingState
    ) async -> (any Event)? {
        log.add("\(base) \(retries) \(isFast)")
        return DataIsLoaded(data: "\(base)\(state.page)\(suffix)")
    }

    @Test func `SideEffect make turns a function of many parameters into a function of the state`() async {
        let log = Log<String>()
        let sideEffect = SideEffect.make(Self.load, arg1: "page", arg2: 3, arg3: log, arg4: true, arg5: "!")
        let twin = SideEffect.make(Self.loadAsync, "page", 3, log, true, "!")
        for feedback in [
            Feedback(on: LoadingState.self, strategy: .cancelOnNewState, perform: sideEffect),
            Feedback(on: LoadingState.self, strategy: .cancelOnNewState, perform: twin),
        ] {
            let system = System {
                InitialState { LoadingState(page: 7) }
                Feedbacks { feedback }
                Transitions {
                    From(LoadingState.self) { state in
                        On(DataIsLoaded.self, transitionTo: LoadedState.self) { event in
                            LoadedState(page: state.page, data: event.data)
                        }
                    }
                }
            }
            let states = await system.states { $0 is LoadedState }
            #expect(states.last as? LoadedState == LoadedState(page: 7, data: "page7!"))
            await system.stop()
        }
        #expect(log.entries == ["page 3 true", "page 3 true"])
    }

    // MARK: "Let's gain some altitude"

    @Test func `subscribing to the stream of states runs the system`() async {
        var subscriptions: [AnyCancellable] = []
        let system = speaker().execute(on: .sendersThread)
        // Changed: `store(&subscriptions)` is `store(in: &subscriptions)`, as in Combine.
        system.stream.sink { _ in }.store(in: &subscriptions)
        #expect((system.state as? VolumeState)?.value == 15)
        subscriptions.removeAll()
    }

    @Test func `running the system runs it`() async throws {
        let system = speaker()
        // Changed: `run()` is async and returns when the system has stopped, so a task calls it. (`start()` is the form
        // that returns at once.)
        let running = Task { try await system.run() }
        let stream: AsyncStream<any State> = system.stream
        for await state in stream where Self.isAtTarget(state) { break }
        await system.stop()
        try await running.value
        let other = speaker().execute(on: .sendersThread)
        other.start()
        #expect((other.state as? VolumeState)?.value == 15)
    }
}
