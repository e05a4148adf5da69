import CommonExpression

/// A JSON Schema (draft 2020-12) of one document of a configuration, for editors. It is made from the decoders' keys,
/// the words of each choice, the limits, and the parameters and outcomes of side effects.
///
/// The schema checks shapes, not names: only the compiler finds unknown states, wrong types and loops. The schema
/// accepts whatever the compiler accepts.
public struct ConfigurationSchema: Sendable {
    /// The identifier of the schema.
    public static let identifier = "urn:mediatord:configuration"

    /// The identifier of the schema of drop-ins.
    public static let dropInIdentifier = "urn:mediatord:drop-in"

    /// The schema as JSON text, with a line break at its end.
    public let text: String

    /// The schema for a catalogue of side effects and for kinds of systems.
    ///
    /// - Parameters:
    ///   - effects: The available side effects.
    ///   - kinds: The available kinds of systems; none: any name may be a kind, since daemons have different kinds.
    ///   - isDropIn: Whether it is for drop-ins, in which no key is required, and `null` removes a value.
    public init(
        effects: [EffectSchema] = EffectSchema.builtin, kinds: [SystemKind] = [], isDropIn: Bool = false
    ) {
        let root = Self.root(effects, kinds)
        text = (isDropIn ? Self.dropIn(root) : root).text() + "\n"
    }

    /// The schema as a tree.
    static func root(_ effects: [EffectSchema], _ kinds: [SystemKind] = []) -> SchemaNode {
        [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": .string(identifier),
            "title": "mediatord configuration",
            "description": "One document: a system, or a template of systems, or buses, links and instances.",
            "type": ["object", "null"],
            "if": ["required": ["system"]],
            "then": .reference("system"),
            "else": .reference("wiring"),
            "$defs": .object(
                [
                    ("system", system(kinds)), ("wiring", wiring), ("bus", bus), ("link", link), ("loop", loop),
                    ("group", group), ("grant", grant), ("injectGrant", injectGrant), ("account", account),
                    ("namePattern", namePattern), ("supervision", supervision),
                    ("feedback", feedback(effects)), ("transition", transition), ("rule", rule),
                    ("always", always), ("alwaysRule", alwaysRule), ("input", input),
                    ("emission", emission), ("selector", selector), ("construct", construct),
                    ("stateConstruct", stateConstruct), ("fields", fields), ("stateFields", stateFields),
                    ("systemPart", systemPart),
                    ("name", name(pattern: "^[A-Za-z][A-Za-z0-9._-]*$")), ("identifier", identifierNode),
                    ("state", name(pattern: "^\(statePattern)$")),
                    ("target", name(pattern: "^\(statePattern)(\\.history\\*?)?$")),
                    ("origin", name(pattern: "^(\(statePattern)|\\[\(statePattern)(, \(statePattern))*\\])$")),
                    ("trigger", name(pattern: "^(done\\.\(statePattern)|[A-Za-z][A-Za-z0-9_]*)$")),
                    ("systemName", name(pattern: "^[A-Za-z][A-Za-z0-9._-]*@?$")),
                    ("part", name(pattern: "^[A-Za-z][A-Za-z0-9._-]*(@([A-Za-z0-9:._-]+|\\*))?$")),
                    ("instanceName", name(pattern: "^[A-Za-z][A-Za-z0-9._-]*@[A-Za-z0-9:._-]+$")),
                    ("each", name(pattern: "^[A-Za-z][A-Za-z0-9._-]*@\\*$")), ("parameter", parameter),
                    ("type", type), ("condition", ["type": ["string", "boolean", "number"]]),
                    ("duration", duration), ("template", template),
                ] + effects.filter { !$0.emitsDirectly }.map { ("effect-\($0.name)", effect($0)) }),
        ]
    }

    /// A mapping with fixed keys: those that a decoder knows, and no others.
    static func keyed(
        _ keys: [String], required: [String] = [], _ members: [String: SchemaNode], more: [(String, SchemaNode)] = []
    ) -> SchemaNode {
        var node: [(String, SchemaNode)] = [
            ("type", "object"),
            ("properties", .object(keys.map { ($0, members[$0] ?? true) })),
            ("additionalProperties", false),
        ]
        if !required.isEmpty { node.append(("required", .array(required.map { .string($0) }))) }
        return .object(node + more)
    }

