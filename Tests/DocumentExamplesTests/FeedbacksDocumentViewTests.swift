import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import OpenCombine
import Testing

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
