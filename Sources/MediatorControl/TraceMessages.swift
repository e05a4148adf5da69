public import StrictJSON

/// The parameters of `WhyNot`.
public struct WhyNotParameters: Codable, Sendable, Hashable {
    /// The system.
    public var name: String
    /// The event.
    public var event: String
    /// The values of its fields, as far as they are known; nil: none is.
    public var data: JSONObject?

    /// A question.
    public init(name: String, event: String, data: JSONObject? = nil) {
        self.name = name
        self.event = event
        self.data = data
    }
}

/// A transition on an event.
public struct CandidateTransition: Codable, Sendable, Hashable {
    /// The state it leaves as written, or `any`.
    public var from: String
    /// The event as written, or `any`.
    public var event: String
    /// The state it enters, `stay`, or `in place` if it changes the data of the state alone.
    public var to: String
    /// The condition as written.
    public var condition: String?
    /// The place of its definition: file, line and column.
    public var source: String
    /// Whether the condition holds; nil if that is not known, or does not matter.
    public var holds: Bool?
    /// Whether the condition fails, or the `set` of ``field``, which is a fault: then the event changes nothing, and no
    /// other transition is tried.
    public var fails: Bool
    /// Why.
    public var reason: String?
    /// The field of the new state whose `set` fails; if none does, one for which that is not known.
    public var field: String?
    /// The result of its `set`, or the values on which that depends.
    public var fieldReason: String?
    /// The time at which a rule of `always` applies, if its condition holds until then (RFC 3339, UTC).
    public var due: String?

    /// A transition.
    public init(
        from: String, event: String, to: String, condition: String? = nil, source: String, holds: Bool? = nil,
        fails: Bool = false, reason: String? = nil, field: String? = nil, fieldReason: String? = nil,
        due: String? = nil
    ) {
        self.due = due
        self.from = from
        self.event = event
        self.to = to
        self.condition = condition
        self.source = source
        self.holds = holds
        self.fails = fails
        self.reason = reason
        self.field = field
        self.fieldReason = fieldReason
    }
}

/// The kind of an event's sender.
public enum SenderKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// A link.
    case link
    /// A feedback of the system itself.
    case feedback
}

/// A possible sender of an event.
public struct Sender: Codable, Sendable, Hashable {
    /// The kind of the sender.
    public var kind: SenderKind
    /// Its name.
    public var name: String
    /// Its action, in a line.
    public var description: String
    /// The place of its definition: file, line and column.
    public var source: String
    /// Its obstacle.
    public var reasons: [String]
    /// The thing that it waits for, and its last action.
    public var waits: String

    /// A sender.
    public init(
        kind: SenderKind, name: String, description: String, source: String, reasons: [String] = [], waits: String
    ) {
        self.kind = kind
        self.name = name
        self.description = description
        self.source = source
        self.reasons = reasons
        self.waits = waits
    }
}

/// The reply to `WhyNot`.
public struct WhyNotReply: Codable, Sendable, Hashable {
    /// The state of the system to which the answer applies.
    public var state: SystemState
    /// When it was entered (RFC 3339, UTC).
    public var since: String
    /// The reason why the system takes no events at all, if it does not.
    public var obstacle: String?
    /// The transitions that there are for the event in this state, in the order in which they are tried.
    public var transitions: [CandidateTransition]
    /// The other states in which there are some.
    public var otherStates: [String]
    /// Whether nothing is known of its transitions, since the system is written in Swift and does not list them.
    public var opaque: Bool
    /// The possible senders of the event.
    public var senders: [Sender]
    /// The feedbacks that are written in Swift and have not sent the event yet: whether they may is not known.
    public var unknownSenders: [String]
    /// The links that are detached, so that they send nothing, whatever it would be.
    public var detached: [String]

    /// A reply.
    public init(
        state: SystemState, since: String, obstacle: String? = nil, transitions: [CandidateTransition] = [],
        otherStates: [String] = [], opaque: Bool = false, senders: [Sender] = [], unknownSenders: [String] = [],
        detached: [String] = []
    ) {
        self.state = state
        self.since = since
        self.obstacle = obstacle
        self.transitions = transitions
        self.otherStates = otherStates
        self.opaque = opaque
        self.senders = senders
        self.unknownSenders = unknownSenders
        self.detached = detached
    }
}

