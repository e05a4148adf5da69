import CommonExpression
import Synchronization

/// A number that is the same for parts of a configuration that mean the same, and otherwise differs.
///
/// It is taken from what was written: names, values with their types, expressions by their text. Where it is written,
/// comments, descriptions, the way a scalar is quoted, and the order of keys do not count; the order of what is tried or
/// shown one after the other (rules, feedbacks) does, and so does the order of a state's or an event's fields. Linear.
///
/// The hash is FNV-1a of 128 bits (draft-eastlake-fnv, "FNV Basics"), only that it takes words of 64 bits instead of
/// octets. It guards against chance, not against malice:
/// whoever writes the configuration may as well write another.
struct Fingerprint {
    private var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    /// The texts that were added, if somebody wants to know.
    var texts: [String]?
    private static let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b

    /// The number as 32 hexadecimal digits.
    var text: String {
        String(unsafeUninitializedCapacity: 32) { buffer in
            for index in 0..<32 {
                let digit = UInt8(truncatingIfNeeded: hash >> UInt128(124 - 4 * index)) & 0xF
                buffer[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 32
        }
    }

    private mutating func add(_ word: UInt64) {
        hash = (hash ^ UInt128(word)) &* Self.prime
    }

    mutating func add(_ number: Int) { add(UInt64(bitPattern: Int64(number))) }

    /// Texts are told apart by their lengths, so that no two sequences of them look alike.
    mutating func add(_ text: String) {
        texts?.append(text)
        var text = text
        text.withUTF8 { bytes in
            add(bytes.count)
            var start = 0
            while start < bytes.count {
                var word: UInt64 = 0
                for index in start..<min(start + 8, bytes.count) { word = word << 8 | UInt64(bytes[index]) }
                add(word)
                start += 8
            }
        }
    }

    mutating func add(_ text: String?) {
        guard let text else { return add(-1) }
        add(text)
    }

    mutating func add(_ scalar: Scalar) {
        // A quoted scalar is text; a plain one is what it looks like.
        let isText = scalar.style != .plain || CoreSchema(plain: scalar.text) == .text
        add(isText ? "text" : "plain")
        add(scalar.text)
    }

    mutating func add(_ buffer: BufferPolicy) {
        add(buffer.limit)
        add(buffer.overflow.rawValue)
    }
}

/// A fingerprint that is worked out when it is first asked for: only who compares needs it, and most are never compared.
final class LazyFingerprint: Sendable {
    private enum State: Sendable {
        case known(String)
        case pending(@Sendable () -> String)
    }

    private let state: Mutex<State>

    /// One that is known.
    init(_ text: String) { state = Mutex(.known(text)) }

    /// One that can be worked out, always to the same.
    init(_ work: @escaping @Sendable () -> String) { state = Mutex(.pending(work)) }

    /// The number as 32 hexadecimal digits. Who asks for it at the same time may work it out, too.
    var text: String {
        switch state.withLock({ $0 }) {
        case .known(let text): return text
        case .pending(let work):
            let text = work()
            state.withLock { $0 = .known(text) }
            return text
        }
    }
}

/// Goes through what was written, whose parts lie at most as deep in each other as a document allows.
struct Fingerprinter {
    private var print = Fingerprint()
    /// Nil: nothing comes from elsewhere.
    private let session: Session?

    private init(_ session: Session?) { self.session = session }

    /// - Parameters:
    ///   - session: that in which the definition has just been compiled. What it knows of constants and of values from
    ///     elsewhere is gone later, so a definition that uses them gets its fingerprint at once.
    ///   - hasAllConstants: whether all that an instance of a template has of its own belongs to the definition; else only what
    ///     it names.
    private static func of(
        _ session: Session, hasAllConstants: Bool = false,
        _ body: @escaping @Sendable (inout Fingerprinter) -> Void
    ) -> LazyFingerprint {
        guard session.looksElsewhere || session.isGeneric || !session.constants.isEmpty else {
            return LazyFingerprint {
                var printer = Fingerprinter(nil)
                body(&printer)
                return printer.print.text
            }
        }
        var printer = Fingerprinter(session)
        printer.print.texts = hasAllConstants ? nil : []
        body(&printer)
        let texts = printer.print.texts
        printer.print.texts = nil
        for constant in session.constants {
            let uses = texts.map { parts(of: constant.name, in: $0) }
            if uses?.isEmpty == true { continue }
            printer.print.add(constant.name)
            if let uses, !uses.contains(""), case .structure(let structure) = constant.value {
                for (field, value) in zip(structure.type.fields, structure.fields) where uses.contains(field.name) {
                    printer.print.add(field.name)
                    printer.add(value)
                }
            } else {
                printer.add(constant.value)
            }
        }
        return LazyFingerprint(printer.print.text)
    }

    /// What of a name is used in texts, which are expressions or have some in them: names of fields, or "" for all of it. Words that
    /// mean something else count as well: then a definition is another without need, and never the same without right.
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
    static func of(_ system: WrittenSystem, _ kind: KindInstance?, _ session: Session) -> LazyFingerprint {
        of(session, hasAllConstants: true) { printer in
            printer.print.add(system.name.text)
            if let kind {
                printer.print.add("kind")
                printer.print.add(kind.kind)
                printer.add(.structure(kind.parameters))
                // What must not be shown is part of what runs, though the values may be the same.
                printer.add(kind.confidential.sorted())
                printer.add(kind.concealed.sorted())
            }
            for records in [system.states ?? [], system.events ?? []] {
                printer.print.add(records.count)
                for record in records.sorted(by: { $0.name.text < $1.name.text }) { printer.add(record) }
            }
            printer.add(system.initialState)
            printer.add(system.ready.map(\.text).sorted())
            printer.print.add(system.health.count)
            for each in system.health.sorted(by: { $0.state.text < $1.state.text }) {
                printer.add([each.state.text, each.health.rawValue])
            }
            printer.print.add(system.mailbox)
            printer.print.add(system.unhandled.rawValue)
            if system.supervision != SupervisionPolicy() { printer.add(system.supervision) }
            if system.readinessLimit != ReadinessLimit() {
                let limit = system.readinessLimit
                printer.add(["ready", limit.within.map { "\($0)" } ?? "", limit.otherwise.rawValue])
            }
            if let deadline = system.watchdog { printer.add(["watchdog", "\(deadline)"]) }
            printer.print.add(system.feedbacks.count)
            for feedback in system.feedbacks { printer.add(feedback) }
            printer.add(system.transitions)
        }
    }

    /// The fingerprint of a bus.
    static func of(_ bus: WrittenBus, _ session: Session) -> LazyFingerprint {
        of(session) { printer in
            printer.print.add(bus.name.text)
            printer.print.add(bus.kind?.rawValue)
            // The order of a structure's fields is part of its type.
            printer.add(bus.value, keepsOrder: true)
            printer.add(bus.initial)
            printer.print.add(bus.buffer)
        }
    }

    /// The fingerprint of a link. What it joins counts by name.
    static func of(_ link: WrittenLink, _ session: Session) -> LazyFingerprint {
        of(session) { printer in
            for text in [link.name.text, link.system.text] { printer.print.add(text) }
            printer.print.add(link.condition?.text)
            printer.print.add(link.loop.map { "\($0.rate.count) \($0.rate.period) \($0.hops ?? 0)" })
            switch link.form {
            case .systemToBus(let bus, let selector, let value):
                printer.add(["systemToBus", bus.text])
                printer.add(selector)
                printer.add(value)
            case .busToSystem(let bus, let onValue, let event):
                printer.add(["busToSystem", bus.text])
                printer.add(onValue)
                printer.add(event)
            case .systemToSystem(let target, let selector, let event):
                printer.add(["systemToSystem", target.text])
                printer.add(selector)
                printer.add(event)
            // None of those that run.
            case .unclear: break
            }
        }
    }

    private mutating func add(_ value: Value) {
        switch value {
        case .list(let values):
            print.add("list")
            print.add(values.count)
            for value in values { add(value) }
        case .map(let entries):
            print.add("mapping")
            print.add(entries.count)
            // Two maps that are equal may give their entries in different orders.
            for (key, value) in entries.sorted(by: { "\($0.key)" < "\($1.key)" }) {
                add(key)
                add(value)
            }
        case .structure(let structure):
            print.add(structure.type.name)
            for field in structure.fields { add(field) }
        default:
            print.add("\(value.type)")
            print.add("\(value)")
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
            ("debounce", handling.debounce), ("throttle", handling.throttle), ("timeout", handling.timeout),
            ("jitter", handling.jitter),
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
        print.add(feedback.limit)
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

    private mutating func add(_ transitions: [WrittenTransitionList]) {
        print.add(transitions.count)
        let sorted = transitions.sorted { ($0.from.text, $0.event.text) < ($1.from.text, $1.event.text) }
        for list in sorted {
            add([list.from.text, list.event.text])
            print.add(list.rules.count)
            for rule in list.rules {
                print.add(rule.condition?.text)
                print.add(rule.target?.text)
                add(rule.set, keepsOrder: false)
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
            print.add("list")
            print.add(items.count)
            for item in items { add(item, keepsOrder: keepsOrder) }
        case .mapping(let entries):
            print.add("mapping")
            add(entries, keepsOrder: keepsOrder)
        }
    }

    /// What is found elsewhere counts by what is found there: a new credential is a change. For a template without an
    /// instance nothing is looked up.
    private mutating func add(_ reference: ExternalReference) {
        add([reference.text, reference.fallback?.text ?? ""])
        guard let session, !session.isGeneric, let name = session.fixedName(reference) else { return print.add(-1) }
        let found = try? session.value(reference.kind, name)
        print.add(found)
    }
}
