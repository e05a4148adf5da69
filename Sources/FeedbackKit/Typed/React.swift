extension Feedback {
    /// A side effect that a state asks for by a request. After RxFeedback's `react(request:effects:)`.
    ///
    /// A state with an equal request leaves the effect alone, also when it has ended. One without a request cancels it;
    /// one with another request cancels it and starts it anew. What a cancelled effect has emitted is withdrawn.
    ///
    /// - Parameters:
    ///   - request: what the state asks for, on the loop's turn.
    ///   - effects: the side effect for a request.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func react<Request: Equatable & Sendable>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> Effect<E>
    ) -> Feedback {
        Feedback.skippingRepeated(name: name, state: request, effects: effects)
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func react<Request: Equatable & Sendable>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> E?
    ) -> Feedback {
        Feedback.react(name: name, request: request, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func react<Request: Equatable & Sendable>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) async -> E?
    ) -> Feedback {
        Feedback.react(name: name, request: request, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func react<Request: Equatable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.react(name: name, request: request, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func react<Request: Equatable & Sendable, Source: SideEffectConvertible>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.react(name: name, request: request, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// Side effects that a state asks for by requests, one for each. After RxFeedback's `react(requests:effects:)`.
    ///
    /// Each request has an effect of its own. A request that is there in the next state too leaves its effect alone,
    /// also when it has ended; one that is no longer there cancels its effect, and what that has emitted is withdrawn.
    ///
    /// Requests that come together start in the order of their descriptions, so that a run can be repeated.
    ///
    /// - Parameters:
    ///   - requests: what the state asks for, on the loop's turn.
    ///   - effects: the side effect for a request. An effect with a name keeps it, and then shares it as named effects
    ///     do.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func react<Request: Hashable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .never,
            memory: {
                let running = RequestRuns<Request, Request>(buffering: .bufferingNewest(1))
                let last = LoopMemory<Set<Request>>([])
                return { state, _ in
                    let wanted = requests(state)
                    guard last.exchange(wanted) != wanted else { return .nothing }
                    return running.change(to: Dictionary(uniqueKeysWithValues: wanted.map { ($0, $0) })) { request, _ in
                        effects(request)
                    }
                }
            })
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func react<Request: Hashable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> E?
    ) -> Feedback {
        Feedback.react(name: name, requests: requests, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func react<Request: Hashable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) async -> E?
    ) -> Feedback {
        Feedback.react(name: name, requests: requests, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func react<Request: Hashable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.react(name: name, requests: requests, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func react<Request: Hashable & Sendable, Source: SideEffectConvertible>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.react(name: name, requests: requests, effects: Lift.convertible(effects))
    }
}

extension Feedback {
    /// Side effects that a state asks for by requests that may change while they run, one for each identity. After
    /// RxFeedback's `react(requests:effects:)` with a dictionary.
    ///
    /// An identity that appears starts an effect; one that is no longer there cancels it, and what it has emitted is
    /// withdrawn. While the identity stays, a request that differs from the one before goes to the effect that runs,
    /// through its stream; an equal one does not. An effect that has ended is not started again until its identity has
    /// been away.
    ///
    /// - Parameters:
    ///   - requests: what the state asks for, on the loop's turn.
    ///   - buffering: what the stream keeps for an effect that reads more slowly than requests change; everything, if
    ///     not said.
    ///   - effects: the side effect for an identity: given its first request, and the stream of its requests, beginning
    ///     with the first.
    ///   - name: for observers and snapshots.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .never,
            memory: {
                let running = RequestRuns<ID, Request>(buffering: buffering)
                let last = LoopMemory<[ID: Request]>([:])
                return { state, _ in
                    let wanted = requests(state)
                    guard last.exchange(wanted) != wanted else { return .nothing }
                    return running.change(to: wanted, start: effects)
                }
            })
    }

    /// The same, with a quick function, called on the loop's turn, as the side effect.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> E?
    ) -> Feedback {
        Feedback.react(name: name, requests: requests, buffering: buffering, effects: Lift.quick(effects))
    }

    /// The same, with an async function as the side effect.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) async -> E?
    ) -> Feedback {
        Feedback.react(name: name, requests: requests, buffering: buffering, effects: Lift.async(effects))
    }

    /// The same, with a sequence of events as the side effect.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.react(name: name, requests: requests, buffering: buffering, effects: Lift.sequence(effects))
    }

    /// The same, with whatever can be a side effect as the side effect.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable, Source: SideEffectConvertible>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.react(name: name, requests: requests, buffering: buffering, effects: Lift.convertible(effects))
    }
}
