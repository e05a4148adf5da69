public import FeedbackKit
public import OpenCombine

extension Feedback where S == any State, E == any Event {
    /// Creates a feedback whose side effect is a publisher of events.
    ///
    /// The publisher is created and subscribed to on the loop's executor, so synchronous events of several feedbacks
    /// arrive in the order of the feedbacks. With `execute(on:)` it runs on that executor instead. See
    /// ``Effect/publisher(_:)-(()->P)`` for its demand and its end.
    public init<T: State, P: Publisher & SendableMetatype>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) -> P
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: "", strategy: strategy) { state in
            (state as? T).map { state in .publisher { sideEffect(state) } } ?? .nothing
        }
        setLabel(name, on: T.self)
    }

    /// Creates a feedback on every state whose side effect is a publisher of events.
    public init<P: Publisher & SendableMetatype>(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) -> P
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: name ?? "on any", strategy: strategy) { state in .publisher { sideEffect(state) } }
    }

    /// Creates a feedback whose side effect is a publisher that may fail: see
    /// ``Effect/attempt(retry:publisher:recover:)``.
    ///
    /// - Parameter recover: Converts the failure to an event, or ignores it with `nil`.
    public init<T: State, P: Publisher & SendableMetatype>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        retry: RetryPolicy = .constant(.zero, limit: 0),
        recover: @escaping @Sendable (any Error) -> (any Event)?,
        perform sideEffect: @escaping @Sendable (T) -> P
    ) where P.Output == any Event {
        self.init(name: "", strategy: strategy) { state in
            (state as? T).map { state in
                .attempt(retry: retry, publisher: { sideEffect(state) }, recover: recover)
            } ?? .nothing
        }
        setLabel(name, on: T.self)
    }

    /// Creates a feedback whose side effect is a publisher of events, which runs once for each value of a part of the
    /// state. The form of `Feedback(on:while:perform:)` with an `Effect` describes when it starts and is cancelled.
    ///
    /// The publisher is created and subscribed to on the loop's executor, or on the executor of `execute(on:)`.
    public init<T: State, Part: Equatable & Sendable, P: Publisher & SendableMetatype>(
        name: String? = nil, on type: T.Type, while part: @escaping @Sendable (T) -> Part,
        perform sideEffect: @escaping @Sendable (T) -> P
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: name, on: type, while: part) { (state: T) -> Effect<any Event> in
            .publisher { sideEffect(state) }
        }
    }

    /// Creates a feedback that maps the publisher of all states of one type to a publisher of events.
    ///
    /// The publisher is created with the first such state and receives each of them. It ends by itself or when the
    /// system stops. After its events have ended, it is not created again. The states are delivered on the loop's
    /// executor, or on the executor of `execute(on:)`; there they arrive in order only if the executor is serial.
    @_disfavoredOverload  // `AnyState` is a `State` too, and has a form of its own.
    public init<T: State, P: Publisher & SendableMetatype>(
        name: String? = nil, on type: T.Type, perform: @escaping @Sendable (OrderedPublisher<T>) -> P
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: "", { $0 as? T }, perform)
        setLabel(name, on: T.self)
    }

    /// Creates a feedback that maps the publisher of all states to a publisher of events.
    public init<P: Publisher & SendableMetatype>(
        name: String? = nil, on type: AnyState.Type, perform: @escaping @Sendable (OrderedPublisher<any State>) -> P
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: name ?? "on any", { $0 }, perform)
    }

    private init(
        name: String, strategy: ExecutionStrategy, effect: @escaping @Sendable (any State) -> Effect<any Event>
    ) {
        let rule: CancellationRule<any State> =
            switch strategy {
            case .cancelOnNewState: .onNewState
            case .continueOnNewState: .never
            case .cancel(let condition): .when(condition)
            }
        self.init(name: name, cancellation: rule) { state, _ in effect(state) }
    }
}

extension Feedback {
    /// Creates a whole-stream feedback. A mediator that belongs to one loop passes the states on.
    init<Seen: Sendable, P: Publisher & SendableMetatype>(
        name: String, _ pick: @escaping @Sendable (S) -> Seen?,
        _ perform: @escaping @Sendable (OrderedPublisher<Seen>) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, cancellation: .never,
            memory: {
                let states = PassthroughMediator<Seen>()
                let hasStarted = Started()
                return { state, _ in
                    guard let seen = pick(state) else { return .nothing }
                    let next: Effect<E> = .call {
                        states.send(seen)
                        return nil
                    }
                    if hasStarted.exchange() { return next }
                    return .all([.publisher { perform(states.publisher) }.untilStop(), next])
                }
            })
    }
}
