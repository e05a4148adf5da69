/// Reads transitions, from: on: to; shape only.
struct TransitionDecoder {
    /// The keys of a rule.
    static let keys = ["when", "to", "set"]
    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// Reads the whole table.
    func transitions(_ node: Node) -> [WrittenTransitionList] {
        if node.isNull { return [] }
        guard let states = decoder.entries(node, "'transitions'") else { return [] }
        var lists: [WrittenTransitionList] = []
        for state in states {
            if state.value.isNull, decoder.colonHint(state) == nil {
                lists.append(WrittenTransitionList(from: state.key, event: state.key, rules: []))
                continue
            }
            guard case .mapping(let events) = state.value.content else {
                decoder.report(
                    .wrongShape, at: state.value.isNull ? state.key.span : state.value.mark,
                    "the transitions from '\(state.key.text)' must be a mapping, not \(state.value.kind)",
                    hint: decoder.colonHint(state) ?? "write the event below the state: from, on, to")
                continue
            }
            for event in events {
                lists.append(
                    WrittenTransitionList(from: state.key, event: event.key, rules: rules(event)))
            }
        }
        return lists
    }

    private func rules(_ entry: Node.Entry) -> [WrittenRule] {
        guard case .sequence(let items) = entry.value.content else {
            return rule(entry.value).map { [$0] } ?? []
        }
        if items.isEmpty {
            decoder.report(
                .empty, at: entry.value.mark, "the transition on '\(entry.key.text)' needs at least one rule")
        }
        return items.compactMap(rule)
    }

    private func rule(_ node: Node) -> WrittenRule? {
        guard case .mapping(let entries) = node.content else {
            return decoder.scalar(
                node, "a transition", hint: "write a state, 'stay', { when: …, to: …, set: { … } } or a list of these"
            ).map { WrittenRule(condition: nil, target: $0, set: [], span: node.mark) }
        }
        if entries.count == 1, let entry = entries.first, !Self.keys.contains(entry.key.text),
            case .mapping = entry.value.content
        {
            decoder.report(
                .unknownKey, at: entry.key.span, "a transition has no key '\(entry.key.text)'",
                hint: "write { to: \(entry.key.text), set: { … } }")
            return nil
        }
        guard let keyed = decoder.keyed(node, "a transition", known: Self.keys) else { return nil }
        let condition = keyed["when"].map { ($0, decoder.condition($0)) }
        var rule = WrittenRule(
            condition: condition?.1, isConditionBroken: condition != nil && condition?.1 == nil, target: nil, set: [],
            span: node.mark)
        if let node = keyed["set"] {
            let entries = decoder.entries(node, "'set'")
            rule.set = entries ?? []
            rule.isSetBroken = entries == nil
        }
        let to = decoder.required("to", of: keyed, "a transition", hint: "write to: stay to change nothing")
        rule.target = to.flatMap { decoder.scalar($0, "'to'") }
        if rule.isStay, let key = keyed.key("set") {
            decoder.report(
                .conflictingKeys, at: key.span, "'stay' changes nothing, so 'set' has no meaning here",
                hint: "to stay with other data write to: with the state's own name")
            rule.isSetBroken = true
        }
        return rule
    }
}
