import CommonExpression

/// A state or event as others see it.
struct RecordScope: Sendable {
    /// Its name.
    let name: String
    /// Its type; a field whose type is unknown (and reported) is `dyn`, which everything fits.
    let type: StructureType
    /// A Boolean value that indicates whether its fields could not be read, so that its uses cannot be checked.
    let isBroken: Bool
    /// The variable `state` or `event` of this type.
    let variable: Environment.Variable
    /// The number of its type.
    let number: Int32
    /// The inputs of the system, beside the data of a state; nil: the system has none, or this is an event.
    var inputs: InputScope?
}

/// The inputs of a system as its expressions see them.
struct InputScope: Sendable {
    /// The variable `input`, a structure.
    let variable: Environment.Variable
    /// The number of its type.
    let number: Int32
}

/// Named things in order, found by name: by looking through a few, by hashing when there are more.
struct NameTable: Sendable {
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
        if names.count <= Self.few { return names.placeOfWord(name) }
        return indices[name].flatMap { names[$0].isWord(name) ? $0 : nil }
    }
}

/// A system's names and types, which its own programs and other systems' links are checked against.
final class SystemScope: Sendable {
    /// Its file.
    let source: SourceText
    /// The place of its name.
    let nameSpan: Span
    /// Its name.
    let name: String
    /// Its states that have none inside.
    let states: [RecordScope]
    /// Its states that have states inside.
    let compounds: CompoundScope
    /// Its events, and behind them one for each input, which sets the input.
    let events: [RecordScope]
    /// The number of events without those of the inputs.
    let ownEvents: Int
    /// Its inputs' names.
    let inputNames: NameTable
    /// Its inputs as one structure; nil: it has none.
    let inputType: StructureType?
    /// Its states' names.
    let stateNames: NameTable
    /// Its events' names.
    let eventNames: NameTable
    /// A Boolean value that indicates whether all its states are known, so that another name is a mistake.
    let knowsStates: Bool
    /// A Boolean value that indicates whether all its events are known.
    let knowsEvents: Bool
    /// A Boolean value that indicates whether all its inputs are known.
    let knowsInputs: Bool
    /// The kind of which it is an instance.
    let kind: SystemKind?

    /// A system of which only the name is known.
    init(brokenName: String) {
        source = SourceText(path: "", contents: [])
        nameSpan = Span(start: 0, end: 0)
        name = brokenName
        knowsStates = false
        knowsEvents = false
        kind = nil
        (states, stateNames) = ([], NameTable())
        compounds = .none
        (events, eventNames) = ([], NameTable())
        (ownEvents, inputNames, inputType) = (0, NameTable(), nil)
        knowsInputs = false
    }

    /// The names and types of a system.
    init(_ written: WrittenSystem, name: String? = nil, context: CompilationContext) {
        source = written.source
        nameSpan = written.name.span
        self.name = name ?? written.name.text
        kind = written.kind?.name.flatMap { context.kinds[$0.text] }
        if written.kind != nil {
            knowsStates = kind != nil
            knowsEvents = kind != nil
            knowsInputs = kind != nil
            func scope(_ record: SystemKind.Record, _ variable: String) -> RecordScope {
                let (type, number) = context.shared(record.type)
                return RecordScope(
                    name: record.name, type: type, isBroken: false,
                    variable: Environment.Variable(name: variable, type: .structure(type)), number: number)
            }
            (states, stateNames) = Self.table(kind?.states ?? [], \.name) { scope($0, "state") }
            compounds = .none
            (events, eventNames) = Self.table(kind?.events ?? [], \.name) { scope($0, "event") }
            (ownEvents, inputNames, inputType) = (events.count, NameTable(), nil)
            return
        }
        // An impossible name hides the intended one, so references are not checked against the list.
        knowsStates = written.states.map { !$0.isEmpty && $0.allSatisfy { Names.isStateName($0.name.text) } } ?? false
        knowsEvents = written.events.map { $0.allSatisfy { Names.isIdentifier($0.name.text) } } ?? false
        let types = TypeReader(source: written.source, diagnostics: context.diagnostics)
        func scope(
            _ record: WrittenRecord, _ variable: String, _ fields: [StructureType.Field]? = nil
        ) -> RecordScope {
            let (type, number) = context.shared(
                StructureType(name: record.name.text, fields: fields ?? types.fields(record.fields)))
            return RecordScope(
                name: record.name.text, type: type, isBroken: record.isBroken,
                variable: Environment.Variable(name: variable, type: .structure(type)), number: number)
        }
        knowsInputs = written.inputs.map { $0.allSatisfy { Names.isIdentifier($0.name.text) } } ?? false
        let (inputs, names) = Self.inputs(written.inputs ?? [], types)
        inputNames = names
        let all =
            inputs.isEmpty ? nil : context.shared(StructureType(name: "inputs of \(written.name.text)", fields: inputs))
        inputType = all?.type
        var input = all.map { type, number in
            InputScope(
                variable: Environment.Variable(name: Names.input, type: .structure(type)), number: number)
        }
        if written.inputs == nil {
            // Inputs that could not be read are one mistake, whatever they are used for.
            input = InputScope(
                variable: Environment.Variable(name: Names.input, type: .dyn), number: context.number(of: .dyn))
        }
        let records = (written.states ?? []).map { (record: $0, fields: types.fields($0.fields)) }
        let (unique, _) = Self.table(records, \.record.name.text) { $0 }
        let initials = Dictionary(
            (written.initials ?? []).map { initial in
                let name = initial.compound.text
                let compound = name.hasSuffix(".\(Names.history)") ? Names.around(name) ?? name : name
                return (name, "\(compound).\(initial.child.text)")
            },
            uniquingKeysWith: { first, _ in first })
        let (compounds, leaves) = CompoundScope.of(unique, initials: initials) { name, fields in
            context.shared(StructureType(name: name, fields: fields)).0
        }
        self.compounds = compounds
        (states, stateNames) = Self.table(leaves, \.record.name.text) { each in
            var state = scope(each.record, "state", each.fields)
            state.inputs = input
            return state
        }
        let (own, ownNames) = Self.table(written.events ?? [], \.name.text) { scope($0, "event") }
        (ownEvents, eventNames) = (own.count, ownNames)
        events =
            own
            + inputs.map { input in
                let name = "\(Names.input).\(input.name)"
                let value = StructureType.Field(name: "value", type: input.type)
                let (type, number) = context.shared(StructureType(name: name, fields: [value]))
                return RecordScope(
                    name: name, type: type, isBroken: input.type == .dyn,
                    variable: Environment.Variable(name: "event", type: .structure(type)), number: number)
            }
    }

