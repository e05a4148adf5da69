extension Feedback {
    /// Creates a feedback that runs a side effect for every state, of which only the latest runs. This is
    /// CombineFeedback's name for `effects`.
    ///
    /// - Parameter effects: Returns the side effect for the initial state and each new one; runs on the loop's
    ///   executor.
    /// - Parameter name: The name in observers and snapshots.
    /// - Parameter cancellation: The rule for the running side effect when a new state comes.
    ///   ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of effects that
    ///   have ended.
    @inlinable
    public static func middleware(
        name: String = "middleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> Effect<E>
    ) -> Feedback {
        Feedback.effects(name: name, cancellation: cancellation, effects)
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func middleware(
        name: String = "middleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> E?
    ) -> Feedback {
        Feedback(name: name, cancellation: cancellation, answer: { state, _ in effects(state) })
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func middleware(
        name: String = "middleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) async -> E?
    ) -> Feedback {
        Feedback.middleware(name: name, cancellation: cancellation, EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func middleware<Events: AsyncSequence & Sendable>(
        name: String = "middleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.middleware(name: name, cancellation: cancellation, EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func middleware<Source: SideEffectConvertible>(
        name: String = "middleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.middleware(name: name, cancellation: cancellation, EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for every event. Only the latest side effect runs. It receives the
    /// event and the state after the reduction.
    ///
    /// Corresponds to ReactiveFeedback's `middleware` with two parameters. (In CombineFeedback the two parameters are
    /// the state and the dependency.)
    ///
    /// The initial state starts nothing, because no event caused it. The feedback does not receive events that change
    /// nothing (see ``Reduction``).
    ///
    /// - Parameter effects: Returns the side effect for each new state; runs on the loop's executor.
    /// - Parameter name: The name in observers and snapshots.
    /// - Parameter cancellation: The rule for the running side effect when a new state comes.
    ///   ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of effects that
    ///   have ended.
    @inlinable
    public static func eventMiddleware(
        name: String = "eventMiddleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S, E) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: cancellation,
            effect: { state, event in event.map { effects(state, $0) } ?? .nothing })
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func eventMiddleware(
        name: String = "eventMiddleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S, E) -> E?
    ) -> Feedback {
        Feedback(
            name: name, cancellation: cancellation,
            answer: { state, event in event.flatMap { effects(state, $0) } })
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func eventMiddleware(
        name: String = "eventMiddleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S, E) async -> E?
    ) -> Feedback {
        Feedback.eventMiddleware(name: name, cancellation: cancellation, EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func eventMiddleware<Events: AsyncSequence & Sendable>(
        name: String = "eventMiddleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S, E) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.eventMiddleware(name: name, cancellation: cancellation, EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func eventMiddleware<Source: SideEffectConvertible>(
        name: String = "eventMiddleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S, E) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.eventMiddleware(name: name, cancellation: cancellation, EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// Unavailable: the meaning of a second parameter is ambiguous.
    @available(
        *, unavailable,
        message: "use eventMiddleware for a state and its event; capture a dependency: middleware { state in … }"
    )
    public static func middleware<Result>(
        name: String = "middleware", _ effects: @escaping @Sendable (S, E) -> Result
    ) -> Feedback {
        fatalError("unavailable")
    }
}
