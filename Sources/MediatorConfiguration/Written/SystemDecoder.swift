import CommonExpression

/// Reads a document as a system: shape only.
struct SystemDecoder {
    /// The keys of a system.
    static let keys = [
        "system", "description", "parameters", "states", "events", "inputs", "initialState", "ready", "health",
        "mailbox",
        "feedbacks", "transitions", "unhandled", "supervision", "watchdog", "fromOutside", "persist", "was",
        "initial", "final", "kind", "with",
    ]

    /// The keys in whose values others are looked for that stand there by mistake.
    private static let holders = ["states", "events", "feedbacks", "transitions"]

    /// The keys whose values a kind defines for its instances.
    static let keysOfKinds = ["states", "events", "inputs", "initialState", "initial", "final", "transitions"]

    /// The keys of a mailbox.
    static let mailboxKeys = ["limit", "overflow"]

    let decoder: Decoder
    private let effects: EffectTable

    /// A decoder for a file.
    init(_ decoder: Decoder, effects: EffectTable) {
        self.decoder = decoder
        self.effects = effects
    }

    /// The entries of a document with misplaced entries moved to their places.
    static func settled(_ entries: [Node.Entry], _ decoder: Decoder) -> [Node.Entry] {
        let entries = decoder.lowered(entries, known: keys)
        func value(_ key: String) -> [Node.Entry] {
            entries.first { $0.key.text == key }?.value.entriesIfAny ?? []
        }
        let states = value("states")
        return decoder.raised(entries, from: holders, holders + ["initialState"], of: "a system") { entry, holder in
            guard case .mapping(let within) = entry.value.content else {
                return holder == "transitions" && states.contains { $0.key.text == entry.key.text }
            }
            switch holder {
            case "feedbacks": return within.contains { $0.key.text == "onState" }
            case "transitions": return states.contains { $0.key.text == entry.key.text }
            default: return false
            }
        } isMeant: { key, below in
            switch key {
            case "events":
                let used = Set(value("transitions").flatMap { ($0.value.entriesIfAny ?? []).map(\.key.text) })
                return below.contains { used.contains($0.key.text) }
            case "feedbacks":
                return below.contains { $0.value.entriesIfAny?.contains { $0.key.text == "onState" } ?? false }
            case "transitions":
                let names = Set(states.map(\.key.text))
                return below.contains { names.contains($0.key.text) && $0.value.isMapping }
            default: return false
            }
        }
    }

