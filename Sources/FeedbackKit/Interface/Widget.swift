/// A rendering of a state machine: for each new state, a closure makes content from a ``Context``. Corresponds to
/// CombineFeedback's `Widget`.
///
///     let widget = Widget(viewModel: CounterViewModel()) { context in "\(context.count) [+] [-]" }
///     let screen = widget.render { terminal.write($0) }
///
/// The content can be any value, such as a `String` for a terminal. With SwiftUI, a widget whose content is a `View` is
/// a `View` itself.
public struct Widget<State: Sendable, Event: Sendable, Content>: Sendable {
    /// The view model to render.
    public let viewModel: ViewModel<State, Event>
    /// Makes the content.
    public let content: @Sendable (Context<State, Event>) -> Content

    /// Creates a widget. It renders nothing until ``render(into:)`` is called.
    public init(
        viewModel: ViewModel<State, Event>, render: @escaping @Sendable (Context<State, Event>) -> Content
    ) {
        self.viewModel = viewModel
        content = render
    }

    /// Starts the view model's machine if needed, and renders the current state and each new one.
    ///
    /// - Parameter sink: Receives the contents one by one, in the order of the states, on the loop's executor. A slow
    ///   sink delays the loop.
    /// - Returns: A subscription that ends the rendering when it is cancelled or released. It does not keep the machine
    ///   alive.
    public func render(into sink: @escaping @Sendable (Content) -> Void) -> Subscription {
        let (access, content) = (viewModel.loop.access, content)
        return viewModel.watch { state in sink(content(Context(state: state, access: access))) }
    }
}

extension Feedback {
    /// Creates a feedback that renders each state and sends the user's actions as events. Corresponds to "UI as a
    /// feedback" in CombineFeedback and RxFeedback.
    ///
    /// - Parameters:
    ///   - sink: Receives the contents one by one, in the order of the states, on the loop's executor.
    ///   - render: Makes content from a state and connects the user's actions to `send`. An event sent during rendering
    ///     queues like any other.
    ///   - name: The name in observers and snapshots.
    public static func rendering<Content>(
        name: String = "interface", into sink: @escaping @Sendable (Content) -> Void,
        _ render: @escaping @Sendable (S, Send<E>) -> Content
    ) -> Feedback {
        interface(name: name, into: sink) { render }
    }

    /// Creates a feedback that renders from a ``Context``, in a loop that takes ``Update`` values.
    ///
    /// - Parameters:
    ///   - sink: Receives the contents one by one, in the order of the states, on the loop's executor.
    ///   - render: Makes content from a context.
    ///   - name: The name in observers and snapshots.
    public static func rendering<UserEvent: Sendable, Content>(
        name: String = "interface", into sink: @escaping @Sendable (Content) -> Void,
        _ render: @escaping @Sendable (Context<S, UserEvent>) -> Content
    ) -> Feedback where E == Update<S, UserEvent> {
        interface(name: name, into: sink) {
            let current = LoopMemory<S?>(nil)
            return { state, send in
                current.value = state
                let access = LoopAccess<S, UserEvent>(
                    current: { current.value }, send: { send(.event($0)) }, mutate: { send(.mutation($0)) })
                return render(Context(state: state, access: access))
            }
        }
    }

    /// Renders each state. Every loop gets a renderer of its own.
    private static func interface<Content>(
        name: String, into sink: @escaping @Sendable (Content) -> Void,
        _ make: @escaping @Sendable () -> @Sendable (S, Send<E>) -> Content
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .never,
            memory: {
                let render = make()
                let memory = LoopMemory<Send<E>?>(nil)
                return { state, _ in
                    if let send = memory.value {
                        sink(render(state, send))
                        return .nothing
                    }
                    // The only side effect provides the way back into the loop.
                    return .subscribe { send, _ in
                        memory.value = send
                        sink(render(state, send))
                        return Subscription {}
                    }.untilStop()
                }
            })
    }
}
