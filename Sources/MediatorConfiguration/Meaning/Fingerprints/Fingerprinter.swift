import CommonExpression

/// Computes fingerprints of definitions as written. Their nesting is limited by ``ConfigurationLimits/nesting``.
struct Fingerprinter {
    private var print = Fingerprint()
    /// Nil: nothing comes from elsewhere.
    private let context: CompilationContext?
    /// The parts until now, if they are needed.
    private var parts: [DefinitionPart]?

    private init(_ context: CompilationContext?) { self.context = context }

    /// Goes through a part that has a name.
    ///
    /// - Parameters:
    ///   - span: The place where it is written; nil: in several places, or nowhere.
    ///   - isShown: Whether a plan may show its values.
    private mutating func part(
        _ name: @autoclosure () -> String, _ source: SourceText?, _ span: Span?, isShown: Bool = true,
        _ body: (inout Fingerprinter) -> Void
    ) {
        guard parts != nil else { return body(&self) }
        var alone = Fingerprinter(context)
        alone.print.texts = isShown ? [] : nil
        body(&alone)
        parts?.append(
            DefinitionPart(
                name: name(), source: span.flatMap { source?.location(at: $0.start) }, fingerprint: alone.print.short,
                texts: alone.print.texts))
    }

    /// - Parameters:
    ///   - context: The context in which the definition has just been compiled. Its constants and values from elsewhere
    ///     are gone later, so a definition that uses them gets its fingerprint at once.
    ///   - hasAllConstants: Whether all constants of an instance belong to the definition, rather than those that it
    ///     names.
    private static func of(
        _ context: CompilationContext, hasAllConstants: Bool = false,
        _ body: @escaping @Sendable (inout Fingerprinter) -> Void
    ) -> LazyFingerprint {
        let constants = context.constants
        let concealed = Set(context.origins.filter { $0.value != .written }.keys)
        // Values from elsewhere are unknown by the time at which the parts are needed.
        let findParts: @Sendable () -> [DefinitionPart] = {
            var printer = Fingerprinter(nil)
            printer.parts = []
            body(&printer)
            for constant in constants {
                guard case .structure(let structure) = constant.value else { continue }
                for (field, value) in zip(structure.type.fields, structure.fields) {
                    let isShown = !concealed.contains(field.name)
                    printer.part("parameter \(field.name)", nil, nil, isShown: isShown) { $0.add(value) }
                }
            }
            return printer.parts ?? []
        }
        guard context.dependencies.looksElsewhere || context.isGeneric || !context.constants.isEmpty else {
            return LazyFingerprint(
                {
                    var printer = Fingerprinter(nil)
                    body(&printer)
                    return printer.print.text
                }, parts: findParts)
        }
        var printer = Fingerprinter(context)
        printer.print.texts = hasAllConstants ? nil : []
        body(&printer)
        let texts = printer.print.texts
        printer.print.texts = nil
        printer.add(context.constants, usedIn: texts)
        var apart = Fingerprinter(context)
        apart.parts = []
        body(&apart)
        let prints = apart.parts?.filter(\.isFeedback).map { part in
            var alone = Fingerprinter(context)
            alone.add(context.constants, usedIn: part.texts)
            return alone.print.isEmpty ? part.fingerprint : part.fingerprint ^ alone.print.short
        }
        return LazyFingerprint(printer.print.text, feedbacks: prints ?? [], parts: findParts)
    }

    /// Adds the constants that texts use; all of them if the texts are not known.
    private mutating func add(_ constants: [Environment.Constant], usedIn texts: [String]?) {
        for constant in constants {
            let uses = texts.map { Self.parts(of: constant.name, in: $0) }
            if uses?.isEmpty == true { continue }
            print.add(constant.name)
            if let uses, !uses.contains(""), case .structure(let structure) = constant.value {
                for (field, value) in zip(structure.type.fields, structure.fields) where uses.contains(field.name) {
                    print.add(field.name)
                    add(value)
                }
            } else {
                add(constant.value)
            }
        }
    }