    /// Reads the document, whose keys are checked already. Nil if it has no usable name.
    func system(_ keyed: Keyed) -> WrittenSystem? {
        var name = keyed["system"].flatMap { decoder.scalar($0, "the name of a system") }
        let isTemplate = name?.text.hasSuffix("@") ?? false
        if let name {
            let plain = isTemplate ? String(name.text.dropLast()) : name.text
            decoder.checkPublicName(Scalar(text: plain, style: name.style, span: name.span), "a system")
        }
        if !isTemplate, let written = name, let key = keyed.key("parameters") {
            decoder.report(
                .conflictingKeys, at: key.span, "only a template has parameters", hint: "name it '\(written.text)@'")
            // The rest of the configuration means this name.
            name = Scalar(text: written.text + "@", style: written.style, span: written.span)
        }
        // A misspelt 'parameters' is one mistake.
        let parameters =
            keyed.understood(otherKeys: true)["parameters"].map { TemplateDecoder(decoder).parameters($0) } ?? []
        let description = decoder.description(keyed)
        let kind = kind(keyed)
        // A system of a kind needs no states, even if the kind cannot be read.
        let states =
            kind != nil || (keyed["states"] == nil && keyed.hasForeignRecords)
            ? nil : decoder.required("states", of: keyed, "a system").flatMap { records($0, "states", "a state") }
        if let states, states.isEmpty, let node = keyed["states"] {
            decoder.report(.empty, at: node.mark, "a system needs at least one state")
        }
        let compounds = CompoundDecoder(decoder)
        if let states { compounds.check(states) }
        let initials = kind != nil ? [] : keyed["initial"].map(compounds.initials) ?? .some([])
        let finals = kind != nil ? [] : keyed["final"].flatMap { decoder.names($0, "final", "state") } ?? []
        // A misspelt 'events' is one mistake: the events are then unknown.
        var events =
            kind != nil
            ? nil
            : keyed["events"].map { $0.isNull ? [] : records($0, "events", "an event") }
                ?? (keyed.hasMisspelt("events") || keyed.hasForeignRecords ? nil : [])
        let inputs = kind != nil ? [] : keyed["inputs"].map(inputs) ?? (keyed.hasMisspelt("inputs") ? nil : [])
        let initial =
            kind != nil
            ? nil
            : decoder.required("initialState", of: keyed, "a system").flatMap {
                decoder.construct($0, "the initial state")
            }
        let supervision = SupervisionDecoder(decoder)
        let (ready, readinessLimit) = keyed["ready"].map(supervision.readiness) ?? ([], ReadinessLimit())
        let health = keyed["health"].map(health) ?? []
        let mailbox = keyed["mailbox"].map(mailbox) ?? .mailboxDefault
        var unhandled = UnhandledPolicy.ignore
        if let node = keyed["unhandled"], let chosen: UnhandledPolicy = decoder.choice(node, "unhandled") {
            unhandled = chosen
        }
        let fromOutside = keyed["fromOutside"].map(fromOutside) ?? .events([])
        let persistence: Persistence? = keyed["persist"].flatMap { decoder.choice($0, "'persist'") }
        let was = keyed["was"].flatMap { OriginDecoder(decoder).was($0, isTemplate: isTemplate) }
        let (feedbacks, strays) = keyed["feedbacks"].map { self.feedbacks($0, keyed, states, events) } ?? ([], [])
        let table =
            keyed["transitions"] ?? (strays.isEmpty ? nil : Node(content: .mapping(strays), span: strays[0].key.span))
        if keyed["events"] == nil, events != nil, let states,
            complainOfMissingEvents(states, table, fromOutside)
        {
            events = nil
        }
        let transitions =
            kind != nil
            ? []
            : table.map {
                TransitionDecoder(decoder, fields: Set(states?.flatMap { $0.fields.map(\.name.text) } ?? []))
                    .transitions(
                        $0, states: (states?.map(\.name.text)).map(WordSet.init),
                        events: (events?.map(\.name.text)).map(WordSet.init))
            } ?? []
        guard let name else { return nil }
        return WrittenSystem(
            source: decoder.source, name: name, description: description, parameters: parameters, kind: kind,
            states: states, events: events, inputs: inputs, initialState: initial,
            initials: initials, finals: finals, ready: ready,
            readinessLimit: readinessLimit,
            health: health, mailbox: mailbox, unhandled: unhandled,
            supervision: keyed["supervision"].map { supervision.policy($0, late: readinessLimit.otherwise) }
                ?? SupervisionPolicy(), watchdog: keyed["watchdog"].flatMap(supervision.deadline),
            fromOutside: fromOutside, persistence: persistence, was: was,
            feedbacks: feedbacks, transitions: transitions, size: keyed.entries.size)
    }

    /// The kind of which the system is an instance. The kind then defines its inside.
    private func kind(_ keyed: Keyed) -> WrittenKind? {
        guard let node = keyed["kind"] else {
            let isWritten = Self.keysOfKinds.contains { keyed[$0] != nil }
            // A misspelt 'kind' is one mistake.
            if keyed.hasMisspelt("kind"), !isWritten { return WrittenKind(name: nil, arguments: nil) }
            guard let key = keyed.key("with") else { return nil }
            decoder.report(
                .conflictingKeys, at: key.span, "'with' gives a kind of systems its parameters, and there is no 'kind'",
                hint: isWritten ? "leave 'with' out" : "write kind: and the kind's name")
            return isWritten ? nil : WrittenKind(name: nil, arguments: nil)
        }
        for entry in keyed.entries where Self.keysOfKinds.contains(entry.key.text) {
            decoder.report(
                .conflictingKeys, at: entry.key.span,
                "'kind' and '\(entry.key.text)' exclude each other: the kind defines the inside of the system",
                hint: "leave '\(entry.key.text)' out, or 'kind'")
        }
        let name = decoder.scalar(node, "the kind of a system", hint: "write the kind's name")
        var arguments: [Node.Entry]? = keyed.hasMisspelt("with") ? nil : []
        if let node = keyed["with"], !node.isNull { arguments = decoder.entries(node, "'with'") }
        return WrittenKind(name: name, arguments: arguments)
    }