    /// The inputs by name; of two of one name the first counts. A type that is a mistake is `dyn`.
    private static func inputs(
        _ written: [WrittenInput], _ types: TypeReader
    ) -> (fields: [StructureType.Field], names: NameTable) {
        var names = NameTable()
        let fields = written.compactMap { input -> StructureType.Field? in
            guard names.insert(input.name.text) else { return nil }
            let type = input.type.flatMap { types.type($0, "the input '\(input.name.text)'") }
            return StructureType.Field(name: input.name.text, type: type ?? .dyn)
        }
        return (fields, names)
    }

    /// The indices of the states that a name means, and the index of the compound state of that name, if it is one; nil if the
    /// name is unknown.
    func states(named name: String) -> (states: [Int], compound: Int?)? {
        if let state = stateNames.index(of: name) { return ([state], nil) }
        return compounds.names.index(of: name).map { (compounds.definitions[$0].states, $0) }
    }

    /// The number of compound states around a state or compound state.
    func depth(of name: String) -> Int {
        if let state = stateNames.index(of: name) {
            return compounds.around.isEmpty ? 0 : compounds.around[state].count
        }
        return compounds.names.index(of: name).map { compounds.definitions[$0].depth } ?? 0
    }

    /// The names of all its states.
    var allStateNames: [String] { compounds.names.names + stateNames.names }

    /// The index of the event that sets an input.
    func event(ofInput name: String) -> Int? { inputNames.index(of: name).map { ownEvents + $0 } }

    /// Records by name; of two of one name the first counts.
    private static func table<Record, Result>(
        _ records: [Record], _ name: (Record) -> String, _ scope: (Record) -> Result
    ) -> ([Result], NameTable) {
        var names = NameTable()
        let scopes = records.compactMap { names.insert(name($0)) ? scope($0) : nil }
        return (scopes, names)
    }
}

/// The variables of an expression, and the messages about unknown names.
struct VariableScope {
    /// The variables in their order.
    var environment: Environment
    /// Names that exist elsewhere, and why not here.
    var absences: Absences
    /// A Boolean value that indicates whether the variables' types are unknown: then expressions are only parsed.
    var isBroken = false
    /// The state the types are of, when there are several.
    var state: String?
    /// Tells scopes of different variables or types apart.
    var key: Key

    /// The sort of scope, and the numbers of the types that vary.
    struct Key: Hashable {
        var kind: Int32
        var first: Int32 = 0
        var second: Int32 = -1
        var inputs: Int32 = -1
    }

    /// The place of an expression, which decides the message about an unknown name.
    enum Absences {
        /// A place without a special message.
        case usual
        /// In a transition on any event.
        case anyEvent
        /// In a rule of `always`.
        case always
        /// A place for a fixed value.
        case fixed
    }

    /// The variable `now`.
    static let now = Environment.Variable(name: "now", type: .timestamp)
    /// Takes the place of a variable that cannot be named here.
    static let nameless = Environment.Variable(name: "", type: .dyn)

