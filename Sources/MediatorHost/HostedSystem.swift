import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A system in its loop, configured or written in Swift.
final class HostedSystem: Sendable {
    /// How many may wait for a proof that the loop turns: those who asked last.
    static let mostProofs = 8
    /// How long a system is degraded after a fault, at least: so that one look in a while does not miss it.
    static let faultMemory = Duration.seconds(60)

    /// Where it stands in its life, apart from its loop.
    enum Phase: Equatable {
        /// Not started.
        case built
        /// It runs.
        case running
        /// It ends, or waits for its time to begin anew.
        case restarting
        /// It has ended on account of a fault.
        case givenUp
        /// It ends for good: with the host, or since another takes its place.
        case leaving
    }

    struct Status {
        var phase = Phase.built
        /// Where it stood when it was ended for good.
        var left: Phase?
        var incarnation: Incarnation
        /// The one in whose last state it is to begin, until it does.
        var predecessor: HostedSystem?
        /// The one that takes its place.
        var successor: HostedSystem?
        /// Whether nothing of it is left running.
        var isOver = false
        /// Counts the claims for a restart; a restart goes on only while its claim is the last one.
        var claim: UInt64 = 0
        /// The links from buses that remember which are still to show it the present value: until then it takes none of
        /// theirs.
        var awaited: Set<ObjectIdentifier> = []
        /// Earlier ones, of which something still runs.
        var earlier: [Incarnation] = []
        /// What all those that are over have counted.
        var counters = LoopCounters()
        var supervision: SupervisionMachine
        /// How often it has been restarted.
        var restarts: UInt64 = 0
        /// How often it has been reset.
        var resets: UInt64 = 0
        /// Whether it has been sent to its initial state, and is not there yet.
        var isResetting = false
        /// How many resets its loop has not taken yet. They wait like events, and are none.
        var waitingResets = 0
        /// Whether there was no initial state the last time that it was to begin anew.
        var couldNotBeMade = false
        /// That it is paused.
        var pause: Pause? { didSet { isPaused = pause != nil } }
        /// The same, for who asks at each event: the other is large.
        private(set) var isPaused = false
        /// Whether somebody lets it go on just now.
        var isResuming = false
        /// The treatment of a fault, in words, and its beginning, if the system does not run.
        var treatment: (text: String, since: Timestamp)?
        /// Why it begins anew, if it is being restarted.
        var cause: Cause?
        /// What it did of late.
        var trace = Trace()

        /// Whether it has reached a state that counts as ready.
        var isReady = false
        /// Whether its first state has been shown.
        var hasBegun = false
        /// What ends its time to become ready.
        var readiness: Waits.Ticket?
        /// Whom to tell when it is ready, or will not be.
        var waiters: [UInt64: @Sendable () -> Void] = [:]
        var nextWaiter: UInt64 = 1

        var lastFault: Fault?
        var isFaulty = false
        /// Why it has failed for good: it got an event that it must handle, and did not.
        var failure: Fault? { didSet { hasFailed = failure != nil } }
        /// When that was.
        var failureTime: Timestamp?
        /// The same, for who asks at each event.
        private(set) var hasFailed = false
        /// When the last fault was, by the host's clock and by the calendar.
        var faultAt: Duration = .zero
        var faultTime: Timestamp?
        var faults: UInt64 = 0
        /// When it begins anew, by the calendar, while it waits for that.
        var begins: Timestamp?
        /// The index of its state, and how it is in it, as its author says.
        var state: Int
        /// When its state was entered.
        var entered: Timestamp
        var inState = Health.healthy
        /// How it has been, and since when.
        var health = Health.starting
        var since: Timestamp
        /// Whether its loop turns.
        var watch = LoopWatch()
        /// Since when it is known that it does not.
        var lateSince: Timestamp?
        /// Whom to tell when the loop proves that it turns.
        var proofs: [@Sendable () -> Void] = []

        /// How it is. Asked at each event, so that it must not copy all that there is.
        @inline(__always)
        var present: Health {
            switch phase {
            case .built: .starting
            case .restarting, .givenUp: .failed
            case .leaving: .stopped
            case .running:
                watch.isLate || hasFailed || inState == .failed
                    ? .failed
                    : isPaused
                        ? .degraded : !isReady ? .starting : isFaulty || inState == .degraded ? .degraded : .healthy
            }
        }

        /// Why it is not healthy, and since when that holds: it may have been so before for another reason.
        func reason(in definition: SystemDefinition) -> (text: String, since: Timestamp?)? {
            var byState: (String, Timestamp?) { ("its state is '\(definition.states[state].name)'", entered) }
            func told(_ fault: Fault, _ time: Timestamp?) -> (String, Timestamp?) {
                ("\(fault.place): \(fault.message)", time)
            }
            if let treatment {
                let fault = lastFault.map { "; \(told($0, nil).0)" } ?? ""
                return (treatment.text + fault, treatment.since)
            }
            switch present {
            case .healthy, .stopped: return nil
            case .failed:
                if let late = watch.late { return (late.reason, lateSince) }
                return failure.map { told($0, failureTime) } ?? byState
            case .degraded:
                if let pause { return ("paused by \(pause.by)", pause.since) }
                return inState == .degraded ? byState : lastFault.map { told($0, faultTime) }
            case .starting:
                guard phase == .running else { return nil }
                let wanted = definition.readyStates.map { "'\(definition.states[$0].name)'" }
                guard !wanted.isEmpty else { return nil }
                return ("\(byState.0), and it is ready in \(wanted.joined(separator: " or "))", entered)
            }
        }

