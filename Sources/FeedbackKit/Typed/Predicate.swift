extension Feedback {
    /// Creates a feedback that runs a side effect while a condition holds. The effect starts in the state in which the
    /// condition becomes true. When the condition becomes false, the effect is cancelled and its events are withdrawn.
    ///
    /// Corresponds to CombineFeedback's `predicate`. Further states for which the condition holds do not affect the
    /// effect. (Early versions of ReactiveFeedback restart it for each of them; use `lensing` for that.)
    ///
    /// - Parameters:
    ///   - predicate: The condition; runs on the loop's executor.
    ///   - effects: Returns the side effect for the state in which the condition became true.
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for the previous side effect, in a state in which the operator ends it or starts
    ///     another one. ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of
    ///     an effect that has ended.
    @inlinable
    public static func predicate(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Effect<E>
    ) -> Feedback {
        Feedback.selecting(
            name: name, cancellation: cancellation, from: false,
            select: { held, state, _ in
                let holds = predicate(state)
                defer { held = holds }
                if holds == held { return .keep }
                return holds ? .start(state) : .stop
            }, effects: effects)
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func predicate(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool, effects: @escaping @Sendable (S) -> E?
    ) -> Feedback {
        Feedback.predicate(
            name: name, cancellation: cancellation, predicate: predicate, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func predicate(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) async -> E?
    ) -> Feedback {
        Feedback.predicate(
            name: name, cancellation: cancellation, predicate: predicate, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func predicate<Events: AsyncSequence & Sendable>(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.predicate(
            name: name, cancellation: cancellation, predicate: predicate, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func predicate<Source: SideEffectConvertible>(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.predicate(
            name: name, cancellation: cancellation, predicate: predicate,
            effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// `predicate(predicate:effects:)` as an initializer.
    @inlinable
    public init(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Effect<E>
    ) {
        self = Feedback.predicate(name: name, cancellation: cancellation, predicate: predicate, effects: effects)
    }

    /// `predicate` as an initializer, with a synchronous function on the loop's executor, which must be quick.
    @inlinable
    public init(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool, effects: @escaping @Sendable (S) -> E?
    ) {
        self = Feedback.predicate(
            name: name, cancellation: cancellation, predicate: predicate, effects: EffectConversion.quick(effects))
    }

    /// `predicate` as an initializer, with an async function as the side effect.
    @inlinable
    public init(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) async -> E?
    ) {
        self = Feedback.predicate(
            name: name, cancellation: cancellation, predicate: predicate, effects: EffectConversion.async(effects))
    }

    /// `predicate` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Events: AsyncSequence & Sendable>(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.predicate(
            name: name, cancellation: cancellation, predicate: predicate, effects: EffectConversion.sequence(effects))
    }

    /// `predicate` as an initializer, with any type that converts to a side effect.
    @inlinable
    public init<Source: SideEffectConvertible>(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Source
    ) where Source.Event == E {
        self = Feedback.predicate(
            name: name, cancellation: cancellation, predicate: predicate,
            effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect while a condition holds: ReactiveFeedback's name for
    /// CombineFeedback's `predicate`.
    ///
    /// - Parameters:
    ///   - predicate: The condition; runs on the loop's executor.
    ///   - effects: Returns the side effect for the state in which the condition became true.
    ///   - name: The name in observers and snapshots.
    ///   - cancellation: The rule for the previous side effect, in a state in which the operator ends it or starts
    ///     another one. ``CancellationRule/boundToState``, the rule of ReactiveFeedback, also withdraws the events of
    ///     an effect that has ended.
    @inlinable
    public static func whenBecomesTrue(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Effect<E>
    ) -> Feedback {
        Feedback.predicate(name: name, cancellation: cancellation, predicate: predicate, effects: effects)
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func whenBecomesTrue(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> E?
    ) -> Feedback {
        Feedback.whenBecomesTrue(
            name: name, cancellation: cancellation, predicate, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func whenBecomesTrue(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) async -> E?
    ) -> Feedback {
        Feedback.whenBecomesTrue(
            name: name, cancellation: cancellation, predicate, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func whenBecomesTrue<Events: AsyncSequence & Sendable>(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.whenBecomesTrue(
            name: name, cancellation: cancellation, predicate, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func whenBecomesTrue<Source: SideEffectConvertible>(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.whenBecomesTrue(
            name: name, cancellation: cancellation, predicate, effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// `whenBecomesTrue(_:effects:)` as an initializer.
    @inlinable
    public init(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Effect<E>
    ) {
        self = Feedback.whenBecomesTrue(name: name, cancellation: cancellation, predicate, effects: effects)
    }

    /// `whenBecomesTrue` as an initializer, with a synchronous function on the loop's executor, which must be quick.
    @inlinable
    public init(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> E?
    ) {
        self = Feedback.whenBecomesTrue(
            name: name, cancellation: cancellation, predicate, effects: EffectConversion.quick(effects))
    }

    /// `whenBecomesTrue` as an initializer, with an async function as the side effect.
    @inlinable
    public init(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) async -> E?
    ) {
        self = Feedback.whenBecomesTrue(
            name: name, cancellation: cancellation, predicate, effects: EffectConversion.async(effects))
    }

    /// `whenBecomesTrue` as an initializer, with a sequence of events as the side effect.
    @inlinable
    public init<Events: AsyncSequence & Sendable>(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Events
    ) where Events.Element == E, Events.Failure == Never {
        self = Feedback.whenBecomesTrue(
            name: name, cancellation: cancellation, predicate, effects: EffectConversion.sequence(effects))
    }

    /// `whenBecomesTrue` as an initializer, with any type that converts to a side effect.
    @inlinable
    public init<Source: SideEffectConvertible>(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> Source
    ) where Source.Event == E {
        self = Feedback.whenBecomesTrue(
            name: name, cancellation: cancellation, predicate, effects: EffectConversion.convertible(effects))
    }
}
