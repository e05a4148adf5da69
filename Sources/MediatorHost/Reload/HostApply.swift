import FeedbackKit
public import MediatorConfiguration
import Synchronization

/// The reason for which a host does not run a new configuration. Unless the host was stopped in the meantime, nothing has
/// changed.
public enum ApplyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A new system has no initial state or cannot be made.
    case initialState(InitialStateError)
    /// Side effects run that a reload must not end. Each string names a system and a feedback.
    case refused([String])
    /// The host has not been started.
    case notStarted
    /// The host has been stopped.
    case stopped
    /// The host was stopped while it replaced the old configuration. Neither configuration runs.
    case interrupted
    /// The task was cancelled while it waited for its turn.
    case cancelled

    /// A description of the error.
    public var description: String {
        switch self {
        case .initialState(let error):
            "\(error) (\(error.source))" + (error.others.isEmpty ? "" : ", and \(error.others.count) more")
        case .refused(let names):
            "a side effect runs that a reload must not end (onReload: refuse): "
                + "\(names.joined(separator: ", ")); try again when it has ended, or restart its system"
        case .notStarted: "nothing has been started yet; try again when it is"
        case .stopped: "everything is being stopped"
        case .interrupted: "not carried through: everything is being stopped"
        case .cancelled: "who asked for it no longer waits"
        }
    }
}

/// The result of the application of a new configuration.
public struct Applied: Sendable, Hashable {
    /// The steps that were carried out.
    public var plan: Plan
    /// The number of the configuration that now runs.
    public var generation: Int
    /// The new, changed, migrated and restarted systems that were not ready in time or that have failed, sorted.
    public var late: [String]
    /// The condition of each late system, with its cause, by system name.
    public var lateReasons: [String: String]
    /// The old systems whose side effects did not end in time, sorted. The host no longer waits for them.
    public var leftBehind: [String]
}

extension Host {
    /// The limit for the exchange of links. Afterwards, new systems start even if an exchange has not ended.
    static let joinLimit = Duration.seconds(5)

    /// Returns the plan for another configuration. Changes nothing.
    public func plan(for graph: Graph) -> Plan { snapshot.plan(for: graph) }

    /// Returns the error for which ``apply(_:readyLimit:stopLimit:)`` would reject the systems of a configuration; `nil` if it
    /// would make them. Asks the kinds to make every system that is not kept, and starts none of these systems.
    public func rejection(of graph: Graph) -> ApplyError? {
        do {
            try builder.check(graph, plan(for: graph))
            return nil
        } catch {
            return .initialState(error)
        }
    }

    /// Replaces the running configuration. Only one call does so at a time, and the others wait.
    ///
    /// The steps:
    /// 1. The host builds all new parts. If that fails, or if the host is not running, nothing has changed.
    /// 2. The host exchanges its tables at once. A reader sees either the old or the new configuration.
    /// 3. Each kept system and bus exchanges its links between two states or values. Each state and value goes over the old
    ///    links or over the new ones, never over both and never over neither. A kept link is not touched: nothing sent over it,
    ///    or to the systems at its ends, is lost, duplicated or reordered. A new or changed link first sees the present state,
    ///    or the present value of a bus that remembers, as at the start of the host. A system that changes takes no events from
    ///    step 2 on, exchanges its definition, feedbacks and links at once, and then takes its waiting events. Side effects of
    ///    feedbacks that mean the same go on.
    /// 4. New systems start.
    /// 5. Replaced systems stop. They take the events that wait, and their side effects may finish and report outcomes until
    ///    the limit. They use their old links until they end. Then their successors start, and migrated ones begin in the last
    ///    state of their predecessors. Two systems of one name never run at once, and events sent in between wait. If the last
    ///    state no longer fits, the migration becomes a restart. The timers of a migrated state start again, and its links see
    ///    the state again.
    /// 6. Removed systems stop in the same way.
    ///
    /// No accepted value or event is lost or counted twice. A value is accepted when ``publish(_:on:by:)`` returns, or when a
    /// link or a feedback puts it on a bus. An event is accepted when ``emit(_:to:fields:by:)`` returns, or when a link fires.
    /// Before the exchange at their bus or system they go over the old links, and after it over the new ones:
    ///
    /// - A bus with the same kind and the same type of values keeps its values, their order, its watchers and its counters,
    ///   even if its definition changes otherwise. Its links change at one point between two values.
    /// - A bus whose kind or type changes is replaced. The new bus has its links before a publisher can find it. A publisher
    ///   that found the old bus still puts its value there, for the old links. The new bus adds the counters of the old one
    ///   when the old systems have ended. It also counts later values of the old bus.
    /// - An event from a link to a system that has ended goes to the successor. If the successor has no event of the same name
    ///   and fields, it counts the event as refused.
    /// - A link that means the same keeps its counters. A changed system keeps all its counters, a migrated or restarted
    ///   one those of events.
    ///
    /// A bus or a mailbox without room drops values and events, and counts them. A paused system drops its waiting events when
    /// it ends, and so does a system that does not end within the limit. A removed system refuses events after its end. From
    /// step 2 on, only ``stop(within:)`` can interrupt the change. Cancellation of the task then has no effect.
    ///
    /// - Parameters:
    ///   - graph: The new configuration, checked against the side effects of the host.
    ///   - readyLimit: The time in which each new system must become ready, from its own start.
    ///   - stopLimit: The time in which the side effects of old systems may finish.
    @discardableResult
    public func apply(
        _ graph: Graph, readyLimit: Duration = .seconds(30), stopLimit: Duration = .seconds(10)
    ) async throws(ApplyError) -> Applied {
        guard await applies.enter() == .entered else { throw .cancelled }
        defer { applies.leave() }
        let change = try exchange(for: graph)
        // A separate task, so that the cancellation of the caller does not reach the change.
        let applied = await Task.detached(executorPreference: time.taskExecutor, priority: .management) {
            await self.carryOut(change, readyLimit, stopLimit)
        }.value
        guard !isStopped else { throw .interrupted }
        return applied
    }

