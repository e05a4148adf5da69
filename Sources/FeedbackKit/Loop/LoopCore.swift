public import Synchronization

/// What a ``Loop`` is inside. Side effects, sources and turns hold it, and not the loop, so that the loop is released when
/// nobody else holds it: then it cancels what is here, and this goes when the last side effect has ended.
@usableFromInline
final class LoopCore<State: Sendable, Event: Sendable>: Sendable {
    /// What can end a side effect.
    @usableFromInline
    enum Handle: Sendable {
        case task(Task<Void, Never>)
        case source(Subscription)

        @inlinable
        func end() {
            switch self {
            case .task(let task): task.cancel()
            case .source(let subscription): subscription.cancel()
            }
        }
    }

    @usableFromInline typealias Machine = LoopMachine<State, Event, Handle>
    /// The observer in a box: a reference that is nil when nobody observes, which costs nothing to hand on.
    @usableFromInline
    final class Observer: Sendable {
        @usableFromInline let base: any LoopObserver<State, Event>

        @usableFromInline
        init(_ base: any LoopObserver<State, Event>) {
            self.base = base
        }
    }

    /// Where the loop turns, in a box.
    @usableFromInline
    final class Executor: Sendable {
        @usableFromInline let base: any LoopExecutor
        @usableFromInline let eventsPerTurn: Int
        @usableFromInline let taskExecutor: (any TaskExecutor)?

        @usableFromInline
        init(_ base: any LoopExecutor) {
            self.base = base
            eventsPerTurn = base.eventsPerTurn
            taskExecutor = base.taskExecutor
        }
    }

    /// One who waits for the end.
    @usableFromInline
    final class EndWaiter: Sendable {
        fileprivate let tell: @Sendable () -> Void

        fileprivate init(_ tell: @escaping @Sendable () -> Void) {
            self.tell = tell
        }
    }

    /// Who turns the loop, and who watches it turn; set before the start.
    @usableFromInline
    struct Surroundings: Sendable {
        /// `nil`: the sender's thread.
        @usableFromInline var executor: Executor?
        @usableFromInline var observer: Observer?

        @usableFromInline
        init(executor: Executor?, observer: Observer?) {
            self.executor = executor
            self.observer = observer
        }

        @usableFromInline
        init(executor: any LoopExecutor, observer: (any LoopObserver<State, Event>)?) {
            self.executor = executor is SendersThread ? nil : Executor(executor)
            self.observer = observer.map(Observer.init)
        }
    }

    /// All that the lock guards.
    @usableFromInline
    struct Guarded: Sendable {
        @usableFromInline var machine: Machine
        @usableFromInline var surroundings: Surroundings
        /// Who waits for the end; nobody waits any more when everybody has been told of it.
        @usableFromInline var waiters: [EndWaiter] = []
        @usableFromInline var hasToldEnd = false
        /// When effects that are not to start too often have started; `nil`: there are none.
        @usableFromInline var throttles: Throttles?

        @inlinable
        init(machine: Machine, surroundings: Surroundings) {
            self.machine = machine
            self.surroundings = surroundings
            self.machine.isObserved = surroundings.observer != nil
        }
    }

    @usableFromInline let guarded: Mutex<Guarded>
    /// Events from outside that came while the lock was held. Open while the loop runs, turns elsewhere than on the
    /// sender's thread, and has a mailbox without a limit: only then it is known beforehand that an event will be
    /// accepted. What a side effect sends is not put here, since the effect may have been cancelled.
    @usableFromInline let inbox = Inbox<Event>()
    /// Whether a turn is under way that will look into the inbox before it ends.
    @usableFromInline let isActive = Atomic<Bool>(false)
    @usableFromInline let reduce: @Sendable (inout State, Event) -> Reduction
    /// What time it is for the loop and its side effects.
    @usableFromInline let clock: any Clock<Duration>

