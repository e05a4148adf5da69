public import CommonExpression
import MediatorConfiguration

/// What the systems and buses of a host have come to, for another host, in another process, to go on from.
public struct HostState: Sendable, Hashable {
    /// The state of a system.
    public struct System: Sendable, Hashable {
        /// The type of its data, which has the state's name.
        public var state: StructureType
        /// Its data, in the order of the type's fields.
        public var fields: [Value]
        /// When it was entered.
        public var since: Timestamp

        /// A state.
        public init(state: StructureType, fields: [Value], since: Timestamp) {
            self.state = state
            self.fields = fields
            self.since = since
        }
    }

    /// What a bus that remembers has as its value.
    public struct Bus: Sendable, Hashable {
        /// The type of its values.
        public var type: ValueType
        /// The value, which is of that type.
        public var value: Value
        /// When it was put there.
        public var since: Timestamp

        /// A value.
        public init(type: ValueType, value: Value, since: Timestamp) {
            self.type = type
            self.value = value
            self.since = since
        }
    }

    /// The systems that run, by their names.
    public var systems: [String: System]
    /// The buses that remember, by their names.
    public var buses: [String: Bus]

    /// A state of some systems and buses.
    public init(systems: [String: System] = [:], buses: [String: Bus] = [:]) {
        self.systems = systems
        self.buses = buses
    }
}

/// What has become of the state with which a host was to go on.
public struct Continuation: Sendable, Hashable {
    /// Something that begins anew, though there was a state or a value for it.
    public struct Refusal: Sendable, Hashable {
        /// `system` or `bus`.
        public var part: String
        /// Its name.
        public var name: String
        /// Why, in words.
        public var reason: String
    }

    /// How many systems go on from the state in which they were.
    public var systems = 0
    /// How many buses have the value that they had.
    public var buses = 0
    /// What begins anew, though there was a state or a value for it: buses, then systems, by name.
    public var refusals: [Refusal] = []

    /// What has become of some.
    public init(systems: Int = 0, buses: Int = 0, refusals: [Refusal] = []) {
        self.systems = systems
        self.buses = buses
        self.refusals = refusals
    }
}

extension HostState {
    /// What fits the buses of a graph, and what does not.
    func values(
        for graph: Graph, in room: HostRoom, at now: Timestamp
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
            fitting[bus.name] = BusValue(
                kept.value, ofSize: SystemEvent.size(of: kept.value), in: room, isForced: true, at: kept.since,
                because: Cause.BeginningOrigin(.restored, of: bus.name), causedAt: now)
        }
        return (fitting, refused)
    }

    /// Has the systems of a set begin where they were.
    func begin(
        _ set: HostedSet, _ values: (fitting: [String: BusValue], refused: [Continuation.Refusal]), at now: Timestamp
    ) -> Continuation {
        var continuation = Continuation(buses: values.fitting.count, refusals: values.refused)
        guard !systems.isEmpty else { return continuation }
        for system in set.systems {
            guard let kept = systems[system.definition.name] else { continue }
            if let reason = system.begin(in: kept, at: now) {
                continuation.refusals.append(.init(part: "system", name: system.definition.name, reason: reason))
            } else {
                continuation.systems += 1
            }
        }
        return continuation
    }
}

extension Host {
    /// What its systems and buses have come to, also when it has been stopped. Systems that have ended on account of a
    /// fault, or wait to begin anew, are not in it.
    public var state: HostState {
        let set = current
        var state = HostState()
        for system in set.systems { state.systems[system.definition.name] = system.kept }
        for bus in set.buses {
            guard let carried = bus.carried else { continue }
            state.buses[bus.definition.name] = HostState.Bus(
                type: bus.definition.valueType, value: carried.value, since: carried.time)
        }
        return state
    }
}
