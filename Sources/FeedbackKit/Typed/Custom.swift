/// The states for a side effect that reads them as a sequence, within one loop. When the side effect has ended, nothing
/// is kept for it any more.
final class StateFeed<Value: Sendable>: Sendable {
    private enum Phase: Sendable {
        case new
        case open(AsyncStream<Value>.Continuation)
        case over
    }

    private let phase = LoopMemory(Phase.new)
    private let buffering: AsyncStream<Value>.Continuation.BufferingPolicy

    init(buffering: AsyncStream<Value>.Continuation.BufferingPolicy) {
        self.buffering = buffering
    }

    /// One more, on the loop's turn. Answers the sequence the first time, for the side effect to read.
    func add(_ value: Value) -> AsyncStream<Value>? {
        switch phase.value {
        case .new:
            // The sequence is not kept here: what it holds goes with who reads it.
            let (values, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: buffering)
            continuation.yield(value)
            phase.value = .open(continuation)
            return values
        case .open(let continuation):
            continuation.yield(value)
            return nil
        case .over: return nil
        }
    }

    /// The side effect has ended.
    func end() {
        if case .open(let continuation) = phase.exchange(.over) { continuation.finish() }
    }
}

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
        Feedback(
            name: name, cancellation: .never,
            memory: {
                let feed = StateFeed<(state: S, event: E?)>(buffering: buffering)
                return { state, event in
                    guard let states = feed.add((state, event)) else { return .nothing }
                    return .run { send in
                        await body(states, send)
                        feed.end()
                    }.untilStop()
                }
            })
    }

    /// A feedback, and the function that sends events through it. Each access makes a new pair. After CombineFeedback's
    /// and ReactiveFeedback's `input`.
    ///
    /// The sender may be called from any thread. The feedback may be given to several loops: each gets every event. An
    /// event sent while no loop with this feedback runs reaches nobody; to hold events for a start, send to the loop.
    public static var input: (feedback: Feedback, observer: @Sendable (E) -> Void) {
        let mediator = PassthroughMediator<E>()
        let feedback = Feedback.source(name: "input") { send in mediator.subscribe { send($0) } }
        return (feedback, { mediator.send($0) })
    }
}
