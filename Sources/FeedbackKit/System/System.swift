import Synchronization

/// A feedback loop in the declarative dialect: an initial state, feedbacks, and transitions.
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
/// A system is a ``Loop`` over `any State` and `any Event`, with all guarantees of the loop. Its modifiers change the
/// system and return it for chaining. If it is released without having been stopped, it cancels its side effects.
public final class System: Sendable {
    /// The state machine of the system.
    public let transitions: Transitions
    /// The loop that runs the system.
    @usableFromInline package let loop: Loop<any State, any Event>
    /// The handlers for events that enter the system from outside its own feedbacks; `nil` if there is no handler.
    @usableFromInline let entering: EnteringEvents?
    /// The number of the loop's feedbacks that belong to the system itself.
    private let ownFeedbacks: Int
    /// A Boolean value that indicates whether the system has an executor.
    private let hasExecutor = Atomic(false)

    /// Creates a system, which does nothing until you start it.
    ///
    /// - Parameters:
    ///   - clock: The clock for the system and its side effects.
    ///   - mailboxLimit: The maximum number of waiting events, at least 1.
    ///   - overflow: The rule for events that find the mailbox full.
    ///   - parts: The initial state, the feedbacks and the transitions.
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
            guard let step = transitions.step(from: state, on: event) else { return .unhandled }
            state = step.state
            return step.isUpdate ? .updated : .handled
        }
        ownFeedbacks = loop.core.guarded.withLock { $0.machine.feedbacks.count }
    }

    // MARK: Modifiers

    /// Sets the executor of the loop and of side effects that have none of their own. Call it before the start.
    ///
    /// The innermost setting wins: an executor of a feedback, of ``Feedbacks`` or of ``Transitions`` takes precedence
    /// over this one. Of two calls on one object, the first wins. If the transitions have an executor, the loop runs on
    /// it.
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

    /// Sets the observer of the system's internal events. Call it before the start.
    @discardableResult
    public func observe(with observer: some LoopObserver<any State, any Event>) -> System {
        loop.setObserver(observer)
        return self
    }

    // MARK: Lifecycle

    /// Starts the system. Returns `false` if it was started before.
    @discardableResult
    public func start() -> Bool { loop.start() }

    /// Starts the system and returns when it has stopped. Cancelling the task cancels the system and throws no error.
    ///
    /// - Throws: The ``fault`` that ended the system, if any.
    public func run() async throws(LoopFault) { try await loop.run() }

    /// Stops gracefully: see ``Loop/stop(within:)``.
    public func stop(within limit: Duration = .seconds(5)) async { await loop.stop(within: limit) }

    /// Begins a graceful stop and returns at once: see ``Loop/beginStop()``. A side effect of the system can call it.
    public func beginStop() { loop.beginStop() }

    /// Returns when the system has stopped and none of its work runs: see ``Loop/stopped()``.
    public func stopped() async { await loop.stopped() }

    /// Cancels at once, without waiting: see ``Loop/cancel()``.
    public func cancel() { loop.cancel() }

    // MARK: In and out

    /// The current state.
    public var state: any State { loop.state }

    /// Sends an event. Before the start, the event waits in the mailbox.
    ///
    /// Task-local values of the caller do not reach the side effects that follow from the event, unless the property
    /// travels with events: see ``Loop/send(_:holdBeforeStart:)``.
    @inlinable
    @discardableResult
    public func send(_ event: any Event) -> SendResult {
        entering?.handler(event)
        return loop.send(event)
    }

    /// The states, beginning with the current one, which before the start is the initial state. Iterating does not
    /// start the system; the sequence ends when the system stops.
    public var stream: AsyncStream<any State> { loop.states() }

    /// The fault that cancelled the system, if it has failed: see ``Loop/fault``.
    public var fault: LoopFault? { loop.fault }

    /// A snapshot of the system.
    public var snapshot: LoopSnapshot { loop.snapshot }
}

/// The parts of a system.
public struct SystemParts: Sendable {
    let initialState: InitialState
    let feedbacks: Feedbacks
    let transitions: Transitions
}

/// Combines the parts of a system in their order.
///
/// You can also apply it to a property: `@SystemBuilder var system: System { InitialState { … } … }`.
@resultBuilder
public enum SystemBuilder {
    /// Returns the parts.
    public static func buildFinalResult(_ parts: SystemParts) -> SystemParts { parts }
    /// Returns a system with the defaults of ``System/init(clock:mailboxLimit:overflow:_:)``.
    public static func buildFinalResult(_ parts: SystemParts) -> System {
        System(parts, clock: ContinuousClock(), mailboxLimit: .max, overflow: .dropNewest)
    }

    /// Unavailable: the initial state is missing.
    @available(*, unavailable, message: "a system begins with its InitialState { … }")
    public static func buildBlock(_ feedbacks: Feedbacks, _ transitions: Transitions) -> SystemParts {
        fatalError("unavailable")
    }

    /// Unavailable: the initial state is missing.
    @available(*, unavailable, message: "a system begins with its InitialState { … }")
    public static func buildBlock(_ transitions: Transitions) -> SystemParts {
        fatalError("unavailable")
    }

    /// Combines all three parts.
    public static func buildBlock(
        _ initialState: InitialState, _ feedbacks: Feedbacks, _ transitions: Transitions
    ) -> SystemParts {
        SystemParts(initialState: initialState, feedbacks: feedbacks, transitions: transitions)
    }

    /// Creates a system without side effects of its own.
    public static func buildBlock(_ initialState: InitialState, _ transitions: Transitions) -> SystemParts {
        SystemParts(initialState: initialState, feedbacks: Feedbacks {}, transitions: transitions)
    }
}