    /// Makes a loop that is not yet started; events sent before the start wait.
    ///
    /// - Parameters:
    ///   - initial: the first state.
    ///   - feedbacks: in the order in which they see each state.
    ///   - executor: where the loop turns.
    ///   - clock: what time it is.
    ///   - mailboxLimit: how many events may wait, at least 1.
    ///   - overflow: what happens beyond the limit.
    ///   - size: how many bytes the events may hold that wait; nil: that is not counted.
    ///   - observer: sees what happens inside.
    ///   - reduce: changes the state on an event and says whether it had a rule for it; called on the loop's turn,
    ///     one event at a time. What it does to the state counts only if it answers ``Reduction/handled``.
    @inlinable
    init(
        initial: State,
        feedbacks: [Feedback<State, Event>] = [],
        executor: any LoopExecutor = .sharedPool,
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        size: MailboxSize<Event>? = nil,
        observer: (any LoopObserver<State, Event>)? = nil,
        reduce: @escaping @Sendable (inout State, Event) -> Reduction
    ) {
        var machine = Machine(state: initial, limit: mailboxLimit, overflow: overflow, size: size)
        for feedback in feedbacks {
            for part in feedback.parts() { _ = machine.add(part) }
        }
        guarded = Mutex(
            Guarded(machine: machine, surroundings: Surroundings(executor: executor, observer: observer)))
        self.reduce = reduce
        self.clock = clock
    }

    /// Nobody holds the loop any more: it is cancelled, and who watches is not kept waiting for side effects that heed no
    /// cancellation.
    @usableFromInline
    func abandon() {
        cancel()
        for watcher in guarded.withLock({ $0.machine.takeWatchers() }) { watcher.finish() }
    }

    // MARK: State

    /// The current state.
    @inlinable
    var state: State { guarded.withLock { $0.machine.state } }

    /// Where the loop stands in its life.
    @inlinable
    var phase: LoopPhase { guarded.withLock { $0.machine.phase } }

    /// Whether it is paused.
    @usableFromInline var isPaused: Bool { guarded.withLock { $0.machine.isPaused } }

    /// Why the loop was cancelled, if it has failed: see ``Effect/attempt(_:recover:)`` and ``Overflow/fail``.
    @usableFromInline var fault: LoopFault? { guarded.withLock { $0.machine.fault } }

    /// A picture of the loop.
    ///
    /// - Complexity: O(number of feedbacks), and printing the state.
    @usableFromInline var snapshot: LoopSnapshot { withMailbox { $0.machine.look }.snapshot }

    /// How many bytes the events that wait hold; 0 if those are not bounded.
    var waitingBytes: Int { guarded.withLock { $0.machine.waitingBytes } }

    /// What the loop has counted.
    @inlinable
    var counters: LoopCounters { guarded.withLock { $0.machine.counters } }

    /// How many runs and names are remembered: none, when nothing runs and nothing waits.
    @usableFromInline var remembered: Int {
        guarded.withLock { $0.machine.runs.count + $0.machine.named.count + $0.machine.forgottenNames.count }
    }

    /// Under the lock, with everything in the mailbox that has been sent before.
    @inlinable
    func withMailbox<Result: Sendable>(_ body: (inout Guarded) -> Result) -> Result {
        guarded.withLock { guarded in
            if inbox.hasLetters { guarded.machine.receive(inbox.takeAll()) }
            return body(&guarded)
        }
    }

    // MARK: Before the start

    /// Says where the loop turns. Only before the start.
    @usableFromInline
    func setExecutor(_ executor: any LoopExecutor) {
        let new = Surroundings(executor: executor, observer: nil).executor
        setSurroundings("executor") { surroundings in
            let old = surroundings
            surroundings.executor = new
            return old
        }
    }

    /// Says where the side effects run of so many of the feedbacks, if they do not say it themselves. Only before the start.
    func setExecutor(_ executor: any LoopExecutor, ofFirst count: Int) {
        let box = ExecutorBox(executor)
        // The old feedbacks are handed out, so that nothing is released under the lock.
        let old = guarded.withLock { guarded -> [Machine.Member]? in
            guard guarded.machine.phase == .notStarted else { return nil }
            let old = guarded.machine.feedbacks
            for index in old.indices.prefix(count) where old[index].executor == nil {
                guarded.machine.feedbacks[index] = Machine.Member(old[index], on: box)
            }
            return old
        }
        precondition(old != nil, "a loop's executor must be set before the loop is started")
    }

    /// Says who sees what happens inside. Only before the start.
    @usableFromInline
    func setObserver(_ observer: (any LoopObserver<State, Event>)?) {
        let new = observer.map(Observer.init)
        setSurroundings("observer") { surroundings in
            let old = surroundings
            surroundings.observer = new
            return old
        }
    }

    /// Says in which state the loop starts. Only before the start; `false`, and nothing changes, if that has been.
    func setInitial(_ state: State) -> Bool {
        // What was there before is not released under the lock.
        let old = guarded.withLock { guarded -> [State] in
            guard guarded.machine.phase == .notStarted else { return [] }
            defer { guarded.machine.state = state }
            return [guarded.machine.state]
        }
        return !old.isEmpty
    }

