public import Synchronization

/// The inner part of a ``Loop``. Side effects, sources and turns refer to this part and not to the loop. So the loop is
/// released with its last outside reference, and cancels this part then. This part is released when the last side
/// effect has ended.
@usableFromInline
final class LoopCore<State: Sendable, Event: Sendable>: Sendable {
    /// The task or the subscription that ends a side effect.
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
    /// The observer in a box. The reference is `nil` without an observer, and costs nothing to pass on.
    @usableFromInline
    final class Observer: Sendable {
        @usableFromInline let base: any LoopObserver<State, Event>

        @usableFromInline
        init(_ base: any LoopObserver<State, Event>) {
            self.base = base
        }
    }

    /// The executor of the loop's turns, in a box.
    @usableFromInline
    final class Executor: Sendable {
        @usableFromInline let base: any LoopExecutor
        @usableFromInline let eventsPerTurn: Int
        @usableFromInline let taskExecutor: (any TaskExecutor)?
        /// The workers of the loop; nil for an executor without workers of this library.
        @usableFromInline let pool: WorkerPool?

        @usableFromInline
        init(_ base: any LoopExecutor) {
            self.base = base
            pool = (base as? any PooledExecutor)?.pool
            eventsPerTurn = base.eventsPerTurn
            taskExecutor = base.taskExecutor
        }
    }

    /// A waiter for the end of the loop.
    @usableFromInline
    final class EndWaiter: Sendable {
        let tell: @Sendable () -> Void

        init(_ tell: @escaping @Sendable () -> Void) {
            self.tell = tell
        }
    }

    /// The executor and the observer of the loop. They are set before the start.
    @usableFromInline
    struct Surroundings: Sendable {
        /// The executor, or `nil` for the sender's thread.
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

    /// The state that the lock guards.
    @usableFromInline
    struct Guarded: Sendable {
        @usableFromInline var machine: Machine
        @usableFromInline var surroundings: Surroundings
        /// The waiters for the end. After the end there are no waiters, because each is called at once.
        @usableFromInline var waiters: [EndWaiter] = []
        @usableFromInline var hasToldEnd = false
        /// The start times of throttled effects, or `nil` before the first such effect.
        @usableFromInline var throttles: Throttles?

        @inlinable
        init(machine: Machine, surroundings: Surroundings) {
            self.machine = machine
            self.surroundings = surroundings
            self.machine.isObserved = surroundings.observer != nil
        }
    }

    @usableFromInline let guarded: Mutex<Guarded>
    /// The events from outside that arrived while the lock was held.
    ///
    /// It is open while the loop runs, if the loop has an executor other than the sender's thread and a mailbox without
    /// limits. Only such a loop is certain to accept an event. Events of side effects are not put here, because the
    /// effect may have been cancelled.
    @usableFromInline let inbox = Inbox<Event>()
    /// A Boolean value that indicates whether a running turn will look into the inbox before it ends.
    @usableFromInline let isActive = Atomic<Bool>(false)
    @usableFromInline let reduce: @Sendable (inout State, Event) -> Reduction
    /// The number of beginnings and ends of turns. It is odd during a turn.
    @usableFromInline let turns = Atomic<UInt64>(0)
    /// A function that takes the events of its argument, which is this loop. It is stored because a stored function is
    /// compiled for the types of the loop where these are known.
    @usableFromInline let turnLoop: @Sendable (any AnyObject & Sendable) -> Void
    /// The clock of the loop and its side effects.
    @usableFromInline let clock: any Clock<Duration>

    /// Creates a loop that is not yet started. Events that are sent before the start wait.
    ///
    /// - Parameters:
    ///   - initial: The first state.
    ///   - feedbacks: The feedbacks, in the order in which they see each state.
    ///   - executor: The executor of the loop's turns.
    ///   - clock: The clock of the loop and its side effects.
    ///   - mailboxLimit: The maximum number of waiting events, at least 1.
    ///   - overflow: The rule for events that find the mailbox full.
    ///   - size: The limit on the bytes of waiting events, or `nil` if bytes are not counted.
    ///   - observer: The observer of the loop, if any.
    ///   - reduce: A function that changes the state on an event, and returns the result. The loop calls it on its
    ///     turn, one event at a time. Changes of the state count only if the result is ``Reduction/handled``.
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
        // Safe: only `schedule` and `goOnLater` use the function, and they pass the loop that holds it.
        turnLoop = { unsafeDowncast($0, to: LoopCore<State, Event>.self).turn() }
    }

    /// Ends a loop whose last outside reference is gone. The loop is cancelled, and its watchers do not wait for side
    /// effects that ignore the cancellation.
    @usableFromInline
    func abandon() {
        cancel()
        for watcher in guarded.withLock({ $0.machine.takeWatchers() }) { watcher.finish() }
    }

    /// The number of beginnings and ends of turns. It is odd during a turn.
    var turnCount: UInt64 { turns.load(ordering: .relaxed) }

