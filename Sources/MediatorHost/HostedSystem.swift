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

    private struct Status {
        var isReady = false
        var lastFault: Fault?
        var isFaulty = false
        /// Why it has failed for good: it got an event that it must handle, and did not.
        var failure: Fault?
        /// When the last fault was, by the host's clock and by the calendar.
        var faultAt: Duration = .zero
        var faultTime: Timestamp?
        var faults: UInt64 = 0
        /// The index of its state, and how it is in it, as its author says.
        var state: Int
        var inState = Health.healthy
        /// How it has been, and since when, as long as it runs.
        var health = Health.starting
        var since: Timestamp
        /// Whom to tell when the loop proves that it turns.
        var proofs: [@Sendable () -> Void] = []

        /// How it is, as long as it runs.
        var present: Health {
            failure != nil || inState == .failed
                ? .failed : !isReady ? .starting : isFaulty || inState == .degraded ? .degraded : .healthy
        }

        /// Why it is not healthy, as long as it runs.
        func reason(in definition: SystemDefinition) -> String? {
            let byState = "its state is '\(definition.states[state].name)'"
            func text(_ fault: Fault) -> String { "\(fault.place): \(fault.message)" }
            switch present {
            case .healthy, .stopped: return nil
            case .failed: return failure.map(text) ?? byState
            case .degraded: return inState == .degraded ? byState : lastFault.map(text)
            case .starting:
                let wanted = definition.readyStates.map { "'\(definition.states[$0].name)'" }
                return wanted.isEmpty ? nil : "\(byState), and it is ready in \(wanted.joined(separator: " or "))"
            }
        }

        /// Looks how it is; whether that is news.
        mutating func note(at time: Timestamp) -> Bool {
            let present = present
            guard present != health else { return false }
            health = present
            since = time
            return true
        }
    }

    let definition: SystemDefinition
    let loop: Loop<SystemState, SystemEvent>
    /// What is inside.
    let behaviour: SystemBehaviour
    private let status: Mutex<Status>
    private let logger: Logger

    /// The links that begin here.
    private let outlets = JointTable<SystemState>()
    private let runners: [EffectRunner]
    private let repeats: RepeatLog
    /// What faults must not show.
    private let concealment: Concealment
    private let time: HostTime
    private let healthChanged: @Sendable () -> Void

    init(
        _ definition: SystemDefinition, behaviour: SystemBehaviour, effects: EffectCatalogue, time: HostTime,
        logger: Logger, healthChanged: @escaping @Sendable () -> Void
    ) {
        self.definition = definition
        self.behaviour = behaviour
        self.healthChanged = healthChanged
        self.time = time
        repeats = RepeatLog(time: time)
        concealment = Concealment(definition.kind?.confidential ?? [])
        self.logger = logger
        status = Mutex(
            Status(isReady: definition.readyStates.isEmpty, state: behaviour.initial.index, since: time.now()))
        let faults = FaultBox()
        let first = behaviour.initial
        let (reduce, now) = (behaviour.reduce, time.now)
        loop = Loop(
            initial: SystemState(
                index: first.index, data: first.data, since: now(), previous: nil, event: nil, serial: 1,
                original: first.original),
            feedbacks: behaviour.makeFeedbacks { faults.report($0) },
            executor: behaviour.executor ?? HostPool(),
            clock: time.clock,
            mailboxLimit: definition.mailbox.limit,
            overflow: definition.mailbox.overflow == .dropOldest ? .dropOldest : .dropNewest
        ) { state, event in
            reduce(&state, event, now) { faults.report($0) }
        }
        var runners: [EffectRunner] = []
        for feedback in definition.feedbacks {
            let runner = EffectRunner(
                definition: feedback,
                implementation: effects[feedback.effect],
                system: definition.name,
                events: definition.events,
                time: time,
                logger: logger.with(["feedback": "\(feedback.name)"]),
                note: { fault in faults.report(fault) })
            runners.append(runner)
            loop.add(
                Feedback(
                    name: feedback.name,
                    cancellation: feedback.strategy == .cancelOnNewState ? .onNewState : .never
                ) { state, _ in
                    runner.effect(for: state)
                })
        }
        self.runners = runners
        // One for all links, since a loop's feedbacks cannot be taken away.
        loop.add(.sink(name: "links") { [outlets] state, _ in outlets.show(state) })
        faults.connect { [weak self] in self?.note($0) }
        loop.setObserver(
            SystemObserver(
                definition: definition, repeats: repeats, logger: logger,
                entered: { [weak self] in self?.entered($0) }, failed: { [weak self] in self?.fail($0) }))
    }

    /// Takes links away and adds others, between two states; those that are added see the present state first. `done` is
    /// called afterwards, on the loop's turn.
    func exchange(
        _ leaving: Set<ObjectIdentifier>, for joining: [Joint<SystemState>], done: @escaping @Sendable () -> Void
    ) {
        if loop.phase == .notStarted {
            // Nothing has been shown; what joins sees the initial state at the start.
            outlets.exchange(leaving, for: joining)
            return done()
        }
        loop.afterPending { [outlets, weak loop] in
            outlets.exchange(leaving, for: joining)
            if let state = loop?.state {
                for joint in joining { joint.see(state) }
            }
            done()
        }
    }

    /// Begins to stop gently: no new events, nothing that waits for its time; what is under way may finish.
    func beginStop() {
        loop.beginStop()
        for runner in runners { runner.endWaiting() }
    }

    /// A definition with what only the system itself knows, if it is written in Swift: how it began, its transitions and
    /// its own feedbacks.
    func described(_ definition: SystemDefinition) -> SystemDefinition {
        guard definition.kind != nil else { return definition }
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
        guard let state = old.loop.state.migrated(from: old.definition, to: definition),
            let adopted = behaviour.adopt(state)
        else { return false }
        return loop.setInitial(adopted)
    }

    // MARK: Health

    /// How the system is.
    var health: Health { wellness.health }

    /// How the system is, since when unless it is stopped, and why it is not healthy.
    var wellness: (health: Health, since: Timestamp?, reason: String?) {
        switch loop.phase {
        case .notStarted: return (.starting, status.withLock { $0.since }, nil)
        case .stopping, .cancelling, .stopped: return (.stopped, nil, nil)
        case .running: return status.withLock { ($0.present, $0.since, $0.reason(in: definition)) }
        }
    }

    /// Whether it has reached a state that counts as ready.
    var isReady: Bool { status.withLock { $0.isReady } }

    /// The last fault, and how many there were.
    var faults: (last: Fault?, time: Timestamp?, count: UInt64) {
        status.withLock { ($0.lastFault, $0.faultTime, $0.faults) }
    }

    private func entered(_ state: SystemState) {
        let isReadyState = definition.readyStates.isEmpty || definition.readyStates.contains(state.index)
        let elapsed = time.elapsed()
        let isNews = status.withLock { status in
            let isOver = status.isFaulty && elapsed - status.faultAt >= Self.faultMemory
            if isReadyState { status.isReady = true }
            if isOver { status.isFaulty = false }
            status.state = state.index
            status.inState = Health(definition.stateHealth[state.index])
            // A state that was carried over may be older than the system.
            return status.note(at: max(state.since, status.since)) || state.previous == nil
        }
        if isNews { healthChanged() }
    }

    /// Notes a fault after which the system counts as failed until it is started anew.
    private func fail(_ fault: Fault) {
        note(fault, isFailure: true)
    }

    /// Notes a fault: it is counted, logged, and shown until a transition that comes a minute later or more.
    func note(_ fault: Fault) { note(fault, isFailure: false) }

    private func note(_ fault: Fault, isFailure: Bool) {
        let fault = Fault(place: fault.place, message: concealment(fault.message))
        let elapsed = time.elapsed()
        let now = time.now()
        let isNews = status.withLock { status in
            status.isFaulty = true
            if isFailure, status.failure == nil { status.failure = fault }
            status.lastFault = fault
            status.faultAt = elapsed
            status.faultTime = now
            status.faults += 1
            return status.note(at: now)
        }
        if isNews { healthChanged() }
        repeats.log(
            logger, .error, "a part of the system failed", key: fault.place, burst: 3,
            ["place": "\(fault.place)", "reason": "\(fault.message)"])
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
    fileprivate init(_ health: StateHealth?) {
        switch health {
        case nil, .healthy: self = .healthy
        case .degraded: self = .degraded
        case .failed: self = .failed
        }
    }
}

/// Carries faults out of the reducer and the feedbacks, which are made before the system it belongs to.
private final class FaultBox: Sendable {
    private let receiver = Mutex<(@Sendable (Fault) -> Void)?>(nil)

    func connect(_ receive: @escaping @Sendable (Fault) -> Void) {
        receiver.withLock { $0 = receive }
    }

    func report(_ fault: Fault) {
        let receive = receiver.withLock { $0 }
        receive?(fault)
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
