public import CommonExpression

/// What a configuration means: every name resolved, every expression checked and compiled, every type known.
///
/// A graph exists only when the configuration it was made from has no error, so whoever holds one can start it
/// without further checks. References are indices into the arrays beside them.
public struct Graph: Sendable {
    /// The systems, sorted by name.
    public var systems: [SystemDefinition]
    /// The buses, sorted by name.
    public var buses: [BusDefinition]
    /// The links, sorted by name.
    public var links: [LinkDefinition]
    /// The groups, sorted by name. A system is in one at most.
    public var groups: [GroupDefinition]
    /// Who may do what over the control socket, beside those who always may.
    public var access: AccessRules
    /// How much memory the data of systems and buses may take.
    public var limits: MemoryLimits

    /// A graph of the given parts.
    public init(
        systems: [SystemDefinition] = [], buses: [BusDefinition] = [], links: [LinkDefinition] = [],
        groups: [GroupDefinition] = [], access: AccessRules = AccessRules(),
        limits: MemoryLimits = .standard
    ) {
        self.systems = systems
        self.buses = buses
        self.links = links
        self.groups = groups
        self.access = access
        self.limits = limits
    }
}

/// A place in a configuration file. Line and column count from 1; columns count Unicode scalars.
public struct SourceLocation: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The file's path as it was given or found; `<stdin>` for standard input.
    public let file: String
    /// The line, from 1.
    public let line: Int
    /// The column, from 1.
    public let column: Int

    /// A place in a file.
    public init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `file:line:column`, as compilers print it.
    public var description: String { "\(file):\(line):\(column)" }

    /// Orders by file, then line, then column.
    public static func < (left: SourceLocation, right: SourceLocation) -> Bool {
        (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
}

/// One system as configured. It never changes, and is shared rather than copied.
public final class SystemDefinition: Sendable {
    /// Its unique name.
    public let name: String
    /// What its author says it is for.
    public let description: String?
    /// Where it is written.
    public let source: SourceLocation
    /// Its states; a state's index is its identity within the system.
    public let states: [StateDefinition]
    /// Its events; an event's index is its identity within the system.
    public let events: [EventDefinition]
    /// The state it starts in.
    public let initialState: StateProgram
    /// Its feedbacks, in the order written.
    public let feedbacks: [FeedbackDefinition]
    /// For each state (first index) and event (second index) the rules to try in order; the first whose condition
    /// holds decides. The wildcards are already expanded: exact rules come first, then (state, any event), then
    /// (any state, event), then (any, any). No rule, or none that holds: the event is unhandled.
    public let rules: [[[TransitionRule]]]
    /// The transitions as written, for drawing and listing.
    public let transitions: [WrittenTransition]
    /// How many events may wait for it.
    public let mailbox: BufferPolicy
    /// The states that count as ready; empty: ready when started.
    public let readyStates: [Int]
    /// How long it may take to become ready.
    public let readinessLimit: ReadinessLimit
    /// By a state's index, how the system is in it, apart from its faults; in other states it is healthy.
    public let stateHealth: [Int: StateHealth]
    /// What becomes of an event that the state does not handle, beside that nothing changes.
    public let unhandled: UnhandledPolicy
    /// What is done when something in it has failed.
    public let supervision: SupervisionPolicy
    /// Within which time its loop is to turn, or it counts as blocked; nil: within that of the daemon.
    public let watchdog: TimeSpan?
    /// The kind of which it is an instance. What is inside is then the kind's matter: there are no rules, the initial
    /// state's index means nothing, and the feedbacks are those that the configuration adds.
    public let kind: KindInstance?
    /// The template of which it is an instance, with what it was given.
    public let instance: TemplateInstance?
    let lazyFingerprint: LazyFingerprint
    /// The same for two definitions that mean the same, wherever and in whatever order of keys they are written: 32
    /// hexadecimal digits. Worked out when it is first asked for.
    public var fingerprint: String { lazyFingerprint.text }

    /// The shortest time within which a loop can be asked to turn: a tenth of a second.
    static let shortestDeadline = TimeSpan(seconds: 0, nanoseconds: 100_000_000) ?? SupervisionPolicy.defaultDelay

    /// A definition of the given parts.
    init(
        name: String, description: String?, source: SourceLocation, states: [StateDefinition],
        events: [EventDefinition], initialState: StateProgram, feedbacks: [FeedbackDefinition],
        rules: [[[TransitionRule]]], transitions: [WrittenTransition], mailbox: BufferPolicy, readyStates: [Int],
        readinessLimit: ReadinessLimit, stateHealth: [Int: StateHealth], unhandled: UnhandledPolicy,
        supervision: SupervisionPolicy, watchdog: TimeSpan?, kind: KindInstance?, instance: TemplateInstance?,
        fingerprint: LazyFingerprint
    ) {
        self.name = name
        self.description = description
        self.source = source
        self.states = states
        self.events = events
        self.initialState = initialState
        self.feedbacks = feedbacks
        self.rules = rules
        self.transitions = transitions
        self.mailbox = mailbox
        self.readyStates = readyStates
        self.readinessLimit = readinessLimit
        self.stateHealth = stateHealth
        self.unhandled = unhandled
        self.supervision = supervision
        self.watchdog = watchdog
        self.kind = kind
        self.instance = instance
        lazyFingerprint = fingerprint
    }
}

/// What an instance of a template was given.
public struct TemplateInstance: Sendable, Hashable {
    /// The template's name: `uplink@`.
    public var template: String
    /// The values of all its parameters. Those of ``concealed`` are shown to nobody.
    public var parameters: Structure
    /// The names of the parameters that come from elsewhere, or hold something that does.
    public var concealed: Set<String>
}

/// How a system is in a state, as its author says.
public enum StateHealth: String, Sendable, Hashable, CaseIterable {
    /// It does what it is for.
    case healthy
    /// It does less than it is for.
    case degraded
    /// It does not do what it is for.
    case failed
}

/// What becomes of an event that no rule of the state handles, beside that it is counted and nothing changes.
public enum UnhandledPolicy: String, Sendable, Hashable, CaseIterable {
    /// Nothing.
    case ignore
    /// It is logged as a warning.
    case warn
    /// The system has failed.
    case fault
}

/// A state: its name and the fields of its data.
public struct StateDefinition: Sendable {
    /// Its name, unique within the system.
    public var name: String
    /// The type of its data; the type's name is the state's.
    public var type: StructureType
}

/// An event: its name and the fields it carries.
public struct EventDefinition: Sendable {
    /// Its name, unique within the system.
    public var name: String
    /// The type of its data; the type's name is the event's.
    public var type: StructureType
    /// What its data must be besides, where it is an event of a kind; nil: the type says all.
    public var rule: ValueRule?

    /// The first place where data is not what it must be; nil: there is none.
    public func breach(of data: Value) -> ValueRule.Breach? { rule?.breach(of: data, at: "") }

    /// What a field must be besides being of its type, in words; nil: the type says all.
    public func expectation(of field: String) -> String? {
        guard case .fields(let rules)? = rule else { return nil }
        return rules[field]?.text
    }
}

/// How a buffer is bounded.
public struct BufferPolicy: Sendable, Hashable {
    /// What happens to a value for which there is no room.
    public enum Overflow: String, Sendable, Hashable, CaseIterable {
        /// The oldest waiting value makes room.
        case dropOldest
        /// The new value is dropped.
        case dropNewest
        /// The new value is dropped, and what is to take it has failed. Only of a mailbox.
        case fail

        /// What may become of the values of a bus: it does nothing that could fail.
        static let ofBuses = [Overflow.dropOldest, .dropNewest]
    }
    /// How many values may wait, at least 1.
    public var limit: Int
    /// What happens beyond.
    public var overflow: Overflow

    /// A policy of the given limit.
    public init(limit: Int, overflow: Overflow) {
        self.limit = limit
        self.overflow = overflow
    }

    /// What a system has when its file says nothing: 10 000 events, the newest dropped.
    public static let mailboxDefault = BufferPolicy(limit: 10_000, overflow: .dropNewest)
    /// What a bus has when its file says nothing: 1 024 values, the oldest dropped.
    public static let busDefault = BufferPolicy(limit: 1_024, overflow: .dropOldest)
}

/// How to make the value of one field or argument.
public indirect enum DataProgram: Sendable {
    /// The same value each time.
    case constant(Value)
    /// Evaluated each time.
    case template(TemplateProgram)
    /// A structure of which some field is evaluated each time.
    case structure(StructureType, [DataProgram])
    /// A list of which some element is evaluated each time.
    case list([DataProgram])
    /// A map of which some value is evaluated each time; its keys differ.
    case map([Entry])
    /// An optional value that is there, evaluated each time.
    case optional(DataProgram)

    /// One key of a map, and how to make its value.
    public struct Entry: Sendable {
        /// The key.
        public var key: String
        /// The value.
        public var value: DataProgram

        /// An entry.
        public init(key: String, value: DataProgram) {
            self.key = key
            self.value = value
        }
    }

    /// The value, for these variables. What is constant costs nothing.
    public func evaluate(_ variables: [Value]) throws(EvaluationError) -> Value {
        var variables = Variables(variables)
        return try evaluate(&variables)
    }

    /// The value, for these variables. What is constant costs nothing.
    public func evaluate(_ variables: inout Variables) throws(EvaluationError) -> Value {
        switch self {
        case .constant(let value): return value
        case .template(let program): return try program.evaluate(&variables)
        case .structure(let type, let fields):
            // Of many a structure, for which room need not be made first.
            if fields.count == 1 {
                return .structure(Structure(type: type, fields: [try fields[0].evaluate(&variables)]))
            }
            var values: [Value] = []
            values.reserveCapacity(fields.count)
            for field in fields { values.append(try field.evaluate(&variables)) }
            return .structure(Structure(type: type, fields: values))
        case .list(let elements):
            var values: [Value] = []
            values.reserveCapacity(elements.count)
            for element in elements { values.append(try element.evaluate(&variables)) }
            return .list(values)
        case .map(let entries):
            var values: [Value: Value] = [:]
            values.reserveCapacity(entries.count)
            for entry in entries { values[.string(entry.key)] = try entry.value.evaluate(&variables) }
            return .map(values)
        case .optional(let program): return .optional(try program.evaluate(&variables))
        }
    }
}

/// How to make one field of a new state.
public enum FieldProgram: Sendable {
    /// Evaluated.
    case data(DataProgram)
    /// Kept from the old state, where it is the field of this index.
    case keep(Int)
}

/// How to make a state: which, and its fields in order.
public struct StateProgram: Sendable {
    /// The state's index.
    public var state: Int
    /// One program a field.
    public var fields: [FieldProgram]

    /// A program of the given parts.
    public init(state: Int, fields: [FieldProgram]) {
        self.state = state
        self.fields = fields
    }
}

/// How to make an event: which, and its fields in order.
public struct EventProgram: Sendable {
    /// The event's index within the system that receives it.
    public var event: Int
    /// Always a structure of the event's type.
    public var data: DataProgram
}

/// One rule of a transition. Variables of its programs: `state`, `event`, `now`, in this order.
public struct TransitionRule: Sendable {
    /// What becomes of the state.
    public enum Outcome: Sendable {
        /// A new state.
        case to(StateProgram)
        /// Handled, and nothing changes.
        case stay
    }
    /// The condition; nil: always.
    public var condition: Program?
    /// What it does.
    public var outcome: Outcome
    /// Where it is written.
    public var source: SourceLocation
}

/// A transition as its author wrote it.
public struct WrittenTransition: Sendable, Hashable {
    /// The state's name, or `any`.
    public var from: String
    /// The event's name, or `any`.
    public var event: String
    /// The new state's name, or `stay`.
    public var to: String
    /// The condition's text.
    public var condition: String?
    /// Where it is written.
    public var source: SourceLocation

    /// A transition.
    public init(from: String, event: String, to: String, condition: String? = nil, source: SourceLocation) {
        self.from = from
        self.event = event
        self.to = to
        self.condition = condition
        self.source = source
    }
}

/// Which states a feedback or a link looks at.
public struct StateSelector: Sendable {
    /// The states' indices; every state for `any`.
    public var states: [Int]
    /// Data the state must equal; only with exactly one state. Fields not named are not looked at.
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

/// What becomes of a running side effect when a new state arrives.
public enum Strategy: String, Sendable, Hashable, CaseIterable {
    /// It is cancelled.
    case cancelOnNewState
    /// It goes on.
    case continueOnNewState
}

/// What becomes of a run of a side effect that is asked for while another of the same feedback still runs.
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

/// One feedback.
public struct FeedbackDefinition: Sendable {
    /// Its name, unique within the system.
    public var name: String
    /// Where it is written.
    public var source: SourceLocation
    /// In which states its side effect runs.
    public var selector: StateSelector
    /// What a new state does to a running side effect.
    public var strategy: Strategy
    /// What becomes of runs that come while one runs.
    public var mode = RunMode.parallel
    /// How many of its runs there may be at once, those that wait included, at least 1.
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
    /// The arguments that hold a credential: their values must not be shown, logged or stored.
    public var secretArguments: Set<String>
    /// Of those, what is not written in the configuration but comes from elsewhere, as texts, where that is known apart from the
    /// rest of the argument.
    package var secretTexts: [String: Set<String>] = [:]
    /// How close together runs may be that states ask for; nil: each begins at once.
    public var pace: Pace?
    /// By state index, of what a run is: those of one value are apart from those of another in `mode` and ``pace``. Nil:
    /// all are of one. Variables: `state`, `now`.
    public var key: [Int: DataProgram]?
    /// By state index, how long a run may take; nil: as long as it likes. Variables: `state`, `now`.
    public var timeout: [Int: DataProgram]?
    /// Whether a run that fails is made again; nil: it is not.
    public var retry: RetryPolicy?
    /// By state index, how much later than its schedule says a run may begin, at random; nil: not at all.
    public var jitter: [Int: DataProgram]?

    /// What becomes of ticks that were missed, where the schedule has ticks.
    public var missed = MissedTicks.once
    /// How it is written, where it is.
    var text: FeedbackText?
    /// What it does in a few words, as it is written: `every 5s: run [df, /]`. Values from elsewhere are named, not shown.
    public var summary: String { text?.summary ?? effect }

    /// How many runs of a feedback there may be at once, unless it says so itself; it may not say more.
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

/// How close together the runs of a feedback may be that states ask for. Durations by state index; variables: `state`,
/// `now`.
public enum Pace: Sendable {
    /// A run begins when none other has been asked for so long, and at the latest so long after the first that was put off.
    case debounce([Int: DataProgram], maxWait: [Int: DataProgram]?)
    /// A run begins at least so long after the one before; of those asked for meanwhile, the last.
    case throttle([Int: DataProgram])
}

/// How often, and after which time, a run that fails is made again.
public struct RetryPolicy: Sendable, Hashable {
    /// How often it is made again at most, at least once.
    public var times: Int
    /// How long after the first failure; twice as long after each further one.
    public var delay = RetryPolicy.defaultDelay
    /// How long after a failure at most.
    public var maxDelay = SupervisionPolicy.defaultMaxDelay
    /// How much longer or shorter a delay may be, at random, as a part of it: from 0 to 1.
    public var jitter = RetryPolicy.defaultJitter

    /// A policy with the delays that are usual.
    public init(times: Int) { self.times = times }

    /// How often at most: 100 times.
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
    case computed(DataProgram)
}

/// What becomes of the ticks of a schedule whose time has passed without a run: another run took too long, the machine was
/// asleep, or the clock was set forward.
public enum MissedTicks: String, Sendable, Hashable, CaseIterable {
    /// They are left out, and so is one that could not begin within a minute. The schedule's ticks stay where they are.
    case skip
    /// One run makes up for all of them, as soon as there can be one. With `every` the interval then counts from it.
    case once
    /// Each is made up for, one after the other, but no more than ``most``. The schedule's ticks stay where they are.
    case all

    /// How many ticks are made up for at most.
    public static let most = 100
}

/// One rule of an outcome: the first whose condition holds emits its event.
public struct EmissionRule: Sendable {
    /// The condition; nil: always.
    public var condition: Program?
    /// The event.
    public var event: EventProgram
    /// Where it is written; nil: the side effect says it itself.
    public var source: SourceLocation?
}

/// Whether a bus remembers.
public enum BusKind: String, Sendable, Hashable, CaseIterable {
    /// No memory: who comes late gets nothing.
    case passthrough
    /// Remembers its last value, and gives it first to whoever comes.
    case currentValue
}

/// What programs outside, such as `mediatorctl`, do with a bus.
public enum ExternalUse: String, Sendable, Hashable, CaseIterable {
    /// They put values on it.
    case write
    /// They watch it.
    case read
    /// They do both.
    case both
}

/// One bus.
public struct BusDefinition: Sendable {
    /// Its unique name.
    public var name: String
    /// What its author says it is for.
    public var description: String?
    /// Where it is written.
    public var source: SourceLocation
    /// Whether it remembers.
    public var kind: BusKind
    /// The type of its values.
    public var valueType: ValueType
    /// A current-value bus's first value; nil for a passthrough bus.
    public var initial: Value?
    /// How many values may wait on it.
    public var buffer: BufferPolicy
    /// What other programs do with it; nil: nothing.
    public var fromOutside: ExternalUse?
    let lazyFingerprint: LazyFingerprint
    /// The same for two definitions that mean the same, wherever and in whatever order of keys they are written: 32
    /// hexadecimal digits.
    public var fingerprint: String { lazyFingerprint.text }
}

/// One link.
public final class LinkDefinition: Sendable {
    /// The four forms (the two of bus → system differ only in their filter).
    public enum Form: Sendable {
        /// A state of the system puts a value on the bus. By state index (variables `state`, `now`).
        case systemToBus(bus: Int, selector: StateSelector, value: [Int: DataProgram])
        /// A value of the bus puts an event into the system. Variables: `value`, `now`.
        case busToSystem(bus: Int, filter: ValueFilter, event: EventProgram)
        /// A state of the system puts an event into another system. By state index (variables `state`, `now`).
        case systemToSystem(target: Int, selector: StateSelector, event: [Int: EventProgram])
    }
    /// Its unique name.
    public let name: String
    /// Where it is written.
    public let source: SourceLocation
    /// The attached system's index.
    public let system: Int
    /// What it joins, and how.
    public let form: Form
    /// One line for people: `disk-guard: Full → bus alarms`.
    public let summary: String
    /// The condition as written.
    public let conditionText: String?
    /// What it emits, as written (one line).
    public let emits: String
    /// How often it may fire as part of a loop; nil: it is part of none, or another link of the loop has a limit.
    public let loop: LoopLimit?
    /// The same for two definitions that mean the same, wherever and in whatever order of keys they are written;
    /// systems and buses count by name: 32 hexadecimal digits.
    public var fingerprint: String { lazyFingerprint.text }
    let lazyFingerprint: LazyFingerprint
    /// The feedback of the attached system that makes it fire, where that puts values on a bus; nil: states and values do.
    public let trigger: LinkTrigger?

    /// A definition of the given parts.
    init(
        name: String, source: SourceLocation, system: Int, form: Form, summary: String, conditionText: String?,
        emits: String, loop: LoopLimit?, fingerprint: LazyFingerprint, trigger: LinkTrigger?
    ) {
        self.trigger = trigger
        self.name = name
        self.source = source
        self.system = system
        self.form = form
        self.summary = summary
        self.conditionText = conditionText
        self.emits = emits
        self.loop = loop
        lazyFingerprint = fingerprint
    }
}

/// The feedback that makes a link fire.
public struct LinkTrigger: Sendable, Hashable {
    /// Its name.
    public let feedback: String
    /// Whether it waits for the clock first, rather than do it as soon as a state is entered.
    public let waits: Bool

    /// A trigger.
    init(feedback: String, waits: Bool) {
        self.feedback = feedback
        self.waits = waits
    }
}

/// Which values of a bus a link lets through.
public enum ValueFilter: Sendable {
    /// All.
    case all
    /// Those equal to this one.
    case equals(Value)
    /// Those for which this holds (variables `value`, `now`).
    case condition(Program)
}

extension SystemDefinition {
    /// The same but for some parts.
    ///
    /// - Parameter written: another that means the same, as which it is written now.
    package func replacing(
        description: String?, source: SourceLocation, writtenAs written: SystemDefinition? = nil,
        initialState: StateProgram? = nil,
        feedbacks: [FeedbackDefinition]? = nil, transitions: [WrittenTransition]? = nil
    ) -> SystemDefinition {
        SystemDefinition(
            name: name, description: description, source: source, states: states, events: events,
            initialState: initialState ?? self.initialState, feedbacks: feedbacks ?? self.feedbacks, rules: rules,
            transitions: transitions ?? self.transitions, mailbox: mailbox, readyStates: readyStates,
            readinessLimit: readinessLimit, stateHealth: stateHealth, unhandled: unhandled, supervision: supervision,
            watchdog: watchdog, kind: kind, instance: instance,
            fingerprint: written?.lazyFingerprint ?? lazyFingerprint)
    }
}

extension LinkDefinition {
    /// The same but for what it joins.
    package func replacing(system: Int, form: Form) -> LinkDefinition {
        LinkDefinition(
            name: name, source: source, system: system, form: form, summary: summary, conditionText: conditionText,
            emits: emits, loop: loop, fingerprint: lazyFingerprint, trigger: trigger)
    }
}