    /// A Boolean value that indicates whether a turn runs or has been requested.
    var isScheduled: Bool { guarded.withLock { $0.machine.isTurning } }

    // MARK: State

    /// The current state.
    @inlinable
    var state: State { guarded.withLock { $0.machine.state } }

    /// The present phase of the loop's life.
    @inlinable
    var phase: LoopPhase { guarded.withLock { $0.machine.phase } }

    /// A Boolean value that indicates whether the loop is paused.
    @usableFromInline var isPaused: Bool { guarded.withLock { $0.machine.isPaused } }

    /// The fault that cancelled the loop, or `nil`. See ``Effect/attempt(_:recover:)`` and ``Overflow/fail``.
    @usableFromInline var fault: LoopFault? { guarded.withLock { $0.machine.fault } }

    /// A snapshot of the loop at this moment.
    ///
    /// - Complexity: O(number of feedbacks), plus the time to print the state.
    @usableFromInline var snapshot: LoopSnapshot { withMailbox { $0.machine.look }.snapshot }

    /// The number of bytes of waiting events. It is 0 if the loop has no limit on bytes.
    var waitingBytes: Int { guarded.withLock { $0.machine.waitingBytes } }

    /// The counters of the loop.
    @inlinable
    var counters: LoopCounters { guarded.withLock { $0.machine.counters } }

    /// The number of remembered runs and names. It is 0 when no side effect runs and no event waits.
    @usableFromInline var remembered: Int {
        guarded.withLock { $0.machine.runs.count + $0.machine.named.count + $0.machine.forgottenNames.count }
    }

    /// Calls `body` under the lock, after all earlier events have moved from the inbox into the mailbox.
    @inlinable
    func withMailbox<Result: Sendable>(_ body: (inout Guarded) -> Result) -> Result {
        guarded.withLock { guarded in
            if inbox.hasLetters { guarded.machine.receive(inbox.takeAll()) }
            return body(&guarded)
        }
    }

    // MARK: Before the start

    /// Sets the executor of the loop's turns.
    ///
    /// - Precondition: The loop has not been started.
    @usableFromInline
    func setExecutor(_ executor: any LoopExecutor) {
        let new = Surroundings(executor: executor, observer: nil).executor
        setSurroundings("executor") { surroundings in
            let old = surroundings
            surroundings.executor = new
            return old
        }
    }

    /// Sets the executor of those of the first `count` feedbacks that have no executor of their own.
    ///
    /// - Precondition: The loop has not been started.
    func setExecutor(_ executor: any LoopExecutor, ofFirst count: Int) {
        let box = ExecutorBox(executor)
        // The closure returns the old feedbacks, so that they are not released under the lock.
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

    /// Sets the observer of the loop.
    ///
    /// - Precondition: The loop has not been started.
    @usableFromInline
    func setObserver(_ observer: (any LoopObserver<State, Event>)?) {
        let new = observer.map(Observer.init)
        setSurroundings("observer") { surroundings in
            let old = surroundings
            surroundings.observer = new
            return old
        }
    }

    /// Sets the initial state. Returns `false`, and changes nothing, if the loop has been started.
    func setInitial(_ state: State) -> Bool {
        // The closure returns the old state, so that it is not released under the lock.
        let old = guarded.withLock { guarded -> [State] in
            guard guarded.machine.phase == .notStarted else { return [] }
            defer { guarded.machine.state = state }
            return [guarded.machine.state]
        }
        return !old.isEmpty
    }

    /// Changes the surroundings of a loop that has not been started. `change` returns the old ones, so that they are
    /// not released under the lock.
    private func setSurroundings(_ what: String, _ change: (inout Surroundings) -> Surroundings) {
        let old = guarded.withLock { guarded -> Surroundings? in
            guard guarded.machine.phase == .notStarted else { return nil }
            defer { guarded.machine.isObserved = guarded.surroundings.observer != nil }
            return change(&guarded.surroundings)
        }
        precondition(old != nil, "a loop's \(what) must be set before the loop is started")
    }

    /// Adds a feedback behind the others. In a running loop, the feedback first sees the current state when all earlier
    /// events have been taken, then every later state. A loop that is stopping or has stopped ignores it.
    @inlinable
    func add(_ feedback: Feedback<State, Event>) {
        for part in feedback.parts() {
            if withMailbox({ $0.machine.add(part) }) { schedule() }
        }
    }

    // MARK: Watching

    /// Calls `see` on the loop's turn with the current state, and then with every new state before the feedbacks see
    /// it. For a loop that has not been started, the first state is the initial one. The loop calls `finish` when it
    /// has stopped.
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

    /// Returns a stream of the states from the current one on. The stream ends when the loop stops.
    ///
    /// - Parameter buffering: The buffer for a reader that is slower than the loop. The default buffer keeps every
    ///   state.
    @usableFromInline
    func states(
        buffering: AsyncStream<State>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<State> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let subscription = watch({ continuation.yield($0) }, finish: { continuation.finish() })
            continuation.onTermination = { _ in subscription.cancel() }
        }
    }
}
