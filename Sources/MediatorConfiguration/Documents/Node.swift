/// A YAML node with its place: the tree that all later stages read.
struct Node: Sendable {
    /// The contents of a node.
    enum Content: Sendable {
        case scalar(Scalar)
        /// A value that is named here and found elsewhere; apart, since it is rare and larger than all others.
        indirect case external(ExternalReference)
        case sequence([Node])
        case mapping([Entry])
    }

    /// One key with its value.
    struct Entry: Sendable {
        var key: Scalar
        var value: Node

        /// Returns whether its value is a mapping with one of some keys.
        func hasOne(of keys: [String]) -> Bool {
            value.entriesIfAny?.contains { keys.contains($0.key.text) } ?? false
        }
    }

    /// The contents.
    var content: Content
    /// The range of the node in its file.
    var span: Span
    /// A Boolean value that indicates whether it is a mapping marked `!replace`: in a drop-in it takes the place of one
    /// instead of adding to it.
    var replaces = false

    /// The scalar, if it is one.
    var scalar: Scalar? {
        if case .scalar(let scalar) = content { scalar } else { nil }
    }

    /// The same node, in a text that holds its own from an offset on.
    func moved(by offset: Int) -> Node {
        func moved(_ span: Span) -> Span { Span(start: span.start + offset, end: span.end + offset) }
        func moved(_ scalar: Scalar) -> Scalar {
            Scalar(text: scalar.text, style: scalar.style, span: moved(scalar.span))
        }
        // Nodes lie at most as deep in each other as a document allows.
        let content: Content =
            switch content {
            case .scalar(let scalar): .scalar(moved(scalar))
            case .external(let reference):
                .external(
                    ExternalReference(
                        kind: reference.kind, name: moved(reference.name), fallback: reference.fallback.map(moved),
                        isBroken: reference.isBroken))
            case .sequence(let items): .sequence(items.map { $0.moved(by: offset) })
            case .mapping(let entries):
                .mapping(entries.map { Entry(key: moved($0.key), value: $0.value.moved(by: offset)) })
            }
        return Node(content: content, span: moved(span), replaces: replaces)
    }

    /// A Boolean value that indicates whether it is nothing: an empty plain scalar, `~` or `null`.
    var isNull: Bool { scalar?.isNull ?? false }

    /// The number of keys and values in it, with itself.
    var size: Int {
        switch content {
        case .scalar, .external: 1
        case .sequence(let items): items.reduce(1) { $0 + $1.size }
        case .mapping(let entries): entries.size + 1
        }
    }

    /// A Boolean value that indicates whether it is a mapping.
    var isMapping: Bool {
        if case .mapping = content { true } else { false }
    }

    /// The entries of a mapping; none of nothing; nil: it is something else.
    var entriesIfAny: [Entry]? {
        if case .mapping(let entries) = content { return entries }
        return isNull ? [] : nil
    }

    /// The name of its sort in messages.
    var kind: String {
        switch content {
        case .scalar(let scalar): scalar.isNull ? "nothing" : "a single value"
        case .external(let reference): "'\(reference.text)'"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }

    /// The part to underline: a scalar whole, of a list or mapping the first character.
    var mark: Span {
        switch content {
        case .scalar, .external: span
        case .sequence, .mapping: Span(start: span.start, end: span.start + 1)
        }
    }
}

extension [Node.Entry] {
    /// The number of keys and values in them.
    var size: Int { reduce(0) { $0 + 1 + $1.value.size } }
}

/// A YAML scalar: its text after unquoting, and how it was written.
struct Scalar: Sendable {
    /// The style of a scalar.
    enum Style: Sendable {
        case plain
        case singleQuoted
        case doubleQuoted
        case literal
        case folded
        /// A list of names in brackets that stands where a key does.
        case list
    }

    /// The text, unquoted and unfolded.
    var text: String
    /// The style.
    var style: Style
    /// The range in the file, quotes included; it begins at the anchor, if any.
    var span: Span

    /// The names of a list that stands where a key does; none of another scalar.
    var listed: [Scalar] {
        guard style == .list else { return [] }
        return text.dropFirst().dropLast().split(separator: ", ").map {
            Scalar(text: String($0), style: .plain, span: span)
        }
    }

    /// A Boolean value that indicates whether it is nothing: an empty plain scalar, `~` or `null`.
    var isNull: Bool {
        guard style == .plain else { return false }
        return text.isEmpty || text == "~" || text == "null" || text == "Null" || text == "NULL"
    }
}
