import CommonExpression

/// Reads the reactions to faults: of a system, of its readiness, and of groups.
struct SupervisionDecoder {
    /// The keys of a policy.
    static let policyKeys = ["onFault", "delay", "maxDelay", "limit", "beyond"]
    /// The keys of a readiness with a limit.
    static let readinessKeys = ["in", "within", "otherwise"]
    /// The keys of a group.
    static let groupKeys = ["strategy", "systems"]

    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// The reactions to faults: an action, or a mapping.
    ///
    /// - Parameter late: The reaction to a system that is not ready in time, by the same policy.
    func policy(_ node: Node, late: FaultAction = .continue) -> SupervisionPolicy {
        var policy = SupervisionPolicy()
        guard case .mapping = node.content else {
            if let action: FaultAction = decoder.choice(node, "the treatment of a fault") { policy.onFault = action }
            return policy
        }
        let what = "a supervision"
        guard let keyed = decoder.keyed(node, what, known: Self.policyKeys) else { return policy }
        let before = decoder.diagnostics.errors
        if let node = decoder.required("onFault", of: keyed, what, hint: "write onFault: restart"),
            let action: FaultAction = decoder.choice(node, "'onFault'")
        {
            policy.onFault = action
        }
        let least = TimeSpan(seconds: 0, nanoseconds: 0) ?? policy.delay
        (policy.delay, policy.maxDelay) = decoder.delays(keyed, policy.delay, policy.maxDelay, from: least)
        if let node = keyed["limit"],
            let limit = decoder.rate(node, "the limit of a supervision", hint: "write limit: 10 per 10m")
        {
            if limit.count > Self.mostTimes {
                decoder.report(
                    .outOfRange, at: node.mark, "the limit of a supervision is at most \(Self.mostTimes) times")
            } else {
                policy.limit = limit
            }
        }
        if let node = keyed["beyond"], let beyond: SupervisionPolicy.LastResort = decoder.choice(node, "'beyond'") {
            policy.beyond = beyond
        }
        guard decoder.diagnostics.errors == before else { return SupervisionPolicy() }
        complainOfIdle(keyed, policy, late)
        return policy
    }

    /// The largest number of restarts within a period: each is remembered.
    static let mostTimes = 1_000

    /// Reports keys without a meaning beside the chosen action.
    private func complainOfIdle(_ keyed: Keyed, _ policy: SupervisionPolicy, _ late: FaultAction) {
        let actions = [policy.onFault, late]
        let idle: [String]
        if actions.contains(.restart) {
            idle = []
        } else if actions.contains(.reset) {
            idle = ["delay", "maxDelay"]
        } else {
            idle = ["delay", "maxDelay", "limit", "beyond"]
        }
        for name in idle {
            guard let key = keyed.key(name) else { continue }
            decoder.report(
                .conflictingKeys, at: key.span, "'\(name)' means nothing beside onFault: \(policy.onFault.rawValue)",
                hint: "leave it out, or write onFault: restart")
        }
        if policy.maxDelay < policy.delay, let key = keyed.key("maxDelay") {
            decoder.report(
                .conflictingKeys, at: key.span,
                "'maxDelay' is \(policy.maxDelay), which is less than 'delay', \(policy.delay)")
        }
    }

    /// The states that count as ready, and the time in which one of them must be reached: a state, a list, or a
    /// mapping.
    func readiness(_ node: Node) -> ([Scalar], ReadinessLimit) {
        var limit = ReadinessLimit()
        guard case .mapping = node.content else { return (decoder.names(node, "ready", "state") ?? [], limit) }
        guard let keyed = decoder.keyed(node, "'ready'", known: Self.readinessKeys) else { return ([], limit) }
        let states = decoder.required("in", of: keyed, "'ready'", hint: "write in: and the states that count as ready")
        if let node = keyed["within"],
            let within = decoder.duration(
                node, "'within'", from: TimeSpan(seconds: 0, nanoseconds: 1_000_000) ?? SupervisionPolicy.defaultDelay,
                to: SupervisionPolicy.longestDelay)
        {
            limit.within = within
        }
        if let node = keyed["otherwise"], let action: FaultAction = decoder.choice(node, "'otherwise'") {
            limit.otherwise = action
            if keyed["within"] == nil, let key = keyed.key("otherwise") {
                decoder.report(
                    .conflictingKeys, at: key.span, "'otherwise' means nothing without 'within'",
                    hint: "write within: and a duration")
            }
        }
        return (states.flatMap { decoder.names($0, "in", "state") } ?? [], limit)
    }

    /// The deadline of a system's loop.
    func deadline(_ node: Node) -> TimeSpan? {
        decoder.duration(
            node, "'watchdog'", from: SystemDefinition.shortestDeadline, to: SupervisionPolicy.longestDelay)
    }

    /// A group of systems.
    func group(_ entry: Node.Entry) -> WrittenGroup? {
        decoder.checkPublicName(entry.key, "a group")
        let what = "the group '\(entry.key.text)'"
        guard var keyed = decoder.keyed(entry.value, what, known: Self.groupKeys) else { return nil }
        keyed.span = entry.key.span
        let strategy: GroupStrategy? =
            decoder.required("strategy", of: keyed, what, hint: "write strategy: one, all or rest")
            .flatMap { decoder.choice($0, "'strategy'") }
        let systems = decoder.required("systems", of: keyed, what, hint: "write systems: and a list of their names")
            .flatMap { decoder.names($0, "systems", "system") }
        guard let systems else { return nil }
        // A strategy that cannot be read is a mistake, but hides none among the systems.
        return WrittenGroup(source: decoder.source, name: entry.key, strategy: strategy ?? .one, systems: systems)
    }
}