/// The parameters of `Trace`.
public struct TraceParameters: Codable, Sendable, Hashable {
    /// The system.
    public var name: String
    /// The limit on steps, the last ones; nil for all that are kept.
    public var limit: Int?

    /// A question.
    public init(name: String, limit: Int? = nil) {
        self.name = name
        self.limit = limit
    }
}

/// The kind of a step in a trace.
public enum TraceKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// The system began.
    case began
    /// An event led to a new state.
    case transition
    /// An event changed the data of the state in place.
    case update
    /// An event was taken, and nothing changed.
    case stay
    /// An event has no transition in the state.
    case unhandled
    /// An event was not taken.
    case dropped
    /// Something failed.
    case fault
    /// A side effect ran.
    case run
    /// A side effect did not begin, because one ran and only one may.
    case skipped
    /// Somebody paused the system.
    case paused
    /// Somebody let it go on.
    case resumed
}

/// A condition that was looked at.
public struct TraceGuard: Codable, Sendable, Hashable {
    /// As written.
    public var condition: String
    /// The place: file, line and column.
    public var source: String
    /// Whether it held.
    public var holds: Bool
    /// The reason: its operands with their values.
    public var reason: String

    /// A condition.
    public init(condition: String, source: String, holds: Bool, reason: String) {
        self.condition = condition
        self.source = source
        self.holds = holds
        self.reason = reason
    }
}

/// The outcome of a side effect.
public struct TraceOutcome: Codable, Sendable, Hashable {
    /// The outcome.
    public var name: String
    /// The result; nil also if it is too long for a reply.
    public var result: JSONObject?
    /// When (RFC 3339, UTC).
    public var time: String
    /// Whether the side effect was made again on account of it, so that it led to no event; nil: it was not.
    public var retried: Bool?
    /// The same in words, without the time.
    public var text: String

    /// An outcome.
    public init(name: String, result: JSONObject? = nil, time: String, retried: Bool? = nil, text: String) {
        self.name = name
        self.result = result
        self.time = time
        self.retried = retried
        self.text = text
    }
}

/// Something that a system did.
public struct TraceStep: Codable, Sendable, Hashable {
    /// The kind of the step.
    public var kind: TraceKind
    /// When; of a side effect, when it began (RFC 3339, UTC).
    public var time: String
    /// When a side effect had ended.
    public var ended: String?
    /// The state in which that was.
    public var state: SystemState?
    /// The name of the event.
    public var event: String?
    /// The data of the event; nil also if it is too long for a reply.
    public var data: JSONObject?
    /// The new state.
    public var entered: SystemState?
    /// The conditions of the transitions that were tried, up to the one that was taken.
    public var guards: [TraceGuard]
    /// The feedback whose side effect ran.
    public var feedback: String?
    /// The last outcome that it reported.
    public var outcomes: [TraceOutcome]
    /// The number of earlier reports.
    public var more: Int
    /// The failure, or the reason why an event was dropped.
    public var reason: String?
    /// The number of the step, from 1; nil if the daemon does not say it.
    /// Numbers that are missing are those of steps that were left out.
    public var number: Int?
    /// The same in words, without the time and the conditions.
    public var text: String

    /// A step.
    public init(
        kind: TraceKind, time: String, ended: String? = nil, state: SystemState? = nil, event: String? = nil,
        data: JSONObject? = nil, entered: SystemState? = nil, guards: [TraceGuard] = [], feedback: String? = nil,
        outcomes: [TraceOutcome] = [], more: Int = 0, reason: String? = nil, number: Int? = nil,
        text: String
    ) {
        self.kind = kind
        self.time = time
        self.ended = ended
        self.state = state
        self.event = event
        self.data = data
        self.entered = entered
        self.guards = guards
        self.feedback = feedback
        self.outcomes = outcomes
        self.more = more
        self.reason = reason
        self.number = number
        self.text = text
    }
}

/// The reply to `Trace`.
public struct TraceReply: Codable, Sendable, Hashable {
    /// The steps of the system, the oldest first.
    public var steps: [TraceStep]

    /// A reply.
    public init(steps: [TraceStep]) {
        self.steps = steps
    }
}