    /// A mapping from names to parts of one kind.
    static func named(_ name: String, _ value: SchemaNode, isNullable: Bool = true) -> SchemaNode {
        [
            "type": isNullable ? ["object", "null"] : "object",
            "propertyNames": .reference(name),
            "additionalProperties": value,
        ]
    }

    // Words

    static func name(pattern: String) -> SchemaNode {
        ["type": "string", "pattern": .string(pattern), "maxLength": .int(ConfigurationLimits.nameLength)]
    }

    private static let statePattern = "[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z][A-Za-z0-9_]*){0,7}"
    private static let identifierNode = name(pattern: "^[A-Za-z][A-Za-z0-9_]*$")

    /// Outermost type only: what lies within parentheses is left to the compiler.
    static let type: SchemaNode = [
        "type": "string",
        "pattern":
            "^\\s*(bool|int|uint|double|string|timestamp|duration|list\\s*\\(.+\\)|map\\s*\\(\\s*string\\s*,.+\\))\\s*$",
    ]
    static let duration: SchemaNode = [
        "type": "string", "pattern": "\\$\\{|^\\+?(([0-9]+\\.?[0-9]*|\\.[0-9]+)(h|ms|m|s|us|µs|ns))+$",
    ]
    static let template: SchemaNode = ["type": "string", "pattern": "\\$\\{"]

    static let fields: SchemaNode = [
        "type": ["object", "null"], "propertyNames": .reference("identifier"),
        "additionalProperties": .reference("type"), "maxProperties": .int(ConfigurationLimits.fields),
    ]

    /// An event's name, or one name with its fields.
    static let construct = construct("identifier")

    /// The same of a state.
    static let stateConstruct = construct("state")

    private static func construct(_ name: String) -> SchemaNode {
        .anyOf(
            .reference(name),
            [
                "type": "object", "minProperties": 1, "maxProperties": 1, "propertyNames": .reference(name),
                "additionalProperties": ["type": ["object", "null"]],
            ])
    }

    static let selector: SchemaNode = .anyOf(
        .reference("stateConstruct"), ["type": "array", "items": .reference("state"), "minItems": 1])

    // Systems

    static func system(_ kinds: [SystemKind]) -> SchemaNode {
        var members = systemMembers
        if !kinds.isEmpty {
            members["kind"] = SchemaNode.object([("enum", .array(kinds.map { .string($0.name) }))])
                .described("The kind of which it is an instance.")
        }
        var more: [(String, SchemaNode)] = [
            ("if", ["required": ["kind"]]),
            ("then", ["properties": .object(SystemDecoder.keysOfKinds.map { ($0, false) })]),
            ("else", ["required": ["states", "initialState"], "properties": ["with": false]]),
        ]
        if !kinds.isEmpty {
            more.append(
                (
                    "allOf",
                    .array(
                        kinds.map { kind in
                            [
                                "if": ["required": ["kind"], "properties": ["kind": ["const": .string(kind.name)]]],
                                "then": arguments(kind),
                            ]
                        })
                ))
        }
        return keyed(SystemDecoder.keys, required: ["system"], members, more: more)
    }

    /// The keys of an instance of a kind.
    private static func arguments(_ kind: SystemKind) -> SchemaNode {
        let fields = kind.parameters.map { parameter in
            (parameter.field.name, value(parameter.field.type, rule: parameter.field.rule))
        }
        let required = kind.parameters.filter { $0.default == nil && !$0.field.type.isOptional }.map(\.field.name)
        let with = keyed(fields.map(\.0), required: required, Dictionary(uniqueKeysWithValues: fields))
        var node: [(String, SchemaNode)] = [("properties", ["with": with])]
        if !required.isEmpty { node.append(("required", ["with"])) }
        return .object(node)
    }