    /// The fields of a name that texts use, or "" for all of it. The texts are expressions, or contain them. Words with
    /// another meaning count as well: then two equal definitions may have different fingerprints, but different
    /// definitions never have equal ones.
    private static func parts(of name: String, in texts: [String]) -> Set<String> {
        func isOfName(_ character: Character) -> Bool { character.isLetter || character.isNumber || character == "_" }
        var uses: Set<String> = []
        for text in texts {
            var rest = text[...]
            while let start = rest.firstIndex(where: isOfName) {
                let word = rest[start...].prefix(while: isOfName)
                rest = rest[word.endIndex...]
                guard word == name else { continue }
                rest = rest.drop { $0.isWhitespace }
                guard rest.first == "." else {
                    uses.insert("")
                    continue
                }
                uses.insert(String(rest.dropFirst().drop { $0.isWhitespace }.prefix(while: isOfName)))
            }
        }
        return uses
    }

    /// The fingerprint of a system.
    static func of(_ system: WrittenSystem, _ kind: KindInstance?, _ context: CompilationContext) -> LazyFingerprint {
        of(context, hasAllConstants: true) { printer in
            let source = system.source
            printer.print.add(system.name.text)
            if let kind {
                printer.part("kind", source, system.kind?.name?.span) { printer in
                    printer.print.add("kind")
                    printer.print.add(kind.kind)
                }
                let isShown = kind.concealed.isEmpty && kind.confidential.isEmpty
                printer.part("with", source, nil, isShown: isShown) { printer in
                    printer.add(.structure(kind.parameters))
                    // A change of confidentiality is a change, even if the values stay the same.
                    printer.add(kind.confidential.sorted())
                    printer.add(kind.concealed.sorted())
                }
            }
            for (noun, records) in [("state", system.states ?? []), ("event", system.events ?? [])] {
                printer.print.add(records.count)
                for record in records.sorted(by: { $0.name.text < $1.name.text }) {
                    printer.part("\(noun) \(record.name.text)", source, record.name.span) { $0.add(record) }
                }
            }
            for input in (system.inputs ?? []).sorted(by: { $0.name.text < $1.name.text }) {
                printer.part("input \(input.name.text)", source, input.name.span) { printer in
                    printer.print.add(input.name.text)
                    printer.add(input.type)
                    printer.add(input.initial)
                }
            }
            printer.part("initialState", source, system.initialState?.name.span) { $0.add(system.initialState) }
            for (name, span, texts) in system.ofCompounds where !texts.isEmpty {
                printer.part(name, source, span) { $0.add(texts) }
            }
            printer.part("ready", source, system.ready.first?.span) { $0.add(system.ready.map(\.text).sorted()) }
            printer.part("health", source, system.health.first?.state.span) { printer in
                printer.print.add(system.health.count)
                for each in system.health.sorted(by: { $0.state.text < $1.state.text }) {
                    printer.add([each.state.text, each.health.rawValue])
                }
            }
            printer.part("mailbox", source, nil) { $0.print.add(system.mailbox) }
            printer.part("unhandled", source, nil) { $0.print.add(system.unhandled.rawValue) }
            printer.part("supervision", source, nil) { printer in
                if system.supervision != SupervisionPolicy() { printer.add(system.supervision) }
            }
            printer.part("the time to become ready", source, nil) { printer in
                guard system.readinessLimit != ReadinessLimit() else { return }
                let limit = system.readinessLimit
                printer.add(["ready", limit.within.map { "\($0)" } ?? "", limit.otherwise.rawValue])
            }
            printer.part("watchdog", source, nil) { printer in
                if let deadline = system.watchdog { printer.add(["watchdog", "\(deadline)"]) }
            }
            printer.print.add(system.feedbacks.count)
            for feedback in system.feedbacks {
                printer.part("feedback \(feedback.name.text)", source, feedback.name.span) { $0.add(feedback) }
            }
            printer.add(system.transitions, source)
        }
    }

