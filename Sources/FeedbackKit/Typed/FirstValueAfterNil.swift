extension Feedback {
    /// A side effect for the first value of a part of the state that was `nil` before.
    ///
    /// After CombineFeedback's and ReactiveFeedback's `firstValueAfterNil`. Later values leave the effect alone,
    /// whatever they are; when the part is `nil` again, the effect is cancelled, and what it has emitted withdrawn.
    ///
    /// - Parameters:
    ///   - transform: the part of the state, on the loop's turn.
    ///   - effects: the side effect for the first value.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable>(
        name: String = "firstValueAfterNil", _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) -> Feedback {
        Feedback.selecting(
            name: name, from: false,
            select: { hadValue, state, _ in
                let control = transform(state)
                defer { hadValue = control != nil }
                guard let control else { return hadValue ? .stop : .keep }
                return hadValue ? .keep : .start(control)
            }, effects: effects)
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable>(
        name: String = "firstValueAfterNil", _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) -> Feedback {
        Feedback.firstValueAfterNil(name: name, transform, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable>(
        name: String = "firstValueAfterNil", _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) -> Feedback {
        Feedback.firstValueAfterNil(name: name, transform, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "firstValueAfterNil", _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.firstValueAfterNil(name: name, transform, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func firstValueAfterNil<Control: Sendable, Source: SideEffectConvertible>(
        name: String = "firstValueAfterNil", _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.firstValueAfterNil(name: name, transform, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// `firstValueAfterNil(_:effects:)` as an initializer.
    @inlinable
    public init<Control: Sendable>(
        name: String = "firstValueAfterNil", firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) {
        self = Feedback.firstValueAfterNil(name: name, transform, effects: effects)
    }

    /// `firstValueAfterNil` as an initializer, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public init<Control: Sendable>(
        name: String = "firstValueAfterNil", firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) {
        self = Feedback.firstValueAfterNil(name: name, transform, effects: Lift.quick(effects))
    }

    /// `firstValueAfterNil` as an initializer, with an async function as the side effect.
    @inlinable
    public init<Control: Sendable>(
        name: String = "firstValueAfterNil", firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) {
        self = Feedback.firstValueAfterNil(name: name, transform, effects: Lift.async(effects))
    }

    /// `firstValueAfterNil` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Control: Sendable, Events: AsyncSequence & Sendable>(
        name: String = "firstValueAfterNil", firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.firstValueAfterNil(name: name, transform, effects: Lift.sequence(effects))
    }

    /// `firstValueAfterNil` as an initializer, with whatever can be a side effect as the side effect.
    @inlinable
    public init<Control: Sendable, Source: SideEffectConvertible>(
        name: String = "firstValueAfterNil", firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) where Source.Event == E {
        self = Feedback.firstValueAfterNil(name: name, transform, effects: Lift.convertible(effects))
    }
}
