public import Synchronization

/// The rules of a store on its loop. The loop's reducer applies middleware, side-effect hook and reducer; the loop's
/// only feedback runs the thunk. The core keeps nothing of an action that has been taken.
///
/// Like the loop, it is inlinable along the path of a sync action that nobody watches.
@usableFromInline
package final class StoreCore<State: Equatable & Sendable, AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// The loop's events.
    @usableFromInline package typealias Event = StoreEvent<State, AsyncAction, SyncAction>
    /// The event as watchers receive it.
    @usableFromInline package typealias Step = StoreStep<State, AsyncAction, SyncAction>
    @usableFromInline typealias Dispatching = MiddlewareDispatch<AsyncAction, SyncAction>
    @usableFromInline typealias Action = EitherAction<AsyncAction, SyncAction>
    @usableFromInline typealias Ticket = DispatchTicket<SyncAction>
    @usableFromInline typealias Part = DispatchPart<SyncAction>

    /// The parts of a store with their environment bound.
    @usableFromInline
    struct Rules: Sendable {
        @usableFromInline let reducer: @Sendable (inout State, SyncAction) -> Void
        @usableFromInline let middleware: (@Sendable (State, SyncAction, Dispatching) -> [SyncAction])?
        @usableFromInline let sideEffect: (@Sendable ([SyncAction]) -> Void)?
        @usableFromInline let thunk:
            (@Sendable (ThunkState<State>, AsyncAction) -> ThunkOutput<AsyncAction, SyncAction>)?

        @inlinable
        init(
            reducer: @escaping @Sendable (inout State, SyncAction) -> Void,
            middleware: (@Sendable (State, SyncAction, Dispatching) -> [SyncAction])?,
            sideEffect: (@Sendable ([SyncAction]) -> Void)?,
            thunk: (@Sendable (ThunkState<State>, AsyncAction) -> ThunkOutput<AsyncAction, SyncAction>)?
        ) {
            self.reducer = reducer
            self.middleware = middleware
            self.sideEffect = sideEffect
            self.thunk = thunk
        }
    }

    /// A weak reference back to the loop.
    @usableFromInline
    struct Link: Sendable {
        @usableFromInline weak var loop: Loop<State, Event>?

        @inlinable
        init() {}
    }

    @usableFromInline let rules: Rules
    @usableFromInline let isPlain: Bool
    @usableFromInline let limits: StoreLimits
    /// The number of watchers.
    @usableFromInline let watcherCount = Atomic<Int>(0)
    /// A Boolean value that indicates whether there is a step for the watchers.
    @usableFromInline let hasStep = Atomic<Bool>(false)
    /// A Boolean value that indicates whether dispatch is locked, as senders see it.
    @usableFromInline let isLocked = Atomic<Bool>(false)
    /// A Boolean value that indicates whether a replay runs, as the loop sees it.
    @usableFromInline let isReplaying = Atomic<Bool>(false)
    /// The number of recorded batches that have been taken.
    @usableFromInline let replayedCount = Atomic<UInt64>(0)
    /// A Boolean value that indicates whether the state being entered is the first one of a replay.
    @usableFromInline let isResetting = Atomic<Bool>(false)
    @usableFromInline let nextRun = Atomic<UInt64>(1)
    @usableFromInline let step = Mutex<Step?>(nil)
    @usableFromInline let link = Mutex(Link())
    @usableFromInline let faults = Mutex<(count: UInt64, last: StoreFault?)>((0, nil))
    @usableFromInline let onFault: (@Sendable (StoreFault) -> Void)?
    /// A Boolean value that indicates whether each dispatch needs a ticket: the mailbox may drop waiting actions, or
    /// the middleware may dispatch more of them.
    @usableFromInline let needsTicket: Bool
    /// The number of announced batches without a ticket, except refused ones.
    @usableFromInline let announcedCount = Atomic<UInt64>(0)
    /// The number of these batches that have been taken; only the loop changes it.
    @usableFromInline let takenCount = Atomic<UInt64>(0)
    /// The watchers of the async actions of serial dispatches.
    @usableFromInline let noteWatchers = Mutex<[AsyncActionWatcher<AsyncAction>]>([])
    /// The number of such actions that wait for delivery to the watchers.
    @usableFromInline let openNotes = Atomic<Int>(0)

    @inlinable
    init(rules: Rules, limits: StoreLimits, mayEvict: Bool, onFault: (@Sendable (StoreFault) -> Void)?) {
        self.rules = rules
        self.limits = limits
        needsTicket = mayEvict || rules.middleware != nil
        self.onFault = onFault
        isPlain = rules.middleware == nil && rules.sideEffect == nil
    }

    /// Sets the loop that this core belongs to.
    @inlinable
    func connect(to loop: Loop<State, Event>) {
        link.withLock { $0.loop = loop }
    }

    @inlinable var loop: Loop<State, Event>? { link.withLock { $0.loop } }

    /// The number of faults so far, and the last one.
    var faultRecord: (count: UInt64, last: StoreFault?) { faults.withLock { $0 } }

    @usableFromInline
    func report(_ fault: StoreFault) {
        faults.withLock { $0 = ($0.count + 1, fault) }
        onFault?(fault)
    }

    /// Locks dispatch. Returns `false` if it was locked already.
    func lock() -> Bool { !isLocked.exchange(true, ordering: .sequentiallyConsistent) }

    /// Unlocks dispatch.
    func unlock() { isLocked.store(false, ordering: .releasing) }

    // MARK: Batches without a ticket

    /// Announces batches without a ticket before they are sent, so that a replay waits for them. Returns `false` if
    /// dispatch is locked.
    @inlinable
    func announce(_ count: Int) -> Bool {
        // The announcing thread counts first and then reads the lock; the locking thread locks first and then reads the
        // count. So at least one of them sees the other.
        announcedCount.add(UInt64(count), ordering: .sequentiallyConsistent)
        guard isLocked.load(ordering: .sequentiallyConsistent) else { return true }
        retract(count)
        return false
    }

    /// Subtracts announced batches that were refused.
    @inlinable
    func retract(_ count: Int) {
        announcedCount.subtract(UInt64(count), ordering: .sequentiallyConsistent)
    }

    /// An upper bound of the mailbox position of the batch that the caller has just sent, counted from the store's
    /// start. Every earlier sender announced its batch before it sent it.
    @inlinable var place: UInt64 { announcedCount.load(ordering: .sequentiallyConsistent) }

    /// Counts a batch that the loop has taken.
    @inlinable
    func noteTaken() {
        takenCount.store(takenCount.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    /// A Boolean value that indicates whether all announced batches have been taken.
    var hasTakenAll: Bool {
        takenCount.load(ordering: .acquiring) == announcedCount.load(ordering: .sequentiallyConsistent)
    }

    /// Returns whether the loop has taken everything up to a position.
    @usableFromInline
    func hasTaken(upTo place: UInt64) -> Bool {
        takenCount.load(ordering: .acquiring) >= place || hasTakenAll
    }

    // MARK: Reduction

    /// Reduces an event.
    @inlinable
    func reduce(_ state: inout State, _ event: Event) -> Reduction {
        if isPlain, case .action(let action) = event, watcherCount.load(ordering: .relaxed) == 0,
            !isReplaying.load(ordering: .relaxed)
        {
            rules.reducer(&state, action)
            noteTaken()
            return .handled
        }
        return reduceInFull(&state, event)
    }

    @inlinable
    func reduceInFull(_ state: inout State, _ event: Event) -> Reduction {
        let isReplaying = isReplaying.load(ordering: .relaxed)
        switch event {
        case .action(let action):
            defer { noteTaken() }
            return isReplaying ? .stay : take([action], BatchOrigin(part: nil, depth: 0), &state)
        case .batch(let actions, let origin):
            defer { if origin.part == nil { noteTaken() } }
            guard !isReplaying, origin.part?.ticket.isCancelled != true else { return drop(origin.part) }
            return take(actions, origin, &state)
        case .async(let action, let part, _):
            guard !isReplaying, !part.ticket.isCancelled else { return drop(part) }
            var step = Step(previous: state)
            step.async = action
            show(step)
            return .handled
        case .serial(_, let part):
            guard !isReplaying, !part.ticket.isCancelled else { return drop(part) }
            show(Step(previous: state))
            return .handled
        case .reset(let initial):
            self.isReplaying.store(true, ordering: .relaxed)
            isResetting.store(true, ordering: .relaxed)
            var step = Step(previous: state)
            step.isReset = true
            step.isChange = state != initial
            state = initial
            show(step)
            return .handled
        case .replayed(let actions):
            guard isReplaying else { return .stay }
            replayedCount.add(1, ordering: .releasing)
            apply(actions, before: nil, &state)
            return .handled
        case .unlock:
            self.isReplaying.store(false, ordering: .releasing)
            return .stay
        }
    }

    /// Drops an event of a dispatch that has ended, or that a replay displaced.
    @inlinable
    func drop(_ part: Part?) -> Reduction {
        part?.ticket.cancel()
        part?.finish()
        return .stay
    }

    @inlinable
    func take(_ actions: [SyncAction], _ origin: BatchOrigin<SyncAction>, _ state: inout State) -> Reduction {
        var passed = actions
        if let middleware = rules.middleware {
            let before = state
            let dispatch = dispatching(from: origin)
            passed = actions.flatMap { middleware(before, $0, dispatch) }
        }
        guard !passed.isEmpty else {
            guard watcherCount.load(ordering: .relaxed) > 0 else {
                origin.part?.finish()
                return .stay
            }
            var step = Step(previous: state)
            step.before = actions
            show(step)
            return .handled
        }
        rules.sideEffect?(passed)
        apply(passed, before: actions, &state)
        return .handled
    }

    @inlinable
    func apply(_ actions: [SyncAction], before: [SyncAction]?, _ state: inout State) {
        guard watcherCount.load(ordering: .relaxed) > 0 else {
            for action in actions { rules.reducer(&state, action) }
            return
        }
        var step = Step(previous: state)
        for action in actions { rules.reducer(&state, action) }
        step.before = before
        step.after = actions
        step.isChange = state != step.previous
        show(step)
    }

    /// Stores a step for the watchers until the feedback removes it.
    @inlinable
    func show(_ step: Step) {
        guard watcherCount.load(ordering: .relaxed) > 0 else { return }
        let old = self.step.withLock { known in
            defer { known = step }
            return known
        }
        withExtendedLifetime(old) {}
        hasStep.store(true, ordering: .relaxed)
    }

    /// The event that has just been taken; `nil` if a state is published for another reason.
    @inlinable var shown: Step? { hasStep.load(ordering: .relaxed) ? step.withLock { $0 } : nil }

    // MARK: Feedback

    /// The feedback that runs the thunk. The beginning of a replay cancels all its effects.
    @inlinable
    package var feedback: Feedback<State, Event> {
        Feedback(
            name: "thunk",
            cancellation: .when { [self] _ in isResetting.load(ordering: .relaxed) },
            effect: { [self] state, event in
                guard let event else { return .nothing }
                if case .action = event, !hasStep.load(ordering: .relaxed) { return .nothing }
                return answer(event, in: state)
            })
    }

    /// Runs after the state has been published: removes the step, ends the taken part, starts thunks.
    @inlinable
    func answer(_ event: Event, in state: State) -> Effect<Event> {
        if hasStep.exchange(false, ordering: .relaxed) {
            let old = step.withLock { known in
                defer { known = nil }
                return known
            }
            withExtendedLifetime(old) {}
        }
        switch event {
        case .action, .replayed, .unlock: return .nothing
        case .reset:
            isResetting.store(false, ordering: .relaxed)
            return .nothing
        case .batch(_, let origin):
            origin.part?.finish()
            return .nothing
        case .async(let action, let part, let depth): return start(action, part, depth: depth, in: state)
        case .serial(let actions, let part): return startSerially(actions, part, in: state)
        }
    }

    /// Returns the state for a thunk that starts now.
    @inlinable
    func thunkState(_ state: State) -> ThunkState<State> {
        ThunkState(
            first: state,
            source: { [weak self] in self?.loop?.state },
            settle: { [weak self] body in
                guard let loop = self?.loop else { return body() }
                loop.afterPending(body)
            })
    }

    /// Returns an identity for a thunk that is about to run, or `nil` if it must not run.
    @inlinable
    func begin(_ ticket: Ticket) -> ThunkRun? {
        let run = ThunkRun(number: nextRun.wrappingAdd(1, ordering: .relaxed).oldValue)
        return ticket.begin(run) ? run : nil
    }

    // MARK: Dispatch

    /// Returns a ticket for a dispatch that has thunks.
    @inlinable
    func ticket(collects: Bool) -> Ticket {
        // A collecting dispatch ends where its last part ends, but belongs to its caller.
        let baggage = collects ? Baggage.present : nil
        return DispatchTicket(
            collects: collects, limits: limits,
            cancelRun: { [weak self] in self?.loop?.cancelEffect(EffectID($0)) },
            deliver: { [weak self] batch, part in
                Baggage.bind(baggage) {
                    _ = self?.loop?.send(.batch(batch, BatchOrigin(part: part, depth: 0)))
                }
            },
            report: { [weak self] in self?.report($0) })
    }

    /// Returns the mailbox events for actions of a dispatch. The result is empty if the actions are collected, or if
    /// the dispatch is over or has exceeded a limit.
    @inlinable
    func events(for actions: Action, of ticket: Ticket, depth: Int) -> [Event] {
        switch actions {
        case .sync(let batch) where batch.isEmpty: return []
        case .sync(let batch):
            if ticket.collects {
                ticket.collect(batch)
                return []
            }
            return ticket.open(isAsync: false).map { [.batch(batch, BatchOrigin(part: $0, depth: depth))] } ?? []
        case .async(let list):
            return list.compactMap { action in
                guard depth <= limits.depth else {
                    ticket.fail(.depthExceeded(action, limit: limits.depth))
                    return nil
                }
                return ticket.open(isAsync: true).map { .async(action, $0, depth: depth) }
            }
        }
    }

    /// Returns the dispatch function for a middleware that receives a batch of this origin.
    @inlinable
    func dispatching(from origin: BatchOrigin<SyncAction>) -> Dispatching {
        let (ticket, depth) = (origin.part?.ticket, origin.depth + 1)
        return MiddlewareDispatch { [weak self] actions in
            guard let self, let loop = self.loop else { return .dropped(.stopped) }
            guard !isLocked.load(ordering: .acquiring) else { return .locked }
            // A dispatch that collects has delivered its batch by now, so added actions get a ticket of their own.
            let ticket = ticket.flatMap { $0.collects ? nil : $0 } ?? self.ticket(collects: false)
            guard let guardPart = ticket.open(isAsync: false) else { return .dropped(.cancelled) }
            defer { guardPart.finish() }
            return send(actions, to: loop, of: ticket, depth: depth).result
        }
    }

    /// Puts actions into the mailbox.
    @inlinable
    func send(_ actions: [Action], to loop: Loop<State, Event>, of ticket: Ticket, depth: Int) -> DispatchTally {
        var tally = DispatchTally()
        for item in actions {
            if depth > limits.depth, case .sync(let batch) = item, let action = batch.first {
                ticket.fail(.depthExceeded(action, limit: limits.depth))
                tally.note(.dropped(.cancelled))
                break
            }
            for event in events(for: item, of: ticket, depth: depth) { tally.note(DispatchResult(loop.send(event))) }
        }
        return tally
    }
}
