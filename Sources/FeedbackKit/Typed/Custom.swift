/// The sequence of states for a side effect, within one loop. After the side effect has ended, it keeps nothing.
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

    /// Adds a state on the loop's executor. The first call returns the sequence for the side effect.
    func add(_ value: Value) -> AsyncStream<Value>? {
        switch phase.value {
        case .new:
            // The sequence is not kept here, so its buffer is released with its reader.
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

    /// Marks the side effect as ended.
    func end() {
        if case .open(let continuation) = phase.exchange(.over) { continuation.finish() }
    }
}

extension Feedback {
    /// Creates a feedback from an async function that reads the states and sends events. Each state comes with the
    /// event that caused it; the first has none. Corresponds to the `custom` feedback of CombineFeedback and
    /// ReactiveFeedback.
    ///
    /// The function is called once per loop, when the loop starts. It runs concurrently with the loop, which may
    /// already be ahead of the state that the function reads. A graceful stop of the loop cancels it. Prefer the other
    /// operators if they suffice: events of this one are withdrawn only when the loop is cancelled, and not with the
    /// state that caused them.
    ///
    /// - Parameters:
    ///   - buffering: The policy for a function that reads more slowly than the loop runs. By default every state is
    ///     kept.
    ///   - body: The function.
    ///   - name: The name in observers and snapshots.
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

    /// Returns a feedback and a function that sends events through it. Each access creates a new pair. Corresponds to
    /// `input` of CombineFeedback and ReactiveFeedback.
    ///
    /// The function may be called from any thread. You may use the feedback in several loops; each receives every
    /// event. If no loop with this feedback runs, the event is lost. To queue events before a start, send them to the
    /// loop.
    public static var input: (feedback: Feedback, observer: @Sendable (E) -> Void) {
        let mediator = PassthroughMediator<E>()
        let feedback = Feedback.source(name: "input") { send in mediator.subscribe { send($0) } }
        return (feedback, { mediator.send($0) })
    }
}