    /// The fingerprint of a bus.
    static func of(_ bus: WrittenBus, _ context: CompilationContext) -> LazyFingerprint {
        of(context) { printer in
            let (source, span) = (bus.source, bus.name.span)
            printer.print.add(bus.name.text)
            printer.part("kind", source, span) { $0.print.add(bus.kind?.rawValue) }
            // The order of a structure's fields is part of its type.
            printer.part("value", source, bus.value?.span) { $0.add(bus.value, keepsOrder: true) }
            printer.part("initial", source, bus.initial?.span) { $0.add(bus.initial) }
            printer.part("limit or overflow", source, span) { $0.print.add(bus.buffer) }
        }
    }

    /// The fingerprint of a link. Its ends count by name.
    static func of(_ link: WrittenLink, _ context: CompilationContext) -> LazyFingerprint {
        of(context) { printer in
            let source = link.source
            printer.print.add(link.name.text)
            printer.part("attach", source, link.system.span) { $0.print.add(link.system.text) }
            printer.part("when", source, link.condition?.span) { $0.print.add(link.condition?.text) }
            printer.part("loop", source, link.loopKey?.span) { printer in
                printer.print.add(link.loop.map { "\($0.rate.count) \($0.rate.period) \($0.hops ?? 0)" })
            }
            if link.firesOnChange { printer.part("on", source, nil) { $0.add(["on", "change"]) } }
            switch link.form {
            case .systemToBus(let bus, let selector, let value):
                printer.part("to", source, bus.span) { $0.add(["systemToBus", bus.text]) }
                printer.part("onState", source, selector.span) { $0.add(selector) }
                printer.part("emitValue", source, value.span) { $0.add(value) }
            case .busToSystem(let bus, let onValue, let event):
                printer.part("to", source, bus.span) { $0.add(["busToSystem", bus.text]) }
                printer.part("onValue", source, onValue?.span) { $0.add(onValue) }
                printer.part(event.isInput ? "setInput" : "emitEvent", source, event.node.span) { $0.add(event) }
            case .systemToSystem(let target, let selector, let event):
                printer.part("toSystem", source, target.span) { $0.add(["systemToSystem", target.text]) }
                printer.part("onState", source, selector.span) { $0.add(selector) }
                printer.part(event.isInput ? "setInput" : "emitEvent", source, event.node.span) { $0.add(event) }
            // None of those that run.
            case .unclear: break
            }
        }
    }

    private mutating func add(_ value: Value) {
        switch value {
        case .list(let values):
            print.mark("list")
            print.add(values.count)
            for value in values { add(value) }
        case .map(let entries):
            print.mark("mapping")
            print.add(entries.count)
            // Two maps that are equal may give their entries in different orders.
            for (key, value) in entries.sorted(by: { "\($0.key)" < "\($1.key)" }) {
                add(key)
                add(value)
            }
        case .structure(let structure):
            print.mark(structure.type.name)
            for field in structure.fields { add(field) }
        default:
            print.mark("\(value.type)")
            let shown: String? =
                switch value {
                case .string(let text): text
                case .duration(let span): span.brief
                default: nil
                }
            print.add("\(value)", shown: shown)
        }
    }

    private mutating func add(_ policy: SupervisionPolicy) {
        add([
            "supervision", policy.onFault.rawValue, "\(policy.delay)", "\(policy.maxDelay)", "\(policy.limit.count)",
            "\(policy.limit.period)", policy.beyond.rawValue,
        ])
    }

    private mutating func add(_ texts: [String]) {
        print.add(texts.count)
        for text in texts { print.add(text) }
    }

    private mutating func add(_ record: WrittenRecord) {
        print.add(record.name.text)
        print.add(record.fields.count)
        for field in record.fields {
            print.add(field.name.text)
            add(field.type)
        }
    }

    private mutating func add(_ construct: WrittenConstruct?) {
        guard let construct else { return print.add(-1) }
        if construct.isInput { print.mark("input") }
        print.add(construct.name.text)
        add(construct.fields ?? [], keepsOrder: false)
    }

    private mutating func add(_ selector: WrittenSelector?) {
        switch selector?.form {
        case nil: print.add(-1)
        case .any: print.add("any")
        case .states(let names): add(names.map(\.text).sorted())
        case .equals(let construct): add(construct)
        }
    }

