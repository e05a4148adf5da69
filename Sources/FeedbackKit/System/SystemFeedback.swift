/// The effect of a new state on a running side effect.
@frozen
public enum ExecutionStrategy: Sendable {
    /// Every new state cancels the side effect and withdraws its waiting events, whatever the state's type.
    case cancelOnNewState
    /// The side effect continues until it ends by itself.
    case continueOnNewState
    /// A new state for which the closure returns `true` cancels the side effect.
    case cancel(when: @Sendable (any State) -> Bool)

    @inlinable
    var rule: CancellationRule<any State> {
        switch self {
        case .cancelOnNewState: .onNewState
        case .continueOnNewState: .never
        case .cancel(let condition): .when(condition)
        }
    }
}

extension Feedback {
    /// The name of the same type in Feedbacks.
    public typealias Strategy = ExecutionStrategy
}

extension Feedback where S == any State, E == any Event {
    /// Selects the states of one type.
    @inlinable
    init<T: State>(
        _ name: String?, _ type: T.Type, _ strategy: ExecutionStrategy,
        effect: @escaping @Sendable (T) -> Effect<any Event>
    ) {
        self.init(
            label: FeedbackLabel(name, T.self),
            kind: .reaction(
                strategy.rule,
                { state, _ in
                    guard let state = exact(state, T.self) else { return .nothing }
                    return effect(state)
                }))
    }

    /// Creates a feedback from a synchronous function that returns an event, or `nil`, for a state.
    ///
    /// The function runs on the loop's executor and must be quick. The events that several feedbacks emit for one state
    /// therefore arrive in the order of the feedbacks.
    @inlinable
    public init<T: State>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) -> (any Event)?
    ) {
        self.init(
            label: FeedbackLabel(name, T.self),
            kind: .answer(strategy.rule, { state, _ in exact(state, T.self).flatMap(sideEffect) }))
    }

    /// Creates a feedback from an async function that returns an event, or `nil`, for a state.
    @inlinable
    public init<T: State>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) async -> (any Event)?
    ) {
        self.init(name, type, strategy) { state in .task { await sideEffect(state) } }
    }

    /// Creates a feedback from a sequence of events.
    @inlinable
    public init<T: State, Events: AsyncSequence & Sendable>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) -> Events
    ) where Events.Element == any Event, Events.Failure == Never {
        self.init(name, type, strategy) { state in .sequence(sideEffect(state)) }
    }

    /// Creates a feedback whose side effect sends any number of events.
    @inlinable
    public init<T: State>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T, Send<any Event>) async -> Void
    ) {
        self.init(name, type, strategy) { state in .run { send in await sideEffect(state, send) } }
    }

    /// Creates a feedback from a closure that returns an ``Effect``. The closure runs on the loop's executor and must
    /// be quick; leave the work to the effect.
    ///
    ///     Feedback(on: LoadingState.self, strategy: .cancelOnNewState) { state in
    ///         Effect.attempt { send in send(Loaded(try await load(state.url))) }.timeout(after: .seconds(5), TookTooLong())
    ///     }
    @inlinable
    public init<T: State>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) -> Effect<any Event>
    ) {
        self.init(name, type, strategy, effect: sideEffect)
    }

    /// Creates a feedback on every state from a synchronous function.
    @inlinable
    public init(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) -> (any Event)?
    ) {
        self.init(name: name ?? "on any", cancellation: strategy.rule) { state, _ in sideEffect(state) }
    }

    /// Creates a feedback on every state from an async function.
    @inlinable
    public init(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) async -> (any Event)?
    ) {
        self.init(name: name ?? "on any", cancellation: strategy.rule) { state, _ in .task { await sideEffect(state) } }
    }

    /// Creates a feedback on every state from a sequence of events.
    @inlinable
    public init<Events: AsyncSequence & Sendable>(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) -> Events
    ) where Events.Element == any Event, Events.Failure == Never {
        self.init(name: name ?? "on any", cancellation: strategy.rule) { state, _ in .sequence(sideEffect(state)) }
    }

    /// Creates a feedback on every state from a closure that returns an ``Effect``.
    @inlinable
    public init(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) -> Effect<any Event>
    ) {
        self.init(name: name ?? "on any", cancellation: strategy.rule) { state, _ in sideEffect(state) }
    }

    /// Creates a feedback on every state whose side effect sends any number of events.
    @inlinable
    public init(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State, Send<any Event>) async -> Void
    ) {
        self.init(name: name ?? "on any", cancellation: strategy.rule) { state, _ in
            .run { send in await sideEffect(state, send) }
        }
    }
}

// MARK: The whole stream of states

extension Feedback where S == any State, E == any Event {
    /// Creates a feedback that maps the stream of all states of one type to a stream of events.
    ///
    /// The side effect starts with the first such state and sees each of them. It ends by itself or when the system
    /// stops. After its events have ended, it does not start again.
    ///
    /// - Parameters:
    ///   - buffering: The policy for states if the side effect is slower than the system. By default all are kept.
    ///   - perform: Called once per system.
    ///   - name: The name in observers and snapshots.
    ///   - type: The type of the states that the side effect receives.
    @_disfavoredOverload  // `AnyState` is also a `State`, with its own initializer.
    public init<T: State, Events: AsyncSequence & Sendable>(
        name: String? = nil, on type: T.Type, buffering: AsyncStream<T>.Continuation.BufferingPolicy = .unbounded,
        perform: @escaping @Sendable (AsyncStream<T>) -> Events
    ) where Events.Element == any Event, Events.Failure == Never {
        self.init(name: "", buffering: buffering, { $0 as? T }, perform)
        label = FeedbackLabel(name, T.self)
    }