    /// Answers what was there before, which is not to be released under the lock.
    private func setSurroundings(_ what: String, _ change: (inout Surroundings) -> Surroundings) {
        let old = guarded.withLock { guarded -> Surroundings? in
            guard guarded.machine.phase == .notStarted else { return nil }
            defer { guarded.machine.isObserved = guarded.surroundings.observer != nil }
            return change(&guarded.surroundings)
        }
        precondition(old != nil, "a loop's \(what) must be set before the loop is started")
    }

    /// Adds a feedback behind the others. On a loop that runs, it first sees the state that is current when all
    /// events sent before have been taken, then every later one. On a loop that has stopped it does nothing.
    @inlinable
    func add(_ feedback: Feedback<State, Event>) {
        for part in feedback.parts() {
            if withMailbox({ $0.machine.add(part) }) { schedule() }
        }
    }

    // MARK: Sending

    /// Queues an event.
    ///
    /// - Parameter holdBeforeStart: whether an event for a loop that has not started waits for the start (the
    ///   default) or is dropped. Either way the answer tells.
    /// - Parameter event: what has happened.
    @inlinable
    func send(_ event: Event, holdBeforeStart: Bool = true) -> SendResult {
        deliver(event, origin: nil, hold: holdBeforeStart)
    }

    /// Queues an event; if the mailbox is at its limit, returns only when it is known what became of the event: taken,
    /// withdrawn, dropped for a later one, or discarded with the loop. It waits whatever the overflow policy says about
    /// those who cannot.
    ///
    /// Events of those who wait keep their place: first come, first served. The mailbox then holds its limit and at most
    /// one event more for each who waits. Cancelling the calling task does not shorten the wait; on a loop that nobody
    /// starts or cancels it has no end. Do not await this on the loop's own turn.
    @usableFromInline
    func sendWhenRoom(_ event: Event) async -> SendResult {
        await withCheckedContinuation { deliver(event, origin: nil, waiting: .always, $0) }
    }

    /// Puts an event before all that waits, whatever the limit.
    @usableFromInline
    func sendFirst(_ event: Event) -> SendResult {
        let sent = withMailbox { $0.machine.sendFirst(event) }
        if sent.needsTurn { schedule() }
        if sent.result != .accepted { report(sent, of: event) }
        return sent.result
    }

    @usableFromInline
    func deliver(
        _ event: Event, origin: Machine.Origin?, waiting policy: Send<Event>.WaitPolicy,
        _ continuation: CheckedContinuation<SendResult, Never>
    ) {
        let (sent, waits) = withMailbox {
            $0.machine.sendWaiting(event, origin: origin, always: policy == .always) { result in
                continuation.resume(returning: result)
            }
        }
        if sent.needsTurn { schedule() }
        if sent.result != .accepted || !sent.evicted.isEmpty { report(sent, of: event) }
        if !waits { continuation.resume(returning: sent.result) }
    }

    /// How a side effect puts events into this loop.
    @inlinable
    func send(from origin: Machine.Origin?) -> Send<Event> {
        Send<Event>(
            clock: clock,
            body: { event in self.deliver(event, origin: origin, hold: true) },
            waiting: { event, policy in
                await withCheckedContinuation { self.deliver(event, origin: origin, waiting: policy, $0) }
            },
            refuse: { event, reason in self.refuse(event, reason) })
    }

    /// Counts and tells an event that was not even offered.
    @usableFromInline
    func refuse(_ event: Event, _ reason: DropReason) {
        let observer = guarded.withLock { guarded in
            guarded.machine.noteRefused()
            return guarded.surroundings.observer
        }
        observer?.base.loopDidDrop(event, because: reason)
    }