        /// Forgets a fault that has been long enough ago; whether that is news.
        mutating func forget(at elapsed: Duration, _ now: @autoclosure () -> Timestamp) -> Bool {
            guard isFaulty, elapsed - faultAt >= HostedSystem.faultMemory else { return false }
            isFaulty = false
            let over = faultTime?.later(by: HostedSystem.faultMemory) ?? now()
            return note(at: max(over, since))
        }

        /// Looks how it is; whether that is news.
        mutating func note(at time: Timestamp) -> Bool {
            let present = present
            guard present != health else { return false }
            health = present
            since = time
            return true
        }

        /// Those who wait until it is ready, or will not be, if that is so: they are told, and wait no longer.
        mutating func takeWaiters() -> [@Sendable () -> Void] {
            guard !waiters.isEmpty, !mayBecomeReady else { return [] }
            defer { waiters = [:] }
            return Array(waiters.values)
        }

        /// Claims it for a restart.
        mutating func claim(_ treatment: String, because cause: Cause, at time: Timestamp) -> UInt64 {
            phase = .restarting
            pause = nil
            self.cause = cause
            begins = nil
            self.treatment = (treatment, time)
            claim += 1
            return claim
        }

        /// Ends it on account of a fault.
        mutating func giveUp(_ treatment: String, at time: Timestamp) {
            phase = .givenUp
            pause = nil
            self.treatment = (treatment, time)
            claim += 1
        }

        /// Makes it ready for what is to be done about a fault.
        mutating func begin(_ decision: SupervisionMachine.Decision, because cause: Cause, at time: Timestamp) {
            let limit = supervision.policy.limit
            switch decision {
            case .none, .escalate: break
            case .reset: isResetting = true
            case .restart(_, let attempt):
                _ = claim("being restarted (\(limit.text(attempt)))", because: cause, at: time)
            case .stop(let isLimit): giveUp(limit.ending(isLimit), at: time)
            }
        }

        /// Whether it may become ready, and is not.
        var mayBecomeReady: Bool { !(isReady && hasBegun) && phase != .givenUp && phase != .leaving }
    }

    /// Makes what is inside, anew for each beginning.
    typealias Maker = @Sendable () throws(InitialStateError) -> SystemBehaviour

    /// Does about a fault what does not concern this system alone; given when the fault was.
    typealias Supervise = @Sendable (Claim, SupervisionMachine.Decision, Duration) -> Void

    let definition: SystemDefinition
    /// Where it and its parts are written now.
    let place: WrittenSystemPlace
    /// The system of its name that there is now.
    let seat: Latest<Faint<HostedSystem>?>
    let status: Mutex<Status>
    let make: Maker
    let room: HostRoom
    let effects: EffectCatalogue
    /// What is counted of each feedback.
    let figures: [RunFigures]
    let logger: Logger

    /// The links that begin here.
    let outlets = JointTable<SystemState>()
    /// Those who want to know when another loop has taken the place of its own.
    let renewals = Listeners<Void>()
    let repeats: RepeatLog
    /// Logs transitions that come again and again.
    let transitions: RepeatLog
    /// How often one that goes on is logged.
    static let transitionInterval = Duration.seconds(60)
    let reports: ReportBox
    /// What faults must not show.
    private let concealment: Concealment
    let time: HostTime
    let healthChanged: @Sendable () -> Void
    /// What is to be done about a fault; called under no lock, and must not wait.
    private let supervise: Supervise

    /// - Parameters:
    ///   - make: makes what is inside.
    ///   - kind: why there is the system.
    ///   - old: the running system of the same name, if a reload replaces it.
    init(
        _ definition: SystemDefinition, make: @escaping Maker, because kind: Cause.BeginningOrigin.Kind,
        effects: EffectCatalogue, after old: HostedSystem? = nil, in room: HostRoom, time: HostTime,
        logger: Logger,
        healthChanged: @escaping @Sendable () -> Void,
        supervise: @escaping Supervise
    ) throws(InitialStateError) {
        self.definition = definition
        place = old?.place ?? WrittenSystemPlace(definition)
        seat = old?.seat ?? Latest(nil)
        self.make = make
        self.room = room
        self.effects = effects
        figures = definition.feedbacks.map { _ in RunFigures() }
        self.healthChanged = healthChanged
        self.supervise = supervise
        self.time = time
        reports = ReportBox(now: time.now)
        repeats = RepeatLog(time: time)
        transitions = RepeatLog(time: time, interval: Self.transitionInterval, telling: .last)
        concealment = Concealment(definition.kind?.confidential ?? [])
        self.logger = logger
        let behaviour = try make()
        let first = Incarnation(
            1, of: definition, behaviour, outlets, because: Cause(Cause.BeginningOrigin(kind), at: time.now()),
            in: room, effects: effects, figures: figures, time: time, logger: logger, repeats: repeats,
            transitions: transitions, reports: reports.reports(of: 1))
        status = Mutex(
            Status(
                incarnation: first, supervision: SupervisionMachine(definition.supervision),
                isReady: definition.readyStates.isEmpty, state: behaviour.initial.index,
                entered: first.loop.state.since,
                since: time.now()))
        let present = Faint(self)
        if old == nil { seat.become(present) }
        reports.connect({ present.object?.take($0) }, entered: { present.object?.entered($0, from: $1, of: $2) })
    }

    /// What runs, or will.
    var incarnation: Incarnation { status.withLock { $0.incarnation } }

    /// The loop in which it runs, or will.
    var loop: Loop<SystemState, SystemEvent> { incarnation.loop }
    /// By the name of a feedback, when its side effect runs next by its schedule.
    var nextRuns: [String: Timestamp] { incarnation.nextRuns }

