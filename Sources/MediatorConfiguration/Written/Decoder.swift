import CommonExpression

/// Reads nodes as values of an expected shape, and reports other shapes. Every reader of the second stage uses it: no
/// method throws, and nil means that a mistake has been reported.
struct Decoder {
    /// The file being read.
    let source: SourceText
    /// The diagnostics collector.
    let diagnostics: DiagnosticsCollector

    /// Reports a mistake.
    func report(_ code: Diagnostic.Code, at span: Span, _ message: String, hint: @autoclosure () -> String? = nil) {
        diagnostics.report(code, in: source, at: span, message, hint: hint())
    }

    /// The place of an offset.
    func location(_ span: Span) -> SourceLocation { source.location(at: span.start) }

    /// The entries of a mapping.
    func entries(
        _ node: Node, _ what: @autoclosure () -> String, hint: @autoclosure () -> String? = nil
    ) -> [Node.Entry]? {
        if case .mapping(let entries) = node.content { return entries }
        let hint = hint() ?? (node.isNull ? "write '{}' for an empty one" : nil)
        report(.wrongShape, at: node.mark, "\(what()) must be a mapping, not \(node.kind)", hint: hint)
        return nil
    }

    /// The entries of a mapping of fields, up to the limit.
    func fieldEntries(_ node: Node, _ what: @autoclosure () -> String) -> [Node.Entry]? {
        guard let entries = entries(node, what()) else { return nil }
        if entries.count <= ConfigurationLimits.fields { return entries }
        report(.tooLarge, at: node.mark, "\(what()) are more than the \(ConfigurationLimits.fields) that are allowed")
        return nil
    }

    /// The entries of a mapping whose keys are fixed. Others are reported.
    func keyed(
        _ node: Node, _ what: @autoclosure () -> String, known: [String], hint: @autoclosure () -> String? = nil
    ) -> Keyed? {
        guard let written = entries(node, what(), hint: hint()) else { return nil }
        let entries = withColons(written, known.holdsWord)
        for entry in entries where !known.holdsWord(entry.key.text) {
            unknownKey(entry, what(), known: known, beside: entries)
        }
        return Keyed(entries: entries, known: known, span: node.mark)
    }

    /// Reports an unknown key.
    ///
    /// - Parameter others: The entries beside it. It cannot be meant as one of their keys.
    func unknownKey(_ entry: Node.Entry, _ what: String, known: [String], beside others: [Node.Entry] = []) {
        let cut = CutText(entry, in: source)
        if cut?.isFirst == false { return }
        let meant = Names.keyMeant(by: entry.key.text, among: known).flatMap { meant in
            others.contains { $0.key.text == meant } ? nil : meant
        }
        // A link leads to a bus or to a system.
        let isOfLink = meant == "to" && known.contains("toSystem")
        // A condition in braces under another name is one mistake.
        let condition = meant == "when" ? entry.value.scalar.flatMap { Braces.inner(of: $0.text) } : nil
        // A target with the keys of a rule is one mistake, too: `then: { to: Full }`.
        let isRule = meant == "to" && entry.hasOne(of: ["to", "set"])
        if condition != nil || isRule { diagnostics.silence(entry.value.span.start, in: source) }
        report(
            .unknownKey, at: entry.key.span, "\(what) has no key '\(entry.key.text)'",
            hint: cut?.hint ?? colonHint(entry)
                ?? condition.map { "write when: \($0)" }
                ?? (isRule ? "write its keys here: { when: …, to: STATE }" : nil)
                ?? (Names.isRenamed(entry.key.text, among: known)
                    ? nil : ForeignWord.hint(for: entry.key.text, among: known))
                ?? meant.map { isOfLink ? "did you mean 'to' or 'toSystem'?" : "did you mean '\($0)'?" }
                ?? Names.hint(for: entry.key.text, among: known))
    }

    /// A word on `{a:1}`, which YAML reads as one long key.
    func colonHint(_ entry: Node.Entry) -> String? {
        guard entry.value.isNull, entry.key.style == .plain, entry.key.text.contains(":") else { return nil }
        return "a ':' needs a space after it"
    }

    /// The value of a required key.
    func required(
        _ key: String, of keyed: Keyed, _ what: @autoclosure () -> String, hint: @autoclosure () -> String? = nil
    ) -> Node? {
        if let node = keyed[key] { return node }
        // A key that is no name may have been meant to be this one.
        if keyed.hasMisspelt(key) || keyed.hasOnlyForeign || keyed[""] != nil { return nil }
        report(.missingKey, at: keyed.span, "\(what()) needs '\(key)'", hint: hint())
        return nil
    }

