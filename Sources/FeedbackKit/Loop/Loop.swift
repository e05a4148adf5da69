/// The engine: one feedback loop, typed over its state and its event.
///
/// Events queue first in, first out. Each is reduced, and if that gives a new state, the state is published to
/// watchers and shown to every feedback, in the order in which they were declared, before the next event is looked
/// at. Whoever sends while the loop is turning only queues. An event that the reducer does not handle changes nothing.
///
/// A loop is a plain object: it is started once, by ``start()`` or ``run()``, and ends by ``stop(within:)``, by
/// ``cancel()``, by cancellation of ``run()``, or when it is released, which cancels whatever it still runs.
///
/// Side effects run in tasks of their own, which the loop keeps until they have ended: ``stop(within:)`` and
/// ``run()`` return only when none is left.
public final class Loop<State: Sendable, Event: Sendable>: Sendable {
    @usableFromInline let core: LoopCore<State, Event>

    /// What time it is for the loop and its side effects.
    @inlinable
    public var clock: any Clock<Duration> { core.clock }

    /// Makes a loop that is not yet started; events sent before the start wait.
    ///
    /// - Parameters:
    ///   - initial: the first state.
    ///   - feedbacks: in the order in which they see each state.
    ///   - executor: where the loop turns.
    ///   - clock: what time it is.
    ///   - mailboxLimit: how many events may wait, at least 1.
    ///   - overflow: what happens beyond the limit.
    ///   - observer: sees what happens inside.
    ///   - reduce: changes the state on an event and says whether it had a rule for it; called on the loop's turn,
    ///     one event at a time. What it does to the state counts only if it answers ``Reduction/handled``.
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

    /// The same, with a bound on how many bytes the events may hold that wait.
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

    /// Where the loop stands in its life.
    @inlinable
    public var phase: LoopPhase { core.phase }

    /// Why the loop was cancelled, if it has failed: see ``Effect/attempt(_:recover:)`` and ``Overflow/fail``.
    @inlinable
    public var fault: LoopFault? { core.fault }

    /// A picture of the loop.
    ///
    /// - Complexity: O(number of feedbacks), and printing the state.
    @inlinable
    public var snapshot: LoopSnapshot { core.snapshot }

    /// How many bytes the events that wait hold; 0 if those are not bounded.
    package var waitingBytes: Int { core.waitingBytes }

    /// What the loop has counted.
    @inlinable
    public var counters: LoopCounters { core.counters }

    /// How many runs and names are remembered: none, when nothing runs and nothing waits.
    package var remembered: Int { core.remembered }

    // MARK: Before the start

    /// Says where the loop turns. Only before the start.
    @inlinable
    public func setExecutor(_ executor: any LoopExecutor) {
        core.setExecutor(executor)
    }

    /// Says who sees what happens inside. Only before the start.
    @inlinable
    public func setObserver(_ observer: (any LoopObserver<State, Event>)?) {
        core.setObserver(observer)
    }

    /// Says in which state the loop starts. Only before the start; `false`, and nothing changes, if that has been.
    package func setInitial(_ state: State) -> Bool {
        core.setInitial(state)
    }

    /// Adds a feedback behind the others. On a loop that runs, it first sees the state that is current when all
    /// events sent before have been taken, then every later one. On a loop that has stopped it does nothing.
    @inlinable
    public func add(_ feedback: Feedback<State, Event>) {
        core.add(feedback)
    }

    // MARK: Sending

    /// Queues an event.
    ///
    /// - Parameter holdBeforeStart: whether an event for a loop that has not started waits for the start (the
    ///   default) or is dropped. Either way the answer tells.
    /// - Parameter event: what has happened.
    @inlinable
    @discardableResult
    public func send(_ event: Event, holdBeforeStart: Bool = true) -> SendResult {
        core.send(event, holdBeforeStart: holdBeforeStart)
    }

    /// Queues an event; if the mailbox is at its limit, returns only when it is known what became of the event: taken,
    /// withdrawn, dropped for a later one, or discarded with the loop. It waits whatever the overflow policy says about
    /// those who cannot.
    ///
    /// Events of those who wait keep their place: first come, first served. The mailbox then holds its limit and at most
    /// one event more for each who waits. Cancelling the calling task does not shorten the wait; on a loop that nobody
    /// starts or cancels it has no end. Do not await this on the loop's own turn.
    @inlinable
    @discardableResult
    public func sendWhenRoom(_ event: Event) async -> SendResult {
        await core.sendWhenRoom(event)
    }

    /// Queues an event, unless the loop is stopping or has stopped: then it is not counted as refused, since it goes
    /// elsewhere.
    ///
    /// - Returns: `false` if the loop is stopping or has stopped.
    @inlinable
    package func offer(_ event: Event) -> Bool {
        core.deliver(event, origin: nil, hold: true, isOffer: true) != .dropped(.stopped)
    }

    /// Queues an event of a sender that hears the result: if the loop is stopping or has stopped, it counts for nothing.
    @inlinable
    package func request(_ event: Event) -> SendResult {
        core.deliver(event, origin: nil, hold: true, isOffer: true)
    }

    /// Counts and tells an event that was offered and went nowhere.
    package func refuse(_ event: Event) {
        core.refuse(event, .stopped)
    }

