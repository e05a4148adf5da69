import CommonExpression

/// Applies drop-ins to the documents of their file, one after the other.
///
/// A drop-in's document for a system is merged into that system's document; of one with buses and links, each entry is
/// merged into the entry of its name, or added. Merging is that of RFC 7396 (JSON Merge Patch): mappings are merged key
/// by key, everything else replaces, nothing (`null`) removes. Every node keeps the place where it was written.
struct DropInMerger {
    /// The documents as they are so far.
    private(set) var result: DocumentList
    private let source: SourceText
    private let diagnostics: DiagnosticsCollector
    private let decoder: Decoder
    /// The index of each system's document.
    private var systems: [String: Int] = [:]
    private var newFeedbacks: [NewFeedback] = []

    /// A merger for a file's documents, whose text is the first of a joined one.
    init(base: DocumentList, source: SourceText, diagnostics: DiagnosticsCollector) {
        result = base
        self.source = source
        self.diagnostics = diagnostics
        decoder = Decoder(source: source, diagnostics: diagnostics)
        for index in result.documents.indices {
            result.documents[index].source = source
            guard let name = Self.systemName(result.documents[index].root), systems[name] == nil else { continue }
            systems[name] = index
        }
    }

    /// The name that a document says its system has.
    static func systemName(_ node: Node) -> String? {
        guard case .mapping(let entries) = node.content else { return nil }
        return entries.first { $0.key.text == "system" }?.value.scalar?.text
    }

    /// Applies a drop-in's documents, whose text begins at an offset of the joined one.
    mutating func apply(_ list: DocumentList, from offset: Int) {
        result.isIncomplete = result.isIncomplete || list.isIncomplete
        result.mayDefineBuses = result.mayDefineBuses || list.mayDefineBuses
        for document in list.documents { apply(document.root.moved(by: offset)) }
    }

    private mutating func apply(_ root: Node) {
        guard let entries = decoder.entries(root, "a document") else { return }
        if let system = entries.first(where: { $0.key.text == "system" }) {
            change(system.value, entries, root)
        } else if entries.contains(where: { WiringDecoder.keys.contains($0.key.text) }) {
            for entry in entries {
                if WiringDecoder.keys.contains(entry.key.text) {
                    change(entry)
                } else {
                    decoder.unknownKey(entry, "a document of buses and links", known: WiringDecoder.keys)
                }
            }
        } else if let first = entries.first {
            let known = ["system"] + WiringDecoder.keys
            decoder.report(
                .documentKind, at: first.key.span,
                "a drop-in's document names the system it changes with 'system', or holds 'buses', 'links', 'instances', "
                    + "'groups', 'access' or 'limits'",
                hint: nearestName(to: first.key.text, among: known).map { "did you mean '\($0)'?" }
                    ?? systems.keys.min().map { "write system: \($0)" })
        }
    }

    /// Merges a document into that of a system.
    private mutating func change(_ written: Node, _ entries: [Node.Entry], _ root: Node) {
        guard let name = decoder.scalar(written, "the name of a system") else { return }
        guard let index = systems[name.text] else {
            guard !result.isIncomplete else { return }
            decoder.report(
                .unknownSystem, at: name.span, "there is no system '\(name.text)' in the file of this drop-in",
                hint: Names.hint(for: name.text, among: systems.keys.sorted())
                    ?? "a system of its own goes into a file of its own")
            return
        }
        if !root.replaces, let feedbacks = entries.first(where: { $0.key.text == "feedbacks" })?.value {
            noteNewFeedbacks(feedbacks, of: index, name.text)
        }
        let changes = Node(
            content: .mapping(entries.filter { $0.key.text != "system" }), span: root.span, replaces: root.replaces)
        guard root.replaces else {
            result.documents[index].root = merged(result.documents[index].root, changes, in: [name.text])
            return
        }
        result.documents[index].root = Node(content: .mapping(entries.map(whole)), span: root.span)
    }

    /// A feedback that a drop-in says something of, and that was not there.
    private struct NewFeedback {
        var document: Int
        var system: String
        var key: Scalar
        /// Those that were.
        var others: [String]
    }

    private mutating func noteNewFeedbacks(_ feedbacks: Node, of index: Int, _ system: String) {
        guard case .mapping(let entries) = feedbacks.content, !feedbacks.replaces else { return }
        let there = Self.feedbacks(of: result.documents[index].root).map(\.key.text)
        for entry in entries where !there.contains(entry.key.text) && entry.value.entries?.isEmpty == false {
            newFeedbacks.append(NewFeedback(document: index, system: system, key: entry.key, others: there))
        }
    }

    private static func feedbacks(of root: Node) -> [Node.Entry] {
        root.entries?.first { $0.key.text == "feedbacks" }?.value.entries ?? []
    }

    /// Takes away feedbacks that all drop-ins together have not made whole, and reports them: their names are mistyped.
    mutating func finish() {
        for new in newFeedbacks where !result.isIncomplete {
            let feedbacks = Self.feedbacks(of: result.documents[new.document].root)
            guard let feedback = feedbacks.first(where: { $0.key.text == new.key.text }),
                let parts = feedback.value.entries, !parts.contains(where: { $0.key.text == "onState" })
            else { continue }
            decoder.report(
                .missingKey, at: new.key.span,
                "there is no feedback '\(new.key.text)' of '\(new.system)' to change, and a new one needs 'onState'",
                hint: nearestName(to: new.key.text, among: new.others).map { "did you mean '\($0)'?" })
            let kept = feedbacks.filter { $0.key.text != new.key.text }
            result.documents[new.document].root = result.documents[new.document].root.replacing(
                "feedbacks", with: .mapping(kept))
        }
    }

