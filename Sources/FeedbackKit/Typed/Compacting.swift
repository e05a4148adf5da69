extension Feedback {
    /// A side effect for each value to which the states are compacted, of which only the latest runs.
    ///
    /// After CombineFeedback's and ReactiveFeedback's `compacting`. The originals take a function from publisher to
    /// publisher, this one a chain of steps on the loop's turn (see ``Compaction``), so that an effect which gives way
    /// to another takes along what it has emitted.
    ///
    /// - Parameters:
    ///   - transform: the chain of steps; called once, when the feedback is made.
    ///   - effects: the side effect for a value.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting", state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Effect<E>
    ) -> Feedback {
        let chain = transform(.all)
        return Feedback(
            name: name, cancellation: .never,
            memory: {
                let step = chain.make()
                return { state, _ in step(state).map { effects($0).replacingPrevious() } ?? .nothing }
            })
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting", state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> E?
    ) -> Feedback {
        Feedback.compacting(name: name, state: transform, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting", state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) async -> E?
    ) -> Feedback {
        Feedback.compacting(name: name, state: transform, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func compacting<U: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "compacting", state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.compacting(name: name, state: transform, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func compacting<U: Sendable, Source: SideEffectConvertible>(
        name: String = "compacting", state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.compacting(name: name, state: transform, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// `compacting(state:effects:)` as an initializer.
    @inlinable
    public init<U: Sendable>(
        name: String = "compacting", compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Effect<E>
    ) {
        self = Feedback.compacting(name: name, state: transform, effects: effects)
    }

    /// `compacting` as an initializer, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public init<U: Sendable>(
        name: String = "compacting", compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> E?
    ) {
        self = Feedback.compacting(name: name, state: transform, effects: Lift.quick(effects))
    }

    /// `compacting` as an initializer, with an async function as the side effect.
    @inlinable
    public init<U: Sendable>(
        name: String = "compacting", compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) async -> E?
    ) {
        self = Feedback.compacting(name: name, state: transform, effects: Lift.async(effects))
    }

    /// `compacting` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<U: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "compacting", compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.compacting(name: name, state: transform, effects: Lift.sequence(effects))
    }

    /// `compacting` as an initializer, with whatever can be a side effect as the side effect.
    @inlinable
    public init<U: Sendable, Source: SideEffectConvertible>(
        name: String = "compacting", compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> Source
    ) where Source.Event == E {
        self = Feedback.compacting(name: name, state: transform, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// A side effect for each value to which the events are compacted, of which only the latest runs.
    ///
    /// After CombineFeedback's and ReactiveFeedback's `compacting`. The originals take a function from publisher to
    /// publisher, this one a chain of steps on the loop's turn (see ``Compaction``), so that an effect which gives way
    /// to another takes along what it has emitted.
    ///
    /// - Parameters:
    ///   - transform: the chain of steps; called once, when the feedback is made.
    ///   - effects: the side effect for a value.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting events", events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> Effect<E>
    ) -> Feedback {
        let chain = transform(.all)
        return Feedback(
            name: name, cancellation: .never,
            memory: {
                let step = chain.make()
                return { _, event in
                    event.flatMap(step).map { effects($0).replacingPrevious() } ?? .nothing
                }
            })
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting events", events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> E?
    ) -> Feedback {
        Feedback.compacting(name: name, events: transform, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func compacting<U: Sendable>(
        name: String = "compacting events", events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) async -> E?
    ) -> Feedback {
        Feedback.compacting(name: name, events: transform, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func compacting<U: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "compacting events", events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.compacting(name: name, events: transform, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func compacting<U: Sendable, Source: SideEffectConvertible>(
        name: String = "compacting events", events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.compacting(name: name, events: transform, effects: Lift.convertible(effects))
    }
}