    /// A picture of its loop, in which is counted what it has counted since the host has it.
    var snapshot: LoopSnapshot {
        let incarnation = incarnation
        var snapshot = incarnation.loop.snapshot
        // Under the lock, so that what one that is over has counted is never counted less than before, nor twice.
        snapshot.counters = status.withLock { status in
            (status.earlier + [status.incarnation]).reduce(status.counters) { $0 + $1.loop.counters }
        }
        return snapshot
    }

    /// How many side effects of each of its feedbacks are at work, or wait.
    var runs: [FeedbackRuns] {
        let atWork = Dictionary(
            zip(definition.feedbacks, figures).map { ($0.name, $1.present.atWork) }, uniquingKeysWith: +)
        return loop.snapshot.feedbacks.map { feedback in
            // What is inside a system that is written in Swift says nothing about waiting.
            let running = atWork[feedback.name] ?? feedback.running
            return FeedbackRuns(
                feedback: feedback.name, running: running, waiting: max(0, feedback.running - running))
        }
    }

    /// When it begins anew, if it waits for that.
    var begins: Timestamp? { status.withLock { $0.phase == .restarting ? $0.begins : nil } }

    /// How often it has been restarted, and reset.
    var treatments: (restarts: UInt64, resets: UInt64) { status.withLock { ($0.restarts, $0.resets) } }

    /// Where it stands in its life.
    var phase: Phase { status.withLock { $0.phase } }

    /// Takes links away and adds others, between two states; those that are added see the present state first. `done` is
    /// called afterwards, on the loop's turn.
    func exchange(
        _ leaving: Set<ObjectIdentifier>, for joining: [Joint<SystemState>], done: @escaping @Sendable () -> Void
    ) {
        let before = outlets.shows
        let loop = loop
        if loop.phase == .notStarted {
            let shows = outlets.exchange(leaving, for: joining)
            // If nothing was shown before the exchange, the joining links see the initial state at the start.
            guard shows != before, loop.phase != .notStarted else { return done() }
            // The loop started just now and showed its first state to the links before.
            return loop.afterPending { [outlets, weak loop] in
                if outlets.shows == shows, let state = loop?.state { Self.show(state, to: joining) }
                done()
            }
        }
        loop.afterPending { [outlets, weak loop] in
            outlets.exchange(leaving, for: joining)
            if let state = loop?.state { Self.show(state, to: joining) }
            done()
        }
    }

    private static func show(_ state: SystemState, to joining: [Joint<SystemState>]) {
        for joint in joining where joint.trigger == nil { joint.see(state) }
    }

    // MARK: Life

    /// Starts, unless it has been stopped before.
    func start() {
        // The predecessor is not released under the lock.
        let (incarnation, _) = status.withLock { status -> (Incarnation?, HostedSystem?) in
            guard status.phase == .built else { return (nil, nil) }
            status.phase = .running
            return (status.incarnation, status.predecessor.take())
        }
        guard let incarnation else { return }
        start(incarnation, afterWaiting: false)
    }

    /// Says in whose last state it is to begin.
    func follows(_ predecessor: HostedSystem) {
        status.withLock { status in
            if status.phase == .built { status.predecessor = predecessor }
        }
    }

    /// The state in which it is. As long as the one that it takes the place of has not ended, it is that one's, as it would be
    /// carried over now.
    var presentState: SystemState {
        if let old = status.withLock({ $0.predecessor }),
            let state = old.loop.state.migrated(from: old.definition, to: definition, at: time.now())
        {
            return state
        }
        return loop.state
    }

    func start(_ incarnation: Incarnation, afterWaiting hasWaited: Bool) {
        if incarnation.start(afterWaiting: hasWaited) {
            limitReadiness(of: incarnation)
        } else if phase == .running, let fault = incarnation.loop.fault {
            // What waited for it was more than its mailbox holds.
            note(Fault("the loop", message: "\(fault.error)"), of: incarnation.number, isOver: true)
        }
    }

    /// Begins to stop gently and for good: no new events, nothing that waits for its time; what is under way may finish.
    func beginStop() {
        let (incarnation, waiters) = status.withLock { status in
            if status.left == nil { status.left = status.phase }
            status.phase = .leaving
            status.pause = nil
            _ = status.note(at: time.now())
            status.treatment = nil
            return (status.incarnation, status.takeWaiters())
        }
        let hasBegun = incarnation.loop.phase != .notStarted
        let dropped = incarnation.beginStop()
        let lost = dropped == 0 ? 0 : dropped - status.withLock { $0.waitingResets }
        if lost > 0 {
            logger.warning(
                hasBegun
                    ? "events that waited while it was paused are lost"
                    : "events that waited for its beginning are lost",
                metadata: .about(.eventsLost, ["count": "\(lost)"]))
        }
        for tell in waiters { tell() }
    }

    /// How long side effects that have been cancelled may take to end at the end of a system.
    static let forcedEndLimit = Duration.seconds(8)

    /// Stops gently and for good. Past the limit what runs is cancelled; past a second one it is left behind.
    ///
    /// - Returns: whether nothing of it is left running.
    func stop(within limit: Duration) async -> Bool {
        beginStop()
        let all = status.withLock { $0.earlier + [$0.incarnation] }
        func end(within limit: Duration) async -> Bool {
            guard !all.allSatisfy({ $0.loop.isOver }) else { return true }
            let open = Mutex(all.count)
            await time.race(within: limit) { done in
                all.map { each in
                    each.loop.whenStopped {
                        let isLast = open.withLock { open in
                            open -= 1
                            return open == 0
                        }
                        if isLast { done() }
                    }
                }
            }
            return hasEnded
        }
        if await end(within: limit) { return true }
        let cut = runs.filter { $0.running > 0 }.map(\.feedback)
        if !cut.isEmpty {
            logger.warning(
                "side effects did not end within the limit and are cancelled",
                metadata: ["feedbacks": "\(cut.joined(separator: ", "))", "limit": "\(limit)"])
        }
        for each in all { each.cancel() }
        return await end(within: Self.forcedEndLimit)
    }

