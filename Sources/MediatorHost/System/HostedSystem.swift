import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A system in its loop, configured or written in Swift.
final class HostedSystem: Sendable {
    /// The maximum number of callers that wait for an answer of ``probe(_:)``. A further one displaces the first.
    static let mostProofs = 8

    typealias Phase = SystemPhase

    /// Makes the behaviour of the system, for each incarnation.
    typealias Maker = @Sendable () throws(InitialStateError) -> SystemBehaviour

    /// Carries out the rest of a supervision decision, beyond the immediate step of this system. The duration is the
    /// time of the fault.
    typealias Supervise = @Sendable (Claim, SupervisionMachine.Decision, Duration) -> Void

    /// The definition of a system and the function that makes its behaviour.
    struct Design: Sendable {
        let definition: SystemDefinition
        let make: Maker
        /// The metrics of the runs of each feedback, in the order of the definition.
        let figures: [RunFigures]

        /// - Parameter old: The previous design, whose metrics go on.
        init(_ definition: SystemDefinition, make: @escaping Maker, after old: Design? = nil) {
            let known = old.map {
                Dictionary(zip($0.definition.feedbacks.map(\.name), $0.figures)) { first, _ in first }
            }
            self.definition = definition
            self.make = make
            figures = definition.feedbacks.map { known?[$0.name] ?? RunFigures() }
        }
    }

    let name: String
    /// The current design. Until the loop comes to the exchange, its states may be those of the previous design.
    let design: Latest<Design>
    /// The present places of the system and its parts in the configuration.
    let place: WrittenSystemPlace
    /// The present system of this name.
    let seat: Latest<Faint<HostedSystem>?>
    let status: Mutex<Status>
    let room: HostRoom
    let effects: EffectCatalogue
    /// The logger of the host. A logger with the name of the system is made for each use, because a copy for each system
    /// takes 300 bytes.
    let hostLogger: Logger
    var logger: Logger { hostLogger.with(["system": "\(name)"]) }

    /// The links that begin at the system.
    let outlets = JointTable<SystemState>()
    /// The listeners that are called when another loop has replaced the present one.
    let renewals = Listeners<Void>()
    let repeats: RepeatLog
    /// The log of transitions, which may recur for hours.
    let recurring: RepeatLog
    /// The log of the system's faults.
    let faultLog: RecurringLog
    /// The interval at which a transition or a fault that keeps repeating is logged.
    static let recurringInterval = Duration.seconds(60)
    let reports: ReportBox
    /// The mask for confidential values in faults.
    let concealment: Concealment
    let time: HostTime
    let healthChanged: @Sendable () -> Void
    /// The journal of the host, if it has one.
    let journal: HostJournal?
    /// The function that carries out supervision decisions. It is called without a lock and must not block.
    let supervise: Supervise

    /// - Parameters:
    ///   - make: The function that makes the behaviour.
    ///   - kind: The reason for the start of the system.
    ///   - old: The running system of the same name, if a reload replaces it.
    init(
        _ definition: SystemDefinition, make: @escaping Maker, because kind: Cause.BeginningOrigin.Kind,
        effects: EffectCatalogue, after old: HostedSystem? = nil, in room: HostRoom, time: HostTime,
        logger: Logger, journal: HostJournal?,
        healthChanged: @escaping @Sendable () -> Void,
        supervise: @escaping Supervise
    ) throws(InitialStateError) {
        name = definition.name
        let design = Design(definition, make: make)
        self.design = Latest(design)
        place = old?.place ?? WrittenSystemPlace(definition)
        seat = old?.seat ?? Latest(nil)
        self.room = room
        self.effects = effects
        self.healthChanged = healthChanged
        self.supervise = supervise
        self.time = time
        self.journal = journal
        reports = ReportBox(now: time.now)
        repeats = RepeatLog(time: time)
        recurring = RepeatLog(time: time, interval: Self.recurringInterval, telling: .last)
        faultLog = RecurringLog(repeats, recurring)
        concealment = Concealment(definition.kind?.confidential ?? [])
        hostLogger = logger
        let behaviour = try make()
        let first = Incarnation(
            1, of: definition, behaviour, outlets, because: Cause(Cause.BeginningOrigin(kind), at: time.now()),
            in: room, effects: effects, figures: design.figures, time: time, logger: logger, repeats: repeats,
            recurring: recurring, reports: reports.reports(of: 1),
            commits: CommitGate(of: definition, number: 1, journal: journal, reportingTo: reports, time: time))
        status = Mutex(
            Status(
                incarnation: first, supervision: SupervisionMachine(definition.supervision),
                isReady: definition.readyStates.isEmpty, words: definition, state: behaviour.initial.index,
                entered: first.loop.state.since,
                since: time.now()))
        let present = Faint(self)
        if old == nil { seat.become(present) }
        reports.connect({ present.object?.take($0) }, entered: { present.object?.entered($0, from: $1, of: $2) })
    }

