import CommonExpression

/// The moments at which a link from a system fires.
enum LinkMoment: String, CaseIterable {
    /// When a state is entered.
    case entry
    /// Also when an update in place changes the value or event of the link.
    case change
}

/// Reads a document of buses and links: shape only.
struct WiringDecoder {
    /// The keys of such a document.
    static let keys = ["buses", "links", "instances", "groups", "loop", "access", "limits", "store"]
    /// The keys of a bus.
    static let busKeys = [
        "kind", "value", "initial", "limit", "overflow", "description", "fromOutside", "persist", "for",
    ]
    /// The keys of a link.
    static let linkKeys = [
        "attach", "to", "from", "toSystem", "onState", "on", "onValue", "when", "emitValue", "emitEvent", "setInput",
        "loop",
    ]
    /// The keys of a loop.
    static let loopKeys = ["limit", "hops"]
    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// The entries of a document with entries that are indented too far moved to their places.
    static func settled(_ entries: [Node.Entry], _ decoder: Decoder) -> [Node.Entry] {
        decoder.raised(entries, from: keys, keys, of: "a document of buses and links") { entry, _ in
            entry.value.isMapping && entry.hasOne(of: ownKeys)
        } isMeant: { key, below in
            switch key {
            case "links": below.contains { $0.hasOne(of: ["attach"]) }
            case "buses": below.contains { $0.hasOne(of: ["kind"]) }
            default: false
            }
        }
    }

    /// Keys that a bus, a link, an instance or a group has.
    private static let ownKeys = ["kind", "value", "attach", "template", "with", "systems"]

    /// Reads the document, whose keys are checked already.
    func wiring(_ keyed: Keyed) -> WrittenWiring {
        var hidesBuses = false
        var buses: [WrittenBus] = []
        var strays: [Node.Entry] = []
        if let node = keyed["buses"], !node.isNull {
            if var entries = decoder.entries(node, "'buses'") {
                if keyed["links"] == nil {
                    strays = decoder.strays(in: &entries, "a link", among: "buses", missing: "links") { entry in
                        guard case .mapping(let keys) = entry.value.content else { return false }
                        return keys.contains { $0.key.text == "attach" } && !keys.contains { $0.key.text == "kind" }
                    }
                }
                buses = decoder.gathered(entries, "a bus") {
                    Self.busKeys.contains($0.key.text) && !$0.hasOne(of: ["kind", "value"])
                }.map(bus)
                // References use the name that the bus should have.
                hidesBuses =
                    entries.contains { !Self.isBusName($0.key.text) }
                    || buses.contains { $0.each == nil && InstanceName($0.name.text)?.isEvery == true }
            } else {
                hidesBuses = true
            }
        }
        var links: [WrittenLink] = []
        let loop = keyed["loop"].flatMap { self.loop($0) ?? LoopLimit.unreadable }
        if let node = keyed["links"], !node.isNull {
            links =
                decoder.entries(node, "'links'", hint: node.isNull ? nil : "give each a name: NAME: { attach: … }")
                .map {
                    decoder.gathered($0, "a link") { Self.linkKeys.contains($0.key.text) && !$0.hasOne(of: ["attach"]) }
                }?
                .compactMap { link($0, loop) } ?? []
        }
        links += strays.compactMap { link($0, loop) }
        var instances: [WrittenInstance] = []
        if let node = keyed["instances"], !node.isNull {
            instances = decoder.entries(node, "'instances'")?.map { TemplateDecoder(decoder).instance($0) } ?? []
        }
        var groups: [WrittenGroup] = []
        if let node = keyed["groups"], !node.isNull {
            let supervision = SupervisionDecoder(decoder)
            groups =
                decoder.entries(
                    node, "'groups'", hint: "write groups: { NAME: { strategy: all, systems: [ … ] } }")?
                .compactMap(supervision.group) ?? []
        }
        var grants: [WrittenGrant] = []
        if let node = keyed["access"], !node.isNull { grants = AccessDecoder(decoder).grants(node) }
        var limits: WrittenLimits?
        if let node = keyed["limits"], let key = keyed.key("limits"), !node.isNull {
            limits = LimitsDecoder(decoder).limits(node, at: key)
        }
        var store: WrittenStore?
        if let node = keyed["store"], let key = keyed.key("store"), !node.isNull {
            store = StoreDecoder(decoder).store(node, at: key)
        }
        return WrittenWiring(
            source: decoder.source, buses: buses, links: links, instances: instances, groups: groups, grants: grants,
            limits: limits, store: store, hidesBuses: hidesBuses)
    }

