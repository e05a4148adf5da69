import CommonExpression
public import MediatorConfiguration

/// The states and values of the systems and buses of a host, from which another host in another process can go on.
public struct HostState: Sendable, Hashable {
    /// The state of a system.
    public typealias System = SavedSystem
    /// The value of a bus that remembers its value.
    public typealias Bus = SavedBus

    /// The states of running systems, by the names of the systems.
    public var systems: [String: System]
    /// The values of the buses that remember them, by the names of the buses.
    public var buses: [String: Bus]
    /// The details of the states, by the names of the systems. A system without an entry has none.
    package var systemDetails: [String: SavedDetails] = [:]
    /// The details of the values, by the names of the buses. A bus without an entry has none.
    package var busDetails: [String: SavedDetails] = [:]

    /// Creates a state of some systems and buses.
    public init(systems: [String: System] = [:], buses: [String: Bus] = [:]) {
        self.systems = systems
        self.buses = buses
    }
}

/// The result of a start from an earlier state.
public struct Continuation: Sendable, Hashable {
    /// A system or a bus that starts over, although the earlier state covers it.
    public struct Refusal: Sendable, Hashable {
        /// The kind of the part: `system` or `bus`.
        public var part: String
        /// The name of the part.
        public var name: String
        /// The reason, in words.
        public var reason: String
    }

    /// A system that goes on from a state of an earlier definition.
    public struct Conversion: Sendable, Hashable {
        /// The name of the system.
        public var name: String
        /// The differences as clauses, such as `'line' is 'link' now`.
        public var changes: String
    }

    /// The number of systems that go on from their earlier states.
    public var systems = 0
    /// The number of buses that keep their earlier values.
    public var buses = 0
    /// The buses, then the systems, that start over although the earlier state covers them. Both are sorted by name.
    public var refusals: [Refusal] = []

    /// The systems that go on from states of earlier definitions, sorted by name.
    public var conversions: [Conversion] = []

    /// Creates a result.
    public init(systems: Int = 0, buses: Int = 0, refusals: [Refusal] = []) {
        self.systems = systems
        self.buses = buses
        self.refusals = refusals
    }
}

extension HostState {
    /// Returns the values that fit the buses of a graph, and the refusals of the others.
    func values(
        for graph: Graph, _ details: SavedParts, in room: HostRoom, at now: Timestamp
    ) -> (fitting: [String: BusValue], refused: [Continuation.Refusal]) {
        var fitting: [String: BusValue] = [:]
        var refused: [Continuation.Refusal] = []
        guard !buses.isEmpty else { return (fitting, refused) }
        for bus in graph.buses {
            guard let kept = buses[bus.name] else { continue }
            guard bus.kind == .currentValue else {
                refused.append(.init(part: "bus", name: bus.name, reason: "it remembers no value any more"))
                continue
            }
            guard bus.valueType == kept.type, bus.valueType.accepts(kept.value) else {
                refused.append(.init(part: "bus", name: bus.name, reason: "its values have another type now"))
                continue
            }
            // The time of its cause identifies the value of a persisted bus.
            let part = details.buses[bus.name]
            let time = part == nil ? now : kept.since
            fitting[bus.name] = BusValue(
                kept.value, ofSize: SystemEvent.size(of: kept.value), in: room, isForced: true, at: kept.since,
                because: Cause.BeginningOrigin(.restored(isStored: part?.isFromJournal == true), of: bus.name),
                causedAt: time)
        }
        return (fitting, refused)
    }

    /// Sets the systems of a set to their earlier states, as far as these fit. Returns the result for systems and buses.
    func begin(
        _ set: HostedSet, _ details: SavedParts,
        _ values: (fitting: [String: BusValue], refused: [Continuation.Refusal]), at now: Timestamp
    ) -> Continuation {
        var continuation = Continuation(buses: values.fitting.count, refusals: values.refused)
        guard !systems.isEmpty || !details.unusable.isEmpty else { return continuation }
        for system in set.systems {
            let name = system.definition.name
            if let reason = details.unusable[name] { system.tellUnused("its stored state", because: reason) }
            guard let kept = systems[name] else { continue }
            let part = details.systems[name]
            switch system.begin(in: kept, part, at: now) {
            case .same: break
            case .converted(let changes): continuation.conversions.append(.init(name: name, changes: changes))
            case .refused(let reason):
                continuation.refusals.append(.init(part: "system", name: name, reason: reason))
                system.tellUnused(
                    part?.isFromJournal == true ? "its stored state" : "its state from before the restart",
                    because: reason)
                continue
            }
            continuation.systems += 1
        }
        return continuation
    }
}

extension Host {
    /// The present states of the systems and values of the buses. After a stop, these are the last ones.
    ///
    /// Systems that have ended because of a fault, or wait for a restart, are left out. A system that has not started is
    /// left out too, unless it takes over the state of a predecessor.
    public var state: HostState {
        let set = current
        var state = HostState()
        for system in set.systems { state.systems[system.definition.name] = system.kept }
        for bus in set.buses {
            guard let carried = bus.carried else { continue }
            state.buses[bus.definition.name] = HostState.Bus(
                type: bus.definition.valueType, value: carried.value, since: carried.time)
        }
        set.addDetails(to: &state)
        return state
    }
}
