public import StrictJSON

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
    /// Updates of a state in place.
    public var updates: Int
    /// Events that no transition handled.
    public var unhandled: Int
    /// Events dropped because the mailbox was full.
    public var dropped: Int
    /// Faults: expressions that erred, effects that broke their contract.
    public var faults: Int
    /// Failures of side effects that no rule handled.
    public var failures: Int
    /// The number of restarts.
    public var restarts: Int
    /// The number of resets.
    public var resets: Int

    /// Counters.
    public init(
        events: Int = 0, transitions: Int = 0, updates: Int = 0, unhandled: Int = 0, dropped: Int = 0, faults: Int = 0,
        failures: Int = 0, restarts: Int = 0, resets: Int = 0
    ) {
        self.events = events
        self.transitions = transitions
        self.updates = updates
        self.unhandled = unhandled
        self.dropped = dropped
        self.faults = faults
        self.failures = failures
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
    /// Its inputs; nil: it has none.
    public var inputs: [Input]?
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
    /// The place of its state in the store; nil if it does not persist.
    public var persistence: PersistenceStatus?
    /// Its pending waits, the first to end first; nil from an older daemon. There are at most 100, and ``waitsLeftOut``.
    public var waits: [Wait]?
    /// The number of later waits that were left out.
    public var waitsLeftOut: Int?

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
        inputs: [Input]? = nil,
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
        mailbox: Mailbox? = nil,
        persistence: PersistenceStatus? = nil,
        waits: [Wait]? = nil,
        waitsLeftOut: Int? = nil
    ) {
        self.waits = waits
        self.waitsLeftOut = waitsLeftOut
        self.summary = summary
        self.source = source
        self.template = template
        self.instanceParameters = instanceParameters
        self.kind = kind
        self.parameters = parameters
        self.states = states
        self.events = events
        self.inputs = inputs
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
        self.persistence = persistence
    }
}
