import CommonExpression

/// The constants of an instance whose values a summary may show.
struct ShownConstants: Sendable {
    private let constants: [Environment.Constant]
    /// The parameters that come from elsewhere, or hold something that does.
    private let concealed: Set<String>

    /// The constants of the compilation context; nil: none have values.
    init?(_ context: CompilationContext) {
        guard !context.constants.isEmpty, !context.isGeneric else { return nil }
        constants = context.constants
        concealed = Set(context.origins.filter { $0.value != .written }.keys)
    }

    /// The text with the values of `${parameters.name}` and `${instance}` in it. Longer expressions and hidden values
    /// stay as written.
    func shown(_ text: String) -> String {
        guard text.contains("${") else { return text }
        var result = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "${") {
            let isEscaped = rest[..<start.lowerBound].last == "$"
            guard !isEscaped, let end = rest[start.upperBound...].firstIndex(of: "}"),
                let value = value(of: rest[start.upperBound..<end]).map(Self.text)
            else {
                result += rest[..<start.upperBound]
                rest = rest[start.upperBound...]
                continue
            }
            result += rest[..<start.lowerBound] + value
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    /// The value of a text that is nothing but `${parameters.name}`, if the value is no text itself: it needs no quotes.
    func bareValue(of text: String) -> String? {
        guard text.hasPrefix("${"), text.firstIndex(of: "}") == text.index(before: text.endIndex),
            let value = value(of: text.dropFirst(2).dropLast())
        else { return nil }
        if case .string = value { return nil }
        return Self.text(of: value)
    }

    /// The value of a constant or of a field of one; nil: it is none, or must not be shown.
    private func value(of expression: Substring) -> Value? {
        var text = expression.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        var path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
        guard let name = path.popFirst(), var value = constants.first(where: { $0.name == name })?.value else {
            return nil
        }
        if name == "parameters", path.first.map(concealed.contains) ?? true { return nil }
        while let name = path.popFirst() {
            guard case .structure(let structure) = value,
                let index = structure.type.fields.firstIndex(where: { $0.name == name })
            else { return nil }
            value = structure.fields[index]
        }
        return value
    }

    private static func text(of value: Value) -> String {
        switch value {
        case .string(let text): text
        case .duration(let span): span.brief
        default: "\(value)"
        }
    }
}

/// Data as one line, for summaries: as written, on one line, cut where it gets long.
struct FlowText {
    private(set) var text = ""
    private var room = ConfigurationLimits.summaryLength
    private let constants: ShownConstants?

    private init(_ constants: ShownConstants?) { self.constants = constants }

    /// A node on one line.
    ///
    /// - Parameter constants: those whose values are shown.
    static func of(_ node: Node, with constants: ShownConstants? = nil) -> String {
        var writer = FlowText(constants)
        writer.write(node)
        return writer.room > 0 ? writer.text : writer.text + "…"
    }

    private mutating func put(_ part: String) {
        guard room > 0 else { return }
        // No text has more characters than bytes.
        guard part.utf8.count > room else {
            text += part
            room -= part.count
            return
        }
        let kept = part.prefix(room)
        text += kept
        room -= kept.count
    }

    private mutating func put(_ scalar: Scalar) {
        if let value = constants?.bareValue(of: scalar.text) { return put(value) }
        var line = constants?.shown(scalar.text) ?? scalar.text
        if !line.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
            line = String(line.prefix(room).map { $0.isNewline ? " " : $0 })
        }
        switch scalar.style {
        case .plain, .list: put(line)
        case .singleQuoted: put("'\(line.prefix(room))'")
        case .doubleQuoted, .literal, .folded: put("\"\(line.prefix(room))\"")
        }
    }

    private mutating func write(_ node: Node) {
        guard room > 0 else { return }
        switch node.content {
        case .scalar(let scalar): put(scalar)
        case .external(let reference): put(reference.text)
        case .sequence(let items):
            put("[")
            for (index, item) in items.enumerated() where room > 0 {
                if index > 0 { put(", ") }
                write(item)
            }
            put("]")
        case .mapping(let entries):
            put(entries.isEmpty ? "{" : "{ ")
            for (index, entry) in entries.enumerated() where room > 0 {
                if index > 0 { put(", ") }
                put(entry.key)
                put(": ")
                write(entry.value)
            }
            put(entries.isEmpty ? "}" : " }")
        }
    }
}
