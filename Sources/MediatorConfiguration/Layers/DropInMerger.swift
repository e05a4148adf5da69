import CommonExpression

/// Applies drop-ins to the documents of their file, one after the other.
///
/// A drop-in's document for a system is merged into that system's document; of one with buses and links, each entry is
/// merged into the entry of its name, or added. Merging is that of RFC 7396 (JSON Merge Patch): mappings are merged key
/// by key, everything else replaces, nothing (`null`) removes. Every node keeps the place where it was written.
struct DropInMerger {
    /// The original documents, followed by empty documents for new sections.
    private var list: DocumentList
    /// The contents of documents that were changed, by index.
    private var trees: [Int: MergeTree] = [:]
    /// The places of the entries of each section that was changed, such as `links`.
    private var sections: [String: Section] = [:]
    /// A Boolean value that indicates whether a system has more states or events than any system may have. More drop-ins
    /// change nothing about that.
    private(set) var isBeyondLimits = false

    /// The documents that have a section, and by name those that have an entry of it, in order.
    private struct Section {
        var documents: Set<Int> = []
        var names: [String: [Int]] = [:]

        /// Notes that an entry is added to a document, or removed from it.
        mutating func note(_ entry: Node.Entry, in document: Int) {
            documents.insert(document)
            let name = entry.key.text
            if entry.value.isNull {
                names[name]?.removeAll { $0 == document }
            } else if names[name]?.contains(document) != true {
                names[name, default: []].append(document)
                names[name]?.sort()
            }
        }
    }

    private let source: SourceText
    private let diagnostics: DiagnosticsCollector
    private let decoder: Decoder
    /// The index of each system's document.
    private var systems: [String: Int] = [:]
    /// The indices of the documents of buses and links.
    private var wiring: [Int] = []
    private var newFeedbacks: [NewFeedback] = []

    /// A merger for a file's documents, whose text is the first of a joined one.
    init(base: DocumentList, source: SourceText, diagnostics: DiagnosticsCollector) {
        list = base
        self.source = source
        self.diagnostics = diagnostics
        decoder = Decoder(source: source, diagnostics: diagnostics)
        for index in list.documents.indices {
            list.documents[index].source = source
            let root = list.documents[index].root
            if let name = Self.systemName(root) {
                systems[name] = systems[name] ?? index
            } else if root.isMapping {
                wiring.append(index)
            }
        }
    }

    /// The documents with all changes.
    var result: DocumentList {
        var result = list
        for (index, tree) in trees { result.documents[index].root = tree.node }
        return result
    }

    /// The content of a document as a tree; nil if it is no mapping.
    private mutating func tree(of document: Int) -> MergeTree? {
        if let tree = trees[document] { return tree }
        let root = list.documents[document].root
        guard case .mapping(let entries) = root.content else { return nil }
        let tree = MergeTree(entries, at: root.span)
        trees[document] = tree
        return tree
    }

    /// The name that a document says its system has.
    static func systemName(_ node: Node) -> String? {
        guard case .mapping(let entries) = node.content else { return nil }
        return entries.first { $0.key.text == "system" }?.value.scalar?.text
    }

