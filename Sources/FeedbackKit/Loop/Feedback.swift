/// What a new state does to the side effects of a feedback that still run.
@frozen
public enum CancellationRule<S: Sendable>: Sendable {
    /// Every new state cancels them.
    case onNewState
    /// They go on until they end by themselves.
    case never
    /// A new state for which this holds cancels them.
    case when(@Sendable (S) -> Bool)
}

/// Decides, from states, which side effect runs; the events of the side effect come back into the same loop.
///
/// `S` is the loop's state and `E` its event. In a ``System`` they are `any State` and `any Event`, and the
/// initializers with `on:` pick the states by their type.
public struct Feedback<S: Sendable, E: Sendable>: Sendable {
    /// Sees a state and the event that caused it (none for the initial one).
    @usableFromInline package typealias Receive = @Sendable (S, E?) -> Effect<E>

    /// What it does.
    @usableFromInline
    package enum Kind: Sendable {
        /// Answers each state with a side effect.
        case reaction(CancellationRule<S>, Receive)
        /// Brings events in from outside for as long as the loop runs.
        case source(@Sendable (Send<E>) -> Subscription)
    }

    /// Its name, for observers and snapshots.
    public var name: String
    @usableFromInline package var kind: Kind
    @usableFromInline package var executor: (any LoopExecutor)?

    @usableFromInline
    package init(name: String, kind: Kind, executor: (any LoopExecutor)? = nil) {
        self.name = name
        self.kind = kind
        self.executor = executor
    }

    /// Whether every new state ends its side effects.
    @inlinable
    package var endsOnNewState: Bool {
        if case .reaction(.onNewState, _) = kind { true } else { false }
    }

    /// A feedback that answers each state with a side effect.
    ///
    /// - Parameters:
    ///   - name: for observers and snapshots.
    ///   - cancellation: what a new state does to side effects that still run.
    ///   - effect: called on the loop's turn for the initial state and each new one, with the event that caused it, in
    ///     the order in which feedbacks were declared; it should be quick, and leave the work to the effect it returns.
    public init(
        name: String = "",
        cancellation: CancellationRule<S> = .onNewState,
        effect: @escaping @Sendable (S, E?) -> Effect<E>
    ) {
        self.init(name: name, kind: .reaction(cancellation, effect))
    }

    /// A feedback that only looks: called on the loop's turn for the initial state and each new one.
    public static func sink(name: String = "", _ body: @escaping @Sendable (S, E?) -> Void) -> Feedback {
        Feedback(name: name, cancellation: .never) { state, event in
            body(state, event)
            return .nothing
        }
    }

    /// A feedback that brings events in from outside.
    ///
    /// `subscribe` is called once, before the loop's first state is shown; the subscription it returns is cancelled
    /// when the loop stops taking events.
    public static func source(
        name: String = "", subscribe: @escaping @Sendable (Send<E>) -> Subscription
    ) -> Feedback {
        Feedback(name: name, kind: .source(subscribe))
    }

    /// Says where the side effects run; otherwise it is where the loop's executor says.
    public func execute(on executor: some LoopExecutor) -> Feedback {
        var copy = self
        copy.executor = executor
        return copy
    }
}
