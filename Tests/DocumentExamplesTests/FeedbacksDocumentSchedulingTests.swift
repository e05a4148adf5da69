import Dispatch
import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import OpenCombine
import OpenCombineDispatch
import Testing

// MARK: "Scheduling"

extension FeedbacksDocumentTests {
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
}
