import CommonExpression

/// A system as its author wrote it: the right shape, nothing looked up yet. One reference, since it is handed on often.
final class WrittenSystem: Sendable {
    let source: SourceText
    let name: Scalar
    let description: String?
    /// A template's.
    let parameters: [WrittenParameter]
    /// The kind of which it is an instance; nil: its states, events and transitions are written.
    let kind: WrittenKind?
    /// Nil if missing or of the wrong shape: then the states are unknown.
    let states: [WrittenRecord]?
    /// Nil if of the wrong shape.
    let events: [WrittenRecord]?
    /// Nil if of the wrong shape.
    let inputs: [WrittenInput]?
    let initialState: WrittenConstruct?
    /// The states inside compound states to which rules lead that name these; nil if of the wrong shape.
    let initials: [(compound: Scalar, child: Scalar)]?
    /// The final states.
    let finals: [Scalar]
    let ready: [Scalar]
    /// The time in which the system must become ready.
    let readinessLimit: ReadinessLimit
    /// The health of the system by state.
    let health: [(state: Scalar, health: StateHealth)]
    let mailbox: BufferPolicy
    let unhandled: UnhandledPolicy
    /// The reaction to its faults.
    let supervision: SupervisionPolicy
    /// The deadline of its loop; nil: that of the daemon.
    let watchdog: TimeSpan?
    /// Events that come from outside.
    let fromOutside: WrittenExternal
    /// The part that survives the end of the process; nil: the default of the configuration.
    let persistence: Persistence?
    /// Its earlier name.
    let was: Scalar?
    let feedbacks: [WrittenFeedback]
    let transitions: [WrittenTransitionList]
    /// The number of keys and values of its document.
    let size: Int

    /// A system of the given parts.
    init(
        source: SourceText, name: Scalar, description: String?, parameters: [WrittenParameter], kind: WrittenKind?,
        states: [WrittenRecord]?, events: [WrittenRecord]?, inputs: [WrittenInput]?, initialState: WrittenConstruct?,
        initials: [(compound: Scalar, child: Scalar)]?, finals: [Scalar], ready: [Scalar],
        readinessLimit: ReadinessLimit, health: [(state: Scalar, health: StateHealth)], mailbox: BufferPolicy,
        unhandled: UnhandledPolicy, supervision: SupervisionPolicy, watchdog: TimeSpan?, fromOutside: WrittenExternal,
        persistence: Persistence?, was: Scalar?, feedbacks: [WrittenFeedback], transitions: [WrittenTransitionList],
        size: Int
    ) {
        self.size = size
        self.source = source
        self.name = name
        self.description = description
        self.parameters = parameters
        self.kind = kind
        self.states = states
        self.events = events
        self.inputs = inputs
        self.initialState = initialState
        self.initials = initials
        self.finals = finals
        self.ready = ready
        self.readinessLimit = readinessLimit
        self.health = health
        self.mailbox = mailbox
        self.unhandled = unhandled
        self.supervision = supervision
        self.watchdog = watchdog
        self.fromOutside = fromOutside
        self.persistence = persistence
        self.was = was
        self.feedbacks = feedbacks
        self.transitions = transitions
    }
}

extension WrittenSystem {
    /// The texts that decide the first and final states in compound states, by key. Without an entry of `initial`, the order of the
    /// states decides.
    var ofCompounds: [(name: String, span: Span?, texts: [String])] {
        let order = (states ?? []).map(\.name.text).filter { $0.contains(".") }
        let entries = (initials ?? []).map { "\($0.compound.text): \($0.child.text)" }.sorted()
        return [
            ("initial", initials?.first?.compound.span, order + entries),
            ("final", finals.first?.span, finals.map(\.text).sorted()),
        ]
    }

    /// A Boolean value that indicates whether it is a template, from which instances are made.
    var isTemplate: Bool { name.text.hasSuffix("@") }
}

/// A kind of systems and what an instance is given, as written.
struct WrittenKind: Sendable {
    /// The kind's name; nil after reporting that it is none.
    var name: Scalar?
    /// The values of its parameters; nil if that has the wrong shape.
    var arguments: [Node.Entry]?
}

/// The events that come from outside, as written.
enum WrittenExternal: Sendable {
    /// All of them.
    case any
    /// These.
    case events([Scalar])
}

/// A state's or event's name and fields.
struct WrittenRecord: Sendable {
    var name: Scalar
    var fields: [Field]
    /// A Boolean value that indicates whether its fields could not be read.
    var isBroken: Bool
    /// The earlier name of a state.
    var was: Scalar?

    /// One field.
    struct Field: Sendable {
        var name: Scalar
        var type: Node
        /// The earlier name of the field of a state.
        var was: Scalar?
        /// The value of the field for a saved state without it.
        var fallback: Node?
    }
}

