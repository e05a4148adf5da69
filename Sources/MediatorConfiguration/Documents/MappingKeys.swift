/// Checks the keys of a mapping: reports duplicates, and several documents that nothing separates.
struct MappingKeys {
    let source: SourceText
    let diagnostics: DiagnosticsCollector

    /// Divides a complete node into its documents: usually one.
    ///
    /// A mapping has several if the lines `---` between them are missing: another system begins in it, with keys that the one
    /// before it has, too. This is reported.
    func documents(of node: Node) -> [Node] {
        guard case .mapping(let entries) = node.content else { return [node] }
        var nodes: [Node] = []
        var start = 0
        func end(at end: Int) {
            var part = node
            if end - start == entries.count {
                part.content = .mapping(withoutDuplicates(entries))
            } else {
                part.content = .mapping(withoutDuplicates(Array(entries[start..<end])))
                part.span = Span(start: entries[start].key.span.start, end: entries[end - 1].value.span.end)
            }
            nodes.append(part)
            start = end
        }
        // A few, so that a file of nothing else takes no time.
        let heads = entries.indices.dropFirst().lazy.filter { entries[$0].key.text == Self.head }
        for index in heads.prefix(ConfigurationLimits.brokenDocuments) {
            let before = Set(entries[start..<index].lazy.map(\.key.text))
            let behind = entries[(index + 1)...].prefix { $0.key.text != Self.head }
            guard before.contains(Self.head),
                behind.contains(where: { before.contains($0.key.text) })
                    || (Self.isSystem(before) && Self.isSystem(Set(behind.lazy.map(\.key.text))))
            else { continue }
            // Entries above it that the outer mapping has already belong to the inner one, such as a description.
            var first = index
            while first > start + 1, index - first < Self.mostAbove,
                entries[start..<(first - 1)].contains(where: { $0.key.text == entries[first - 1].key.text })
            {
                first -= 1
            }
            diagnostics.report(
                .duplicateKey, in: source, at: entries[first].key.span,
                "another system begins here, and a document describes one", hint: "write a line '---' before it")
            end(at: first)
        }
        if start < entries.count { end(at: entries.count) }
        return nodes.isEmpty ? [node] : nodes
    }

    /// The key by which a document describes a system.
    private static let head = "system"

    /// The largest number of such keys above it.
    private static let mostAbove = 4

    /// Returns whether keys are enough to describe a system.
    private static func isSystem(_ keys: Set<String>) -> Bool {
        keys.contains("kind") || keys.contains("states") || keys.contains("initialState")
    }

    /// Returns whether a key has only ASCII characters, which is known without looking unless it may have been written
    /// by escapes.
    private func isASCII(_ key: Scalar) -> Bool {
        (source.isASCII && key.style != .doubleQuoted) || key.text.utf8.allSatisfy { $0 < 0x80 }
    }

    /// Returns the entries with each key once, in linear time, after reporting the duplicates.
    func withoutDuplicates(_ entries: [Node.Entry]) -> [Node.Entry] {
        var kept: [Node.Entry] = []
        if entries.count <= 16 {
            for index in entries.indices {
                // Canonically equivalent keys are equal, too.
                guard isASCII(entries[index].key) else { break }
                let text = entries[index].key.text
                var isDouble = false
                for before in 0..<index where entries[before].key.text.isWord(text) { isDouble = true }
                if isDouble { break }
                if index == entries.count - 1 { return entries }
            }
        }
        var first: [String: Int] = [:]
        for entry in entries {
            if let index = first[entry.key.text] {
                let line = source.location(at: kept[index].key.span.start).line
                // Of two equal keys the one with a value counts.
                if kept[index].value.isNull { kept[index].value = entry.value }
                diagnostics.report(
                    .duplicateKey, in: source, at: entry.key.span,
                    "the key '\(entry.key.text)' is already in this mapping, at line \(line)")
            } else {
                first[entry.key.text] = kept.count
                kept.append(entry)
            }
        }
        return kept
    }
}
