/// Corrects entries with the wrong indentation or without a ':', as they happen in editing. Each slip is reported once.
/// The rest is read in its probable meaning, so that no further diagnostics follow.
extension Decoder {
    /// The entries of things by name, such as feedbacks. Keys that belong into the last thing, but stand beside its
    /// name, are moved into it.
    ///
    /// - Parameters:
    ///   - what: A name for the entries, with an article.
    ///   - isAlways: Whether such a key always belongs into a thing, whatever its value is.
    ///   - isInner: Whether an entry has a key of such a thing.
    func gathered(
        _ entries: [Node.Entry], _ what: String, isAlways: Bool = false, _ isInner: (Node.Entry) -> Bool
    ) -> [Node.Entry] {
        func belongs(_ entry: Node.Entry, to last: Node.Entry, _ isOpen: Bool) -> Bool {
            (isAlways || isOpen || last.value.isNull || !entry.value.isMapping) && isInner(entry)
                && (last.value.isNull || last.value.isMapping)
        }
        func isNameless(_ entry: Node.Entry) -> Bool { !isAlways && !entry.value.isMapping && isInner(entry) }
        guard let first = entries.first,
            isNameless(first) || zip(entries, entries.dropFirst()).contains(where: { belongs($1, to: $0, false) })
        else { return entries }
        var entries = entries[...]
        if isNameless(first) {
            report(
                .wrongShape, at: first.key.span,
                "'\(first.key.text)' belongs to \(what), and there is no name above it",
                hint: "write a name, and indent what belongs to it below that")
            entries = entries.drop(while: isInner)
        }
        var result: [Node.Entry] = []
        // The keys that were moved into the last thing.
        var own: [Node.Entry]?
        func close() {
            if let own { result[result.count - 1].value.content = .mapping(own) }
            own = nil
        }
        for entry in entries {
            guard let last = result.last, belongs(entry, to: last, own != nil) else {
                close()
                result.append(entry)
                continue
            }
            if own == nil {
                report(
                    .wrongShape, at: entry.key.span,
                    "'\(entry.key.text)' belongs to \(what), and stands beside its name",
                    hint: "indent what belongs to '\(last.key.text)' further than that")
                own = last.value.entriesIfAny ?? []
            }
            own?.append(entry)
        }
        close()
        return result
    }

    /// The entries of a document. Keys of the document that stand within the value of another key are moved out.
    ///
    /// - Parameters:
    ///   - holders: The keys whose values are searched.
    ///   - keys: The keys that are searched for.
    ///   - what: A name for the document, with an article.
    ///   - isName: Whether an entry within the value of a key may belong there all the same.
    ///   - isMeant: Whether the entries below an empty key show that it is that key.
    func raised(
        _ entries: [Node.Entry], from holders: [String], _ keys: [String], of what: String,
        isName: (Node.Entry, String) -> Bool, isMeant: (String, ArraySlice<Node.Entry>) -> Bool
    ) -> [Node.Entry] {
        let missing = keys.filter { key in !entries.contains { $0.key.text == key } }
        guard !missing.isEmpty else { return entries }
        var result: [Node.Entry] = []
        for var holder in entries {
            guard holders.contains(holder.key.text), case .mapping(var within) = holder.value.content else {
                result.append(holder)
                continue
            }
            var raised: [Node.Entry] = []
            func isRaised(_ index: Int) -> Bool {
                let entry = within[index]
                guard Self.isKey(entry, among: missing, isName: { isName($0, holder.key.text) }) else { return false }
                return !entry.value.isNull || isMeant(entry.key.text, within[(index + 1)...])
            }
            while let index = within.indices.first(where: isRaised) {
                var entry = within[index]
                report(
                    .wrongShape, at: entry.key.span,
                    "'\(entry.key.text)' is a key of \(what), and stands within '\(holder.key.text)'",
                    hint: "keys of one mapping stand in the same column")
                if entry.value.isNull {
                    let end =
                        within[(index + 1)...].firstIndex {
                            missing.contains($0.key.text) && !isName($0, holder.key.text)
                        }
                        ?? within.endIndex
                    entry.value.content = .mapping(Array(within[(index + 1)..<end]))
                    within.removeSubrange(index..<end)
                } else {
                    within.remove(at: index)
                }
                raised.append(entry)
            }
            holder.value.content = .mapping(within)
            result.append(holder)
            result += raised
        }
        return result
    }

    /// The entries of a missing key, which stand among those of another key. The missing line is reported.
    ///
    /// - Parameters:
    ///   - entries: All entries; the misplaced ones are removed.
    ///   - what: A name for them, with an article.
    ///   - key: The key under which they stand.
    ///   - own: Their own key, which is missing.
    func strays(
        in entries: inout [Node.Entry], _ what: String, among key: String, missing own: String,
        _ isStray: (Node.Entry) -> Bool
    ) -> [Node.Entry] {
        guard let first = entries.first(where: isStray) else { return [] }
        report(
            .wrongShape, at: first.key.span, "'\(first.key.text)' looks like \(what), and stands among '\(key)'",
            hint: "is the line '\(own):' missing above it?")
        let strays = entries.filter(isStray)
        entries.removeAll(where: isStray)
        return strays
    }

