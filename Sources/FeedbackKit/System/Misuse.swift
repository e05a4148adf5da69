// What is often tried and does not fit, so that the compiler's message says what does.

extension Feedback where S == any State, E == any Event {
    /// Not available: a side effect that answers with something else, or throws.
    @available(
        *, unavailable,
        message: """
            a side effect answers with an event or nil, an Effect, or an AsyncSequence of events; with a publisher where \
            FeedbackKitOpenCombine is imported; one that throws is an Effect.attempt
            """
    )
    public init<T: State, Answer>(
        name: String? = nil, on type: T.Type, strategy: ExecutionStrategy,
        perform sideEffect: @escaping @Sendable (T) async throws -> Answer
    ) {
        fatalError("unavailable")
    }
}

extension Feedback {
    /// Not available: a side effect that answers with something else, or throws.
    @available(
        *, unavailable,
        message: """
            a side effect answers with an event or nil, an Effect, or an AsyncSequence of events; with a publisher where \
            FeedbackKitOpenCombine is imported; one that throws is an Effect.attempt
            """
    )
    public init<Answer>(name: String = "effects", effects: @escaping @Sendable (S) async throws -> Answer) {
        fatalError("unavailable")
    }
}

extension Feedback {
    /// Not available: something that is no executor.
    @available(
        *, unavailable,
        message: """
            execute(on:) takes a LoopExecutor; a DispatchQueue is one where FeedbackKitOpenCombine and \
            OpenCombineDispatch are imported
            """
    )
    public func execute<Place>(on place: Place) -> Feedback { fatalError("unavailable") }
}

extension Feedbacks {
    /// Not available: something that is no executor.
    @available(
        *, unavailable,
        message: """
            execute(on:) takes a LoopExecutor; a DispatchQueue is one where FeedbackKitOpenCombine and \
            OpenCombineDispatch are imported
            """
    )
    public func execute<Place>(on place: Place) -> Feedbacks { fatalError("unavailable") }
}

extension Transitions {
    /// Not available: something that is no executor.
    @available(
        *, unavailable,
        message: """
            execute(on:) takes a LoopExecutor; a DispatchQueue is one where FeedbackKitOpenCombine and \
            OpenCombineDispatch are imported
            """
    )
    public func execute<Place>(on place: Place) -> Transitions { fatalError("unavailable") }
}

extension System {
    /// Not available: something that is no executor.
    @available(
        *, unavailable,
        message: """
            execute(on:) takes a LoopExecutor; a DispatchQueue is one where FeedbackKitOpenCombine and \
            OpenCombineDispatch are imported
            """
    )
    public func execute<Place>(on place: Place) -> System { fatalError("unavailable") }
}
