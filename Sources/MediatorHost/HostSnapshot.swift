public import MediatorConfiguration

/// One of the configurations that a host has run, to be looked at as a whole: where another takes its place meanwhile,
/// it is still this one that is told.
public struct HostSnapshot: Sendable {
    let hosted: HostedSet

    /// How many configurations the host had run, this one included.
    public var generation: Int { hosted.generation }
    /// What it means.
    public var graph: Graph { hosted.graph }

    /// Every system, by name.
    public var systemStatuses: [SystemStatus] { hosted.systems.indices.map(hosted.systemStatus) }
    /// Every bus, by name.
    public var busStatuses: [BusStatus] { hosted.buses.indices.map(hosted.busStatus) }
    /// Every link, by name.
    public var linkStatuses: [LinkStatus] { hosted.links.indices.map(hosted.linkStatus) }

    /// One system.
    public func systemStatus(_ name: String) throws(HostError) -> SystemStatus {
        hosted.systemStatus(try hosted.systemNumber(name))
    }

    /// One bus.
    public func busStatus(_ name: String) throws(HostError) -> BusStatus {
        hosted.busStatus(try hosted.busNumber(name))
    }

    /// One link.
    public func linkStatus(_ name: String) throws(HostError) -> LinkStatus {
        hosted.linkStatus(try hosted.linkNumber(name))
    }

    /// What would be done to run another configuration in its place.
    public func plan(for graph: Graph) -> Plan { Plan(from: hosted.graph, running: hosted.running, to: graph) }

    /// How the whole is: as its worst system.
    public var health: Health { Health(ofAll: hosted.health) }

    /// One line: how many systems are how.
    public var statusText: String { Health.text(ofAll: hosted.health) }
}
