extension Feedback {
    /// Creates a feedback that runs a side effect when a part of the state changes.
    ///
    /// Corresponds to `skippingRepeated` of CombineFeedback and ReactiveFeedback. If the part equals that of the
    /// previous state, the effect continues. If it differs, the effect is cancelled, its events that the loop has not
    /// taken are withdrawn, and an effect for the new part starts. `nil` only cancels.
    ///
    /// - Parameters:
    ///   - transform: Returns the part of the state, or `nil` for no effect; runs on the loop's executor.
    ///   - effects: Returns the side effect for the part.
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for the previous side effect, in a state in which the operator ends it or starts
    ///     another one. ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of
    ///     an effect that has ended.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) -> Feedback {
        Feedback.selecting(
            name: name, cancellation: cancellation, from: Control??.none,
            select: { last, state, _ in
                let control = transform(state)
                if let last, last == control { return .keep }
                last = .some(control)
                return control.map { .start($0) } ?? .stop
            }, effects: effects)
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) -> Feedback {
        Feedback.skippingRepeated(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) -> Feedback {
        Feedback.skippingRepeated(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.skippingRepeated(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable, Source: SideEffectConvertible>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.skippingRepeated(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// `skippingRepeated(state:effects:)` as an initializer.
    @inlinable
    public init<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) {
        self = Feedback.skippingRepeated(name: name, cancellation: cancellation, state: transform, effects: effects)
    }

    /// `skippingRepeated` as an initializer, with a synchronous function on the loop's executor, which must be quick.
    @inlinable
    public init<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) {
        self = Feedback.skippingRepeated(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.quick(effects))
    }

    /// `skippingRepeated` as an initializer, with an async function as the side effect.
    @inlinable
    public init<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) {
        self = Feedback.skippingRepeated(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.async(effects))
    }

    /// `skippingRepeated` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Control: Equatable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.skippingRepeated(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.sequence(effects))
    }

    /// `skippingRepeated` as an initializer, with any type that converts to a side effect.
    @inlinable
    public init<Control: Equatable & Sendable, Source: SideEffectConvertible>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) where Source.Event == E {
        self = Feedback.skippingRepeated(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.convertible(effects))
    }
}