    /// Queues an event before all that waits; it has a place beyond the mailbox's limit.
    @discardableResult
    package func sendFirst(_ event: Event) -> SendResult {
        core.sendFirst(event)
    }

    /// Calls `body` on the loop's turn when every event sent before has been taken. A loop that has stopped or is
    /// being cancelled calls it at once, on the caller's thread.
    @inlinable
    public func afterPending(_ body: @escaping @Sendable () -> Void) {
        core.afterPending(body)
    }

    /// Calls `body` on the loop's turn when every event sent before has been taken, and takes the event that it returns
    /// before any other. Nothing comes between the decision and the event. A loop that is paused calls it when it is
    /// resumed. A loop that ends before calls `ended` instead, on any thread.
    package func whenDue(_ body: @escaping @Sendable () -> Event?, ended: @escaping @Sendable () -> Void) {
        core.whenDue(body, ended: ended)
    }

    /// Cancels the side effect of this name, if one runs, and withdraws what it has emitted and the loop not taken.
    @inlinable
    public func cancelEffect(_ id: EffectID) {
        core.cancelEffect(id)
    }

    // MARK: Watching

    /// Calls `see` on the loop's turn with the current state and then with every new one, before feedbacks see it.
    /// Watching a loop that is not started shows its initial state first. `finish` is called when the loop has stopped.
    @inlinable
    public func watch(
        _ see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        core.watch(see, finish: finish)
    }

    /// The states from the current one on, ending when the loop stops.
    ///
    /// - Parameter buffering: what to keep for a reader that is slower than the loop; everything, if not said.
    @inlinable
    public func states(
        buffering: AsyncStream<State>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<State> {
        core.states(buffering: buffering)
    }

    // MARK: Life

    /// Starts the loop. Every feedback and watcher is in place before the initial state is shown.
    ///
    /// - Returns: `false` if it had been started before.
    @inlinable
    @discardableResult
    public func start() -> Bool {
        core.start()
    }

    /// Starts the loop and returns when it has stopped. Cancelling the task cancels the loop, and is no error.
    ///
    /// - Throws: the ``fault`` that ended the loop, if one did.
    @inlinable
    public func run() async throws(LoopFault) {
        await core.run()
        if let fault = core.fault { throw fault }
    }

    /// Returns when the loop has stopped and nothing of it runs.
    @inlinable
    public func stopped() async {
        await core.stopped()
    }

    /// Whether the loop has stopped, and its watchers and its observer have been told.
    package var isOver: Bool { core.isOver }

    /// Calls `body` when the loop has stopped and nothing of it runs: at once if it has, and not at all if the subscription
    /// has been cancelled or released by then.
    package func whenStopped(_ body: @escaping @Sendable () -> Void) -> Subscription {
        core.whenStopped(body)
    }

    /// Takes no event from now on: those that come wait in the mailbox, whose limit and policy hold as ever. An event that
    /// is being taken is taken to its end. Side effects that run go on, and their events wait too. Who begins to watch sees
    /// the present state, and ``afterPending(_:)`` calls back, though what was sent before has not been taken.
    ///
    /// When a loop that is paused is stopped, what waits is dropped and counted.
    ///
    /// - Returns: `false` if it does not run, or is paused already.
    @discardableResult
    public func pause() -> Bool {
        core.pause()
    }

    /// Takes events again, those first that have waited, in their order.
    ///
    /// - Returns: `false` if it was not paused.
    @discardableResult
    public func resume() -> Bool {
        core.resume()
    }

    /// Whether it is paused.
    public var isPaused: Bool { core.isPaused }

    /// Stops gently: from now on no event is accepted and no side effect starts; events that wait are taken (feedbacks that
    /// only look, or answer at once, still see the states these lead to), sources and timers end, and side effects that
    /// run may finish. A loop that has not been started is over at once, and what waits is dropped and counted. Past the limit, or when the calling task is cancelled, the loop
    /// is cancelled.
    ///
    /// Do not await this from a side effect of the same loop: it would wait for its own end, which no limit brings about.
    /// There, call ``beginStop()`` or ``cancel()``.
    ///
    /// - Parameter limit: how long side effects may take, by the loop's clock.
    @inlinable
    public func stop(within limit: Duration = .seconds(5)) async {
        await core.stop(within: limit)
    }

    /// Begins a gentle stop and returns at once; ``stopped()`` tells when it is done.
    @inlinable
    public func beginStop() {
        _ = core.beginStop()
    }

    /// Begins a gentle stop in which events of side effects under way are still taken, also those that wait in a loop that
    /// is paused.
    ///
    /// - Returns: how many events that waited are dropped.
    package func beginStopTakingOutcomes() -> Int {
        core.beginStop(takingOutcomes: true)
    }

    /// Stops hard and returns at once: events that wait are dropped and counted, side effects are cancelled.
    /// ``stopped()`` tells when they have ended.
    @inlinable
    public func cancel() {
        _ = core.cancel()
    }

    /// Stops hard and returns at once.
    ///
    /// - Returns: how many events that waited are dropped.
    package func cancelCounting() -> Int {
        core.cancel()
    }
}