    /// Queues an event, and turns the loop if nobody else does.
    ///
    /// On the sender's thread the event is taken in the same critical section.
    ///
    /// - Parameter isOffer: whether an event that comes after the end counts for nothing, since it goes elsewhere.
    @inlinable
    func deliver(_ event: Event, origin: Machine.Origin?, hold: Bool, isOffer: Bool = false) -> SendResult {
        if origin == nil, !isOffer, inbox.isOpen, let result = deliverUnlocked(event) { return result }
        var sent = Machine.Sent(.accepted)
        var executor: Executor?
        var observer: Observer?
        let begun: State? = guarded.withLock { guarded in
            executor = guarded.surroundings.executor
            if executor == nil, guarded.machine.takeAtOnce(origin: origin) {
                observer = guarded.surroundings.observer
                return guarded.machine.state
            }
            if inbox.hasLetters { guarded.machine.receive(inbox.takeAll()) }
            sent = guarded.machine.send(event, origin: origin, holdBeforeStart: hold, isOffer: isOffer)
            return nil
        }
        if isOffer, sent.result == .dropped(.stopped) { return sent.result }
        if var state = consume begun {
            var following: Event?
            var other: Machine.Other?
            var step = take(event, &state, observer, mayGoOn: true, &following, &other)
            if step == .notTaken { step = guarded.withLock { $0.machine.next(&following, &other) } }
            if step != .idle { turn(taking: following, in: state, step, other, executor: nil, observer) }
            return .accepted
        }
        if sent.result != .accepted || !sent.evicted.isEmpty { report(sent, of: event) }
        if sent.needsTurn { schedule(on: executor) }
        return sent.result
    }

    /// Queues an event without waiting for the lock. `nil`: it must be waited for.
    @inlinable
    func deliverUnlocked(_ event: Event) -> SendResult? {
        // A turn that is under way is not disturbed.
        if isActive.load(ordering: .relaxed), inbox.push(event) {
            wakeIfInactive()
            return .accepted
        }
        let taken: (Machine.Sent, Executor?)? = guarded.withLockIfAvailable { guarded in
            if inbox.hasLetters { guarded.machine.receive(inbox.takeAll()) }
            return (guarded.machine.send(event, origin: nil, holdBeforeStart: true), guarded.surroundings.executor)
        }
        if let (sent, executor) = taken {
            if sent.result != .accepted || !sent.evicted.isEmpty { report(sent, of: event) }
            if sent.needsTurn { schedule(on: executor) }
            return sent.result
        }
        guard inbox.push(event) else { return nil }
        wakeIfInactive()
        return .accepted
    }

    /// Something has been put into the inbox. Either a turn sees it before it ends, or it is seen here that there is none:
    /// both look in one order.
    @inlinable
    func wakeIfInactive() {
        if isActive.load(ordering: .sequentiallyConsistent) { return }
        let (needsTurn, executor) = withMailbox { ($0.machine.wakeIfWaiting(), $0.surroundings.executor) }
        if needsTurn { schedule(on: executor) }
    }

    /// Tells the observer what was dropped, and fails where that is the policy.
    @usableFromInline
    func report(_ sent: Machine.Sent, of event: Event) {
        if let observer = guarded.withLock({ $0.surroundings.observer }) {
            if case .dropped(let reason) = sent.result { observer.base.loopDidDrop(event, because: reason) }
            for event in sent.evicted { observer.base.loopDidDrop(event, because: .mailboxFull) }
        }
        for tell in sent.told { tell(.dropped(.mailboxFull)) }
        if sent.mustFail {
            let full = guarded.withLock {
                MailboxFull(limit: $0.machine.limit, bytes: sent.isOfBytes ? $0.machine.size?.limit : nil)
            }
            fail(LoopFault(feedback: "", error: full))
        }
    }

    /// Notes why the loop has failed, and cancels it.
    @usableFromInline
    func fail(_ fault: LoopFault, of run: RunID? = nil) {
        let (isNews, observer) = guarded.withLock { guarded in
            let isNews = guarded.machine.note(fault, of: run)
            if isNews == true, guarded.surroundings.observer != nil { guarded.machine.hold() }
            return (isNews, guarded.surroundings.observer)
        }
        guard let isNews else { return }
        if isNews { observer?.base.loopDidFault(fault) }
        cancel()
        if isNews, observer != nil { release() }
    }

    /// The observer has been told what it had to be told before the end.
    @usableFromInline
    func release() {
        if guarded.withLock({ $0.machine.release() }) { didStop() }
    }

    /// Calls `body` on the loop's turn when every event sent before has been taken. A loop that has stopped or is
    /// being cancelled calls it at once, on the caller's thread.
    @usableFromInline
    func afterPending(_ body: @escaping @Sendable () -> Void) {
        guard let needsTurn = withMailbox({ $0.machine.addMarker(body) }) else { return body() }
        if needsTurn { schedule() }
    }

