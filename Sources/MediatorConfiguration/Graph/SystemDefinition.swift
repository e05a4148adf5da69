public import CommonExpression

/// One system as configured. It never changes, and is shared rather than copied.
public final class SystemDefinition: Sendable {
    /// Its unique name.
    public let name: String
    /// The description by its author.
    public let description: String?
    /// The place of the definition.
    public let source: SourceLocation
    /// Its states; a state's index is its identity within the system.
    public let states: [StateDefinition]
    /// The states that have states inside, those around others before them. No system is only in one of these.
    public let compounds: [CompoundDefinition]
    /// Its events; an event's index is its identity within the system. Behind them is one for each input, which sets it.
    public let events: [EventDefinition]
    /// Its inputs, in the order written.
    public let inputs: [InputDefinition]
    /// The values of the inputs without a link, as one structure; nil: it has no inputs.
    package let inputDefaults: Structure?
    /// By state, the rules of `always` to try in order; those of the state come before those of any state.
    public let always: [[AlwaysRule]]
    /// A Boolean value that indicates whether it has inputs, rules of `always` or compound states.
    package let hasLevels: Bool
    /// The indices of the compound states of which a rule may enter the state inside that was left last.
    package let remembered: Set<Int>
    /// A Boolean value that indicates whether a rule of `always` waits for a time.
    package let hasHolds: Bool
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
    /// The limit and overflow policy of its mailbox.
    public let mailbox: BufferPolicy
    /// The states that count as ready; empty: ready when started.
    public let readyStates: [Int]
    /// The time in which it must become ready.
    public let readinessLimit: ReadinessLimit
    /// By a state's index, how the system is in it, apart from its faults; in other states it is healthy.
    public let stateHealth: [Int: StateHealth]
    /// The reaction to an event that the state does not handle. The state stays the same in any case.
    public let unhandled: UnhandledPolicy
    /// The reaction to its faults.
    public let supervision: SupervisionPolicy
    /// The time in which its loop must make progress, or else counts as blocked; nil: that of the daemon.
    public let watchdog: TimeSpan?
    /// The part of it that survives the end of the process.
    public let persistence: Persistence
    /// Its earlier name. A saved state under this name counts if the own name has none.
    public let was: String?
    /// The kind of which it is an instance. The kind knows its inside: there are no rules, the initial state's index
    /// means nothing, and the feedbacks are those that the configuration adds.
    public let kind: KindInstance?
    /// The template of which it is an instance, with its parameters.
    public let instance: TemplateInstance?
    /// By the index of a state, whether its data may hold more than a fixed number of bytes, so that it must be measured.
    package let mayGrow: [Bool]
    let lazyFingerprint: LazyFingerprint
    /// The same for two definitions that mean the same, wherever and in whatever order of keys they are written: 32
    /// hexadecimal digits. Worked out when it is first asked for.
    public var fingerprint: String { lazyFingerprint.text }

    /// The shortest time within which a loop can be asked to turn: a tenth of a second.
    static let shortestDeadline = TimeSpan(seconds: 0, nanoseconds: 100_000_000) ?? SupervisionPolicy.defaultDelay

    /// A definition of the given parts.
    init(
        name: String, description: String?, source: SourceLocation, states: [StateDefinition],
        compounds: [CompoundDefinition] = [], events: [EventDefinition], inputs: [InputDefinition] = [],
        inputDefaults: Structure? = nil,
        always: [[AlwaysRule]] = [], initialState: StateProgram, feedbacks: [FeedbackDefinition],
        rules: [[[TransitionRule]]], transitions: [WrittenTransition], mailbox: BufferPolicy, readyStates: [Int],
        readinessLimit: ReadinessLimit, stateHealth: [Int: StateHealth], unhandled: UnhandledPolicy,
        supervision: SupervisionPolicy, watchdog: TimeSpan?, persistence: Persistence = .none, was: String? = nil,
        kind: KindInstance?, instance: TemplateInstance?, fingerprint: LazyFingerprint
    ) {
        self.name = name
        self.description = description
        self.source = source
        self.states = states
        self.compounds = compounds
        self.events = events
        self.inputs = inputs
        self.inputDefaults = inputDefaults
        self.always = always.contains { !$0.isEmpty } ? always : []
        hasLevels = !inputs.isEmpty || !self.always.isEmpty || !compounds.isEmpty
        remembered = compounds.isEmpty ? [] : Self.remembered(rules, always)
        hasHolds = always.contains { $0.contains { $0.hold != nil } }
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
        self.persistence = persistence
        self.was = was
        self.kind = kind
        self.instance = instance
        mayGrow = states.map { ValueType.structure($0.type).mayGrow }
        lazyFingerprint = fingerprint
    }
}

