/// Changing nodes as JSON Merge Patch does (RFC 7396), without regard to places.
extension Node {
    /// A node whose place does not matter.
    init(_ content: Content, replaces: Bool = false) {
        self.init(content: content, span: Span(start: 0, end: 0), replaces: replaces)
    }

    /// Nothing.
    static var null: Node { Node(.scalar(Scalar(text: "null", style: .plain, span: Span(start: 0, end: 0)))) }

    /// The entries of a mapping; nil for anything else.
    var entries: [Entry]? {
        if case .mapping(let entries) = content { entries } else { nil }
    }

    /// Returns whether two nodes say the same: places, quotes and the order of keys do not count.
    func says(_ other: Node) -> Bool {
        // Nodes lie at most as deep in each other as a document allows.
        switch (content, other.content) {
        case (.scalar(let left), .scalar(let right)): return left.says(right)
        case (.external(let left), .external(let right)):
            guard left.kind == right.kind, left.name.text == right.name.text else { return false }
            switch (left.fallback, right.fallback) {
            case (nil, nil): return true
            case (.some(let left), .some(let right)): return left.says(right)
            default: return false
            }
        case (.sequence(let left), .sequence(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { $0.says($1) }
        case (.mapping(let left), .mapping(let right)):
            guard left.count == right.count else { return false }
            let values = Dictionary(right.map { ($0.key.text, $0.value) }) { first, _ in first }
            return left.allSatisfy { entry in values[entry.key.text].map(entry.value.says) ?? false }
        default: return false
        }
    }

    /// The node with a change merged in.
    func merged(with change: Node) -> Node {
        guard let changes = change.entries, var entries, !change.replaces else { return change.withoutNulls }
        let indices = Dictionary(entries.enumerated().map { ($1.key.text, $0) }) { first, _ in first }
        var removed: Set<Int> = []
        for change in changes {
            switch (indices[change.key.text], change.value.isNull) {
            case (.some(let index), true): removed.insert(index)
            case (.some(let index), false): entries[index].value = entries[index].value.merged(with: change.value)
            case (nil, true): break
            case (nil, false): entries.append(Entry(key: change.key, value: change.value.withoutNulls))
            }
        }
        return Node(.mapping(entries.indices.filter { !removed.contains($0) }.map { entries[$0] }))
    }

    /// The merge patch that changes this node into another; nil if they are equal.
    func change(to other: Node) -> Node? {
        guard let old = entries, let new = other.entries else { return says(other) ? nil : other }
        let before = Dictionary(old.map { ($0.key.text, $0.value) }) { first, _ in first }
        let after = Set(new.map(\.key.text))
        var changes: [Entry] = []
        for entry in new {
            guard let value = before[entry.key.text] else {
                changes.append(entry)
                continue
            }
            if let change = value.change(to: entry.value) {
                changes.append(Entry(key: entry.key, value: change))
            }
        }
        for entry in old where !after.contains(entry.key.text) {
            changes.append(Entry(key: entry.key, value: .null))
        }
        return changes.isEmpty ? nil : Node(.mapping(changes))
    }

    /// The node with another value at the end of a path of keys. Nil as a value removes the key. Returns nil if the key
    /// to be removed is missing.
    func setting(_ value: Node?, at path: ArraySlice<String>) -> Node? {
        guard let key = path.first else { return value }
        let rest = path.dropFirst()
        var entries = entries ?? []
        let index = entries.firstIndex { $0.key.text == key }
        guard value != nil || !rest.isEmpty else {
            guard let index else { return nil }
            entries.remove(at: index)
            return Node(.mapping(entries))
        }
        guard let changed = (index.map { entries[$0].value } ?? Node(.mapping([]))).setting(value, at: rest) else {
            return nil
        }
        if let index {
            entries[index].value = changed
        } else {
            let name = Scalar(text: key, style: .plain, span: Span(start: 0, end: 0))
            entries.append(Entry(key: name, value: changed))
        }
        return Node(.mapping(entries))
    }

    /// Without the entry of this key, if that is an empty mapping.
    func withoutEmpty(_ key: String) -> Node {
        guard let entries else { return self }
        return Node(.mapping(entries.filter { $0.key.text != key || $0.value.entries?.isEmpty != true }))
    }

    private var withoutNulls: Node {
        guard let entries else { return self }
        let kept = entries.filter { !$0.value.isNull }
        return Node(.mapping(kept.map { Entry(key: $0.key, value: $0.value.withoutNulls) }))
    }
}

extension Scalar {
    /// Returns whether two scalars say the same.
    fileprivate func says(_ other: Scalar) -> Bool { text == other.text && isText == other.isText }

    /// A Boolean value that indicates whether it is text rather than a number, a truth value or nothing.
    var isText: Bool { style != .plain || CoreSchema(plain: text) == .text }
}
