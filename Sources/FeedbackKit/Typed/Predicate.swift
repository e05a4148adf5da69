extension Feedback {
    /// A side effect that runs while a condition holds: it is started with the state in which the condition comes to
    /// hold, and cancelled, and what it has emitted withdrawn, when the condition holds no more.
    ///
    /// After CombineFeedback's `predicate`. Further states for which the condition holds leave the effect alone, as
    /// there; early versions of ReactiveFeedback start it anew for each of them: for that take `lensing`.
    ///
    /// - Parameters:
    ///   - predicate: the condition, on the loop's turn.
    ///   - effects: the side effect for the state in which the condition came to hold.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func predicate(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Effect<E>
    ) -> Feedback {
        Feedback.selecting(
            name: name, from: false,
            select: { held, state, _ in
                let holds = predicate(state)
                defer { held = holds }
                if holds == held { return .keep }
                return holds ? .start(state) : .stop
            }, effects: effects)
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func predicate(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool, effects: @escaping @Sendable (S) -> E?
    ) -> Feedback {
        Feedback.predicate(name: name, predicate: predicate, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func predicate(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) async -> E?
    ) -> Feedback {
        Feedback.predicate(name: name, predicate: predicate, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func predicate<Events: AsyncSequence & Sendable>(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.predicate(name: name, predicate: predicate, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func predicate<Source: SideEffectConvertible>(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.predicate(name: name, predicate: predicate, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// `predicate(predicate:effects:)` as an initializer.
    @inlinable
    public init(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Effect<E>
    ) {
        self = Feedback.predicate(name: name, predicate: predicate, effects: effects)
    }

    /// `predicate` as an initializer, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public init(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool, effects: @escaping @Sendable (S) -> E?
    ) {
        self = Feedback.predicate(name: name, predicate: predicate, effects: Lift.quick(effects))
    }

    /// `predicate` as an initializer, with an async function as the side effect.
    @inlinable
    public init(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) async -> E?
    ) {
        self = Feedback.predicate(name: name, predicate: predicate, effects: Lift.async(effects))
    }

    /// `predicate` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Events: AsyncSequence & Sendable>(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.predicate(name: name, predicate: predicate, effects: Lift.sequence(effects))
    }

    /// `predicate` as an initializer, with whatever can be a side effect as the side effect.
    @inlinable
    public init<Source: SideEffectConvertible>(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Source
    ) where Source.Event == E {
        self = Feedback.predicate(name: name, predicate: predicate, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// A side effect that starts when a condition comes to hold, and is cancelled when it holds no more:
    /// ReactiveFeedback's name for what CombineFeedback calls `predicate`.
    ///
    /// - Parameters:
    ///   - predicate: the condition, on the loop's turn.
    ///   - effects: the side effect for the state in which the condition came to hold.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func whenBecomesTrue(
        name: String = "whenBecomesTrue", _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Effect<E>
    ) -> Feedback {
        Feedback.predicate(name: name, predicate: predicate, effects: effects)
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func whenBecomesTrue(
        name: String = "whenBecomesTrue", _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> E?
    ) -> Feedback {
        Feedback.whenBecomesTrue(name: name, predicate, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func whenBecomesTrue(
        name: String = "whenBecomesTrue", _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) async -> E?
    ) -> Feedback {
        Feedback.whenBecomesTrue(name: name, predicate, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func whenBecomesTrue<Events: AsyncSequence & Sendable>(
        name: String = "whenBecomesTrue", _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.whenBecomesTrue(name: name, predicate, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func whenBecomesTrue<Source: SideEffectConvertible>(
        name: String = "whenBecomesTrue", _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.whenBecomesTrue(name: name, predicate, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// `whenBecomesTrue(_:effects:)` as an initializer.
    @inlinable
    public init(
        name: String = "whenBecomesTrue", whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Effect<E>
    ) {
        self = Feedback.whenBecomesTrue(name: name, predicate, effects: effects)
    }

    /// `whenBecomesTrue` as an initializer, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public init(
        name: String = "whenBecomesTrue", whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> E?
    ) {
        self = Feedback.whenBecomesTrue(name: name, predicate, effects: Lift.quick(effects))
    }

    /// `whenBecomesTrue` as an initializer, with an async function as the side effect.
    @inlinable
    public init(
        name: String = "whenBecomesTrue", whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) async -> E?
    ) {
        self = Feedback.whenBecomesTrue(name: name, predicate, effects: Lift.async(effects))
    }

    /// `whenBecomesTrue` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Events: AsyncSequence & Sendable>(
        name: String = "whenBecomesTrue", whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.whenBecomesTrue(name: name, predicate, effects: Lift.sequence(effects))
    }

    /// `whenBecomesTrue` as an initializer, with whatever can be a side effect as the side effect.
    @inlinable
    public init<Source: SideEffectConvertible>(
        name: String = "whenBecomesTrue", whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Source
    ) where Source.Event == E {
        self = Feedback.whenBecomesTrue(name: name, predicate, effects: Lift.convertible(effects))
    }
}
