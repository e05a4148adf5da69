import FeedbackKit
public import MediatorConfiguration
import Synchronization

/// Why a host does not run what it was given. Unless it was stopped meanwhile, nothing has changed.
public enum ApplyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A new system has no first state, or cannot be made.
    case initialState(InitialStateError)
    /// The host has not been started.
    case notStarted
    /// The host has been stopped.
    case stopped
    /// The host was stopped while the new configuration took the place of the old one; nothing of either runs.
    case interrupted
    /// The task was cancelled while it waited for its turn.
    case cancelled

    /// What is wrong.
    public var description: String {
        switch self {
        case .initialState(let error):
            "\(error) (\(error.source))" + (error.others.isEmpty ? "" : ", and \(error.others.count) more")
        case .notStarted: "nothing has been started yet; try again when it is"
        case .stopped: "everything is being stopped"
        case .interrupted: "not carried through: everything is being stopped"
        case .cancelled: "who asked for it no longer waits"
        }
    }
}

/// What became of a new configuration.
public struct Applied: Sendable, Hashable {
    /// What was done.
    public var plan: Plan
    /// The number of the configuration that now runs.
    public var generation: Int
    /// The new, migrated and restarted systems that were not ready in time, or are failed in the end, sorted.
    public var late: [String]
    /// By their names, how they are, and why.
    public var lateReasons: [String: String]
    /// The old systems whose side effects did not end in time, sorted; they were left behind.
    public var leftBehind: [String]
}

extension Host {
    /// How long systems that go on may take to exchange their links, before new systems start without.
    static let joinLimit = Duration.seconds(5)

    /// What would be done to run another configuration. Nothing is done.
    public func plan(for graph: Graph) -> Plan { snapshot.plan(for: graph) }

    /// Why ``apply(_:readyLimit:stopLimit:)`` would refuse a configuration on account of what is inside its systems; nil:
    /// it would not. The kinds are asked to make every system that is new or made anew, and nothing of it is started.
    public func rejection(of graph: Graph) -> ApplyError? {
        do {
            try builder.check(graph, plan(for: graph))
            return nil
        } catch {
            return .initialState(error)
        }
    }

    /// Changes what runs into another configuration. One at a time: who comes meanwhile waits.
    ///
    /// The order, and what is promised:
    /// 1. Everything new is built. If that fails, or the host is not running, nothing has changed.
    /// 2. The tables are exchanged at once: who looks in sees either the old or the new configuration.
    /// 3. At each system and bus that is kept, old links give way to new ones between two of its states or values: each
    ///    state and value goes over the links before or over those after, never both and never neither. A link that is
    ///    kept is not touched, so nothing that goes over it, or that the systems at its ends are sent, is lost, doubled
    ///    or put into another order. A link that is new or changed first sees the present state, or the present value
    ///    of a bus that remembers, as at the start of the host.
    /// 4. New systems start.
    /// 5. Systems to be replaced stop: they take the events that wait, and their side effects may finish until the
    ///    limit and tell how. What they still do goes over their old links. Then their successors start, migrated ones in the last
    ///    state of their predecessors: no two of one name run at once, and events sent meanwhile wait. A state that no
    ///    longer fits when that is so makes it a restart. Timers of a migrated state begin anew, and its links
    ///    see it again.
    /// 6. Systems that are gone stop in the same way.
    ///
    /// Nothing that was accepted is lost or counted twice. A value is accepted when ``publish(_:on:by:)`` returns, or when a
    /// link or a feedback puts it on a bus; an event is accepted when ``emit(_:to:fields:by:)`` returns, or when a link
    /// fires. What is accepted before the exchange at its bus or system goes over the old links, what is accepted after it
    /// over the new ones:
    ///
    /// - A bus that stays of its kind and of its type of values keeps its values, their order, its watchers and its counters,
    ///   whatever else changes about it. Its links are exchanged at one place among its values.
    /// - A bus whose kind or type changes is another one. The new bus has its links before anybody can find it. Who found the
    ///   old one still puts a value on that, for its old links. The new bus goes on counting from the figures of the old one
    ///   when the old systems have ended, and counts what reaches the old one later.
    /// - An event that a link sends to a system which has ended goes to the successor. If that has no event of the same name
    ///   and fields, it counts the event as refused.
    /// - A link that means the same as before goes on counting, and so do the counters of events of a migrated or restarted
    ///   system.
    ///
    /// A bus or a mailbox without room drops values and events, and counts them. A system that is paused or removed drops the
    /// events that wait when it ends. From step 2 on nothing can fail but by ``stop(within:)``, and cancelling the task has no
    /// effect.
    ///
    /// - Parameters:
    ///   - graph: what to run; checked against the same side effects as the host.
    ///   - readyLimit: how long new systems may take to become ready, each from its own start on.
    ///   - stopLimit: how long side effects of old systems may take to finish.
    @discardableResult
    public func apply(
        _ graph: Graph, readyLimit: Duration = .seconds(30), stopLimit: Duration = .seconds(10)
    ) async throws(ApplyError) -> Applied {
        guard await applies.enter() == .entered else { throw .cancelled }
        defer { applies.leave() }
        let change = try exchange(for: graph)
        // In a task of its own, which the caller's cancellation does not reach.
        let applied = await Task.detached(priority: .management) {
            await self.carryOut(change, readyLimit, stopLimit)
        }.value
        guard !isStopped else { throw .interrupted }
        return applied
    }

    private struct Change: Sendable {
        var plan: Plan
        let old: HostedSet
        let new: HostedSet
    }

