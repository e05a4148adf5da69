import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The systems, buses and links that a host runs. A set never changes. A new configuration is a new set, with the same objects
/// for the kept parts.
final class HostedSet: Sendable {
    /// The number of sets so far, this one included.
    let generation: Int
    let graph: Graph
    let systems: [HostedSystem]
    let buses: [HostedBus]
    let links: [HostedLink]
    private let systemIndex: [String: Int]
    private let busIndex: [String: Int]
    private let linkIndex: [String: Int]
    /// The links and groups of each part.
    let memberships: Memberships

    /// Creates a set of parts in the order of the graph.
    ///
    /// - Parameter before: The previous set, and the parts with the same names in both.
    init(
        graph: Graph, systems: [HostedSystem], buses: [HostedBus], links: [HostedLink],
        after before: (set: HostedSet, matching: Matching)?
    ) {
        func index<Part>(_ parts: [Part], _ known: [String: Int]?, _ name: (Part) -> String) -> [String: Int] {
            known ?? Dictionary(uniqueKeysWithValues: parts.enumerated().map { (name($1), $0) })
        }
        generation = (before?.set.generation ?? 0) + 1
        self.graph = graph
        self.systems = systems
        self.buses = buses
        self.links = links
        memberships = Memberships(graph)
        systemIndex = index(graph.systems, before.flatMap { $1.systems.areAligned ? $0.systemIndex : nil }) { $0.name }
        busIndex = index(graph.buses, before.flatMap { $1.buses.areAligned ? $0.busIndex : nil }) { $0.name }
        linkIndex = index(graph.links, before.flatMap { $1.links.areAligned ? $0.linkIndex : nil }) { $0.name }
    }

    func systemNumber(_ name: String) throws(HostError) -> Int {
        guard let index = systemIndex[name] else {
            throw .noSuchSystem(name, nearest: nearestName(to: name, among: graph.systems.map(\.name)))
        }
        return index
    }

    func busNumber(_ name: String) throws(HostError) -> Int {
        guard let index = busIndex[name] else {
            throw .noSuchBus(name, nearest: nearestName(to: name, among: graph.buses.map(\.name)))
        }
        return index
    }

    func linkNumber(_ name: String) throws(HostError) -> Int {
        guard let index = linkIndex[name] else {
            throw .noSuchLink(name, nearest: nearestName(to: name, among: graph.links.map(\.name)))
        }
        return index
    }

    func definition(of name: String) -> SystemDefinition? { systemIndex[name].map { graph.systems[$0] } }
    func system(_ name: String) -> HostedSystem? { systemIndex[name].map { systems[$0] } }
    func bus(_ name: String) -> HostedBus? { busIndex[name].map { buses[$0] } }
    func link(_ name: String) -> HostedLink? { linkIndex[name].map { links[$0] } }

    // MARK: Joining

    /// Adds the links of the buses that another set does not have, before a publisher can find these buses.
    func openBuses(after old: HostedSet) {
        let known = Set(old.buses.map { ObjectIdentifier($0.channel) })
        let new = buses.filter { !known.contains(ObjectIdentifier($0.channel)) }
        guard !new.isEmpty else { return }
        let joining = Dictionary(grouping: links, by: \.origin)
        for bus in new {
            let links = joining[ObjectIdentifier(bus.channel)] ?? []
            bus.channel.exchange([], for: links.compactMap { $0.inlet() }) {}
        }
    }

    /// Adds the links that another set does not have, and removes the links that only the other set has. ``openBuses(after:)``
    /// has added the links of new buses before.
    ///
    /// Each system or bus in both sets exchanges its links between two states or values. A system that is being replaced keeps
    /// its old links until it ends.
    ///
    /// - Parameters:
    ///   - exchanges: The exchanges of the systems that continue with another definition. Each gets its links with the
    ///     definition.
    ///   - heard: The links from buses whose systems have heard the present value already.
    ///   - done: A closure that each system or bus with changed links calls once.
    /// - Returns: The number of systems and buses that call `done`.
    func join(
        after old: HostedSet?, exchanging exchanges: [SystemExchange] = [], unless heard: Set<ObjectIdentifier> = [],
        done: @escaping @Sendable () -> Void
    ) -> Int {
        // Most links have the same index in both sets.
        let present = old?.links ?? []
        func others(_ links: [HostedLink], _ there: [HostedLink]) -> [HostedLink] {
            links.enumerated().filter { !there.indices.contains($0) || there[$0] !== $1 }.map(\.element)
        }
        let (moved, movedBefore) = (others(links, present), others(present, links))
        let own = Set(moved.map(ObjectIdentifier.init))
        let before = Set(movedBefore.map(ObjectIdentifier.init))
        var leaving: [ObjectIdentifier: Set<ObjectIdentifier>] = [:]
        for link in movedBefore where !own.contains(ObjectIdentifier(link)) {
            leaving[link.origin, default: []].insert(ObjectIdentifier(link))
        }
        var joining: [ObjectIdentifier: [HostedLink]] = [:]
        for link in moved where !before.contains(ObjectIdentifier(link)) {
            joining[link.origin, default: []].append(link)
        }
        guard !leaving.isEmpty || !joining.isEmpty || !exchanges.isEmpty else { return 0 }
        var count = 0
        // The readers of a bus join before systems show their states to its writers.
        let known = old.map { Set($0.buses.map { ObjectIdentifier($0.channel) }) }
        for bus in buses {
            let id = ObjectIdentifier(bus.channel)
            guard known?.contains(id) ?? true else { continue }
            let (parts, joins) = (leaving[id] ?? [], joining[id] ?? [])
            guard !parts.isEmpty || !joins.isEmpty else { continue }
            count += 1
            bus.channel.exchange(
                parts, for: joins.compactMap { $0.inlet(isHeard: heard.contains(ObjectIdentifier($0))) }, done: done)
        }
        for exchange in exchanges {
            let id = ObjectIdentifier(exchange.system)
            count += 1
            exchange.finish(
                leaving.removeValue(forKey: id) ?? [],
                for: (joining.removeValue(forKey: id) ?? []).compactMap(\.outlet),
                with: presentInputs(of: exchange.system).map(\.event), done: done)
        }
        for system in systems {
            let id = ObjectIdentifier(system)
            let (parts, joins) = (leaving[id] ?? [], joining[id] ?? [])
            guard !parts.isEmpty || !joins.isEmpty else { continue }
            count += 1
            system.exchange(parts, for: joins.compactMap(\.outlet), done: done)
        }
        return count
    }