    /// Whether nothing of it is left running.
    var hasEnded: Bool {
        let all = status.withLock { $0.earlier + [$0.incarnation] }
        return all.allSatisfy { $0.loop.phase == .stopped }
    }

    // MARK: Events of links

    /// Puts in an event of a link. Where another loop has taken the place of its own, or another system its place, that one
    /// gets the event; nothing that a link sends is lost in between.
    func deliver(_ event: SystemEvent) { deliver(event, to: incarnation) }

    /// Puts in an event that a link from a bus that remembers makes of a value. While it begins anew it takes none: it is
    /// shown the present value then.
    func take(_ event: SystemEvent, from link: ObjectIdentifier) {
        let incarnation = status.withLock { status in
            status.phase == .restarting || status.awaited.contains(link) ? nil : status.incarnation
        }
        if let incarnation { deliver(event, to: incarnation) }
    }

    private func deliver(_ event: SystemEvent, to first: Incarnation) {
        var incarnation = first
        while !incarnation.loop.offer(event) {
            let (present, successor) = status.withLock { ($0.incarnation, $0.successor) }
            if present !== incarnation {
                incarnation = present
            } else if let successor {
                return successor.inherit(event, from: definition)
            } else {
                return incarnation.loop.refuse(event)
            }
        }
    }

    /// Takes an event that was sent to a predecessor, whose definition may have been another.
    func inherit(_ event: SystemEvent, from old: SystemDefinition) {
        if let event = event.inherited(from: old, by: definition) { return deliver(event) }
        status.withLock { $0.counters.refused += 1 }
        repeats.log(
            logger, .warning, "event dropped: the system has no such event any more",
            key: "inherit \(old.eventName(event))", .about(.eventDropped, ["event": "\(old.eventName(event))"]))
    }

    /// Says which system takes its place: events that come when it has ended are for that one.
    func isSucceeded(by successor: HostedSystem) {
        status.withLock { $0.successor = successor }
        seat.become(Faint(successor))
    }

    /// Goes on counting events where a predecessor has stopped.
    func countOn(from predecessor: HostedSystem) {
        let before = predecessor.snapshot.counters
        status.withLock { $0.counters = $0.counters + before }
    }

    /// The link shows it the present value now, and from then on each that comes.
    func stopAwaiting(_ link: ObjectIdentifier) {
        status.withLock { _ = $0.awaited.remove(link) }
    }

    /// Goes to its initial state before it takes another event; `false` if it does not run.
    func reset(because cause: Cause) -> Bool {
        let (incarnation, isPending) = status.withLock { status -> (Incarnation?, Bool) in
            guard status.phase == .running else { return (nil, false) }
            // While it is paused, one that waits is as good as several.
            let isPending = status.isResetting && status.pause != nil
            status.isResetting = true
            return (status.incarnation, isPending)
        }
        guard let incarnation else { return false }
        return isPending || sendReset(to: incarnation, because: cause)
    }

    private func sendReset(to incarnation: Incarnation, because cause: Cause) -> Bool {
        let isAccepted = incarnation.loop.sendFirst(.reset(cause)) == .accepted
        status.withLock { status in
            if isAccepted {
                status.resets += 1
                if status.incarnation === incarnation { status.waitingResets += 1 }
            } else {
                status.isResetting = false
            }
        }
        return isAccepted
    }

    /// Takes no event and begins no side effect until it is resumed.
    ///
    /// - Returns: whether it was not paused already; nil: it does not run.
    func pause(_ pause: Pause) -> Bool? {
        // What it does about its loop is done under the lock: who resumes it or ends it at the same time comes before or
        // after, and the loop calls nobody for it.
        var forgotten: Trace.Forgotten?
        let (isNews, ticket) = status.withLock { status -> (Bool?, Waits.Ticket?) in
            guard status.phase == .running else { return (nil, nil) }
            guard status.pause == nil else { return (false, nil) }
            guard status.incarnation.pause() else { return (nil, nil) }
            status.pause = pause
            forgotten = status.trace.note(.other(Happening(.paused(by: pause.by), nil, nil, at: pause.since)))
            _ = status.note(at: pause.since)
            defer { status.readiness = nil }
            return (true, status.readiness)
        }
        withExtendedLifetime(forgotten) {}
        if let ticket { incarnation.interrupt(ticket) }
        if isNews == true { healthChanged() }
        return isNews
    }

    /// Goes on, if it is paused; whether it was.
    ///
    /// - Parameters:
    ///   - who: on whose behalf, for people.
    ///   - begins: called if it was, before it takes an event.
    func resume(by who: String, begins: () -> Void) -> Bool {
        let now = time.now()
        var forgotten: Trace.Forgotten?
        // Of several who resume it at a time one does; until that is done, it counts as paused.
        let incarnation = status.withLock { status -> Incarnation? in
            guard let pause = status.pause, !status.isResuming else { return nil }
            status.isResuming = true
            let span = now.span(since: pause.since)
            forgotten = status.trace.note(.other(Happening(.resumed(by: who, after: span), nil, nil, at: now)))
            return status.incarnation
        }
        withExtendedLifetime(forgotten) {}
        guard let incarnation else { return false }
        begins()
        let isResumed = incarnation.resume()
        status.withLock { status in
            status.isResuming = false
            guard isResumed, status.incarnation === incarnation else { return }
            status.pause = nil
            _ = status.note(at: now)
        }
        guard isResumed else { return false }
        healthChanged()
        // Its time to become ready begins anew.
        limitReadiness(of: incarnation)
        return true
    }

