import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A configured system in its loop.
final class HostedSystem: Sendable {
    /// How many side effects of one feedback may run at once; more are not started, which is a fault.
    static let maximumRuns = 64

    private struct Status {
        var isReady = false
        var lastFault: Fault?
        var isFaulty = false
        var faults: UInt64 = 0
        var isProbed = false
    }

    let definition: SystemDefinition
    let loop: Loop<SystemState, SystemEvent>
    private let status: Mutex<Status>
    private let logger: Logger

    private let runners: [EffectRunner]
    private let healthChanged: @Sendable () -> Void

    init(
        _ definition: SystemDefinition, initial: SystemState, effects: EffectCatalogue, time: HostTime, logger: Logger,
        healthChanged: @escaping @Sendable () -> Void
    ) {
        self.definition = definition
        self.healthChanged = healthChanged
        self.logger = logger
        status = Mutex(Status(isReady: definition.readyStates.isEmpty))
        let machine = RuleMachine(definition: definition, now: time.now)
        let faults = FaultBox()
        loop = Loop(
            initial: initial,
            executor: .sharedPool,
            clock: time.clock,
            mailboxLimit: definition.mailbox.limit,
            overflow: definition.mailbox.overflow == .dropOldest ? .dropOldest : .dropNewest
        ) { state, event in
            machine.reduce(&state, event) { faults.report($0) }
        }
        var runners: [EffectRunner] = []
        for feedback in definition.feedbacks {
            let runner = EffectRunner(
                definition: feedback,
                implementation: effects[feedback.effect],
                system: definition.name,
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
        faults.connect { [weak self] in self?.note($0) }
        loop.setObserver(SystemObserver(definition: definition, logger: logger) { [weak self] in self?.entered($0) })
    }

    /// Begins to stop gently: no new events, nothing that waits for its time; what is under way may finish.
    func beginStop() {
        loop.beginStop()
        for runner in runners { runner.endWaiting() }
    }

    // MARK: Health

    /// How the system is.
    var health: Health {
        switch loop.phase {
        case .notStarted: return .starting
        case .stopping, .cancelling, .stopped: return .stopped
        case .running:
            return status.withLock { !$0.isReady ? .starting : $0.isFaulty ? .degraded : .healthy }
        }
    }

    /// Whether it has reached a state that counts as ready.
    var isReady: Bool { status.withLock { $0.isReady } }

    /// The last fault, and how many there were.
    var faults: (last: Fault?, count: UInt64) { status.withLock { ($0.lastFault, $0.faults) } }

    private func entered(_ state: SystemState) {
        let isReadyState = definition.readyStates.isEmpty || definition.readyStates.contains(state.index)
        let isNews = status.withLock { status in
            defer {
                if isReadyState { status.isReady = true }
                status.isFaulty = false
            }
            return status.isFaulty || (isReadyState && !status.isReady) || state.previous == nil
        }
        if isNews { healthChanged() }
    }

    /// Notes a fault: it is counted, logged and shown until the next transition.
    func note(_ fault: Fault) {
        status.withLock { status in
            status.lastFault = fault
            status.isFaulty = true
            status.faults += 1
        }
        logger.error(
            "a part of the system failed", metadata: ["place": "\(fault.place)", "reason": "\(fault.message)"])
    }

    /// Asks the loop to prove that it turns: `done` is called when it does. `false` if the proof before is outstanding.
    func probe(_ done: @escaping @Sendable () -> Void) -> Bool {
        let isFree = status.withLock { status in
            defer { status.isProbed = true }
            return !status.isProbed
        }
        guard isFree else { return false }
        loop.afterPending { [weak self] in
            self?.status.withLock { $0.isProbed = false }
            done()
        }
        return true
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
