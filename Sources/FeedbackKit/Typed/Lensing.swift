extension Feedback {
    /// Creates a feedback that runs a side effect for a part of every state. Only the latest side effect runs; for
    /// `nil` there is none.
    ///
    /// Corresponds to CombineFeedback's `lensing(state:)`. Every new state cancels the effect of the one before, even
    /// if the part is unchanged. To keep the effect in that case, use `skippingRepeated`.
    ///
    /// - Parameters:
    ///   - transform: Returns the part of the state; runs on the loop's executor.
    ///   - effects: Returns the side effect for the part.
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for the running side effect when a new state comes.
    ///     ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of effects that
    ///     have ended.
    @inlinable
    public static func lensing<Control: Sendable>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: cancellation, effect: { state, _ in transform(state).map(effects) ?? .nothing })
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func lensing<Control: Sendable>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) -> Feedback {
        Feedback(
            name: name, cancellation: cancellation, answer: { state, _ in transform(state).flatMap(effects) })
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func lensing<Control: Sendable>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) -> Feedback {
        Feedback.lensing(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func lensing<Control: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.lensing(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func lensing<Control: Sendable, Source: SideEffectConvertible>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.lensing(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// `lensing(state:effects:)` as an initializer.
    @inlinable
    public init<Control: Sendable>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) {
        self = Feedback.lensing(name: name, cancellation: cancellation, state: transform, effects: effects)
    }

    /// `lensing` as an initializer, with a synchronous function on the loop's executor, which must be quick.
    @inlinable
    public init<Control: Sendable>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) {
        self = Feedback(
            name: name, cancellation: cancellation, answer: { state, _ in transform(state).flatMap(effects) })
    }

    /// `lensing` as an initializer, with an async function as the side effect.
    @inlinable
    public init<Control: Sendable>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) {
        self = Feedback.lensing(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.async(effects))
    }

    /// `lensing` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Control: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.lensing(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.sequence(effects))
    }

    /// `lensing` as an initializer, with any type that converts to a side effect.
    @inlinable
    public init<Control: Sendable, Source: SideEffectConvertible>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) where Source.Event == E {
        self = Feedback.lensing(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for events of one kind. Only the latest side effect runs.
    ///
    /// Corresponds to CombineFeedback's `lensing(event:)`. Another event of the kind cancels the effect and starts it
    /// again. Other events do not affect it. (In the original they cancel it, so a keystroke would end a download.)
    ///
    /// - Parameters:
    ///   - transform: Returns the payload of an event, or `nil` for an event of another kind. Runs on the loop's
    ///     executor, after the event has been reduced.
    ///   - effects: Returns the side effect for the payload.
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for the previous side effect, in a state in which the operator ends it or starts
    ///     another one. ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of
    ///     an effect that has ended.
    @inlinable
    public static func lensing<Payload: Sendable>(
        name: String = "lensing event", cancellation: CancellationRule<S> = .onNewState,
        event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> Effect<E>
    ) -> Feedback {
        Feedback.deciding(
            name: name, cancellation: cancellation,
            memory: { { _, event in event.flatMap(transform).map(effects) } })
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func lensing<Payload: Sendable>(
        name: String = "lensing event", cancellation: CancellationRule<S> = .onNewState,
        event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> E?
    ) -> Feedback {
        Feedback.lensing(
            name: name, cancellation: cancellation, event: transform, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func lensing<Payload: Sendable>(
        name: String = "lensing event", cancellation: CancellationRule<S> = .onNewState,
        event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) async -> E?
    ) -> Feedback {
        Feedback.lensing(
            name: name, cancellation: cancellation, event: transform, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func lensing<Payload: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "lensing event", cancellation: CancellationRule<S> = .onNewState,
        event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.lensing(
            name: name, cancellation: cancellation, event: transform, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func lensing<Payload: Sendable, Source: SideEffectConvertible>(
        name: String = "lensing event", cancellation: CancellationRule<S> = .onNewState,
        event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.lensing(
            name: name, cancellation: cancellation, event: transform, effects: EffectConversion.convertible(effects))
    }
}
