import CommonExpression

extension ConfigurationSchema {
    private static let retryTimes: SchemaNode = [
        "type": "integer", "minimum": 1, "maximum": .int(RetryPolicy.mostTimes),
    ]

    static func feedback(_ effects: [EffectSchema]) -> SchemaNode {
        let table = EffectTable(effects)
        var members: [String: SchemaNode] = [
            "onState": SchemaNode.reference("selector")
                .described("A state, a list, any, or { State: { field: value } }."),
            "when": SchemaNode.reference("condition").described(
                "A condition: the side effect runs only if it is true."),
            "strategy": SchemaNode.choice(Strategy.self).described(
                "The effect of a new state on a running side effect."),
            "mode": SchemaNode.choice(RunMode.self)
                .described("The treatment of a run that is requested while another is running."),
            "limit": [
                "type": "integer", "minimum": 1, "maximum": .int(FeedbackDefinition.mostRuns),
                "description": "The number of runs at one time, waiting ones included.",
            ],
            "every": SchemaNode.reference("duration").described("Runs at once, and then at this interval."),
            "after": SchemaNode.reference("duration").described("Runs once, after this time."),
            "at": SchemaNode.anyOf(
                calendarTime,
                [
                    "type": "array", "items": calendarTime, "minItems": 1,
                    "maxItems": .int(ConfigurationLimits.calendarTimes),
                ]
            ).described("Runs at calendar times, as in systemd's OnCalendar=."),
            "missed": SchemaNode.choice(MissedTicks.self)
                .described("The treatment of ticks of 'every' or 'at' that passed without a run."),
            "maxMissed": [
                "type": "integer", "minimum": 1, "maximum": .int(FeedbackDefinition.mostMissed),
                "description": "The number of ticks that a run may miss before the system is degraded.",
            ],
            "onReload": SchemaNode.choice(ReloadPolicy.self)
                .described("The treatment of a running side effect by a reload that changes or removes the feedback."),
            "report": SchemaNode.choice(LevelReport.self)
                .described("When a probe reports its level: at changes only, or also after each entry of a state."),
            "jitter": SchemaNode.reference("duration").described(
                "A random delay of up to this time after the schedule."),
            "debounce": SchemaNode.reference("duration")
                .described("Runs when no other run has been requested for this time."),
            "maxWait": SchemaNode.reference("duration")
                .described("With 'debounce': the latest time of the run after the first request."),
            "throttle": SchemaNode.reference("duration")
                .described("Runs at most once in this time. Of the requests in between, only the last counts."),
            "key": [
                "type": "string", "pattern": "\\$\\{",
                "description": "The key of a run: runs with different keys are handled separately.",
            ],
            "timeout": SchemaNode.reference("duration").described("The time limit of a run."),
            "retry": SchemaNode.anyOf(
                retryTimes,
                keyed(
                    FeedbackDecoder.retryKeys, required: ["times"],
                    [
                        "times": retryTimes.described("The number of repetitions."),
                        "delay": fixedDuration.described("The delay after the first failure; it doubles each time."),
                        "maxDelay": fixedDuration.described("The longest delay after a failure."),
                        "jitter": ["type": "number", "minimum": 0, "maximum": 1],
                    ])
            ).described("The repetition of a failed run."),
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
            "Emitted if a run exceeds 'timeout', which is in 'result.after'.")
        let strangers: [(String, SchemaNode)] = effects.compactMap { effect in
            let others =
                table.outcomes.filter { effect.outcome($0) == nil && $0 != EffectSchema.timeoutOutcome.name }
                + (effect.isLasting
                    ? [
                        "every", "at", "missed", "maxMissed", "mode", "limit", "timeout", "retry", "debounce",
                        "throttle", "key",
                        "jitter", "onReload",
                    ] : [])
                + (effect.outcome("onFailure") == nil && !effect.isLasting ? ["retry"] : [])
                + (effect.isInstant ? ["timeout"] : []) + (effect.isProbe ? [] : ["report"])
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
        (
            "maxMissed",
            SchemaNode.object([
                ("allOf", [.anyOf(["required": ["every"]], ["required": ["at"]]), without(["timeout"])])
            ])
        ),
        ("jitter", .anyOf(["required": ["every"]], ["required": ["after"]], ["required": ["at"]])),
    ]

    private static func without(_ keys: [String]) -> SchemaNode {
        ["properties": .object(keys.map { ($0, false) })]
    }

    /// A feedback whose runs outlast their state.
    private static let continuing: SchemaNode = [
        "properties": ["strategy": .choice(among: [Strategy.continueOnNewState])], "required": ["strategy"],
    ]

    static let emission: SchemaNode = .anyOf(
        .reference("construct"),
        keyed(
            FeedbackDecoder.ruleKeys, required: ["emit"],
            ["when": .reference("condition"), "emit": .reference("construct")]))

    static func effect(_ effect: EffectSchema) -> SchemaNode {
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

    static func parameter(_ parameter: EffectSchema.Parameter) -> SchemaNode {
        if !parameter.choices.isEmpty {
            return .anyOf(["enum": .array(parameter.choices.map { .string($0) })], .reference("template"))
        }
        // Only the whole configuration knows its type.
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
    static let uuid = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
}