    /// A single value that is not nothing.
    func scalar(_ node: Node, _ what: @autoclosure () -> String, hint: @autoclosure () -> String? = nil) -> Scalar? {
        if let scalar = node.scalar, !scalar.isNull { return scalar }
        let message = node.isNull ? "\(what()) is empty" : "\(what()) must be a single value, not \(node.kind)"
        report(.wrongShape, at: node.mark, message, hint: hint())
        return nil
    }

    /// A condition: the text of an expression.
    func condition(_ node: Node) -> Scalar? {
        scalar(node, "a condition", hint: node.isNull ? nil : "an expression that begins with '[' or '{' needs quotes")
    }

    /// The description; nil if the key is missing.
    func description(_ keyed: Keyed) -> String? {
        keyed["description"].flatMap { scalar($0, "a description") }?.text
    }

    /// One of a few words.
    func choice<Choice>(
        _ node: Node, _ what: @autoclosure () -> String, among choices: [Choice]? = nil
    ) -> Choice? where Choice: RawRepresentable<String> & CaseIterable {
        guard let scalar = scalar(node, what()) else { return nil }
        if let choice = Choice(rawValue: scalar.text),
            choices?.contains(where: { $0.rawValue == choice.rawValue }) ?? true
        {
            return choice
        }
        let words = choices?.map(\.rawValue) ?? Choice.allCases.map(\.rawValue)
        let quoted = words.map { "'\($0)'" }
        report(
            .unknownChoice, at: scalar.span,
            "\(what()) is \(quoted.dropLast().joined(separator: ", ")) or \(quoted[quoted.count - 1]), not '\(scalar.text)'",
            hint: Names.choiceMeant(by: scalar.text, among: words).map { "did you mean '\($0)'?" })
        return nil
    }

    /// A whole number within a range.
    func integer(_ node: Node, _ what: @autoclosure () -> String, in range: ClosedRange<Int>) -> Int? {
        guard let scalar = scalar(node, what()) else { return nil }
        if scalar.style == .plain {
            switch CoreSchema(plain: scalar.text) {
            case .int(false, let magnitude):
                if let value = Int(exactly: magnitude), range.contains(value) { return value }
                fallthrough
            case .int, .hugeInt:
                report(
                    .outOfRange, at: scalar.span,
                    "\(what()) is from \(range.lowerBound) to \(range.upperBound), not \(scalar.text)")
                return nil
            default: break
            }
        }
        report(.wrongType, at: scalar.span, "\(what()) is a whole number, not '\(scalar.text)'")
        return nil
    }

    /// A state or event and its fields: a name, or a mapping from a name to fields.
    func construct(_ node: Node, _ what: @autoclosure () -> String) -> WrittenConstruct? {
        switch node.content {
        case .scalar:
            return scalar(node, what()).map { WrittenConstruct(name: $0, fields: nil, node: node) }
        case .external:
            return scalar(node, what()).map { WrittenConstruct(name: $0, fields: nil, node: node) }
        case .mapping(let entries) where entries.count == 1:
            let entry = entries[0]
            if case .mapping(let fields) = entry.value.content {
                return WrittenConstruct(name: entry.key, fields: fields, node: node)
            }
            if entry.value.isNull, colonHint(entry) == nil {
                return WrittenConstruct(name: entry.key, fields: nil, node: node)
            }
            report(
                .wrongShape, at: entry.value.mark,
                "the fields of '\(entry.key.text)' must be a mapping, not \(entry.value.kind)",
                hint: colonHint(entry) ?? "write { \(entry.key.text): { field: value } }")
            return nil
        default:
            report(
                .wrongShape, at: node.mark,
                "\(what()) must be a name, or one name with its fields, not \(node.kind)\(plural(node))",
                hint: "write Name, or { Name: { field: value } }")
            return nil
        }
    }

    private func plural(_ node: Node) -> String {
        if case .mapping(let entries) = node.content { " of \(entries.count) keys" } else { "" }
    }

    /// A number of times per duration: `10 per 1s`. Nil after reporting.
    func rate(_ node: Node, _ what: String, hint: String) -> RateLimit? {
        guard let text = scalar(node, what, hint: hint) else { return nil }
        let words = text.text.split(separator: " ")
        guard words.count >= 3, words[1] == "per", let count = Int(words[0]),
            let period = TimeSpan(text: words[2...].joined(separator: " "))
        else {
            let isOfPeriod = words.count >= 3 && words[1] == "per" && Int(words[0]) != nil
            let period = isOfPeriod ? DurationText.meant(by: words[2...].joined(separator: " ")) : nil
            report(
                .wrongType, at: text.span, "\(what) is a number of times per duration, not '\(text.text)'",
                hint: period.map { "write \(words[0]) per \($0): the units are h, m, s, ms, us and ns" } ?? hint)
            return nil
        }
        guard (1...ConfigurationLimits.bufferLimit).contains(count),
            period.isAtLeast(nanoseconds: ConfigurationLimits.shortestPeriod)
        else {
            report(
                .outOfRange, at: text.span,
                "\(what) is from 1 to \(ConfigurationLimits.bufferLimit) times, per 1ms or more")
            return nil
        }
        return RateLimit(count: count, period: period)
    }

