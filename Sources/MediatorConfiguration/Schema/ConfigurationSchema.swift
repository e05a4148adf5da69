import CommonExpression

/// A JSON Schema (draft 2020-12) of one document of a configuration, for editors: made from the keys that the decoders
/// know, the words of each choice, the limits, and the side effects' parameters and outcomes.
///
/// It knows shapes, not names: whether a state exists, whether an expression has the right type and what the whole means
/// only compiling tells. What compiles it accepts.
public struct ConfigurationSchema: Sendable {
    /// What the schema calls itself.
    public static let identifier = "urn:mediatord:configuration"

    /// What the schema of drop-ins calls itself.
    public static let dropInIdentifier = "urn:mediatord:drop-in"

    /// The schema as JSON text, with a line break at its end.
    public let text: String

    /// The schema for a catalogue of side effects and for kinds of systems.
    ///
    /// - Parameters:
    ///   - effects: The side effects that there are.
    ///   - kinds: The kinds of systems that there are; none: any name may be one, since daemons differ in those they know.
    ///   - isDropIn: Whether it is for drop-ins, in which nothing need be said, and `null` removes what is there.
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
                    ("emission", emission), ("selector", selector), ("construct", construct), ("fields", fields),
                    ("name", name(pattern: "^[A-Za-z][A-Za-z0-9._-]*$")), ("identifier", identifierNode),
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

    private static func name(pattern: String) -> SchemaNode {
        ["type": "string", "pattern": .string(pattern), "maxLength": .int(ConfigurationLimits.nameLength)]
    }

    private static let identifierNode = name(pattern: "^[A-Za-z][A-Za-z0-9_]*$")

    /// Outermost type only: what lies within parentheses is left to the compiler.
    private static let type: SchemaNode = [
        "type": "string",
        "pattern":
            "^\\s*(bool|int|uint|double|string|timestamp|duration|list\\s*\\(.+\\)|map\\s*\\(\\s*string\\s*,.+\\))\\s*$",
    ]
    private static let duration: SchemaNode = [
        "type": "string", "pattern": "\\$\\{|^\\+?(([0-9]+\\.?[0-9]*|\\.[0-9]+)(h|ms|m|s|us|µs|ns))+$",
    ]
    private static let template: SchemaNode = ["type": "string", "pattern": "\\$\\{"]

    private static let fields: SchemaNode = [
        "type": ["object", "null"], "propertyNames": .reference("identifier"),
        "additionalProperties": .reference("type"), "maxProperties": .int(ConfigurationLimits.fields),
    ]

    /// A name, or one name with its fields.
    private static let construct: SchemaNode = .anyOf(
        .reference("identifier"),
        [
            "type": "object", "minProperties": 1, "maxProperties": 1, "propertyNames": .reference("identifier"),
            "additionalProperties": ["type": ["object", "null"]],
        ])

    private static let selector: SchemaNode = .anyOf(
        .reference("construct"), ["type": "array", "items": .reference("identifier"), "minItems": 1])

    // Systems

    private static func system(_ kinds: [SystemKind]) -> SchemaNode {
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

    /// What an instance of a kind says.
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
            "description": ["type": ["string", "number", "boolean"], "description": "What it is for."],
            "parameters": named("identifier", .reference("parameter"))
                .described("A template's parameters, which its instances are given."),
            "states": [
                "description": "Its states, each with the typed fields of its data.",
                "type": "object", "minProperties": 1, "maxProperties": .int(ConfigurationLimits.states),
                "propertyNames": .object([
                    (
                        "allOf",
                        [.reference("identifier"), ["not": ["enum": [.string(Names.any), .string(Names.stay)]]]]
                    )
                ]),
                "additionalProperties": .reference("fields"),
            ],
            "events": [
                "description": "Its events, each with the typed fields it carries.",
                "type": ["object", "null"], "maxProperties": .int(ConfigurationLimits.events),
                "propertyNames": .object([
                    ("allOf", [.reference("identifier"), ["not": ["const": .string(Names.any)]]])
                ]),
                "additionalProperties": .reference("fields"),
            ],
            "initialState": SchemaNode.reference("construct").described("The state it starts in, with its data."),
            "ready": SchemaNode.anyOf(
                oneOrMore,
                keyed(
                    SupervisionDecoder.readinessKeys, required: ["in"],
                    [
                        "in": oneOrMore.described("The states that count as ready."),
                        "within": fixedDuration.described("How long it may take to reach one of them."),
                        "otherwise": SchemaNode.choice(FaultAction.self)
                            .described("What is done about it when that has passed."),
                    ],
                    more: [
                        ("dependentRequired", SchemaNode.object([("otherwise", SchemaNode.array([.string("within")]))]))
                    ])
            ).described("The states that count as ready; left out: ready when started."),
            "health": [
                "description": "How the system is in which state; in others it is healthy.",
                "type": "object", "propertyNames": .reference("identifier"),
                "additionalProperties": .choice(StateHealth.self),
            ],
            "mailbox": keyed(
                SystemDecoder.mailboxKeys, ["limit": limit, "overflow": .choice(BufferPolicy.Overflow.self)]
            ).described("How many events may wait, and which is dropped beyond."),
            "feedbacks": named("name", .reference("feedback")).described("Which side effects run in which states."),
            "transitions": named("identifier", named("identifier", .reference("transition")))
                .described("From: on: to."),
            "unhandled": SchemaNode.choice(UnhandledPolicy.self)
                .described("What an event means that the state does not handle."),
            "supervision": SchemaNode.reference("supervision")
                .described("What is done when something in it has failed."),
            "watchdog": fixedDuration.described(
                "Within which time its loop is to turn; left out: half of what the service manager's watchdog allows."),
            "fromOutside": oneOrMore.described("The events that come from outside; any: all of them."),
            "kind": SchemaNode.reference("name")
                .described("The kind of which it is an instance; it says the states, events and transitions."),
            "with": ["type": ["object", "null"], "description": "The values of the kind's parameters."],
        ]

