public import DequeModule
public import Synchronization

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
///
/// It is inlinable throughout: a loop over the caller's own types must be compiled for these types, or each event
/// would cost twenty times as much.
@usableFromInline
package struct LoopMachine<State: Sendable, Event: Sendable, Handle: Sendable>: Sendable {
    /// The source of an event: the feedback, the state, and the run (0: none). It decides whether the machine withdraws the
    /// event.
    @usableFromInline
    package struct Origin: Sendable {
        @usableFromInline let feedback: Int
        @usableFromInline let serial: UInt64
        @usableFromInline let run: UInt64
        /// Whether the run can be cancelled by itself, so that nothing is accepted from it once it is forgotten.
        @usableFromInline let isApart: Bool

        @inlinable
        init(feedback: Int, serial: UInt64, run: UInt64, isApart: Bool) {
            self.feedback = feedback
            self.serial = serial
            self.run = run
            self.isApart = isApart
        }
    }

    /// Someone who sees each state before the feedbacks do.
    @usableFromInline
    package final class Watcher: Sendable {
        @usableFromInline package let id: UInt64
        @usableFromInline package let see: @Sendable (State) -> Void
        @usableFromInline package let finish: @Sendable () -> Void
        /// Set when it leaves, so that a turn which is under way passes it over.
        @usableFromInline package let hasLeft = Atomic<Bool>(false)

        @inlinable
        init(id: UInt64, see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void) {
            self.id = id
            self.see = see
            self.finish = finish
        }
    }

    /// A side effect that runs, or one of which events still wait that may have to be withdrawn.
    ///
    /// An effect made of others is a run with runs *within* it, and over when they all are. Only the outermost is an
    /// effect for observers, counters and snapshots.
    @usableFromInline
    struct Run: Sendable {
        @usableFromInline let feedback: Int
        @usableFromInline let endsAtStop: Bool
        @usableFromInline let id: EffectID?
        /// The run it is within.
        @usableFromInline let outer: RunID?
        /// Whether it only watches over the run that it is within, and ends when the rest of that has ended.
        @usableFromInline let isGuard: Bool
        @usableFromInline var handle: Handle?
        @usableFromInline var isCancelled = false
        /// A Boolean value that indicates whether its events that wait are withdrawn.
        @usableFromInline var isWithdrawn = false
        /// Whether its own part has ended; runs within it may go on.
        @usableFromInline var hasEnded = false
        @usableFromInline var isOver = false
        /// What keeps it from being over: its own part, the runs within it, and that its cancellation is still to be
        /// told to the observer.
        @usableFromInline var pieces = 1
        /// How many of the pieces are guards.
        @usableFromInline var guards = 0
        /// Whether its feedback has it among those that run.
        @usableFromInline var isListed = true
        /// Whether the observer has been told that it has started.
        @usableFromInline var isAnnounced = true
        /// The number of its events that wait.
        @usableFromInline var waiting = 0
        /// Those within it that are not forgotten.
        @usableFromInline var inner: [RunID] = []

        @inlinable
        init(feedback: Int, endsAtStop: Bool, id: EffectID?, outer: RunID?, isGuard: Bool) {
            self.feedback = feedback
            self.endsAtStop = endsAtStop
            self.id = id
            self.outer = outer
            self.isGuard = isGuard
        }
    }

    /// A feedback of the loop, laid out for showing it a state: one reference to keep, nothing to copy.
    @usableFromInline
    package final class Member: Sendable {
        @usableFromInline let label: FeedbackLabel
        @usableFromInline let kind: Kind
        @usableFromInline let condition: (@Sendable (State) -> Bool)?
        @usableFromInline let executor: ExecutorBox?

        /// What it does with a state.
        @usableFromInline
        enum Kind: Sendable {
            case receive(Feedback<State, Event>.Receive)
            case answer(@Sendable (State, Event?) -> Event?)
            case source(@Sendable (Send<Event>) -> Subscription)
        }

        @usableFromInline
        init?(_ feedback: Feedback<State, Event>) {
            label = feedback.label
            executor = feedback.executor
            let rule: CancellationRule<State>?
            switch feedback.kind {
            case .reaction(let cancellation, let receive): (rule, kind) = (cancellation, .receive(receive))
            case .answer(let cancellation, let answer): (rule, kind) = (cancellation, .answer(answer))
            case .source(let subscribe): (rule, kind) = (nil, .source(subscribe))
            case .memory, .group: return nil  // A loop takes these apart before it adds them.
            }
            if case .when(let condition) = rule { self.condition = condition } else { condition = nil }
        }

        /// The same with an executor.
        init(_ other: Member, on executor: ExecutorBox) {
            label = other.label
            kind = other.kind
            condition = other.condition
            self.executor = executor
        }

        /// Its name, for observers and snapshots.
        @usableFromInline var name: String { label.text }
    }

    /// What changes about a feedback while the loop runs.
    @usableFromInline
    struct FeedbackStatus: Sendable {
        /// The first state whose effects may still send events; those of earlier states have been cancelled.
        @usableFromInline var validFrom: UInt64 = 0
        /// Those that run and have not been cancelled by ``cancelRuns(of:)``.
        @usableFromInline var running: [RunID] = []
        /// How many have been cancelled by it and have not ended yet: no later state need look at them.
        @usableFromInline var ending: Int32 = 0
        /// Whether every new state ends what it runs.
        @usableFromInline let endsOnNewState: Bool
        /// A Boolean value that indicates whether a new state also withdraws the events of effects that have ended.
        @usableFromInline let isBoundToState: Bool

        @inlinable
        init(endsOnNewState: Bool, isBoundToState: Bool) {
            self.endsOnNewState = endsOnNewState
            self.isBoundToState = isBoundToState
        }
    }

    /// What waits in the mailbox.
    @usableFromInline
    enum Item: Sendable {
        case event(Event, Origin?)
        case control(Control)
    }

    /// What waits in the mailbox and is no event. Boxed, so that an item is not larger than an event.
    @usableFromInline
    indirect enum Control: Sendable {
        case introduce(Feedback<State, Event>)
        case watch(Watcher)
        case marker(@Sendable () -> Void)
        /// An event beyond the limit, and what to tell its sender, who waits.
        case waiting(Event, Origin?, @Sendable (SendResult) -> Void)
        /// An event that goes before the others, and does not count against the limit.
        case first(Event)
        /// Something that may be due. It keeps its place among the events, and does not count against the limit.
        case due(Due)
    }

    /// Something that the turn decides on when every event sent before has been taken.
    @usableFromInline
    package struct Due: Sendable {
        /// Returns the event to take at once, if there is one.
        @usableFromInline let body: @Sendable () -> Event?
        /// Called in its stead if the loop ends before.
        @usableFromInline let ended: @Sendable () -> Void

        @usableFromInline
        init(body: @escaping @Sendable () -> Event?, ended: @escaping @Sendable () -> Void) {
            self.body = body
            self.ended = ended
        }
    }

    /// The mailbox.
    @usableFromInline var mailbox = Deque<Item>()
    /// What was taken out of the mailbox while the loop is paused, in its order, to be put back; nil: it is not paused.
    /// Events in here count as waiting.
    @usableFromInline var held: Deque<Item>?
    /// How many of the items are events; they alone count against the limit.
    @usableFromInline var waitingEvents = 0
    /// How many of these have a place beyond the limit, because their senders wait.
    @usableFromInline var waitingSenders = 0
    @usableFromInline var runs: [RunID: Run] = [:]
    /// How many effects are not over, and how many things are still to be told to the observer before the end.
    @usableFromInline var openRuns = 0
    /// The latest run of each name, by the name's hash value: the machine compares no names, for that is the caller's
    /// code.
    @usableFromInline var named: [Int: [RunID]] = [:]
    /// Names of forgotten runs, to be released when the lock is.
    @usableFromInline var forgottenNames: [EffectID] = []
    /// Whether somebody is told what happens, in order.
    @usableFromInline package var isObserved = false
    /// Whether the initial state has been handed out.
    @usableFromInline package internal(set) var hasBegun = false
    @usableFromInline var statuses: [FeedbackStatus] = []
    /// The next step is to begin.
    @usableFromInline var mustBegin = false
    /// Whether events of side effects under way are taken while the loop stops.
    @usableFromInline var takesOutcomes = false
    @usableFromInline var nextRun: UInt64 = 1
    @usableFromInline var nextWatcher: UInt64 = 1
    @usableFromInline var isTurning = false

    /// Counts the states, from 1 for the initial one, and the times that a feedback replaced what it ran.
    @usableFromInline var serial: UInt64 = 1
    @usableFromInline package internal(set) var phase = LoopPhase.notStarted
    @usableFromInline package internal(set) var state: State
    @usableFromInline package internal(set) var counters = LoopCounters()
    /// Why the loop was cancelled, if it has failed.
    @usableFromInline package var fault: LoopFault? { failure?.fault }
    /// In a box, since most loops never fail.
    @usableFromInline var failure: Failure?

    /// Holds a fault.
    @usableFromInline
    final class Failure: Sendable {
        let fault: LoopFault
        init(_ fault: LoopFault) { self.fault = fault }
    }

    @usableFromInline package internal(set) var feedbacks: [Member] = []
    @usableFromInline package internal(set) var watchers: [Watcher] = []
    @usableFromInline let limit: Int
    @usableFromInline let overflow: Overflow
    /// How many bytes the events may hold that wait; nil: that is not counted.
    @usableFromInline let size: MailboxSize<Event>?
    /// How many bytes those hold that wait.
    @usableFromInline var waitingBytes = 0

    @inlinable
    package init(state: State, limit: Int, overflow: Overflow, size: MailboxSize<Event>? = nil) {
        precondition(limit >= 1, "a mailbox needs room for at least one event, not \(limit)")
        self.state = state
        self.limit = limit
        self.overflow = overflow
        self.size = size
    }

    // MARK: Sending

    /// What sending came to.
    @usableFromInline
    package struct Sent: Sendable {
        @usableFromInline package var result: SendResult
        /// A turn must be scheduled.
        @usableFromInline package var needsTurn = false
        /// Older events that made room.
        @usableFromInline package var evicted: [Event] = []
        /// Who waited for those of them that were sent by somebody who waits.
        @usableFromInline package var told: [@Sendable (SendResult) -> Void] = []
        /// The loop must be cancelled: its mailbox has overflowed, and that is a failure.
        @usableFromInline package var mustFail = false
        /// What it had no room for were bytes.
        @usableFromInline package var isOfBytes = false

        @inlinable
        init(_ result: SendResult) {
            self.result = result
        }
    }

    /// An event arrives, from outside (`origin` nil) or from a side effect.
    ///
    /// - Parameter isOffer: whether an event that comes after the end counts for nothing, since it goes elsewhere.
    @inlinable
    package mutating func send(
        _ event: Event, origin: Origin?, holdBeforeStart: Bool, isOffer: Bool = false
    ) -> Sent {
        switch phase {
        case .stopping where origin == nil || !takesOutcomes, .cancelling, .stopped:
            if !isOffer { counters.refused += 1 }
            return Sent(.dropped(.stopped))
        case .notStarted where !holdBeforeStart:
            counters.refused += 1
            return Sent(.dropped(.notStarted))
        case .notStarted, .running, .stopping:
            if let origin, isRefused(origin) {
                counters.withdrawn += 1
                return Sent(.dropped(.cancelled))
            }
            var sent = Sent(.accepted)
            if isFull(for: event) {
                makeRoom(for: event, &sent)
                if sent.result != .accepted { return sent }
            }
            append(event, origin)
            sent.needsTurn = wake()
            return sent
        }
    }

    /// A feedback emits an event at once. What a state asks for that is entered while the loop stops does not begin.
    @inlinable
    package mutating func emit(_ event: Event, from feedback: Int, within run: RunID?) -> Sent {
        let mayBegin = phase == .running
        return send(event, origin: mayBegin ? origin(of: feedback, within: run) : nil, holdBeforeStart: true)
    }

    @inlinable
    mutating func append(_ event: Event, _ origin: Origin?) {
        if let origin, origin.run != 0 { runs[RunID(rawValue: origin.run)]?.waiting += 1 }
        mailbox.append(.event(event, origin))
        noteWaiting(event)
    }

    /// Counts an event that waits.
    @inlinable
    mutating func noteWaiting(_ event: Event) {
        waitingEvents += 1
        if let size { waitingBytes += size.enter(event) }
    }

    /// Counts an event that no longer waits.
    @inlinable
    mutating func noteLeft(_ event: Event) {
        waitingEvents -= 1
        if let size { waitingBytes -= size.leave(event) }
    }

    /// Whether there is no room for an event.
    @inlinable
    func isFull(for event: Event) -> Bool {
        // Where no bytes wait, anything has room.
        waitingEvents >= limit || ((waitingBytes > 0 || size?.isInUse == true) && isTooLarge(event))
    }

    /// Whether an event would hold more bytes than there is room for beside those that wait, here and in mailboxes that share a
    /// bound. One that holds none has room, and so has any where none waits.
    @usableFromInline
    func isTooLarge(_ event: Event) -> Bool {
        guard let size else { return false }
        let more = size.of(event)
        return more > 0 && !size.hasRoom(for: more, beside: waitingBytes)
    }

    /// An event arrives that goes before all that waits, and has a place beyond the limit.
    @usableFromInline
    package mutating func sendFirst(_ event: Event) -> Sent {
        guard phase == .notStarted || phase == .running else { return send(event, origin: nil, holdBeforeStart: true) }
        mailbox.prepend(.control(.first(event)))
        var sent = Sent(.accepted)
        sent.needsTurn = wake()
        return sent
    }

    /// An event arrives from someone who can wait. If there is no room for it, it is queued all the same, and `tell` is
    /// called with what has become of it: the mailbox holds at most one event more for each who waits.
    ///
    /// - Parameter always: wait whatever the policy for those who cannot.
    /// - Returns: what sending came to, and whether `tell` will be called.
    @usableFromInline
    package mutating func sendWaiting(
        _ event: Event, origin: Origin?, always: Bool, tell: @escaping @Sendable (SendResult) -> Void
    ) -> (sent: Sent, waits: Bool) {
        let mayWait = always || overflow == .block
        let isTaken =
            phase == .notStarted || phase == .running || (phase == .stopping && origin != nil && takesOutcomes)
        guard mayWait, isTaken, isFull(for: event) else {
            return (send(event, origin: origin, holdBeforeStart: true), false)
        }
        if let origin, isRefused(origin) { return (send(event, origin: origin, holdBeforeStart: true), false) }
        if let origin, origin.run != 0 { runs[RunID(rawValue: origin.run)]?.waiting += 1 }
        mailbox.append(.control(.waiting(event, origin, tell)))
        noteWaiting(event)
        waitingSenders += 1
        var sent = Sent(.accepted)
        sent.needsTurn = wake()
        return (sent, true)
    }

    /// Events arrive that nobody was told about yet. They count for nothing until the loop is woken.
    @inlinable
    mutating func receive(_ letters: [Event]) {
        for event in letters { append(event, nil) }
    }

    /// Notes that there is something to do, if there is; `true` if a turn must be scheduled for it.
    @inlinable
    mutating func wakeIfWaiting() -> Bool {
        !mailbox.isEmpty && wake()
    }

    /// The mailbox is full: what becomes of the new event, and of those that wait.
    @usableFromInline
    mutating func makeRoom(for event: Event, _ sent: inout Sent) {
        switch overflow {
        case .dropNewest, .block:
            counters.droppedByLimit += 1
            sent.result = .dropped(.mailboxFull)
        case .dropOldest where size?.mayFit(event, inPlaceOf: waitingBytes) == false,
            .keepLatest where size?.mayFit(event, inPlaceOf: waitingBytes) == false:
            // Other mailboxes hold the shared room: dropping events of this one would not make enough.
            refuse(&sent)
        case .dropOldest:
            // Those who wait have places beyond the limit, and keep them.
            if waitingEvents - waitingSenders >= limit { removeOldestEvent(sparingSenders: true, into: &sent) }
            // Those that hold nothing make no room for bytes.
            while isTooLarge(event), removeOldestEvent(sparingSenders: true, ofSize: true, into: &sent) {}
            refuseIfTooLarge(event, &sent)
        case .keepLatest:
            while waitingEvents > 0 { removeOldestEvent(sparingSenders: false, into: &sent) }
            refuseIfTooLarge(event, &sent)
        case .fail:
            counters.droppedByLimit += 1
            sent.result = .dropped(.mailboxFull)
            sent.isOfBytes = waitingEvents < limit
            // Where others hold the shared room, this mailbox has not overflowed: the event is dropped like elsewhere.
            sent.mustFail = !sent.isOfBytes || size?.isFull(for: size?.of(event) ?? 0, beside: waitingBytes) ?? false
        }
    }

    /// Drops an event that still has no room: another mailbox has taken it, or senders who wait hold it.
    private mutating func refuseIfTooLarge(_ event: Event, _ sent: inout Sent) {
        if isTooLarge(event) { refuse(&sent) }
    }

    /// Drops an event that has too many bytes.
    private mutating func refuse(_ sent: inout Sent) {
        counters.droppedByLimit += 1
        sent.result = .dropped(.mailboxFull)
        sent.isOfBytes = true
    }

    /// Takes the oldest event out of the mailbox; control items before it stay. `false`: there is none.
    ///
    /// - Parameter ofSize: whether only one that holds bytes will do.
    /// - Complexity: O(number of items before it).
    @usableFromInline @discardableResult
    mutating func removeOldestEvent(sparingSenders: Bool, ofSize: Bool = false, into sent: inout Sent) -> Bool {
        func isOldest(_ item: Item) -> Bool {
            switch item {
            case .event(let event, _): !ofSize || (size?.of(event) ?? 0) > 0
            case .control(.waiting): !sparingSenders
            case .control: false
            }
        }
        let item: Item
        if let index = held?.firstIndex(where: isOldest), let known = held?.remove(at: index) {
            item = known
        } else if let index = mailbox.firstIndex(where: isOldest) {
            item = mailbox.remove(at: index)
        } else {
            return false
        }
        switch item {
        case .event(let event, let origin):
            sent.evicted.append(event)
            noteLeft(event)
            noteTaken(origin)
        case .control(.waiting(let event, let origin, let tell)):
            sent.evicted.append(event)
            sent.told.append(tell)
            waitingSenders -= 1
            noteLeft(event)
            noteTaken(origin)
        case .control: return false
        }
        counters.droppedByLimit += 1
        return true
    }

    /// Notes that there is something to do; `true` if a turn must be scheduled for it.
    @inlinable
    mutating func wake() -> Bool {
        guard phase != .notStarted, !isTurning else { return false }
        isTurning = true
        return true
    }

    /// Adds a feedback: at once before the start, else behind what waits. `true` if a turn must be scheduled.
    @inlinable
    package mutating func add(_ feedback: Feedback<State, Event>) -> Bool {
        switch phase {
        case .notStarted:
            append(feedback)
            return false
        case .running:
            mailbox.append(.control(.introduce(feedback)))
            return wake()
        case .stopping, .cancelling, .stopped:
            return false
        }
    }

    @inlinable
    mutating func append(_ feedback: Feedback<State, Event>) {
        guard let member = Member(feedback) else { return }
        feedbacks.append(member)
        statuses.append(
            FeedbackStatus(endsOnNewState: feedback.endsOnNewState, isBoundToState: feedback.isBoundToState))
    }

    /// Adds a watcher, who sees the state that is current when the mailbox has been read up to here, then every later
    /// one. Answers its id, and whether a turn must be scheduled; `nil` when there will be no state to see.
    @inlinable
    package mutating func addWatcher(
        see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void
    ) -> (id: UInt64, needsTurn: Bool)? {
        let watcher = Watcher(id: nextWatcher, see: see, finish: finish)
        switch phase {
        case .notStarted:
            watchers.append(watcher)
        case .running, .stopping:
            mailbox.append(.control(.watch(watcher)))
        case .cancelling, .stopped:
            return nil
        }
        nextWatcher += 1
        return (watcher.id, wake())
    }

    /// The names that nobody needs any more.
    @inlinable
    mutating func takeForgottenNames() -> [EffectID] {
        guard !forgottenNames.isEmpty else { return [] }
        defer { forgottenNames = [] }
        return forgottenNames
    }

    /// Removes a watcher; one that still waits in the mailbox, too.
    @inlinable
    package mutating func removeWatcher(_ id: UInt64) -> [Watcher] {
        // The watchers are handed out, so that what their closures hold is not released under the lock.
        var removed = watchers.filter { $0.id == id }
        watchers.removeAll { $0.id == id }
        mailbox.removeAll { item in
            guard case .control(.watch(let watcher)) = item, watcher.id == id else { return false }
            removed.append(watcher)
            return true
        }
        for watcher in removed { watcher.hasLeft.store(true, ordering: .releasing) }
        return removed
    }

    /// Queues something to be called when the mailbox has been read up to here. Answers whether a turn must be
    /// scheduled; `nil` if the loop has been cancelled or has stopped.
    @inlinable
    package mutating func addMarker(_ body: @escaping @Sendable () -> Void) -> Bool? {
        switch phase {
        case .cancelling, .stopped: return nil
        case .notStarted, .running, .stopping:
            mailbox.append(.control(.marker(body)))
            return wake()
        }
    }

    /// Queues something that may be due. Answers whether a turn must be scheduled; `nil` if the loop has been cancelled or
    /// has stopped.
    @usableFromInline
    package mutating func addDue(_ due: Due) -> Bool? {
        switch phase {
        case .cancelling, .stopped: return nil
        case .notStarted, .running, .stopping:
            mailbox.append(.control(.due(due)))
            return wake()
        }
    }

    // MARK: Turning

    /// What the turn has to do next. It has no payload: copying one of a generic type costs more than the step itself.
    @usableFromInline
    package enum Step: Sendable {
        /// Nothing: the turn is over.
        case idle
        /// Nothing: the turn is over, and with it the loop.
        case stopped
        /// Reduce the event that is handed out.
        case reduce
        /// Do what is handed out.
        case other
        /// It has not been taken yet.
        case notTaken
    }

    /// The steps that are not the everyday. Boxed, so that a step is not larger than an event and a state.
    @usableFromInline
    package indirect enum Other: Sendable {
        /// Start the sources, then show the initial state.
        case begin(State, feedbacks: [Member], watchers: [Watcher])
        /// Tell the observer that this event was withdrawn.
        case withdrawn(Event)
        /// Show the current state to a feedback that has come late.
        case introduce(Member, index: Int, State)
        /// Show the current state to a watcher that has come late.
        case watch(Watcher, State)
        /// Call it.
        case marker(@Sendable () -> Void)
        /// Call it, and reduce the event that it returns.
        case due(Due)
        /// Tell the sender, who waits, and reduce the event, unless it was withdrawn.
        case waited(Event, isWithdrawn: Bool, @Sendable (SendResult) -> Void)
        /// Release it.
        case release([EffectID])
    }

    /// An event arrives at a loop that turns on the sender's thread. `true`: the loop did nothing, so the event has been
    /// taken at once, without a way through the mailbox, which is empty. `false`: it must be sent.
    @inlinable
    package mutating func takeAtOnce(origin: Origin?) -> Bool {
        guard phase == .running, !isTurning, held == nil else { return false }
        if let origin, isRefused(origin) { return false }
        isTurning = true
        counters.events += 1
        return true
    }

    /// Takes the next item; an event or something else is put where the caller wants it.
    @inlinable
    package mutating func next(_ event: inout Event?, _ other: inout Other?) -> Step {
        if mustBegin {
            mustBegin = false
            hasBegun = true
            other = .begin(state, feedbacks: feedbacks, watchers: watchers)
            return .other
        }
        guard let item = held == nil ? mailbox.popFirst() : popControl() else {
            if !forgottenNames.isEmpty {
                other = .release(takeForgottenNames())
                return .other
            }
            isTurning = false
            return settle() ? .stopped : .idle
        }
        switch item {
        case .event(let taken, let origin):
            noteLeft(taken)
            if let origin, isStale(origin) {
                counters.withdrawn += 1
                other = .withdrawn(taken)
                return .other
            }
            counters.events += 1
            event = taken
            return .reduce
        case .control(let control):
            other = take(control)
            return .other
        }
    }

    /// Of a loop that is paused: the next item that is no event. The events before it are held.
    @usableFromInline
    mutating func popControl() -> Item? {
        // What is to come first does so in its own order.
        var first: [Item] = []
        defer { for item in first.reversed() { held?.prepend(item) } }
        while let item = mailbox.popFirst() {
            switch item {
            case .control(.introduce), .control(.watch), .control(.marker): return item
            case .control(.first): first.append(item)
            case .control(.waiting), .control(.due), .event: held?.append(item)
            }
        }
        return nil
    }

    @usableFromInline
    mutating func take(_ control: Control) -> Other {
        switch control {
        case .introduce(let feedback):
            append(feedback)
            return .introduce(feedbacks[feedbacks.count - 1], index: feedbacks.count - 1, state)
        case .watch(let watcher):
            watchers.append(watcher)
            return .watch(watcher, state)
        case .marker(let body):
            return .marker(body)
        case .due(let due):
            return .due(due)
        case .first(let event):
            counters.events += 1
            return .waited(event, isWithdrawn: false) { _ in }
        case .waiting(let event, let origin, let tell):
            noteLeft(event)
            waitingSenders -= 1
            let isWithdrawn = origin.map { isStale($0) } ?? false
            if isWithdrawn { counters.withdrawn += 1 } else { counters.events += 1 }
            return .waited(event, isWithdrawn: isWithdrawn, tell)
        }
    }

    /// Returns `true` if the loop accepts no events from a source any more. An effect that has ended, and that only its
    /// feedback can cancel, may send until its feedback cancels something.
    @inlinable
    func isRefused(_ origin: Origin) -> Bool {
        if origin.serial < statuses[origin.feedback].validFrom { return true }
        guard origin.run != 0 else { return false }
        return runs[RunID(rawValue: origin.run)]?.isCancelled ?? origin.isApart
    }

    /// Returns `true` if the loop must withdraw an event that it takes: its effect was cancelled, or belongs to a state that
    /// is over.
    @inlinable
    mutating func isStale(_ origin: Origin) -> Bool {
        defer { noteTaken(origin) }
        let status = statuses[origin.feedback]
        if status.isBoundToState, origin.serial < status.validFrom { return true }
        return origin.run != 0 && runs[RunID(rawValue: origin.run)]?.isWithdrawn == true
    }

    /// An event of a run no longer waits.
    @inlinable
    mutating func noteTaken(_ origin: Origin?) {
        guard let origin, origin.run != 0 else { return }
        let run = RunID(rawValue: origin.run)
        runs[run]?.waiting -= 1
        forget(run)
    }

    /// A side effect that must be told to end.
    @usableFromInline
    package struct Ending: Sendable {
        @usableFromInline package let run: RunID
        @usableFromInline package let feedback: Int
        /// `nil`: it has not quite started, and will be told by ``attach(_:to:)``.
        @usableFromInline package let handle: Handle?
        /// Whether the observer is to be told; then ``noteTold(_:)`` follows.
        @usableFromInline package let mustTell: Bool

        @inlinable
        init(run: RunID, feedback: Int, handle: Handle?, mustTell: Bool) {
            self.run = run
            self.feedback = feedback
            self.handle = handle
            self.mustTell = mustTell
        }
    }

    /// What a new state brings with it.
    @usableFromInline
    package struct Entered: Sendable {
        @usableFromInline package let feedbacks: [Member]
        @usableFromInline package let watchers: [Watcher]
        @usableFromInline package let endings: [Ending]

        @inlinable
        init(feedbacks: [Member], watchers: [Watcher], endings: [Ending]) {
            self.feedbacks = feedbacks
            self.watchers = watchers
            self.endings = endings
        }
    }

    /// The event was handled: `new` is the state from now on, and the effects that every new state ends, end.
    @inlinable
    package mutating func enter(_ new: State) -> Entered {
        state = new
        return noteEntered()
    }

    /// There is a new state.
    @inlinable
    mutating func noteEntered() -> Entered {
        serial += 1
        counters.transitions += 1
        var endings: [Ending] = []
        for index in statuses.indices where statuses[index].endsOnNewState { cancelRuns(of: index, into: &endings) }
        return Entered(feedbacks: feedbacks, watchers: watchers, endings: endings)
    }

    /// Enters a state. If nobody sees it and `mayGoOn`, takes the next item, too; else leaves in `entered` who sees it.
    /// The old state is left in the place of the new one, so that what it holds is not released under the lock.
    @inlinable
    package mutating func enter(
        _ new: inout State, mayGoOn: Bool, _ entered: inout Entered?, _ event: inout Event?, _ other: inout Other?
    ) -> Step {
        swap(&state, &new)
        if mayGoOn, feedbacks.isEmpty, watchers.isEmpty {
            serial += 1
            counters.transitions += 1
            return next(&event, &other)
        }
        entered = noteEntered()
        return .notTaken
    }

    /// The turn takes an event that something due has returned.
    @usableFromInline
    package mutating func noteDueEvent() {
        counters.events += 1
    }

    /// No rule handled the event.
    @inlinable
    package mutating func noteUnhandled() {
        counters.unhandled += 1
    }

    /// An event was not even offered.
    @usableFromInline
    package mutating func noteRefused() {
        counters.refused += 1
    }

    /// A feedback's own rule says that the new state ends its side effects.
    @inlinable
    package mutating func cancelRuns(of feedback: Int) -> [Ending] {
        var endings: [Ending] = []
        cancelRuns(of: feedback, into: &endings)
        return endings
    }

    @inlinable
    mutating func cancelRuns(of feedback: Int, into endings: inout [Ending]) {
        statuses[feedback].validFrom = serial
        guard !statuses[feedback].running.isEmpty else { return }
        for run in statuses[feedback].running {
            cancel(run, into: &endings)
            runs[run]?.isListed = false
        }
        statuses[feedback].ending += Int32(truncatingIfNeeded: statuses[feedback].running.count)
        statuses[feedback].running.removeAll(keepingCapacity: true)
    }

    /// An effect that takes the place of everything its feedback still runs is about to start within `outer`, which
    /// goes on, as does what that is within.
    @usableFromInline
    package mutating func replaceRuns(of feedback: Int, within outer: RunID?) -> [Ending] {
        var endings: [Ending] = []
        // Effects that the feedback has started for this very state end, too.
        serial += 1
        guard let outer else {
            cancelRuns(of: feedback, into: &endings)
            return endings
        }
        statuses[feedback].validFrom = serial
        var spared: Set<RunID> = []
        var next: RunID? = outer
        while let run = next {
            spared.insert(run)
            next = runs[run]?.outer
        }
        cancel(statuses[feedback].running, sparing: spared, into: &endings)
        return endings
    }

    @usableFromInline
    mutating func cancel(_ some: [RunID], sparing spared: Set<RunID>, into endings: inout [Ending]) {
        for run in some {
            if spared.contains(run) {
                cancel(runs[run]?.inner.filter { runs[$0]?.isGuard == false } ?? [], sparing: spared, into: &endings)
            } else {
                cancel(run, into: &endings)
            }
        }
    }

    /// Cancels a run and those within it.
    ///
    /// - Parameter withdraws: also withdraws the events that they have emitted.
    @inlinable
    mutating func cancel(_ run: RunID, withdraws: Bool = true, into endings: inout [Ending]) {
        guard let known = runs[run], !known.isCancelled else { return }
        runs[run]?.isCancelled = true
        runs[run]?.isWithdrawn = withdraws
        if !known.isOver {
            let isEffect = known.outer == nil
            if isEffect { counters.effectsCancelled += 1 }
            let mustTell = isObserved && isEffect && known.isAnnounced
            if mustTell { runs[run]?.pieces += 1 }
            endings.append(Ending(run: run, feedback: known.feedback, handle: known.handle, mustTell: mustTell))
        }
        for inner in known.inner { cancel(inner, withdraws: withdraws, into: &endings) }
    }

    // MARK: Side effects

    /// Where events come from that a feedback emits now, within a run or within none.
    @inlinable
    package func origin(of feedback: Int, within run: RunID? = nil, isApart: Bool = true) -> Origin {
        Origin(feedback: feedback, serial: serial, run: run?.rawValue ?? 0, isApart: isApart)
    }

    /// What starting a side effect came to.
    @usableFromInline
    package struct Opened: Sendable {
        @usableFromInline package let run: RunID
        @usableFromInline package let origin: Origin
        /// The effect of the same name that it replaces.
        @usableFromInline package let endings: [Ending]

        @inlinable
        init(run: RunID, origin: Origin, endings: [Ending]) {
            self.run = run
            self.origin = origin
            self.endings = endings
        }
    }

    /// The runs whose names have this hash value, for the caller to compare.
    @inlinable
    package func candidates(_ hash: Int) -> [(id: EffectID, run: RunID)] {
        guard let known = named[hash] else { return [] }
        return known.compactMap { run in runs[run]?.id.map { ($0, run) } }
    }

    /// Whether a run is another, or within it.
    @usableFromInline
    package func isWithin(_ run: RunID, _ outer: RunID) -> Bool {
        var next: RunID? = run
        while let run = next {
            if run == outer { return true }
            next = runs[run]?.outer
        }
        return false
    }

    /// Whether a run would keep another of its name from starting.
    @inlinable
    package func holdsName(_ run: RunID) -> Bool {
        runs[run].map { !$0.isOver && !$0.isCancelled } ?? false
    }

    /// A side effect is about to start; `nil`: it may not, because the loop is stopping, or because what it is within
    /// has been cancelled.
    ///
    /// - Parameter replaced: the run of its name until now.
    /// - Parameter endsPrevious: whether it takes the place of everything its feedback still runs.
    @inlinable
    package mutating func openRun(
        of feedback: Int, endsAtStop: Bool, id: EffectID? = nil, replacing replaced: RunID? = nil,
        endsPrevious: Bool = false, within outer: RunID? = nil, isGuard: Bool = false
    ) -> Opened? {
        guard phase == .running else { return nil }
        if let outer, runs[outer]?.isCancelled != false { return nil }
        var endings = endsPrevious ? replaceRuns(of: feedback, within: outer) : []
        if let replaced {
            cancel(replaced, into: &endings)
            if let known = runs[replaced]?.id { forgetName(known, of: replaced) }
        }
        let run = RunID(rawValue: nextRun)
        nextRun += 1
        runs[run] = Run(feedback: feedback, endsAtStop: endsAtStop, id: id, outer: outer, isGuard: isGuard)
        if let id { named[id.hash, default: []].append(run) }
        if let outer {
            runs[outer]?.inner.append(run)
            runs[outer]?.pieces += 1
            if isGuard { runs[outer]?.guards += 1 }
        } else {
            openRuns += 1
            statuses[feedback].running.append(run)
            counters.effectsStarted += 1
            if isObserved { runs[run]?.isAnnounced = false }
        }
        return Opened(
            run: run, origin: origin(of: feedback, within: run, isApart: id != nil || outer != nil), endings: endings)
    }

    /// The observer has been told that the effect has started. `true`: it has been cancelled meanwhile, and that is to
    /// be told now, and ``noteTold(_:)`` to follow.
    @usableFromInline
    package mutating func announce(_ run: RunID) -> Bool {
        guard let known = runs[run], !known.isOver else { return false }
        runs[run]?.isAnnounced = true
        if known.isCancelled { runs[run]?.pieces += 1 }
        return known.isCancelled
    }

    /// The observer has been told that the effect is to end.
    @usableFromInline
    package mutating func noteTold(_ run: RunID) -> Closed {
        var closed = Closed()
        endPiece(of: run, into: &closed)
        closed.names = takeForgottenNames()
        return closed
    }

    /// Cancels what runs within a run, and the run, and queues an event in its stead, as if its feedback had emitted it
    /// when the run was opened. What is over or cancelled has nothing to be replaced.
    @usableFromInline
    package mutating func expire(_ run: RunID, origin: Origin, event: Event) -> (sent: Sent, endings: [Ending])? {
        guard let known = runs[run], !known.isOver, !known.isCancelled else { return nil }
        var endings: [Ending] = []
        cancel(run, into: &endings)
        // Of now: what has taken the place of others meanwhile has spared this run.
        let origin = Origin(
            feedback: origin.feedback, serial: serial, run: known.outer?.rawValue ?? 0, isApart: known.outer != nil)
        // Under the policy that makes senders wait, it has a place beyond the limit, and waits there.
        return (sendWaiting(event, origin: origin, always: false, tell: { _ in }).sent, endings)
    }

    /// Whether a side effect has been told to end, or has ended.
    @usableFromInline
    package func isCancelled(_ run: RunID) -> Bool {
        runs[run]?.isCancelled != false
    }

    /// Whether anything but its own part, and those that only watch over it, keeps a run from being over.
    @usableFromInline
    package func hasInner(_ run: RunID) -> Bool {
        runs[run].map { $0.pieces > 1 + $0.guards } ?? false
    }

    /// The loop has failed, because of that side effect if one is named; `false` if that is no news. `nil` if the effect
    /// has been cancelled or the loop has stopped: then what it throws is of no interest.
    @usableFromInline
    package mutating func note(_ fault: LoopFault, of run: RunID? = nil) -> Bool? {
        guard phase != .stopped else { return nil }
        if let run, isCancelled(run) { return nil }
        counters.faults += 1
        guard failure == nil else { return false }
        failure = Failure(fault)
        return true
    }

    /// Cancels a named effect.
    @inlinable
    package mutating func cancelRun(_ run: RunID) -> [Ending] {
        var endings: [Ending] = []
        cancel(run, into: &endings)
        return endings
    }

    /// The handle of a side effect that has started. `true`: it was cancelled meanwhile, so end it now.
    @inlinable
    package mutating func attach(_ handle: Handle, to run: RunID) -> Bool {
        guard let known = runs[run], !known.hasEnded else { return false }
        runs[run]?.handle = handle
        return known.isCancelled
    }

    /// What the end of a side effect, or of a part of one, came to.
    @usableFromInline
    package struct Closed: Sendable {
        /// The effect that is over, if one is, and its feedback.
        @usableFromInline package var over: (run: RunID, feedback: Int)?
        /// Whether the loop has stopped with it. If it is observed, ``release()`` tells.
        @usableFromInline package var stopped = false
        /// What need not go on without the rest.
        @usableFromInline package var endings: [Ending] = []
        /// Not to be released under the lock.
        @usableFromInline package var handle: Handle?
        /// Not to be released under the lock.
        @usableFromInline package var names: [EffectID] = []

        @inlinable
        init() {}
    }

    /// A side effect's own part has ended. `nil`: that was known.
    @inlinable
    package mutating func closeRun(_ run: RunID) -> Closed? {
        guard let known = runs[run], !known.hasEnded else { return nil }
        runs[run]?.hasEnded = true
        runs[run]?.handle = nil
        var closed = Closed()
        closed.handle = known.handle
        endPiece(of: run, into: &closed)
        closed.names = takeForgottenNames()
        return closed
    }

    /// One thing less keeps a run from being over.
    @inlinable
    mutating func endPiece(of run: RunID, isGuard: Bool = false, into closed: inout Closed) {
        runs[run]?.pieces -= 1
        if isGuard { runs[run]?.guards -= 1 }
        guard let known = runs[run] else { return }
        if known.pieces > 0 {
            // Where only guards are left, there is nothing to watch over.
            guard known.pieces == known.guards else { return }
            for inner in known.inner where runs[inner]?.isGuard == true { cancel(inner, into: &closed.endings) }
            return
        }
        runs[run]?.isOver = true
        if let outer = known.outer {
            endPiece(of: outer, isGuard: known.isGuard, into: &closed)
        } else {
            if known.isListed {
                statuses[known.feedback].running.removeAll { $0 == run }
            } else {
                statuses[known.feedback].ending -= 1
            }
            closed.over = (run, known.feedback)
            if !isObserved {
                openRuns -= 1
                closed.stopped = settle()
            }
        }
        forget(run)
    }

    /// Something is to be told to the observer before the loop may have stopped.
    @inlinable
    package mutating func hold() {
        openRuns += 1
    }

    /// It has been told. `true`: the loop has stopped with that.
    @inlinable
    package mutating func release() -> Bool {
        openRuns -= 1
        return settle()
    }

    /// Forgets a run that is over, with all within it, and of which no event waits.
    @inlinable
    mutating func forget(_ run: RunID) {
        guard let known = runs[run], known.isOver, known.waiting <= 0, known.inner.isEmpty else { return }
        runs[run] = nil
        if let id = known.id {
            forgetName(id, of: run)
            forgottenNames.append(id)
        }
        if let outer = known.outer {
            runs[outer]?.inner.removeAll { $0 == run }
            forget(outer)
        }
    }

    /// The run is no longer the one of its name.
    @inlinable
    mutating func forgetName(_ id: EffectID, of run: RunID) {
        guard let known = named[id.hash] else { return }
        let left = known.filter { $0 != run }
        named[id.hash] = left.isEmpty ? nil : left
    }

    // MARK: Life

    /// Starts. `nil`: it had been started before; else whether a turn must be scheduled.
    @inlinable
    package mutating func start() -> Bool? {
        guard phase == .notStarted else { return nil }
        phase = .running
        mustBegin = true
        return wake()
    }

    /// Takes no event any more until it is resumed. `false`: it does not run, or is paused already.
    @usableFromInline
    package mutating func pause() -> Bool {
        guard phase == .running, held == nil else { return false }
        held = []
        return true
    }

    /// Takes events again, those first that have waited. `nil`: it was not paused; else whether a turn must be scheduled.
    @usableFromInline
    package mutating func resume() -> Bool? {
        guard held != nil else { return nil }
        var controls: Deque<Item> = []
        while let item = popControl() { controls.append(item) }
        mailbox = (held ?? []) + controls
        held = nil
        return wakeIfWaiting()
    }

    /// Whether it is paused.
    @usableFromInline package var isPaused: Bool { held != nil }

    /// What ending the loop asks for.
    @usableFromInline
    package struct Closing: Sendable {
        @usableFromInline package var endings: [Ending] = []
        @usableFromInline package var stopped = false
        /// Events that waited and are discarded.
        @usableFromInline package var discarded: [Event] = []
        /// Markers that waited; they are called, since someone waits for them.
        @usableFromInline package var markers: [@Sendable () -> Void] = []
        /// Senders who waited.
        @usableFromInline package var told: [@Sendable (SendResult) -> Void] = []
        /// Feedbacks that waited; handed out so that what they hold is not released under the lock.
        @usableFromInline package var feedbacks: [Feedback<State, Event>] = []
        /// Names, for the same reason.
        @usableFromInline package var names: [EffectID] = []
        /// Whether ``release()`` is to be called when the observer has been told.
        @usableFromInline package var isHeld = false
        /// Whether a turn must be scheduled.
        @usableFromInline package var needsTurn = false

        @inlinable
        init() {}
    }

    /// Stops gently: no new events, no new side effects; what waits is taken, what runs may finish. Sources and
    /// timers end now: nothing that they could still bring would be accepted.
    ///
    /// - Parameter takingOutcomes: whether events of side effects under way are still taken. Of a loop that is paused those
    ///   that wait are taken, too: the side effects have ended, whether it is told or not.
    @usableFromInline
    package mutating func beginStop(takingOutcomes: Bool = false) -> Closing {
        var closing = Closing()
        switch phase {
        case .notStarted:
            discardMailbox(into: &closing)
            phase = .stopping
        case .running:
            // What a loop that is paused was not to take it does not take at its end either.
            if held != nil { discardMailbox(sparingOutcomes: takingOutcomes, into: &closing) }
            phase = .stopping
            takesOutcomes = takingOutcomes
            for run in orderedRuns where runs[run]?.endsAtStop == true {
                cancel(run, withdraws: false, into: &closing.endings)
            }
            closing.needsTurn = wakeIfWaiting()
        case .stopping, .cancelling, .stopped:
            return closing
        }
        settle(into: &closing)
        return closing
    }

    /// Stops hard: what waits is discarded, what runs is told to end.
    @usableFromInline
    package mutating func cancel() -> Closing {
        var closing = Closing()
        guard phase != .cancelling, phase != .stopped else { return closing }
        phase = .cancelling
        discardMailbox(into: &closing)
        for run in orderedRuns {
            cancel(run, into: &closing.endings)
        }
        settle(into: &closing)
        return closing
    }

    @usableFromInline
    mutating func settle(into closing: inout Closing) {
        closing.names = takeForgottenNames()
        if isObserved {
            hold()
            closing.isHeld = true
        } else {
            closing.stopped = settle()
        }
    }

    /// Empties the mailbox.
    ///
    /// - Parameter sparingOutcomes: whether events of side effects stay.
    @usableFromInline
    mutating func discardMailbox(sparingOutcomes: Bool = false, into closing: inout Closing) {
        if let held { mailbox.prepend(contentsOf: held) }
        held = nil
        let items = mailbox
        mailbox.removeAll()
        waitingEvents = 0
        size?.shared?.add(-waitingBytes)
        waitingBytes = 0
        waitingSenders = 0
        mustBegin = false
        for item in items {
            switch item {
            case .event(let event, .some) where sparingOutcomes:
                mailbox.append(item)
                noteWaiting(event)
            case .control(.waiting(let event, .some, _)) where sparingOutcomes:
                mailbox.append(item)
                noteWaiting(event)
                waitingSenders += 1
            case .event(let event, let origin):
                counters.refused += 1
                closing.discarded.append(event)
                noteTaken(origin)
            case .control(.marker(let body)): closing.markers.append(body)
            case .control(.due(let due)): closing.markers.append(due.ended)
            case .control(.waiting(let event, let origin, let tell)):
                counters.refused += 1
                closing.discarded.append(event)
                closing.told.append(tell)
                noteTaken(origin)
            case .control(.first(let event)):
                counters.refused += 1
                closing.discarded.append(event)
            case .control(.watch(let watcher)): watchers.append(watcher)
            case .control(.introduce(let feedback)): closing.feedbacks.append(feedback)
            }
        }
    }

    /// Notes that the loop has stopped if it has become quiet; `true` if it just did.
    @inlinable
    mutating func settle() -> Bool {
        guard phase == .stopping || phase == .cancelling, !isTurning, mailbox.isEmpty, openRuns == 0 else {
            return false
        }
        phase = .stopped
        return true
    }

    /// Takes the watchers out, to be told that the loop has stopped.
    @usableFromInline
    package mutating func takeWatchers() -> [Watcher] {
        defer { watchers = [] }
        return watchers
    }

    /// Every handle known, for the end of an abandoned loop.
    @usableFromInline
    package var handles: [Handle] { orderedRuns.compactMap { runs[$0]?.handle } }

    /// The runs in the order in which they were started, so that one seed gives one simulation.
    @usableFromInline
    var orderedRuns: [RunID] { runs.keys.sorted { $0.rawValue < $1.rawValue } }

    /// Every marker that waits, for the end of an abandoned loop: someone waits for them.
    @usableFromInline
    package var markers: [@Sendable () -> Void] {
        ((held ?? []) + mailbox).compactMap { item in
            switch item {
            case .control(.marker(let body)): body
            case .control(.due(let due)): due.ended
            case .control(.waiting(_, _, let tell)): { tell(.dropped(.stopped)) }
            default: nil
            }
        }
    }
}