/// The template and the parameters of an instance.
public struct TemplateInstance: Sendable, Hashable {
    /// The template's name: `uplink@`.
    public var template: String
    /// The values of all its parameters. Those of ``concealed`` are never shown.
    public var parameters: Structure
    /// The names of the parameters that come from elsewhere, or hold something that does.
    public var concealed: Set<String>
}

/// The health of a system in a state, as its author defines it.
public enum StateHealth: String, Sendable, Hashable, CaseIterable {
    /// The system works.
    case healthy
    /// It does less than it is for.
    case degraded
    /// The system does not work.
    case failed
}

/// The reaction to an event that no rule of the state handles. In any case the event is counted, and the state stays
/// the same.
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
    /// The type of its data; the type's name is the state's. The fields of the states around it come first.
    public var type: StructureType
    /// The indices of the compound states around it, the outermost first.
    public var compounds: [Int] = []
    /// A Boolean value that indicates whether it is a final state: rules of `done` follow it.
    public var isFinal = false
    /// The relation to the states of earlier definitions, if it is written.
    public var origin: StateOrigin?
}

/// The relation of a state to a saved state of an earlier definition.
public struct StateOrigin: Sendable, Hashable {
    /// The earlier name of the state.
    public var was: String?
    /// The earlier names of fields, by their names.
    public var fields: [String: String] = [:]
    /// The values of fields for a saved state without them, by their names.
    public var defaults: [String: Value] = [:]
}

/// An event: its name and the fields it carries.
public struct EventDefinition: Sendable {
    /// Its name, unique within the system.
    public var name: String
    /// The type of its data; the type's name is the event's.
    public var type: StructureType
    /// The rule for its data, if it is an event of a kind; nil: the type is enough.
    public var rule: ValueRule?

    /// The first place where data breaks the rule; nil if it does not.
    public func breach(of data: Value) -> ValueRule.Breach? { rule?.breach(of: data, at: "") }

    /// The requirement of a field beyond its type, in words; nil: the type is enough.
    public func expectation(of field: String) -> String? {
        guard case .fields(let rules)? = rule else { return nil }
        return rules[field]?.text
    }
}

/// An input: a value that links set, and that the rules of the system read.
public struct InputDefinition: Sendable {
    /// Its name, unique among the inputs of the system.
    public var name: String
    /// The type of its values.
    public var type: ValueType
    /// The value without a link; nil: a link has one at the start.
    public var initial: Value?
    /// The index of the event that sets it.
    public var event: Int
}

extension SystemDefinition {
    private static func remembered(_ rules: [[[TransitionRule]]], _ always: [[AlwaysRule]]) -> Set<Int> {
        var compounds: Set<Int> = []
        func look(_ rule: TransitionRule) {
            if case .history(let history) = rule.outcome { compounds.insert(history.compound) }
        }
        for row in rules { for cell in row { cell.forEach(look) } }
        for row in always { row.forEach { look($0.rule) } }
        return compounds
    }

    /// The number of events without those that set inputs.
    public var ownEvents: Int { events.count - inputs.count }

    /// The same, whose state survives the end of the process.
    func persisted() -> SystemDefinition {
        SystemDefinition(
            name: name, description: description, source: source, states: states, compounds: compounds,
            events: events, inputs: inputs, inputDefaults: inputDefaults, always: always, initialState: initialState,
            feedbacks: feedbacks, rules: rules, transitions: transitions, mailbox: mailbox, readyStates: readyStates,
            readinessLimit: readinessLimit, stateHealth: stateHealth, unhandled: unhandled, supervision: supervision,
            watchdog: watchdog, persistence: .state, was: was, kind: kind, instance: instance,
            fingerprint: lazyFingerprint.persisted(persistence != .state))
    }

    /// The same but for some parts.
    ///
    /// - Parameter written: another that means the same, as which it is written now.
    package func replacing(
        description: String?, source: SourceLocation, writtenAs written: SystemDefinition? = nil,
        initialState: StateProgram? = nil,
        feedbacks: [FeedbackDefinition]? = nil, transitions: [WrittenTransition]? = nil,
        persistence: Persistence? = nil
    ) -> SystemDefinition {
        SystemDefinition(
            name: name, description: description, source: source, states: states, compounds: compounds,
            events: events, inputs: inputs, inputDefaults: inputDefaults, always: always,
            initialState: initialState ?? self.initialState, feedbacks: feedbacks ?? self.feedbacks, rules: rules,
            transitions: transitions ?? self.transitions, mailbox: mailbox, readyStates: readyStates,
            readinessLimit: readinessLimit, stateHealth: stateHealth, unhandled: unhandled, supervision: supervision,
            watchdog: watchdog, persistence: persistence ?? self.persistence, was: was, kind: kind, instance: instance,
            fingerprint: written?.lazyFingerprint ?? lazyFingerprint)
    }
}