    private struct Change: Sendable {
        var plan: Plan
        let old: HostedSet
        let new: HostedSet
        /// The exchanges of the systems that continue with another definition.
        let exchanges: [SystemExchange]
        /// The added systems that go on from a removed one, by the name of that.
        let heirs: [String: HostedSystem]

        /// Returns the system that goes on from an old one.
        func successor(of old: String) -> HostedSystem? { new.system(old) ?? heirs[old] }
    }

    /// Carries out steps 1 and 2.
    private func exchange(for graph: Graph) throws(ApplyError) -> Change {
        let (old, phase) = machine.withLock { ($0.set, $0.phase) }
        try Self.check(phase)
        let matching = Matching(old.graph, graph)
        let plan = Plan(matching, from: old.graph, running: old.running, to: graph)
        let refusals = plan.refusals
        guard refusals.isEmpty else { throw .refused(refusals) }
        let new: HostedSet
        do {
            new = try builder.build(
                graph.rebased(onto: old.graph, matching, keeping: plan),
                after: SetBuilder.Predecessor(set: old, matching: matching, plan: plan))
        } catch {
            throw .initialState(error)
        }
        // A side effect may have begun while the new set was built.
        let late = Plan(matching, from: old.graph, running: old.running, to: graph).refusals
        guard late.isEmpty else { throw .refused(late) }
        let gone = plan.systems.compactMap { step in
            step.action.goesOn || step.action == .add ? nil : old.system(step.name)
        }
        for step in plan.systems where step.action == .migrate {
            if let system = old.system(step.name) { new.system(step.name)?.follows(system) }
        }
        let heirs = Dictionary(
            plan.renames.filter { $0.misfit == nil }.compactMap { rename in
                new.system(rename.name).map { (rename.was, $0) }
            }
        ) { first, _ in first }
        for (name, heir) in heirs { if let system = old.system(name) { heir.follows(system) } }
        new.openBuses(after: old)
        // The exchanges begin before anybody can find the new configuration, because events sent through it are for the new
        // definitions.
        let exchanges = try beginExchanges(plan, new)
        let phaseNow = machine.withLock { machine in
            if machine.phase == .running {
                machine.set = new
                machine.retiring += gone
            }
            return machine.phase
        }
        try Self.check(phaseNow)
        for step in plan.buses where step.action == .change {
            if let bus = new.bus(step.name) {
                bus.channel.bound(by: bus.definition.buffer)
                bus.gate?.bound(by: bus.definition.buffer)
            }
        }
        for bus in new.buses where bus.definition.isPersisted { bus.gate?.begin() }
        for bus in old.buses where new.bus(bus.definition.name)?.definition.isPersisted != true { bus.gate?.remove() }
        for system in gone {
            let name = system.definition.name
            if let successor = new.system(name) ?? heirs[name] { system.isSucceeded(by: successor) }
        }
        room.change(to: graph.limits)
        Self.tellWhereWritten(graph, to: new)
        changes.tell(.exchanged)
        return Change(plan: plan, old: old, new: new, exchanges: exchanges, heirs: heirs)
    }

