extension Feedback {
    /// A side effect for a part of every state, of which only the latest runs; where the part is `nil`, none.
    ///
    /// After CombineFeedback's `lensing(state:)`. Every new state cancels the effect of the one before, also when the
    /// part is the same: to leave the effect alone then, take `skippingRepeated`.
    ///
    /// - Parameters:
    ///   - transform: the part of the state, on the loop's turn.
    ///   - effects: the side effect for the part.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func lensing<Control: Sendable>(
        name: String = "lensing", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .onNewState, effect: { state, _ in transform(state).map(effects) ?? .nothing })
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func lensing<Control: Sendable>(
        name: String = "lensing", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .onNewState, answer: { state, _ in transform(state).flatMap(effects) })
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func lensing<Control: Sendable>(
        name: String = "lensing", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) -> Feedback {
        Feedback.lensing(name: name, state: transform, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func lensing<Control: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "lensing", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.lensing(name: name, state: transform, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func lensing<Control: Sendable, Source: SideEffectConvertible>(
        name: String = "lensing", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.lensing(name: name, state: transform, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// `lensing(state:effects:)` as an initializer.
    @inlinable
    public init<Control: Sendable>(
        name: String = "lensing", lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) {
        self = Feedback.lensing(name: name, state: transform, effects: effects)
    }

    /// `lensing` as an initializer, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public init<Control: Sendable>(
        name: String = "lensing", lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) {
        self = Feedback(
            name: name, cancellation: .onNewState, answer: { state, _ in transform(state).flatMap(effects) })
    }

    /// `lensing` as an initializer, with an async function as the side effect.
    @inlinable
    public init<Control: Sendable>(
        name: String = "lensing", lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) {
        self = Feedback.lensing(name: name, state: transform, effects: Lift.async(effects))
    }

    /// `lensing` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Control: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "lensing", lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.lensing(name: name, state: transform, effects: Lift.sequence(effects))
    }

    /// `lensing` as an initializer, with whatever can be a side effect as the side effect.
    @inlinable
    public init<Control: Sendable, Source: SideEffectConvertible>(
        name: String = "lensing", lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) where Source.Event == E {
        self = Feedback.lensing(name: name, state: transform, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// A side effect for events of one kind, of which only the latest runs.
    ///
    /// After CombineFeedback's `lensing(event:)`. Another event of the kind cancels the effect and starts it anew.
    /// Events not of the kind leave it alone; in the original they cancel it, so that a keystroke would end a download.
    ///
    /// - Parameters:
    ///   - transform: what of the event is wanted; `nil`: it is not of the kind. On the loop's turn, after the event
    ///     has been reduced.
    ///   - effects: the side effect for what is wanted.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func lensing<Payload: Sendable>(
        name: String = "lensing event", event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .never,
            effect: { _, event in
                event.flatMap(transform).map { effects($0).replacingPrevious() } ?? .nothing
            })
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func lensing<Payload: Sendable>(
        name: String = "lensing event", event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> E?
    ) -> Feedback {
        Feedback.lensing(name: name, event: transform, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func lensing<Payload: Sendable>(
        name: String = "lensing event", event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) async -> E?
    ) -> Feedback {
        Feedback.lensing(name: name, event: transform, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func lensing<Payload: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "lensing event", event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.lensing(name: name, event: transform, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func lensing<Payload: Sendable, Source: SideEffectConvertible>(
        name: String = "lensing event", event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.lensing(name: name, event: transform, effects: Lift.convertible(effects))
    }
}
