public import FeedbackKit
public import OpenCombine

extension Feedback where S == any State, E == any Event {
    /// A side effect that is a publisher of events.
    ///
    /// The publisher is made and subscribed to on the loop's turn, so that what several feedbacks deliver at once comes
    /// in the order of the feedbacks; or, with `execute(on:)`, where that says. See ``Effect/publisher(_:)-(()->P)``
    /// for its demand and its end.
    public init<T: State, P: Publisher & SendableMetatype>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) -> P
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: name ?? "on \(T.identity)", strategy: strategy) { state in
            (state as? T).map { state in .publisher { sideEffect(state) } } ?? .nothing
        }
    }

    /// A side effect on every state that is a publisher of events.
    public init<P: Publisher & SendableMetatype>(
        name: String? = nil, on type: AnyState.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (any State) -> P
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: name ?? "on any", strategy: strategy) { state in .publisher { sideEffect(state) } }
    }

    /// A side effect that is a publisher which may fail: see ``Effect/attempt(retry:publisher:recover:)``.
    ///
    /// - Parameter recover: turns the failure into an event, or with `nil` into nothing.
    public init<T: State, P: Publisher & SendableMetatype>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        retry: RetryPolicy = .constant(.zero, limit: 0),
        recover: @escaping @Sendable (any Error) -> (any Event)?,
        perform sideEffect: @escaping @Sendable (T) -> P
    ) where P.Output == any Event {
        self.init(name: name ?? "on \(T.identity)", strategy: strategy) { state in
            (state as? T).map { state in
                .attempt(retry: retry, publisher: { sideEffect(state) }, recover: recover)
            } ?? .nothing
        }
    }

    /// A side effect that maps the publisher of all states of one type to a publisher of events.
    ///
    /// It is made with the first such state, gets each of them whatever states come, and ends by itself or when the
    /// system stops. When its events end, it is not made again. The states are delivered on the loop's turn, or, with
    /// `execute(on:)`, where that says, and then in their order only if that is serial.
    @_disfavoredOverload  // `AnyState` is a `State` too, and has a form of its own.
    public init<T: State, P: Publisher & SendableMetatype>(
        name: String? = nil, on type: T.Type, perform: @escaping @Sendable (OrderedPublisher<T>) -> P
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: name ?? "on \(T.identity)", { $0 as? T }, perform)
    }

    /// A side effect that maps the publisher of all states to a publisher of events.
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
    /// The whole-stream form: the states are handed on through a mediator that belongs to one loop.
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
