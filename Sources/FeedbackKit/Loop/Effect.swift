/// Puts events into the loop that handed it out.
///
/// It does not keep the loop alive. Once the side effect it was given to has been cancelled, what it sends is withdrawn.
public struct Send<Event: Sendable>: Sendable {
    /// The loop's clock, for side effects that wait.
    public let clock: any Clock<Duration>
    private let body: @Sendable (Event) -> SendResult

    package init(clock: any Clock<Duration>, body: @escaping @Sendable (Event) -> SendResult) {
        self.clock = clock
        self.body = body
    }

    /// Queues an event and says whether it was accepted.
    @discardableResult
    public func callAsFunction(_ event: Event) -> SendResult {
        body(event)
    }
}

/// A side effect: work outside the loop whose events come back into it.
public struct Effect<Event: Sendable>: Sendable {
    /// What there is to do.
    package enum Kind: Sendable {
        case nothing
        case event(Event)
        case events([Event])
        /// Quick enough for the loop's turn, unless the feedback has an executor of its own.
        case call(@Sendable () -> Event?)
        case task(@Sendable (Send<Event>) async -> Void)
        /// Ends without waiting when the loop stops.
        case timer(Duration, Event)
    }
    package let kind: Kind

    /// No side effect.
    public static var nothing: Effect { Effect(kind: .nothing) }

    /// Emits one event at once, without leaving the loop's turn.
    public static func just(_ event: Event) -> Effect { Effect(kind: .event(event)) }

    /// Emits events at once, in order, without leaving the loop's turn.
    public static func just(_ events: [Event]) -> Effect { Effect(kind: .events(events)) }

    /// Calls a function and emits what it returns: on the loop's turn, or, if the feedback has an executor of its own
    /// (``Feedback/execute(on:)``), in a task there.
    public static func call(_ body: @escaping @Sendable () -> Event?) -> Effect { Effect(kind: .call(body)) }

    /// Runs an async function that sends as many events as it likes.
    ///
    /// Cancelling the effect cancels the task the function runs in; a function that ignores this delays the end of
    /// the loop, and what it still sends is withdrawn.
    public static func run(_ body: @escaping @Sendable (Send<Event>) async -> Void) -> Effect {
        Effect(kind: .task(body))
    }

    /// Runs an async function and emits what it returns.
    public static func task(_ body: @escaping @Sendable () async -> Event?) -> Effect {
        run { send in
            if let event = await body() { send(event) }
        }
    }

    /// Emits the elements of a sequence as they come.
    public static func sequence<S: AsyncSequence & Sendable>(_ sequence: S) -> Effect
    where S.Element == Event, S.Failure == Never {
        run { send in
            for await event in sequence { send(event) }
        }
    }

    /// Emits an event once, when the loop's clock has advanced by `delay`.
    public static func after(_ delay: Duration, _ event: Event) -> Effect {
        Effect(kind: .timer(delay, event))
    }
}
