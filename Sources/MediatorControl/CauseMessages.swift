public import StrictJSON

/// The kind of a step in the chain of causes of a state.
public enum CauseKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// A system entered a state.
    case state
    /// On an event.
    case event
    /// A link sent an event, or put a value on a bus.
    case link
    /// A value of a bus.
    case value
    /// A feedback emitted.
    case feedback
    /// A feedback was due by the clock. The end of the story.
    case tick
    /// A rule of `always` applied.
    case always
    /// A system that is written in Swift did it by itself. The end of the story.
    case inside
    /// A client asked for it. The end of the story.
    case client
    /// The daemon itself asked for it. The end of the story.
    case program
    /// The system began with the daemon. The end of the story.
    case start
    /// The system began on account of a reload. The end of the story.
    case reload
    /// A reload put the system in the place of another, in whose state it is.
    case migration
    /// The system or the bus goes on from where it was when the daemon was restarted. The end of the story.
    case restored
    /// The system began again because of a fault. The chain ends here.
    case fault
    /// The value that is written as a bus's first. The end of the story.
    case firstValue
}

/// One step of the story why a system is in its state.
public struct CauseHop: Codable, Sendable, Hashable {
    /// The kind of the step.
    public var kind: CauseKind
    /// When (RFC 3339, UTC).
    public var time: String?
    /// The system that it is about.
    public var system: String?
    /// The name of its state.
    public var state: String?
    /// Of a state, the name of the state that was left for it.
    public var previous: String?
    /// When the state was entered (RFC 3339, UTC), if the event updated it in place.
    public var entered: String?
    /// The name of its event.
    public var event: String?
    /// The data of the state or the event; nil also if it is too long for a reply.
    public var data: JSONObject?
    /// The link.
    public var link: String?
    /// The bus.
    public var bus: String?
    /// The value of the bus, or the result of the side effect; nil also if it is too long for a reply.
    public var value: JSONValue?
    /// The feedback.
    public var feedback: String?
    /// The outcome of its side effect; nil: it emits by itself.
    public var outcome: String?
    /// When the event was sent (RFC 3339, UTC), where it waited for a second or longer before it was taken.
    public var sent: String?
    /// The client, as `uid 0, process 4711`.
    public var who: String?
    /// Whether the bus had the value already when the link was shown it, as after a reload.
    public var replayed: Bool
    /// The same in words, without the time.
    public var text: String

    /// A step.
    public init(
        kind: CauseKind, time: String? = nil, system: String? = nil, state: String? = nil,
        previous: String? = nil, entered: String? = nil, event: String? = nil, data: JSONObject? = nil,
        link: String? = nil, bus: String? = nil,
        value: JSONValue? = nil,
        feedback: String? = nil, outcome: String? = nil, sent: String? = nil, who: String? = nil,
        replayed: Bool = false, text: String
    ) {
        self.kind = kind
        self.time = time
        self.system = system
        self.state = state
        self.previous = previous
        self.entered = entered
        self.event = event
        self.data = data
        self.link = link
        self.bus = bus
        self.value = value
        self.feedback = feedback
        self.outcome = outcome
        self.sent = sent
        self.who = who
        self.replayed = replayed
        self.text = text
    }
}

/// The reply to `Why`.
public struct WhyReply: Codable, Sendable, Hashable {
    /// The steps, the latest first. The first one is the state itself.
    public var hops: [CauseHop]
    /// Whether earlier steps are no longer kept.
    public var cut: Bool
    /// The part of the system that does not work, with the reason; nil: all its parts work.
    public var failing: String?

    /// A reply.
    public init(hops: [CauseHop], cut: Bool = false, failing: String? = nil) {
        self.hops = hops
        self.cut = cut
        self.failing = failing
    }
}
