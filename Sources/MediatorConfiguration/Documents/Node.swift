/// A YAML node with its place: the tree that all later stages read.
struct Node {
    /// What a node is.
    enum Content {
        case scalar(Scalar)
        case sequence([Node])
        case mapping([Entry])
    }

    /// One key with its value.
    struct Entry {
        var key: Scalar
        var value: Node
    }

    /// What it is.
    var content: Content
    /// Where it begins and ends.
    var span: Span

    /// The scalar, if it is one.
    var scalar: Scalar? {
        if case .scalar(let scalar) = content { scalar } else { nil }
    }

    /// Whether it is nothing: an empty plain scalar, `~` or `null`.
    var isNull: Bool { scalar?.isNull ?? false }

    /// What to call it in a message.
    var kind: String {
        switch content {
        case .scalar(let scalar): scalar.isNull ? "nothing" : "a single value"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }

    /// The part to underline: a scalar whole, of a list or mapping the first character.
    var mark: Span {
        if case .scalar = content { span } else { Span(start: span.start, end: span.start + 1) }
    }
}

/// A YAML scalar: its text after unquoting, and how it was written.
struct Scalar {
    /// How a scalar is written.
    enum Style {
        case plain
        case singleQuoted
        case doubleQuoted
        case literal
        case folded
    }

    /// The text, unquoted and unfolded.
    var text: String
    /// How it was written.
    var style: Style
    /// Where it begins and ends, quotes included; from its anchor, if it has one.
    var span: Span

    /// Whether it is nothing: an empty plain scalar, `~` or `null`.
    var isNull: Bool {
        guard style == .plain else { return false }
        return text.isEmpty || text == "~" || text == "null" || text == "Null" || text == "NULL"
    }
}
