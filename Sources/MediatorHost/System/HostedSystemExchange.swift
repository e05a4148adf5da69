import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// The exchange of the definition of a system that goes on. The system takes no events until the exchange ends.
final class SystemExchange: Sendable {
    let system: HostedSystem
    private let old: SystemDefinition
    private let new: HostedSystem.Design
    private let incarnation: Incarnation
    private let state = Mutex(false)

    /// A Boolean value that indicates whether the system goes on in the initial state, because the new definition lacks
    /// its state.
    var isReset: Bool { state.withLock { $0 } }

    /// Begins the exchange. Incarnations that are made from now on use the new design.
    init(of system: HostedSystem, for new: HostedSystem.Design) {
        self.system = system
        self.new = new
        let before = system.design.now
        old = before.definition
        // Under the lock, so that a restart comes before or after. The loop makes no callbacks here.
        incarnation = system.status.withLock { status in
            status.incarnation.loop.awaitExchange()
            system.design.become(new)
            return status.incarnation
        }
    }

    /// Replaces the definition, the feedbacks and the links between two events, and ends the exchange. The joining links
    /// see the state, unless they go on. The inputs have the present values of their buses. Calls `done` during an activation of the loop.
    func finish(
        _ leaving: Set<ObjectIdentifier>, for joining: [Joint<SystemState>], with inputs: [SystemEvent],
        done: @escaping @Sendable () -> Void
    ) {
        let (system, old, incarnation) = (system, old, incarnation)
        incarnation.exchange(
            to: new, with: inputs, unchanged: new.definition.feedbacksUnchanged(since: old),
            willShow: { [self] state in
                self.state.withLock { $0 = !state.record.isCarriedOver }
                system.outlets.exchange(leaving, for: joining)
                system.goOn(in: state, from: old, of: incarnation)
            },
            didShow: { state in
                if state.record.isCarriedOver {
                    HostedSystem.show(state, to: joining)
                } else {
                    // Another state is news for links that go on, too.
                    system.outlets.show(state)
                }
                done()
            },
            ended: {
                // Another loop may have replaced this one.
                system.exchange(leaving, for: joining, done: done)
            })
    }
}

extension HostedSystem {
    /// Notes the exchange, during an activation of the loop.
    fileprivate func goOn(in state: SystemState, from old: SystemDefinition, of incarnation: Incarnation) {
        let definition = state.definition
        func names(_ definition: SystemDefinition) -> [String] {
            definition.readyStates.map { definition.states[$0].name }
        }
        let isSameReadiness = names(old) == names(definition)
        var forgotten: Trace.Forgotten?
        let (isNews, waiters, readiness) = status.withLock { status -> (Bool, [@Sendable () -> Void], PendingCall?) in
            guard incarnation.number == status.incarnation.number else { return (false, [], nil) }
            if !definition.hasWords(of: old) { status.trace.forgetLikenesses() }
            forgotten = status.trace.note(entered: state.record, from: nil)
            status.failure = nil
            status.words = definition
            status.state = state.index
            status.entered = state.since
            status.inState = Health(definition.stateHealth[state.index])
            status.supervision.follow(definition.supervision)
            let isReadyState = definition.readyStates.isEmpty || definition.readyStates.contains(state.index)
            status.isReady = isReadyState || (isSameReadiness && status.isReady)
            let isNews = status.note(at: time.now())
            defer { status.readiness = nil }
            return (isNews, status.takeWaiters(), status.readiness)
        }
        withExtendedLifetime(forgotten) {}
        readiness?.cancel()
        for tell in waiters { tell() }
        if isNews { healthChanged() }
        if incarnation.loop.phase == .running { limitReadiness(of: incarnation) }
        logger.info("goes on with another definition", metadata: ["state": "\(state.record.name)"])
    }
}
