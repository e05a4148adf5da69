public import StrictJSON

/// A typed field of a state, an event or a bus value.
public struct Field: Codable, Sendable, Hashable {
    /// The name of the field.
    public var name: String
    /// Its type as the configuration writes it: `bool`, `int`, `double`, `string`, `timestamp`, `duration`, `list(T)`…
    public var type: String
    /// A further demand on the value, such as `between 0 and 65535`; nil if the type is the only one.
    public var expected: String?

    /// A field.
    public init(name: String, type: String, expected: String? = nil) {
        self.name = name
        self.type = type
        self.expected = expected
    }
}

/// A state a system may be in.
public struct StateType: Codable, Sendable, Hashable {
    /// The name of the state.
    public var name: String
    /// The fields of its data.
    public var fields: [Field]
    /// The health in this state, if the configuration has one: `degraded` or `failed`.
    public var health: String?

    /// A state type.
    public init(name: String, fields: [Field] = [], health: String? = nil) {
        self.name = name
        self.fields = fields
        self.health = health
    }
}

/// An event a system understands.
public struct EventType: Codable, Sendable, Hashable {
    /// The name of the event.
    public var name: String
    /// The fields of its data.
    public var fields: [Field]

    /// An event type.
    public init(name: String, fields: [Field] = []) {
        self.name = name
        self.fields = fields
    }
}

/// From one state to another on an event.
public struct Transition: Codable, Sendable, Hashable {
    /// The state it leaves; `any` stands for every one.
    public var from: String
    /// The event it handles; `any` stands for every one. A rule of `always` is tried after each event.
    public var event: String
    /// The state it enters.
    public var to: String
    /// The condition as written.
    public var condition: String?
    /// The time for which the condition of a rule of `always` must hold, as written.
    public var hold: String?

    /// A transition.
    public init(from: String, event: String, to: String, condition: String? = nil, hold: String? = nil) {
        self.hold = hold
        self.from = from
        self.event = event
        self.to = to
        self.condition = condition
    }
}

/// An input of a system, with its present value.
public struct Input: Codable, Sendable, Hashable {
    /// Its name.
    public var name: String
    /// The type of its values.
    public var type: String
    /// Its present value.
    public var value: JSONValue
    /// The links that set it.
    public var links: [String]

    /// An input.
    public init(name: String, type: String, value: JSONValue, links: [String] = []) {
        self.name = name
        self.type = type
        self.value = value
        self.links = links
    }
}

/// The event that a feedback emits for an outcome of its side effect.
public struct FeedbackOutcome: Codable, Sendable, Hashable {
    /// The outcome.
    public var outcome: String
    /// The name of the event.
    public var event: String
    /// The condition as written.
    public var condition: String?

    /// An outcome.
    public init(outcome: String, event: String, condition: String? = nil) {
        self.outcome = outcome
        self.event = event
        self.condition = condition
    }
}

/// A feedback at a glance.
public struct FeedbackSummary: Codable, Sendable, Hashable {
    /// The name of the feedback.
    public var name: String
    /// The state on which it runs; `any` stands for every one.
    public var onState: String
    /// `cancelOnNewState` or `continueOnNewState`.
    public var strategy: String
    /// The rule for a run that is requested while another one runs: `parallel`, `single`, `queued` or `restart`.
    public var mode: String
    /// The side effect in a few words.
    public var effect: String
    /// The number of its side effects that run.
    public var running: Int
    /// The number that waits for their time or their turn.
    public var waiting: Int
    /// When it runs next by its schedule, as RFC 3339; nil: that is not waited for.
    public var next: String?
    /// Its last result, in a few words; nil before the first one.
    public var lastResult: String?
    /// When it had its last result, as RFC 3339.
    public var lastResultTime: String?
    /// When the run began that has lasted longest, as RFC 3339; nil: none is at work.
    public var runningSince: String?
    /// The number of ticks of its schedule that came during that run; nil: none.
    public var missedTicks: Int?
    /// Which outcomes of its side effect emit which events.
    public var outcomes: [FeedbackOutcome]
    /// The reactions to failures for which no rule makes an event, by outcome: `log` or `degrade`; nil: none is written.
    public var reactions: [String: String]?
    /// The options of its runs, by their keys; nil: all have their defaults.
    public var options: [String: String]?

