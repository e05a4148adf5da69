/// Links as the text of a file.
package enum LinkText {
    /// A document with links: a line for each key of each. What removes a link is `null`.
    static func document(_ links: [(name: String, node: Node)]) -> String {
        guard !links.isEmpty else { return "links: {}\n" }
        return "links:\n"
            + links.map { link in
                let name = "  \(key(link.name)):"
                guard let entries = link.node.entries, !entries.isEmpty else {
                    return "\(name) \(mark(link.node))\(flow(link.node))\n"
                }
                let mark = link.node.replaces ? " !replace" : ""
                return "\(name)\(mark)\n" + entries.map { "    \(key($0.key.text)): \(flow($0.value))\n" }.joined()
            }.joined()
    }

    private static func mark(_ node: Node) -> String { node.replaces ? "!replace " : "" }

    /// A node on one line.
    static func flow(_ node: Node) -> String {
        switch node.content {
        case .scalar(let scalar): return self.scalar(scalar)
        case .external(let reference):
            guard let fallback = reference.fallback else {
                return "!\(reference.kind.rawValue) \(scalar(reference.name))"
            }
            let name = scalar(reference.name)
            return "!\(reference.kind.rawValue) { name: \(name), default: \(scalar(fallback)) }"
        case .sequence(let items): return "[\(items.map(flow).joined(separator: ", "))]"
        case .mapping(let entries):
            guard !entries.isEmpty else { return "\(mark(node)){}" }
            let parts = entries.map { "\(key($0.key.text)): \(flow($0.value))" }
            return "\(mark(node)){ \(parts.joined(separator: ", ")) }"
        }
    }

    private static func scalar(_ scalar: Scalar) -> String {
        // The text of a number, a truth value or nothing has no special characters.
        guard scalar.isText else { return scalar.text.isEmpty ? "null" : scalar.text }
        return text(scalar.text)
    }

    private static func key(_ name: String) -> String { name.contains(" ") ? quoted(name) : text(name) }

    /// A text, plain if it cannot be mistaken for another value.
    private static func text(_ text: String) -> String {
        let isPlain =
            text.utf8.allSatisfy { Names.isLetterOrDigit($0) || plainMarks.contains($0) }
            && text.utf8.first.map { Names.isLetterOrDigit($0) } ?? false
            && text.last != " " && CoreSchema(plain: text) == .text
        return isPlain ? text : quoted(text)
    }

    private static let plainMarks = Set("_.-/<>=&|!()+*\"' ".utf8)

    /// A text in double quotes (YAML 1.2.2 § 7.3.1).
    package static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            default:
                let isControl = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
                if isControl || scalar.steersText || scalar.value == 0xFEFF || scalar.value & 0xFFFE == 0xFFFE {
                    let digits = String(scalar.value, radix: 16)
                    result += "\\U" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }
}
