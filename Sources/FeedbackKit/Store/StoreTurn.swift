public import Synchronization

/// What a store does on its loop's turn: middleware, side-effect hook and reducer as the loop's reduction, the thunk as
/// the loop's one feedback. It keeps nothing of an action that has been taken.
///
/// It is inlinable as far as a sync action goes that nobody watches, like the loop itself.
@usableFromInline
package final class StoreTurn<State: Equatable & Sendable, AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// The loop's events.
    @usableFromInline package typealias Event = StoreEvent<State, AsyncAction, SyncAction>
    /// What those who watch are shown.
    @usableFromInline package typealias Step = StoreStep<State, AsyncAction, SyncAction>
    @usableFromInline typealias Dispatching = MiddlewareDispatch<AsyncAction, SyncAction>
    @usableFromInline typealias Action = EitherAction<AsyncAction, SyncAction>
    @usableFromInline typealias Ticket = DispatchTicket<SyncAction>
    @usableFromInline typealias Part = DispatchPart<SyncAction>

    /// The parts of a store with the environment filled in.
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

    /// The way back to the loop.
    @usableFromInline
    struct Link: Sendable {
        @usableFromInline weak var loop: Loop<State, Event>?

        @inlinable
        init() {}
    }

    @usableFromInline let rules: Rules
    @usableFromInline let isPlain: Bool
    @usableFromInline let limits: StoreLimits
    /// How many watch.
    @usableFromInline let taps = Atomic<Int>(0)
    /// Whether there is a step to show.
    @usableFromInline let hasStep = Atomic<Bool>(false)
    /// Whether dispatch is locked, for those who dispatch.
    @usableFromInline let isLocked = Atomic<Bool>(false)
    /// Whether a replay is under way, as the turn sees it.
    @usableFromInline let isReplaying = Atomic<Bool>(false)
    /// How many recorded batches have been taken.
    @usableFromInline let replayedCount = Atomic<UInt64>(0)
    /// Whether the state that is being entered is where a replay begins.
    @usableFromInline let isResetting = Atomic<Bool>(false)
    @usableFromInline let nextRun = Atomic<UInt64>(1)
    @usableFromInline let step = Mutex<Step?>(nil)
    @usableFromInline let link = Mutex(Link())
    @usableFromInline let faults = Mutex<(count: UInt64, last: StoreFault?)>((0, nil))
    @usableFromInline let onFault: (@Sendable (StoreFault) -> Void)?
    /// A Boolean value that indicates whether each dispatch needs a ticket: the mailbox may drop waiting actions, or the
    /// middleware may dispatch more of them.
    @usableFromInline let needsTicket: Bool
    /// How many batches without a ticket have been announced, by who was not refused.
    @usableFromInline let announcedCount = Atomic<UInt64>(0)
    /// How many of them have been taken; only the turn counts.
    @usableFromInline let takenCount = Atomic<UInt64>(0)
    /// Who is told of the async actions that serial dispatches come to.
    @usableFromInline let noteWatchers = Mutex<[NoteWatcher<AsyncAction>]>([])
    /// How many such actions wait to be told.
    @usableFromInline let openNotes = Atomic<Int>(0)

    @inlinable
    init(rules: Rules, limits: StoreLimits, mayEvict: Bool, onFault: (@Sendable (StoreFault) -> Void)?) {
        self.rules = rules
        self.limits = limits
        needsTicket = mayEvict || rules.middleware != nil
        self.onFault = onFault
        isPlain = rules.middleware == nil && rules.sideEffect == nil
    }

    /// Tells it which loop it belongs to.
    @inlinable
    func connect(to loop: Loop<State, Event>) {
        link.withLock { $0.loop = loop }
    }

    @inlinable var loop: Loop<State, Event>? { link.withLock { $0.loop } }

    /// The faults so far, and the last one.
    var faultRecord: (count: UInt64, last: StoreFault?) { faults.withLock { $0 } }

    @usableFromInline
    func report(_ fault: StoreFault) {
        faults.withLock { $0 = ($0.count + 1, fault) }
        onFault?(fault)
    }

    /// Locks dispatch; `false`: it was locked.
    func lock() -> Bool { !isLocked.exchange(true, ordering: .sequentiallyConsistent) }

    /// Unlocks dispatch.
    func unlock() { isLocked.store(false, ordering: .releasing) }

    // MARK: Batches without a ticket

    /// Batches without a ticket are about to be sent; `false`: dispatch is locked. After this, a replay waits for them.
    @inlinable
    func announce(_ count: Int) -> Bool {
        // Who announces looks at the lock afterwards, and who locks looks at what is announced: one of them sees the
        // other.
        announcedCount.add(UInt64(count), ordering: .sequentiallyConsistent)
        guard isLocked.load(ordering: .sequentiallyConsistent) else { return true }
        retract(count)
        return false
    }

    /// Announced batches were refused.
    @inlinable
    func retract(_ count: Int) {
        announcedCount.subtract(UInt64(count), ordering: .sequentiallyConsistent)
    }

    /// At least the place in the mailbox, counted from the store's beginning, of what the caller has just sent: whoever
    /// sent before had announced it before.
    @inlinable var place: UInt64 { announcedCount.load(ordering: .sequentiallyConsistent) }

    /// The turn has taken one.
    @inlinable
    func noteTaken() {
        takenCount.store(takenCount.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    /// Whether all that were announced have been taken.
    var hasTakenAll: Bool {
        takenCount.load(ordering: .acquiring) == announcedCount.load(ordering: .sequentiallyConsistent)
    }

    /// Whether what was sent up to a place has been taken.
    @usableFromInline
    func hasTaken(upTo place: UInt64) -> Bool {
        takenCount.load(ordering: .acquiring) >= place || hasTakenAll
    }

    // MARK: Reduction

    /// Takes an event.
    @inlinable
    func reduce(_ state: inout State, _ event: Event) -> Reduction {
        if isPlain, case .action(let action) = event, taps.load(ordering: .relaxed) == 0,
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
            return isReplaying ? .stay : take([action], StoreHop(part: nil, depth: 0), &state)
        case .batch(let actions, let hop):
            defer { if hop.part == nil { noteTaken() } }
            guard !isReplaying, hop.part?.ticket.isCancelled != true else { return drop(hop.part) }
            return take(actions, hop, &state)
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

    /// A dispatch that a replay, or its own end, has overtaken.
    @inlinable
    func drop(_ part: Part?) -> Reduction {
        part?.ticket.cancel()
        part?.finish()
        return .stay
    }

    @inlinable
    func take(_ actions: [SyncAction], _ hop: StoreHop<SyncAction>, _ state: inout State) -> Reduction {
        var passed = actions
        if let middleware = rules.middleware {
            let before = state
            let dispatch = dispatching(from: hop)
            passed = actions.flatMap { middleware(before, $0, dispatch) }
        }
        guard !passed.isEmpty else {
            guard taps.load(ordering: .relaxed) > 0 else {
                hop.part?.finish()
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
        guard taps.load(ordering: .relaxed) > 0 else {
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

    /// Puts a step where those who watch find it, until the feedback takes it away again.
    @inlinable
    func show(_ step: Step) {
        guard taps.load(ordering: .relaxed) > 0 else { return }
        let old = self.step.withLock { known in
            defer { known = step }
            return known
        }
        withExtendedLifetime(old) {}
        hasStep.store(true, ordering: .relaxed)
    }

    /// What has just been taken; `nil` when a state is shown for another reason.
    @inlinable var shown: Step? { hasStep.load(ordering: .relaxed) ? step.withLock { $0 } : nil }

    // MARK: Feedback

    /// The thunk, as a feedback. The beginning of a replay cancels all that it runs.
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

    /// After the state has been published: takes the step away, ends what was taken, starts thunks.
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
        case .batch(_, let hop):
            hop.part?.finish()
            return .nothing
        case .async(let action, let part, let depth): return start(action, part, depth: depth, in: state)
        case .serial(let actions, let part): return startSerially(actions, part, in: state)
        }
    }

    /// The state as a thunk that starts now sees it.
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

    /// A name for a thunk that is about to run; `nil`: it may not.
    @inlinable
    func begin(_ ticket: Ticket) -> ThunkRun? {
        let run = ThunkRun(number: nextRun.wrappingAdd(1, ordering: .relaxed).oldValue)
        return ticket.begin(run) ? run : nil
    }

    // MARK: Dispatch

    /// A ticket for a dispatch that has thunks.
    @inlinable
    func ticket(collects: Bool) -> Ticket {
        DispatchTicket(
            collects: collects, limits: limits,
            cancelRun: { [weak self] in self?.loop?.cancelEffect(EffectID($0)) },
            deliver: { [weak self] batch, part in
                _ = self?.loop?.send(.batch(batch, StoreHop(part: part, depth: 0)))
            },
            report: { [weak self] in self?.report($0) })
    }

    /// What actions that belong to a dispatch become in the mailbox. Nothing, if they are collected, or the dispatch is
    /// over or has gone too far.
    @inlinable
    func events(for actions: Action, of ticket: Ticket, depth: Int) -> [Event] {
        switch actions {
        case .sync(let batch) where batch.isEmpty: return []
        case .sync(let batch):
            if ticket.collects {
                ticket.collect(batch)
                return []
            }
            return ticket.open(isAsync: false).map { [.batch(batch, StoreHop(part: $0, depth: depth))] } ?? []
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

    /// How the middleware dispatches, when it sees a batch that has come about so.
    @inlinable
    func dispatching(from hop: StoreHop<SyncAction>) -> Dispatching {
        let (ticket, depth) = (hop.part?.ticket, hop.depth + 1)
        return MiddlewareDispatch { [weak self] actions in
            guard let self, let loop = self.loop else { return .dropped(.stopped) }
            guard !isLocked.load(ordering: .acquiring) else { return .locked }
            // A dispatch that collects has been delivered when its batch is seen here: what is added goes by itself.
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

/// What became of several actions.
@usableFromInline
struct DispatchTally {
    /// The first refusal, if there was one.
    @usableFromInline var result = DispatchResult.accepted
    @usableFromInline var accepted = 0

    @inlinable
    init() {}

    /// Whether there was something, and nothing of it was accepted.
    @inlinable var isRefused: Bool { accepted == 0 && result != .accepted }

    @inlinable
    mutating func note(_ sent: DispatchResult) {
        if sent == .accepted { accepted += 1 } else if result == .accepted { result = sent }
    }
}