    /// A fixed duration. Nil after reporting.
    func duration(_ node: Node, _ what: String, from least: TimeSpan, to most: TimeSpan) -> TimeSpan? {
        guard let text = scalar(node, what, hint: "write a duration such as 5s") else { return nil }
        guard let span = TimeSpan(text: text.text) else {
            report(
                .wrongType, at: text.span, "\(what) is a duration, not '\(text.text)'",
                hint: DurationText.hint(for: text.text))
            return nil
        }
        guard least <= span, span <= most else {
            report(.outOfRange, at: text.span, "\(what) is from \(least.brief) to \(most.brief), not \(text.text)")
            return nil
        }
        return span
    }

    /// A delay and how long it may become, from the keys `delay` and `maxDelay`; where only the first is written, the second is
    /// no shorter.
    func delays(_ keyed: Keyed, _ delay: TimeSpan, _ maxDelay: TimeSpan, from least: TimeSpan) -> (TimeSpan, TimeSpan) {
        var (delay, maxDelay) = (delay, maxDelay)
        let most = SupervisionPolicy.longestDelay
        if let node = keyed["delay"], let written = duration(node, "'delay'", from: least, to: most) {
            delay = written
            maxDelay = max(maxDelay, written)
        }
        if let node = keyed["maxDelay"], let written = duration(node, "'maxDelay'", from: least, to: most) {
            maxDelay = written
        }
        return (delay, maxDelay)
    }

    /// A buffer's limit and overflow policy from two keys of a mapping.
    func bufferPolicy(
        _ keyed: Keyed, _ what: @autoclosure () -> String, default policy: BufferPolicy,
        overflows: [BufferPolicy.Overflow]
    ) -> BufferPolicy {
        var policy = policy
        if let node = keyed["limit"],
            let limit = integer(node, "the limit of \(what())", in: 1...ConfigurationLimits.bufferLimit)
        {
            policy.limit = limit
        }
        if let node = keyed["overflow"], let overflow = choice(node, "overflow", among: overflows) {
            policy.overflow = overflow
        }
        return policy
    }
}

/// The entries of a mapping whose keys are fixed.
struct Keyed {
    /// All of them, unknown ones among them.
    var entries: [Node.Entry]
    /// The keys with a meaning.
    var known: [String] = []
    /// The place where the mapping begins.
    var span: Span

    /// The value of a key; nil if it is missing. Linear in the few keys.
    subscript(key: String) -> Node? {
        for index in entries.indices where entries[index].key.text.isWord(key) { return entries[index].value }
        return nil
    }

    /// With the keys in the place of misspelt ones, which have been reported, that they are probably meant to be: what
    /// they hold is looked at, too.
    ///
    /// - Parameter otherKeys: Whether that is so of what other programs call such a key, too.
    func understood(otherKeys: Bool = false) -> Keyed {
        guard hasForeign else { return self }
        var result = self
        result.entries = entries.map { entry in
            let text = entry.key.text
            guard !known.contains(text),
                let meant = otherKeys ? Names.keyMeant(by: text, among: known) : nearestName(to: text, among: known),
                self[meant] == nil
            else { return entry }
            var entry = entry
            entry.key.text = meant
            return entry
        }
        return result
    }

    /// A Boolean value that indicates whether some key, which has been reported, has no meaning and is like none that
    /// has.
    var hasForeign: Bool { entries.contains { !known.holdsWord($0.key.text) } }

    /// A Boolean value that indicates whether an unknown key, which has been reported, may be meant as states or
    /// events.
    var hasForeignRecords: Bool {
        entries.contains { entry in
            guard !known.contains(entry.key.text), case .mapping(let within) = entry.value.content else { return false }
            return !within.isEmpty && within.allSatisfy { $0.value.isMapping || $0.value.isNull }
        }
    }

    /// A Boolean value that indicates whether it has keys, none of which has a meaning: whatever they are meant to be
    /// has been reported.
    var hasOnlyForeign: Bool { !entries.isEmpty && entries.allSatisfy { !known.contains($0.key.text) } }

    /// Returns whether an unknown key, which has been reported, is probably meant to be this one.
    func hasMisspelt(_ key: String) -> Bool {
        entries.contains { !known.contains($0.key.text) && Names.keyMeant(by: $0.key.text, among: known) == key }
    }

    /// The key as written.
    func key(_ key: String) -> Scalar? {
        for index in entries.indices where entries[index].key.text.isWord(key) { return entries[index].key }
        return nil
    }
}
