import Synchronization

extension Feedback {
    /// A feedback with one side effect for the life of the loop, which reads states from a stream. When it has ended,
    /// nothing is kept for it any more.
    ///
    /// - Parameter pick: what of a state, and of the event that caused it, goes into the stream; `nil`: nothing. The
    ///   first makes the side effect start.
    package static func feeding<Seen: Sendable>(
        name: String, buffering: AsyncStream<Seen>.Continuation.BufferingPolicy,
        _ pick: @escaping @Sendable (S, E?) -> Seen?,
        to body: @escaping @Sendable (AsyncStream<Seen>, Send<E>) async -> Void
    ) -> Feedback {
        Feedback(
            name: name, cancellation: .never,
            memory: {
                let (stream, continuation) = AsyncStream.makeStream(of: Seen.self, bufferingPolicy: buffering)
                let hasStarted = Atomic(false)
                return { state, event in
                    guard let seen = pick(state, event) else { return .nothing }
                    continuation.yield(seen)
                    if hasStarted.exchange(true, ordering: .relaxed) { return .nothing }
                    return .run { send in
                        await body(stream, send)
                        continuation.finish()
                        for await _ in stream {}
                    }.untilStop()
                }
            })
    }
}
