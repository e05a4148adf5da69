import CommonExpression

/// Reads transitions, from: on: to; shape only.
struct TransitionDecoder {
    /// The keys of a rule.
    static let keys = ["when", "to", "set"]
    /// The keys of a rule of `always`.
    static let alwaysKeys = ["when", "for", "to", "set"]
    private let decoder: Decoder
    /// The fields that states have.
    private let fields: Set<String>

    /// A decoder for a file.
    ///
    /// - Parameter fields: The names of all fields that the system's states have.
    init(_ decoder: Decoder, fields: Set<String>) {
        self.decoder = decoder
        self.fields = fields
    }

    /// Reads the whole table.
    ///
    /// - Parameters:
    ///   - states: The names of the system's states; nil: unknown.
    ///   - events: Those of its events; nil: unknown.
    func transitions(_ node: Node, states: WordSet?, events: WordSet?) -> [WrittenTransitionList] {
        if node.isNull { return [] }
        guard
            let entries = decoder.entries(
                node, "'transitions'", hint: "write from: { on: to }, such as Idle: { Start: Busy }")
        else { return [] }
        var lists: [WrittenTransitionList] = []
        for state in settled(entries, states, events) {
            let several = state.key.listed
            if state.key.text == Names.always, let states, !states.contains(Names.always) {
                decoder.report(
                    .wrongShape, at: state.key.span, "'always' stands where a state should",
                    hint: "write it below a state, or for all of them: any: { always: [{ when: …, to: … }] }")
                continue
            }
            if state.value.isNull, decoder.colonHint(state) == nil {
                lists.append(
                    WrittenTransitionList(from: state.key, states: several, event: state.key, rules: []))
                continue
            }
            guard case .mapping(var written) = state.value.content else {
                decoder.report(
                    .wrongShape, at: state.value.isNull ? state.key.span : state.value.mark,
                    "the transitions from '\(state.key.text)' must be a mapping, not \(state.value.kind)",
                    hint: decoder.colonHint(state) ?? "write the event below the state: from, on, to")
                continue
            }
            if let events {
                written = decoder.withColons(written, events.contains)
                if written.contains(where: { Self.isOfRule($0.key.text, events) }) {
                    let misplaced = written.filter { Self.isOfRule($0.key.text, events) }
                    written.removeAll { Self.isOfRule($0.key.text, events) }
                    complain(of: misplaced, beside: written)
                    // A whole rule in the place of events has nothing else than its keys, whatever they are called.
                    if misplaced.contains(where: { $0.key.text == "on" }) {
                        written.removeAll { !events.contains($0.key.text) }
                    }
                }
            }
            for event in written {
                lists.append(
                    WrittenTransitionList(from: state.key, states: several, event: event.key, rules: rules(event)))
            }
        }
        return lists
    }

    /// The entries of states, where a slip of indentation has not left them in their places, as they are probably meant.
    private func settled(_ entries: [Node.Entry], _ states: WordSet?, _ events: WordSet?) -> [Node.Entry] {
        guard let states, let events else { return entries }
        return decoder.gathered(entries, "a state's transitions", isAlways: true) {
            guard events.contains($0.key.text) || $0.key.text == Names.always, !states.contains($0.key.text) else {
                return false
            }
            guard case .mapping(let rule) = $0.value.content else { return true }
            return rule.contains { Self.keys.contains($0.key.text) }
        }.flatMap { raised($0, states, events) }
    }

    /// Of so many names at most is asked which one a key is like.
    private static let mostCompared = 64

    /// Returns whether a key that stands where an event should is one of a rule, as it is called here or elsewhere.
    private static func isOfRule(_ key: String, _ events: WordSet) -> Bool {
        guard !events.contains(key), key != Names.any, key != Names.always, !key.hasPrefix("\(Names.done).") else {
            return false
        }
        if keys.contains(key) || key == "on" { return true }
        return Names.otherKey(key).map(keys.contains) ?? false && !resembles(key, events)
    }

    /// Returns whether a key is like one of some names; of many that is not asked, since it may be asked often.
    private static func resembles(_ key: String, _ names: WordSet) -> Bool {
        names.count <= mostCompared && nearestName(to: key, among: names.words) != nil
    }

    /// Reports keys of a rule that stand where events should.
    private func complain(of misplaced: [Node.Entry], beside events: [Node.Entry]) {
        func text(_ key: String) -> String? {
            misplaced.first { $0.key.text == key }?.value.scalar.flatMap { $0.isNull ? nil : $0.text }
        }
        var hint = "write it behind the event: on: { when: …, to: … }"
        let keys = misplaced.map(\.key.text)
        if let event = text("on"), let target = text("to") {
            hint = keys.count == 2 ? "write \(event): \(target)" : "write \(event): { when: …, to: \(target), set: … }"
        } else if events.count == 1, let target = events[0].value.scalar, !target.isNull, target.text != Names.stay,
            keys.allSatisfy({ $0 == "when" || $0 == "set" })
        {
            let parts = [
                keys.contains("when") ? "when: …" : nil, "to: \(target.text)", keys.contains("set") ? "set: …" : nil,
            ]
            hint = "write \(events[0].key.text): { \(parts.compactMap(\.self).joined(separator: ", ")) }"
        }
        decoder.report(
            .unknownKey, at: misplaced[0].key.span,
            "'\(misplaced[0].key.text)' belongs to the transition on an event, and stands where an event should",
            hint: hint)
    }