    private static let oneOrMore: SchemaNode = .anyOf(
        .reference("identifier"), ["type": "array", "items": .reference("identifier"), "minItems": 1])

    /// A template's parameter: its type, or more about it.
    private static let parameter: SchemaNode = .anyOf(
        .reference("type"),
        keyed(
            TemplateDecoder.parameterKeys, required: ["type"],
            [
                "type": SchemaNode.reference("type").described("What its values are."),
                "default": .object([("description", "Its value where an instance says nothing.")]),
                "description": ["type": ["string", "number", "boolean"], "description": "What it is for."],
            ]))

    private static let limit: SchemaNode = [
        "type": "integer", "minimum": 1, "maximum": .int(ConfigurationLimits.bufferLimit),
    ]

    private static let transition: SchemaNode = .anyOf(
        .reference("rule"), ["type": "array", "items": .reference("rule"), "minItems": 1])

    private static let rule: SchemaNode = .anyOf(
        .reference("identifier"),
        keyed(
            TransitionDecoder.keys, required: ["to"],
            [
                "when": SchemaNode.reference("condition").described("The rule holds only if this does."),
                "to": SchemaNode.reference("identifier").described("The new state, or stay."),
                "set": ["type": "object", "propertyNames": .reference("identifier")],
            ]))

    // Feedbacks

    private static let retryTimes: SchemaNode = [
        "type": "integer", "minimum": 1, "maximum": .int(RetryPolicy.mostTimes),
    ]

