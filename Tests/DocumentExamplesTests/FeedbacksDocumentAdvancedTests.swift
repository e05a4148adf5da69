import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import OpenCombine
import Testing

// MARK: "Advanced usage"

extension FeedbacksDocumentTests {
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
}
