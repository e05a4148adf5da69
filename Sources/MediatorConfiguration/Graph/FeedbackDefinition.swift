public import CommonExpression

/// The states that a feedback or a link selects.
public struct StateSelector: Sendable {
    /// The states' indices; every state for `any`.
    public var states: [Int]
    /// The indices of the compound states that it names. A step between two states inside one of these starts nothing.
    public var compounds: [Int] = []
    /// Data the state must equal; only with exactly one state or compound state, whose fields have the same indices in each state
    /// inside. Fields not named are not looked at.
    public var equals: [(field: Int, value: Value)]
    /// The condition on `state`, `now` by state index (compiled for each state's type); absent: always.
    public var conditions: [Int: Program]
    /// The text as written, for listing: `Online`, `any`, `Degraded, Offline`.
    public var text: String

    /// A selector of the given parts.
    public init(states: [Int], equals: [(field: Int, value: Value)], conditions: [Int: Program], text: String) {
        self.states = states
        self.equals = equals
        self.conditions = conditions
        self.text = text
    }
}

/// The effect of a new state on a running side effect.
public enum Strategy: String, Sendable, Hashable, CaseIterable {
    /// It is cancelled.
    case cancelOnNewState
    /// It goes on.
    case continueOnNewState
}

/// The treatment of a run that is requested while another run of the same feedback is still running.
public enum RunMode: String, Sendable, Hashable, CaseIterable {
    /// Both run.
    case parallel
    /// It is not begun.
    case single
    /// It is begun when the other has ended.
    case queued
    /// The other is ended, and then it is begun.
    case restart
}

/// The treatment of a running side effect by a reload that changes or removes its feedback.
public enum ReloadPolicy: String, Sendable, Hashable, CaseIterable {
    /// It is ended.
    case end
    /// It finishes, and its outcomes count. The new definition begins with the next run.
    case finish
    /// The reload is rejected while it runs.
    case refuse
}

/// When a probe reports its level by `onUp` and `onDown`.
public enum LevelReport: String, Sendable, Hashable, CaseIterable {
    /// Each change.
    case changes
    /// Each change, and the present level again by the next result after the entry of a state, unless an event of the
    /// probe led there.
    case entries
}

/// The reaction to a failure for which no rule makes an event.
public enum FailureReaction: String, Sendable, Hashable, CaseIterable {
    /// It is logged, and is of no importance.
    case log
    /// The system is degraded until the side effect succeeds or its state is left, as without a reaction.
    case degrade
}

/// One feedback.
public struct FeedbackDefinition: Sendable {
    /// Its name, unique within the system.
    public var name: String
    /// The place of the definition.
    public var source: SourceLocation
    /// The states in which its side effect runs.
    public var selector: StateSelector
    /// The effect of a new state on a running side effect.
    public var strategy: Strategy
    /// The treatment of runs that are requested while another is running.
    public var mode = RunMode.parallel
    /// The largest number of runs at one time, waiting ones included; at least 1.
    public var limit = FeedbackDefinition.mostRuns
    /// When the side effect runs, once the state is entered.
    public var schedule: Schedule
    /// The side effect's name in the catalogue: `run`, `emit`, `log`.
    public var effect: String
    /// By state index, since templates are compiled for each state's type: what the side effect is given, by
    /// parameter name. Variables: `state`, `now`.
    public var arguments: [Int: [String: DataProgram]]
    /// By state index, what its outcomes emit. Variables: `state`, `now`, `result`.
    public var outcomes: [Int: [String: [EmissionRule]]]
    /// The reaction to failures and exceeded time limits for which no rule makes an event, by outcome: `onFailure`,
    /// `onTimeout`.
    public var failureReactions: [String: FailureReaction] = [:]
    /// The arguments that hold a credential: their values must not be shown, logged or stored.
    public var secretArguments: Set<String>
    /// Of those, what is not written in the configuration but comes from elsewhere, as texts, where that is known apart from the
    /// rest of the argument.
    package var secretTexts: [String: Set<String>] = [:]
    /// The least distance between the runs that states request; nil: each begins at once.
    public var pace: Pace?
    /// By state index, of what a run is: those of one value are apart from those of another in `mode` and ``pace``. Nil:
    /// all are of one. Variables: `state`, `now`.
    public var key: [Int: DataProgram]?
    /// By state index, how long a run may take; nil: as long as it likes. Variables: `state`, `now`.
    public var timeout: [Int: DataProgram]?
    /// A Boolean value that indicates whether a run that fails is made again; nil: it is not.
    public var retry: RetryPolicy?
    /// By state index, how much later than its schedule says a run may begin, at random; nil: not at all.
    public var jitter: [Int: DataProgram]?

