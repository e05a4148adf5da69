/// The engine: a feedback loop with a type for its state and a type for its event.
///
/// The loop queues events first in, first out, and reduces them one after the other. If an event leads to a new state,
/// the loop publishes the state to watchers. Then it shows the state to every feedback, in the order of declaration.
/// Only then does it take the next event. An event that is sent during a turn is only queued. An event that the reducer
/// does not handle changes nothing.
///
/// A loop is a plain object. ``start()`` or ``run()`` starts it once. It ends in one of these ways:
///
/// - ``stop(within:)`` and ``beginStop()`` stop it gently.
/// - ``cancel()`` and a cancellation of ``run()`` cancel it.
/// - A fault cancels it.
/// - The release of its last reference cancels it and its side effects.
///
/// Async side effects run in tasks of their own. The loop keeps side effects until they have ended: ``stop(within:)``
/// and ``run()`` return only when none is left.
public final class Loop<State: Sendable, Event: Sendable>: Sendable {
    @usableFromInline let core: LoopCore<State, Event>

    /// The clock of the loop and its side effects.
    @inlinable
    public var clock: any Clock<Duration> { core.clock }

    /// Creates a loop that is not yet started. Events that are sent before the start wait.
    ///
    /// - Parameters:
    ///   - initial: The first state.
    ///   - feedbacks: The feedbacks, in the order in which they see each state.
    ///   - executor: The executor of the loop's turns.
    ///   - clock: The clock of the loop and its side effects.
    ///   - mailboxLimit: The maximum number of waiting events, at least 1.
    ///   - overflow: The rule for events that find the mailbox full.
    ///   - observer: The observer of the loop, if any.
    ///   - reduce: A function that changes the state on an event, and returns the result. The loop calls it on its
    ///     turn, one event at a time. Changes of the state count only if the result is ``Reduction/handled``.
    @inlinable
    public init(
        initial: State,
        feedbacks: [Feedback<State, Event>] = [],
        executor: any LoopExecutor = .sharedPool,
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        observer: (any LoopObserver<State, Event>)? = nil,
        reduce: @escaping @Sendable (inout State, Event) -> Reduction
    ) {
        core = LoopCore(
            initial: initial, feedbacks: feedbacks, executor: executor, clock: clock, mailboxLimit: mailboxLimit,
            overflow: overflow, observer: observer, reduce: reduce)
    }

    /// Creates a loop with a limit on the bytes of waiting events. It is inlinable, so that turns are compiled for the
    /// types of the caller.
    @inlinable
    package init(
        initial: State, feedbacks: [Feedback<State, Event>] = [], executor: any LoopExecutor,
        clock: any Clock<Duration>, mailboxLimit: Int, overflow: Overflow, size: MailboxSize<Event>,
        reduce: @escaping @Sendable (inout State, Event) -> Reduction
    ) {
        core = LoopCore(
            initial: initial, feedbacks: feedbacks, executor: executor, clock: clock, mailboxLimit: mailboxLimit,
            overflow: overflow, size: size, reduce: reduce)
    }

    deinit {
        core.abandon()
    }

    // MARK: State

    /// The current state.
    @inlinable
    public var state: State { core.state }

    /// The present phase of the loop's life.
    @inlinable
    public var phase: LoopPhase { core.phase }

    /// The fault that cancelled the loop, or `nil`. See ``Effect/attempt(_:recover:)`` and ``Overflow/fail``.
    @inlinable
    public var fault: LoopFault? { core.fault }

    /// A snapshot of the loop at this moment.
    ///
    /// - Complexity: O(number of feedbacks), plus the time to print the state.
    @inlinable
    public var snapshot: LoopSnapshot { core.snapshot }

    /// The number of bytes of waiting events. It is 0 if the loop has no limit on bytes.
    package var waitingBytes: Int { core.waitingBytes }

    /// The counters of the loop.
    @inlinable
    public var counters: LoopCounters { core.counters }

    /// The number of remembered runs and names. It is 0 when no side effect runs and no event waits.
    package var remembered: Int { core.remembered }

    /// The number of beginnings and ends of turns. It is odd during a turn.
    package var turns: UInt64 { core.turnCount }

    /// A Boolean value that indicates whether a turn runs or has been requested.
    package var isScheduled: Bool { core.isScheduled }

