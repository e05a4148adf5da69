extension Feedback {
    /// Creates a feedback that runs a side effect for every state. Only the latest side effect runs: each new state
    /// cancels the one before, and withdraws its events that the loop has not taken.
    ///
    /// Corresponds to `effects:` of CombineFeedback and ReactiveFeedback. A state without work still cancels: return
    /// ``Effect/nothing``, or `nil`.
    ///
    /// - Parameters:
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for the running side effect when a new state comes.
    ///     ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of effects that
    ///     have ended.
    ///   - effects: Returns the side effect for the initial state and each new one; runs on the loop's executor.
    @inlinable
    public static func effects(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> Effect<E>
    ) -> Feedback {
        Feedback(name: name, cancellation: cancellation, effect: { state, _ in effects(state) })
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func effects(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> E?
    ) -> Feedback {
        Feedback(name: name, cancellation: cancellation, answer: { state, _ in effects(state) })
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func effects(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) async -> E?
    ) -> Feedback {
        Feedback.effects(name: name, cancellation: cancellation, EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func effects<Events: AsyncSequence & Sendable>(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.effects(name: name, cancellation: cancellation, EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func effects<Source: SideEffectConvertible>(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.effects(name: name, cancellation: cancellation, EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// `effects` as an initializer: `Feedback(effects: { state in … })`, or with a trailing closure.
    @inlinable
    public init(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        effects: @escaping @Sendable (S) -> Effect<E>
    ) {
        self = Feedback.effects(name: name, cancellation: cancellation, effects)
    }

    /// `effects` as an initializer, with a synchronous function on the loop's executor, which must be quick.
    @inlinable
    public init(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        effects: @escaping @Sendable (S) -> E?
    ) {
        self = Feedback(name: name, cancellation: cancellation, answer: { state, _ in effects(state) })
    }

    /// `effects` as an initializer, with an async function as the side effect.
    @inlinable
    public init(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        effects: @escaping @Sendable (S) async -> E?
    ) {
        self = Feedback.effects(name: name, cancellation: cancellation, EffectConversion.async(effects))
    }

    /// `effects` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Events: AsyncSequence & Sendable>(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        effects: @escaping @Sendable (S) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.effects(name: name, cancellation: cancellation, EffectConversion.sequence(effects))
    }

    /// `effects` as an initializer, with any type that converts to a side effect.
    @inlinable
    public init<Source: SideEffectConvertible>(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        effects: @escaping @Sendable (S) -> Source
    ) where Source.Event == E {
        self = Feedback.effects(name: name, cancellation: cancellation, EffectConversion.convertible(effects))
    }
}