    /// States or events.
    private func records(_ node: Node, _ key: String, _ what: String) -> [WrittenRecord]? {
        if case .sequence(let items) = node.content {
            let names = items.prefix(3).compactMap(\.scalar?.text).filter(Names.isIdentifier)
            decoder.report(
                .wrongShape, at: node.mark, "'\(key)' must be a mapping, not a list",
                hint: names.isEmpty ? nil : "write { \(names.map { "\($0): {}" }.joined(separator: ", ")) }")
            return nil
        }
        let name = node.scalar.map(\.text).flatMap { Names.isIdentifier($0) ? $0 : nil }
        guard let entries = decoder.entries(node, "'\(key)'", hint: name.map { "write \(key): { \($0): {} }" }) else {
            return nil
        }
        var told: Set<String> = []
        return entries.map { entry in
            if let name = decoder.nameWithoutColon(entry.key) {
                return WrittenRecord(name: name, fields: [], isBroken: true)
            }
            if key == "states" { decoder.checkStateName(entry.key) } else { decoder.checkIdentifier(entry.key, what) }
            let other = key == "states" ? Names.stay : Names.always
            if entry.key.text == Names.any || entry.key.text == other {
                decoder.report(
                    .reservedName, at: entry.key.span, "\(what) cannot be named '\(entry.key.text)'",
                    hint: "in transitions '\(entry.key.text)' has a meaning of its own")
            }
            if entry.value.isNull {
                if let hint = decoder.colonHint(entry) {
                    decoder.report(.wrongShape, at: entry.key.span, "'\(entry.key.text)' is not \(what)", hint: hint)
                }
                return WrittenRecord(name: entry.key, fields: [], isBroken: false)
            }
            guard var fields = decoder.fieldEntries(entry.value, "the fields of '\(entry.key.text)'") else {
                return WrittenRecord(name: entry.key, fields: [], isBroken: true)
            }
            let origins = key == "states" ? OriginDecoder(decoder) : nil
            let was = origins?.takeWas(from: &fields, of: entry.key.text)
            if key == "states" {
                fields = withoutForeign(fields, of: entry.key.text, &told)
                if CompoundDecoder(decoder).complainOfStates(in: fields, of: entry.key.text) {
                    return WrittenRecord(name: entry.key, fields: [], isBroken: true)
                }
            }
            let entries = decoder.withColons(fields, Names.isIdentifier)
            let named = origins?.fields(entries) ?? decoder.fields(entries)
            // A field that cannot be named so is one mistake, wherever it is used.
            return WrittenRecord(
                name: entry.key, fields: named,
                isBroken: named.count < entries.count || !named.allSatisfy { Names.isIdentifier($0.name.text) },
                was: was)
        }
    }

    /// The fields of a state without what other programs say there, such as its transitions, which is reported once for all states.
    private func withoutForeign(_ fields: [Node.Entry], of state: String, _ told: inout Set<String>) -> [Node.Entry] {
        fields.filter { field in
            guard let word = ForeignWord[field.key.text, at: .state], !TypeReader.resemblesType(field.value) else {
                return true
            }
            if told.insert(word.hint).inserted {
                // The hint is a template, in which STATE stands for the name.
                let hint = word.hint.replacing("STATE", with: state)
                decoder.report(
                    .unknownKey, at: field.key.span,
                    "a state has only data, and '\(field.key.text)' of '\(state)' is none",
                    hint: hint)
            }
            return false
        }
    }

    /// Reports that a system uses events without having any: its transitions name states as events, since the line with
    /// their key is missing, or the key itself. Returns false if it uses none.
    private func complainOfMissingEvents(
        _ states: [WrittenRecord], _ table: Node?, _ fromOutside: WrittenExternal
    ) -> Bool {
        var used: [Scalar] = []
        if case .mapping(let rows)? = table?.content {
            for row in rows {
                guard case .mapping(let entries) = row.value.content else { continue }
                used += entries.lazy.map(\.key)
            }
        }
        let all = Set(used.map(\.text))
        if let first = states.first(where: { all.contains($0.name.text) }) {
            decoder.report(
                .wrongShape, at: first.name.span, "'\(first.name.text)' is used as an event, and stands among 'states'",
                hint: "is the line 'events:' missing above it?")
            return true
        }
        let others = ["on", Names.any, Names.always]
        used.removeAll { TransitionDecoder.keys.contains($0.text) || others.contains($0.text) }
        if case .events(let names) = fromOutside { used += names }
        var seen: Set<String> = []
        used = used.filter { Names.isIdentifier($0.text) && seen.insert($0.text).inserted }
        guard let first = used.first else { return false }
        let shown = used.prefix(3).map { "\($0.text): {}" }.joined(separator: ", ")
        decoder.report(
            .missingKey, at: first.span, "'\(first.text)' is used as an event, and the system has no 'events'",
            hint: "write events: { \(shown)\(used.count > 3 ? ", …" : "") }")
        return true
    }

    /// The events that come from outside.
    private func fromOutside(_ node: Node) -> WrittenExternal {
        if node.scalar?.text == Names.any { return .any }
        return .events(decoder.names(node, "fromOutside", "event") ?? [])
    }

    /// The health of the system by state.
    private func health(_ node: Node) -> [(state: Scalar, health: StateHealth)] {
        guard let entries = decoder.entries(node, "'health'") else { return [] }
        return entries.compactMap { entry in
            let health: StateHealth? = decoder.choice(entry.value, "how a system is in a state")
            return health.map { (entry.key, $0) }
        }
    }

