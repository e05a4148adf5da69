import CommonExpression
package import Durability
package import MediatorConfiguration
package import MediatorHost

/// The states from which a host goes on: those of the store, and those that the previous daemon left with the service
/// manager.
package struct StoredStates {
    /// A part that starts without its stored state, although the store has a row of it.
    package struct Refusal: Equatable {
        package var part: String
        package var name: String
        package var reason: String
        /// The state or value that is lost, as text of bounded length; `nil` if it is unknown.
        package var lost: String?

        /// The limit on that text, in characters. It suffices to restore a small state by hand.
        static let longest = 300

        init(_ part: String, _ name: String, _ reason: String, lost: (any SavedContent)? = nil) {
            self.part = part
            self.name = name
            self.reason = reason
            let text: String? =
                switch lost {
                case let system as SavedSystem:
                    Shown.text(
                        system.state.name, .structure(Structure(type: system.state, fields: system.fields)))
                case let bus as SavedBus: bus.value.description(longest: Self.longest)
                default: nil
                }
            self.lost = text.map { $0.count > Self.longest ? String($0.prefix(Self.longest)) + "…" : $0 }
        }
    }

    /// The states and values for the host.
    package private(set) var state: HostState
    /// The names of the systems and of the buses whose states come from the store.
    package private(set) var systems: Set<String> = []
    package private(set) var buses: Set<String> = []
    /// The buses and systems that start without their stored states.
    package private(set) var refusals: [Refusal] = []
    /// The earlier names of the systems whose states come from the store under these, by their names.
    private var renamed: [String: String] = [:]
    /// The names of the systems whose rows are damaged, and that go on from no other state.
    private var damaged: Set<String> = []
    /// The number of rows without a part that persists in the configuration. They stay.
    package private(set) var unused = 0

    /// Takes the parts that persist in a graph from the store. Where the store and the inherited state have a part, the
    /// newer one counts. After a full disk, that is the inherited one.
    package init(_ contents: StoreContents?, inherited: HostState, for graph: Graph) {
        state = inherited
        let present = Set(graph.systems.map(\.name))
        var earlier: [String: String] = [:]
        for system in graph.systems { if let was = system.was, !present.contains(was) { earlier[system.name] = was } }
        for (name, was) in earlier where state.systems[name] == nil {
            (state.systems[name], state.systemDetails[name]) = (state.systems[was], state.systemDetails[was])
            (state.systems[was], state.systemDetails[was]) = (nil, nil)
        }
        guard let contents else { return }
        var flawed: Set<String> = []
        for case .row(let kind, let name, _) in contents.flaws where kind == Int64(PartKey.system) {
            flawed.insert(name)
        }
        let rows = Dictionary(contents.parts.map { ($0.key, $0) }) { _, last in last }
        for bus in graph.buses where bus.isPersisted {
            let row = rows[PartKey(kind: PartKey.bus, name: bus.name)]
            let present = state.buses[bus.name].map { SavedPart($0, state.busDetails[bus.name] ?? SavedDetails()) }
            guard let stored = take(row, "bus", bus.name, over: present) else { continue }
            (state.buses[bus.name], state.busDetails[bus.name]) = (stored.content, stored.details)
            buses.insert(bus.name)
        }
        for system in graph.systems where system.persistence == .state {
            let name = system.name
            let own = rows[PartKey(kind: PartKey.system, name: name)]
            let former = earlier[name].flatMap { rows[PartKey(kind: PartKey.system, name: $0)] }
            // The later one of both. A damaged one under the own name may be later.
            let usesFormer = former.map { own.map(\.epoch) ?? 0 < $0.epoch } ?? false && !flawed.contains(name)
            let row = usesFormer ? former : own
            let present = state.systems[name].map { SavedPart($0, state.systemDetails[name] ?? SavedDetails()) }
            guard let stored = take(row, "system", name, over: present) else { continue }
            (state.systems[name], state.systemDetails[name]) = (stored.content, stored.details)
            systems.insert(name)
            if usesFormer { renamed[name] = earlier[name] }
        }
        let now = Dictionary(earlier.map { ($1, $0) }) { first, _ in first }
        for name in flawed.map({ now[$0] ?? $0 }) where state.systems[name] == nil { damaged.insert(name) }
        unused = rows.count - graph.persisted.intersection(rows.keys).count
    }

    /// The details of the states and values, for the host. Those from the store need not be written again.
    package var parts: SavedParts {
        let systemRefusals = refusals.lazy.filter { $0.part == "system" }.map { ($0.name, $0.reason) }
        return SavedParts(
            systems: Dictionary(
                uniqueKeysWithValues: state.systemDetails.map { name, details in
                    let was = renamed[name]
                    let isStored = systems.contains(name) && was == nil
                    return (name, SavedParts.Part(details, isStored: isStored, was: was))
                }),
            buses: Dictionary(
                uniqueKeysWithValues: state.busDetails.map { name, details in
                    (name, SavedParts.Part(details, isStored: buses.contains(name)))
                }),
            unusable: Dictionary(damaged.map { ($0, "it is damaged") } + systemRefusals) { $1 })
    }

    /// Returns whether a part that did not fit comes from the store.
    func has(_ refusal: Continuation.Refusal) -> Bool {
        (refusal.part == "bus" ? buses : systems).contains(refusal.name)
    }

    /// Returns the parts that go on from the store.
    func keys(without misfits: [Continuation.Refusal]) -> Set<PartKey> {
        func keys(_ names: Set<String>, _ part: String, _ kind: UInt8) -> [PartKey] {
            names.subtracting(misfits.lazy.filter { $0.part == part }.map(\.name)).map { PartKey(kind: kind, name: $0) }
        }
        return Set(keys(systems, "system", PartKey.system) + keys(buses, "bus", PartKey.bus))
    }

    /// Returns how many systems and buses go on from the store.
    func restored(_ continuation: Continuation) -> (systems: Int, buses: Int) {
        let misfits = continuation.refusals.filter(has)
        let ofBuses = misfits.count { $0.part == "bus" }
        return (systems.count - (misfits.count - ofBuses), buses.count - ofBuses)
    }

    /// Returns the part of a row; `nil` if the row is missing or unusable, or the inherited part is newer.
    private mutating func take<Content: SavedContent>(
        _ row: StoredPart?, _ part: String, _ name: String, over present: SavedPart<Content>?
    ) -> SavedPart<Content>? {
        guard let row else { return nil }
        let reason: String
        var lost: Content?
        do throws(PartCoder.Flaw) {
            let stored: SavedPart<Content> = try PartCoder.decode(row.body)
            guard SavedPart.newer(stored: stored, inherited: present) == stored else { return nil }
            if row.phase == HostChange.running { return stored }
            reason = "it had ended because of a fault"
            lost = stored.content
        } catch {
            guard present == nil else { return nil }
            reason = "\(error)"
        }
        refusals.append(Refusal(part, name, reason, lost: lost))
        guard row.key.kind == PartKey.system else { return nil }
        (state.systems[name], state.systemDetails[name]) = (nil, nil)
        return nil
    }
}

extension Graph {
    /// The parts whose states the store keeps.
    var persisted: Set<PartKey> {
        let systems = systems.lazy.filter { $0.persistence == .state }.map {
            PartKey(kind: PartKey.system, name: $0.name)
        }
        let buses = buses.lazy.filter(\.isPersisted).map { PartKey(kind: PartKey.bus, name: $0.name) }
        return Set(systems).union(buses)
    }

    /// A Boolean value that indicates whether any part persists.
    var needsStore: Bool {
        systems.contains { $0.persistence == .state } || buses.contains(where: \.isPersisted)
    }
}
