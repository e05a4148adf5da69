import FeedbackKit
import FeedbackKitTesting
import Testing

extension FeedbacksDocumentTests {
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