    /// That it is paused.
    var pauseState: Pause? { status.withLock { $0.pause } }

    /// Ends on account of a fault; `false` if it has been ended, or ends for good.
    func giveUp(_ treatment: String) -> Bool {
        let (incarnation, waiters) = status.withLock { status -> (Incarnation?, [@Sendable () -> Void]) in
            guard status.phase != .givenUp, status.phase != .leaving else { return (nil, []) }
            let now = time.now()
            status.giveUp(treatment, at: now)
            _ = status.note(at: now)
            return (status.incarnation, status.takeWaiters())
        }
        guard let incarnation else { return false }
        incarnation.cancel()
        healthChanged()
        for tell in waiters { tell() }
        return true
    }

    /// An administrator restarts or resets it: how often that has been done on account of faults counts no longer.
    func forgetFaults() {
        status.withLock { status in
            status.supervision.forget()
            status.isFaulty = false
        }
    }

    // MARK: Readiness

    /// Calls `done` when it has reached a state that counts as ready, or will not: at once where that is so.
    func whenReady(_ done: @escaping @Sendable () -> Void) -> Subscription {
        let id: UInt64? = status.withLock { status in
            guard status.mayBecomeReady else { return nil }
            defer { status.nextWaiter += 1 }
            status.waiters[status.nextWaiter] = done
            return status.nextWaiter
        }
        guard let id else {
            done()
            return Subscription {}
        }
        return Subscription { [weak self] in
            // Handed out, so that what it holds is not released under the lock.
            let waiter = self?.status.withLock { $0.waiters.removeValue(forKey: id) }
            withExtendedLifetime(waiter) {}
        }
    }

    /// Begins its time to become ready, if there is one.
    private func limitReadiness(of incarnation: Incarnation) {
        guard let within = definition.readinessLimit.within, !isReady else { return }
        let ticket = incarnation.after(within.swiftDuration) { [weak self] in
            self?.isLate(incarnation.number, within: within.brief)
        }
        guard let ticket else { return }
        let isOver = status.withLock { status in
            guard status.incarnation.number == incarnation.number, !status.isReady else { return true }
            status.readiness = ticket
            return false
        }
        if isOver { incarnation.interrupt(ticket) }
    }

    private func isLate(_ number: UInt64, within limit: String) {
        let state = status.withLock { status -> Int? in
            guard status.incarnation.number == number, status.phase == .running, !status.isReady else { return nil }
            status.readiness = nil
            return status.state
        }
        guard let state else { return }
        let name = definition.states[state].name
        let action = definition.readinessLimit.otherwise
        guard action != .continue else {
            logger.warning(
                "not ready in time; going on",
                metadata: .about(.systemNotReady, ["limit": "\(limit)", "state": "\(name)"]))
            return
        }
        note(
            Fault("ready", message: "not ready within \(limit): its state is '\(name)'"), of: number,
            action: action)
    }

    // MARK: Describing

    /// What its present incarnation has inside.
    var behaviour: SystemBehaviour { incarnation.behaviour }

    /// A definition with what only the system itself knows, if it is written in Swift: how it began, its transitions and
    /// its own feedbacks.
    func described(_ definition: SystemDefinition) -> SystemDefinition {
        guard definition.kind != nil else { return definition }
        let behaviour = incarnation.behaviour
        let source = definition.source
        let transitions = behaviour.transitions.map {
            WrittenTransition(from: $0.from, event: $0.event, to: $0.to, source: source)
        }
        let own = behaviour.outlines.map { outline in
            FeedbackDefinition(
                name: outline.name, source: source,
                selector: StateSelector(states: [], equals: [], conditions: [:], text: outline.onState),
                strategy: outline.strategy, schedule: .atOnce, effect: "Swift", arguments: [:], outcomes: [:],
                secretArguments: [])
        }
        return definition.replacing(
            description: definition.description, source: source,
            initialState: StateProgram(state: behaviour.initial.index, fields: []),
            feedbacks: own + definition.feedbacks, transitions: transitions)
    }

    /// Begins in the last state of a predecessor, instead of its own; `false` if it cannot be in that state, or has been
    /// started.
    func migrate(from old: HostedSystem) -> Bool {
        let incarnation = incarnation
        guard let state = old.loop.state.migrated(from: old.definition, to: definition, at: time.now()),
            let adopted = incarnation.behaviour.adopt(state)
        else { return false }
        return incarnation.loop.setInitial(adopted)
    }

    /// Begins in the state in which one of its name was when the daemon ended, instead of its own.
    ///
    /// - Parameter now: the time.
    /// - Returns: why it does not, in words; nil: it does.
    func begin(in kept: HostState.System, at now: Timestamp) -> String? {
        guard let match = definition.states.firstIndex(where: { $0.name == kept.state.name }) else {
            return "it was in the state '\(kept.state.name)', which there is no more"
        }
        guard definition.states[match].type == kept.state else {
            return "it was in the state '\(kept.state.name)', whose fields have changed"
        }
        let incarnation = incarnation
        let state = SystemState(
            beginning: definition, in: match,
            .structure(Structure(type: definition.states[match].type, fields: kept.fields)), since: kept.since,
            because: Cause(Cause.BeginningOrigin(.restored), at: now))
        guard let adopted = incarnation.behaviour.adopt(state), incarnation.loop.setInitial(adopted) else {
            return "it cannot be in the state '\(kept.state.name)' in which it was"
        }
        return nil
    }

