import CommonExpression

/// Reads one feedback: shape only.
struct FeedbackDecoder {
    /// The keys every feedback may have.
    static let keys = [
        "onState", "when", "strategy", "mode", "limit", "every", "after", "at", "missed", "maxMissed", "onReload",
        "report",
        "jitter",
        "debounce",
        "maxWait", "throttle", "key", "timeout", "retry",
    ]

    /// The keys of a retry.
    static let retryKeys = ["times", "delay", "maxDelay", "jitter"]

    /// The keys of a rule of an outcome.
    static let ruleKeys = ["when", "emit"]

    private let decoder: Decoder
    private let effects: EffectTable

    /// A decoder for a file.
    init(_ decoder: Decoder, effects: EffectTable) {
        self.decoder = decoder
        self.effects = effects
    }

    /// Reads a feedback.
    func feedback(_ entry: Node.Entry) -> WrittenFeedback? {
        guard let entries = decoder.entries(entry.value, "a feedback") else { return nil }
        let keyed = Keyed(entries: entries, known: effects.feedbackKeys, span: entry.key.span)
        let roles = entries.map { effects.role(of: $0.key.text) }
        var what: String { "the feedback '\(entry.key.text)'" }
        let selector = decoder.required("onState", of: keyed, what, hint: "to run it in every state write onState: any")
            .flatMap(decoder.selector)
        var strategy = Strategy.cancelOnNewState
        if let node = keyed["strategy"] {
            // An unknown strategy is one mistake: with this one no other key is wrong.
            strategy = decoder.choice(node, "strategy") ?? .continueOnNewState
        }
        let mode = mode(keyed, strategy)
        let limit = keyed["limit"].flatMap {
            decoder.integer($0, "how many runs there may be", in: 1...FeedbackDefinition.mostRuns)
        }
        let maxMissed = keyed["maxMissed"].flatMap {
            decoder.integer($0, "how many ticks may be missed", in: 1...FeedbackDefinition.mostMissed)
        }
        let isEffectKnown = checkKeys(keyed, roles, what)
        let effect = isEffectKnown ? effect(keyed, roles) : nil
        if strategy == .continueOnNewState, let schema = effect?.schema, schema.isLasting,
            let key = keyed.key("mode") ?? keyed.key("limit")
        {
            decoder.report(
                .conflictingKeys, at: key.span,
                "'\(schema.name)' goes on by itself, and there is one run of it: another would wait for ever",
                hint: "leave '\(key.text)' out")
        }
        let onReload: ReloadPolicy? = keyed["onReload"].flatMap { decoder.choice($0, "onReload") }
        if let schema = effect?.schema, schema.isLasting, let key = keyed.key("onReload") {
            decoder.report(
                .conflictingKeys, at: key.span, "'\(schema.name)' goes on by itself, and never finishes",
                hint: "leave 'onReload' out")
        }
        let handling = HandlingDecoder(decoder).handling(keyed, strategy, effect?.schema)
        let levelReport: LevelReport? = keyed["report"].flatMap { decoder.choice($0, "report") }
        if let schema = effect?.schema, !schema.isProbe, let key = keyed.key("report") {
            decoder.report(
                .conflictingKeys, at: key.span, "'\(schema.name)' is no probe, which counts successes and failures",
                hint: "leave 'report' out")
        }
        return WrittenFeedback(
            name: entry.key, selector: selector, condition: keyed["when"].flatMap(decoder.condition),
            strategy: strategy, mode: mode, limit: limit ?? FeedbackDefinition.mostRuns, schedule: schedule(keyed),
            missed: missed(keyed), maxMissed: maxMissed, onReload: onReload ?? .end,
            levelReport: levelReport ?? .changes, handling: handling, effect: effect,
            outcomes: outcomes(keyed, roles, effect),
            hasForeignKey: roles.contains { $0.isNone })
    }

