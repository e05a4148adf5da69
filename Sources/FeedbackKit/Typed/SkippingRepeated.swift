extension Feedback {
    /// A side effect for a part of the state, started when that part changes.
    ///
    /// After CombineFeedback's and ReactiveFeedback's `skippingRepeated`. A state in which the part equals that of the
    /// state before leaves the effect alone. A part that differs cancels the effect, withdraws what it has emitted and
    /// the loop has not taken, and starts the effect for the new part; `nil` only cancels.
    ///
    /// - Parameters:
    ///   - transform: the part of the state, on the loop's turn; `nil`: no effect.
    ///   - effects: the side effect for the part.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) -> Feedback {
        Feedback.selecting(
            name: name, from: Control??.none,
            select: { last, state, _ in
                let control = transform(state)
                if let last, last == control { return .keep }
                last = .some(control)
                return control.map { .start($0) } ?? .stop
            }, effects: effects)
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) -> Feedback {
        Feedback.skippingRepeated(name: name, state: transform, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) -> Feedback {
        Feedback.skippingRepeated(name: name, state: transform, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "skippingRepeated", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.skippingRepeated(name: name, state: transform, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func skippingRepeated<Control: Equatable & Sendable, Source: SideEffectConvertible>(
        name: String = "skippingRepeated", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.skippingRepeated(name: name, state: transform, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// `skippingRepeated(state:effects:)` as an initializer.
    @inlinable
    public init<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Effect<E>
    ) {
        self = Feedback.skippingRepeated(name: name, state: transform, effects: effects)
    }

    /// `skippingRepeated` as an initializer, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public init<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> E?
    ) {
        self = Feedback.skippingRepeated(name: name, state: transform, effects: Lift.quick(effects))
    }

    /// `skippingRepeated` as an initializer, with an async function as the side effect.
    @inlinable
    public init<Control: Equatable & Sendable>(
        name: String = "skippingRepeated", skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) async -> E?
    ) {
        self = Feedback.skippingRepeated(name: name, state: transform, effects: Lift.async(effects))
    }

    /// `skippingRepeated` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Control: Equatable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "skippingRepeated", skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.skippingRepeated(name: name, state: transform, effects: Lift.sequence(effects))
    }

    /// `skippingRepeated` as an initializer, with whatever can be a side effect as the side effect.
    @inlinable
    public init<Control: Equatable & Sendable, Source: SideEffectConvertible>(
        name: String = "skippingRepeated", skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> Source
    ) where Source.Event == E {
        self = Feedback.skippingRepeated(name: name, state: transform, effects: Lift.convertible(effects))
    }
}