    /// The state in which it is, or was when it ended for good, or that it was to carry over; nil where it did not run, or has
    /// failed.
    var kept: HostState.System? {
        let (phase, incarnation, predecessor) = status.withLock {
            ($0.left ?? $0.phase, $0.incarnation, $0.predecessor)
        }
        if phase == .built, let kept = predecessor?.kept, definition.states.contains(where: { $0.type == kept.state }) {
            return kept
        }
        let loop = incarnation.loop
        guard phase == .running, loop.fault == nil else { return nil }
        let state = loop.state
        guard case .structure(let data) = state.data, definition.states.indices.contains(state.index) else {
            return nil
        }
        return HostState.System(
            state: definition.states[state.index].type, fields: data.fields, since: state.since)
    }

    // MARK: Health

    /// How the system is.
    var health: Health { health(at: time.elapsed()) }

    /// How the system is now, of which the time is known.
    func health(at elapsed: Duration) -> Health {
        let (health, isNews) = status.withLock { status in
            let isNews = status.forget(at: elapsed, time.now())
            return (status.present, isNews)
        }
        if isNews { healthChanged() }
        return health
    }

    /// How the system is, since when unless it is stopped, and why it is not healthy.
    ///
    /// That a fault counts no longer is found out here, at the next transition, or when somebody looks whether the loop
    /// turns, whichever comes first.
    var wellness: Wellness {
        let elapsed = time.elapsed()
        let (wellness, isNews) = status.withLock { status in
            let isNews = status.forget(at: elapsed, time.now())
            let health = status.present
            let reason = status.reason(in: definition)
            return (
                Wellness(
                    health: health, since: health == .stopped ? nil : status.since, reason: reason?.text,
                    // It is no reason for what was so before.
                    reasonSince: reason?.since.map { max($0, status.since) }), isNews
            )
        }
        if isNews { healthChanged() }
        return wellness
    }

    /// How a system is.
    struct Wellness {
        let health: Health
        /// Since when, unless it is stopped.
        let since: Timestamp?
        /// Why it is not healthy.
        let reason: String?
        /// Since when that is the reason.
        let reasonSince: Timestamp?
    }

    /// Whether it has reached a state that counts as ready.
    var isReady: Bool { status.withLock { $0.isReady } }

    /// The last fault, and how many there were.
    var faults: (last: Fault?, time: Timestamp?, count: UInt64) {
        status.withLock { ($0.lastFault, $0.faultTime, $0.faults) }
    }

    private func take(_ report: ReportBox.Report) {
        switch report {
        case .fault(let fault, let number, let isFailure): note(fault, of: number, isFailure: isFailure)
        case .traced(let happening, let number): trace(happening, of: number)
        case .broke(let fault, let number):
            note(Fault("the loop", message: "\(fault.error)"), of: number, isOver: true)
        case .ended(let number):
            let ended = status.withLock { status -> Incarnation? in
                if number == status.incarnation.number { status.isOver = true }
                return status.earlier.first { $0.number == number }
            }
            if let ended { settle(ended) }
        case .wasReset(let number):
            status.withLock { status in
                guard number == status.incarnation.number else { return }
                status.isResetting = false
                status.waitingResets -= 1
                status.failure = nil
            }
        }
    }

    /// Remembers what one that is over has counted, instead of itself.
    func settle(_ ended: Incarnation) {
        status.withLock { status in
            guard let index = status.earlier.firstIndex(where: { $0 === ended }) else { return }
            status.earlier.remove(at: index)
            status.counters = status.counters + ended.loop.counters
        }
    }

    private func entered(_ state: SystemState, from old: SystemState?, of number: UInt64) {
        let isReadyState = definition.readyStates.isEmpty || definition.readyStates.contains(state.index)
        // What is no longer remembered is released when the lock has been.
        var forgotten: Trace.Forgotten?
        let (isNews, waiters, readiness) = status.withLock { status -> (Bool, [@Sendable () -> Void], Waits.Ticket?) in
            guard number == status.incarnation.number else { return (false, [], nil) }
            forgotten = status.trace.note(entered: state.record, from: old?.record)
            let isOver = status.isFaulty && time.elapsed() - status.faultAt >= Self.faultMemory
            status.hasBegun = true
            if isReadyState { status.isReady = true }
            if isOver { status.isFaulty = false }
            status.state = state.index
            status.entered = state.since
            status.inState = Health(definition.stateHealth[state.index])
            // A state that was carried over may be older than the system.
            let isNews = status.note(at: max(state.since, status.since)) || state.previous == nil
            guard isReadyState else { return (isNews, [], nil) }
            defer { status.readiness = nil }
            return (isNews, status.takeWaiters(), status.readiness)
        }
        withExtendedLifetime(forgotten) {}
        if let readiness { incarnation.interrupt(readiness) }
        for tell in waiters { tell() }
        if isNews { healthChanged() }
        // One that was reset has its time to become ready anew.
        if state.record.isOfReset, !isReadyState { limitReadiness(of: incarnation) }
    }

    /// Remembers what it has done.
    private func trace(_ happening: Happening, of number: UInt64) {
        let happening = happening.concealed(by: concealment).written(in: place)
        let forgotten = status.withLock { status -> Trace.Forgotten? in
            guard number == status.incarnation.number else { return nil }
            return status.trace.note(.other(happening))
        }
        withExtendedLifetime(forgotten) {}
    }