    /// Begins the exchange of each system that continues with another definition.
    private func beginExchanges(_ plan: Plan, _ new: HostedSet) throws(ApplyError) -> [SystemExchange] {
        try Self.check(machine.withLock { $0.phase })
        return plan.systems.filter { $0.action == .change }.compactMap { step in
            guard let system = new.system(step.name), let definition = new.definition(of: step.name) else { return nil }
            return SystemExchange(of: system, for: builder.design(definition, after: system.design.now))
        }
    }

    /// Updates the source locations of kept parts, and of parts that replace another one of the same name.
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

    /// Carries out steps 3 to 6.
    private func carryOut(_ change: Change, _ readyLimit: Duration, _ stopLimit: Duration) async -> Applied {
        await join(change)
        for (index, system) in change.new.systems.enumerated() {
            let links = change.new.memberships.links[index].map { change.new.links[$0].identity }
            system.end(by: .kept(links: Set(links)), of: nil)
            system.incarnation.commits?.forget(
                except: Set(change.new.memberships.links[index].map { change.new.links[$0].definition.name }))
        }
        for (index, bus) in change.new.buses.enumerated() {
            bus.gate?.forget(
                except: Set(change.new.memberships.writers[index].map { change.new.links[$0].definition.name }))
        }
        var plan = change.plan
        var begun: [HostedSystem] = []
        let later = Set(change.heirs.values.map(\.definition.name))
        for step in plan.systems where step.action == .add && !later.contains(step.name) {
            guard let system = change.new.system(step.name) else { continue }
            system.start(change.new.presentInputs(of: system).map(\.event))
            begun.append(system)
        }
        let started = begun
        var leftBehind: [String] = []
        async let areReady = ready(started, within: readyLimit)
        await withTaskGroup(of: (index: Int, restarted: String?, hasEnded: Bool).self) { group in
            for (index, step) in plan.systems.enumerated() {
                guard !step.action.goesOn, let old = change.old.system(step.name) else { continue }
                let successor = change.successor(of: step.name)
                group.addTask {
                    let hasEnded = await old.stop(within: stopLimit)
                    let isHeir = step.action == .remove && successor != nil
                    var restarted: String?
                    if let successor {
                        successor.countOn(from: old)
                        if step.action == .migrate || isHeir, !successor.migrate(from: old) {
                            restarted = successor.definition.name
                        }
                        successor.start(change.new.presentInputs(of: successor).map(\.event))
                    }
                    // The state under an earlier name stays, because that under the new name may not be stored yet.
                    if successor?.definition.persistence != .state { old.incarnation.commits?.remove() }
                    return (index, restarted, hasEnded)
                }
            }
            for await end in group {
                if let name = end.restarted, let index = plan.systems.firstIndex(where: { $0.name == name }) {
                    if plan.systems[index].action == .migrate { plan.systems[index].action = .restart }
                    plan.systems[index].reason = "it went on to a state that no longer fits"
                }
                if !end.hasEnded { leftBehind.append(plan.systems[end.index].name) }
            }
        }
        let reset = Set(change.exchanges.filter(\.isReset).map(\.system.name))
        for exchange in change.exchanges where exchange.isReset {
            // The inputs are carried over.
            for link in change.new.links(into: exchange.system) where !link.setsInput {
                link.showPresent(to: exchange.system)
            }
        }
        for (index, step) in plan.systems.enumerated() where reset.contains(step.name) {
            plan.systems[index].action = .restart
            plan.systems[index].reason = "it went on to a state that no longer fits"
        }
        let present = Set(change.new.buses.map { ObjectIdentifier($0.channel) })
        for bus in change.old.buses where !present.contains(ObjectIdentifier(bus.channel)) {
            bus.channel.close()
            change.new.bus(bus.definition.name)?.channel.countOn(from: bus.channel)
        }
        machine.withLock { $0.retiring.removeAll { $0.hasEnded } }
        let successors =
            plan.systems.filter { [.change, .migrate, .restart].contains($0.action) }
            .compactMap { change.new.system($0.name) } + change.heirs.values
        // Each system has the whole limit from its own start. Both groups wait at the same time.
        async let areSuccessorsReady = ready(successors, within: readyLimit)
        _ = await (areReady, areSuccessorsReady)
        healthChanged.yield()
        let reasons = Self.lateReasons(started + successors)
        return Applied(
            plan: plan, generation: change.new.generation, late: reasons.keys.sorted(), lateReasons: reasons,
            leftBehind: leftBehind.sorted())
    }

    /// Returns the condition, with its cause, of each system that has failed or is not ready.
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
            // The count is below zero until the number of ends is added.
            let ends = change.new.join(after: change.old, exchanging: change.exchanges) {
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
}
