public import StrictJSON

/// The parameters of `Watch`.
public struct WatchParameters: Codable, Sendable, Hashable {
    /// Patterns of names: `*` stands for any letters and `?` for one. A prefix `system:`, `bus:` or `link:` chooses the
    /// kind. No pattern means everything.
    public var patterns: [String]
    /// An expression that a change must fulfil.
    public var condition: String?
    /// The limit on changes in each period.
    public var limit: Int?
    /// The length of a period, such as `1s`.
    public var period: String?
    /// Whether the first reply is to say that everything is watched from there on (``WatchTopic/watching``); nil: no.
    public var announce: Bool?

    private enum CodingKeys: String, CodingKey {
        case patterns
        case condition = "where"
        case limit, period, announce
    }

    /// The parameters of `Watch`.
    public init(
        patterns: [String], condition: String? = nil, limit: Int? = nil, period: String? = nil, announce: Bool? = nil
    ) {
        self.patterns = patterns
        self.condition = condition
        self.limit = limit
        self.period = period
        self.announce = announce
    }
}

/// The kind of a reply to `Watch`.
public enum WatchTopic: String, Codable, Sendable, Hashable, CaseIterable {
    /// A system is in a state.
    case state
    /// A value came on a bus.
    case value
    /// A link has fired.
    case fired
    /// A part is new, or has begun again.
    case began
    /// A part is there no longer, or has ended on account of a fault.
    case ended
    /// Some changes were left out, since there were more than the limit allows.
    case leftOut
    /// Everything that was chosen is watched from here on; only told who asks for it (``WatchParameters/announce``).
    case watching
}

/// A reply to `Watch`.
public struct WatchReply: Codable, Sendable, Hashable {
    /// When it happened (RFC 3339, UTC).
    public var time: String
    /// The kind of the reply.
    public var topic: WatchTopic
    /// The kind of the part; nil for none.
    public var kind: PartKind?
    /// The name of the part.
    public var name: String?
    /// Whether it was so before the watch began.
    public var replayed: Bool
    /// The state of a system.
    public var state: SystemState?
    /// The name of its state before; nil if the event updated the state in place.
    public var previous: String?
    /// The name of the event that brought the state, or that a link has emitted.
    public var event: String?
    /// The data of that event.
    public var eventData: JSONObject?
    /// The value on a bus, or that a link has put there.
    public var value: JSONValue?
    /// The number of changes that this watcher missed just before this one, because it read too slowly.
    public var dropped: Int
    /// The number of changes that the limit left out.
    public var leftOut: Int?

    /// A reply.
    public init(
        time: String, topic: WatchTopic, kind: PartKind? = nil, name: String? = nil, replayed: Bool = false,
        state: SystemState? = nil, previous: String? = nil, event: String? = nil, eventData: JSONObject? = nil,
        value: JSONValue? = nil, dropped: Int = 0, leftOut: Int? = nil
    ) {
        self.time = time
        self.topic = topic
        self.kind = kind
        self.name = name
        self.replayed = replayed
        self.state = state
        self.previous = previous
        self.event = event
        self.eventData = eventData
        self.value = value
        self.dropped = dropped
        self.leftOut = leftOut
    }
}