    /// Applies a drop-in's documents, whose text begins at an offset of the joined one.
    mutating func apply(_ list: DocumentList, from offset: Int) {
        self.list.isIncomplete = self.list.isIncomplete || list.isIncomplete
        self.list.mayDefineBuses = self.list.mayDefineBuses || list.mayDefineBuses
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
                    + "'groups', 'access', 'limits' or 'store'",
                hint: nearestName(to: first.key.text, among: known).map { "did you mean '\($0)'?" }
                    ?? systems.keys.min().map { "write system: \($0)" })
        }
    }

    /// Merges a document into that of a system.
    private mutating func change(_ written: Node, _ entries: [Node.Entry], _ root: Node) {
        guard let name = decoder.scalar(written, "the name of a system") else { return }
        guard let index = systems[name.text] else {
            guard !list.isIncomplete else { return }
            decoder.report(
                .unknownSystem, at: name.span, "there is no system '\(name.text)' in the file of this drop-in",
                hint: Names.hint(for: name.text, among: systems.keys.sorted())
                    ?? "a system of its own goes into a file of its own")
            return
        }
        guard !root.replaces, let tree = self.tree(of: index) else {
            trees[index] = MergeTree(entries.map(whole), at: root.span)
            return
        }
        if let feedbacks = entries.first(where: { $0.key.text == "feedbacks" })?.value {
            noteNewFeedbacks(feedbacks, of: index, name.text, in: tree.tree(of: "feedbacks"))
        }
        merge(entries.filter { $0.key.text != "system" }, into: tree, in: [name.text])
        // Each state that has states inside has one without, so this is more than any system may have.
        let states = ConfigurationLimits.states * ConfigurationLimits.stateNesting
        isBeyondLimits =
            isBeyondLimits || tree.tree(of: "states")?.count ?? 0 > states
            || tree.tree(of: "events")?.count ?? 0 > ConfigurationLimits.events
    }

    /// A feedback that a drop-in says something of, and that was not there.
    private struct NewFeedback {
        var document: Int
        var system: String
        var key: Scalar
        /// The number of places of feedbacks at that time.
        var places: Int
    }

    private mutating func noteNewFeedbacks(
        _ feedbacks: Node, of index: Int, _ system: String, in there: MergeTree?
    ) {
        guard case .mapping(let entries) = feedbacks.content, !feedbacks.replaces else { return }
        for entry in entries
        where there?.contains(entry.key.text) != true && entry.value.entries?.isEmpty == false {
            newFeedbacks.append(
                NewFeedback(document: index, system: system, key: entry.key, places: there?.places ?? 0))
        }
    }

    /// Takes away feedbacks that all drop-ins together have not made whole, and reports them: their names are mistyped.
    mutating func finish() {
        for new in newFeedbacks where !list.isIncomplete {
            guard let feedbacks = trees[new.document]?.tree(of: "feedbacks"),
                let parts = feedbacks.value(of: new.key.text)?.entries,
                !parts.contains(where: { $0.key.text == "onState" })
            else { continue }
            decoder.report(
                .missingKey, at: new.key.span,
                "there is no feedback '\(new.key.text)' of '\(new.system)' to change, and a new one needs 'onState'",
                hint: nearestName(to: new.key.text, among: feedbacks.keys(inFirst: new.places)).map {
                    "did you mean '\($0)'?"
                })
            feedbacks.remove(new.key.text)
        }
    }

    /// Merges a section's entries, such as the links, each into the document that has it.
    private mutating func change(_ section: Node.Entry) {
        let key = section.key.text
        guard case .mapping(let entries) = section.value.content, !section.value.replaces else {
            replace(section)
            return
        }
        var places = take(section: key)
        var byDocument: [Int: [Node.Entry]] = [:]
        for entry in entries {
            let index = places.names[entry.key.text]?.first ?? wiring.first ?? list.documents.count
            byDocument[index, default: []].append(entry)
            places.note(entry, in: index)
        }
        sections[key] = places
        for (index, entries) in byDocument.sorted(by: { $0.key < $1.key }) {
            let value = Node(content: .mapping(entries), span: section.value.span)
            if index == list.documents.count { append(Node(content: .mapping([]), span: section.key.span)) }
            guard let tree = self.tree(of: index) else { continue }
            merge([Node.Entry(key: section.key, value: value)], into: tree, in: [""])
        }
    }

    /// The places of a section's entries. The caller changes them and puts them back: there is one copy.
    private mutating func take(section key: String) -> Section {
        if let known = sections.removeValue(forKey: key) { return known }
        var section = Section()
        for index in wiring {
            guard let value = list.documents[index].root.entries?.first(where: { $0.key.text == key })?.value else {
                continue
            }
            section.documents.insert(index)
            for entry in value.entries ?? [] { section.names[entry.key.text, default: []].append(index) }
        }
        return section
    }

    /// Adds a document.
    private mutating func append(_ root: Node) {
        wiring.append(list.documents.count)
        list.documents.append(Document(source: source, root: root))
    }

    /// Puts a section in the place of all that the file has.
    private mutating func replace(_ section: Node.Entry) {
        let key = section.key.text
        let there = take(section: key).documents.sorted()
        var places = Section()
        for index in there { tree(of: index)?.remove(key) }
        if section.value.isNull {
            if there.isEmpty { complainOfNothing(section.key) }
        } else if let first = there.first {
            tree(of: first)?.append(whole(section))
            places.documents = [first]
        } else {
            places.documents = [list.documents.count]
            append(Node(content: .mapping([whole(section)]), span: section.key.span))
        }
        for entry in section.value.entries ?? [] where !entry.value.isNull {
            places.names[entry.key.text] = Array(places.documents)
        }
        sections[key] = places
    }

    // Merging

    /// Merges changes into a mapping. No deeper in itself than a document may be.
    ///
    /// - Parameter path: the keys that lead to it, behind the name of the system, if it is of one.
    private func merge(_ changes: [Node.Entry], into tree: MergeTree, in path: [String]) {
        for change in changes {
            let name = change.key.text
            guard tree.contains(name) else {
                if change.value.isNull {
                    complainOfNothing(change.key)
                } else {
                    tree.append(whole(change))
                }
                continue
            }
            if change.value.isNull {
                tree.remove(name)
                if let message = Self.missing(name, in: path) {
                    diagnostics.noteRemoval(message, in: source, at: change.key.span)
                }
            } else if case .mapping(let inner) = change.value.content, !change.value.replaces,
                let below = tree.tree(of: name, expand: { Self.isRule(in: path) ? Self.expanded($0) : nil })
            {
                // The key of a merged value stays in its place. The key of a replaced value moves with the value.
                merge(inner, into: below, in: path + [name])
            } else {
                tree.replace(whole(change))
            }
        }
    }

    /// Returns whether the values at a path are rules.
    private static func isRule(in path: [String]) -> Bool { path.count == 3 && path[1] == "transitions" }

    /// The short form of a rule, which is only its target, as a mapping; nil: it is none.
    private static func expanded(_ rule: Node) -> Node? {
        guard let target = rule.scalar, !target.isNull else { return nil }
        let key = Scalar(text: "to", style: .plain, span: target.span)
        return Node(content: .mapping([Node.Entry(key: key, value: rule)]), span: rule.span)
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