    /// Returns whether a text can name a bus, or one for each instance of a template.
    private static func isBusName(_ text: String) -> Bool {
        let parts = InstanceName(text)
        return Names.isPublicName(text) || parts?.isEvery == true || parts?.isValid == true
    }

    /// Advice on the definition of a bus that is written as a word.
    private static func busHint(_ word: Scalar) -> String {
        if let kind = BusKind(rawValue: word.text) {
            return "write { kind: \(kind.rawValue), value: string }"
        }
        let isPlain = word.text.utf8.allSatisfy { Names.isPublic($0) }
        let type = word.isNull ? "string" : isPlain ? word.text : "\"\(word.text)\""
        return "write { kind: passthrough, value: \(type) }"
    }

    private func bus(_ entry: Node.Entry) -> WrittenBus {
        if !Self.isBusName(entry.key.text) { decoder.checkPublicName(entry.key, "a bus") }
        var what: String { "the bus '\(entry.key.text)'" }
        var bus = WrittenBus(
            source: decoder.source, name: entry.key, description: nil, kind: nil, value: nil, initial: nil,
            initialKey: nil, buffer: .busDefault, fromOutside: nil, each: nil, span: entry.key.span)
        guard
            var keyed = decoder.keyed(
                entry.value, what, known: Self.busKeys,
                hint: entry.value.scalar.map(Self.busHint))
        else { return bus }
        keyed = keyed.understood(otherKeys: true)
        keyed.span = entry.key.span
        bus.description = decoder.description(keyed)
        if InstanceName(entry.key.text)?.isEvery == true {
            bus.each = decoder.required("for", of: keyed, what, hint: "write for: and a template, such as uplink@*")
                .flatMap { decoder.scalar($0, "'for'") }
        } else if let key = keyed.key("for") {
            decoder.report(
                .conflictingKeys, at: key.span, "only a bus whose name ends with '@*' exists for each instance",
                hint: "name it '\(entry.key.text.prefix { $0 != "@" })@*'")
        }
        bus.kind = decoder.required("kind", of: keyed, what, hint: "write kind: passthrough or kind: currentValue")
            .flatMap { decoder.choice($0, "kind") }
        bus.value = decoder.required("value", of: keyed, what, hint: "write the type of its values, such as string")
        bus.initial = keyed["initial"]
        bus.initialKey = keyed.key("initial")
        bus.fromOutside = keyed["fromOutside"].flatMap { decoder.choice($0, "fromOutside") }
        if let node = keyed["persist"] { StoreDecoder(decoder).persist(node, at: keyed.key("persist"), &bus) }
        bus.buffer = decoder.bufferPolicy(
            keyed, "a bus", default: .busDefault, overflows: BufferPolicy.Overflow.ofBuses)
        return bus
    }

    /// The limit of links as parts of loops: `{ limit: 10 per 1s, hops: 20 }`.
    private func loop(_ node: Node) -> LoopLimit? {
        let hint = "write loop: { limit: 10 per 1s }"
        guard case .mapping = node.content else {
            decoder.report(.wrongShape, at: node.mark, "'loop' must be a mapping, not \(node.kind)", hint: hint)
            return nil
        }
        guard let keyed = decoder.keyed(node, "a loop", known: Self.loopKeys) else { return nil }
        let hops = keyed["hops"].flatMap { decoder.integer($0, "'hops' of a loop", in: LoopLimit.hopRange) }
        // A key without a meaning was probably meant to be this one.
        guard keyed["limit"] != nil || !keyed.hasForeign,
            let limit = decoder.required("limit", of: keyed, "a loop", hint: hint),
            let rate = decoder.rate(limit, "the limit of a loop", hint: hint)
        else { return nil }
        return LoopLimit(rate: rate, hops: hops)
    }

