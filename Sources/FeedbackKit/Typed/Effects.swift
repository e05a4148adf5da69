extension Feedback {
    /// A side effect for every state, of which only the latest runs: each new state cancels the one before, and
    /// withdraws what it has emitted and the loop has not taken.
    ///
    /// After CombineFeedback's and ReactiveFeedback's `effects:`. A state for which there is nothing to do still
    /// cancels: give ``Effect/nothing``, or `nil`.
    ///
    /// - Parameters:
    ///   - name: for observers and snapshots.
    ///   - effects: called on the loop's turn for the initial state and each new one.
    @inlinable
    public static func effects(
        name: String = "effects", _ effects: @escaping @Sendable (S) -> Effect<E>
    ) -> Feedback {
        Feedback(name: name, cancellation: .onNewState, effect: { state, _ in effects(state) })
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func effects(
        name: String = "effects", _ effects: @escaping @Sendable (S) -> E?
    ) -> Feedback {
        Feedback(name: name, cancellation: .onNewState, answer: { state, _ in effects(state) })
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func effects(
        name: String = "effects", _ effects: @escaping @Sendable (S) async -> E?
    ) -> Feedback {
        Feedback.effects(name: name, Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func effects<Events: AsyncSequence & Sendable>(
        name: String = "effects", _ effects: @escaping @Sendable (S) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.effects(name: name, Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func effects<Source: SideEffectConvertible>(
        name: String = "effects", _ effects: @escaping @Sendable (S) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.effects(name: name, Lift.convertible(effects))
    }
}

extension Feedback {
    /// `effects` as an initializer: `Feedback(effects: { state in … })`, or with the closure behind.
    @inlinable
    public init(
        name: String = "effects", effects: @escaping @Sendable (S) -> Effect<E>
    ) {
        self = Feedback.effects(name: name, effects)
    }

    /// `effects` as an initializer, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public init(
        name: String = "effects", effects: @escaping @Sendable (S) -> E?
    ) {
        self = Feedback(name: name, cancellation: .onNewState, answer: { state, _ in effects(state) })
    }

    /// `effects` as an initializer, with an async function as the side effect.
    @inlinable
    public init(
        name: String = "effects", effects: @escaping @Sendable (S) async -> E?
    ) {
        self = Feedback.effects(name: name, Lift.async(effects))
    }

    /// `effects` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Events: AsyncSequence & Sendable>(
        name: String = "effects", effects: @escaping @Sendable (S) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.effects(name: name, Lift.sequence(effects))
    }

    /// `effects` as an initializer, with whatever can be a side effect as the side effect.
    @inlinable
    public init<Source: SideEffectConvertible>(
        name: String = "effects", effects: @escaping @Sendable (S) -> Source
    ) where Source.Event == E {
        self = Feedback.effects(name: name, Lift.convertible(effects))
    }
}