    /// Calls `body` on the loop's turn when every event sent before has been taken, and takes the event that it returns at
    /// once. A loop that ends before calls `ended` instead.
    @usableFromInline
    func whenDue(_ body: @escaping @Sendable () -> Event?, ended: @escaping @Sendable () -> Void) {
        guard let needsTurn = withMailbox({ $0.machine.addDue(Machine.Due(body: body, ended: ended)) }) else {
            return ended()
        }
        if needsTurn { schedule() }
    }

    /// Cancels the side effect of this name, if one runs, and withdraws what it has emitted and the loop not taken.
    @usableFromInline
    func cancelEffect(_ id: EffectID) {
        guard let run = run(named: id) else { return }
        let (endings, observer) = guarded.withLock { ($0.machine.cancelRun(run), $0.surroundings.observer) }
        end(endings, observer)
    }

    /// The latest run of a name. Names are compared outside the lock: how is the caller's code.
    @inlinable
    func run(named id: EffectID) -> RunID? {
        let candidates = guarded.withLock { $0.machine.candidates(id.hash) }
        return candidates.last { $0.id == id }?.run
    }

    // MARK: Watching

    /// Calls `see` on the loop's turn with the current state and then with every new one, before feedbacks see it.
    /// Watching a loop that is not started shows its initial state first. `finish` is called when the loop has stopped.
    @usableFromInline
    func watch(
        _ see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        guard let added = withMailbox({ $0.machine.addWatcher(see: see, finish: finish) }) else {
            finish()
            return Subscription {}
        }
        if added.needsTurn { schedule() }
        return Subscription {
            let removed = self.guarded.withLock { $0.machine.removeWatcher(added.id) }
            withExtendedLifetime(removed) {}
        }
    }