    /// The current definition.
    var definition: SystemDefinition { design.now.definition }

    /// The present incarnation, which runs or has yet to start.
    var incarnation: Incarnation { status.withLock { $0.incarnation } }

    /// The loop of the present incarnation.
    var loop: Loop<SystemState, SystemEvent> { incarnation.loop }
    /// The times of the next scheduled runs, by the names of the feedbacks.
    var nextRuns: [String: Timestamp] { incarnation.nextRuns }

    /// A snapshot of the loop, with counters that include those of earlier incarnations and predecessors.
    var snapshot: LoopSnapshot {
        let incarnation = incarnation
        var snapshot = incarnation.loop.snapshot
        // Under the lock, so that the counters of an ended incarnation are included exactly once.
        snapshot.counters = status.withLock { status in
            (status.earlier + [status.incarnation]).reduce(status.counters) { $0 + $1.loop.counters }
        }
        return snapshot
    }

    /// The numbers of running and waiting side effects of each feedback.
    var runs: [FeedbackRuns] {
        let design = design.now
        let atWork = Dictionary(
            zip(design.definition.feedbacks, design.figures).map { ($0.name, $1.present.atWork) }, uniquingKeysWith: +)
        let incarnation = incarnation
        // Rules of `always` that wait are no side effects.
        let feedbacks = incarnation.loop.snapshot.feedbacks.filter { $0.name != RuleHolds.name }
        let present = feedbacks.map { feedback in
            // The own feedbacks of a system written in Swift do not tell waiting runs from running ones.
            let running = atWork[feedback.name] ?? feedback.running
            return FeedbackRuns(
                feedback: feedback.name, running: running, waiting: max(0, feedback.running - running))
        }
        // The side effects of feedbacks that a reload has removed, and that may finish.
        let names = Set(present.map(\.feedback))
        return present + incarnation.runsOfRemoved.filter { !names.contains($0.feedback) }
    }

    /// The last results and present runs of the configured feedbacks, by name.
    var progress: [String: FeedbackProgress] {
        let runners = incarnation.runners.withLock { $0.present }
        return Dictionary(
            runners.map { runner, _ in
                var progress = runner.progress
                progress.lastResult = progress.lastResult.map { String(concealment($0).prefix(200)) }
                return (runner.definition.name, progress)
            }, uniquingKeysWith: { first, _ in first })
    }

    /// The time of the restart for which the system waits.
    var begins: Timestamp? {
        status.withLock { $0.phase == .restarting ? $0.begins : nil }.flatMap(time.moment)
    }

    /// The numbers of restarts and resets.
    var treatments: (restarts: UInt64, resets: UInt64) { status.withLock { ($0.restarts, $0.resets) } }

    /// The phase of the system's life.
    var phase: Phase { status.withLock { $0.phase } }

    /// Removes links and adds others between two states. Added links see the present state first, unless they go on or
    /// have a trigger.
    ///
    /// Calls `done` afterwards: on the caller's thread if the loop does not run, or else during an activation.
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

    static func show(_ state: SystemState, to joining: [Joint<SystemState>]) {
        for joint in joining where joint.trigger == nil && !joint.goesOn { joint.see(state) }
    }

    // MARK: Life

    /// Starts the system, unless it has been started or stopped before.
    ///
    /// - Parameters:
    ///   - inputs: The events that set its inputs to their present values.
    ///   - pause: The pause with which it begins: it shows its first state, and takes no event and begins no side effect.
    func start(_ inputs: [SystemEvent] = [], pausedBy pause: Pause? = nil) {
        // The predecessor is not released under the lock.
        let (incarnation, _) = status.withLock { status -> (Incarnation?, HostedSystem?) in
            guard status.phase == .built else { return (nil, nil) }
            status.phase = .running
            status.pause = pause
            status.incarnation.commits?.count()
            return (status.incarnation, status.predecessor.take())
        }
        guard let incarnation else { return }
        start(incarnation, inputs, afterWaiting: false)
    }