    /// What it did of late, the oldest first.
    var trace: [Trace.Step] { status.withLock { $0.trace.steps } }

    /// Notes a fault of what it takes part in.
    func note(_ fault: Fault) { note(fault, of: nil) }

    /// Notes a fault: it is counted, logged, and shown until a transition that comes a minute later or more; and what the
    /// configuration wants is done about it.
    ///
    /// - Parameters:
    ///   - number: the incarnation in which it was; nil: the present one. Of an earlier one it is only told.
    ///   - isFailure: whether the system counts as failed until it is started anew or reset.
    ///   - isOver: whether its loop has ended with it.
    ///   - wanted: what is to be done about it; nil: what is to be done about any.
    ///   - duringRestart: whether the system could not begin anew.
    func note(
        _ fault: Fault, of number: UInt64?, isFailure: Bool = false, isOver: Bool = false,
        action wanted: FaultAction? = nil,
        duringRestart: Bool = false
    ) {
        let fault = fault.concealed(by: concealment).written(in: place)
        let elapsed = time.elapsed()
        let now = time.now()
        var forgotten: Trace.Forgotten?
        // The state in which it was.
        var present: (state: Int, entered: Timestamp)?
        let (isNews, decision, claimed, waiters) = status.withLock {
            status -> (Bool, SupervisionMachine.Decision, (claim: UInt64, Incarnation), [@Sendable () -> Void]) in
            func untreated(_ isNews: Bool) -> (
                Bool, SupervisionMachine.Decision, (claim: UInt64, Incarnation), [@Sendable () -> Void]
            ) { (isNews, .none, (status.claim, status.incarnation), []) }
            forgotten = status.trace.note(.other(Happening(.failed, nil, nil, at: now, fault)))
            status.lastFault = fault
            status.faultAt = elapsed
            status.faultTime = now
            status.faults += 1
            guard number == nil || number == status.incarnation.number else { return untreated(false) }
            present = (status.state, status.entered)
            status.isFaulty = true
            if isFailure, status.failure == nil { (status.failure, status.failureTime) = (fault, now) }
            // What is being restarted, reset or ended needs nothing else.
            let isTreated = duringRestart ? status.phase != .restarting : status.phase != .running || status.isResetting
            guard !isTreated || (isOver && status.phase == .running) else { return untreated(status.note(at: now)) }
            let action = wanted ?? definition.supervision.onFault
            let cause = Cause(Cause.FaultOrigin("restart", of: definition.name, on: fault), at: now)
            let decision = status.supervision.decide(
                duringRestart && action != .escalate ? .restart : action, at: elapsed, isOver: isOver)
            // Decided and done at once, so that two faults at a time are not treated twice.
            status.begin(decision, because: cause, at: now)
            return (status.note(at: now), decision, (status.claim, status.incarnation), status.takeWaiters())
        }
        withExtendedLifetime(forgotten) {}
        if isNews { healthChanged() }
        let shown = present
        repeats.log(
            logger, .error, "a part of the system failed", key: RepeatLog.Key(fault.place), burst: 3,
            .about(
                .systemFault, because: shown.map { "\(definition.name)/\($0.entered)" },
                ["place": "\(fault.place)", "reason": "\(fault.message)"]
            )
            .inJournal(["state": shown.map { definition.states[$0.state].name }]))
        for tell in waiters { tell() }
        carryOut(
            decision, on: fault, Claim(system: self, number: claimed.claim), claimed.1, at: elapsed, now)
    }

    /// Does about a fault what concerns this system, for which its status is ready, and has the host do the rest.
    private func carryOut(
        _ decision: SupervisionMachine.Decision, on fault: Fault, _ claim: Claim, _ incarnation: Incarnation,
        at elapsed: Duration, _ now: Timestamp
    ) {
        let limit = definition.supervision.limit
        func told(_ id: MessageID, _ metadata: Logger.Metadata = [:]) -> Logger.Metadata {
            metadata.about(id, because: Cause.id(ofFaultOf: definition.name))
        }
        switch decision {
        case .none: return
        case .reset(let attempt):
            let cause = Cause(Cause.FaultOrigin("reset", of: definition.name, on: fault), at: now)
            guard sendReset(to: incarnation, because: cause) else { return }
            logger.warning(
                "reset to the initial state", metadata: told(.systemReset, ["attempt": "\(limit.text(attempt))"]))
        case .restart(let delay, let attempt):
            logger.warning(
                "restarting",
                metadata: told(
                    .systemRestarting,
                    ["delay": "\(TimeSpan(delay)?.brief ?? "\(delay)")", "attempt": "\(limit.text(attempt))"]))
        case .stop(let isLimit):
            incarnation.cancel()
            logger.error(
                "\(limit.ending(isLimit)); it begins anew when it is restarted, or its configuration is changed",
                metadata: told(.systemEnded))
        case .escalate(let isLimit):
            logger.critical(
                "the daemon ends on account of this system",
                metadata: told(
                    .systemEscalates, isLimit ? ["limit": "\(limit)"] : [:]))
        }
        supervise(claim, decision, elapsed)
    }

    // MARK: Turning

