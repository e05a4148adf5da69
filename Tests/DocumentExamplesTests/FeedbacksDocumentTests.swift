import Dispatch
import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import Foundation
import OpenCombine
import OpenCombineDispatch
import Testing

// The examples of the documentation of Feedbacks, each first with a publisher and then with an async function. The
// document leaves out the parts that a comment marks as completed ("…"). `Event` and `State` are written `any Event`
// and `any State`.

private struct VolumeState: State, Equatable { let value: Int }
private struct IncreaseEvent: Event {}
private struct DecreaseEvent: Event {}
private let targetedVolume = 15

// Names that the document uses without a definition.
private struct LoadingState: State, Equatable { var page = 0 }
private struct LoadedState: State, Equatable {
    var page = 0
    var data = "data"
}
private struct ErrorState: State, Equatable {}
private struct SelectedState: State, Equatable {}
private struct IdleState: State, Equatable {}
private struct DataIsLoaded: Event { var data = "data" }
private struct LoadingHasFailed: Event {}
private struct RefreshEvent: Event {}
private struct FinishedLoadingEvent: Event {}
private struct SelectEvent: Event {}
private struct MyEvent: Event {}

private let placeKey = DispatchSpecificKey<String>()

/// The document's `DispatchQueue(label: "A background queue")`, whose code can detect that it runs there.
private func backgroundQueue() -> DispatchQueue {
    let queue = DispatchQueue(label: "A background queue")
    queue.setSpecific(key: placeKey, value: "background")
    return queue
}

private var place: String { DispatchQueue.getSpecific(key: placeKey) ?? "elsewhere" }

@Suite(.timeLimit(.minutes(5)))
struct FeedbacksDocumentTests {
    // MARK: "A prototype is worth a thousand pictures"

