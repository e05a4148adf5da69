/// Renders a state machine: each time the state changes, a closure makes new content from a ``Context``. After
/// CombineFeedback's `Widget`.
///
///     let widget = Widget(viewModel: CounterViewModel()) { context in "\(context.count) [+] [-]" }
///     let screen = widget.render { terminal.write($0) }
///
/// The content is any value, a `String` for a terminal, say. With SwiftUI, a widget whose content is a `View` is a
/// `View`.
public struct Widget<State: Sendable, Event: Sendable, Content>: Sendable {
    /// What is rendered.
    public let viewModel: ViewModel<State, Event>
    /// Makes the content.
    public let content: @Sendable (Context<State, Event>) -> Content

    /// A widget, which renders nothing until it is told where.
    public init(
        viewModel: ViewModel<State, Event>, render: @escaping @Sendable (Context<State, Event>) -> Content
    ) {
        self.viewModel = viewModel
        content = render
    }

    /// Starts the view model's machine, if it has not been started, and renders the current state and each new one.
    ///
    /// - Parameter sink: called on the loop's turn, one content after the other, in the order of the states; a slow one
    ///   holds the loop up.
    /// - Returns: ends the rendering when it is cancelled or released. It does not keep the machine alive.
    public func render(into sink: @escaping @Sendable (Content) -> Void) -> Subscription {
        let (reach, content) = (viewModel.machine.reach, content)
        return viewModel.watch { state in sink(content(Context(state: state, reach: reach))) }
    }
}

extension Feedback {
    /// An interface as a feedback: it renders each state, and what the user does comes back as events. After the "UI as
    /// a feedback" of CombineFeedback and RxFeedback.
    ///
    /// - Parameters:
    ///   - sink: called on the loop's turn, one content after the other, in the order of the states.
    ///   - render: makes content of a state, and wires what the user may do to `send`. An event sent while it renders
    ///     queues like any other.
    ///   - name: for observers and snapshots.
    public static func rendering<Content>(
        name: String = "interface", into sink: @escaping @Sendable (Content) -> Void,
        _ render: @escaping @Sendable (S, Send<E>) -> Content
    ) -> Feedback {
        interface(name: name, into: sink) { render }
    }

    /// An interface as a feedback that renders from a ``Context``, in a loop that takes ``Update``s.
    ///
    /// - Parameters:
    ///   - sink: called on the loop's turn, one content after the other, in the order of the states.
    ///   - render: makes content of a context.
    ///   - name: for observers and snapshots.
    public static func rendering<UserEvent: Sendable, Content>(
        name: String = "interface", into sink: @escaping @Sendable (Content) -> Void,
        _ render: @escaping @Sendable (Context<S, UserEvent>) -> Content
    ) -> Feedback where E == Update<S, UserEvent> {
        interface(name: name, into: sink) {
            let current = LoopMemory<S?>(nil)
            return { state, send in
                current.value = state
                let reach = Reach<S, UserEvent>(
                    current: { current.value }, send: { send(.event($0)) }, mutate: { send(.mutation($0)) })
                return render(Context(state: state, reach: reach))
            }
        }
    }

    /// Renders each state; what renders is made anew for each loop.
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
                    // The one side effect is there for its way back into the loop.
                    return .subscribe { send, _ in
                        memory.value = send
                        sink(render(state, send))
                        return Subscription {}
                    }.untilStop()
                }
            })
    }
}
