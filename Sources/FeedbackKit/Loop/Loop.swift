import Synchronization

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
    /// What can end a side effect.
    private enum Handle: Sendable {
        case task(Task<Void, Never>)
        case source(Subscription)

        func end() {
            switch self {
            case .task(let task): task.cancel()
            case .source(let subscription): subscription.cancel()
            }
        }
    }

    private typealias Machine = LoopMachine<State, Event, Handle>

    private struct Guarded {
        var machine: Machine
        var executor: any LoopExecutor
        var observer: (any LoopObserver<State, Event>)?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let guarded: Mutex<Guarded>
    private let reduce: @Sendable (inout State, Event) -> Reduction
    /// What time it is for the loop and its side effects.
    public let clock: any Clock<Duration>

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
        var machine = Machine(state: initial, limit: mailboxLimit, overflow: overflow)
        for feedback in feedbacks { _ = machine.add(feedback) }
        guarded = Mutex(Guarded(machine: machine, executor: executor, observer: observer))
        self.reduce = reduce
        self.clock = clock
    }

    deinit {
        // Nobody can send any more: side effects hold the loop weakly, and a turn holds it strongly.
        let (handles, watchers, waiters) = guarded.withLock {
            ($0.machine.handles, $0.machine.takeWatchers(), $0.waiters)
        }
        for handle in handles { handle.end() }
        for watcher in watchers { watcher.finish() }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: State

    /// The current state.
    public var state: State { guarded.withLock { $0.machine.state } }

    /// Where the loop stands in its life.
    public var phase: LoopPhase { guarded.withLock { $0.machine.phase } }

    /// A picture of the loop.
    ///
    /// - Complexity: O(number of feedbacks), and printing the state.
    public var snapshot: LoopSnapshot { guarded.withLock { $0.machine }.snapshot() }

    /// What the loop has counted.
    public var counters: LoopCounters { guarded.withLock { $0.machine.counters } }

    // MARK: Before the start

    /// Says where the loop turns. Only before the start.
    public func setExecutor(_ executor: any LoopExecutor) {
        let isEarly = guarded.withLock { guarded in
            guard guarded.machine.phase == .notStarted else { return false }
            guarded.executor = executor
            return true
        }
        precondition(isEarly, "a loop's executor must be set before the loop is started")
    }

    /// Says who sees what happens inside. Only before the start.
    public func setObserver(_ observer: (any LoopObserver<State, Event>)?) {
        let isEarly = guarded.withLock { guarded in
            guard guarded.machine.phase == .notStarted else { return false }
            guarded.observer = observer
            return true
        }
        precondition(isEarly, "a loop's observer must be set before the loop is started")
    }

    /// Adds a feedback behind the others. On a loop that runs, it first sees the state that is current when all
    /// events sent before have been taken, then every later one. On a loop that has stopped it does nothing.
    public func add(_ feedback: Feedback<State, Event>) {
        schedule(
            guarded.withLock { guarded in
                guarded.machine.add(feedback) ? guarded.executor : nil
            })
    }

    // MARK: Sending

    /// Queues an event.
    ///
    /// - Parameter holdBeforeStart: whether an event for a loop that has not started waits for the start (the
    ///   default) or is dropped. Either way the answer tells.
    @discardableResult
    public func send(_ event: Event, holdBeforeStart: Bool = true) -> SendResult {
        deliver(event) { _ in (origin: nil, hold: holdBeforeStart) }
    }

    /// Queues an event that a side effect emitted.
    private func send(_ event: Event, from origin: Machine.Origin?) -> SendResult {
        deliver(event) { _ in (origin: origin, hold: true) }
    }

    private func deliver(
        _ event: Event, _ terms: (borrowing Machine) -> (origin: Machine.Origin?, hold: Bool)
    ) -> SendResult {
        let (sent, executor, observer) = guarded.withLock { guarded in
            let terms = terms(guarded.machine)
            let sent = guarded.machine.send(event, origin: terms.origin, holdBeforeStart: terms.hold)
            return (sent, sent.needsTurn ? guarded.executor : nil, guarded.observer)
        }
        if let observer {
            if case .dropped(let reason) = sent.result { observer.loopDidDrop(event, because: reason) }
            if let evicted = sent.evicted { observer.loopDidDrop(evicted, because: .mailboxFull) }
        }
        schedule(executor)
        return sent.result
    }

    /// Calls `body` on the loop's turn when every event sent before has been taken. A loop that has stopped or is
    /// being cancelled calls it at once, on the caller's thread.
    public func afterPending(_ body: @escaping @Sendable () -> Void) {
        let executor: (any LoopExecutor)?? = guarded.withLock { guarded in
            guard let needsTurn = guarded.machine.addMarker(body) else { return .none }
            return .some(needsTurn ? guarded.executor : nil)
        }
        guard let executor else { return body() }
        schedule(executor)
    }

    // MARK: Watching

    /// Calls `see` on the loop's turn with the current state and then with every new one, before feedbacks see it.
    /// Watching a loop that is not started shows its initial state first. `finish` is called when the loop has stopped.
    public func watch(
        _ see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        let added: (id: UInt64, executor: (any LoopExecutor)?)? = guarded.withLock { guarded in
            guard let added = guarded.machine.addWatcher(see: see, finish: finish) else { return nil }
            return (added.id, added.needsTurn ? guarded.executor : nil)
        }
        guard let added else {
            finish()
            return Subscription {}
        }
        schedule(added.executor)
        return Subscription { [weak self] in
            self?.guarded.withLock { $0.machine.removeWatcher(added.id) }
        }
    }

    /// The states from the current one on, ending when the loop stops.
    ///
    /// - Parameter buffering: what to keep for a reader that is slower than the loop; everything, if not said.
    public func states(
        buffering: AsyncStream<State>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<State> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let subscription = watch({ continuation.yield($0) }, finish: { continuation.finish() })
            continuation.onTermination = { _ in subscription.cancel() }
        }
    }

    // MARK: Life

    /// Starts the loop. Every feedback and watcher is in place before the initial state is shown.
    ///
    /// - Returns: `false` if it had been started before.
    @discardableResult
    public func start() -> Bool {
        let (started, executor): (Bool, (any LoopExecutor)?) = guarded.withLock { guarded in
            guard let needsTurn = guarded.machine.start() else { return (false, nil) }
            return (true, needsTurn ? guarded.executor : nil)
        }
        schedule(executor)
        return started
    }

    /// Starts the loop and returns when it has stopped. Cancelling the task cancels the loop.
    public func run() async {
        start()
        await withTaskCancellationHandler {
            await stopped()
        } onCancel: {
            cancel()
        }
    }

    /// Returns when the loop has stopped and nothing of it runs.
    public func stopped() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isOver = guarded.withLock { guarded in
                if guarded.machine.phase == .stopped { return true }
                guarded.waiters.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Stops gently: from now on no event is accepted and no side effect starts; events that wait are taken, sources and
    /// timers end, and side effects that run may finish. Past the limit, or when the calling task is cancelled, the loop is cancelled.
    ///
    /// Do not await this from a side effect of the same loop: it would wait for itself until the limit.
    ///
    /// - Parameter limit: how long side effects may take, by the loop's clock.
    public func stop(within limit: Duration = .seconds(5)) async {
        beginStop()
        if phase == .stopped { return }
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [clock] in
                    guard (try? await clock.sleep(for: limit)) != nil else { return }
                    self.cancel()
                }
                await stopped()
                group.cancelAll()
            }
        } onCancel: {
            cancel()
        }
    }

    /// Begins a gentle stop and returns at once; ``stopped()`` tells when it is done.
    public func beginStop() {
        close { $0.beginStop() }
    }

    /// Stops hard and returns at once: events that wait are dropped and counted, side effects are cancelled.
    /// ``stopped()`` tells when they have ended.
    public func cancel() {
        close { $0.cancel() }
    }

    private func close(_ change: (inout Machine) -> Machine.Closing) {
        let (closing, observer) = guarded.withLock { (change(&$0.machine), $0.observer) }
        end(closing.endings, observer)
        if let observer {
            for event in closing.discarded { observer.loopDidDrop(event, because: .stopped) }
        }
        for marker in closing.markers { marker() }
        if closing.stopped { didStop() }
    }

    /// Tells everybody that the loop has stopped; called once.
    private func didStop() {
        let (waiters, watchers, observer, state) = guarded.withLock { guarded in
            defer { guarded.waiters = [] }
            return (guarded.waiters, guarded.machine.takeWatchers(), guarded.observer, guarded.machine.state)
        }
        observer?.loopDidStop(with: state)
        for watcher in watchers { watcher.finish() }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Turning

    private func schedule(_ executor: (any LoopExecutor)?) {
        guard let executor else { return }
        executor.enqueue { self.turn() }
    }

    /// Takes what waits, one thing after the other. Only one turn is under way at a time.
    private func turn() {
        let (observer, executor) = guarded.withLock { ($0.observer, $0.executor) }
        var left = executor.eventsPerTurn
        while true {
            if left == 0 { return executor.enqueue { self.turn() } }
            left -= 1
            switch guarded.withLock({ $0.machine.next() }) {
            case .idle(let stopped):
                if stopped { didStop() }
                return
            case .reduce(let event, let old):
                take(event, in: old, observer)
            case .withdrawn(let event):
                observer?.loopDidWithdraw(event)
            case .begin(let state, let feedbacks, let watchers):
                begin(state, feedbacks, watchers, observer)
            case .introduce(let feedback, let index, let state):
                connect(feedback, index, observer)
                show(state, nil, to: feedback, index, observer)
            case .watch(let watcher, let state):
                watcher.see(state)
            case .marker(let body):
                body()
            }
        }
    }

    private func begin(
        _ state: State, _ feedbacks: [Feedback<State, Event>], _ watchers: [Machine.Watcher],
        _ observer: (any LoopObserver<State, Event>)?
    ) {
        observer?.loopDidStart(with: state)
        for (index, feedback) in feedbacks.enumerated() { connect(feedback, index, observer) }
        for watcher in watchers { watcher.see(state) }
        for (index, feedback) in feedbacks.enumerated() { show(state, nil, to: feedback, index, observer) }
    }

    private func take(_ event: Event, in old: State, _ observer: (any LoopObserver<State, Event>)?) {
        observer?.loopWillReduce(event, in: old)
        var new = old
        switch reduce(&new, event) {
        case .handled: break
        case .stay: return
        case .unhandled:
            guarded.withLock { $0.machine.noteUnhandled() }
            observer?.loopDidNotHandle(event, in: old)
            return
        }
        let state = new
        let entered = guarded.withLock { $0.machine.enter(state) }
        observer?.loopDidTransition(from: old, to: state, on: event)
        end(entered.endings, observer)
        for watcher in entered.watchers { watcher.see(state) }
        for (index, feedback) in entered.feedbacks.enumerated() { show(state, event, to: feedback, index, observer) }
    }

    /// Starts a source.
    private func connect(
        _ feedback: Feedback<State, Event>, _ index: Int, _ observer: (any LoopObserver<State, Event>)?
    ) {
        guard case .source(let subscribe) = feedback.kind,
            let opened = guarded.withLock({ $0.machine.openRun(of: index, endsAtStop: true) })
        else { return }
        observer?.loopDidStartEffect(opened.run, of: feedback.name)
        let inner = subscribe(Send(clock: clock) { [weak self] event in self?.send(event) ?? .dropped(.stopped) })
        // Ending the source is all there is to it: once cancelled, the run is over.
        let subscription = Subscription { [weak self] in
            inner.cancel()
            self?.finish(opened.run)
        }
        if guarded.withLock({ $0.machine.attach(.source(subscription), to: opened.run) }) { subscription.cancel() }
    }

    /// Shows a state to a feedback and starts what it asks for.
    private func show(
        _ state: State, _ event: Event?, to feedback: Feedback<State, Event>, _ index: Int,
        _ observer: (any LoopObserver<State, Event>)?
    ) {
        guard case .reaction(let cancellation, let receive) = feedback.kind else { return }
        if case .when(let holds) = cancellation, event != nil, holds(state) {
            end(guarded.withLock { $0.machine.cancelRuns(of: index) }, observer)
        }
        switch receive(state, event).kind {
        case .nothing: break
        case .event(let event): emit(event, from: index)
        case .events(let events): for event in events { emit(event, from: index) }
        case .call(let body) where feedback.executor == nil:
            if let event = body() { emit(event, from: index) }
        case .call(let body):
            startTask({ send in if let event = body() { send(event) } }, feedback, index, observer)
        case .task(let body): startTask(body, feedback, index, observer)
        case .timer(let delay, let event):
            startTask(
                { send in
                    guard (try? await send.clock.sleep(for: delay)) != nil else { return }
                    send(event)
                }, feedback, index, observer, endsAtStop: true)
        }
    }

    /// Queues what a feedback emits at once.
    private func emit(_ event: Event, from feedback: Int) {
        _ = deliver(event) { (origin: $0.origin(of: feedback), hold: true) }
    }

    private func startTask(
        _ body: @escaping @Sendable (Send<Event>) async -> Void, _ feedback: Feedback<State, Event>, _ index: Int,
        _ observer: (any LoopObserver<State, Event>)?, endsAtStop: Bool = false
    ) {
        let (opened, executor) = guarded.withLock {
            ($0.machine.openRun(of: index, endsAtStop: endsAtStop), (feedback.executor ?? $0.executor).taskExecutor)
        }
        guard let opened else { return }
        observer?.loopDidStartEffect(opened.run, of: feedback.name)
        let send = Send<Event>(clock: clock) { [weak self] event in
            self?.send(event, from: opened.origin) ?? .dropped(.stopped)
        }
        let task = Task.detached(executorPreference: executor) { [weak self] in
            await body(send)
            self?.finish(opened.run)
        }
        if guarded.withLock({ $0.machine.attach(.task(task), to: opened.run) }) { task.cancel() }
    }

    /// A side effect has ended.
    private func finish(_ run: RunID) {
        let (closed, name, observer) = guarded.withLock { guarded in
            let closed = guarded.machine.closeRun(run)
            return (closed, closed.map { guarded.machine.feedbacks[$0.feedback].name }, guarded.observer)
        }
        guard let closed else { return }
        observer?.loopDidEndEffect(run, of: name ?? "")
        if closed.stopped { didStop() }
    }

    /// Tells side effects to end.
    private func end(_ endings: [Machine.Ending], _ observer: (any LoopObserver<State, Event>)?) {
        for ending in endings {
            if let observer {
                let name = guarded.withLock { $0.machine.feedbacks[ending.feedback].name }
                observer.loopDidCancelEffect(ending.run, of: name)
            }
            ending.handle?.end()
        }
    }
}
