public import Varlink

/// The health of a system, or of the daemon as a whole.
public enum Health: String, Codable, Sendable, Hashable, CaseIterable {
    /// It has not yet reached a state that its configuration calls ready.
    case starting
    /// All is well.
    case healthy
    /// It runs, but not as it should.
    case degraded
    /// It has failed and is not running.
    case failed
    /// It was stopped on purpose.
    case stopped
}

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

/// The state a system is in.
public struct SystemState: Codable, Sendable, Hashable {
    /// The name of the state.
    public var name: String
    /// The value of each of its fields.
    public var data: JSONObject
    /// Whether the data is cut because there is much of it; nil if it is whole.
    public var cut: Bool?

    /// A state.
    public init(name: String, data: JSONObject = [:], cut: Bool? = nil) {
        self.name = name
        self.data = data
        self.cut = cut
    }
}

/// The counters of a system since the daemon has it.
public struct Counters: Codable, Sendable, Hashable {
    /// Events taken from the mailbox.
    public var events: Int
    /// Transitions made.
    public var transitions: Int
    /// Events that no transition handled.
    public var unhandled: Int
    /// Events dropped because the mailbox was full.
    public var dropped: Int
    /// Faults: expressions that erred, effects that broke their contract.
    public var faults: Int
    /// The number of restarts.
    public var restarts: Int
    /// The number of resets.
    public var resets: Int

    /// Counters.
    public init(
        events: Int = 0, transitions: Int = 0, unhandled: Int = 0, dropped: Int = 0, faults: Int = 0, restarts: Int = 0,
        resets: Int = 0
    ) {
        self.events = events
        self.transitions = transitions
        self.unhandled = unhandled
        self.dropped = dropped
        self.faults = faults
        self.restarts = restarts
        self.resets = resets
    }
}

/// A system at a glance.
public struct SystemSummary: Codable, Sendable, Hashable {
    /// The name of the system.
    public var name: String
    /// The description in its configuration.
    public var description: String?
    /// Its health.
    public var health: Health
    /// Since when (RFC 3339, UTC), unless it is stopped.
    public var healthSince: String?
    /// The reason why it is not healthy, in a line.
    public var healthReason: String?
    /// Since when that is the reason (RFC 3339, UTC).
    public var healthReasonSince: String?
    /// The state it is in.
    public var state: SystemState
    /// When that state was entered (RFC 3339, UTC).
    public var since: String
    /// Its counters.
    public var counters: Counters
    /// The number of side effects that run.
    public var effectsRunning: Int
    /// The number of side effects that wait for their time or their turn.
    public var effectsWaiting: Int
    /// The time of its restart (RFC 3339, UTC), if it waits for one.
    public var begins: String?
    /// The number of events in its mailbox.
    public var waiting: Int
    /// The bytes of data in those events, of events with more than 1 KiB.
    public var waitingBytes: Int
    /// Its pause.
    public var paused: Pause?

    /// A summary.
    public init(
        name: String,
        description: String? = nil,
        health: Health,
        healthSince: String? = nil,
        healthReason: String? = nil,
        healthReasonSince: String? = nil,
        state: SystemState,
        since: String,
        counters: Counters = Counters(),
        effectsRunning: Int = 0,
        effectsWaiting: Int = 0,
        begins: String? = nil,
        waiting: Int = 0,
        waitingBytes: Int = 0,
        paused: Pause? = nil
    ) {
        self.waiting = waiting
        self.waitingBytes = waitingBytes
        self.paused = paused
        self.name = name
        self.description = description
        self.health = health
        self.healthSince = healthSince
        self.healthReason = healthReason
        self.healthReasonSince = healthReasonSince
        self.state = state
        self.since = since
        self.counters = counters
        self.effectsRunning = effectsRunning
        self.effectsWaiting = effectsWaiting
        self.begins = begins
    }
}

/// From one state to another on an event.
public struct Transition: Codable, Sendable, Hashable {
    /// The state it leaves; `any` stands for every one.
    public var from: String
    /// The event it handles; `any` stands for every one.
    public var event: String
    /// The state it enters.
    public var to: String
    /// The condition as written.
    public var condition: String?

    /// A transition.
    public init(from: String, event: String, to: String, condition: String? = nil) {
        self.from = from
        self.event = event
        self.to = to
        self.condition = condition
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
    /// Which outcomes of its side effect emit which events.
    public var outcomes: [FeedbackOutcome]

    /// A summary.
    public init(
        name: String, onState: String, strategy: String, mode: String = "parallel", effect: String, running: Int = 0,
        waiting: Int = 0, next: String? = nil, outcomes: [FeedbackOutcome] = []
    ) {
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

/// Everything about a system.
public struct SystemDescription: Codable, Sendable, Hashable {
    /// The system at a glance.
    public var summary: SystemSummary
    /// The place of its definition: file and line.
    public var source: String?
    /// The template of which it is an instance: `uplink@`.
    public var template: String?
    /// The parameters of an instance of a template.
    public var instanceParameters: [Parameter]?
    /// The kind of which it is an instance, if it is written in Swift.
    public var kind: String?
    /// The parameters of the instance, with their defaults; nil if it is no instance of a kind.
    public var parameters: [Parameter]?
    /// The states it may be in.
    public var states: [StateType]
    /// The events it understands.
    public var events: [EventType]
    /// The name of the state it begins in.
    public var initialState: String
    /// Its transitions in the order in which they are tried.
    public var transitions: [Transition]
    /// Its feedbacks.
    public var feedbacks: [FeedbackSummary]
    /// The names of the links that touch it.
    public var links: [String]
    /// The last fault, and its place.
    public var lastFault: String?
    /// When that was (RFC 3339, UTC).
    public var lastFaultTime: String?
    /// The rule for its faults.
    public var supervision: Supervision
    /// The group it belongs to.
    public var group: GroupSummary?
    /// When it counts as ready; nil: as soon as it runs.
    public var ready: Readiness?
    /// The time that its loop may take for a turn, if the configuration sets one.
    public var watchdog: String?
    /// The rule for an event that its state does not handle: `ignore`, `warn` or `fault`. It is nil from an older
    /// daemon.
    public var unhandled: String?
    /// The limits of its mailbox; nil from an older daemon.
    public var mailbox: Mailbox?

    /// A description.
    public init(
        summary: SystemSummary,
        source: String? = nil,
        template: String? = nil,
        instanceParameters: [Parameter]? = nil,
        kind: String? = nil,
        parameters: [Parameter]? = nil,
        states: [StateType],
        events: [EventType],
        initialState: String,
        transitions: [Transition] = [],
        feedbacks: [FeedbackSummary] = [],
        links: [String] = [],
        lastFault: String? = nil,
        lastFaultTime: String? = nil,
        supervision: Supervision,
        group: GroupSummary? = nil,
        ready: Readiness? = nil,
        watchdog: String? = nil,
        unhandled: String? = nil,
        mailbox: Mailbox? = nil
    ) {
        self.summary = summary
        self.source = source
        self.template = template
        self.instanceParameters = instanceParameters
        self.kind = kind
        self.parameters = parameters
        self.states = states
        self.events = events
        self.initialState = initialState
        self.transitions = transitions
        self.feedbacks = feedbacks
        self.links = links
        self.lastFault = lastFault
        self.lastFaultTime = lastFaultTime
        self.supervision = supervision
        self.group = group
        self.ready = ready
        self.watchdog = watchdog
        self.unhandled = unhandled
        self.mailbox = mailbox
    }
}