    private func link(_ entry: Node.Entry, _ shared: LoopLimit?) -> WrittenLink? {
        decoder.checkPublicName(entry.key, "a link")
        var what: String { "the link '\(entry.key.text)'" }
        // Beside a target and without `attach`, `from` is meant as the system.
        let misnamesSystem = !entry.hasOne(of: ["attach"]) && entry.hasOne(of: ["to", "toSystem"])
        let known = misnamesSystem ? Self.linkKeys.filter { $0 != "from" } : Self.linkKeys
        guard var keyed = decoder.keyed(entry.value, what, known: known) else { return nil }
        // A misspelt target may mean a bus or a system.
        keyed = keyed.understood(otherKeys: !keyed.hasMisspelt("to"))
        keyed.span = entry.key.span
        // A key without a meaning was probably meant to be this one.
        let attach =
            keyed["attach"] == nil && keyed.hasForeign
            ? nil : decoder.required("attach", of: keyed, what, hint: "write attach: and the system's name")
        let system = attach.flatMap { decoder.scalar($0, "'attach'") }
        let condition = keyed["when"].map { ($0, decoder.condition($0)) }
        // One that cannot be read is a mistake, but there is one.
        let loop = keyed["loop"].flatMap { self.loop($0) ?? LoopLimit.unreadable }
        guard let form = form(keyed, what), let moment = moment(keyed) else { return nil }
        if case .busToSystem = form, let key = keyed.key("on") {
            decoder.report(
                .linkForm, at: key.span, "a link from a bus fires at each value, so it has no 'on'",
                hint: "leave it out; to select values write onValue or when")
        }
        return WrittenLink(
            source: decoder.source, name: entry.key, system: system ?? entry.key, isSystemBroken: system == nil,
            condition: condition?.1,
            isConditionBroken: condition != nil && condition?.1 == nil, form: form,
            hasFrom: keyed["from"] != nil, firesOnChange: moment == .change,
            loop: loop ?? shared, loopKey: loop == nil ? nil : keyed.key("loop"))
    }

    /// The moment at which a link from a system fires; nil after reporting that it could not be read.
    private func moment(_ keyed: Keyed) -> LinkMoment? {
        guard let node = keyed["on"] else { return .entry }
        guard let scalar = decoder.scalar(node, "'on'") else { return nil }
        if let moment = LinkMoment(rawValue: scalar.text) { return moment }
        decoder.report(
            .unknownChoice, at: scalar.span, "'on' of a link is 'entry' or 'change', not '\(scalar.text)'",
            hint: "for the states in which it fires write onState")
        return nil
    }

    /// Decides the form; whatever does not fit it is one mistake.
    private func form(_ keyed: Keyed, _ what: @autoclosure () -> String) -> WrittenLink.Form? {
        func misfit(_ key: String, _ message: String, _ hint: String) -> WrittenLink.Form? {
            decoder.report(.linkForm, at: keyed.key(key)?.span ?? keyed.span, message, hint: hint)
            return nil
        }
        // A word of another meaning, which is reported.
        let hasWrongMoment = keyed["on"]?.scalar.map { LinkMoment(rawValue: $0.text) == nil } ?? false
        func missing(_ key: String, _ message: String, _ hint: String) -> WrittenLink.Form? {
            // A key without a meaning was probably meant to be the one that is missing.
            if !keyed.hasForeign, !hasWrongMoment { _ = misfit(key, message, hint) }
            return .unclear(selector: selector(keyed))
        }
        guard keyed["to"] != nil || keyed["from"] != nil || keyed["toSystem"] != nil else {
            return missing(
                "", "\(what()) leads nowhere",
                "write from: and the bus that it reads, to: and the bus that it writes, or toSystem: and a system")
        }
        if keyed["from"] != nil, let other = ["to", "toSystem"].first(where: { keyed[$0] != nil }) {
            return misfit(
                "from", "\(what()) has both '\(other)' and 'from'",
                other == "to"
                    ? "write only from: if it reads the bus, only to: if it writes it; a drop-in removes a key with null"
                    : "write two links")
        }
        guard keyed["to"] == nil || keyed["toSystem"] == nil else {
            return misfit("toSystem", "\(what()) has both 'to' and 'toSystem'", "write two links")
        }
        if keyed["setInput"] != nil, let other = ["emitValue", "emitEvent"].first(where: { keyed[$0] != nil }) {
            return misfit("setInput", "\(what()) has both '\(other)' and 'setInput'", "write two links")
        }
        guard keyed["emitValue"] != nil || keyed["emitEvent"] != nil || keyed["setInput"] != nil else {
            let hint =
                if keyed["to"] != nil {
                    "add emitValue (to the bus), or emitEvent or setInput (from the bus)"
                } else if keyed["from"] != nil {
                    "add emitEvent or setInput"
                } else {
                    "add emitEvent"
                }
            return missing("", "\(what()) emits nothing", hint)
        }
        guard keyed["emitValue"] == nil || keyed["emitEvent"] == nil else {
            return misfit(
                "emitEvent", "\(what()) has both 'emitValue' and 'emitEvent'",
                "emitValue puts a value on a bus, emitEvent puts an event into a system: write two links")
        }
        if let target = keyed["toSystem"] { return systemToSystem(keyed, target, misfit, missing) }
        // `from` names a bus that the link reads. `to` names one that it writes or, as in older versions, reads.
        let isReading = keyed["from"] != nil
        guard let end = keyed[isReading ? "from" : "to"], let bus = decoder.scalar(end, isReading ? "'from'" : "'to'")
        else { return nil }
        if isReading, keyed["emitValue"] != nil {
            return misfit(
                "from", "a link with 'emitValue' writes to a bus, so its bus is not 'from'", "write to: \(bus.text)")
        }
        if let value = keyed["emitValue"] {
            if keyed["onValue"] != nil {
                return misfit(
                    "onValue", "a link with 'emitValue' looks at states, not at values of the bus",
                    "use onState, or emitEvent instead of emitValue")
            }
            guard keyed["onState"] != nil else {
                return missing("emitValue", "a link with 'emitValue' needs 'onState'", "say in which state it emits")
            }
            return selector(keyed).map { .systemToBus(bus: bus, selector: $0, value: value) }
        }
        if keyed["onState"] != nil {
            return misfit(
                "onState",
                "a link with '\(keyed["setInput"] == nil ? "emitEvent" : "setInput")' from a bus looks at values of the bus, "
                    + "not at states",
                "use onValue or when; to emit into a system when a state comes, use toSystem instead of "
                    + (isReading ? "from" : "to"))
        }
        if keyed["onValue"] != nil, keyed["when"] != nil {
            return misfit("when", "'onValue' and 'when' exclude each other", "put both into when: value == … && …")
        }
        return event(keyed, fromBus: true).map { .busToSystem(bus: bus, onValue: keyed["onValue"], event: $0) }
    }