    /// The treatment of missed ticks, if the schedule has ticks.
    public var missed = MissedTicks.once
    /// The number of ticks that a run without a time limit may miss before its system is degraded.
    public var maxMissed = 10
    /// The treatment of its running side effects by a reload that changes or removes it.
    public var onReload = ReloadPolicy.end
    /// When it reports its level, if it is a probe.
    public var levelReport = LevelReport.changes
    /// The text of the definition; nil if it was not read from a file.
    var text: FeedbackText?
    /// A short summary as written, such as `every 5s: run [df, /]`. It names values from elsewhere and does not show
    /// them.
    public var summary: String { text?.summary ?? effect }
    /// The options of its runs, by their keys: `timeout`, `jitter`, `key`, `retry`, `limit` and `missed`. Options
    /// with their defaults are left out.
    public var options: [String: String] {
        var options = text?.options ?? [:]
        options["retry"] = retry.map { "\($0.times) × after \($0.delay.brief)" }
        if limit != Self.mostRuns { options["limit"] = "\(limit)" }
        switch schedule {
        case .every where missed != .once, .at where missed != .skip: options["missed"] = missed.rawValue
        default: break
        }
        return options
    }

    /// The largest value of ``maxMissed``.
    public static let mostMissed = 10_000
    /// The default and largest value of ``limit``.
    public static let mostRuns = 64

    /// A feedback of the given parts.
    public init(
        name: String, source: SourceLocation, selector: StateSelector, strategy: Strategy, schedule: Schedule,
        effect: String, arguments: [Int: [String: DataProgram]], outcomes: [Int: [String: [EmissionRule]]],
        secretArguments: Set<String>
    ) {
        self.name = name
        self.source = source
        self.selector = selector
        self.strategy = strategy
        self.schedule = schedule
        self.effect = effect
        self.arguments = arguments
        self.outcomes = outcomes
        self.secretArguments = secretArguments
    }
}

/// The least distance between the runs that states request. Durations by state index; variables: `state`, `now`.
public enum Pace: Sendable {
    /// A run begins when none other has been asked for so long, and at the latest so long after the first that was put off.
    case debounce([Int: DataProgram], maxWait: [Int: DataProgram]?)
    /// A run begins at the earliest after this time since the last one. Of the runs requested in between, only the last
    /// begins.
    case throttle([Int: DataProgram])
}

/// The rule for repeating a failed run.
public struct RetryPolicy: Sendable, Hashable {
    /// The largest number of repetitions, at least one.
    public var times: Int
    /// The delay after the first failure. It doubles after each further one.
    public var delay = RetryPolicy.defaultDelay
    /// The longest delay after a failure.
    public var maxDelay = SupervisionPolicy.defaultMaxDelay
    /// The random part by which a delay is longer or shorter: from 0 to 1.
    public var jitter = RetryPolicy.defaultJitter

    /// A policy with the delays that are usual.
    public init(times: Int) { self.times = times }

    /// The upper limit of ``times``.
    public static let mostTimes = 100
    /// One second.
    public static let defaultDelay = SupervisionPolicy.defaultDelay
    /// A tenth.
    public static let defaultJitter = 0.1
}

/// When a side effect runs.
public enum Schedule: Sendable {
    /// At once, when the state is entered.
    case atOnce
    /// Once, this long after the state was entered. Variables by state index: `state`, `now`.
    case after([Int: DataProgram])
    /// At once and then again each time this long has passed since the run before began, or as soon as it has ended
    /// if that is later.
    case every([Int: DataProgram])
    /// At points in time by the calendar, any of those listed, while the state lasts. Variables by state index: `state`,
    /// `now`.
    case at([Int: [CalendarProgram]])
}

/// Points in time by the calendar, as a feedback gives them.
public enum CalendarProgram: Sendable {
    /// As written.
    case fixed(CalendarExpression)
    /// A text that is read in each state.
    ///
    /// - Parameters:
    ///   - text: The expression as written.
    ///   - isOpen: A Boolean value that indicates whether its value may be shown.
    case computed(DataProgram, text: String, isOpen: Bool)
}

/// The treatment of ticks that passed without a run: another run took too long, the machine was asleep, or the clock
/// was set forward.
public enum MissedTicks: String, Sendable, Hashable, CaseIterable {
    /// They are left out, and so is one that could not begin within a minute. The schedule's ticks stay where they are.
    case skip
    /// One run makes up for all of them, as soon as there can be one. With `every` the interval then counts from it.
    case once
    /// Each is made up for, one after the other, but no more than ``most``. The schedule's ticks stay where they are.
    case all

    /// The largest number of ticks that are made up for.
    public static let most = 100
}

/// One rule of an outcome: the first whose condition holds emits its event.
public struct EmissionRule: Sendable {
    /// The condition; nil: always.
    public var condition: Program?
    /// The event.
    public var event: EventProgram
    /// The place of the rule; nil if the side effect emits the event itself.
    public var source: SourceLocation?
}
