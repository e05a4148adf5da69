import CommonExpression

/// Reads the handling of a feedback's runs: their pace, their time limit, and their repetition after a failure.
struct HandlingDecoder {
    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// Reads those keys of a feedback, which are checked against its strategy, schedule and side effect.
    func handling(_ keyed: Keyed, _ strategy: Strategy, _ schema: EffectSchema?) -> WrittenHandling {
        var handling = WrittenHandling()
        handling.debounce = duration(keyed, "debounce")
        handling.maxWait = duration(keyed, "maxWait")
        handling.throttle = duration(keyed, "throttle")
        handling.timeout = duration(keyed, "timeout")
        handling.jitter = duration(keyed, "jitter")
        handling.key = keyed["key"].flatMap {
            decoder.scalar($0, "'key'", hint: "write an expression in ${}, such as \"${state.disk}\"")
        }
        handling.retry = keyed["retry"].flatMap(retry)
        checkCompany(keyed, strategy)
        if let schema { checkEffect(keyed, schema) }
        return handling
    }

    /// The advice on a word within a side effect that means a key of the feedback; nil if it means no key.
    static func misplaced(_ word: String, beside schema: EffectSchema) -> String? {
        let names = schema.parameters.map(\.name)
        guard Names.keyMeant(by: word, among: names) == nil else { return nil }
        let keys = FeedbackDecoder.keys + schema.outcomes.map(\.name)
        guard let meant = Names.keyMeant(by: word, among: keys) else {
            return ForeignWord[word, at: .feedback].flatMap {
                FeedbackDecoder.keys.contains($0.key) ? "\($0.hint), beside '\(schema.name)'" : nil
            }
        }
        return "write '\(meant)' beside '\(schema.name)'"
    }

    private func duration(_ keyed: Keyed, _ key: String) -> Node? {
        guard let node = keyed[key] else { return nil }
        let hint = "write a duration such as 5s, or \"${state.delay}\""
        return node.external != nil || decoder.scalar(node, "'\(key)'", hint: hint) != nil ? node : nil
    }

    /// A number of repetitions, or a mapping.
    private func retry(_ node: Node) -> RetryPolicy? {
        let range = 1...RetryPolicy.mostTimes
        guard case .mapping = node.content else {
            return decoder.integer(node, "how often a run is made again", in: range).map { RetryPolicy(times: $0) }
        }
        guard let keyed = decoder.keyed(node, "a retry", known: FeedbackDecoder.retryKeys) else { return nil }
        let before = decoder.diagnostics.errors
        let times = decoder.required("times", of: keyed, "a retry", hint: "write times: 3").flatMap {
            decoder.integer($0, "how often a run is made again", in: range)
        }
        var policy = RetryPolicy(times: times ?? 1)
        let least = TimeSpan(seconds: 0, nanoseconds: Int32(ConfigurationLimits.shortestPeriod)) ?? policy.delay
        (policy.delay, policy.maxDelay) = decoder.delays(keyed, policy.delay, policy.maxDelay, from: least)
        if let node = keyed["jitter"], let text = decoder.scalar(node, "'jitter'") {
            guard let part = Double(text.text), (0...1).contains(part) else {
                decoder.report(
                    .outOfRange, at: text.span,
                    "the jitter of a retry is a part of the delay, from 0 to 1, not '\(text.text)'")
                return nil
            }
            policy.jitter = part
        }
        if policy.maxDelay < policy.delay, let key = keyed.key("maxDelay") {
            decoder.report(
                .conflictingKeys, at: key.span,
                "'maxDelay' is \(policy.maxDelay), which is less than 'delay', \(policy.delay)")
        }
        return decoder.diagnostics.errors == before ? policy : nil
    }

    /// Keys that exclude each other, or mean nothing beside others.
    private func checkCompany(_ keyed: Keyed, _ strategy: Strategy) {
        func complain(_ key: Scalar, _ message: String, _ hint: String) {
            decoder.report(.conflictingKeys, at: key.span, message, hint: hint)
        }
        let paces = ["debounce", "throttle"].compactMap(keyed.key)
        let schedule = FeedbackDecoder.scheduleKeys.compactMap(keyed.key).first
        if paces.count == 2 {
            complain(paces[1], "'debounce' and 'throttle' exclude each other", "keep one of them")
        } else if let pace = paces.first, let schedule {
            complain(
                pace,
                "'\(pace.text)' and '\(schedule.text)' exclude each other: '\(pace.text)' is for runs that begin with a state",
                "keep one of them")
        } else if let key = keyed.key("debounce"), strategy == .cancelOnNewState, !keyed.hasMisspelt("strategy") {
            complain(
                key, "'debounce' needs a strategy: with 'cancelOnNewState', the default, each new state ends the wait",
                "write 'after', or add strategy: continueOnNewState")
        }
        if let key = keyed.key("maxWait"), keyed["debounce"] == nil, !keyed.hasMisspelt("debounce") {
            complain(
                key, "'maxWait' needs 'debounce'", "leave it out, or add 'debounce'")
        }
        if let key = keyed.key("jitter"), schedule == nil {
            complain(
                key, "'jitter' needs a schedule", "leave it out, or add 'every', 'after' or 'at'")
        }
        for key in ["missed", "maxMissed"].compactMap(keyed.key) where keyed["every"] == nil && keyed["at"] == nil {
            complain(
                key, "'\(key.text)' needs 'every' or 'at'",
                "leave it out, or add 'every' or 'at'")
        }
        if let key = keyed.key("maxMissed"), keyed["timeout"] != nil {
            complain(
                key, "'maxMissed' and 'timeout' exclude each other: the time limit says when a run takes too long",
                "keep one of them")
        }
        if let key = keyed.key("key"), strategy == .cancelOnNewState, !keyed.hasMisspelt("strategy") {
            complain(
                key, "'key' is about runs that outlast their state, and with 'cancelOnNewState' none does",
                "add strategy: continueOnNewState, or leave 'key' out")
        } else if let key = keyed.key("key"), let schedule, schedule.text != "after" {
            complain(
                key, "'key' and '\(schedule.text)' exclude each other: 'key' is for runs that begin with a state",
                "leave it out")
        }
    }

    /// Keys that mean nothing beside a side effect.
    private func checkEffect(_ keyed: Keyed, _ schema: EffectSchema) {
        let (why, keys): (String, [String])
        if schema.isInstant {
            (why, keys) = ("is done at once", ["timeout", "retry"])
        } else if schema.isLasting {
            (why, keys) = ("goes on by itself", ["timeout", "retry", "debounce", "throttle", "key", "jitter"])
        } else if schema.outcome("onFailure") == nil {
            (why, keys) = ("does not say that it has failed", ["retry"])
        } else {
            return
        }
        for key in keys.compactMap(keyed.key) {
            decoder.report(
                .conflictingKeys, at: key.span, "'\(schema.name)' \(why), so '\(key.text)' means nothing beside it",
                hint: "leave it out")
        }
    }
}
