import Synchronization

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
    /// Sees the events that enter the system otherwise than through its own feedbacks; `nil`: nobody wants to.
    @usableFromInline let entering: EnteringEvents?
    /// The number of the loop's feedbacks that are the system's own.
    private let ownFeedbacks: Int
    /// A Boolean value that indicates whether the system has an executor.
    private let hasExecutor = Atomic(false)

    /// Builds a system, which does nothing until it is started.
    ///
    /// - Parameters:
    ///   - clock: what time it is for the system and its side effects.
    ///   - mailboxLimit: how many events may wait, at least 1.
    ///   - overflow: what happens beyond the limit.
    ///   - parts: the initial state, the feedbacks and the transitions.
    public convenience init(
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        @SystemBuilder _ parts: () -> SystemParts
    ) {
        self.init(parts(), clock: clock, mailboxLimit: mailboxLimit, overflow: overflow)
    }

    init(_ parts: SystemParts, clock: any Clock<Duration>, mailboxLimit: Int, overflow: Overflow) {
        let transitions = parts.transitions
        self.transitions = transitions
        entering = parts.feedbacks.entering
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
        ownFeedbacks = loop.core.guarded.withLock { $0.machine.feedbacks.count }
    }

    // MARK: Modifiers

    /// Says where the system's loop turns, and where the side effects run that do not say it themselves.
    /// Only before the start.
    ///
    /// The innermost counts: what a feedback, the ``Feedbacks`` or the ``Transitions`` say themselves goes before this, and
    /// said twice, the first one counts. Where the transitions have an executor of their own, the loop turns there.
    @discardableResult
    public func execute(on executor: some LoopExecutor) -> System {
        guard !hasExecutor.exchange(true, ordering: .relaxed) else { return self }
        if transitions.executor == nil {
            loop.setExecutor(executor)
        } else {
            loop.core.setExecutor(executor, ofFirst: ownFeedbacks)
        }
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

    /// Starts the system and returns when it has stopped. Cancelling the task cancels the system, and is no error.
    ///
    /// - Throws: the ``fault`` that ended the system, if one did.
    public func run() async throws(LoopFault) { try await loop.run() }

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
    public func send(_ event: any Event) -> SendResult {
        entering?.see(event)
        return loop.send(event)
    }

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
///
/// A property may be built with it, too: `@SystemBuilder var system: System { InitialState { … } … }`.
@resultBuilder
public enum SystemBuilder {
    /// The parts, for a system that is made of them.
    public static func buildFinalResult(_ parts: SystemParts) -> SystemParts { parts }
    /// The system, with the defaults of ``System/init(clock:mailboxLimit:overflow:_:)``.
    public static func buildFinalResult(_ parts: SystemParts) -> System {
        System(parts, clock: ContinuousClock(), mailboxLimit: .max, overflow: .dropNewest)
    }

    /// Not a system.
    @available(*, unavailable, message: "a system begins with its InitialState { … }")
    public static func buildBlock(_ feedbacks: Feedbacks, _ transitions: Transitions) -> SystemParts {
        fatalError("unavailable")
    }

    /// Not a system.
    @available(*, unavailable, message: "a system begins with its InitialState { … }")
    public static func buildBlock(_ transitions: Transitions) -> SystemParts {
        fatalError("unavailable")
    }

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
