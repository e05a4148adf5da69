extension Feedback {
    /// Creates a feedback that runs a side effect for each value of a compacted stream of states. Only the latest side
    /// effect runs.
    ///
    /// Corresponds to `compacting` of CombineFeedback and ReactiveFeedback. The originals take a function from
    /// publisher to publisher. This one takes a chain of steps on the loop's executor (see ``Compaction``), so an
    /// effect that is replaced also withdraws the events that it has emitted.
    ///
    /// - Parameters:
    ///   - transform: The chain of steps; called once, when the feedback is created.
    ///   - effects: Returns the side effect for a value.
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for the previous side effect, in a state in which the operator ends it or starts
    ///     another one. ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of
    ///     an effect that has ended.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Effect<E>
    ) -> Feedback {
        let chain = transform(.all)
        return Feedback.deciding(
            name: name, cancellation: cancellation,
            memory: {
                let step = chain.make()
                return { state, _ in step(state).map(effects) }
            })
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> E?
    ) -> Feedback {
        Feedback.compacting(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) async -> E?
    ) -> Feedback {
        Feedback.compacting(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func compacting<U: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.compacting(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func compacting<U: Sendable, Source: SideEffectConvertible>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.compacting(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// `compacting(state:effects:)` as an initializer.
    @inlinable
    public init<U: Sendable>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Effect<E>
    ) {
        self = Feedback.compacting(name: name, cancellation: cancellation, state: transform, effects: effects)
    }

    /// `compacting` as an initializer, with a synchronous function on the loop's executor, which must be quick.
    @inlinable
    public init<U: Sendable>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> E?
    ) {
        self = Feedback.compacting(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.quick(effects))
    }

    /// `compacting` as an initializer, with an async function as the side effect.
    @inlinable
    public init<U: Sendable>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) async -> E?
    ) {
        self = Feedback.compacting(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.async(effects))
    }

    /// `compacting` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<U: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.compacting(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.sequence(effects))
    }

    /// `compacting` as an initializer, with any type that converts to a side effect.
    @inlinable
    public init<U: Sendable, Source: SideEffectConvertible>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Source
    ) where Source.Event == E {
        self = Feedback.compacting(
            name: name, cancellation: cancellation, state: transform, effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for each value of a compacted stream of events. Only the latest side
    /// effect runs.
    ///
    /// Corresponds to `compacting` of CombineFeedback and ReactiveFeedback. The originals take a function from
    /// publisher to publisher. This one takes a chain of steps on the loop's executor (see ``Compaction``), so an
    /// effect that is replaced also withdraws the events that it has emitted.
    ///
    /// - Parameters:
    ///   - transform: The chain of steps; called once, when the feedback is created.
    ///   - effects: Returns the side effect for a value.
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for the previous side effect, in a state in which the operator ends it or starts
    ///     another one. ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of
    ///     an effect that has ended.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting events", cancellation: CancellationRule<S> = .onNewState,
        events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> Effect<E>
    ) -> Feedback {
        let chain = transform(.all)
        return Feedback.deciding(
            name: name, cancellation: cancellation,
            memory: {
                let step = chain.make()
                return { _, event in event.flatMap(step).map(effects) }
            })
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting events", cancellation: CancellationRule<S> = .onNewState,
        events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> E?
    ) -> Feedback {
        Feedback.compacting(
            name: name, cancellation: cancellation, events: transform, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting events", cancellation: CancellationRule<S> = .onNewState,
        events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) async -> E?
    ) -> Feedback {
        Feedback.compacting(
            name: name, cancellation: cancellation, events: transform, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func compacting<U: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "compacting events", cancellation: CancellationRule<S> = .onNewState,
        events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.compacting(
            name: name, cancellation: cancellation, events: transform, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func compacting<U: Sendable, Source: SideEffectConvertible>(
        name: String = "compacting events", cancellation: CancellationRule<S> = .onNewState,
        events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.compacting(
            name: name, cancellation: cancellation, events: transform, effects: EffectConversion.convertible(effects))
    }
}