    private static func feedback(_ effects: [EffectSchema]) -> SchemaNode {
        let table = EffectTable(effects)
        var members: [String: SchemaNode] = [
            "onState": SchemaNode.reference("selector")
                .described("A state, a list, any, or { State: { field: value } }."),
            "when": SchemaNode.reference("condition").described("It runs only if this holds."),
            "strategy": SchemaNode.choice(Strategy.self).described("What a new state does to it while it runs."),
            "mode": SchemaNode.choice(RunMode.self)
                .described("What becomes of a run that is asked for while another still runs."),
            "limit": [
                "type": "integer", "minimum": 1, "maximum": .int(FeedbackDefinition.mostRuns),
                "description": "How many runs there may be at once, those that wait included.",
            ],
            "every": SchemaNode.reference("duration").described("At once, and then each time this has passed."),
            "after": SchemaNode.reference("duration").described("Once, when this has passed."),
            "at": SchemaNode.anyOf(
                calendarTime,
                [
                    "type": "array", "items": calendarTime, "minItems": 1,
                    "maxItems": .int(ConfigurationLimits.calendarTimes),
                ]
            ).described("At points in time by the calendar, as systemd's OnCalendar= has them."),
            "missed": SchemaNode.choice(MissedTicks.self)
                .described("What becomes of ticks of 'every' or 'at' whose time has passed without a run."),
            "jitter": SchemaNode.reference("duration").described("Up to this much later than the schedule says."),
            "debounce": SchemaNode.reference("duration")
                .described("It runs when no other run has been asked for so long."),
            "maxWait": SchemaNode.reference("duration")
                .described("With 'debounce': how long after the first request it runs at the latest."),
            "throttle": SchemaNode.reference("duration")
                .described("It runs at most once in this time; of what is asked for meanwhile, the last."),
            "key": [
                "type": "string", "pattern": "\\$\\{",
                "description": "Of what a run is: runs of one value are handled apart from those of another.",
            ],
            "timeout": SchemaNode.reference("duration").described("How long a run may take."),
            "retry": SchemaNode.anyOf(
                retryTimes,
                keyed(
                    FeedbackDecoder.retryKeys, required: ["times"],
                    [
                        "times": retryTimes.described("How often it is made again."),
                        "delay": fixedDuration.described("How long after the first failure; doubles each time."),
                        "maxDelay": fixedDuration.described("How long after a failure at most."),
                        "jitter": ["type": "number", "minimum": 0, "maximum": 1],
                    ])
            ).described("How often a run that fails is made again."),
        ]
        for effect in effects {
            members[effect.name] =
                effect.emitsDirectly
                ? SchemaNode.reference("construct").described("Emits an event of the system itself.")
                : .reference("effect-\(effect.name)")
        }
        for outcome in table.outcomes {
            members[outcome] = .anyOf(
                .reference("emission"), ["type": "array", "items": .reference("emission"), "minItems": 1])
        }
        let timeout = EffectSchema.timeoutOutcome.name
        members[timeout] = members[timeout]?.described(
            "What becomes of it when 'timeout' is over, which 'result.after' says.")
        let strangers: [(String, SchemaNode)] = effects.compactMap { effect in
            let others =
                table.outcomes.filter { effect.outcome($0) == nil && $0 != EffectSchema.timeoutOutcome.name }
                + (effect.isLasting
                    ? [
                        "every", "at", "missed", "mode", "limit", "timeout", "retry", "debounce", "throttle", "key",
                        "jitter",
                    ] : [])
                + (effect.outcome("onFailure") == nil && !effect.isLasting ? ["retry"] : [])
                + (effect.isInstant ? ["timeout"] : [])
            let told: [(String, SchemaNode)] = effect.outcomes.compactMap { outcome in
                outcome.sentence.map { (outcome.name, .object([("description", .string($0))])) }
            }
            guard !others.isEmpty || !told.isEmpty else { return nil }
            return (effect.name, ["properties": .object(told + others.map { ($0, false) })])
        }
        return keyed(
            FeedbackDecoder.keys + table.names + table.outcomes, required: ["onState"], members,
            more: [
                ("oneOf", .array(effects.map { ["required": [.string($0.name)]] })),
                ("dependentSchemas", .object(strangers + company)),
                (
                    "dependentRequired",
                    SchemaNode.object([
                        (EffectSchema.timeoutOutcome.name, SchemaNode.array([.string("timeout")])),
                        ("maxWait", SchemaNode.array([.string("debounce")])),
                    ])
                ),
            ])
    }

    private static let calendarTime: SchemaNode = ["type": "string", "minLength": 1]

    /// Keys of a feedback that exclude others, or need them.
    private static let company: [(String, SchemaNode)] = [
        (
            "debounce",
            SchemaNode.object([("allOf", [without(["throttle"] + FeedbackDecoder.scheduleKeys), continuing])])
        ),
        ("throttle", without(["debounce"] + FeedbackDecoder.scheduleKeys)),
        ("key", SchemaNode.object([("allOf", [without(["every", "at"]), continuing])])),
        ("every", without(["after", "at"])), ("after", without(["at"])),
        ("missed", .anyOf(["required": ["every"]], ["required": ["at"]])),
        ("jitter", .anyOf(["required": ["every"]], ["required": ["after"]], ["required": ["at"]])),
    ]

    private static func without(_ keys: [String]) -> SchemaNode {
        ["properties": .object(keys.map { ($0, false) })]
    }

    /// A feedback whose runs outlast their state.
    private static let continuing: SchemaNode = [
        "properties": ["strategy": .choice(among: [Strategy.continueOnNewState])], "required": ["strategy"],
    ]

    private static let emission: SchemaNode = .anyOf(
        .reference("construct"),
        keyed(
            FeedbackDecoder.ruleKeys, required: ["emit"],
            ["when": .reference("condition"), "emit": .reference("construct")]))

    private static func effect(_ effect: EffectSchema) -> SchemaNode {
        let members = Dictionary(
            uniqueKeysWithValues: effect.parameters.map { ($0.name, parameter($0).described($0.sentence)) })
        let bounded: [(String, SchemaNode)] = effect.parameters.compactMap { parameter in
            (parameter.upperBound ?? parameter.companion).map { (parameter.name, .array([.string($0)])) }
        }
        let alternatives: [SchemaNode] = effect.exactlyOneOf.map { ["required": [.string($0)]] }
        let whole = keyed(
            effect.parameters.map(\.name), required: effect.parameters.filter(\.required).map(\.name), members,
            more: (bounded.isEmpty ? [] : [("dependentRequired", .object(bounded))])
                + (alternatives.isEmpty ? [] : [("oneOf", .array(alternatives))]))
        let about = effect.summary.map { "\($0.capitalizedSentence)." }
        guard let short = effect.shortForm, let form = members[short] else { return whole.described(about) }
        return .anyOf(form, whole).described(about)
    }