    private mutating func add(_ handling: WrittenHandling) {
        for (name, node) in [
            ("debounce", handling.debounce), ("maxWait", handling.maxWait), ("throttle", handling.throttle),
            ("timeout", handling.timeout), ("jitter", handling.jitter),
        ] {
            guard let node else { continue }
            print.add(name)
            add(node)
        }
        if let key = handling.key { add(["key", key.text]) }
        if let retry = handling.retry {
            add(["retry", "\(retry.times)", "\(retry.delay)", "\(retry.maxDelay)", "\(retry.jitter)"])
        }
    }

    private mutating func add(_ feedback: WrittenFeedback) {
        print.add(feedback.name.text)
        add(feedback.selector)
        print.add(feedback.condition?.text)
        print.add(feedback.strategy.rawValue)
        print.add(feedback.mode.rawValue)
        print.add(written: feedback.limit)
        if let most = feedback.maxMissed { add(["maxMissed", "\(most)"]) }
        if feedback.onReload != .end { add(["onReload", feedback.onReload.rawValue]) }
        if feedback.levelReport != .changes { add(["report", feedback.levelReport.rawValue]) }
        add(feedback.handling)
        switch feedback.schedule {
        case .atOnce, .broken: print.add("atOnce")
        case .after(let delay):
            print.add("after")
            add(delay)
        case .every(let interval):
            print.add("every")
            print.add(feedback.missed.rawValue)
            add(interval)
        case .at(let times):
            print.add("at")
            print.add(feedback.missed.rawValue)
            print.add(times.count)
            for time in times { add(time) }
        }
        print.add(feedback.effect?.schema.name)
        add(feedback.effect?.argument)
        print.add(feedback.outcomes.count)
        for outcome in feedback.outcomes.sorted(by: { $0.key.text < $1.key.text }) {
            print.add(outcome.key.text)
            print.add(outcome.rules.count)
            for rule in outcome.rules {
                print.add(rule.condition?.text)
                add(rule.event)
            }
        }
    }

    private mutating func add(_ transitions: [WrittenTransitionList], _ source: SourceText) {
        print.add(transitions.count)
        let sorted = transitions.sorted { ($0.from.text, $0.event.text) < ($1.from.text, $1.event.text) }
        for list in sorted {
            part("transition \(list.from.text): \(list.event.text)", source, list.event.span) { printer in
                printer.add([list.from.text, list.event.text])
                printer.print.add(list.rules.count)
                for rule in list.rules {
                    printer.print.add(rule.condition?.text)
                    printer.print.add(rule.target?.text)
                    if let hold = rule.hold { printer.add(hold) }
                    printer.add(rule.set, keepsOrder: false)
                }
            }
        }
    }

    private mutating func add(_ entries: [Node.Entry], keepsOrder: Bool) {
        print.add(entries.count)
        for entry in keepsOrder ? entries : entries.sorted(by: { $0.key.text < $1.key.text }) {
            print.add(entry.key.text)
            add(entry.value, keepsOrder: keepsOrder)
        }
    }

    private mutating func add(_ node: Node?, keepsOrder: Bool = false) {
        switch node?.content {
        case nil: print.add(-1)
        case .scalar(let scalar): print.add(scalar)
        case .external(let reference): add(reference)
        case .sequence(let items):
            print.mark("list")
            print.add(items.count)
            for item in items { add(item, keepsOrder: keepsOrder) }
        case .mapping(let entries):
            print.mark("mapping")
            add(entries, keepsOrder: keepsOrder)
        }
    }

    /// A value from elsewhere counts by its current value: a new credential is a change. A template without instances
    /// has no such values.
    private mutating func add(_ reference: ExternalReference) {
        // No part with such a value shows what changed in it.
        if context == nil { print.texts = nil }
        add([reference.text, reference.fallback?.text ?? ""])
        guard let context, !context.isGeneric, let name = context.fixedName(reference) else { return print.add(-1) }
        let found = try? context.value(reference.kind, name)
        print.add(found)
    }
}
