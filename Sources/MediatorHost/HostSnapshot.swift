import FeedbackKit
public import MediatorConfiguration

/// One configuration that a host has run, for reads that belong together. If a reload replaces the configuration, the
/// snapshot still describes the old one.
public struct HostSnapshot: Sendable {
    let hosted: HostedSet

    /// The number of configurations that the host had run, including this one.
    public var generation: Int { hosted.generation }
    /// The configuration as a graph.
    public var graph: Graph { hosted.graph }

    /// The statuses of all systems, by name.
    public var systemStatuses: [SystemStatus] { hosted.systems.indices.map(hosted.systemStatus) }
    /// The statuses of all buses, by name.
    public var busStatuses: [BusStatus] { hosted.buses.indices.map(hosted.busStatus) }
    /// The statuses of all links, by name.
    public var linkStatuses: [LinkStatus] { hosted.links.indices.map(hosted.linkStatus) }

    /// Returns the status of a system.
    public func systemStatus(_ name: String) throws(HostError) -> SystemStatus {
        hosted.systemStatus(try hosted.systemNumber(name))
    }

    /// Returns the status of a bus.
    public func busStatus(_ name: String) throws(HostError) -> BusStatus {
        hosted.busStatus(try hosted.busNumber(name))
    }

    /// Returns the status of a link.
    public func linkStatus(_ name: String) throws(HostError) -> LinkStatus {
        hosted.linkStatus(try hosted.linkNumber(name))
    }

    /// Returns the state of a system in a form to save. It is the last state of a system that has ended, and `nil` if the
    /// system has taken another definition.
    package func savedSystem(_ name: String) -> HostState.System? {
        guard let number = try? hosted.systemNumber(name) else { return nil }
        let state = HostState.System(hosted.systems[number].loop.state)
        return graph.systems[number].states.contains { $0.type == state?.state } ? state : nil
    }

    /// Returns the value of a bus in a form to save; `nil` if it has none.
    package func savedBus(_ name: String) -> HostState.Bus? {
        guard let number = try? hosted.busNumber(name), let carried = hosted.buses[number].carried else { return nil }
        return HostState.Bus(
            type: hosted.buses[number].definition.valueType, value: carried.value, since: carried.time)
    }

    /// Returns the plan for a replacement of this configuration by another one.
    public func plan(for graph: Graph) -> Plan { Plan(from: hosted.graph, running: hosted.running, to: graph) }

    /// The health of the whole, which is that of the worst system.
    public var health: Health { Health(ofAll: hosted.health) }

    /// The number of systems in each state of health, in one line, with parts that do not work. It holds nothing that a
    /// command has printed, because every user of the machine may read it.
    public var statusText: String {
        Health.text(ofAll: hosted.health, failing: hosted.systems.compactMap(\.failingPart))
    }
}
