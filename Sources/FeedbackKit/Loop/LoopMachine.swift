import DequeModule

/// What a loop knows and decides, as a plain value: it has no lock, no task, no clock, and calls nobody.
///
/// The ``Loop`` around it calls one function an event of its life, under its lock, and carries out what the function
/// returns after the lock is released.
///
///     notStarted ──start──▶ running ──beginStop──▶ stopping ──(quiet)──▶ stopped
///          │                   └──────cancel──────▶ cancelling ──(quiet)──▶ stopped
///          └──────────────beginStop or cancel─────────────────────────────▶ stopped
///
/// A loop is quiet when it is not turning, its mailbox is empty and none of its side effects runs.
/// `Handle` is whatever can end a side effect; the machine only keeps it.
package struct LoopMachine<State: Sendable, Event: Sendable, Handle: Sendable> {
    /// Which feedback emitted an event, and for which state: how the machine knows that an event is to be withdrawn.
    package struct Origin: Sendable {
        let feedback: Int
        let serial: UInt64
    }

    /// Someone who sees each state before the feedbacks do.
    package struct Watcher: Sendable {
        package let id: UInt64
        package let see: @Sendable (State) -> Void
        package let finish: @Sendable () -> Void
    }

    /// A side effect that runs.
    private struct Run {
        let feedback: Int
        let endsAtStop: Bool
        var handle: Handle?
        var isCancelled = false
    }

    /// What changes about a feedback while the loop runs.
    private struct FeedbackStatus {
        /// Events emitted for states before this one are withdrawn.
        var validFrom: UInt64 = 0
        var running: [RunID] = []
    }

    /// What waits in the mailbox.
    private enum Item {
        case begin
        case event(Event, Origin?)
        case introduce(Feedback<State, Event>)
        case watch(Watcher)
        case marker(@Sendable () -> Void)
    }

    /// The mailbox.
    private var mailbox = Deque<Item>()
    /// How many of the items are events; they alone count against the limit.
    private var waitingEvents = 0
    private var runs: [RunID: Run] = [:]
    private var statuses: [FeedbackStatus] = []
    private var nextRun: UInt64 = 1
    private var nextWatcher: UInt64 = 1
    private var isTurning = false

    /// The current state's number, from 1 for the initial one.
    private(set) var serial: UInt64 = 1
    package private(set) var phase = LoopPhase.notStarted
    package private(set) var state: State
    package private(set) var counters = LoopCounters()
    package private(set) var feedbacks: [Feedback<State, Event>] = []
    package private(set) var watchers: [Watcher] = []
    package let limit: Int
    package let overflow: Overflow

    package init(state: State, limit: Int, overflow: Overflow) {
        precondition(limit >= 1, "a mailbox needs room for at least one event, not \(limit)")
        self.state = state
        self.limit = limit
        self.overflow = overflow
    }

    // MARK: Sending

    /// What sending came to.
    package struct Sent {
        package var result: SendResult
        /// A turn must be scheduled.
        package var needsTurn = false
        /// An older event that made room.
        package var evicted: Event?
    }

    /// An event arrives, from outside (`origin` nil) or from a side effect.
    package mutating func send(_ event: Event, origin: Origin?, holdBeforeStart: Bool) -> Sent {
        switch phase {
        case .stopping, .cancelling, .stopped:
            counters.refused += 1
            return Sent(result: .dropped(.stopped))
        case .notStarted where !holdBeforeStart:
            counters.refused += 1
            return Sent(result: .dropped(.notStarted))
        case .notStarted, .running:
            var evicted: Event?
            if waitingEvents >= limit {
                counters.droppedByLimit += 1
                switch overflow {
                case .dropNewest: return Sent(result: .dropped(.mailboxFull))
                case .dropOldest: evicted = removeOldestEvent()
                }
            }
            mailbox.append(.event(event, origin))
            waitingEvents += 1
            return Sent(result: .accepted, needsTurn: wake(), evicted: evicted)
        }
    }

    /// Takes the oldest event out of the mailbox; control items before it stay.
    private mutating func removeOldestEvent() -> Event? {
        for index in mailbox.indices {
            if case .event(let event, _) = mailbox[index] {
                mailbox.remove(at: index)
                waitingEvents -= 1
                return event
            }
        }
        return nil
    }

    /// Notes that there is something to do; `true` if a turn must be scheduled for it.
    private mutating func wake() -> Bool {
        guard phase != .notStarted, !isTurning else { return false }
        isTurning = true
        return true
    }

    /// Adds a feedback: at once before the start, else behind what waits. `true` if a turn must be scheduled.
    package mutating func add(_ feedback: Feedback<State, Event>) -> Bool {
        switch phase {
        case .notStarted:
            append(feedback)
            return false
        case .running:
            mailbox.append(.introduce(feedback))
            return wake()
        case .stopping, .cancelling, .stopped:
            return false
        }
    }

    private mutating func append(_ feedback: Feedback<State, Event>) {
        feedbacks.append(feedback)
        statuses.append(FeedbackStatus())
    }

    /// Adds a watcher, who sees the state that is current when the mailbox has been read up to here, then every later
    /// one. Answers its id, and whether a turn must be scheduled; `nil` when there will be no state to see.
    package mutating func addWatcher(
        see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void
    ) -> (id: UInt64, needsTurn: Bool)? {
        let watcher = Watcher(id: nextWatcher, see: see, finish: finish)
        switch phase {
        case .notStarted:
            watchers.append(watcher)
        case .running, .stopping:
            mailbox.append(.watch(watcher))
        case .cancelling, .stopped:
            return nil
        }
        nextWatcher += 1
        return (watcher.id, wake())
    }

    /// Removes a watcher; one that still waits in the mailbox, too.
    package mutating func removeWatcher(_ id: UInt64) {
        watchers.removeAll { $0.id == id }
        mailbox.removeAll { item in
            if case .watch(let watcher) = item { watcher.id == id } else { false }
        }
    }

    /// Queues something to be called when the mailbox has been read up to here. Answers whether a turn must be
    /// scheduled; `nil` if the loop has been cancelled or has stopped.
    package mutating func addMarker(_ body: @escaping @Sendable () -> Void) -> Bool? {
        switch phase {
        case .cancelling, .stopped: return nil
        case .notStarted, .running, .stopping:
            mailbox.append(.marker(body))
            return wake()
        }
    }

    // MARK: Turning

    /// What the turn has to do next.
    package enum Step {
        /// Nothing: the turn is over. `stopped`: and with it the loop.
        case idle(stopped: Bool)
        /// Start the sources, then show the initial state.
        case begin(State, feedbacks: [Feedback<State, Event>], watchers: [Watcher])
        /// Reduce.
        case reduce(Event, State)
        /// Tell the observer that this event was withdrawn.
        case withdrawn(Event)
        /// Show the current state to a feedback that has come late.
        case introduce(Feedback<State, Event>, index: Int, State)
        /// Show the current state to a watcher that has come late.
        case watch(Watcher, State)
        /// Call it.
        case marker(@Sendable () -> Void)
    }

    /// Takes the next item.
    package mutating func next() -> Step {
        guard let item = mailbox.popFirst() else {
            isTurning = false
            return .idle(stopped: settle())
        }
        switch item {
        case .begin:
            return .begin(state, feedbacks: feedbacks, watchers: watchers)
        case .event(let event, let origin):
            waitingEvents -= 1
            if let origin, origin.serial < statuses[origin.feedback].validFrom {
                counters.withdrawn += 1
                return .withdrawn(event)
            }
            counters.events += 1
            return .reduce(event, state)
        case .introduce(let feedback):
            append(feedback)
            return .introduce(feedback, index: feedbacks.count - 1, state)
        case .watch(let watcher):
            watchers.append(watcher)
            return .watch(watcher, state)
        case .marker(let body):
            return .marker(body)
        }
    }

    /// A side effect that must be told to end.
    package struct Ending {
        package let run: RunID
        package let feedback: Int
        /// `nil`: it has not quite started, and will be told by ``attach(_:to:)``.
        package let handle: Handle?
    }

    /// What a new state brings with it.
    package struct Entered {
        package let feedbacks: [Feedback<State, Event>]
        package let watchers: [Watcher]
        package let endings: [Ending]
    }

    /// The event was handled: `new` is the state from now on, and the effects that every new state ends, end.
    package mutating func enter(_ new: State) -> Entered {
        state = new
        serial += 1
        counters.transitions += 1
        var endings: [Ending] = []
        for (index, feedback) in feedbacks.enumerated() {
            if case .reaction(.onNewState, _) = feedback.kind {
                cancelRuns(of: index, into: &endings)
            }
        }
        return Entered(feedbacks: feedbacks, watchers: watchers, endings: endings)
    }

    /// No rule handled the event.
    package mutating func noteUnhandled() {
        counters.unhandled += 1
    }

    /// A feedback's own rule says that the new state ends its side effects.
    package mutating func cancelRuns(of feedback: Int) -> [Ending] {
        var endings: [Ending] = []
        cancelRuns(of: feedback, into: &endings)
        return endings
    }

    private mutating func cancelRuns(of feedback: Int, into endings: inout [Ending]) {
        statuses[feedback].validFrom = serial
        for run in statuses[feedback].running {
            cancel(run, into: &endings)
        }
    }

    private mutating func cancel(_ run: RunID, into endings: inout [Ending]) {
        guard let known = runs[run], !known.isCancelled else { return }
        runs[run]?.isCancelled = true
        counters.effectsCancelled += 1
        endings.append(Ending(run: run, feedback: known.feedback, handle: known.handle))
    }

    // MARK: Side effects

    /// Where events of an effect of this feedback come from, started now.
    package func origin(of feedback: Int) -> Origin {
        Origin(feedback: feedback, serial: serial)
    }

    /// A side effect is about to start; `nil`: none may start any more.
    package mutating func openRun(of feedback: Int, endsAtStop: Bool) -> (run: RunID, origin: Origin)? {
        guard phase == .running else { return nil }
        let run = RunID(rawValue: nextRun)
        nextRun += 1
        runs[run] = Run(feedback: feedback, endsAtStop: endsAtStop)
        statuses[feedback].running.append(run)
        counters.effectsStarted += 1
        return (run, origin(of: feedback))
    }

    /// The handle of a side effect that has started. `true`: it was cancelled meanwhile, so end it now.
    package mutating func attach(_ handle: Handle, to run: RunID) -> Bool {
        guard let known = runs[run] else { return false }
        runs[run]?.handle = handle
        return known.isCancelled
    }

    /// A side effect has ended. Answers whether it was known, and whether the loop has stopped with it.
    package mutating func closeRun(_ run: RunID) -> (feedback: Int, stopped: Bool)? {
        guard let known = runs.removeValue(forKey: run) else { return nil }
        statuses[known.feedback].running.removeAll { $0 == run }
        return (known.feedback, settle())
    }

    /// Whether a side effect has been told to end.
    package func isCancelled(_ run: RunID) -> Bool {
        runs[run]?.isCancelled ?? true
    }

    // MARK: Life

    /// Starts. `nil`: it had been started before; else whether a turn must be scheduled.
    package mutating func start() -> Bool? {
        guard phase == .notStarted else { return nil }
        phase = .running
        mailbox.prepend(.begin)
        return wake()
    }

    /// What ending the loop asks for.
    package struct Closing {
        package var endings: [Ending] = []
        package var stopped = false
        /// Events that waited and are discarded.
        package var discarded: [Event] = []
        /// Markers that waited; they are called, since someone waits for them.
        package var markers: [@Sendable () -> Void] = []
    }

    /// Stops gently: no new events, no new side effects; what waits is taken, what runs may finish. Sources and
    /// timers end now: nothing that they could still bring would be accepted.
    package mutating func beginStop() -> Closing {
        var closing = Closing()
        switch phase {
        case .notStarted:
            discardMailbox(into: &closing)
            phase = .stopping
        case .running:
            phase = .stopping
            for (run, known) in runs where known.endsAtStop {
                cancel(run, into: &closing.endings)
            }
        case .stopping, .cancelling, .stopped:
            return closing
        }
        closing.stopped = settle()
        return closing
    }

    /// Stops hard: what waits is discarded, what runs is told to end.
    package mutating func cancel() -> Closing {
        var closing = Closing()
        guard phase != .cancelling, phase != .stopped else { return closing }
        phase = .cancelling
        discardMailbox(into: &closing)
        for run in runs.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            cancel(run, into: &closing.endings)
        }
        closing.stopped = settle()
        return closing
    }

    private mutating func discardMailbox(into closing: inout Closing) {
        for item in mailbox {
            switch item {
            case .event(let event, _):
                counters.refused += 1
                closing.discarded.append(event)
            case .marker(let body): closing.markers.append(body)
            case .watch(let watcher): watchers.append(watcher)
            case .begin, .introduce: break
            }
        }
        mailbox.removeAll()
        waitingEvents = 0
    }

    /// Notes that the loop has stopped if it has become quiet; `true` if it just did.
    private mutating func settle() -> Bool {
        guard phase == .stopping || phase == .cancelling, !isTurning, mailbox.isEmpty, runs.isEmpty else {
            return false
        }
        phase = .stopped
        return true
    }

    /// Takes the watchers out, to be told that the loop has stopped.
    package mutating func takeWatchers() -> [Watcher] {
        defer { watchers = [] }
        return watchers
    }

    /// Every handle known, for the end of an abandoned loop.
    package var handles: [Handle] { runs.values.compactMap(\.handle) }

    // MARK: Looking in

    /// A picture of it.
    package func snapshot() -> LoopSnapshot {
        LoopSnapshot(
            phase: phase,
            state: String(describing: state),
            waiting: waitingEvents,
            feedbacks: zip(feedbacks, statuses).map { .init(name: $0.name, running: $1.running.count) },
            counters: counters
        )
    }
}