    /// Sets the system in whose last state this one begins.
    func follows(_ predecessor: HostedSystem) {
        status.withLock { status in
            if status.phase == .built { status.predecessor = predecessor }
        }
    }

    /// The present state, in terms of the current definition. Before a system with a predecessor starts, it is the
    /// predecessor's state as carried over now, if that is possible.
    var presentState: SystemState { presentState(in: definition) }

    /// The present state, in terms of a definition of the system.
    func presentState(in definition: SystemDefinition) -> SystemState {
        if let old = status.withLock({ $0.predecessor }),
            let state = old.loop.state.fitted(to: definition, at: time.now())
        {
            return state
        }
        let state = loop.state
        return definition.hasWords(of: state.definition) ? state : state.exchanged(for: definition, at: time.now())
    }

    func start(_ incarnation: Incarnation, _ inputs: [SystemEvent], afterWaiting hasWaited: Bool) {
        incarnation.prepare(inputs, afterWaiting: hasWaited)
        guard let commits = incarnation.commits else { return begin(incarnation) }
        // The system, and not the journal, keeps the incarnation.
        commits.begin(in: incarnation.loop.state) { [weak self, weak incarnation] in
            if let self, let incarnation { begin(incarnation) }
        }
    }

    private func begin(_ incarnation: Incarnation) {
        // From now on, the loop itself is paused and resumed.
        let isPaused = status.withLock { status in
            incarnation.commits?.starts()
            return status.pause != nil
        }
        if incarnation.begin(isPaused: isPaused) {
            limitReadiness(of: incarnation)
        } else if phase == .running, let fault = incarnation.loop.fault {
            // More events waited for the start than the mailbox holds.
            note(Fault("the loop", message: "\(fault.error)"), of: incarnation.number, isOver: true)
        }
    }

    /// Begins a graceful stop for good. The system takes no new events and ends its timers. Running side effects may
    /// finish.
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

    /// The time limit for cancelled side effects to end when a system stops.
    static let forcedEndLimit = Duration.seconds(8)

    /// Stops gracefully and for good. After the limit, it cancels running side effects. After ``forcedEndLimit``, it
    /// leaves them behind.
    ///
    /// - Returns: `true` if all incarnations have stopped.
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
        // A side effect that observes ends at once.
        let awaited = progress.filter { $0.value.runningSince != nil }.keys.sorted()
        defer { status.withLock { $0.stopWait = nil } }
        if !awaited.isEmpty, limit > .zero, let until = awaitEnd(of: awaited, within: limit) {
            logger.notice(
                "waits for side effects to end",
                metadata: ["feedbacks": "\(awaited.joined(separator: ", "))", "until": "\(until.toMillisecond)"])
        }
        if await end(within: limit) { return true }
        let cut = runs.filter { $0.running > 0 }.map(\.feedback)
        _ = awaitEnd(of: cut, within: Self.forcedEndLimit, isCancelled: true)
        if !cut.isEmpty {
            logger.warning(
                "side effects did not end within the limit and are cancelled",
                metadata: ["feedbacks": "\(cut.joined(separator: ", "))", "limit": "\(limit)"])
        }
        for each in all { each.cancel() }
        return await end(within: Self.forcedEndLimit)
    }

    /// Notes that a stop waits for side effects to end. Returns the end of the wait, as the calendar stands now.
    private func awaitEnd(of feedbacks: [String], within limit: Duration, isCancelled: Bool = false) -> Timestamp? {
        let until = time.elapsed() + limit
        status.withLock { $0.stopWait = feedbacks.isEmpty ? nil : (feedbacks, until, isCancelled) }
        return time.moment(at: until)
    }

    /// Cancels the running side effects of a system that stops, before its limit has passed.
    func hurry() {
        let end = time.elapsed() + Self.forcedEndLimit
        let all = status.withLock { status -> [Incarnation] in
            guard status.phase == .leaving else { return [] }
            if let wait = status.stopWait { status.stopWait = (wait.feedbacks, min(wait.until, end), true) }
            return status.earlier + [status.incarnation]
        }
        for each in all { each.cancel() }
    }

    /// A Boolean value that indicates whether all incarnations have stopped.
    var hasEnded: Bool {
        let all = status.withLock { $0.earlier + [$0.incarnation] }
        return all.allSatisfy { $0.loop.phase == .stopped }
    }

}

extension Logger {
    /// Returns a copy of the logger with additional metadata.
    func with(_ metadata: Logger.Metadata) -> Logger {
        var copy = self
        for (key, value) in metadata { copy[metadataKey: key] = value }
        return copy
    }
}
