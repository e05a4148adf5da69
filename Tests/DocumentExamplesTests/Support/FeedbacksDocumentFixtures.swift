import Dispatch
import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import OpenCombineDispatch

// The states, events and systems that several parts of the documentation of Feedbacks have in common.

struct VolumeState: State, Equatable { let value: Int }
struct IncreaseEvent: Event {}
struct DecreaseEvent: Event {}
let targetedVolume = 15

// Names that the document uses without a definition.
struct LoadingState: State, Equatable { var page = 0 }
struct LoadedState: State, Equatable {
    var page = 0
    var data = "data"
}
struct ErrorState: State, Equatable {}
struct SelectedState: State, Equatable {}
struct IdleState: State, Equatable {}
struct DataIsLoaded: Event { var data = "data" }
struct LoadingHasFailed: Event {}
struct RefreshEvent: Event {}
struct FinishedLoadingEvent: Event {}
struct SelectEvent: Event {}
struct MyEvent: Event {}

private let placeKey = DispatchSpecificKey<String>()

/// The document's `DispatchQueue(label: "A background queue")`, whose code can detect that it runs there.
func backgroundQueue() -> DispatchQueue {
    let queue = DispatchQueue(label: "A background queue")
    queue.setSpecific(key: placeKey, value: "background")
    return queue
}

var place: String { DispatchQueue.getSpecific(key: placeKey) ?? "elsewhere" }
extension FeedbacksDocumentTests {
    func speaker(from volume: Int = 10) -> System {
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

    func asyncSpeaker(from volume: Int = 10) -> System {
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
    func plainSpeaker(from volume: Int = 10) -> System {
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

    static func isAtTarget(_ state: any State) -> Bool {
        state as? VolumeState == VolumeState(value: targetedVolume)
    }

    /// A feedback with a publisher, and with an async function.
    static let bothForms: [Feedback<any State, any Event>] = [
        Feedback(on: LoadingState.self, strategy: .continueOnNewState) { state -> AnyPublisher<any Event, Never> in
            Just(DataIsLoaded(data: "\(state.page)")).eraseToAnyPublisher()
        },
        Feedback(on: LoadingState.self, strategy: .continueOnNewState) { state async -> (any Event)? in
            DataIsLoaded(data: "\(state.page)")
        },
    ]

    static let loadingRules = From(LoadingState.self) { state in
        On(DataIsLoaded.self, transitionTo: LoadedState.self) { LoadedState(page: state.page, data: $0.data) }
        On(LoadingHasFailed.self, transitionTo: ErrorState())
    }
}