    /// The entry of a state. If it contains the entries of states, which is reported, returns these.
    private func raised(_ entry: Node.Entry, _ states: WordSet, _ events: WordSet) -> [Node.Entry] {
        guard !states.contains(entry.key.text), entry.key.text != Names.any,
            case .mapping(let within) = entry.value.content,
            within.contains(where: { states.contains($0.key.text) && $0.value.isMapping }),
            within.allSatisfy({ inner in
                guard case .mapping(let rows) = inner.value.content else { return inner.value.isNull }
                return rows.allSatisfy { !Self.isOfRule($0.key.text, events) }
            }), states.count <= Self.mostCompared, !Self.resembles(entry.key.text, states)
        else { return [entry] }
        decoder.report(
            .wrongShape, at: entry.key.span,
            "'\(entry.key.text)' is not a state, but the keys below it are: they stand one level too deep",
            hint: "write the states below 'transitions' itself: from, on, to")
        return within
    }

    private func rules(_ entry: Node.Entry) -> [WrittenRule] {
        let isAlways = entry.key.text == Names.always || entry.key.text.hasPrefix("\(Names.done).")
        guard case .sequence(let items) = entry.value.content else {
            return rule(entry.value, isAlways: isAlways).map { [$0] } ?? []
        }
        if items.isEmpty {
            decoder.report(
                .empty, at: entry.value.mark,
                isAlways
                    ? "'\(entry.key.text)' needs at least one rule"
                    : "the transition on '\(entry.key.text)' needs at least one rule")
        }
        return items.compactMap { rule($0, isAlways: isAlways) }
    }

    /// A rule whose fields stand beside 'to', which is reported, with these below 'set', where they belong.
    private func withSet(_ node: Node, _ entries: [Node.Entry]) -> Node {
        guard entries.contains(where: { !Self.keys.contains($0.key.text) && fields.contains($0.key.text) }),
            !entries.contains(where: { $0.key.text == "set" }),
            let target = entries.first(where: { $0.key.text == "to" })?.value.scalar, target.text != Names.stay
        else { return node }
        let strays = entries.filter { !Self.keys.contains($0.key.text) && fields.contains($0.key.text) }
        let names = strays.prefix(3).map { "\($0.key.text): …" }.joined(separator: ", ")
        decoder.report(
            .unknownKey, at: strays[0].key.span, "a transition has no key '\(strays[0].key.text)'",
            hint: "write set: { \(names)\(strays.count > 3 ? ", …" : "") }")
        let key = Scalar(text: "set", style: .plain, span: strays[0].key.span)
        let set = Node.Entry(key: key, value: Node(content: .mapping(strays), span: strays[0].key.span))
        let rest = entries.filter { Self.keys.contains($0.key.text) || !fields.contains($0.key.text) }
        return Node(content: .mapping(rest + [set]), span: node.span)
    }

    private func rule(_ node: Node, isAlways: Bool) -> WrittenRule? {
        let keys = isAlways ? Self.alwaysKeys : Self.keys
        guard case .mapping(let entries) = node.content else {
            return decoder.scalar(
                node, "a transition",
                hint: "write a state, 'stay', { when: …, to: …, set: { … } } or a list of these"
            ).map { WrittenRule(condition: nil, target: $0, set: [], span: node.mark) }
        }
        if entries.count == 1, let entry = entries.first, !keys.contains(entry.key.text),
            case .mapping = entry.value.content
        {
            decoder.report(
                .unknownKey, at: entry.key.span, "a transition has no key '\(entry.key.text)'",
                hint: "write { to: \(entry.key.text), set: { … } }")
            return nil
        }
        let node = withSet(node, entries)
        if !isAlways, let key = entries.first(where: { $0.key.text == "for" })?.key {
            decoder.report(
                .unknownKey, at: key.span, "only a rule of 'always' has 'for': this one is tried when its event comes",
                hint: "write always: [{ when: …, for: …, to: … }] beside the events of the state")
            return nil
        }
        guard let keyed = decoder.keyed(node, "a transition", known: keys)?.understood(otherKeys: true) else {
            return nil
        }
        let condition = keyed["when"].map { ($0, decoder.condition($0)) }
        var rule = WrittenRule(
            condition: condition?.1, isConditionBroken: condition != nil && condition?.1 == nil, target: nil, set: [],
            hold: keyed["for"], span: node.mark)
        if let node = keyed["set"] {
            let entries = decoder.entries(node, "'set'")
            rule.set = entries ?? []
            rule.isSetBroken = entries == nil
        }
        if keyed["to"] == nil, keyed["set"] != nil, !keyed.hasForeign, !keyed.hasMisspelt("to") {
            rule.isUpdate = true
            if rule.set.isEmpty, !rule.isSetBroken {
                decoder.report(
                    .empty, at: keyed.key("set")?.span ?? node.mark,
                    "a transition that changes nothing has no 'to' and an empty 'set'",
                    hint: "write to: stay")
                rule.isSetBroken = true
            }
            return rule
        }
        let to = decoder.required(
            "to", of: keyed, "a transition",
            hint: "write to: stay to change nothing")
        let isUpdate = keyed["set"] != nil
        rule.target = to.flatMap { node in
            decoder.scalar(
                node, "'to'", hint: node.isNull && isUpdate ? "leave it out to change data in place" : nil)
        }
        if rule.isStay, let key = keyed.key("for") {
            decoder.report(
                .conflictingKeys, at: key.span, "'stay' changes nothing, so 'for' has no meaning here",
                hint: "leave out 'for': a rule that stays keeps later rules from being tried")
            rule.isSetBroken = true
        }
        if rule.isStay, let key = keyed.key("set") {
            decoder.report(
                .conflictingKeys, at: key.span, "'stay' changes nothing, so 'set' has no meaning here",
                hint: "to change data without leaving the state, leave out 'to'")
            rule.isSetBroken = true
        }
        return rule
    }
}