    private func mailbox(_ node: Node) -> BufferPolicy {
        guard let keyed = decoder.keyed(node, "a mailbox", known: Self.mailboxKeys) else { return .mailboxDefault }
        return decoder.bufferPolicy(
            keyed, "a mailbox", default: .mailboxDefault, overflows: BufferPolicy.Overflow.allCases)
    }

    /// The feedbacks, and transitions from states that stand among them.
    private func feedbacks(
        _ node: Node, _ keyed: Keyed, _ states: [WrittenRecord]?, _ events: [WrittenRecord]?
    ) -> ([WrittenFeedback], [Node.Entry]) {
        guard keyed["transitions"] == nil, let states, let events, case .mapping(var entries) = node.content else {
            return (feedbacks(node), [])
        }
        let strays = decoder.strays(
            in: &entries, "the transitions from a state", among: "feedbacks", missing: "transitions"
        ) { entry in
            guard case .mapping(let rows) = entry.value.content, !rows.isEmpty,
                !rows.contains(where: { $0.key.text == "onState" }),
                entry.key.text == Names.any || states.contains(where: { $0.name.text == entry.key.text })
            else { return false }
            return rows.allSatisfy { row in events.contains { $0.name.text == row.key.text } }
        }
        return (feedbacks(strays.isEmpty ? node : Node(content: .mapping(entries), span: node.span)), strays)
    }

    /// The elements of a list that have a name: `- { name: probe, … }` or `- probe: { … }`. A list is a mistake, but
    /// mistakes within its elements are found, too.
    private static func named(_ list: Node) -> [Node.Entry]? {
        guard case .sequence(let elements) = list.content else { return nil }
        return elements.compactMap { element in
            guard let entries = element.entriesIfAny else { return nil }
            if entries.count == 1, entries[0].value.isMapping { return entries[0] }
            let names = ["name", "id"]
            guard let name = entries.first(where: { names.contains($0.key.text) })?.value.scalar else { return nil }
            let others = entries.filter { !names.contains($0.key.text) }
            return Node.Entry(key: name, value: Node(content: .mapping(others), span: element.span))
        }
    }

    private func feedbacks(_ node: Node) -> [WrittenFeedback] {
        if node.isNull { return [] }
        let hint = "each has a name: feedbacks: { NAME: { onState: STATE, run: […] } }"
        guard let entries = decoder.entries(node, "'feedbacks'", hint: hint) ?? Self.named(node) else { return [] }
        let gathered = decoder.gathered(entries, "a feedback") {
            !($0.value.entriesIfAny?.contains { $0.key.text == "onState" } ?? false)
                && (FeedbackDecoder.keys.contains($0.key.text) || effects[$0.key.text] != nil
                    || FeedbackDecoder.looksLikeOutcome($0.key.text))
        }
        return gathered.compactMap { entry in
            decoder.checkPublicName(entry.key, "a feedback")
            return FeedbackDecoder(decoder, effects: effects).feedback(entry)
        }
    }
}

extension Decoder {
    /// A name or a list of names.
    func names(_ node: Node, _ what: String, _ kind: String) -> [Scalar]? {
        guard case .sequence(let items) = node.content else { return scalar(node, "'\(what)'").map { [$0] } }
        if items.isEmpty { report(.empty, at: node.mark, "'\(what)' needs at least one \(kind)") }
        return items.compactMap { scalar($0, "the name of a \(kind)") }
    }

    /// The fields of a state, an event or a bus's structure.
    func fields(_ entries: [Node.Entry]) -> [WrittenRecord.Field] {
        entries.map { entry in
            checkIdentifier(entry.key, "a field")
            return WrittenRecord.Field(name: entry.key, type: entry.value)
        }
    }

    /// The selected states.
    func selector(_ node: Node) -> WrittenSelector? {
        switch node.content {
        case .scalar(let scalar):
            if !scalar.isNull {
                return WrittenSelector(form: scalar.text == Names.any ? .any : .states([scalar]), span: node.mark)
            }
        case .sequence(let items):
            if items.isEmpty {
                report(.empty, at: node.mark, "'onState' needs at least one state")
                return nil
            }
            var names: [Scalar] = []
            for item in items {
                guard let name = scalar(item, "a state's name") else { return nil }
                guard name.text != Names.any else {
                    report(.conflictingKeys, at: name.span, "'any' stands alone", hint: "write onState: any")
                    return nil
                }
                names.append(name)
            }
            return WrittenSelector(form: .states(names), span: node.mark)
        case .external:
            _ = scalar(node, "'onState'")
            return nil
        case .mapping:
            return construct(node, "'onState'").map { WrittenSelector(form: .equals($0), span: node.mark) }
        }
        report(
            .wrongShape, at: node.mark, "'onState' is empty",
            hint: "write a state, a list of states, 'any' or { State: { field: value } }")
        return nil
    }
}
