public import StrictJSON

/// No parameters, or a reply without content.
public struct Nothing: Codable, Sendable, Hashable {
    /// Nothing.
    public init() {}
}

/// The parameters of every method that asks for one thing by its name.
public struct NameParameters: Codable, Sendable, Hashable {
    /// The name.
    public var name: String

    /// A name.
    public init(name: String) {
        self.name = name
    }
}

/// The reply to `Status`.
public struct StatusReply: Codable, Sendable, Hashable {
    /// The version of the daemon.
    public var version: String
    /// Its process.
    public var pid: Int
    /// When it started (RFC 3339, UTC).
    public var started: String
    /// The health of the whole.
    public var health: Health
    /// The same in one line.
    public var statusText: String
    /// The directories of its configuration.
    public var configuration: [String]
    /// The number of configurations that have run, the first one included.
    public var generation: Int
    /// The reload, or change of a link, in progress; nil if there is none.
    public var underway: ChangeUnderway?
    /// The result of the last reload, or change of a link; nil before the first.
    public var reload: ReloadVerdict?
    /// The number of reloads and changes of links since the start.
    public var reloads: ReloadCounters
    /// The number of links whose change is in no file.
    public var transient: Int
    /// Every system, by name.
    public var systems: [SystemSummary]
    /// The number of buses.
    public var buses: Int
    /// The number of links.
    public var links: Int
    /// The right of the caller; the right to inject may hold for some systems and buses only.
    public var rights: [Right]
    /// Those, by patterns of their names; nil: everywhere, or nowhere.
    public var injectInto: InjectionTargets?
    /// Whether the daemon is about to end; nil if it is not.
    public var stopping: Bool?
    /// The side effects for whose ends the stops of systems wait, at most 100; nil without such a wait.
    public var stops: [Wait]?

    /// A reply.
    public init(
        version: String,
        pid: Int,
        started: String,
        health: Health,
        statusText: String,
        configuration: [String],
        generation: Int = 1,
        underway: ChangeUnderway? = nil,
        reload: ReloadVerdict? = nil,
        reloads: ReloadCounters = ReloadCounters(),
        transient: Int = 0,
        systems: [SystemSummary],
        buses: Int,
        links: Int,
        rights: [Right] = Right.allCases,
        injectInto: InjectionTargets? = nil,
        stopping: Bool? = nil,
        stops: [Wait]? = nil
    ) {
        self.stops = stops
        self.version = version
        self.pid = pid
        self.started = started
        self.health = health
        self.statusText = statusText
        self.configuration = configuration
        self.generation = generation
        self.underway = underway
        self.reload = reload
        self.reloads = reloads
        self.transient = transient
        self.systems = systems
        self.buses = buses
        self.links = links
        self.rights = rights
        self.injectInto = injectInto
        self.stopping = stopping
    }
}

/// The reply to `ListSystems`.
public struct ListSystemsReply: Codable, Sendable, Hashable {
    /// Every system, by name.
    public var systems: [SystemSummary]

    /// A reply.
    public init(systems: [SystemSummary]) {
        self.systems = systems
    }
}

/// The reply to `DescribeSystem`.
public struct DescribeSystemReply: Codable, Sendable, Hashable {
    /// The system.
    public var system: SystemDescription

    /// A reply.
    public init(system: SystemDescription) {
        self.system = system
    }
}

/// The reply to `ListBuses`.
public struct ListBusesReply: Codable, Sendable, Hashable {
    /// Every bus, by name.
    public var buses: [BusSummary]

    /// A reply.
    public init(buses: [BusSummary]) {
        self.buses = buses
    }
}

/// The reply to `DescribeBus`.
public struct DescribeBusReply: Codable, Sendable, Hashable {
    /// The bus.
    public var bus: BusDescription

    /// A reply.
    public init(bus: BusDescription) {
        self.bus = bus
    }
}

/// The reply to `ListLinks`.
public struct ListLinksReply: Codable, Sendable, Hashable {
    /// Every link, by name.
    public var links: [LinkSummary]

    /// A reply.
    public init(links: [LinkSummary]) {
        self.links = links
    }
}

/// The reply to `DescribeLink`.
public struct DescribeLinkReply: Codable, Sendable, Hashable {
    /// The link.
    public var link: LinkDescription

    /// A reply.
    public init(link: LinkDescription) {
        self.link = link
    }
}

/// A reply to `WatchSystem`: the present state, or a change.
public struct WatchSystemReply: Codable, Sendable, Hashable {
    /// When the state was entered (RFC 3339, UTC).
    public var time: String
    /// Whether this is the state the system was in when the watch began, rather than a change.
    public var replayed: Bool
    /// The state.
    public var state: SystemState
    /// The name of the state before.
    public var previous: String?
    /// The name of the event that brought the change.
    public var event: String?
    /// The data of that event.
    public var eventData: JSONObject?
    /// The number of changes that this watcher missed just before this one, because it read too slowly.
    public var dropped: Int

    /// A reply.
    public init(
        time: String,
        replayed: Bool,
        state: SystemState,
        previous: String? = nil,
        event: String? = nil,
        eventData: JSONObject? = nil,
        dropped: Int = 0
    ) {
        self.time = time
        self.replayed = replayed
        self.state = state
        self.previous = previous
        self.event = event
        self.eventData = eventData
        self.dropped = dropped
    }
}

/// A reply to `WatchBus`: the value the bus remembers, or one that was published.
public struct WatchBusReply: Codable, Sendable, Hashable {
    /// When the value was published (RFC 3339, UTC).
    public var time: String
    /// Whether this is the value the bus had when the watch began.
    public var replayed: Bool
    /// The value; nil when the bus remembers none yet.
    public var value: JSONValue?
    /// The number of values that this watcher missed just before this one, because it read too slowly.
    public var dropped: Int

    /// A reply.
    public init(time: String, replayed: Bool, value: JSONValue?, dropped: Int = 0) {
        self.time = time
        self.replayed = replayed
        self.value = value
        self.dropped = dropped
    }
}

/// The parameters of `Emit`.
public struct EmitParameters: Codable, Sendable, Hashable {
    /// The system the event is for.
    public var system: String
    /// The name of the event.
    public var event: String
    /// The value of each of its fields; nil when it has none.
    public var data: JSONObject?

    /// An event for a system.
    public init(system: String, event: String, data: JSONObject? = nil) {
        self.system = system
        self.event = event
        self.data = data
    }
}

/// The reply to `Emit` and `Publish`.
public struct InjectionReply: Codable, Sendable, Hashable {
    /// A time just before the event or value was taken (RFC 3339, UTC): what came of it is not older. nil: a daemon that does
    /// not tell.
    public var time: String?

    /// A reply.
    public init(time: String? = nil) {
        self.time = time
    }
}

/// The reply to `ReadMetrics`.
public struct ReadMetricsReply: Codable, Sendable, Hashable {
    /// All metrics, in Prometheus' text format.
    public var text: String

    /// A reply.
    public init(text: String) {
        self.text = text
    }
}

/// The parameters of `Publish`.
public struct PublishParameters: Codable, Sendable, Hashable {
    /// The bus.
    public var bus: String
    /// The value.
    public var value: JSONValue

    /// A value for a bus.
    public init(bus: String, value: JSONValue) {
        self.bus = bus
        self.value = value
    }
}
