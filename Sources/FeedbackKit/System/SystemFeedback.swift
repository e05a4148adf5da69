/// What becomes of a running side effect when a new state arrives.
@frozen
public enum ExecutionStrategy: Sendable {
    /// It is cancelled, whatever the type of the new state, and events of it that still wait are withdrawn.
    case cancelOnNewState
    /// It goes on until it ends by itself.
    case continueOnNewState
    /// It is cancelled by a new state for which this holds.
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
    /// The same under the name that it has in Feedbacks.
    public typealias Strategy = ExecutionStrategy
}

extension Feedback where S == any State, E == any Event {
    /// Picks the states of one type.
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

    /// A side effect that is a quick function: it answers a state with an event or with none.
    ///
    /// It runs on the loop's turn, so that what several feedbacks emit for a state comes in the order of the feedbacks.
    @inlinable
    public init<T: State>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) -> (any Event)?
    ) {
        self.init(
            label: FeedbackLabel(name, T.self),
            kind: .answer(strategy.rule, { state, _ in exact(state, T.self).flatMap(sideEffect) }))
    }

    /// A side effect that is an async function: it answers a state with an event or with none.
    @inlinable
    public init<T: State>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) async -> (any Event)?
    ) {
        self.init(name, type, strategy) { state in .task { await sideEffect(state) } }
    }

    /// A side effect that is a sequence of events.
    @inlinable
    public init<T: State, Events: AsyncSequence & Sendable>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) -> Events
    ) where Events.Element == any Event, Events.Failure == Never {
        self.init(name, type, strategy) { state in .sequence(sideEffect(state)) }
    }

    /// A side effect that sends as many events as it likes.
    @inlinable
    public init<T: State>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T, Send<any Event>) async -> Void
    ) {
        self.init(name, type, strategy) { state in .run { send in await sideEffect(state, send) } }
    }

    /// A side effect of any kind: the closure is called on the loop's turn, so it should be quick, and leave the work to
    /// the effect it returns.
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

    /// A quick function on every state.
    @inlinable
    public init(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) -> (any Event)?
    ) {
        self.init(name: name ?? "on any", cancellation: strategy.rule) { state, _ in sideEffect(state) }
    }

    /// An async function on every state.
    @inlinable
    public init(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) async -> (any Event)?
    ) {
        self.init(name: name ?? "on any", cancellation: strategy.rule) { state, _ in .task { await sideEffect(state) } }
    }

    /// A sequence of events on every state.
    @inlinable
    public init<Events: AsyncSequence & Sendable>(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) -> Events
    ) where Events.Element == any Event, Events.Failure == Never {
        self.init(name: name ?? "on any", cancellation: strategy.rule) { state, _ in .sequence(sideEffect(state)) }
    }

    /// A side effect of any kind on every state.
    @inlinable
    public init(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) -> Effect<any Event>
    ) {
        self.init(name: name ?? "on any", cancellation: strategy.rule) { state, _ in sideEffect(state) }
    }

    /// A side effect on every state that sends as many events as it likes.
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
    /// A side effect that maps the stream of all states of one type to a stream of events.
    ///
    /// It is started with the first such state, goes on whatever states come, sees each of them, and ends by itself or
    /// when the system stops. When its events end, it is not started again.
    ///
    /// - Parameters:
    ///   - buffering: what to keep of the states for a side effect that is slower than the system; all, if not said.
    ///   - perform: called once a system.
    ///   - name: for observers and snapshots.
    ///   - type: the type of the states it answers.
    @_disfavoredOverload  // `AnyState` is a `State` too, and has a form of its own.
    public init<T: State, Events: AsyncSequence & Sendable>(
        name: String? = nil, on type: T.Type, buffering: AsyncStream<T>.Continuation.BufferingPolicy = .unbounded,
        perform: @escaping @Sendable (AsyncStream<T>) -> Events
    ) where Events.Element == any Event, Events.Failure == Never {
        self.init(name: name ?? "on \(T.identity)", buffering: buffering, { $0 as? T }, perform)
    }

    /// A side effect that maps the stream of all states to a stream of events.
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

/// The feedbacks of a ``System``, in the order in which they see each state.
public struct Feedbacks: Sendable {
    private(set) var feedbacks: [Feedback<any State, any Event>]
    /// Sees each event that enters the system otherwise than through these feedbacks.
    private(set) var entering: EnteringEvents?

    /// Puts feedbacks together.
    public init(@FeedbacksBuilder _ feedbacks: () -> [Feedback<any State, any Event>]) {
        self.feedbacks = feedbacks()
    }

    private func map(_ change: (Feedback<any State, any Event>) -> Feedback<any State, any Event>) -> Feedbacks {
        var copy = self
        copy.feedbacks = feedbacks.map(change)
        return copy
    }

    /// Says where the side effects run, for those feedbacks that do not say it themselves. Said twice, the innermost counts:
    /// that is the first one.
    public func execute(on executor: some LoopExecutor) -> Feedbacks { map { $0.execute(on: executor) } }

    /// While `disabled` holds, none of the feedbacks starts anything: see ``Feedback/disable(_:)``.
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> Feedbacks {
        map { $0.disable(disabled) }
    }

    /// Calls `perform` with each state that is shown to a feedback, once for each of them. All closures are kept: one
    /// set on a feedback itself is called after that of the container.
    public func onStateReceived(_ perform: @escaping @Sendable (any State) -> Void) -> Feedbacks {
        map { $0.onStateReceived(perform) }
    }

    /// Calls `perform` with each event that enters the system: from the side effects of these feedbacks, from mediators and
    /// systems that are attached, and from ``System/send(_:)`` and ``UISystem/emit(_:)``.
    ///
    /// It is called before the event is queued, wherever that is sent. All closures are kept, in their order: one set on a
    /// feedback itself is called before that of the container.
    public func onEventEmitted(_ perform: @escaping @Sendable (any Event) -> Void) -> Feedbacks {
        var copy = map { $0.onEventEmitted(perform) }
        copy.entering = EnteringEvents { [entering] event in
            entering?.see(event)
            perform(event)
        }
        return copy
    }
}

/// Sees events on their way into a system.
@usableFromInline
final class EnteringEvents: Sendable {
    @usableFromInline let see: @Sendable (any Event) -> Void

    init(see: @escaping @Sendable (any Event) -> Void) {
        self.see = see
    }
}

/// Puts feedbacks together.
@resultBuilder
public enum FeedbacksBuilder {
    /// What it is made of.
    public typealias Part = [Feedback<any State, any Event>]
    /// One.
    public static func buildExpression(_ feedback: Feedback<any State, any Event>) -> Part { [feedback] }
    /// Several, kept in a property.
    public static func buildExpression(_ feedbacks: Part) -> Part { feedbacks }
    /// One after the other.
    public static func buildBlock(_ parts: Part...) -> Part { parts.flatMap(\.self) }
    /// `if` without `else`.
    public static func buildOptional(_ part: Part?) -> Part { part ?? [] }
    /// `if` with `else`, `switch`.
    public static func buildEither(first: Part) -> Part { first }
    /// `if` with `else`, `switch`.
    public static func buildEither(second: Part) -> Part { second }
    /// `for`.
    public static func buildArray(_ parts: [Part]) -> Part { parts.flatMap(\.self) }
}
