public import CommonExpression

/// A kind of systems that is written in a programming language: what a configuration must know to make instances of it,
/// to link them and to check both. How one runs is the host's matter.
///
/// It is a plain value, so that a daemon can print the kinds it knows and a check elsewhere can read them: see
/// ``KindFile``.
public struct SystemKind: Sendable, Hashable {
    /// A field of a state or an event.
    public struct Field: Sendable, Hashable {
        /// Its name, unique within the state or event.
        public var name: String
        /// Its type.
        public var type: ValueType
        /// The rule beyond its type; nil: none.
        public var rule: ValueRule?

        /// A field.
        public init(name: String, type: ValueType, rule: ValueRule? = nil) {
            self.name = name
            self.type = type
            self.rule = rule
        }
    }

    /// A state or an event.
    public struct Record: Sendable, Hashable {
        /// Its name, unique within the kind.
        public var name: String
        /// Its fields, in order.
        public var fields: [Field]

        /// A state or an event.
        public init(name: String, fields: [Field] = []) {
            self.name = name
            self.fields = fields
        }

        /// The type of its data, of its own name.
        var type: StructureType {
            StructureType(name: name, fields: fields.map { StructureType.Field(name: $0.name, type: $0.type) })
        }

        /// The rule of its data beyond the type; nil: none.
        var rule: ValueRule? {
            let rules = fields.compactMap { field in field.rule.map { (field.name, $0) } }
            return rules.isEmpty ? nil : .fields(Dictionary(rules, uniquingKeysWith: { first, _ in first }))
        }
    }

    /// A parameter of an instance.
    public struct Parameter: Sendable, Hashable {
        /// Its name and type.
        public var field: Field
        /// Its value where an instance does not say it; nil: an instance must, unless the type is an optional one.
        public var `default`: Value?

        /// A parameter.
        public init(field: Field, default: Value? = nil) {
            self.field = field
            self.default = `default`
        }
    }

    /// Its name, by which configurations call it.
    public var name: String
    /// The description by its author.
    public var description: String?
    /// The parameters of an instance.
    public var parameters: [Parameter]
    /// The states an instance may be in; it may begin in any of them.
    public var states: [Record]
    /// The events an instance understands.
    public var events: [Record]
    /// The function that returns the transitions of an instance.
    package var inspection = KindInspection.unknown

    /// A kind.
    public init(
        name: String, description: String? = nil, parameters: [Parameter] = [], states: [Record], events: [Record] = []
    ) {
        self.name = name
        self.description = description
        self.parameters = parameters
        self.states = states
        self.events = events
    }

    /// The type of an instance's parameters: a structure without a name.
    public var parametersType: StructureType {
        StructureType(
            name: "", fields: parameters.map { StructureType.Field(name: $0.field.name, type: $0.field.type) })
    }

    /// The flaws of the kind, in sentences without a full stop: names that a configuration cannot use, duplicate names,
    /// and exceeded limits.
    public var flaws: [String] {
        var flaws: [String] = []
        if !Names.isPublicName(name) { flaws.append("'\(name)' cannot name a kind of systems") }
        func check(_ names: [String], _ what: String, limit: Int, reserved: [String] = []) {
            if names.count > limit { flaws.append("it has more than \(limit) \(what)s") }
            var seen: Set<String> = []
            for name in names {
                if !seen.insert(name).inserted { flaws.append("two \(what)s have the name '\(name)'") }
                if !Names.isIdentifier(name) || reserved.contains(name) {
                    flaws.append(
                        "'\(name)' cannot name a \(what): a letter, then letters, digits and '_', at most "
                            + "\(ConfigurationLimits.nameLength)"
                            + (reserved.isEmpty ? "" : ", and not \(reserved.joined(separator: " or "))"))
                }
            }
        }
        if states.isEmpty { flaws.append("it has no state") }
        check(parameters.map(\.field.name), "parameter", limit: ConfigurationLimits.fields)
        check(states.map(\.name), "state", limit: ConfigurationLimits.states, reserved: [Names.any, Names.stay])
        check(events.map(\.name), "event", limit: ConfigurationLimits.events, reserved: [Names.any])
        for record in states + events {
            check(record.fields.map(\.name), "field of '\(record.name)'", limit: ConfigurationLimits.fields)
        }
        for field in parameters.map(\.field) + (states + events).flatMap(\.fields) {
            if let rule = field.rule, !rule.fits(field.type) {
                flaws.append("what the field '\(field.name)' must be does not fit its type \(field.type)")
            }
        }
        return flaws
    }
}

/// An instance of a kind, as configured.
public struct KindInstance: Sendable, Hashable {
    /// The kind's name.
    public var kind: String
    /// The values of all its parameters, of ``SystemKind/parametersType``. Those of ``concealed`` are never shown.
    public var parameters: Structure
    /// The texts of its parameters that come from elsewhere, or contain such a value. The kind must not show them.
    public var confidential: Set<String>
    /// The names of the parameters that come from elsewhere, or contain such a value. They are left out wherever
    /// parameters are shown.
    public var concealed: Set<String>

    /// An instance.
    public init(
        kind: String, parameters: Structure, confidential: Set<String> = [], concealed: Set<String> = []
    ) {
        self.kind = kind
        self.parameters = parameters
        self.confidential = confidential
        self.concealed = concealed
    }
}

/// The kinds of systems by name.
struct KindTable {
    private let byName: [String: SystemKind]
    /// The names, sorted.
    let names: [String]

    /// A table; of two kinds with one name the first counts.
    init(_ kinds: [SystemKind]) {
        byName = Dictionary(kinds.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        names = byName.keys.sorted()
    }

    /// The kind of a name.
    subscript(name: String) -> SystemKind? { byName[name] }
}