    /// A Boolean value that indicates whether only a fixed value can stand there.
    var isFixed: Bool { absences == .fixed }

    /// No variables.
    static let fixed = VariableScope(environment: Environment(), absences: .fixed, key: Key(kind: 0))
    /// Only `now`.
    static let initial = VariableScope(
        environment: Environment(variables: [now]), absences: .usual, key: Key(kind: 1))

    /// The scope of rules from a state on an event (nil: any event).
    static func transition(_ state: RecordScope, _ event: RecordScope?, label: Bool) -> VariableScope {
        with(
            state.inputs,
            VariableScope(
                environment: Environment(variables: [state.variable, event?.variable ?? nameless, now]),
                absences: event == nil ? .anyEvent : .usual, isBroken: state.isBroken || event?.isBroken ?? false,
                state: label ? state.name : nil, key: Key(kind: 2, first: state.number, second: event?.number ?? -1)))
    }

    /// The scope of the rules of `always` of a state.
    static func always(_ state: RecordScope, label: Bool) -> VariableScope {
        with(
            state.inputs,
            VariableScope(
                environment: Environment(variables: [state.variable]), absences: .always,
                isBroken: state.isBroken, state: label ? state.name : nil, key: Key(kind: 7, first: state.number)))
    }

    /// Returns a scope with the inputs of the system as its last variable.
    private static func with(_ inputs: InputScope?, _ scope: VariableScope) -> VariableScope {
        guard let inputs else { return scope }
        var scope = scope
        scope.environment.variables.append(inputs.variable)
        scope.key.inputs = inputs.number
        return scope
    }

    /// The scope of a link in a state that is not known: expressions are only parsed.
    static let unknownState = VariableScope(
        environment: Environment(variables: [Environment.Variable(name: "state", type: .dyn), now]), absences: .usual,
        isBroken: true, key: Key(kind: 6))

    /// The scope of a feedback or link in a state.
    static func state(_ state: RecordScope, label: Bool) -> VariableScope {
        with(
            state.inputs,
            VariableScope(
                environment: Environment(variables: [state.variable, now]), absences: .usual,
                isBroken: state.isBroken, state: label ? state.name : nil, key: Key(kind: 3, first: state.number)))
    }

    /// The scope of an outcome in a state.
    static func outcome(
        _ state: RecordScope, _ result: Environment.Variable, number: Int32, label: Bool
    ) -> VariableScope {
        with(
            state.inputs,
            VariableScope(
                environment: Environment(variables: [state.variable, now, result]), absences: .usual,
                isBroken: state.isBroken, state: label ? state.name : nil,
                key: Key(kind: 4, first: state.number, second: number)))
    }

    /// The scope of a link from a bus.
    static func bus(_ type: ValueType, number: Int32, isBroken: Bool) -> VariableScope {
        VariableScope(
            environment: Environment(variables: [Environment.Variable(name: "value", type: type), now]),
            absences: .usual, isBroken: isBroken, key: Key(kind: 5, first: number))
    }

    /// The names that can be used, in words.
    func variables(and constants: [String]) -> String {
        let names = environment.variables.map(\.name).filter { !$0.isEmpty } + constants
        return names.isEmpty ? "no variables can be used here" : "variables here: \(names.joined(separator: ", "))"
    }

    private static let allNames = ["state", "event", "now", "result", "value", Names.input]

    /// The message about a name that is a variable elsewhere; nil: the usual one.
    func absence(of name: String) -> (code: Diagnostic.Code, message: String, hint: String)? {
        if ["instance", "parameters"].contains(name) {
            return (
                .unknownVariable, "'\(name)' is known only in a template and in links over its instances",
                "a template is a system whose name ends with '@'"
            )
        }
        guard Self.allNames.contains(name) else { return nil }
        switch absences {
        case .anyEvent where name == "event":
            return (
                .unknownVariable, "which event it is, is not known under 'any'",
                "write the rule under each event whose fields it uses"
            )
        case .always where name == "now":
            return (
                .unknownVariable, "'now' cannot be used in 'always': no time would make it try the rule again",
                "write for: and a duration, or a feedback with 'after' or 'at' that emits an event"
            )
        case .always where name == "event":
            return (
                .unknownVariable, "a rule of 'always' is tried after each event, so it knows no event",
                "use the data of the state, or write the rule under the event"
            )
        case _ where name == Names.input && !environment.variables.isEmpty:
            return (
                .unknownVariable, "there is no 'input' here",
                "a system that has 'inputs' knows them as input.NAME; a bus or another system does not"
            )
        case .fixed:
            return (.notConstant, "only a fixed value can stand here, and '\(name)' varies", "write the value itself")
        default: return nil
        }
    }
}