    /// Merges a section's entries, such as the links, each into the document that has it.
    private mutating func change(_ section: Node.Entry) {
        let key = section.key.text
        guard case .mapping(let entries) = section.value.content, !section.value.replaces else {
            replace(section)
            return
        }
        var places: [String: Int] = [:]
        var first: Int?
        for index in result.documents.indices {
            guard case .mapping(let there) = result.documents[index].root.content,
                Self.systemName(result.documents[index].root) == nil
            else { continue }
            first = first ?? index
            for case .mapping(let named) in there.filter({ $0.key.text == key }).map(\.value.content) {
                for entry in named where places[entry.key.text] == nil { places[entry.key.text] = index }
            }
        }
        var byDocument: [Int: [Node.Entry]] = [:]
        for entry in entries {
            byDocument[places[entry.key.text] ?? first ?? result.documents.count, default: []].append(entry)
        }
        for (index, entries) in byDocument.sorted(by: { $0.key < $1.key }) {
            let changes = Node(
                content: .mapping([
                    Node.Entry(
                        key: section.key, value: Node(content: .mapping(entries), span: section.value.span))
                ]), span: section.key.span)
            if index == result.documents.count {
                let empty = Node(content: .mapping([]), span: section.key.span)
                result.documents.append(Document(source: source, root: empty))
            }
            result.documents[index].root = merged(result.documents[index].root, changes, in: [""])
        }
    }

    /// Puts a section in the place of all that the file has.
    private mutating func replace(_ section: Node.Entry) {
        var isDone = false
        for index in result.documents.indices {
            guard case .mapping(let entries) = result.documents[index].root.content,
                entries.contains(where: { $0.key.text == section.key.text }),
                Self.systemName(result.documents[index].root) == nil
            else { continue }
            let kept = entries.filter { $0.key.text != section.key.text }
            let isReplaced = !section.value.isNull && !isDone
            result.documents[index].root.content = .mapping(kept + (isReplaced ? [whole(section)] : []))
            isDone = true
        }
        guard !isDone else { return }
        if section.value.isNull {
            complainOfNothing(section.key)
        } else {
            result.documents.append(
                Document(source: source, root: Node(content: .mapping([whole(section)]), span: section.key.span)))
        }
    }

    // Merging

    /// A node with changes. No deeper in itself than a document may be.
    ///
    /// - Parameter path: the keys that lead to it, behind the name of the system, if it is of one.
    private func merged(_ base: Node, _ change: Node, in path: [String] = []) -> Node {
        guard case .mapping(let changes) = change.content else { return change }
        var base = base
        if path.count == 4, path[1] == "transitions", !change.replaces, let target = base.scalar, !target.isNull {
            // The short form of a rule that only has a target.
            let key = Scalar(text: "to", style: .plain, span: target.span)
            base = Node(content: .mapping([Node.Entry(key: key, value: base)]), span: base.span)
        }
        guard !change.replaces, case .mapping(var entries) = base.content else { return whole(change) }
        var indices: [String: Int] = [:]
        for (index, entry) in entries.enumerated() { indices[entry.key.text] = index }
        var removed: Set<Int> = []
        for change in changes {
            guard let index = indices[change.key.text] else {
                if change.value.isNull {
                    complainOfNothing(change.key)
                } else {
                    entries.append(whole(change))
                }
                continue
            }
            if change.value.isNull {
                removed.insert(index)
                if let message = Self.missing(change.key.text, in: path) {
                    diagnostics.noteRemoval(message, in: source, at: change.key.span)
                }
            } else {
                let value = merged(entries[index].value, change.value, in: path + [change.key.text])
                // The key of a merged value stays in its place. The key of a replaced value moves with the value.
                if case .mapping = change.value.content, !change.value.replaces, value.span == entries[index].value.span
                {
                    entries[index].value = value
                } else {
                    entries[index] = Node.Entry(key: change.key, value: value)
                }
            }
        }
        if !removed.isEmpty { entries = entries.indices.filter { !removed.contains($0) }.map { entries[$0] } }
        return Node(content: .mapping(entries), span: base.span)
    }

    /// The message for users of a name that is removed; nil: it is not used elsewhere.
    private static func missing(_ name: String, in path: [String]) -> String? {
        guard path.count == 2 else { return nil }
        switch (path[0], path[1]) {
        case ("", "buses"): return "there is no bus '\(name)'"
        case (let system, "states") where !system.isEmpty: return "'\(system)' has no state '\(name)'"
        case (let system, "events") where !system.isEmpty: return "'\(system)' has no event '\(name)'"
        case (let system, "inputs") where !system.isEmpty: return "'\(system)' has no input '\(name)'"
        default: return nil
        }
    }

    /// An entry that is new.
    private func whole(_ entry: Node.Entry) -> Node.Entry {
        Node.Entry(key: entry.key, value: whole(entry.value))
    }

    /// A new or replacing value, without the marks for removal.
    private func whole(_ node: Node) -> Node {
        guard case .mapping(let entries) = node.content else { return node }
        let kept = entries.filter { entry in
            if entry.value.isNull { complainOfNothing(entry.key) }
            return !entry.value.isNull
        }
        return Node(content: .mapping(kept.map(whole)), span: node.span)
    }

    private func complainOfNothing(_ key: Scalar) {
        diagnostics.report(
            .nothingToRemove, in: source, at: key.span, "there is no '\(key.text)' here that could be removed",
            hint: "to add it, write its keys, or {} for none", severity: .warning)
    }
}