    private func systemToSystem(
        _ keyed: Keyed, _ target: Node, _ misfit: (String, String, String) -> WrittenLink.Form?,
        _ missing: (String, String, String) -> WrittenLink.Form?
    ) -> WrittenLink.Form? {
        if keyed["emitValue"] != nil {
            return misfit(
                "emitValue", "a link with 'toSystem' emits an event, not a value",
                "use emitEvent, or to: and a bus instead of toSystem")
        }
        if keyed["onValue"] != nil {
            return misfit("onValue", "a link with 'toSystem' looks at states, not at values of a bus", "use onState")
        }
        guard keyed["onState"] != nil else {
            return missing("toSystem", "a link with 'toSystem' needs 'onState'", "say in which state it emits")
        }
        let name = decoder.scalar(target, "'toSystem'")
        let selector = selector(keyed)
        let event = event(keyed, fromBus: false)
        guard let name, let selector, let event else { return nil }
        return .systemToSystem(target: name, selector: selector, event: event)
    }

    private func selector(_ keyed: Keyed) -> WrittenSelector? { keyed["onState"].flatMap(decoder.selector) }

    private func event(_ keyed: Keyed, fromBus: Bool) -> WrittenConstruct? {
        if let node = keyed["setInput"] { return input(node, fromBus: fromBus) }
        return keyed["emitEvent"].flatMap { decoder.construct($0, "'emitEvent'") }
    }

    /// The input that a link sets: its name, for the values of a bus, or its name with a value.
    private func input(_ node: Node, fromBus: Bool) -> WrittenConstruct? {
        func construct(_ name: Scalar, _ value: Node) -> WrittenConstruct {
            let key = Scalar(text: "value", style: .plain, span: name.span)
            return WrittenConstruct(
                name: name, fields: [Node.Entry(key: key, value: value)], node: node, isInput: true)
        }
        if case .mapping(let entries) = node.content {
            if entries.count == 1 { return construct(entries[0].key, entries[0].value) }
            decoder.report(
                .wrongShape, at: node.mark, "'setInput' sets one input, not \(entries.count)",
                hint: "write a link for each, or setInput: { NAME: value }")
            return nil
        }
        guard let name = decoder.scalar(node, "'setInput'", hint: "write the name of an input") else { return nil }
        guard fromBus else {
            decoder.report(
                .linkForm, at: name.span, "a link from a system says to what it sets the input '\(name.text)'",
                hint: "write setInput: { \(name.text): value }")
            return nil
        }
        let value = Scalar(text: "${value}", style: .plain, span: name.span)
        return construct(name, Node(content: .scalar(value), span: name.span))
    }
}