    private static let systemMembers: [String: SchemaNode] =
        [
            "system": SchemaNode.reference("systemName")
                .described("The system's unique name; with @ at its end it is a template."),
            "description": ["type": ["string", "number", "boolean"], "description": "Its purpose."],
            "parameters": named("identifier", .reference("parameter"))
                .described("A template's parameters, which each instance sets."),
            "states": [
                "description": "Its states, each with the typed fields of its data. Running.Copying lies in Running.",
                "type": "object", "minProperties": 1, "maxProperties": .int(ConfigurationLimits.states),
                "propertyNames": .object([
                    (
                        "allOf",
                        [.reference("state"), ["not": ["enum": [.string(Names.any), .string(Names.stay)]]]]
                    )
                ]),
                "additionalProperties": .reference("stateFields"),
            ],
            "events": [
                "description": "Its events, each with the typed fields it carries.",
                "type": ["object", "null"], "maxProperties": .int(ConfigurationLimits.events),
                "propertyNames": .object([
                    (
                        "allOf",
                        [.reference("identifier"), ["not": ["enum": [.string(Names.any), .string(Names.always)]]]]
                    )
                ]),
                "additionalProperties": .reference("fields"),
            ],
            "inputs": [
                "description": "Its inputs: values that links set, and that its rules read as input.NAME.",
                "type": ["object", "null"], "maxProperties": .int(ConfigurationLimits.fields),
                "propertyNames": .reference("identifier"), "additionalProperties": .reference("input"),
            ],
            "initialState": SchemaNode.reference("stateConstruct").described(
                "The state it starts in, with its data."),
            "initial": [
                "description": "The states inside that rules enter which name a state with states inside.",
                "type": "object", "propertyNames": .reference("state"),
                "additionalProperties": .reference("state"),
            ],
            "final": oneOrStates.described(
                "The states in which the system, or the state around them, is meant to end."),
            "ready": SchemaNode.anyOf(
                oneOrStates,
                keyed(
                    SupervisionDecoder.readinessKeys, required: ["in"],
                    [
                        "in": oneOrStates.described("The states that count as ready."),
                        "within": fixedDuration.described("The time in which one of them must be reached."),
                        "otherwise": SchemaNode.choice(FaultAction.self)
                            .described("The reaction if none is reached in time."),
                    ],
                    more: [
                        ("dependentRequired", SchemaNode.object([("otherwise", SchemaNode.array([.string("within")]))]))
                    ])
            ).described("The states that count as ready; left out: ready when started."),
            "health": [
                "description": "The health of the system by state; in other states it is healthy.",
                "type": "object", "propertyNames": .reference("state"),
                "additionalProperties": .choice(StateHealth.self),
            ],
            "mailbox": keyed(
                SystemDecoder.mailboxKeys, ["limit": limit, "overflow": .choice(BufferPolicy.Overflow.self)]
            ).described("The number of events that may wait, and the event to drop when the mailbox is full."),
            "feedbacks": named("name", .reference("feedback")).described(
                "The side effects, with the states in which they run."),
            "transitions": named(
                "origin",
                [
                    "type": ["object", "null"], "propertyNames": .reference("trigger"),
                    "properties": .object([(Names.always, .reference("always"))]),
                    "patternProperties": .object([("^done\\.", .reference("always"))]),
                    "additionalProperties": .reference("transition"),
                ]
            ).described(
                "From: on: to. Under always: the rules that are tried after each event; under done.STATE: those in its final "
                    + "states."),
            "unhandled": SchemaNode.choice(UnhandledPolicy.self)
                .described("The reaction to an event that the state does not handle."),
            "supervision": SchemaNode.reference("supervision")
                .described("The reaction to a fault."),
            "watchdog": fixedDuration.described(
                "The time in which its loop must make progress; by default half of the service manager's watchdog time."
            ),
            "fromOutside": oneOrMore.described("The events that come from outside; any: all of them."),
            "persist": SchemaNode.choice(Persistence.self)
                .described("Whether its state survives a crash and a reboot."),
            "was": SchemaNode.reference("systemPart")
                .described("Its earlier name. A saved state under this name counts if the own name has none."),
            "kind": SchemaNode.reference("name")
                .described("The kind of which it is an instance. The kind defines states, events and transitions."),
            "with": ["type": ["object", "null"], "description": "The values of the kind's parameters."],
        ]

    private static let oneOrStates: SchemaNode = .anyOf(
        .reference("state"), ["type": "array", "items": .reference("state"), "minItems": 1])

    private static let oneOrMore: SchemaNode = .anyOf(
        .reference("identifier"), ["type": "array", "items": .reference("identifier"), "minItems": 1])

    /// A template's parameter: its type, or more about it.
    static let parameter: SchemaNode = .anyOf(
        .reference("type"),
        keyed(
            TemplateDecoder.parameterKeys, required: ["type"],
            [
                "type": SchemaNode.reference("type").described("The type of its values."),
                "default": .object([("description", "Its value where an instance says nothing.")]),
                "description": ["type": ["string", "number", "boolean"], "description": "Its purpose."],
            ]))

    static let limit: SchemaNode = [
        "type": "integer", "minimum": 1, "maximum": .int(ConfigurationLimits.bufferLimit),
    ]

