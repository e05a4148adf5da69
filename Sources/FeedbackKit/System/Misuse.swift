// Unavailable overloads for frequent mistakes. Their messages tell the developer which form to use.

extension Feedback where S == any State, E == any Event {
    /// Unavailable: the side effect throws or returns an unsupported type.
    @available(
        *, unavailable,
        message: """
            a side effect returns an event or nil, an Effect, or an AsyncSequence of events; import \
            FeedbackKitOpenCombine to return a publisher, and use Effect.attempt for a side effect that throws
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
    /// Unavailable: the side effect throws or returns an unsupported type.
    @available(
        *, unavailable,
        message: """
            a side effect returns an event or nil, an Effect, or an AsyncSequence of events; import \
            FeedbackKitOpenCombine to return a publisher, and use Effect.attempt for a side effect that throws
            """
    )
    public init<Answer>(name: String = "effects", effects: @escaping @Sendable (S) async throws -> Answer) {
        fatalError("unavailable")
    }
}

extension Feedback {
    /// Unavailable: the argument is not an executor.
    @available(
        *, unavailable,
        message: """
            execute(on:) takes a LoopExecutor; import FeedbackKitOpenCombine and OpenCombineDispatch to use a \
            DispatchQueue
            """
    )
    public func execute<Place>(on place: Place) -> Feedback { fatalError("unavailable") }
}

extension Feedbacks {
    /// Unavailable: the argument is not an executor.
    @available(
        *, unavailable,
        message: """
            execute(on:) takes a LoopExecutor; import FeedbackKitOpenCombine and OpenCombineDispatch to use a \
            DispatchQueue
            """
    )
    public func execute<Place>(on place: Place) -> Feedbacks { fatalError("unavailable") }
}

extension Transitions {
    /// Unavailable: the argument is not an executor.
    @available(
        *, unavailable,
        message: """
            execute(on:) takes a LoopExecutor; import FeedbackKitOpenCombine and OpenCombineDispatch to use a \
            DispatchQueue
            """
    )
    public func execute<Place>(on place: Place) -> Transitions { fatalError("unavailable") }
}

extension System {
    /// Unavailable: the argument is not an executor.
    @available(
        *, unavailable,
        message: """
            execute(on:) takes a LoopExecutor; import FeedbackKitOpenCombine and OpenCombineDispatch to use a \
            DispatchQueue
            """
    )
    public func execute<Place>(on place: Place) -> System { fatalError("unavailable") }
}