    /// Sets the executor of the loop's turns.
    ///
    /// - Precondition: The loop has not been started.
    @inlinable
    public func setExecutor(_ executor: any LoopExecutor) {
        core.setExecutor(executor)
    }

    /// Sets the observer of the loop.
    ///
    /// - Precondition: The loop has not been started.
    @inlinable
    public func setObserver(_ observer: (any LoopObserver<State, Event>)?) {
        core.setObserver(observer)
    }

    /// Sets the initial state. Returns `false`, and changes nothing, if the loop has been started.
    package func setInitial(_ state: State) -> Bool {
        core.setInitial(state)
    }

    /// Adds a feedback behind the others. In a running loop, the feedback first sees the current state when all earlier
    /// events have been taken, then every later state. A loop that is stopping or has stopped ignores it.
    @inlinable
    public func add(_ feedback: Feedback<State, Event>) {
        core.add(feedback)
    }

    // MARK: Sending

    /// Queues an event.
    ///
    /// Task-local values of the caller do not reach the side effects that follow from the event, because these run in
    /// tasks of their own. To pass a property on with all events, call its `travelWithEvents()` once.
    ///
    /// - Parameter holdBeforeStart: A Boolean value that indicates whether an event waits for the start of the loop
    ///   (the default) or is dropped.
    /// - Parameter event: The event.
    /// - Returns: The result: the event was accepted, or dropped for a reason.
    @inlinable
    @discardableResult
    public func send(_ event: Event, holdBeforeStart: Bool = true) -> SendResult {
        core.send(event, holdBeforeStart: holdBeforeStart)
    }

    /// Queues an event. At the limit of the mailbox, it returns when the event has been taken, withdrawn, dropped for a
    /// later event, or discarded with the loop. It waits under every overflow policy.
    ///
    /// Events of waiting senders keep their place: first come, first served. The mailbox then holds its limit, and one
    /// more event for each waiting sender. A cancellation of the calling task does not shorten the wait. If the loop is
    /// never started or cancelled, the wait has no end. Do not await this function on the loop's own turn.
    @inlinable
    @discardableResult
    public func sendWhenRoom(_ event: Event) async -> SendResult {
        await core.sendWhenRoom(event)
    }

    /// Queues an event, unless the loop is stopping or has stopped. In that case the event goes elsewhere, so the loop
    /// does not count it as refused.
    ///
    /// - Returns: `false` if the loop is stopping or has stopped.
    @inlinable
    package func offer(_ event: Event) -> Bool {
        core.deliver(event, origin: nil, hold: true, isOffer: true) != .dropped(.stopped)
    }

    /// Queues an event of a sender that uses the result. If the loop is stopping or has stopped, it does not count the
    /// event as refused.
    @inlinable
    package func request(_ event: Event) -> SendResult {
        core.deliver(event, origin: nil, hold: true, isOffer: true)
    }

    /// Counts an event as refused and reports it, because it was offered but not delivered anywhere.
    package func refuse(_ event: Event) {
        core.refuse(event, .stopped)
    }

    /// Queues an event before all waiting ones. It has a place beyond the limit of the mailbox.
    @discardableResult
    package func sendFirst(_ event: Event) -> SendResult {
        core.sendFirst(event)
    }

    /// Calls `body` on the loop's turn when all earlier events have been taken.
    ///
    /// A loop that has stopped or is cancelled calls it at once, on the caller's thread. If the loop is cancelled
    /// during the wait, the cancelling thread calls it.
    @inlinable
    public func afterPending(_ body: @escaping @Sendable () -> Void) {
        core.afterPending(body)
    }

    /// Calls `body` on the loop's turn when all earlier events have been taken, and takes the returned event before any
    /// other. Nothing comes between the call and the event. A paused loop calls `body` after it is resumed. A loop that
    /// ends before calls `ended` instead, on any thread.
    package func whenDue(_ body: @escaping @Sendable () -> Event?, ended: @escaping @Sendable () -> Void) {
        core.whenDue(body, ended: ended)
    }

    /// Cancels the running side effect of a name, and withdraws its waiting events.
    @inlinable
    public func cancelEffect(_ id: EffectID) {
        core.cancelEffect(id)
    }

    // MARK: Watching

    /// Calls `see` on the loop's turn with the current state, and then with every new state before the feedbacks see
    /// it.
    ///
    /// For a loop that has not been started, the first state is the initial one. The loop calls `finish` when it has
    /// stopped.
    ///
    /// - Returns: A subscription that ends the watch.
    @inlinable
    public func watch(
        _ see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        core.watch(see, finish: finish)
    }

