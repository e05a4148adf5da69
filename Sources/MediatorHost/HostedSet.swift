import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// What a host runs at a time: its tables, which never change. A new configuration is a new set, in which what is kept
/// is the same object.
final class HostedSet: Sendable {
    /// How many sets there have been, this one included.
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

    /// The parts are in the order of the graph.
    ///
    /// - Parameter before: the set before this one, and what has the same names in both.
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

    func system(_ name: String) -> HostedSystem? { systemIndex[name].map { systems[$0] } }
    func bus(_ name: String) -> HostedBus? { busIndex[name].map { buses[$0] } }
    func link(_ name: String) -> HostedLink? { linkIndex[name].map { links[$0] } }

    // MARK: Joining

    /// Joins the links of the buses that are new since another set, before anybody can put a value on one.
    func openBuses(after old: HostedSet) {
        let known = Set(old.buses.map { ObjectIdentifier($0.channel) })
        let new = buses.filter { !known.contains(ObjectIdentifier($0.channel)) }
        guard !new.isEmpty else { return }
        let joining = Dictionary(grouping: links, by: \.origin)
        for bus in new {
            let links = joining[ObjectIdentifier(bus.channel)] ?? []
            bus.channel.exchange([], for: links.compactMap(\.inlet)) {}
        }
    }

    /// Joins the links that are new since another set, and parts those that are gone; `done` is called once for each end
    /// whose links change. Those of buses that are new have been joined by ``openBuses(after:)``.
    ///
    /// At each system or bus that is in both, the old give way to the new between two states or values. Those of a
    /// system that is being replaced stay as they are: what it still does while it ends goes the old way.
    /// - Returns: how many ends there are, each of which calls `done`.
    func join(after old: HostedSet?, done: @escaping @Sendable () -> Void) -> Int {
        // As a rule nearly all are in the same place in both.
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
        guard !leaving.isEmpty || !joining.isEmpty else { return 0 }
        var count = 0
        // Who reads a bus is there before a system shows its state to those who write it.
        let known = old.map { Set($0.buses.map { ObjectIdentifier($0.channel) }) }
        for bus in buses {
            let id = ObjectIdentifier(bus.channel)
            guard known?.contains(id) ?? true else { continue }
            let (parts, joins) = (leaving[id] ?? [], joining[id] ?? [])
            guard !parts.isEmpty || !joins.isEmpty else { continue }
            count += 1
            bus.channel.exchange(parts, for: joins.compactMap(\.inlet), done: done)
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

    /// How each system is.
    var health: [Health] {
        guard let now = systems.first?.time.elapsed() else { return [] }
        return systems.map { $0.health(at: now) }
    }

    func systemStatus(_ index: Int) -> SystemStatus {
        let system = systems[index]
        let faults = system.faults
        let wellness = system.wellness
        let group = memberships.groups[index]
        return SystemStatus(
            definition: system.described(graph.systems[index]),
            health: wellness.health,
            healthSince: wellness.since,
            healthReason: wellness.reason,
            healthReasonSince: wellness.reasonSince,
            state: system.presentState,
            loop: system.snapshot,
            waitingBytes: system.loop.waitingBytes,
            restarts: system.treatments.restarts,
            resets: system.treatments.resets,
            faults: faults.count,
            lastFault: faults.last,
            lastFaultTime: faults.time,
            links: memberships.links[index].map { graph.links[$0].name },
            nextRuns: system.nextRuns,
            runs: system.runs,
            begins: system.begins,
            pause: system.pauseState,
            group: group.map { graph.groups[$0] },
            groupSystems: group.map { memberships.groupSystems[$0] } ?? [])
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
        let held = links[index].held
        var bus: String?
        var target: String?
        switch definition.form {
        case .systemToBus(let index, _, _), .busToSystem(let index, _, _): bus = graph.buses[index].name
        case .systemToSystem(let index, _, _): target = graph.systems[index].name
        }
        return LinkStatus(
            definition: definition, system: graph.systems[definition.system].name, bus: bus, target: target,
            fired: fired.count, lastFired: fired.last, whyOpen: held.why, dropped: held.count)
    }

    /// How one of its systems stands, for a plan.
    func running(_ name: String) -> Plan.Running? {
        system(name).map { system in
            let busy = system.runs.filter { $0.running > 0 }.map(\.feedback)
            return Plan.Running(
                state: system.presentState.index, feedbacks: busy,
                hasFailed: system.phase == .givenUp || system.phase == .restarting,
                waiting: system.pauseState == nil ? nil : system.snapshot.waiting)
        }
    }
}
