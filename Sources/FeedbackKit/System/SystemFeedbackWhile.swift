extension Feedback where S == any State, E == any Event {
    /// Creates a feedback whose side effect runs once for each value of a part of the state.
    ///
    /// A state that carries data is often replaced by a state of the same type with other data. With
    /// ``ExecutionStrategy/cancelOnNewState`` that restarts the side effect, and with
    /// ``ExecutionStrategy/continueOnNewState`` it starts another one. This feedback compares a part of the state instead:
    ///
    ///     Feedback(on: Running.self, while: \.job.id) { running in
    ///         Effect.attempt { send in send(Done(try await run(running.job))) }
    ///     }
    ///
    /// | new state | side effect |
    /// |---|---|
    /// | of this type, with an equal part | continues; if it has ended, it does not start again |
    /// | of this type, with another part | is cancelled, and one for the new state starts |
    /// | of another type | is cancelled |
    ///
    /// The events of a cancelled side effect that the system has not taken are withdrawn. A side effect that has ended
    /// is not cancelled, so the system takes its events also after the part has changed. All strategies follow
    /// this rule, as in Feedbacks.
    ///
    /// - Parameters:
    ///   - name: The name in observers and snapshots.
    ///   - type: The type of the states with a side effect.
    ///   - part: Returns the part to compare. Runs on the loop's executor and must be quick.
    ///   - sideEffect: Returns the side effect for the first state with this part. Runs on the loop's executor and must be
    ///     quick; leave the work to the effect.
    @inlinable
    public init<T: State, Part: Equatable & Sendable>(
        name: String? = nil, on type: T.Type, while part: @escaping @Sendable (T) -> Part,
        perform sideEffect: @escaping @Sendable (T) -> Effect<any Event>
    ) {
        self = Feedback.selecting(
            name: "", from: Part?.none,
            select: { last, state, _ in
                guard let state = exact(state, T.self) else {
                    defer { last = nil }
                    return last == nil ? .keep : .stop
                }
                let part = part(state)
                guard part != last else { return .keep }
                last = part
                return .start(state)
            }, effects: sideEffect)
        label = FeedbackLabel(name, T.self)
    }

    /// Creates the same feedback from a synchronous function that returns an event, or `nil`. It runs on the loop's
    /// executor and must be quick.
    @inlinable
    public init<T: State, Part: Equatable & Sendable>(
        name: String? = nil, on type: T.Type, while part: @escaping @Sendable (T) -> Part,
        perform sideEffect: @escaping @Sendable (T) -> (any Event)?
    ) {
        self.init(name: name, on: type, while: part) { (state: T) -> Effect<any Event> in .call { sideEffect(state) } }
        answersAtOnce = true
    }

    /// Creates the same feedback from an async function that returns an event, or `nil`.
    @inlinable
    public init<T: State, Part: Equatable & Sendable>(
        name: String? = nil, on type: T.Type, while part: @escaping @Sendable (T) -> Part,
        perform sideEffect: @escaping @Sendable (T) async -> (any Event)?
    ) {
        self.init(name: name, on: type, while: part) { (state: T) -> Effect<any Event> in
            .task { await sideEffect(state) }
        }
    }

    /// Creates the same feedback from an async function that sends any number of events.
    @inlinable
    public init<T: State, Part: Equatable & Sendable>(
        name: String? = nil, on type: T.Type, while part: @escaping @Sendable (T) -> Part,
        perform sideEffect: @escaping @Sendable (T, Send<any Event>) async -> Void
    ) {
        self.init(name: name, on: type, while: part) { (state: T) -> Effect<any Event> in
            .run { send in await sideEffect(state, send) }
        }
    }

    /// Creates the same feedback from a sequence of events.
    @inlinable
    public init<T: State, Part: Equatable & Sendable, Events: AsyncSequence & Sendable>(
        name: String? = nil, on type: T.Type, while part: @escaping @Sendable (T) -> Part,
        perform sideEffect: @escaping @Sendable (T) -> Events
    ) where Events.Element == any Event, Events.Failure == Never {
        self.init(name: name, on: type, while: part) { (state: T) -> Effect<any Event> in .sequence(sideEffect(state)) }
    }
}
