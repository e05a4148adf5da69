/// Data as one line, for summaries: as written, on one line, cut where it gets long.
struct FlowText {
    private(set) var text = ""
    private var room = ConfigurationLimits.summaryLength

    /// A node on one line.
    static func of(_ node: Node) -> String {
        var writer = FlowText()
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
        var line = scalar.text
        if !line.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
            line = String(line.prefix(room).map { $0.isNewline ? " " : $0 })
        }
        switch scalar.style {
        case .plain: put(line)
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