    /// Returns whether an entry within the value of another key is a key of the document, rather than a state, bus or
    /// other thing of that name. Such things have no value, plain values, or keys of their own.
    private static func isKey(_ entry: Node.Entry, among keys: [String], isName: (Node.Entry) -> Bool) -> Bool {
        guard keys.contains(entry.key.text), !isName(entry) else { return false }
        guard case .mapping(let within) = entry.value.content else { return true }
        return within.contains { $0.value.isMapping || $0.value.isNull }
    }

    /// The entries of a system, where states and events that stand beside the key of the others are put among these.
    func lowered(_ entries: [Node.Entry], known: [String]) -> [Node.Entry] {
        func isStray(_ entry: Node.Entry) -> Bool {
            !known.contains(entry.key.text) && Names.isIdentifier(entry.key.text)
                && entry.key.text.utf8.first.map { $0 & 0x20 == 0 } ?? false
                && (entry.value.isNull || entry.value.isMapping)
                && Names.keyMeant(by: entry.key.text, among: known) == nil
        }
        guard entries.contains(where: { !known.contains($0.key.text) }) else { return entries }
        var result: [Node.Entry] = []
        // Those of the entry that is last in the result, if strays may belong to it, and the strays.
        var others: (names: Set<String>, strays: [Node.Entry])?
        func close() {
            if let last = result.indices.last, let strays = others?.strays, !strays.isEmpty {
                result[last].value.content = .mapping((result[last].value.entriesIfAny ?? []) + strays)
            }
            others = nil
        }
        for entry in entries {
            if others != nil, isStray(entry), others?.names.insert(entry.key.text).inserted == true,
                let last = result.indices.last
            {
                report(
                    .wrongShape, at: entry.key.span,
                    "'\(entry.key.text)' is no key of a system, and stands beside '\(result[last].key.text)' as if it were one "
                        + "of them", hint: "indent it like the others")
                others?.strays.append(entry)
                continue
            }
            close()
            result.append(entry)
            if ["states", "events"].contains(entry.key.text), let own = entry.value.entriesIfAny {
                others = (Set(own.map(\.key.text)), [])
            }
        }
        close()
        return result
    }

    /// The name in a key such as `Full = { used`, as is left of `Full = { used: int }`, or of the same with ':' and no space or with
    /// nothing, which is reported.
    func nameWithoutColon(_ key: Scalar) -> Scalar? {
        // These are names, as a rule.
        guard key.style == .plain, !Names.isIdentifier(key.text),
            let end = key.text.firstIndex(where: { $0 == " " || $0 == "=" || $0 == ":" })
        else { return nil }
        let name = String(key.text[..<end])
        let rest = key.text[end...].drop { $0 == " " }
        guard Names.isIdentifier(name), rest.hasPrefix("=") || rest.hasPrefix("{") || rest.hasPrefix(":{") else {
            return nil
        }
        report(
            .syntax, at: key.span,
            rest.hasPrefix("=")
                ? "a ':' belongs behind '\(name)', not '='"
                : "a ':' with a space after it belongs behind '\(name)'", hint: "write \(name): { … }")
        return Scalar(
            text: name, style: .plain, span: Span(start: key.span.start, end: key.span.start + name.utf8.count))
    }

    /// Entries in which keys that lack their ':' are read as if it were there.
    ///
    /// - Parameter isKey: Whether a word can be a key.
    func withColons(_ entries: [Node.Entry], _ isKey: (String) -> Bool) -> [Node.Entry] {
        guard entries.contains(where: { $0.value.isNull && ($0.key.text.holds(" ") || $0.key.text.holds(":")) }) else {
            return entries
        }
        let written = Set(entries.lazy.map(\.key.text))
        var made: Set<String> = []
        return entries.compactMap { entry in
            guard entry.value.isNull, entry.key.style == .plain,
                let end = entry.key.text.firstIndex(where: { $0 == " " || $0 == ":" })
            else { return entry }
            let key = String(entry.key.text[..<end])
            let value = String(entry.key.text[end...].drop { $0 == " " || $0 == "=" || $0 == ":" })
            guard isKey(key), let first = value.utf8.first, Names.isLetterOrDigit(first) || first == UInt8(ascii: "$"),
                !written.contains(key)
            else { return entry }
            let isThere = entry.key.text[end] == ":"
            report(
                .syntax, at: entry.key.span,
                isThere ? "the ':' behind '\(key)' needs a space after it" : "a ':' is missing behind '\(key)'",
                hint: "write \(key): \(value)")
            // Each key is there once: of one that is made twice the first counts.
            guard made.insert(key).inserted else { return nil }
            let length = entry.key.text.utf8.count
            let start = entry.key.span.start
            let scalar = Scalar(
                text: value, style: .plain,
                span: Span(start: start + length - value.utf8.count, end: max(start + length, entry.key.span.end)))
            return Node.Entry(
                key: Scalar(text: key, style: .plain, span: Span(start: start, end: start + key.utf8.count)),
                value: Node(content: .scalar(scalar), span: scalar.span))
        }
    }
}