    /// Returns a stream of the states from the current one on. The stream ends when the loop stops.
    ///
    /// - Parameter buffering: The buffer for a reader that is slower than the loop. The default buffer keeps every
    ///   state.
    @inlinable
    public func states(
        buffering: AsyncStream<State>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<State> {
        core.states(buffering: buffering)
    }

    // MARK: Life

    /// Starts the loop. Every feedback and watcher is in place before the loop shows its initial state.
    ///
    /// - Returns: `false` if the loop was started or stopped before.
    @inlinable
    @discardableResult
    public func start() -> Bool {
        core.start()
    }

    /// Starts the loop as a paused one: it shows its initial state, and takes no event until ``resume()``.
    ///
    /// - Returns: `false` if the loop was started or stopped before.
    @discardableResult
    package func startPaused() -> Bool {
        core.start(isPaused: true)
    }

    /// Starts the loop and returns when it has stopped. A cancellation of the task cancels the loop and is not an
    /// error.
    ///
    /// - Throws: The ``fault`` that ended the loop, if any.
    @inlinable
    public func run() async throws(LoopFault) {
        await core.run()
        if let fault = core.fault { throw fault }
    }

    /// Returns when the loop has stopped and no part of it runs.
    @inlinable
    public func stopped() async {
        await core.stopped()
    }

    /// A Boolean value that indicates whether the loop has stopped and has called its watchers and its observer.
    package var isOver: Bool { core.isOver }

    /// Calls `body` when the loop has stopped and no part of it runs, or at once if that is already so. A subscription
    /// that is cancelled or released before prevents the call.
    package func whenStopped(_ body: @escaping @Sendable () -> Void) -> Subscription {
        core.whenStopped(body)
    }

    /// Pauses the loop: from now on it takes no events.
    ///
    /// New events wait in the mailbox, whose limit and overflow policy still apply. If the loop has begun to take an
    /// event, it completes that event. Running side effects go on, and their events wait too. An effect whose delay ends,
    /// as with ``Effect/debounce(id:for:)``, starts after the pause. A new watcher sees the present state.
    /// ``afterPending(_:)`` calls its function although earlier events have not been taken.
    ///
    /// A paused loop that is stopped drops and counts the waiting events.
    ///
    /// - Returns: `false` if the loop does not run or is already paused.
    @discardableResult
    public func pause() -> Bool {
        core.pause()
    }

    /// Resumes a paused loop. It takes the waiting events first, in their order.
    ///
    /// - Returns: `false` if the loop was not paused.
    @discardableResult
    public func resume() -> Bool {
        core.resume()
    }

    /// A Boolean value that indicates whether the loop is paused.
    public var isPaused: Bool { core.isPaused }

    /// Stops the loop gently, and returns when it has stopped.
    ///
    /// From now on the loop accepts no events and starts no side effects. It takes the waiting events. Feedbacks that
    /// only look or answer at once still see the states of these events. Sources and timers end, and running side
    /// effects may finish. Past the limit, or if the calling task is cancelled, the loop is cancelled.
    ///
    /// A loop that has not been started ends at once, and drops and counts the waiting events.
    ///
    /// In a side effect of the same loop, this function begins the stop and returns at once, because it would wait for
    /// its own end.
    ///
    /// - Parameter limit: The maximum time for running side effects, by the loop's clock.
    @inlinable
    public func stop(within limit: Duration = .seconds(5)) async {
        await core.stop(within: limit)
    }

    /// Begins a gentle stop and returns at once. ``stopped()`` waits for its end.
    @inlinable
    public func beginStop() {
        _ = core.beginStop()
    }

    /// Begins a gentle stop in which the loop still takes the events of running side effects. A paused loop also takes
    /// such events that wait.
    ///
    /// - Returns: The number of dropped events.
    package func beginStopTakingOutcomes() -> Int {
        core.beginStop(takingOutcomes: true)
    }

    /// Stops hard and returns at once. The loop drops and counts the waiting events, and cancels its side effects.
    /// ``stopped()`` waits for their end.
    @inlinable
    public func cancel() {
        _ = core.cancel()
    }

    /// Stops hard and returns at once.
    ///
    /// - Returns: The number of dropped events.
    package func cancelCounting() -> Int {
        core.cancel()
    }
}