    /// The treatment of runs that are requested while one is running.
    private func mode(_ keyed: Keyed, _ strategy: Strategy) -> RunMode {
        func complain(_ key: Scalar, _ message: String, _ hint: String) {
            decoder.report(.conflictingKeys, at: key.span, message, hint: hint)
        }
        var mode = RunMode.parallel
        if let node = keyed["mode"], let chosen: RunMode = decoder.choice(node, "mode") { mode = chosen }
        guard let key = keyed.key("mode") ?? keyed.key("limit") else { return mode }
        if strategy == .cancelOnNewState, !keyed.hasMisspelt("strategy") {
            complain(
                key, "'\(key.text)' is about runs that outlast their state, and with 'cancelOnNewState' none does",
                "add strategy: continueOnNewState, or leave '\(key.text)' out")
        } else if let limit = keyed.key("limit"), mode == .single || mode == .restart {
            complain(limit, "with mode: \(mode.rawValue) there is one run at a time", "leave 'limit' out")
        }
        return mode
    }

    private func schedule(_ keyed: Keyed) -> WrittenFeedback.Schedule {
        let given = Self.scheduleKeys.compactMap(keyed.key)
        if given.count > 1 {
            decoder.report(
                .conflictingKeys, at: given[1].span, "'\(given[0].text)' and '\(given[1].text)' exclude each other",
                hint: "keep one of them")
            return .broken
        }
        let hint = "write a duration such as 5s, or \"${state.delay}\""
        func isSingle(_ node: Node, _ what: @autoclosure () -> String) -> Bool {
            node.external != nil || decoder.scalar(node, what(), hint: hint) != nil
        }
        if let node = keyed["every"] { return isSingle(node, "'every'") ? .every(node) : .broken }
        if let node = keyed["after"] { return isSingle(node, "'after'") ? .after(node) : .broken }
        if let node = keyed["at"] { return times(node).map { .at($0) } ?? .broken }
        return .atOnce
    }

    /// One calendar time, or a list.
    private func times(_ node: Node) -> [Node]? {
        let hint = "write a calendar time such as \"Mon..Fri 08:00\", or a list of them"
        func isSingle(_ node: Node, _ what: @autoclosure () -> String) -> Bool {
            node.external != nil || decoder.scalar(node, what(), hint: hint) != nil
        }
        guard case .sequence(let items) = node.content else { return isSingle(node, "'at'") ? [node] : nil }
        if items.isEmpty {
            decoder.report(.empty, at: node.mark, "'at' needs at least one calendar time")
            return nil
        }
        guard items.count <= ConfigurationLimits.calendarTimes else {
            decoder.report(
                .tooLarge, at: node.mark,
                "\(items.count) calendar times are more than the \(ConfigurationLimits.calendarTimes) that are allowed")
            return nil
        }
        let whole = items.filter { isSingle($0, "an element of 'at'") }
        return whole.count == items.count ? items : nil
    }

    /// The treatment of missed ticks: as written, or the default of the schedule.
    private func missed(_ keyed: Keyed) -> MissedTicks {
        let usual = keyed["at"] == nil ? MissedTicks.once : .skip
        guard let node = keyed["missed"] else { return usual }
        return decoder.choice(node, "missed") ?? usual
    }

    /// The keys of the schedule, of which a feedback has at most one.
    static let scheduleKeys = ["every", "after", "at"]