    // MARK: Looking in

    /// The health of each system.
    var health: [Health] {
        guard let now = systems.first?.time.elapsed() else { return [] }
        return systems.map { $0.health(at: now) }
    }

    func systemStatus(_ index: Int) -> SystemStatus {
        let system = systems[index]
        let faults = system.faults
        let wellness = system.wellness
        let group = memberships.groups[index]
        // A later configuration may have given the system another definition.
        let state = system.presentState
        let written = graph.systems[index]
        let isInWords =
            written.states.indices.contains(state.index)
            && written.states[state.index].type == state.definition.states[state.index].type
        return SystemStatus(
            definition: isInWords ? system.described(written) : state.definition,
            health: wellness.health,
            healthSince: wellness.since,
            healthReason: wellness.reason,
            healthReasonSince: wellness.reasonSince,
            failingPart: system.failingPart,
            state: state,
            loop: system.snapshot,
            waitingBytes: system.loop.waitingBytes,
            restarts: system.treatments.restarts,
            resets: system.treatments.resets,
            faults: faults.count,
            failures: system.failures,
            lastFault: faults.last,
            lastFaultTime: faults.time,
            links: memberships.links[index].map { graph.links[$0].name },
            nextRuns: system.nextRuns,
            runs: system.runs,
            progress: system.progress,
            begins: system.begins,
            pause: system.pauseState,
            group: group.map { graph.groups[$0] },
            groupSystems: group.map { memberships.groupSystems[$0] } ?? [],
            inputs: inputs(of: index, in: system.presentState(in: written)))
    }

    private func inputs(of index: Int, in state: SystemState) -> [InputStatus] {
        guard case .structure(let values) = state.levels.inputs else { return [] }
        let links = memberships.links[index].map { graph.links[$0] }
        return zip(state.definition.inputs, values.fields).map { input, value in
            InputStatus(
                name: input.name, type: input.type, value: value,
                links: links.filter { $0.sends(input.event, to: index) }.map(\.name))
        }
    }

    func busStatus(_ index: Int) -> BusStatus {
        let bus = buses[index]
        let current = bus.current
        return BusStatus(
            definition: graph.buses[index], value: current.value, since: current.since, mediator: bus.snapshot,
            readers: memberships.readers[index].map { graph.links[$0].name },
            writers: memberships.writers[index].map { graph.links[$0].name })
    }

    func linkStatus(_ index: Int) -> LinkStatus {
        let definition = graph.links[index]
        let fired = links[index].fired
        let (held, faults) = (links[index].held, links[index].faults)
        var bus: String?
        var target: String?
        switch definition.form {
        case .systemToBus(let index, _, _), .busToSystem(let index, _, _): bus = graph.buses[index].name
        case .systemToSystem(let index, _, _): target = graph.systems[index].name
        }
        return LinkStatus(
            definition: definition, system: graph.systems[definition.system].name, bus: bus, target: target,
            fired: fired.count, lastFired: fired.last, faults: faults.count, lastFault: faults.last, whyOpen: held.why,
            dropped: held.count)
    }

    /// Returns the present situation of a system, for a plan.
    func running(_ name: String) -> Plan.Running? {
        guard let index = systemIndex[name] else { return nil }
        let (system, definition) = (systems[index], graph.systems[index])
        let runs = system.runs
        // A later configuration may have given the system another definition.
        let state = system.presentState
        return Plan.Running(
            state: definition.index(of: state.index, in: state.definition),
            feedbacks: runs.filter { $0.running > 0 }.map(\.feedback),
            waits: runs.filter { $0.running == 0 && $0.waiting > 0 }.map(\.feedback),
            hasFailed: system.phase == .givenUp || system.phase == .restarting,
            waiting: system.pauseState == nil ? nil : system.snapshot.waiting)
    }
}