    /// Steps 1 and 2.
    private func exchange(for graph: Graph) throws(ApplyError) -> Change {
        let (old, phase) = machine.withLock { ($0.set, $0.phase) }
        try Self.check(phase)
        let matching = Matching(old.graph, graph)
        let plan = Plan(matching, from: old.graph, running: old.running, to: graph)
        let new: HostedSet
        do {
            new = try builder.build(
                graph.rebased(onto: old.graph, matching, keeping: plan),
                after: SetBuilder.Predecessor(set: old, matching: matching, plan: plan))
        } catch {
            throw .initialState(error)
        }
        let gone = plan.systems.compactMap { step in
            step.action == .keep || step.action == .add ? nil : old.system(step.name)
        }
        for step in plan.systems where step.action == .migrate {
            if let system = old.system(step.name) { new.system(step.name)?.follows(system) }
        }
        new.openBuses(after: old)
        let phaseNow = machine.withLock { machine in
            if machine.phase == .running {
                machine.set = new
                machine.retiring += gone
            }
            return machine.phase
        }
        try Self.check(phaseNow)
        for step in plan.buses where step.action == .change {
            if let bus = new.bus(step.name) { bus.channel.bound(by: bus.definition.buffer) }
        }
        for system in gone {
            if let successor = new.system(system.definition.name) { system.isSucceeded(by: successor) }
        }
        room.change(to: graph.limits)
        Self.tellWhereWritten(graph, to: new)
        changes.tell(.exchanged)
        return Change(plan: plan, old: old, new: new)
    }

    /// Tells what is kept, or takes the place of another of its name, where it is written now.
    private static func tellWhereWritten(_ graph: Graph, to set: HostedSet) {
        for (system, definition) in zip(set.systems, graph.systems) { system.place.become(definition) }
        for (bus, definition) in zip(set.buses, graph.buses) { bus.place.become(definition.source) }
        for (link, definition) in zip(set.links, graph.links) { link.place.become(definition.source) }
    }

    private static func check(_ phase: Phase) throws(ApplyError) {
        switch phase {
        case .built: throw .notStarted
        case .running: break
        case .stopped: throw .stopped
        }
    }

    /// Steps 3 to 6.
    private func carryOut(_ change: Change, _ readyLimit: Duration, _ stopLimit: Duration) async -> Applied {
        await join(change)
        var plan = change.plan
        var begun: [HostedSystem] = []
        for step in plan.systems where step.action == .add {
            guard let system = change.new.system(step.name) else { continue }
            start(system)
            begun.append(system)
        }
        let started = begun
        var leftBehind: [String] = []
        async let areReady = ready(started, within: readyLimit)
        await withTaskGroup(of: (index: Int, isRestart: Bool, hasEnded: Bool).self) { group in
            for (index, step) in plan.systems.enumerated() {
                guard step.action != .keep, let old = change.old.system(step.name) else { continue }
                let successor = change.new.system(step.name)
                group.addTask {
                    let hasEnded = await old.stop(within: stopLimit)
                    var isRestart = false
                    if let successor {
                        successor.countOn(from: old)
                        if step.action == .migrate { isRestart = !successor.migrate(from: old) }
                        self.start(successor)
                    }
                    return (index, isRestart, hasEnded)
                }
            }
            for await end in group {
                if end.isRestart {
                    plan.systems[end.index].action = .restart
                    plan.systems[end.index].reason = "it went on to a state that no longer fits"
                }
                if !end.hasEnded { leftBehind.append(plan.systems[end.index].name) }
            }
        }
        let present = Set(change.new.buses.map { ObjectIdentifier($0.channel) })
        for bus in change.old.buses where !present.contains(ObjectIdentifier(bus.channel)) {
            bus.channel.close()
            change.new.bus(bus.definition.name)?.channel.countOn(from: bus.channel)
        }
        machine.withLock { $0.retiring.removeAll { $0.hasEnded } }
        let successors = plan.systems.filter { $0.action == .migrate || $0.action == .restart }
            .compactMap { change.new.system($0.name) }
        // Each has the whole time from its own start on, and both groups have it at once.
        async let areSuccessorsReady = ready(successors, within: readyLimit)
        _ = await (areReady, areSuccessorsReady)
        healthChanged.yield()
        let reasons = Self.lateReasons(started + successors)
        return Applied(
            plan: plan, generation: change.new.generation, late: reasons.keys.sorted(), lateReasons: reasons,
            leftBehind: leftBehind.sorted())
    }

    /// Of those that are not ready, or are failed: how they are, and why.
    private static func lateReasons(_ systems: [HostedSystem]) -> [String: String] {
        var reasons: [String: String] = [:]
        for system in systems {
            let wellness = system.wellness
            guard wellness.health == .failed || !system.isReady else { continue }
            let word = wellness.health == .failed ? "failed" : "not ready in time"
            reasons[system.definition.name] = word + (wellness.reason.map { ": \($0)" } ?? "")
        }
        return reasons
    }

    private func join(_ change: Change) async {
        let count = Mutex(0)
        await time.race(within: Self.joinLimit) { done in
            // Below zero until all ends have been counted.
            let ends = change.new.join(after: change.old) {
                let isLast = count.withLock { count in
                    count -= 1
                    return count == 0
                }
                if isLast { done() }
            }
            let areDone = count.withLock { count in
                count += ends
                return count == 0
            }
            if areDone { done() }
            return []
        }
    }

    private func start(_ system: HostedSystem) {
        // One that has been stopped with the host does not start.
        system.start()
    }

}
