extension Feedback {
    /// Creates a feedback that runs a side effect requested by the state. Corresponds to RxFeedback's
    /// `react(request:effects:)`.
    ///
    /// A state with an equal request does not affect the effect, even if the effect has ended. A state without a
    /// request cancels it. A state with another request cancels it and starts a new one. Both withdraw the waiting
    /// events of the effect, even if the effect has ended.
    ///
    /// - Parameters:
    ///   - request: Returns the request of a state; runs on the loop's executor.
    ///   - effects: Returns the side effect for a request.
    ///   - name: The name in observers and snapshots.
    @inlinable
    public static func react<Request: Equatable & Sendable>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> Effect<E>
    ) -> Feedback {
        Feedback.skippingRepeated(name: name, cancellation: .boundToState, state: request, effects: effects)
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func react<Request: Equatable & Sendable>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> E?
    ) -> Feedback {
        Feedback.react(name: name, request: request, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func react<Request: Equatable & Sendable>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) async -> E?
    ) -> Feedback {
        Feedback.react(name: name, request: request, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func react<Request: Equatable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.react(name: name, request: request, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func react<Request: Equatable & Sendable, Source: SideEffectConvertible>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.react(name: name, request: request, effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// Creates a feedback that runs one side effect for each request of the state. Corresponds to RxFeedback's
    /// `react(requests:effects:)`.
    ///
    /// A request that is also in the next state does not affect its effect, even if the effect has ended. A request
    /// that disappears cancels its effect and withdraws the effect's events, even if the effect has ended.
    ///
    /// Requests that appear together start in the order of their descriptions, so that a run is reproducible.
    ///
    /// - Parameters:
    ///   - requests: Returns the requests of a state; runs on the loop's executor.
    ///   - effects: Returns the side effect for a request. An effect with a name keeps the name and shares it with
    ///     other effects of that name.
    ///   - name: The name in observers and snapshots.
    @inlinable
    public static func react<Request: Hashable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .never,
            memory: {
                let running = RequestEffects<Request, Request>(buffering: .bufferingNewest(1))
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

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func react<Request: Hashable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> E?
    ) -> Feedback {
        Feedback.react(name: name, requests: requests, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func react<Request: Hashable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) async -> E?
    ) -> Feedback {
        Feedback.react(name: name, requests: requests, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func react<Request: Hashable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.react(name: name, requests: requests, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func react<Request: Hashable & Sendable, Source: SideEffectConvertible>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.react(name: name, requests: requests, effects: EffectConversion.convertible(effects))
    }
}

extension Feedback {
    /// Creates a feedback that runs one side effect for each identity, whose request may change while the effect runs.
    /// Corresponds to RxFeedback's `react(requests:effects:)` with a dictionary.
    ///
    /// An identity that appears starts an effect. An identity that disappears cancels its effect and withdraws the
    /// effect's events, even if the effect has ended. While the identity stays, the running effect receives each
    /// different request through its stream. An effect that has ended starts again only after its identity has
    /// disappeared and come back.
    ///
    /// - Parameters:
    ///   - requests: Returns the requests of a state; runs on the loop's executor.
    ///   - buffering: The policy for an effect that reads its stream more slowly than requests change. By default every
    ///     request is kept.
    ///   - effects: Returns the side effect for an identity. It receives the first request and a stream of all
    ///     requests, including the first.
    ///   - name: The name in observers and snapshots.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> Effect<E>
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .never,
            memory: {
                let running = RequestEffects<ID, Request>(buffering: buffering)
                let last = LoopMemory<[ID: Request]>([:])
                return { state, _ in
                    let wanted = requests(state)
                    guard last.exchange(wanted) != wanted else { return .nothing }
                    return running.change(to: wanted, start: effects)
                }
            })
    }

    /// Creates the same feedback from a synchronous function, which runs on the loop's executor and must be quick.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> E?
    ) -> Feedback {
        Feedback.react(name: name, requests: requests, buffering: buffering, effects: EffectConversion.quick(effects))
    }

    /// Creates the same feedback from an async function.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) async -> E?
    ) -> Feedback {
        Feedback.react(name: name, requests: requests, buffering: buffering, effects: EffectConversion.async(effects))
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable, Events: AsyncSequence & Sendable>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> Events
    ) -> Feedback where Events.Element == E, Events.Failure == Never {
        Feedback.react(
            name: name, requests: requests, buffering: buffering, effects: EffectConversion.sequence(effects))
    }

    /// Creates the same feedback from any type that converts to a side effect.
    @inlinable
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable, Source: SideEffectConvertible>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        buffering: AsyncStream<Request>.Continuation.BufferingPolicy = .unbounded,
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> Source
    ) -> Feedback where Source.Event == E {
        Feedback.react(
            name: name, requests: requests, buffering: buffering, effects: EffectConversion.convertible(effects))
    }
}
