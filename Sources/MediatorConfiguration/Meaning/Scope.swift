import CommonExpression

/// A state or event as others see it.
struct RecordScope {
    /// Its name.
    let name: String
    /// Its type; a field whose type is unknown (and reported) is `dyn`, which everything fits.
    let type: StructureType
    /// Whether its fields could not be read, so that nothing can be said about its use.
    let isBroken: Bool
    /// The variable `state` or `event` of this type.
    let variable: Environment.Variable
}

/// Named things in order, found by name: by looking through a few, by hashing when there are more.
struct NameTable {
    private static let few = 12
    /// The names in order.
    private(set) var names: [String] = []
    private var indices: [String: Int] = [:]

    /// Adds a name; false if it is there already.
    mutating func insert(_ name: String) -> Bool {
        guard index(of: name) == nil else { return false }
        names.append(name)
        if names.count > Self.few {
            if indices.isEmpty {
                for (index, name) in names.enumerated() { indices[name] = index }
            } else {
                indices[name] = names.count - 1
            }
        }
        return true
    }

    /// The position of a name.
    func index(of name: String) -> Int? {
        names.count <= Self.few ? names.firstIndex(of: name) : indices[name]
    }
}

/// A system's names and types, which its own programs and other systems' links are checked against.
final class SystemScope {
    /// Its index in the graph.
    let index: Int
    /// The system as written; nil if all that is known is that a broken document seems to define it.
    let written: WrittenSystem?
    /// Its name.
    let name: String
    /// Its states.
    private(set) var states: [RecordScope] = []
    /// Its events.
    private(set) var events: [RecordScope] = []
    /// Its states' names.
    private(set) var stateNames = NameTable()
    /// Its events' names.
    private(set) var eventNames = NameTable()
    /// Whether all its states are known, so that another name is a mistake.
    let knowsStates: Bool
    /// Whether all its events are known.
    let knowsEvents: Bool

    /// A system of which only the name is known.
    init(brokenName: String) {
        index = 0
        written = nil
        name = brokenName
        knowsStates = false
        knowsEvents = false
    }

    /// The names and types of a system.
    init(_ written: WrittenSystem, index: Int, session: Session) {
        self.index = index
        self.written = written
        name = written.name.text
        knowsStates = written.states.map { !$0.isEmpty } ?? false
        knowsEvents = written.events != nil
        let types = TypeReader(source: written.source, findings: session.findings)
        for record in written.states ?? [] where stateNames.insert(record.name.text) {
            states.append(types.record(record, variable: "state"))
        }
        for record in written.events ?? [] where eventNames.insert(record.name.text) {
            events.append(types.record(record, variable: "event"))
        }
    }
}

/// The variables of an expression, and what to say about names that are none.
struct VariableScope {
    /// The variables in their order.
    var environment: Environment
    /// Names that exist elsewhere, and why not here.
    var absences: Absences
    /// Whether the variables' types are unknown: then expressions are only parsed.
    var isBroken = false
    /// The state the types are of, when there are several.
    var state: String?

    /// Where an expression stands, as far as missing names are concerned.
    enum Absences {
        /// In a transition on a known event.
        case transition
        /// In a transition on any event.
        case anyEvent
        /// In a feedback or a link that looks at states.
        case states
        /// In an outcome of a side effect.
        case outcome
        /// In a link from a bus.
        case bus
        /// Where only a fixed value can stand.
        case fixed
        /// In the initial state.
        case initial
    }

    /// The variable `now`.
    static let now = Environment.Variable(name: "now", type: .timestamp)
    /// Takes the place of a variable that cannot be named here.
    static let nameless = Environment.Variable(name: "", type: .dyn)

    /// No variables.
    static let fixed = VariableScope(environment: Environment(), absences: .fixed)
    /// Only `now`.
    static let initial = VariableScope(environment: Environment(variables: [now]), absences: .initial)

    /// The scope of rules from a state on an event (nil: any event).
    static func transition(_ state: RecordScope, _ event: RecordScope?, label: Bool) -> VariableScope {
        VariableScope(
            environment: Environment(variables: [state.variable, event?.variable ?? nameless, now]),
            absences: event == nil ? .anyEvent : .transition, isBroken: state.isBroken || event?.isBroken ?? false,
            state: label ? state.name : nil)
    }

    /// The scope of a feedback or link in a state.
    static func state(_ state: RecordScope, label: Bool) -> VariableScope {
        VariableScope(
            environment: Environment(variables: [state.variable, now]), absences: .states, isBroken: state.isBroken,
            state: label ? state.name : nil)
    }

    /// The scope of an outcome in a state.
    static func outcome(_ state: RecordScope, _ result: Environment.Variable, label: Bool) -> VariableScope {
        VariableScope(
            environment: Environment(variables: [state.variable, now, result]), absences: .outcome,
            isBroken: state.isBroken, state: label ? state.name : nil)
    }

    /// The scope of a link from a bus.
    static func bus(_ type: ValueType, isBroken: Bool) -> VariableScope {
        VariableScope(
            environment: Environment(variables: [Environment.Variable(name: "value", type: type), now]),
            absences: .bus, isBroken: isBroken)
    }

    private static let allNames = ["state", "event", "now", "result", "value"]

    /// What to say about a name that is a variable elsewhere; nil if it is nowhere one.
    func reason(forMissing name: String) -> String? {
        guard Self.allNames.contains(name) else { return nil }
        switch absences {
        case .anyEvent where name == "event":
            return "under the event 'any' the event is not known; write the rule under each event that has the field"
        case .fixed: return "only a fixed value can stand here"
        default:
            let names = environment.variables.map(\.name).filter { !$0.isEmpty }
            return "variables here: \(names.joined(separator: ", "))"
        }
    }
}