    /// Creates a feedback that maps the stream of all states to a stream of events.
    public init<Events: AsyncSequence & Sendable>(
        name: String? = nil, on type: AnyState.Type,
        buffering: AsyncStream<any State>.Continuation.BufferingPolicy = .unbounded,
        perform: @escaping @Sendable (AsyncStream<any State>) -> Events
    ) where Events.Element == any Event, Events.Failure == Never {
        self.init(name: name ?? "on any", buffering: buffering, { $0 }, perform)
    }

    private init<Seen: Sendable, Events: AsyncSequence & Sendable>(
        name: String, buffering: AsyncStream<Seen>.Continuation.BufferingPolicy,
        _ pick: @escaping @Sendable (any State) -> Seen?,
        _ perform: @escaping @Sendable (AsyncStream<Seen>) -> Events
    ) where Events.Element == any Event, Events.Failure == Never {
        self.init(name: name, cancellation: .never) {
            let feed = StateFeed<Seen>(buffering: buffering)
            return { state, _ in
                guard let seen = pick(state), let states = feed.add(seen) else { return .nothing }
                let events = perform(states)
                return .run { send in
                    for await event in events { await send.offer(event) }
                    feed.end()
                }.untilStop()
            }
        }
    }
}

/// The feedbacks of a ``System``, in the order in which they receive each state.
public struct Feedbacks: Sendable {
    private(set) var feedbacks: [Feedback<any State, any Event>]
    /// The handlers for events that enter the system from outside these feedbacks.
    private(set) var entering: EnteringEvents?

    /// Combines feedbacks.
    public init(@FeedbacksBuilder _ feedbacks: () -> [Feedback<any State, any Event>]) {
        self.feedbacks = feedbacks()
    }

    private func map(_ change: (Feedback<any State, any Event>) -> Feedback<any State, any Event>) -> Feedbacks {
        var copy = self
        copy.feedbacks = feedbacks.map(change)
        return copy
    }

    /// Sets the executor of the side effects whose feedback has none. The innermost setting wins; of two calls on one
    /// object, the first wins.
    public func execute(on executor: some LoopExecutor) -> Feedbacks { map { $0.execute(on: executor) } }

    /// Starts no side effect of these feedbacks while `disabled` returns `true`: see ``Feedback/disable(_:)``.
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> Feedbacks {
        map { $0.disable(disabled) }
    }

    /// Calls `perform` with each state that a feedback receives, once for each feedback. If no feedback receives
    /// states, for example in an empty container, calls it once for each state. All closures are kept; the closure of a
    /// feedback runs after that of its container.
    public func onStateReceived(_ perform: @escaping @Sendable (any State) -> Void) -> Feedbacks {
        var copy = self
        if !feedbacks.contains(where: \.receivesStates) {
            // An effect, because an answer would run on the executor of the container, and not on the loop's turn.
            copy.feedbacks.append(Feedback(name: "onStateReceived", cancellation: .never, effect: { _, _ in .nothing }))
        }
        return copy.map { $0.onStateReceived(perform) }
    }

    /// Calls `perform` with each event that enters the system. Events come from the side effects of these feedbacks,
    /// from attached mediators and systems, and from ``System/send(_:)`` and ``UISystem/emit(_:)``.
    ///
    /// The call happens before the event is queued, on the thread of the sender. All closures are kept in their order;
    /// the closure of a feedback runs before that of its container.
    public func onEventEmitted(_ perform: @escaping @Sendable (any Event) -> Void) -> Feedbacks {
        var copy = map { $0.onEventEmitted(perform) }
        copy.entering = EnteringEvents { [entering] event in
            entering?.handler(event)
            perform(event)
        }
        return copy
    }
}

/// The handlers for events on their way into a system.
@usableFromInline
final class EnteringEvents: Sendable {
    @usableFromInline let handler: @Sendable (any Event) -> Void

    init(handler: @escaping @Sendable (any Event) -> Void) {
        self.handler = handler
    }
}

/// Combines feedbacks.
@resultBuilder
public enum FeedbacksBuilder {
    /// A part of the list.
    public typealias Part = [Feedback<any State, any Event>]
    /// Accepts one feedback.
    public static func buildExpression(_ feedback: Feedback<any State, any Event>) -> Part { [feedback] }
    /// Accepts several feedbacks, for example from a property.
    public static func buildExpression(_ feedbacks: Part) -> Part { feedbacks }
    /// Joins the parts in order.
    public static func buildBlock(_ parts: Part...) -> Part { parts.flatMap(\.self) }
    /// Supports `if` without `else`.
    public static func buildOptional(_ part: Part?) -> Part { part ?? [] }
    /// Supports `if` with `else` and `switch`.
    public static func buildEither(first: Part) -> Part { first }
    /// Supports `if` with `else` and `switch`.
    public static func buildEither(second: Part) -> Part { second }
    /// Supports `for`.
    public static func buildArray(_ parts: [Part]) -> Part { parts.flatMap(\.self) }
}
