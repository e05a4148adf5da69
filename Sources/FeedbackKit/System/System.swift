/// One feedback loop in the declarative dialect: an initial state, feedbacks, and transitions.
///
///     let system = System {
///         InitialState { VolumeState(value: 10) }
///         Feedbacks {
///             Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
///                 state.value < 15 ? IncreaseEvent() : nil
///             }
///         }
///         Transitions {
///             From(VolumeState.self) { state in
///                 On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
///             }
///         }
///     }
///
/// It is a ``Loop`` over `any State` and `any Event`, and every promise of the loop holds for it. Its modifiers change
/// the system and return it, so that they can be chained. Released without having been stopped, it cancels what it runs.
public final class System: Sendable {
    /// The state machine.
    public let transitions: Transitions
    /// The engine.
    @usableFromInline package let loop: Loop<any State, any Event>

    /// Builds a system, which does nothing until it is started.
    ///
    /// - Parameters:
    ///   - clock: what time it is for the system and its side effects.
    ///   - mailboxLimit: how many events may wait, at least 1.
    ///   - overflow: what happens beyond the limit.
    ///   - parts: the initial state, the feedbacks and the transitions.
    public init(
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        @SystemBuilder _ parts: () -> SystemParts
    ) {
        let parts = parts()
        let transitions = parts.transitions
        self.transitions = transitions
        loop = Loop(
            initial: parts.initialState.state,
            feedbacks: parts.feedbacks.feedbacks,
            executor: transitions.executor ?? .sharedPool,
            clock: clock,
            mailboxLimit: mailboxLimit,
            overflow: overflow
        ) { state, event in
            guard let new = transitions.next(from: state, on: event) else { return .unhandled }
            state = new
            return .handled
        }
    }

    // MARK: Modifiers

    /// Says where the system's loop turns, and where the side effects run that do not say it themselves.
    /// Only before the start.
    @discardableResult
    public func execute(on executor: some LoopExecutor) -> System {
        loop.setExecutor(executor)
        return self
    }

    /// Says who sees what happens inside. Only before the start.
    @discardableResult
    public func observe(with observer: some LoopObserver<any State, any Event>) -> System {
        loop.setObserver(observer)
        return self
    }

    // MARK: Life

    /// Starts the system; `false` if it had been started before.
    @discardableResult
    public func start() -> Bool { loop.start() }

    /// Starts the system and returns when it has stopped. Cancelling the task cancels the system.
    public func run() async { await loop.run() }

    /// Stops gently: see ``Loop/stop(within:)``.
    public func stop(within limit: Duration = .seconds(5)) async { await loop.stop(within: limit) }

    /// Begins a gentle stop and returns at once: see ``Loop/beginStop()``. This is how a side effect of the system stops it.
    public func beginStop() { loop.beginStop() }

    /// Returns when the system has stopped and nothing of it runs: see ``Loop/stopped()``.
    public func stopped() async { await loop.stopped() }

    /// Stops hard, and returns at once: see ``Loop/cancel()``.
    public func cancel() { loop.cancel() }

    // MARK: In and out

    /// The current state.
    public var state: any State { loop.state }

    /// Sends an event. One that is sent before the start waits for it.
    @inlinable
    @discardableResult
    public func send(_ event: any Event) -> SendResult { loop.send(event) }

    /// The states from the current one on, the initial one included if the system has not started. Iterating does not
    /// start the system; the sequence ends when it stops.
    public var stream: AsyncStream<any State> { loop.states() }

    /// Why the system was cancelled, if it has failed: see ``Loop/fault``.
    public var fault: LoopFault? { loop.fault }

    /// A picture of the system.
    public var snapshot: LoopSnapshot { loop.snapshot }
}

/// What a system is made of.
public struct SystemParts: Sendable {
    let initialState: InitialState
    let feedbacks: Feedbacks
    let transitions: Transitions
}

/// Takes the parts of a system in their order.
@resultBuilder
public enum SystemBuilder {
    /// All three.
    public static func buildBlock(
        _ initialState: InitialState, _ feedbacks: Feedbacks, _ transitions: Transitions
    ) -> SystemParts {
        SystemParts(initialState: initialState, feedbacks: feedbacks, transitions: transitions)
    }

    /// A system without side effects of its own.
    public static func buildBlock(_ initialState: InitialState, _ transitions: Transitions) -> SystemParts {
        SystemParts(initialState: initialState, feedbacks: Feedbacks {}, transitions: transitions)
    }
}