    /// An input: its type, or more about it.
    static let input: SchemaNode = .anyOf(
        .reference("type"),
        keyed(
            SystemDecoder.inputKeys, required: ["type"],
            [
                "type": SchemaNode.reference("type").described("The type of its values."),
                "default": .object([("description", "Its value until a link sets it.")]),
            ]))

    /// Data of a type, as it may be written; it may also be what a rule says.
    static func value(_ type: ValueType, allowsEmpty: Bool = true, rule: ValueRule? = nil) -> SchemaNode {
        var bounds: [(String, SchemaNode)] = []
        switch (type, rule) {
        case (_, .words(let words)?) where type == .string:
            return .anyOf(["enum": .array(words.map { .string($0) })], .reference("template"))
        case (_, .numbers(let numbers)?) where type == .int || type == .uint:
            return .anyOf(["enum": .array(numbers.map { .int(Int($0)) })], .reference("template"))
        case (_, .range(let range)?) where type == .int || type == .uint:
            return .anyOf(
                ["type": "integer", "minimum": .int(Int(range.lowerBound)), "maximum": .int(Int(range.upperBound))],
                .reference("template"))
        case (_, .uuid?) where type == .string:
            return .anyOf(["type": "string", "pattern": .string(uuid)], .reference("template"))
        default: break
        }
        var each: ValueRule?
        if case .each(let rule)? = rule { each = rule }
        var inner: [String: ValueRule] = [:]
        if case .fields(let rules)? = rule { inner = rules }
        switch type {
        case .string:
            if !allowsEmpty { bounds.append(("minLength", 1)) }
            return .object([("type", "string")] + bounds)
        case .bool: return .anyOf(["type": "boolean"], .reference("template"))
        case .int, .uint: return .anyOf(["type": "integer"], .reference("template"))
        case .double: return .anyOf(["type": "number"], .reference("template"))
        case .duration: return .reference("duration")
        case .timestamp: return ["type": "string"]
        case .optional(let wrapped): return .anyOf(["type": "null"], value(wrapped, rule: rule))
        case .structure(let structure):
            let fields = structure.fields.map { ($0.name, value($0.type, rule: inner[$0.name])) }
            return keyed(
                fields.map { $0.0 }, required: structure.fields.filter { !$0.type.isOptional }.map(\.name),
                Dictionary(uniqueKeysWithValues: fields))
        case .list(let element):
            if !allowsEmpty { bounds.append(("minItems", 1)) }
            let list: [(String, SchemaNode)] = [("type", "array"), ("items", value(element, rule: each))]
            return .anyOf(.object(list + bounds), .reference("template"))
        case .map(_, let element):
            return .anyOf(
                ["type": "object", "additionalProperties": value(element, rule: each)], .reference("template"))
        default: return true
        }
    }
}

extension EffectSchema.Parameter {
    /// The summary, the limits that a schema cannot express, and the default, as editors show them; nil: none.
    var sentence: String? {
        let bounds = boundsWithoutKeyword.map { "\($0.capitalizedSentence)." }
        guard let summary else { return bounds }
        let usual: String? =
            switch `default` {
            case .string(let text)?: "'\(text)'"
            case .duration(let span)?: span.brief
            case .map?, nil: nil
            case let value?: "\(value)"
            }
        return "\(summary.capitalizedSentence)." + (bounds.map { " \($0)" } ?? "")
            + (usual.map { " By default \($0)." } ?? "")
    }
}

extension EffectSchema.Parameter {
    /// The limits of a value that is written as text, unless the summary has them.
    private var boundsWithoutKeyword: String? {
        switch constraint {
        case .time?, .text?:
            summary.map { $0.contains("from ") || $0.contains("at most ") } == true ? nil : constraint?.bounds
        default: nil
        }
    }
}

extension EffectSchema.Outcome {
    /// The description of the outcome and its result, as editors show it; nil: none.
    var sentence: String? {
        guard let summary else { return nil }
        let isTime = ["each", "for", "at", "after", "as"].contains(String(summary.prefix { $0 != " " }))
        let when = summary == "anything else" ? "in any other case" : isTime ? summary : "when \(summary)"
        let fields = result.fields.map { "\($0.name) (\($0.type == .dyn ? "any type" : "\($0.type)"))" }
        return "\(when.capitalizedSentence)."
            + (fields.isEmpty ? "" : " In 'result': \(fields.joined(separator: ", ")).")
    }
}

extension String {
    /// With a capital letter at the beginning.
    var capitalizedSentence: String { prefix(1).uppercased() + dropFirst() }
}
