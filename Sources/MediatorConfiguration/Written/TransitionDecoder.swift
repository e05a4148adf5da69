/// Reads transitions, from: on: to; shape only.
struct TransitionDecoder {
    /// The keys of a rule.
    static let keys = ["when", "to", "set"]
    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// Reads the whole table.
    ///
    /// - Parameters:
    ///   - states: the names of the system's states, as far as they are written.
    ///   - events: those of its events.
    func transitions(_ node: Node, states: [String], events: [String]) -> [WrittenTransitionList] {
        if node.isNull { return [] }
        guard
            let entries = decoder.entries(
                node, "'transitions'", hint: "write from: { on: to }, such as Idle: { Start: Busy }")
        else { return [] }
        var lists: [WrittenTransitionList] = []
        for state in entries.flatMap({ raised($0, states) }) {
            if state.value.isNull, decoder.colonHint(state) == nil {
                lists.append(WrittenTransitionList(from: state.key, event: state.key, rules: []))
                continue
            }
            guard case .mapping(let written) = state.value.content else {
                decoder.report(
                    .wrongShape, at: state.value.isNull ? state.key.span : state.value.mark,
                    "the transitions from '\(state.key.text)' must be a mapping, not \(state.value.kind)",
                    hint: decoder.colonHint(state) ?? "write the event below the state: from, on, to")
                continue
            }
            for event in written {
                if Self.keys.contains(event.key.text), !events.contains(event.key.text) {
                    complainOfLevel(event.key, beside: written)
                    continue
                }
                lists.append(
                    WrittenTransitionList(from: state.key, event: event.key, rules: rules(event)))
            }
        }
        return lists
    }

    /// Reports a key of a rule that stands beside the events.
    private func complainOfLevel(_ key: Scalar, beside entries: [Node.Entry]) {
        let event = entries.first { !Self.keys.contains($0.key.text) && $0.value.scalar.map { !$0.isNull } ?? false }
        decoder.report(
            .unknownKey, at: key.span,
            "'\(key.text)' belongs to the transition on an event, and stands where an event should",
            hint: event.map { "write \($0.key.text): { \(key.text): …, to: \($0.value.scalar?.text ?? "") }" }
                ?? "write it behind the event: { when: …, to: … }")
    }

    /// What should be the entry of a state; where it holds the entries of states, which is reported, these.
    private func raised(_ entry: Node.Entry, _ states: [String]) -> [Node.Entry] {
        guard !states.contains(entry.key.text), case .mapping(let within) = entry.value.content, !within.isEmpty,
            within.allSatisfy({ inner in
                guard case .mapping = inner.value.content else { return false }
                return states.contains(inner.key.text)
            })
        else { return [entry] }
        decoder.report(
            .wrongShape, at: entry.key.span,
            "'\(entry.key.text)' is no state, and what is below it are states: these stand one level too deep",
            hint: "write the states below 'transitions' itself: from, on, to")
        return within
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
        guard let keyed = decoder.keyed(node, "a transition", known: Self.keys)?.understood else { return nil }
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