    private func speaker(from volume: Int = 10) -> System {
        // Changed: `AnyPublisher<Event, Never>` is `AnyPublisher<any Event, Never>`; the first volume is a parameter.
        System {
            InitialState {
                VolumeState(value: volume)
            }
            Feedbacks {
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) {
                    state -> AnyPublisher<any Event, Never> in
                    if state.value >= targetedVolume {
                        return Empty().eraseToAnyPublisher()
                    }
                    return Just(IncreaseEvent()).eraseToAnyPublisher()
                }
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) {
                    state -> AnyPublisher<any Event, Never> in
                    if state.value <= targetedVolume {
                        return Empty().eraseToAnyPublisher()
                    }
                    return Just(DecreaseEvent()).eraseToAnyPublisher()
                }
            }
            Transitions {
                From(VolumeState.self) { state in
                    On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                    On(DecreaseEvent.self, transitionTo: VolumeState(value: state.value - 1))
                }
            }
        }
    }

    private func asyncSpeaker(from volume: Int = 10) -> System {
        System {
            InitialState {
                VolumeState(value: volume)
            }
            Feedbacks {
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
                    state.value >= targetedVolume ? nil : IncreaseEvent()
                }
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
                    state.value <= targetedVolume ? nil : DecreaseEvent()
                }
            }
            Transitions {
                From(VolumeState.self) { state in
                    On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                    On(DecreaseEvent.self, transitionTo: VolumeState(value: state.value - 1))
                }
            }
        }
    }

    /// The same with synchronous functions, as in the README.
    private func plainSpeaker(from volume: Int = 10) -> System {
        System {
            InitialState {
                VolumeState(value: volume)
            }
            Feedbacks {
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
                    if state.value >= targetedVolume {
                        return nil
                    }
                    return IncreaseEvent()
                }
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
                    if state.value <= targetedVolume {
                        return nil
                    }
                    return DecreaseEvent()
                }
            }
            Transitions {
                From(VolumeState.self) { state in
                    On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                    On(DecreaseEvent.self, transitionTo: VolumeState(value: state.value - 1))
                }
            }
        }
    }

    private static func isAtTarget(_ state: any State) -> Bool {
        state as? VolumeState == VolumeState(value: targetedVolume)
    }

    @Test(arguments: [10, 15, 20]) func `the speaker's volume goes step by step to the target`(from: Int) async {
        let expected = from <= 15 ? Array(from...15) : Array((15...from).reversed())
        for system in [speaker(from: from), asyncSpeaker(from: from), plainSpeaker(from: from)] {
            let states = await system.states(until: Self.isAtTarget)
            #expect(states.map { ($0 as? VolumeState)?.value } == expected)
            await system.stop()
            #expect((system.state as? VolumeState)?.value == 15, "the loop stays at the stable value")
        }
    }

    // MARK: "Scheduling"

    /// A stand-in for the document's function of this name; it records where it runs.
    private static func performLongRunningOperation(_ log: Log<String>) -> AnyPublisher<Void, Never> {
        log.add("operation \(place)")
        return Just(()).eraseToAnyPublisher()
    }

    private static func performLongRunningOperation(_ log: Log<String>) async {
        log.add("operation \(place)")
        await Task.yield()
    }

    /// A system around feedbacks of the document, which omits the rest of it.
    private static func loading(_ log: Log<String>, _ feedbacks: Feedbacks) -> System {
        System {
            InitialState { LoadingState() }
            feedbacks
            Transitions {
                From(LoadingState.self) { _ in
                    On(FinishedLoadingEvent.self, transitionTo: SelectedState.self) { _ in
                        log.add("transition \(place)")
                        return SelectedState()
                    }
                }
                From(SelectedState.self) { _ in On(SelectEvent.self, transitionTo: LoadedState()) }
            }
        }
    }

    @Test func `a feedback is executed on a background queue`() async {
        let log = Log<String>()
        let system = Self.loading(
            log,
            Feedbacks {
                // Changed: the operation receives the log.
                Feedback(on: LoadingState.self, strategy: .continueOnNewState) {
                    state -> AnyPublisher<any Event, Never> in
                    Self.performLongRunningOperation(log)
                        .map { FinishedLoadingEvent() }
                        .eraseToAnyPublisher()
                }
                .execute(on: backgroundQueue())
            })
        _ = await system.states { $0 is SelectedState }
        #expect(log.entries == ["operation background", "transition elsewhere"])
        await system.stop()
    }

    @Test func `async twin: a feedback is executed on a background queue`() async {
        let log = Log<String>()
        let queue = backgroundQueue()
        let system = Self.loading(
            log,
            Feedbacks {
                Feedback(on: LoadingState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
                    await Self.performLongRunningOperation(log)
                    return FinishedLoadingEvent()
                }
                .execute(on: .scheduler(queue))
            })
        _ = await system.states { $0 is SelectedState }
        #expect(log.entries == ["operation background", "transition elsewhere"])
        await system.stop()
    }

    @Test func `all feedbacks of a container are executed on a background queue`() async {
        let log = Log<String>()
        let system = Self.loading(
            log,
            Feedbacks {
                // Completed: the bodies, which the document omits.
                Feedback(on: LoadingState.self, strategy: .continueOnNewState) {
                    state -> AnyPublisher<any Event, Never> in
                    log.add("loading \(place)")
                    return Just(FinishedLoadingEvent()).eraseToAnyPublisher()
                }
                Feedback(on: SelectedState.self, strategy: .continueOnNewState) {
                    state -> AnyPublisher<any Event, Never> in
                    log.add("selected \(place)")
                    return Just(SelectEvent()).eraseToAnyPublisher()
                }
            }
            .execute(on: backgroundQueue()))
        _ = await system.states { $0 is LoadedState }
        #expect(log.entries == ["loading background", "transition elsewhere", "selected background"])
        await system.stop()
    }

    @Test func `async twin: all feedbacks of a container are executed on a background queue`() async {
        let log = Log<String>()
        let system = Self.loading(
            log,
            Feedbacks {
                Feedback(on: LoadingState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
                    log.add("loading \(place)")
                    return FinishedLoadingEvent()
                }
                Feedback(on: SelectedState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
                    log.add("selected \(place)")
                    return SelectEvent()
                }
            }
            .execute(on: backgroundQueue()))
        _ = await system.states { $0 is LoadedState }
        #expect(log.entries == ["loading background", "transition elsewhere", "selected background"])
        await system.stop()
    }

    @Test(arguments: Form.allCases) func `transitions are executed on a background queue`(form: Form) async {
        let log = Log<String>()
        let feedback: Feedback<any State, any Event> =
            switch form {
            case .publisher:
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) {
                    state -> AnyPublisher<any Event, Never> in
                    state.value >= targetedVolume
                        ? Empty().eraseToAnyPublisher() : Just(IncreaseEvent()).eraseToAnyPublisher()
                }
            case .async:
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
                    state.value >= targetedVolume ? nil : IncreaseEvent()
                }
            }
        let system = System {
            InitialState {
                VolumeState(value: 14)
            }
            Feedbacks {
                feedback
            }
            Transitions {
                From(VolumeState.self) { state in
                    // Changed: the closure form, so that the closure can record where it runs.
                    On(IncreaseEvent.self, transitionTo: VolumeState.self) { _ in
                        log.add("transition \(place)")
                        return VolumeState(value: state.value + 1)
                    }
                    On(DecreaseEvent.self, transitionTo: VolumeState(value: state.value - 1))
                }
            }.execute(on: backgroundQueue())
        }
        _ = await system.states(until: Self.isAtTarget)
        #expect(log.entries == ["transition background"])
        await system.stop()
    }

    @Test func `a whole system is executed on a background queue`() async {
        for system in [speaker(), asyncSpeaker()] {
            let log = Log<String>()
            system.execute(on: backgroundQueue())
            let watching = system.publisher.sink { _ in log.add(place) }
            _ = await system.states(until: Self.isAtTarget)
            #expect(Set(log.entries) == ["background"])
            watching.cancel()
            await system.stop()
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
        // Changed: the function comes first, followed by its dependencies without `arg:` labels, as in FeedbackKit.
        let sideEffect = SideEffect.make(Self.load, "page", 3, log, true, "!")
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

// MARK: "Advanced usage"

extension FeedbacksDocumentTests {
    /// A feedback with a publisher, and with an async function.
    private static let bothForms: [Feedback<any State, any Event>] = [
        Feedback(on: LoadingState.self, strategy: .continueOnNewState) { state -> AnyPublisher<any Event, Never> in
            Just(DataIsLoaded(data: "\(state.page)")).eraseToAnyPublisher()
        },
        Feedback(on: LoadingState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
            DataIsLoaded(data: "\(state.page)")
        },
    ]

    private static let loadingRules = From(LoadingState.self) { state in
        On(DataIsLoaded.self, transitionTo: LoadedState.self) { LoadedState(page: state.page, data: $0.data) }
        On(LoadingHasFailed.self, transitionTo: ErrorState())
    }

    @Test(arguments: 0..<2) func `a disabled feedback is not executed`(form: Int) async {
        let isDisabled = CurrentValueMediator(true)
        let system = System {
            InitialState { LoadingState(page: 1) }
            Feedbacks { Self.bothForms[form].disable { isDisabled.value } }
            Transitions {
                Self.loadingRules
                From(LoadingState.self) { state in
                    On(RefreshEvent.self, transitionTo: LoadingState(page: state.page + 1))
                }
            }
        }.execute(on: .sendersThread)
        system.start()
        #expect(system.state as? LoadingState == LoadingState(page: 1))
        isDisabled.value = false
        system.send(RefreshEvent())
        _ = await system.states { $0 as? LoadedState == LoadedState(page: 2, data: "2") }
        system.cancel()
    }

    @Test func `disabled transitions are passed over`() {
        let isDisabled = CurrentValueMediator(true)
        let one = Transitions {
            From(LoadingState.self) { _ in
                On(LoadingHasFailed.self, transitionTo: ErrorState()).disable { isDisabled.value }
                On(RefreshEvent.self, transitionTo: LoadingState())
            }
        }
        one.assertThatStateIsUnchanged(from: LoadingState(), on: LoadingHasFailed())
        one.assertThat(from: LoadingState(), on: RefreshEvent(), newStateIs: LoadingState())
        let all = Transitions { Self.loadingRules }.disable { isDisabled.value }
        all.assertThatStateIsUnchanged(from: LoadingState(), on: LoadingHasFailed())
        isDisabled.value = false
        one.assertThat(from: LoadingState(), on: LoadingHasFailed(), newStateIs: ErrorState())
        all.assertThat(from: LoadingState(), on: LoadingHasFailed(), newStateIs: ErrorState())
    }

    @Test(arguments: 0..<2) func `onStateReceived and onEventEmitted are called on a feedback and on the container`(
        form: Int
    ) async {
        let log = Log<String>()
        let system = System {
            InitialState { LoadingState(page: 1) }
            Feedbacks {
                Self.bothForms[form]
                    .onStateReceived { log.add("feedback received \(type(of: $0))") }
                    .onEventEmitted { log.add("feedback emitted \(type(of: $0))") }
            }
            .onStateReceived { log.add("container received \(type(of: $0))") }
            .onEventEmitted { log.add("container emitted \(type(of: $0))") }
            Transitions { Self.loadingRules }
        }
        _ = await system.states { $0 is LoadedState }
        await system.stop()
        #expect(
            log.entries == [
                "container received LoadingState", "feedback received LoadingState", "feedback emitted DataIsLoaded",
                "container emitted DataIsLoaded", "container received LoadedState", "feedback received LoadedState",
            ])
    }

    @Test func `modifiers chain`() async {
        let log = Log<String>()
        let system = System {
            InitialState { LoadingState(page: 1) }
            Feedbacks {
                Self.bothForms[0]
                    .disable { false }
                    .execute(on: backgroundQueue())
                    .onEventEmitted { _ in log.add(place) }
            }
            Transitions { Self.loadingRules }
        }
        _ = await system.states { $0 is LoadedState }
        await system.stop()
        #expect(log.entries == ["background"], "disable keeps the scheduler")
    }

    // "Considering the state is ErrorState, this transition will produce a LoadingState whatever event is received."
    // "Everytime the RefreshEvent is received, this transition will produce a LoadingState whatever the previous
    // state."
    @Test func `wildcards stand for any event and for any state`() {
        // Completed: the code, of which the document contains only the two sentences above.
        let anyEvent = Transitions {
            From(ErrorState.self) { _ in
                On(AnyEvent.self, transitionTo: LoadingState())
            }
        }
        for event in [RefreshEvent(), SelectEvent(), MyEvent()] as [any Event] {
            anyEvent.assertThat(from: ErrorState(), on: event, newStateIs: LoadingState())
        }
        anyEvent.assertThatStateIsUnchanged(from: IdleState(), on: RefreshEvent())

        let anyState = Transitions {
            From(AnyState.self) { _ in
                On(RefreshEvent.self, transitionTo: LoadingState())
            }
        }
        for state in [ErrorState(), IdleState(), LoadedState()] as [any State] {
            anyState.assertThat(from: state, on: RefreshEvent(), newStateIs: LoadingState())
        }
        anyState.assertThatStateIsUnchanged(from: IdleState(), on: SelectEvent())
    }

    @Test func `a feedback on AnyState is executed whatever the state, one on a state only there`() async {
        let log = Log<String>()
        let queries = { @Sendable (state: any State) -> AnyPublisher<Void, Never> in
            log.add("\(type(of: state))")
            return state is LoadedState ? Empty().eraseToAnyPublisher() : Just(()).eraseToAnyPublisher()
        }
        let rules = Transitions {
            From(IdleState.self) { _ in On(MyEvent.self, transitionTo: LoadingState()) }
            From(LoadingState.self) { _ in On(MyEvent.self, transitionTo: LoadedState()) }
        }
        let onAny = System {
            InitialState { IdleState() }
            Feedbacks {
                Feedback(on: AnyState.self, strategy: .continueOnNewState) { state in
                    queries(state)
                        .map { _ in MyEvent() as any Event }
                        .eraseToAnyPublisher()
                }
            }
            rules
        }
        _ = await onAny.states { $0 is LoadedState }
        await onAny.stop()
        #expect(log.entries == ["IdleState", "LoadingState", "LoadedState"])

        let onOne = System {
            InitialState { LoadingState() }
            Feedbacks {
                Feedback(on: LoadingState.self, strategy: .continueOnNewState) { state in
                    queries(state)
                        .map { _ in MyEvent() as any Event }
                        .eraseToAnyPublisher()
                }
            }
            rules
        }
        _ = await onOne.states { $0 is LoadedState }
        await onOne.stop()
        #expect(log.entries == ["IdleState", "LoadingState", "LoadedState", "LoadingState"])
    }

    @Test func `async twin: a feedback on AnyState is executed whatever the state`() async {
        let log = Log<String>()
        let system = System {
            InitialState { IdleState() }
            Feedbacks {
                Feedback(on: AnyState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
                    log.add("\(type(of: state))")
                    return state is LoadedState ? nil : MyEvent()
                }
                Feedback(on: LoadingState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
                    log.add("only \(type(of: state))")
                    return nil
                }
            }
            Transitions {
                From(IdleState.self) { _ in On(MyEvent.self, transitionTo: LoadingState()) }
                From(LoadingState.self) { _ in On(MyEvent.self, transitionTo: LoadedState()) }
            }
        }
        _ = await system.states { $0 is LoadedState }
        await system.stop()
        #expect(log.entries.filter { !$0.hasPrefix("only") } == ["IdleState", "LoadingState", "LoadedState"])
        #expect(log.entries.filter { $0.hasPrefix("only") } == ["only LoadingState"])
    }

    @Test func `the whole stream of states becomes a stream of events`() async {
        // Completed: the document's text ("a side effect … returns a Publisher of events"), in the whole-stream form.
        let log = Log<Int>()
        let publisher = Feedback(on: VolumeState.self) { (states: OrderedPublisher<VolumeState>) in
            states.map(\.value).filter { $0 < 3 }.map { value -> any Event in
                log.add(value)
                return IncreaseEvent()
            }
        }
        let twin = Feedback(on: VolumeState.self) { (states: AsyncStream<VolumeState>) in
            AsyncStream<any Event> { continuation in
                let task = Task {
                    for await state in states where state.value < 3 {
                        log.add(state.value)
                        continuation.yield(IncreaseEvent())
                    }
                    continuation.finish()
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }
        for feedback in [publisher, twin] {
            let system = System {
                InitialState { VolumeState(value: 0) }
                Feedbacks { feedback }
                Transitions {
                    From(VolumeState.self) { state in
                        On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                    }
                }
            }
            _ = await system.states { ($0 as? VolumeState)?.value == 3 }
            await system.stop()
        }
        #expect(log.entries == [0, 1, 2, 0, 1, 2])
    }

    // MARK: "Composing Transitions"

    @Test func `transitions are composed of logical units`() {
        let transitions = Transitions {
            From(LoadingState.self) { state in
                On(DataIsLoaded.self, transitionTo: LoadedState.self) { event in
                    LoadedState(page: state.page, data: event.data)
                }
                On(LoadingHasFailed.self, transitionTo: ErrorState())
            }
            From(LoadedState.self) { state in
                On(RefreshEvent.self, transitionTo: LoadingState.self) {
                    LoadingState(page: state.page)
                }
            }
        }
        Self.check(transitions)
    }

    @Test func `transitions are composed of properties`() {
        let loadingTransitions = From(LoadingState.self) { state in
            On(DataIsLoaded.self, transitionTo: LoadedState.self) { event in
                LoadedState(page: state.page, data: event.data)
            }
            On(LoadingHasFailed.self, transitionTo: ErrorState())
        }
        let loadedTransitions = From(LoadedState.self) { state in
            On(RefreshEvent.self, transitionTo: LoadingState.self) {
                LoadingState(page: state.page)
            }
        }
        let transitions = Transitions {
            loadingTransitions
            loadedTransitions
        }
        Self.check(transitions)
    }

    private static func check(_ transitions: Transitions) {
        transitions.assertThat(
            from: LoadingState(page: 4), on: DataIsLoaded(data: "x"), newStateIs: LoadedState(page: 4, data: "x"))
        transitions.assertThat(from: LoadingState(page: 4), on: LoadingHasFailed(), newStateIs: ErrorState())
        transitions.assertThat(
            from: LoadedState(page: 4, data: "x"), on: RefreshEvent(), newStateIs: LoadingState(page: 4))
        transitions.assertThatStateIsUnchanged(from: LoadingState(page: 4), on: RefreshEvent())
    }

    // MARK: "Unit testing your state machine"

    @Test func `transitions of a system are asserted`() {
        let mySystem = speaker()
        let transitions = mySystem.transitions
        transitions.assertThat(
            from: VolumeState(value: 10), on: IncreaseEvent(), newStateIs: VolumeState(value: 11))
        // Completed: the document's `Loading` and `Refresh` belong to another system.
        let loading = Transitions { Self.loadingRules }
        loading.assertThatStateIsUnchanged(from: LoadingState(), on: RefreshEvent())
    }
}

// MARK: "How to make Systems communicate?"

private struct LoadedDoneEvent: Event {}
private struct LoadedEvent: Event { let data: String }
private struct ReceivedState: State, Equatable { let data: String }

extension FeedbacksDocumentTests {
    /// Completes the document's `System { … }`: loads at once, by a publisher or by an async function.
    private static func loader(_ form: Int) -> System {
        System {
            InitialState { LoadingState(page: 1) }
            Feedbacks { bothForms[form] }
            Transitions { loadingRules }
        }
    }

    /// Completes the document's `System { … }`: records that the other one has loaded.
    private static func receiver() -> System {
        System {
            InitialState { IdleState() }
            Transitions {
                From(IdleState.self) { _ in
                    On(LoadedDoneEvent.self, transitionTo: ReceivedState(data: "done"))
                    On(LoadedEvent.self, transitionTo: ReceivedState.self) { ReceivedState(data: $0.data) }
                }
            }
        }
    }

    @Test(arguments: 0..<2) func `two systems communicate through a mediator`(form: Int) async {
        let mediator = PassthroughMediator<Int>()
        let log = Log<Int>()
        let watching = mediator.subject.sink { log.add($0) }
        let systemA = Self.loader(form)
            .attach(to: mediator, onSystemState: LoadedState.self, emitMediatorValue: { _ in 1701 })
        let systemB = Self.receiver()
            .attach(to: mediator, onMediatorValue: 1701, emitSystemEvent: { _ in LoadedDoneEvent() })
        systemB.start()
        mediator.send(1)  // Another value causes no event.
        systemA.start()
        let states = await systemB.states { $0 is ReceivedState }
        #expect(states.last as? ReceivedState == ReceivedState(data: "done"))
        #expect(log.entries == [1, 1701])
        await systemA.stop()
        await systemB.stop()
        watching.cancel()
    }

    @Test(arguments: 0..<2) func `a mediator with memory reaches a system that starts late`(form: Int) async {
        let mediator = CurrentValueMediator(0)
        let systemA = Self.loader(form)
            .attach(to: mediator, onSystemState: LoadedState.self, emitMediatorValue: { _ in 1701 })
        _ = await systemA.states { $0 is LoadedState }
        await systemA.stop()
        #expect(mediator.value == 1701)
        let systemB = Self.receiver()
            .attach(to: mediator, onMediatorValue: 1701, emitSystemEvent: { _ in LoadedDoneEvent() })
        _ = await systemB.states { $0 is ReceivedState }
        await systemB.stop()
    }

    @Test(arguments: 0..<2) func `a system is attached to a system`(form: Int) async {
        let systemA = Self.loader(form)
        let systemB = Self.receiver()
        systemA.attach(
            to: systemB,
            onSystemStateType: LoadedState.self,
            emitAttachedSystemEvent: { stateFromA in
                LoadedEvent(data: stateFromA.data)
            }
        )
        systemA.start()
        let states = await systemB.states { $0 is ReceivedState }
        #expect(states.last as? ReceivedState == ReceivedState(data: "1"))
        await systemA.stop()
        await systemB.stop()
    }
}

// MARK: "Using Feedbacks with SwiftUI and UIKit"

// Changed: a view state has an `undefined` case, which is published before the first state has been mapped.
private enum FeatureViewState: ViewState {
    case undefined
    case displayLoading
    case displayData(data: String)
}

private let stateToViewState: @Sendable (any State) -> FeatureViewState = { state in
    switch state {
    case is LoadingState: return .displayLoading
    case let loadedState as LoadedState: return .displayData(data: loadedState.data)
    default: return .undefined
    }
}

/// The document's `FeatureView`. Changed: without SwiftUI its body is text, and its button is a function.
@MainActor
private struct FeatureView {
    let system: UISystem<FeatureViewState>

    var body: String {
        switch self.system.state {
        case .undefined: return ""
        case .displayLoading: return "loading"
        case let .displayData(data): return "data \(data)"
        }
    }

    func button() {
        self.system.emit(RefreshEvent())
    }
}

/// The document's `FeatureViewController`. Changed: without UIKit it has no superclass, and it renders into a stream.
@MainActor
private final class FeatureViewController {
    let system: ObservedUISystem<FeatureViewState>
    var subscriptions = [AnyCancellable]()
    let rendered: AsyncStream<FeatureViewState>
    private let screen: AsyncStream<FeatureViewState>.Continuation

    init(system: UISystem<FeatureViewState>) {
        self.system = ObservedUISystem(system)
        (rendered, screen) = AsyncStream.makeStream()
    }

    func viewDidLoad() {
        self
            .system
            .$state
            .sink { [weak self] state in self?.render(state) }
            .store(in: &self.subscriptions)
    }

    func render(_ state: FeatureViewState) { screen.yield(state) }

    func onClick() {
        self.system.emit(RefreshEvent())
    }
}

extension FeedbacksDocumentTests {
    private static let viewRules = Transitions {
        loadingRules
        From(LoadedState.self) { state in
            On(RefreshEvent.self, transitionTo: LoadingState(page: state.page + 1))
        }
    }

    /// The two initializers, each in both forms.
    private static func uiSystem(_ form: Int, decorated: Bool) -> UISystem<FeatureViewState> {
        if decorated {
            let system = System {
                InitialState {
                    LoadingState()
                }
                Feedbacks { bothForms[form] }
                viewRules
            }
            return system.uiSystem(viewStateFactory: stateToViewState)
        }
        return UISystem(viewStateFactory: stateToViewState) {
            InitialState {
                LoadingState()
            }
            Feedbacks { bothForms[form] }
            viewRules
        }
    }

    @Test(arguments: 0..<2, [true, false]) @MainActor
    func `a view shows what the system publishes and emits into it`(form: Int, decorated: Bool) async {
        let system = Self.uiSystem(form, decorated: decorated)
        let view = FeatureView(system: system)
        #expect(view.body == "")
        let states = system.states()
        system.start()
        for await state in states where state == .displayData(data: "0") { break }
        #expect(view.body == "data 0")
        view.button()
        for await state in system.states() where state == .displayData(data: "1") { break }
        #expect(view.body == "data 1")
        await system.stop()
    }

    @Test(arguments: 0..<2) @MainActor
    func `a view controller renders each published state on the main actor`(form: Int) async {
        let system = Self.uiSystem(form, decorated: true)
        let controller = FeatureViewController(system: system)
        controller.viewDidLoad()
        system.start()
        for await state in controller.rendered where state == .displayData(data: "0") { break }
        controller.onClick()
        for await state in controller.rendered where state == .displayData(data: "1") { break }
        #expect(controller.system.state == .displayData(data: "1"))
        controller.subscriptions.removeAll()
        await system.stop()
    }

    @Test @MainActor func `a simple UISystem publishes raw states`() async {
        // Completed: the counter application that the document refers to.
        let system = UISystem {
            InitialState { VolumeState(value: 0) }
            Transitions {
                From(VolumeState.self) { state in
                    On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                    On(DecreaseEvent.self, transitionTo: VolumeState(value: state.value - 1))
                }
            }
        }
        system.start()
        system.emit(IncreaseEvent())
        system.emit(IncreaseEvent())
        system.emit(DecreaseEvent())
        await system.stop()
        for await state in system.states() where state.state as? VolumeState == VolumeState(value: 1) { break }
    }
}
