extension Feedback {
    /// Creates a feedback that runs a side effect when a part of the state changes from `nil` to a value.
    ///
    /// Corresponds to `firstValueAfterNil` of CombineFeedback and ReactiveFeedback. Later values do not affect the
    /// running effect. When the part is `nil` again, the effect is cancelled and its events are withdrawn.
    ///
    /// - Parameters:
    ///   - transform: Returns the part of the state; runs on the loop's executor.
    ///   - effects: Returns the side effect for the first value.
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for the previous side effect, in a state in which the operator ends it or starts
    ///     another one. ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of
    ///     an effect that has ended.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) -> Feedback {
        Feedback.selecting(
            name: name, cancellation: cancellation, from: false,
            select: { hadValue, state, _ in
                let control = transform(state)
                defer { hadValue = control != nil }
                guard let control else { return hadValue ? .stop : .keep }
                return hadValue ? .keep : .start(control)
            }, effects: effects)
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) -> Feedback {
        Feedback.firstValueAfterNil(
            name: name, cancellation: cancellation, transform, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) -> Feedback {
        Feedback.firstValueAfterNil(
            name: name, cancellation: cancellation, transform, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.firstValueAfterNil(
            name: name, cancellation: cancellation, transform, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable, Source: SideEffectConvertible>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.firstValueAfterNil(
            name: name, cancellation: cancellation, transform, effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// `firstValueAfterNil(_:effects:)` as an initializer.
    @inlinable
    public init<Control: Sendable>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) {
        self = Feedback.firstValueAfterNil(name: name, cancellation: cancellation, transform, effects: effects)
    }

    /// `firstValueAfterNil` as an initializer, with a synchronous function on the loop's executor, which must be quick.
    @inlinable
    public init<Control: Sendable>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) {
        self = Feedback.firstValueAfterNil(
            name: name, cancellation: cancellation, transform, effects: EffectConversion.quick(effects))
    }

    /// `firstValueAfterNil` as an initializer, with an async function as the side effect.
    @inlinable
    public init<Control: Sendable>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) {
        self = Feedback.firstValueAfterNil(
            name: name, cancellation: cancellation, transform, effects: EffectConversion.async(effects))
    }

    /// `firstValueAfterNil` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Control: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.firstValueAfterNil(
            name: name, cancellation: cancellation, transform, effects: EffectConversion.sequence(effects))
    }

    /// `firstValueAfterNil` as an initializer, with any type that converts to a side effect.
    @inlinable
    public init<Control: Sendable, Source: SideEffectConvertible>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) where Source.Event == E {
        self = Feedback.firstValueAfterNil(
            name: name, cancellation: cancellation, transform, effects: EffectConversion.convertible(effects))
    }
}