    /// Reports unknown keys, and that there is not exactly one side effect.
    private func checkKeys(
        _ keyed: Keyed, _ roles: [EffectTable.Role], _ what: @autoclosure () -> String
    ) -> Bool {
        var unknown: [Node.Entry] = []
        var named: [Scalar] = []
        for (index, role) in roles.enumerated() {
            switch role {
            case .effect: named.append(keyed.entries[index].key)
            case .none: unknown.append(keyed.entries[index])
            case .key, .outcome: break
            }
        }
        if unknown.isEmpty, named.count == 1 { return true }
        // Without a side effect, an unknown key that resembles no other key is meant to be one.
        let possible = Self.keys + effects.outcomes
        if named.isEmpty,
            let index = unknown.firstIndex(where: {
                !Self.looksLikeOutcome($0.key.text) && !Names.isRenamed($0.key.text, among: possible)
                    && isForEffect($0.key.text, among: possible)
            })
        {
            let entry = unknown.remove(at: index)
            decoder.report(
                .unknownEffect, at: entry.key.span, "there is no side effect '\(entry.key.text)'",
                hint: decoder.colonHint(entry) ?? parameterHint(entry.key.text) ?? foreignHint(entry.key.text)
                    ?? strangerHint(entry.key.text))
            // One that is not merely misspelt has outcomes of its own: one mistake, one message.
            if nearestName(to: entry.key.text, among: effects.names) == nil {
                unknown.removeAll { Self.looksLikeOutcome($0.key.text) }
            }
        } else if named.isEmpty {
            decoder.report(
                .unknownEffect, at: keyed.span, "\(what()) has no side effect",
                hint: "add one of: \(effects.names.joined(separator: ", "))")
        }
        for entry in unknown {
            if let effect = named.first.flatMap({ effects[$0.text] }), effect.parameter(entry.key.text) != nil {
                decoder.report(
                    .unknownKey, at: entry.key.span, "\(what()) has no key '\(entry.key.text)'",
                    hint: "it is a parameter of '\(effect.name)', and belongs inside of that")
            } else if let effect = named.first.flatMap({ effects[$0.text] }),
                let meant = Names.keyMeant(by: entry.key.text, among: effect.parameters.map(\.name)),
                Names.keyMeant(by: entry.key.text, among: possible) == nil,
                ForeignWord[entry.key.text, at: .feedback] == nil
                    || Names.isRenamed(entry.key.text, among: effect.parameters.map(\.name))
            {
                decoder.report(
                    .unknownKey, at: entry.key.span, "\(what()) has no key '\(entry.key.text)'",
                    hint: "write '\(meant)', which is a parameter of '\(effect.name)', inside of that")
            } else if Self.looksLikeOutcome(entry.key.text), let effect = named.first.flatMap({ effects[$0.text] }) {
                decoder.unknownKey(entry, what(), known: ["onState"] + effect.outcomes.map(\.name))
            } else {
                decoder.unknownKey(entry, what(), known: Self.keys + effects.outcomes + effects.names)
            }
        }
        for second in named.dropFirst() {
            decoder.report(
                .conflictingKeys, at: second.span,
                "a feedback has one side effect, and '\(named[0].text)' is there already",
                hint: "write a second feedback for '\(second.text)'")
        }
        return !named.isEmpty
    }

    /// Returns whether an unknown key may stand for a side effect: it is another program's word for one, or resembles
    /// no known key.
    private func isForEffect(_ word: String, among keys: [String]) -> Bool {
        if let foreign = ForeignWord[word, at: .feedback] { return effects[foreign.key] != nil }
        return nearestName(to: word, among: keys) == nil
    }

    /// The advice on another program's word; nil if there is no advice, or a key has only another name here.
    private func foreignHint(_ word: String) -> String? {
        Names.isRenamed(word, among: effects.names) ? nil : ForeignWord[word, at: .feedback]?.hint
    }

    /// The advice on a parameter of 'run' that stands for the side effect itself.
    private func parameterHint(_ word: String) -> String? {
        guard let run = effects["run"], run.parameter(word) != nil else { return nil }
        return word == run.shortForm
            ? "write run: [program, argument]" : "it is a parameter of a command: run: { command: […], \(word): … }"
    }

    /// The side effect that an unknown name was probably meant to be.
    private func strangerHint(_ name: String) -> String? {
        if let meant = Names.keyMeant(by: name, among: effects.names) { return "did you mean '\(meant)'?" }
        let hint = Names.hint(for: name, among: effects.names)
        let knowsOthers = effects.names.count > EffectSchema.builtin.count
        guard let hint, !knowsOthers, nearestName(to: name, among: effects.names) == nil else { return hint }
        return "\(hint); mediatorctl knows those of a daemon of one's own by --kinds"
    }

