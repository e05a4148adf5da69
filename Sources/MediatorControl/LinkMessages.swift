/// The kinds of parts that a link joins.
public enum LinkForm: String, Codable, Sendable, Hashable, CaseIterable {
    /// States of a system become values of a bus.
    case systemToBus
    /// Values of a bus become events of a system.
    case busToSystem
    /// States of a system become events of another.
    case systemToSystem
}

/// The origin of a link.
public enum LinkOrigin: String, Codable, Sendable, Hashable, CaseIterable {
    /// From the files.
    case written
    /// By a change that is in no file.
    case attached
    /// From the files, and changed by something that is in no file.
    case changed
}

/// A link at a glance.
public struct LinkSummary: Codable, Sendable, Hashable {
    /// The name of the link.
    public var name: String
    /// The kinds of parts that it joins.
    public var form: LinkForm
    /// The system that is attached.
    public var system: String
    /// The bus it is attached to.
    public var bus: String?
    /// The other system it is attached to.
    public var toSystem: String?
    /// The link in one line for people.
    public var description: String
    /// The number of times that it fired.
    public var fired: Int
    /// When it fired last (RFC 3339, UTC).
    public var lastFired: String?
    /// Whether it is held back now: it would fire more often than its loop may, or for a value that has come over too
    /// many links.
    public var open: Bool
    /// The number of times that it was held back.
    public var dropped: Int
    /// Its origin.
    public var origin: LinkOrigin

    /// A summary.
    public init(
        name: String,
        form: LinkForm,
        system: String,
        bus: String? = nil,
        toSystem: String? = nil,
        description: String,
        fired: Int = 0,
        lastFired: String? = nil,
        open: Bool = false,
        dropped: Int = 0,
        origin: LinkOrigin = .written
    ) {
        self.name = name
        self.form = form
        self.system = system
        self.bus = bus
        self.toSystem = toSystem
        self.description = description
        self.fired = fired
        self.lastFired = lastFired
        self.open = open
        self.dropped = dropped
        self.origin = origin
    }
}

/// Everything about a link.
public struct LinkDescription: Codable, Sendable, Hashable {
    /// The link at a glance.
    public var summary: LinkSummary
    /// The place of its definition: file and line.
    public var source: String?
    /// The state or condition on which it fires, as written.
    public var condition: String?
    /// The value or event that it emits, as written.
    public var emits: String
    /// The rate at which it may fire as part of a loop, as written: `10 per 1s`.
    public var limit: String?
    /// Over how many links at most that may have come for which it fires, this one included.
    public var hops: Int?
    /// The reason why it is open, as a clause; nil if it is not.
    public var openBecause: String?
    /// The number of attempts to fire that were faults; nil from an older daemon.
    public var faults: Int?
    /// The time of the last of these faults (RFC 3339, UTC); nil before the first.
    public var lastFault: String?

    /// A description.
    public init(
        summary: LinkSummary, source: String? = nil, condition: String? = nil, emits: String, limit: String? = nil,
        hops: Int? = nil, openBecause: String? = nil, faults: Int? = nil, lastFault: String? = nil
    ) {
        self.faults = faults
        self.lastFault = lastFault
        self.summary = summary
        self.source = source
        self.condition = condition
        self.emits = emits
        self.limit = limit
        self.hops = hops
        self.openBecause = openBecause
    }
}