    /// A summary.
    public init(
        name: String, onState: String, strategy: String, mode: String = "parallel", effect: String, running: Int = 0,
        waiting: Int = 0, next: String? = nil, lastResult: String? = nil, lastResultTime: String? = nil,
        runningSince: String? = nil, missedTicks: Int? = nil, outcomes: [FeedbackOutcome] = [],
        reactions: [String: String]? = nil, options: [String: String]? = nil
    ) {
        self.options = options
        self.reactions = reactions
        self.lastResult = lastResult
        self.lastResultTime = lastResultTime
        self.runningSince = runningSince
        self.missedTicks = missedTicks
        self.outcomes = outcomes
        self.mode = mode
        self.next = next
        self.name = name
        self.onState = onState
        self.strategy = strategy
        self.effect = effect
        self.running = running
        self.waiting = waiting
    }
}

/// The rule for faults of a system. Durations are written as in the configuration, such as `10m`.
public struct Supervision: Codable, Sendable, Hashable {
    /// `continue`, `reset`, `restart`, `stop` or `escalate`.
    public var onFault: String
    /// The first delay between a fault and the restart.
    public var delay: String
    /// The longest delay between a fault and the restart.
    public var maxDelay: String
    /// The limit on restarts and resets, such as `10 per 10m`.
    public var limit: String
    /// The action beyond the limit: `stop` or `escalate`.
    public var beyond: String

    /// The action on a fault.
    public init(onFault: String, delay: String, maxDelay: String, limit: String, beyond: String) {
        self.onFault = onFault
        self.delay = delay
        self.maxDelay = maxDelay
        self.limit = limit
        self.beyond = beyond
    }
}

/// When a system counts as ready, and how long that may take.
public struct Readiness: Codable, Sendable, Hashable {
    /// The names of the states in which it is ready.
    public var states: [String]
    /// The time to reach one of them; nil for the time that the daemon waits for all.
    public var within: String?
    /// The action after that time, in the words of ``Supervision/onFault``.
    public var otherwise: String

    /// A readiness.
    public init(states: [String], within: String?, otherwise: String) {
        self.states = states
        self.within = within
        self.otherwise = otherwise
    }
}

/// Systems that belong together when one of them fails.
public struct GroupSummary: Codable, Sendable, Hashable {
    /// The name of the group.
    public var name: String
    /// `one`, `all` or `rest`.
    public var strategy: String
    /// The names of its systems, in its order.
    public var systems: [String]

    /// A group.
    public init(name: String, strategy: String, systems: [String]) {
        self.name = name
        self.strategy = strategy
        self.systems = systems
    }
}

/// A parameter of an instance of a kind or template.
public struct Parameter: Codable, Sendable, Hashable {
    /// Its name.
    public var name: String
    /// Its type, as of a field.
    public var type: String
    /// The value; nil if it has none, or must not be shown.
    public var value: JSONValue?
    /// Whether it is not shown, since it comes from a credential or from the environment.
    public var isConcealed: Bool

    /// A parameter.
    public init(name: String, type: String, value: JSONValue?, isConcealed: Bool = false) {
        self.name = name
        self.type = type
        self.value = value
        self.isConcealed = isConcealed
    }

    private enum CodingKeys: String, CodingKey {
        case name, type, value
        case isConcealed = "concealed"
    }
}

/// The limits of a mailbox.
public struct Mailbox: Codable, Sendable, Hashable {
    /// The limit on events that wait.
    public var limit: Int
    /// The policy for events beyond the limit: `dropOldest`, `dropNewest` or `fail`.
    public var overflow: String

    /// A mailbox.
    public init(limit: Int, overflow: String) {
        self.limit = limit
        self.overflow = overflow
    }
}