/// A state or event with data.
struct WrittenConstruct: Sendable {
    var name: Scalar
    /// Nil if only the name was written.
    var fields: [Node.Entry]?
    /// All of it.
    var node: Node
    /// A Boolean value that indicates whether it sets the input of this name, whose value is its only field.
    var isInput = false

    /// The name, for people: `input.allowed` of an input.
    var shown: String { isInput ? "\(Names.input).\(name.text)" : name.text }
}

/// The selected states, as written.
struct WrittenSelector: Sendable {
    /// The three ways to say it.
    enum Form: Sendable {
        case any
        case states([Scalar])
        case equals(WrittenConstruct)
    }
    var form: Form
    var span: Span
}

/// A feedback as written.
struct WrittenFeedback: Sendable {
    /// When its side effect runs, as written.
    enum Schedule: Sendable {
        case atOnce
        case after(Node)
        case every(Node)
        case at([Node])
        /// Reported.
        case broken
    }
    var name: Scalar
    var selector: WrittenSelector?
    var condition: Scalar?
    var strategy: Strategy
    var mode: RunMode
    var limit: Int
    var schedule: Schedule
    /// The treatment of missed ticks.
    var missed = MissedTicks.once
    /// The number of ticks that a run may miss; nil: the default.
    var maxMissed: Int?
    /// The treatment of running side effects by a reload.
    var onReload = ReloadPolicy.end
    /// When a probe reports its level.
    var levelReport = LevelReport.changes
    /// The handling of its runs, as written.
    var handling = WrittenHandling()
    /// Nil if it is missing or unknown.
    var effect: WrittenEffect?
    var outcomes: [WrittenOutcome]
    /// A Boolean value that indicates whether there is a key that means nothing, which has been reported, and may have
    /// been meant to be an outcome.
    var hasForeignKey = false
}

/// The handling of a feedback's runs, as written.
struct WrittenHandling: Sendable {
    var debounce: Node?
    var maxWait: Node?
    var throttle: Node?
    var key: Scalar?
    var timeout: Node?
    var jitter: Node?
    var retry: RetryPolicy?
}

/// A side effect as written.
struct WrittenEffect: Sendable {
    var schema: EffectSchema
    var key: Scalar
    var argument: Node
    /// The event, for side effects whose argument is an event.
    var emission: WrittenConstruct?
    /// The bus and the value, for side effects that publish.
    var publication: (bus: Scalar, value: Node)?
}

/// The rules of one outcome, as written.
struct WrittenOutcome: Sendable {
    var key: Scalar
    var rules: [WrittenEmission]
}

/// One rule of an outcome.
struct WrittenEmission: Sendable {
    var condition: Scalar?
    /// A Boolean value that indicates whether there is a condition that could not be read.
    var isConditionBroken = false
    /// Nil after reporting that it could not be read.
    var event: WrittenConstruct?
    var span: Span

    /// A Boolean value that indicates whether it has no condition.
    var isUnconditional: Bool { condition == nil && !isConditionBroken }
}

/// The transitions from one state (or any) on one event (or any), or the rules of `always`, as written.
struct WrittenTransitionList: Sendable {
    var from: Scalar
    /// The names of the states, if there are several.
    var states: [Scalar]
    var event: Scalar
    var rules: [WrittenRule]

    /// The rules from a state, or from several whose names a list gives.
    init(from: Scalar, states: [Scalar] = [], event: Scalar, rules: [WrittenRule]) {
        self.from = from
        self.states = states
        self.event = event
        self.rules = rules
    }

    /// A Boolean value that indicates whether they are not for an event.
    var isAlways: Bool { event.text == Names.always || event.text.hasPrefix("\(Names.done).") }
}

/// One rule, as written.
struct WrittenRule: Sendable {
    var condition: Scalar?
    /// A Boolean value that indicates whether there is a condition that could not be read.
    var isConditionBroken = false
    /// A state's name, or `stay`; nil after reporting that it could not be read.
    var target: Scalar?
    var set: [Node.Entry]
    /// A Boolean value that indicates whether that could not be read, or has no place.
    var isSetBroken = false
    /// A Boolean value that indicates whether the data of the state change in place: there is `set` and no `to`.
    var isUpdate = false
    /// The time for which the condition of a rule of `always` must hold.
    var hold: Node?
    var span: Span

    /// A Boolean value that indicates whether nothing is to change.
    var isStay: Bool { target?.text == Names.stay }
    /// A Boolean value that indicates whether it has no condition, and waits for nothing. A rule that leads to a remembered state
    /// may lack one.
    var isUnconditional: Bool {
        condition == nil && !isConditionBroken && hold == nil
            && !(target?.text.hasSuffix(".\(Names.history)") ?? false)
            && !(target?.text.hasSuffix(".\(Names.deepHistory)") ?? false)
    }
}
