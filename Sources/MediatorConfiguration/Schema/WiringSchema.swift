extension ConfigurationSchema {
    /// A document of buses and links.
    static let wiring = keyed(
        WiringDecoder.keys,
        [
            "buses": named("part", .reference("bus")).described("The buses, by name."),
            "links": named("name", .reference("link")).described("The links, by name."),
            "instances": named("instanceName", ["type": ["object", "null"]])
                .described("Systems made of templates, each with its parameters."),
            "groups": named("name", .reference("group"))
                .described("Systems that belong together when one of them fails."),
            "loop": SchemaNode.reference("loop").described("A limit for every link of this document."),
            "access": SchemaNode.anyOf(
                keyed(
                    AccessDecoder.keys,
                    [
                        "read": grants(.reference("grant")).described("Who may look."),
                        "inject": grants(.reference("injectGrant"))
                            .described("Who may put in events and values, and look."),
                        "administer": grants(.reference("grant")).described("Who may do everything."),
                    ]), ["type": "null"]
            ).described("Who may do what over the control socket, beside root and the daemon's own user."),
            "limits": SchemaNode.anyOf(
                keyed(
                    LimitsDecoder.keys,
                    [
                        "value": size.described(
                            "How much data a state, an event or a value of a bus may hold; 1MiB if not said."),
                        "states": size.described(
                            "How much all states and values of buses may hold together; 128MiB if not said."),
                        "mailboxes": size.described(
                            "How much the events may hold that wait in all mailboxes; 128MiB if not said."),
                    ]), ["type": "null"]
            ).described("How much memory the data of systems and buses may take; beyond it is a fault."),
        ])

    /// A number of bytes.
    private static let size: SchemaNode = [
        "anyOf": [
            ["type": "integer", "minimum": .int(MemoryLimits.valueRange.lowerBound)],
            ["type": "string", "pattern": "^[0-9]+(B|KiB|MiB|GiB)?$"],
        ]
    ]

    private static func grants(_ grant: SchemaNode) -> SchemaNode {
        .anyOf(grant, ["type": "array", "items": grant, "minItems": 1])
    }

    private static let accounts: SchemaNode = .anyOf(
        .reference("account"), ["type": "array", "items": .reference("account"), "minItems": 1])
    private static let patterns: SchemaNode = .anyOf(
        .reference("namePattern"), ["type": "array", "items": .reference("namePattern"), "minItems": 1])
    private static let someone: (String, SchemaNode) = (
        "anyOf", [["required": ["users"]], ["required": ["groups"]]]
    )

    /// A user or group.
    static let account: SchemaNode = .anyOf(
        ["type": "string", "minLength": 1, "maxLength": .int(AccessDecoder.longestAccount)],
        ["type": "integer", "minimum": 0, "maximum": .int(Int(UInt32.max) - 1)])

    /// A pattern of names.
    static let namePattern: SchemaNode = [
        "type": "string", "pattern": "^[A-Za-z0-9._@:*-]+$", "maxLength": .int(ConfigurationLimits.nameLength),
    ]

    /// A right for some users and groups.
    static let grant = keyed(
        AccessDecoder.grantKeys,
        [
            "users": accounts.described("Users, by name or number; * is everybody."),
            "groups": accounts.described("Groups, by name or number."),
        ], more: [someone])

    /// A right for some users and groups, which may be limited to some systems and buses.
    static let injectGrant = keyed(
        AccessDecoder.injectKeys,
        [
            "users": accounts.described("Users, by name or number; * is everybody."),
            "groups": accounts.described("Groups, by name or number."),
            "systems": patterns.described("Into these systems only: patterns of their names."),
            "buses": patterns.described("On these buses only: patterns of their names."),
        ], more: [someone])

    /// A bus.
    static let bus = keyed(
        WiringDecoder.busKeys, required: ["kind", "value"],
        [
            "kind": SchemaNode.choice(BusKind.self).described("Whether it remembers its last value."),
            "value": SchemaNode.anyOf(.reference("type"), .reference("fields")).described("The type of its values."),
            "initial": .object([("description", "A currentValue bus's first value.")]),
            "limit": [
                "description": "How many values may wait while one is being delivered.", "type": "integer",
                "minimum": 1,
                "maximum": .int(ConfigurationLimits.bufferLimit),
            ],
            "overflow": SchemaNode.choice(among: BufferPolicy.Overflow.ofBuses)
                .described("Which value is dropped beyond it."),
            "description": ["type": ["string", "number", "boolean"], "description": "What it is for."],
            "for": SchemaNode.reference("each").described("There is one for each instance of this template."),
            "fromOutside": SchemaNode.choice(ExternalUse.self).described("What programs outside do with it."),
        ],
        more: [
            ("if", ["properties": ["kind": ["const": .string(BusKind.currentValue.rawValue)]]]),
            ("then", ["required": ["initial"]]),
            ("else", ["properties": ["initial": false]]),
        ])

    /// A link, in one of its forms.
    static let link = keyed(
        WiringDecoder.linkKeys, required: ["attach"],
        [
            "attach": SchemaNode.reference("part").described("The system it belongs to."),
            "to": SchemaNode.reference("part").described("The bus that it joins the system to."),
            "toSystem": SchemaNode.reference("part").described("The system that gets its events."),
            "onState": SchemaNode.reference("selector").described("In which states it fires."),
            "onValue": .object([("description", "On which value of the bus it fires.")]),
            "when": SchemaNode.reference("condition").described("It fires only if this holds."),
            "emitValue": .object([("description", "What it puts on the bus.")]),
            "emitEvent": SchemaNode.reference("construct").described("What it sends."),
            "loop": SchemaNode.reference("loop").described("How far it may go on as part of a loop."),
        ],
        more: [
            (
                "oneOf",
                [
                    form(["to", "onState", "emitValue"], without: ["toSystem", "onValue", "emitEvent"]),
                    form(["to", "emitEvent"], without: ["toSystem", "onState", "emitValue"]),
                    form(["toSystem", "onState", "emitEvent"], without: ["to", "onValue", "emitValue"]),
                ]
            ), ("not", ["required": ["onValue", "when"]]),
        ])

    private static func form(_ required: [String], without others: [String]) -> SchemaNode {
        [
            "required": .array(required.map { .string($0) }),
            "properties": .object(others.map { ($0, false) }),
        ]
    }

    /// A limit of a loop.
    static let loop = keyed(
        WiringDecoder.loopKeys, required: ["limit"],
        [
            "limit": rate.described("How often it may fire."),
            "hops": SchemaNode.object([
                ("type", "integer"), ("minimum", .int(LoopLimit.hopRange.lowerBound)),
                ("maximum", .int(LoopLimit.hopRange.upperBound)),
            ]).described(
                "How many links an event may have come over since it began outside, this one included."),
        ])

    /// A number of times per duration.
    static let rate: SchemaNode = [
        "type": "string",
        "pattern": "^ *[0-9]+ +per +\\+?(([0-9]+\\.?[0-9]*|\\.[0-9]+)(h|ms|m|s|us|µs|ns))+ *$",
    ]

    /// A fixed duration.
    static let fixedDuration: SchemaNode = [
        "type": "string", "pattern": "^\\+?(0|(([0-9]+\\.?[0-9]*|\\.[0-9]+)(h|ms|m|s|us|µs|ns))+)$",
    ]

    /// A group of systems.
    static let group = keyed(
        SupervisionDecoder.groupKeys, required: SupervisionDecoder.groupKeys,
        [
            "strategy": SchemaNode.choice(GroupStrategy.self)
                .described("Whom what is done about one of them concerns: it, all, or it and those after it."),
            "systems": SchemaNode.anyOf(
                .reference("part"), ["type": "array", "items": .reference("part"), "minItems": 1]
            ).described("The systems, in the order in which they begin."),
        ])

    /// What is done when something in a system has failed.
    static let supervision: SchemaNode = .anyOf(
        .choice(FaultAction.self),
        keyed(
            SupervisionDecoder.policyKeys, required: ["onFault"],
            [
                "onFault": SchemaNode.choice(FaultAction.self).described("What is done about a fault."),
                "delay": fixedDuration.described("How long after a fault it begins anew; doubles each time in a row."),
                "maxDelay": fixedDuration.described("How long after a fault it begins anew at most."),
                "limit": rate.described("How often it may be restarted or reset."),
                "beyond": SchemaNode.choice(SupervisionPolicy.LastResort.self).described("What is done beyond that."),
            ]))
}