    /// The states from the current one on, ending when the loop stops.
    ///
    /// - Parameter buffering: what to keep for a reader that is slower than the loop; everything, if not said.
    @usableFromInline
    func states(
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
    @inlinable
    func start() -> Bool {
        let started: Bool? = guarded.withLock { guarded in
            let needsTurn = guarded.machine.start()
            let takesLetters =
                guarded.surroundings.executor != nil && guarded.machine.limit == .max && guarded.machine.size == nil
            if needsTurn != nil, takesLetters { inbox.open() }
            return needsTurn
        }
        guard let needsTurn = started else { return false }
        if needsTurn { schedule() }
        return true
    }

    /// Starts the loop and returns when it has stopped. Cancelling the task cancels the loop.
    @usableFromInline
    func run() async {
        _ = start()
        await withTaskCancellationHandler {
            await stopped()
        } onCancel: {
            cancel()
        }
    }

    /// Returns when the loop has stopped and nothing of it runs.
    @usableFromInline
    func stopped() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            add(EndWaiter { continuation.resume() })
        }
    }

    /// Whether the loop has stopped, and everybody has been told.
    var isOver: Bool { guarded.withLock { $0.hasToldEnd } }

    /// Calls `body` when the loop has stopped and nothing of it runs, unless the subscription has ended by then.
    func whenStopped(_ body: @escaping @Sendable () -> Void) -> Subscription {
        let waiter = EndWaiter(body)
        add(waiter)
        return Subscription { [weak self] in
            // Handed out, so that what it holds is not released under the lock.
            let left = self?.guarded.withLock { guarded in
                let index = guarded.waiters.firstIndex { $0 === waiter }
                return index.map { guarded.waiters.remove(at: $0) }
            }
            withExtendedLifetime(left) {}
        }
    }

    /// Tells one who waits for the end, when it comes.
    private func add(_ waiter: EndWaiter) {
        let isOver = guarded.withLock { guarded in
            if guarded.hasToldEnd { return true }
            guarded.waiters.append(waiter)
            return false
        }
        if isOver { waiter.tell() }
    }

    /// Stops gently: from now on no event is accepted and no side effect starts; events that wait are taken (feedbacks that
    /// only look, or answer at once, still see the states these lead to), sources and timers end, and side effects that
    /// run may finish. A loop that has not been started is over at once, and what waits is dropped and counted. Past the limit, or when the calling task is cancelled, the loop
    /// is cancelled.
    ///
    /// Do not await this from a side effect of the same loop: it would wait for its own end, which no limit brings about.
    /// There, call ``beginStop()`` or ``cancel()``.
    ///
    /// - Parameter limit: how long side effects may take, by the loop's clock.
    @usableFromInline
    func stop(within limit: Duration = .seconds(5)) async {
        beginStop()
        let (isOver, mayTakeTime) = guarded.withLock { guarded in
            (guarded.hasToldEnd, guarded.machine.openRuns > 0 || !guarded.machine.mailbox.isEmpty)
        }
        if isOver { return }
        await withTaskCancellationHandler {
            // Where only the turn that is under way is left to wait for, cancelling would make no difference.
            guard mayTakeTime else { return await stopped() }
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
    ///
    /// - Parameter takingOutcomes: whether events of side effects under way are still taken.
    /// - Returns: how many events that waited have been discarded.
    @usableFromInline @discardableResult
    func beginStop(takingOutcomes: Bool = false) -> Int {
        close { $0.beginStop(takingOutcomes: takingOutcomes) }
    }

    /// Stops hard and returns at once: events that wait are dropped and counted, side effects are cancelled.
    /// ``stopped()`` tells when they have ended.
    ///
    /// - Returns: how many events that waited have been discarded.
    @usableFromInline @discardableResult
    func cancel() -> Int {
        close { $0.cancel() }
    }

    /// Carries out what ending the loop asks for; how many events have been discarded.
    @discardableResult
    private func close(_ change: (inout Machine) -> Machine.Closing) -> Int {
        let (closing, observer) = guarded.withLock { guarded in
            // What comes from now on is refused, and not only later.
            if inbox.isOpen { guarded.machine.receive(inbox.close()) }
            return (change(&guarded.machine), guarded.surroundings.observer)
        }
        end(closing.endings, observer)
        if let observer {
            for event in closing.discarded { observer.base.loopDidDrop(event, because: .stopped) }
        }
        for marker in closing.markers { marker() }
        for tell in closing.told { tell(.dropped(.stopped)) }
        if closing.needsTurn { schedule() }
        if closing.isHeld { release() }
        if closing.stopped { didStop() }
        return closing.discarded.count
    }

    /// Tells everybody that the loop has stopped; called once.
    @usableFromInline
    func didStop() {
        let (watchers, observer, state) = guarded.withLock { guarded in
            (
                guarded.machine.takeWatchers(),
                // Who has not been told of the beginning is not told of the end.
                guarded.machine.hasBegun ? guarded.surroundings.observer : nil, guarded.machine.state
            )
        }
        observer?.base.loopDidStop(with: state)
        for watcher in watchers { watcher.finish() }
        // Last: whoever waits for the end may rely on everybody knowing of it.
        let waiters = guarded.withLock { guarded in
            defer { guarded.waiters = [] }
            guarded.hasToldEnd = true
            return guarded.waiters
        }
        for waiter in waiters { waiter.tell() }
    }

    /// Takes no event any more until it is resumed.
    @usableFromInline
    func pause() -> Bool {
        withMailbox { $0.machine.pause() }
    }

    /// Takes events again.
    @usableFromInline
    func resume() -> Bool {
        guard let needsTurn = withMailbox({ $0.machine.resume() }) else { return false }
        if needsTurn { schedule() }
        return true
    }

    // MARK: Turning

    /// Has the loop turned, now or soon.
    @inlinable
    func schedule() {
        schedule(on: guarded.withLock { $0.surroundings.executor })
    }

    @inlinable
    func schedule(on executor: Executor?) {
        guard let executor else { return turn() }
        executor.base.enqueue { self.turn() }
    }

    /// Takes what waits.
    @inlinable
    func turn() {
        var event: Event?
        var other: Machine.Other?
        let (step, state, surroundings) = guarded.withLock { guarded in
            if inbox.isOpen { isActive.store(true, ordering: .relaxed) }
            return (next(&guarded.machine, &event, &other), guarded.machine.state, guarded.surroundings)
        }
        turn(taking: event, in: state, step, other, executor: surroundings.executor, surroundings.observer)
    }

    /// Takes what waits, one thing after the other, beginning with a step that has been taken already. Only one turn is
    /// under way at a time, and only the turn changes the state: it has it at hand, and need not ask for it.
    @inlinable
    func turn(
        taking event: Event?, in state: State, _ step: Machine.Step, _ other: Machine.Other?, executor: Executor?,
        _ observer: Observer?
    ) {
        var left = executor?.eventsPerTurn ?? .max
        var (event, state, step, other) = (event, state, step, other)
        while true {
            switch step {
            case .idle: return
            case .stopped: return didStop()
            case .reduce:
                // Taken out: the next one is put there under the lock, where nothing may be released.
                guard let taken = event.take() else { return }
                step = take(taken, &state, observer, mayGoOn: left > 1, &event, &other)
                left -= 1
            case .other:
                if case .waited(let waited, isWithdrawn: false, let tell) = other {
                    other = nil
                    tell(.accepted)
                    event = waited
                    step = .reduce
                    continue
                }
                let rare = other.take()
                step = .notTaken
                left -= 1
                if case .due(let due) = rare {
                    guard let emitted = due.body() else { continue }
                    guarded.withLock { $0.machine.noteDueEvent() }
                    event = emitted
                    step = .reduce
                } else if let rare {
                    carryOut(rare, observer)
                }
            case .notTaken:
                if left <= 0, let executor { return goOnLater(executor) }
                step = guarded.withLock { next(&$0.machine, &event, &other) }
            }
        }
    }

    /// Gives the place to others before it goes on.
    @inlinable
    func goOnLater(_ executor: Executor) {
        executor.base.enqueue { self.turn() }
    }

    /// Takes the next item, from the inbox if there is no other. Under the lock.
    @inlinable
    func next(_ machine: inout Machine, _ event: inout Event?, _ other: inout Machine.Other?) -> Machine.Step {
        lookAgain(machine.next(&event, &other), &machine, &event, &other)
    }

    /// Before a turn ends, looks into the inbox: who puts something there relies on that. Under the lock.
    @inlinable
    func lookAgain(
        _ step: Machine.Step, _ machine: inout Machine, _ event: inout Event?, _ other: inout Machine.Other?
    ) -> Machine.Step {
        var step = step
        // A loop that is paused takes nothing of it, and has to look once more.
        while step == .idle, inbox.isOpen {
            isActive.store(false, ordering: .sequentiallyConsistent)
            guard inbox.hasLetters else { return step }
            machine.receive(inbox.takeAll())
            guard machine.wake() else { return step }
            isActive.store(true, ordering: .relaxed)
            step = machine.next(&event, &other)
        }
        return step
    }

    /// The steps that are not part of the everyday.
    @usableFromInline
    func carryOut(_ other: Machine.Other, _ observer: Observer?) {
        switch other {
        case .withdrawn(let event):
            observer?.base.loopDidWithdraw(event)
        case .begin(let state, let feedbacks, let watchers):
            observer?.base.loopDidStart(with: state)
            for index in feedbacks.indices { connect(feedbacks[index], index, observer) }
            for watcher in watchers where !watcher.hasLeft.load(ordering: .acquiring) { watcher.see(state) }
            for index in feedbacks.indices { show(state, nil, to: feedbacks[index], index, observer) }
        case .introduce(let feedback, let index, let state):
            connect(feedback, index, observer)
            show(state, nil, to: feedback, index, observer)
        case .watch(let watcher, let state):
            if !watcher.hasLeft.load(ordering: .acquiring) { watcher.see(state) }
        case .marker(let body):
            body()
        case .waited(let event, _, let tell):
            observer?.base.loopDidWithdraw(event)
            tell(.dropped(.cancelled))
        case .due, .release: break  // The turn itself takes what is due.
        }
    }

    /// Reduces an event. Answers the next step if it has taken that already.
    @inlinable
    func take(
        _ taken: Event, _ state: inout State, _ observer: Observer?, mayGoOn: Bool, _ event: inout Event?,
        _ other: inout Machine.Other?
    ) -> Machine.Step {
        if let observer {
            takeObserved(taken, &state, observer)
            return .notTaken
        }
        switch reduce(&state, taken) {
        case .handled: break
        case .stay:
            state = guarded.withLock { $0.machine.state }
            return .notTaken
        case .unhandled:
            state = guarded.withLock { guarded in
                guarded.machine.noteUnhandled()
                return guarded.machine.state
            }
            return .notTaken
        }
        var entered: Machine.Entered?
        // The new state going in, and then the old one, which is not to be released under the lock.
        var exchanged = state
        let step = guarded.withLock { guarded in
            let step = guarded.machine.enter(&exchanged, mayGoOn: mayGoOn, &entered, &event, &other)
            return lookAgain(step, &guarded.machine, &event, &other)
        }
        if let entered { show(state, taken, entered, nil) }
        return step
    }

    /// The same with an observer.
    @inlinable
    func takeObserved(_ event: Event, _ state: inout State, _ observer: Observer) {
        let old = state
        observer.base.loopWillReduce(event, in: old)
        switch reduce(&state, event) {
        case .handled: break
        case .stay:
            state = old
            return
        case .unhandled:
            state = old
            guarded.withLock { $0.machine.noteUnhandled() }
            return observer.base.loopDidNotHandle(event, in: old)
        }
        let entered = guarded.withLock { $0.machine.enter(state) }
        observer.base.loopDidTransition(from: old, to: state, on: event)
        show(state, event, entered, observer)
    }

    /// Ends what the new state ends, and shows it to everybody.
    @inlinable
    func show(_ state: State, _ event: Event, _ entered: Machine.Entered, _ observer: Observer?) {
        if !entered.endings.isEmpty { end(entered.endings, observer) }
        for watcher in entered.watchers where !watcher.hasLeft.load(ordering: .acquiring) { watcher.see(state) }
        let cause: Event? = event
        var index = 0
        while index < entered.feedbacks.count {
            show(state, cause, to: entered.feedbacks[index], index, observer)
            index += 1
        }
    }

    /// Starts a source.
    @usableFromInline
    func connect(_ member: Machine.Member, _ index: Int, _ observer: Observer?) {
        guard case .source(let subscribe) = member.kind,
            let opened = open(Starting(member: member, index: index, observer: observer), endsAtStop: true)
        else { return }
        let run = opened.run
        let inner = subscribe(send(from: nil))
        // Ending the source is all there is to it: once cancelled, the run is over.
        let subscription = Subscription {
            inner.cancel()
            self.finish(run)
        }
        if guarded.withLock({ $0.machine.attach(.source(subscription), to: run) }) { subscription.cancel() }
    }

    /// Shows a state to a feedback and starts what it asks for.
    @inlinable
    func show(_ state: State, _ event: Event?, to member: Machine.Member, _ index: Int, _ observer: Observer?) {
        if let condition = member.condition, event != nil, condition(state) {
            end(guarded.withLock { $0.machine.cancelRuns(of: index) }, observer)
        }
        switch member.kind {
        case .answer(let answer):
            if member.executor == nil {
                if let event = answer(state, event) { emit(event, from: index) }
            } else {
                start(.call { answer(state, event) }, Starting(member: member, index: index, observer: observer))
            }
        case .receive(let receive):
            let effect = receive(state, event)
            guard effect.box == nil else {
                return start(effect, Starting(member: member, index: index, observer: observer))
            }
            switch effect.kind {
            case .nothing: break
            case .event(let event): emit(event, from: index)
            case .call(let body) where member.executor == nil:
                if let event = body() { emit(event, from: index) }
            default: start(effect, Starting(member: member, index: index, observer: observer))
            }
        case .source: break
        }
    }

    /// Queues what a feedback emits at once, within a run or within none.
    @inlinable
    func emit(_ event: Event, from feedback: Int, within run: RunID? = nil) {
        // The serial cannot change meanwhile: only this turn changes it.
        let sent = withMailbox { $0.machine.emit(event, from: feedback, within: run) }
        if sent.result != .accepted || !sent.evicted.isEmpty { report(sent, of: event) }
    }

    /// A side effect has ended, or its own part.
    @inlinable
    func finish(_ run: RunID) {
        guard
            let (closed, observer) = withMailbox({ guarded in
                guarded.machine.closeRun(run).map { ($0, guarded.surroundings.observer) }
            })
        else { return }
        carryOut(closed, observer)
    }

    /// Tells what the end of something came to.
    @inlinable
    func carryOut(_ closed: Machine.Closed, _ observer: Observer?) {
        if !closed.endings.isEmpty { end(closed.endings, observer) }
        if closed.stopped { didStop() }
        guard let observer, let over = closed.over else { return }
        observer.base.loopDidEndEffect(over.run, of: guarded.withLock { $0.machine.feedbacks[over.feedback] }.name)
        release()
    }

    /// Tells side effects to end.
    @inlinable
    func end(_ endings: [Machine.Ending], _ observer: Observer?) {
        for ending in endings {
            if ending.mustTell, let observer { tellCancelled(ending.run, of: ending.feedback, observer) }
            ending.handle?.end()
            if ending.mustTell { carryOut(guarded.withLock { $0.machine.noteTold(ending.run) }, observer) }
        }
    }

    @usableFromInline
    func tellCancelled(_ run: RunID, of feedback: Int, _ observer: Observer) {
        observer.base.loopDidCancelEffect(run, of: guarded.withLock { $0.machine.feedbacks[feedback] }.name)
    }
}