    /// Returns whether a key is named as outcomes are: `onRung`.
    static func looksLikeOutcome(_ key: String) -> Bool {
        key.hasPrefix("on") && key.dropFirst(2).first?.isUppercase == true
    }

    private func effect(_ keyed: Keyed, _ roles: [EffectTable.Role]) -> WrittenEffect? {
        for (index, role) in roles.enumerated() {
            guard case .effect(let schema) = role else { continue }
            let entry = keyed.entries[index]
            var emission: WrittenConstruct?
            if schema.emitsDirectly {
                emission = decoder.construct(entry.value, "the event of '\(schema.name)'")
                guard emission != nil else { return nil }
            }
            var effect = WrittenEffect(schema: schema, key: entry.key, argument: entry.value, emission: emission)
            if schema.publishesDirectly, let entries = entry.value.entries {
                let keyed = Keyed(entries: entries, known: [], span: entry.key.span)
                // A missing key is reported with the other parameters.
                if let to = keyed["to"], let bus = decoder.scalar(to, "'to'", hint: "write the name of a bus"),
                    let value = keyed["value"]
                {
                    effect.publication = (bus, value)
                }
            }
            return effect
        }
        return nil
    }

    private func outcomes(
        _ keyed: Keyed, _ roles: [EffectTable.Role], _ effect: WrittenEffect?
    ) -> [WrittenOutcome] {
        var outcomes: [WrittenOutcome] = []
        for (index, role) in roles.enumerated() {
            guard case .outcome = role else { continue }
            let entry = keyed.entries[index]
            if let schema = effect?.schema, schema.outcome(entry.key.text) == nil {
                if entry.key.text == EffectSchema.timeoutOutcome.name {
                    if keyed["timeout"] == nil {
                        decoder.report(
                            .conflictingKeys, at: entry.key.span, "'onTimeout' means nothing without 'timeout'",
                            hint: "write timeout: and a duration")
                    } else {
                        outcomes.append(WrittenOutcome(key: entry.key, rules: rules(entry)))
                    }
                    continue
                }
                let names = schema.outcomes.map(\.name)
                decoder.report(
                    .unknownOutcome, at: entry.key.span, "'\(schema.name)' has no outcome '\(entry.key.text)'",
                    hint: names.isEmpty ? "it has none" : Names.hint(for: entry.key.text, among: names))
                continue
            }
            outcomes.append(WrittenOutcome(key: entry.key, rules: rules(entry)))
        }
        return outcomes
    }

    /// The rules of an outcome: an event, a rule, or a list of rules.
    private func rules(_ entry: Node.Entry) -> [WrittenEmission] {
        guard case .sequence(let items) = entry.value.content else {
            return rule(entry.value, entry.key.text).map { [$0] } ?? []
        }
        if items.isEmpty {
            decoder.report(.empty, at: entry.value.mark, "'\(entry.key.text)' needs at least one rule")
        }
        return items.compactMap { rule($0, entry.key.text) }
    }

    private func rule(_ node: Node, _ outcome: String) -> WrittenEmission? {
        guard case .mapping(let entries) = node.content,
            entries.contains(where: { $0.key.text == "emit" || $0.key.text == "when" })
        else {
            return decoder.construct(node, "the event of '\(outcome)'").map {
                WrittenEmission(condition: nil, event: $0, span: node.mark)
            }
        }
        var what: String { "a rule of '\(outcome)'" }
        guard let keyed = decoder.keyed(node, what, known: Self.ruleKeys) else { return nil }
        let condition = keyed["when"].map { ($0, decoder.condition($0)) }
        let event = decoder.required("emit", of: keyed, what)
        return WrittenEmission(
            condition: condition?.1, isConditionBroken: condition != nil && condition?.1 == nil,
            event: event.flatMap { decoder.construct($0, "the event of '\(outcome)'") }, span: node.mark)
    }
}