    /// Looks whether its loop turns, and asks it if it is not asked already.
    ///
    /// - Returns: how long it has been silent, if it has been asked before, and whether it turns on the host's pool.
    func look(deadline: Duration) -> (loop: LateLoop, isOnPool: Bool)? {
        let now = time.elapsed()
        let incarnation = incarnation
        let loop = incarnation.loop
        // Of one that has not begun, or that ends at once, nothing is expected.
        let isWatched = loop.phase == .running || loop.phase == .stopping
        let sight = LoopWatch.Sight(
            incarnation: incarnation.number, turns: incarnation.turns.value,
            events: isWatched ? loop.counters.events : 0)
        let (asks, silence, isNews) = status.withLock { status -> (Bool, Duration, Bool) in
            let isForgotten = status.forget(at: now, self.time.now())
            guard isWatched, incarnation === status.incarnation else {
                _ = status.watch.settle()
                return (false, .zero, status.note(at: self.time.now()) || isForgotten)
            }
            let (asks, silence) = status.watch.look(sight, at: now, deadline: deadline)
            return (asks, silence, isForgotten)
        }
        if isNews { healthChanged() }
        if asks { loop.afterPending { [weak self] in self?.turned(incarnation.number) } }
        guard silence > .zero else { return nil }
        return (
            LateLoop(
                system: definition.name, silence: silence, deadline: deadline, isBlocked: sight.turns % 2 == 1),
            incarnation.isOnPool
        )
    }

    private func turned(_ number: UInt64) {
        let (late, isNews) = status.withLock { status in
            (status.watch.settle(number), status.note(at: time.now()))
        }
        guard let late else { return }
        if isNews { healthChanged() }
        logger.notice(
            "its loop turns again",
            metadata: .about(.loopTurns, ["after": "\(LateLoop.text(late.silence)) at least"]))
    }

    /// What is said where its mailbox has no room.
    var fullness: String { "its mailbox is full (\(definition.mailbox.limit) events)" }

    /// What is said where its mailbox has no room for an event.
    func fullness(for event: SystemEvent) -> String {
        event.size > 0 ? lackOfRoom : fullness
    }

    private var lackOfRoom: String {
        // Where its own mailbox holds little, the others hold what there is.
        guard room.waiting.count < room.waiting.limit / 2 || loop.waitingBytes >= ConfigurationLimits.mailboxBytes / 2
        else {
            return "what waits in all mailboxes holds \(ByteSize.text(of: max(0, room.waiting.count))) of data, of "
                + "\(ByteSize.text(of: room.waiting.limit)) that it may (mailboxes of limits)"
        }
        let most = "\(ConfigurationLimits.mailboxBytes >> 20) MiB"
        return "its mailbox has no room for so much (\(definition.mailbox.limit) events, or \(most) of data)"
    }

    /// Why it does not take an event now though it runs: it has no room for it, or does not come to it; nil: it takes it.
    ///
    /// - Parameter size: how many bytes of its data count.
    func reluctance(ofSize size: Int) -> String? {
        let (pause, late) = status.withLock { ($0.pause, $0.watch.late) }
        let mailbox = definition.mailbox
        let bytes = loop.waitingBytes
        var lack: String?
        if mailbox.overflow != .dropOldest {
            if loop.snapshot.waiting >= mailbox.limit {
                lack = fullness
            } else if size > 0, !room.mailbox.hasRoom(for: size, beside: bytes) {
                lack = lackOfRoom
            }
        }
        let reasons = [
            pause.map { "it is paused by \($0.by)" }, late?.reason,
            lack,
        ].compactMap { $0 }
        return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
    }

    /// It is late: that is logged and shown, until it turns.
    func isLate(_ loop: LateLoop) {
        let (isFirst, isNews) = status.withLock { status in
            let now = time.now()
            let isFirst = status.watch.note(loop)
            if isFirst { status.lateSince = now }
            return (isFirst, status.note(at: now))
        }
        if isNews { healthChanged() }
        guard isFirst else { return }
        logger.error(
            loop.isBlocked ? "its loop is blocked" : "its loop does not turn, since no thread is free",
            metadata: .about(
                .loopBlocked,
                ["silence": "\(LateLoop.text(loop.silence))", "deadline": "\(LateLoop.text(loop.deadline))"]))
    }

    /// Asks the loop to prove that it turns: `done` is called when it does. While a proof is outstanding no other is
    /// asked for, and all who ask are told; of more than ``mostProofs`` the first to ask no longer is.
    func probe(_ done: @escaping @Sendable () -> Void) {
        let (isOutstanding, dropped) = status.withLock { status in
            let isOutstanding = !status.proofs.isEmpty
            status.proofs.append(done)
            return (isOutstanding, status.proofs.count > Self.mostProofs ? status.proofs.removeFirst() : nil)
        }
        withExtendedLifetime(dropped) {}
        guard !isOutstanding else { return }
        loop.afterPending { [weak self] in
            let proofs = self?.status.withLock { status in
                defer { status.proofs = [] }
                return status.proofs
            }
            for done in proofs ?? [] { done() }
        }
    }
}

extension Health {
    /// How a system is in a state of which its author says this, or nothing.
    init(_ health: StateHealth?) {
        switch health {
        case nil, .healthy: self = .healthy
        case .degraded: self = .degraded
        case .failed: self = .failed
        }
    }
}

extension RateLimit {
    /// The how many-th time: `2 of 10 per 600s`.
    fileprivate func text(_ attempt: Int) -> String { "\(attempt) of \(self)" }

    /// That a system ends on account of a fault, or of more than the limit.
    fileprivate func ending(_ isLimit: Bool) -> String {
        isLimit ? "ended for good, after \(count) restarts or resets within \(period.brief)" : "ended for good"
    }
}

extension Logger {
    /// The same logger, which says more about where it logs from.
    func with(_ metadata: Logger.Metadata) -> Logger {
        var copy = self
        for (key, value) in metadata { copy[metadataKey: key] = value }
        return copy
    }
}
