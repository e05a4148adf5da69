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
                        "read": grants(.reference("grant")).described("The accounts that may read."),
                        "inject": grants(.reference("injectGrant"))
                            .described("The accounts that may inject events and values, and read."),
                        "administer": grants(.reference("grant")).described("The accounts that have all rights."),
                    ]), ["type": "null"]
            ).described("The rights to the control socket, beside those of root and the daemon's own user."),
            "limits": SchemaNode.anyOf(
                keyed(
                    LimitsDecoder.keys,
                    [
                        "value": size.described(
                            "The largest size of a state, an event or a bus value; 1MiB by default."),
                        "states": size.described(
                            "The largest size of all states and bus values together; 128MiB by default."),
                        "mailboxes": size.described(
                            "The largest size of the waiting events in all mailboxes; 128MiB by default."),
                    ]), ["type": "null"]
            ).described("The limits of memory for the data of systems and buses. Exceeding one is a fault."),
            "store": SchemaNode.anyOf(
                keyed(
                    StoreDecoder.keys, required: StoreDecoder.keys,
                    [
                        "default": SchemaNode.choice(Persistence.self).described(
                            "Whether systems and currentValue buses without 'persist' survive a crash and a reboot.")
                    ]), ["type": "null"]
            ).described("What survives a crash and a reboot."),
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
            "kind": SchemaNode.choice(BusKind.self).described("The kind decides if it remembers its last value."),
            "value": SchemaNode.anyOf(.reference("type"), .reference("fields")).described("The type of its values."),
            "initial": .object([("description", "A currentValue bus's first value.")]),
            "limit": [
                "description": "The number of values that may wait while one is delivered.", "type": "integer",
                "minimum": 1,
                "maximum": .int(ConfigurationLimits.bufferLimit),
            ],
            "overflow": SchemaNode.choice(among: BufferPolicy.Overflow.ofBuses)
                .described("The value to drop when the limit is reached."),
            "description": ["type": ["string", "number", "boolean"], "description": "Its purpose."],
            "for": SchemaNode.reference("each").described("The bus exists once for each instance of this template."),
            "fromOutside": SchemaNode.choice(ExternalUse.self).described("The use by programs outside."),
            "persist": SchemaNode.object([("type", "boolean")]).described(
                "Whether a currentValue bus keeps its value over a crash and a reboot."),
        ],
        more: [
            ("if", ["properties": ["kind": ["const": .string(BusKind.currentValue.rawValue)]]]),
            ("then", ["required": ["initial"]]),
            ("else", ["properties": ["initial": false, "persist": ["const": false]]]),
        ])

    /// A link, in one of its forms.
    static let link = keyed(
        WiringDecoder.linkKeys, required: ["attach"],
        [
            "attach": SchemaNode.reference("part").described("The system it belongs to."),
            "to": SchemaNode.reference("part").described("The bus that it writes."),
            "from": SchemaNode.reference("part").described("The bus that it reads."),
            "toSystem": SchemaNode.reference("part").described("The system that gets its events."),
            "onState": SchemaNode.reference("selector").described("The states in which it fires."),
            "on": SchemaNode.choice(LinkMoment.self).described(
                "Whether it fires only when a state is entered, or also when an update changes its value or event."),
            "onValue": .object([("description", "The value of the bus for which it fires.")]),
            "when": SchemaNode.reference("condition").described("A condition: the link fires only if it is true."),
            "emitValue": .object([("description", "The value that it puts on the bus.")]),
            "emitEvent": SchemaNode.reference("construct").described("The event that it sends."),
            "setInput": SchemaNode.anyOf(
                .reference("identifier"),
                [
                    "type": "object", "minProperties": 1, "maxProperties": 1, "propertyNames": .reference("identifier"),
                ]
            ).described("The input that it sets: to the value of the bus, or { name: value }."),
            "loop": SchemaNode.reference("loop").described("The limit of the link as part of a loop."),
        ],
        more: [
            (
                "oneOf",
                [
                    form(
                        ["to", "onState", "emitValue"],
                        without: ["from", "toSystem", "onValue", "emitEvent", "setInput"]),
                    form(
                        ["from", "emitEvent"], without: ["to", "toSystem", "onState", "on", "emitValue", "setInput"]),
                    form(
                        ["from", "setInput"], without: ["to", "toSystem", "onState", "on", "emitValue", "emitEvent"]),
                    // As in older versions.
                    form(
                        ["to", "emitEvent"], without: ["from", "toSystem", "onState", "on", "emitValue", "setInput"]),
                    form(
                        ["to", "setInput"], without: ["from", "toSystem", "onState", "on", "emitValue", "emitEvent"]),
                    form(
                        ["toSystem", "onState", "emitEvent"],
                        without: ["to", "from", "onValue", "emitValue", "setInput"]),
                    form(
                        ["toSystem", "onState", "setInput"],
                        without: ["to", "from", "onValue", "emitValue", "emitEvent"]),
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
            "limit": rate.described("The largest rate at which it may fire."),
            "hops": SchemaNode.object([
                ("type", "integer"), ("minimum", .int(LoopLimit.hopRange.lowerBound)),
                ("maximum", .int(LoopLimit.hopRange.upperBound)),
            ]).described(
                "The number of links that an event may have passed since its cause outside, this one included."),
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
                .described(
                    "The systems that a reaction to a fault includes: only the failed one, all, or it and those after it."
                ),
            "systems": SchemaNode.anyOf(
                .reference("part"), ["type": "array", "items": .reference("part"), "minItems": 1]
            ).described("The systems, in the order of their start."),
        ])

    /// The schema of the reaction to a fault of a system.
    static let supervision: SchemaNode = .anyOf(
        .choice(FaultAction.self),
        keyed(
            SupervisionDecoder.policyKeys, required: ["onFault"],
            [
                "onFault": SchemaNode.choice(FaultAction.self).described("The reaction to a fault."),
                "delay": fixedDuration.described("The delay before a restart; it doubles with each fault in a row."),
                "maxDelay": fixedDuration.described("The longest delay before a restart."),
                "limit": rate.described("The largest rate of restarts and resets."),
                "beyond": SchemaNode.choice(SupervisionPolicy.LastResort.self).described("The reaction beyond that."),
            ]))
}
