extension Feedback {
    /// A side effect for every state, of which only the latest runs: CombineFeedback's name for `effects`.
    ///
    /// - Parameter effects: called on the loop's turn for the initial state and each new one.
    /// - Parameter name: for observers and snapshots.
    @inlinable
    public static func middleware(
        name: String = "middleware", _ effects: @escaping @Sendable (S) -> Effect<E>
    ) -> Feedback {
        Feedback.effects(name: name, effects)
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func middleware(
        name: String = "middleware", _ effects: @escaping @Sendable (S) -> E?
    ) -> Feedback {
        Feedback(name: name, cancellation: .onNewState, answer: { state, _ in effects(state) })
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func middleware(
        name: String = "middleware", _ effects: @escaping @Sendable (S) async -> E?
    ) -> Feedback {
        Feedback.middleware(name: name, Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func middleware<Events: AsyncSequence & Sendable>(
        name: String = "middleware", _ effects: @escaping @Sendable (S) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.middleware(name: name, Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func middleware<Source: SideEffectConvertible>(
        name: String = "middleware", _ effects: @escaping @Sendable (S) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.middleware(name: name, Lift.convertible(effects))
    }
}

extension Feedback {
    /// A side effect for every event, of which only the latest runs; it is given the state after the reduction and the
    /// event that caused it. After ReactiveFeedback's `middleware` with two parameters, which in CombineFeedback are something
    /// else: the state and the dependency.
    ///
    /// The initial state, which no event caused, starts nothing. An event that changes nothing (see ``Reduction``) is
    /// not seen.
    ///
    /// - Parameter effects: called on the loop's turn for each new state.
    /// - Parameter name: for observers and snapshots.
    @inlinable
    public static func eventMiddleware(
        name: String = "eventMiddleware", _ effects: @escaping @Sendable (S, E) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .onNewState,
            effect: { state, event in event.map { effects(state, $0) } ?? .nothing })
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func eventMiddleware(
        name: String = "eventMiddleware", _ effects: @escaping @Sendable (S, E) -> E?
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .onNewState,
            answer: { state, event in event.flatMap { effects(state, $0) } })
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func eventMiddleware(
        name: String = "eventMiddleware", _ effects: @escaping @Sendable (S, E) async -> E?
    ) -> Feedback {
        Feedback.eventMiddleware(name: name, Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func eventMiddleware<Events: AsyncSequence & Sendable>(
        name: String = "eventMiddleware", _ effects: @escaping @Sendable (S, E) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.eventMiddleware(name: name, Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func eventMiddleware<Source: SideEffectConvertible>(
        name: String = "eventMiddleware", _ effects: @escaping @Sendable (S, E) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.eventMiddleware(name: name, Lift.convertible(effects))
    }
}

extension Feedback {
    /// Not available: with two parameters it is not clear what the second one is.
    @available(
        *, unavailable,
        message: "for a state and its event write eventMiddleware; a dependency is captured: middleware { state in … }"
    )
    public static func middleware<Result>(
        name: String = "middleware", _ effects: @escaping @Sendable (S, E) -> Result
    ) -> Feedback {
        fatalError("unavailable")
    }
}
