import CommonExpression

/// Reads types: `int`, `list(string)`, `map(string, double)`.
struct TypeReader {
    /// The file being read.
    let source: SourceText
    /// The diagnostics collector.
    let diagnostics: DiagnosticsCollector

    private static let simple: [(name: String, type: ValueType)] = [
        ("bool", .bool), ("int", .int), ("uint", .uint), ("double", .double), ("string", .string),
        ("timestamp", .timestamp), ("duration", .duration),
    ]
    private static let elsewhere = [
        "boolean": "bool", "integer": "int", "long": "int", "int64": "int", "number": "double", "float": "double",
        "real": "double", "text": "string", "str": "string", "time": "timestamp", "date": "timestamp",
        "datetime": "timestamp", "interval": "duration", "timespan": "duration", "array": "list(string)",
        "list": "list(string)", "map": "map(string, string)", "dictionary": "map(string, string)",
    ]

    /// Fields with their types, `dyn` where the type is a mistake.
    func fields(_ written: [WrittenRecord.Field]) -> [StructureType.Field] {
        written.map {
            StructureType.Field(name: $0.name.text, type: type($0.type, "the field '\($0.name.text)'") ?? .dyn)
        }
    }

    /// The type that a node names; nil after reporting.
    func type(_ node: Node, _ what: @autoclosure () -> String) -> ValueType? {
        guard let scalar = node.scalar, !scalar.isNull else {
            diagnostics.report(
                .wrongShape, in: source, at: node.isNull ? node.span : node.mark,
                "\(what()) needs a type, not \(node.kind)", hint: "types are \(Self.list)")
            return nil
        }
        for (name, type) in Self.simple where scalar.text == name { return type }
        if let type = Self.parse(scalar.text[...], depth: 1) { return type }
        let text = scalar.text
        var hint: String?
        if let meant = Self.elsewhere[text.lowercased()] {
            hint = "did you mean '\(meant)'?"
        } else if let near = nearestName(to: text, among: Self.simple.map(\.name)) {
            hint = "did you mean '\(near)'?"
        }
        diagnostics.report(
            .unknownType, in: source, at: scalar.span, "there is no type '\(text.prefix(80))'",
            hint: hint ?? "types are \(Self.list)")
        return nil
    }

    /// Returns whether a node is a type.
    static func isType(_ node: Node) -> Bool {
        node.scalar.map { !$0.isNull && parse($0.text[...], depth: 1) != nil } ?? false
    }

    /// Returns whether a node is a type, or one misspelt or as others call it.
    static func resemblesType(_ node: Node) -> Bool {
        guard let scalar = node.scalar, !scalar.isNull else { return false }
        return parse(scalar.text[...], depth: 1) != nil || elsewhere[scalar.text.lowercased()] != nil
            || nearestName(to: scalar.text, among: simple.map(\.name)) != nil
    }

    private static let list = simple.map(\.name).joined(separator: ", ") + ", list(…), map(string, …)"

    /// Reads a type's text; nil if it is none, or lies too deep.
    private static func parse(_ text: Substring, depth: Int) -> ValueType? {
        guard depth <= ConfigurationLimits.typeNesting else { return nil }
        let text = trimmed(text)
        for (name, type) in simple where text == name { return type }
        if let inner = argument(of: "list", in: text) {
            return parse(inner, depth: depth + 1).map { .list($0) }
        }
        if let inner = argument(of: "map", in: text) {
            guard let comma = inner.firstIndex(of: ","), trimmed(inner[..<comma]) == "string" else { return nil }
            return parse(inner[inner.index(after: comma)...], depth: depth + 1).map { .map(key: .string, value: $0) }
        }
        return nil
    }

    private static func argument(of name: String, in text: Substring) -> Substring? {
        guard text.hasPrefix(name), text.hasSuffix(")") else { return nil }
        let rest = trimmed(text.dropFirst(name.count))
        guard rest.first == "(" else { return nil }
        return rest.dropFirst().dropLast()
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first == " " || first == "\n" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\n" { text.removeLast() }
        return text
    }
}