    private static func parameter(_ parameter: EffectSchema.Parameter) -> SchemaNode {
        if !parameter.choices.isEmpty {
            return .anyOf(["enum": .array(parameter.choices.map { .string($0) })], .reference("template"))
        }
        // Of a type that only the whole configuration knows.
        if parameter.type == .dyn { return [:] }
        if case .optional(let wrapped) = parameter.type, let constraint = parameter.constraint {
            let held = EffectSchema.Parameter(name: parameter.name, type: wrapped, constraint: constraint)
            return .anyOf(["type": "null"], self.parameter(held))
        }
        switch parameter.constraint {
        case nil, .time?, .headers?, .command?, .environment?, .text?:
            return value(parameter.type, allowsEmpty: parameter.allowsEmpty)
        case .absolutePath?, .socketPath?: return ["type": "string", "pattern": "^/|\\$\\{"]
        case .permissions?: return ["type": "string", "pattern": "^0?[0-7]{1,3}$|\\$\\{"]
        case .component?:
            return ["type": "string", "minLength": 1, "pattern": "^[^/]+$|\\$\\{"]
        case .journalFields?:
            return [
                "type": "object", "propertyNames": ["pattern": "^[A-Z_][A-Z0-9_]{0,63}$"],
                "additionalProperties": ["type": "string"],
            ]
        case .logFields?:
            return .anyOf(
                [
                    "type": "object", "propertyNames": ["pattern": "^[A-Za-z][A-Za-z0-9_]{0,63}$"],
                    "additionalProperties": ["type": "string"], "maxProperties": .int(LogFields.limits.fields),
                ], .reference("template"))
        case .unitName?:
            let types = EffectSchema.Parameter.Constraint.unitTypes.joined(separator: "|")
            return ["type": "string", "pattern": .string("^[A-Za-z0-9:_.\\\\@-]+\\.(\(types))$|\\$\\{")]
        case .url?: return ["type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?(\\+[Uu][Nn][Ii][Xx])?://|\\$\\{"]
        case .statuses?:
            return ["type": "string", "pattern": "^ *[1-5][0-9]{2} *(- *[1-5][0-9]{2} *)?(,[ 0-9-]*)*$|\\$\\{"]
        case .exits?:
            let exit = "(SIG[A-Z0-9]+|[0-9]{1,3} *(- *[0-9]{1,3})?)"
            return ["type": "string", "pattern": .string("^ *\(exit) *(, *\(exit) *)*$|\\$\\{")]
        case .account?: return ["type": "string", "pattern": "^[^-+.:/,\\s][^:/,\\s]*$|\\$\\{"]
        case .host?: return ["type": "string", "pattern": "^[A-Za-z0-9._:%][A-Za-z0-9._:%-]*$|\\$\\{"]
        case .whole(let range)?:
            return .anyOf(
                ["type": "integer", "minimum": .int(Int(range.lowerBound)), "maximum": .int(Int(range.upperBound))],
                .reference("template"))
        case .number(let range)?:
            let ends = [("minimum", range.lowerBound), ("maximum", range.upperBound)].filter { $0.1.isFinite }
            return .anyOf(
                .object([("type", "number")] + ends.map { ($0.0, .double($0.1)) }), .reference("template"))
        }
    }

    /// The text of a UUID.
    private static let uuid = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"

    /// Data of a type, as it may be written; it may also be what a rule says.
    private static func value(_ type: ValueType, allowsEmpty: Bool = true, rule: ValueRule? = nil) -> SchemaNode {
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
    /// What it is, how much it may be if a schema cannot say so, and what it is by default, as editors show it; nil: nothing
    /// is said.
    fileprivate var sentence: String? {
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
    /// How much it may be, where that is written as text and the summary does not tell it.
    private var boundsWithoutKeyword: String? {
        switch constraint {
        case .time?, .text?:
            summary.map { $0.contains("from ") || $0.contains("at most ") } == true ? nil : constraint?.bounds
        default: nil
        }
    }
}

extension EffectSchema.Outcome {
    /// When it is reported and with what, as editors show it; nil: nothing is said.
    fileprivate var sentence: String? {
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
    fileprivate var capitalizedSentence: String { prefix(1).uppercased() + dropFirst() }
}
