public import CommonExpression

/// A program that computes the value of one field or argument.
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

    /// Computes the value for these variables. A constant costs nothing.
    public func evaluate(_ variables: [Value]) throws(EvaluationError) -> Value {
        var variables = Variables(variables)
        return try evaluate(&variables)
    }

    /// Computes the value for these variables. A constant costs nothing.
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

extension DataProgram {
    /// A Boolean value that indicates whether it reads an input of its system.
    package var readsInput: Bool {
        switch self {
        case .constant: false
        case .template(let program): program.references.contains { $0.first == Names.input }
        case .structure(_, let parts), .list(let parts): parts.contains(where: \.readsInput)
        case .map(let entries): entries.contains(where: \.value.readsInput)
        case .optional(let part): part.readsInput
        }
    }
}

/// A program for one field of a new state.
public enum FieldProgram: Sendable {
    /// Evaluated.
    case data(DataProgram)
    /// Kept from the old state, where it is the field of this index.
    case keep(Int)
    /// Taken from the remembered state, where it is the field of this index.
    case remembered(Int)
}

/// A program for a state: its index, and its fields in order.
public struct StateProgram: Sendable {
    /// The state's index.
    public var state: Int
    /// One program a field.
    public var fields: [FieldProgram]
    /// The index of the compound state that the rule names. From inside, the rule leaves it and enters it.
    public var enters: Int?

    /// A program of the given parts.
    public init(state: Int, fields: [FieldProgram], enters: Int? = nil) {
        self.state = state
        self.fields = fields
        self.enters = enters
    }
}

/// A program for an event: its index, and its fields in order.
public struct EventProgram: Sendable {
    /// The event's index within the system that receives it.
    public var event: Int
    /// Always a structure of the event's type.
    public var data: DataProgram
}

/// One rule of a transition. Variables of its programs: `state`, `event`, `now`, and `input` if the system has inputs, in this
/// order.
public struct TransitionRule: Sendable {
    /// The effect on the state.
    public enum Outcome: Sendable {
        /// A new state.
        case to(StateProgram)
        /// The state inside a compound state that was left last.
        indirect case history(HistoryProgram)
        /// The same state with other data: nothing is entered.
        case update(StateProgram)
        /// Handled, and nothing changes.
        case stay
        /// The event sets the input of this index, and enters nothing.
        case input(Int)
    }
    /// The condition; nil: always.
    public var condition: Program?
    /// The effect on the state.
    public var outcome: Outcome
    /// The place of the rule.
    public var source: SourceLocation
}

/// One rule of `always`. Variables of its programs: `state`, and `input` if the system has inputs, in this order.
public struct AlwaysRule: Sendable {
    /// The condition and the effect.
    public var rule: TransitionRule
    /// The time for which the condition must hold without a break, of type `duration`; nil: no time.
    public var hold: DataProgram?
    /// The rule as written, with which a reload recognises it.
    public var text: String
    /// The condition with its time, for people: `!input.allowed for 30s`.
    public var condition: String
    /// The index of the compound state for which the rule is written: its wait goes on while that lasts; nil: it ends with each state.
    public var compound: Int?
}

/// A transition as its author wrote it.
public struct WrittenTransition: Sendable, Hashable {
    /// The state's name, several with commas between them, or `any`.
    public var from: String
    /// The event's name, `any`, `always`, or `done.` and the name of a compound state.
    public var event: String
    /// The new state's name, `stay`, ``inPlace``, or the name of a compound state with `.history` or `.history*` behind it.
    public var to: String
    /// The condition's text.
    public var condition: String?
    /// The time for which the condition of a rule of `always` must hold, as written.
    public var hold: String?
    /// The place of the transition.
    public var source: SourceLocation

    /// The target of a rule that changes the data of its state in place. No state has such a name.
    public static let inPlace = "in place"

    /// A transition.
    public init(
        from: String, event: String, to: String, condition: String? = nil, hold: String? = nil, source: SourceLocation
    ) {
        self.hold = hold
        self.from = from
        self.event = event
        self.to = to
        self.condition = condition
        self.source = source
    }
}
