extension Feedback {
    /// A feedback with complete freedom: an async function that reads the states, each with the event that caused it
    /// (none for the first), and sends events. After the `custom` feedback of CombineFeedback and ReactiveFeedback.
    ///
    /// The function is called once a loop, when the loop starts. It runs beside the loop: when it has read a state, the
    /// loop may be further on. A gentle stop of the loop cancels it. Where the other operators suffice, take them: what
    /// this one sends is withdrawn only when the loop is cancelled, not with the state that was the reason for it.
    ///
    /// - Parameters:
    ///   - buffering: what to keep for a function that reads more slowly than the loop turns; everything, if not said.
    ///   - body: the function.
    ///   - name: for observers and snapshots.
    public static func custom(
        name: String = "custom",
        buffering: AsyncStream<(state: S, event: E?)>.Continuation.BufferingPolicy = .unbounded,
        _ body: @escaping @Sendable (AsyncStream<(state: S, event: E?)>, Send<E>) async -> Void
    ) -> Feedback {
        .feeding(name: name, buffering: buffering, { ($0, $1) }, to: body)
    }

    /// A feedback, and the function that sends events through it. Each access makes a new pair. After CombineFeedback's
    /// and ReactiveFeedback's `input`.
    ///
    /// The sender may be called from any thread. The feedback may be given to several loops: each gets every event. An
    /// event sent while no loop with this feedback runs reaches nobody; to hold events for a start, send to the loop.
    public static var input: (feedback: Feedback, send: @Sendable (E) -> Void) {
        let mediator = PassthroughMediator<E>()
        let feedback = Feedback.source(name: "input") { send in mediator.subscribe { send($0) } }
        return (feedback, { mediator.send($0) })
    }
}
