import MediatorConfiguration
import StrictJSON
import Varlink

/// The answer of `cat-config`: the documents, each value with the place it comes from.
struct ConfigurationReport: Report {
    var documents: [MergedConfiguration.Document]
    /// The comments.
    var remarks: [String] = []
    /// The problem, for programs.
    var diagnostics: [Diagnostic] = []

    /// For people, and still YAML with the same meaning: the places are comments.
    func text(_ style: TextStyle) -> String {
        remarks.map { style.colored("# \(PlainText.cleaned($0))\n", .dim) }.joined()
            + documents.map { document in
                var writer = YAMLWriter()
                writer.write(document.root)
                let header = ([document.file] + document.dropIns).map { "# \(PlainText.cleaned($0))\n" }
                return header.map { style.colored($0, .dim) }.joined() + writer.text(style)
            }.joined(separator: "---\n")
    }

    func encode(to encoder: any Encoder) throws {
        let documents = documents.map { document in
            JSONValue.object([
                "file": .string(document.file), "dropIns": .array(document.dropIns.map { .string($0) }),
                "system": document.system.map { .string($0) } ?? .null, "root": Self.json(document.root),
            ])
        }
        try JSONValue.object([
            "documents": .array(documents), "remarks": .array(remarks.map { .string($0) }),
            "diagnostics": .array(diagnostics.map(Check.json)),
        ]).encode(to: encoder)
    }

    /// A node as an object: its origin, and its value, elements, members or reference.
    private static func json(_ node: MergedNode) -> JSONValue {
        var object: JSONObject = [
            "file": .string(node.source.file), "line": .int(Int64(node.source.line)),
            "column": .int(Int64(node.source.column)),
        ]
        switch node.content {
        case .plain(let text): object["value"] = value(CoreSchema(plain: text), text)
        case .text(let text): object["value"] = .string(text)
        case .external(let kind, let name, let fallback):
            object[kind.rawValue] = .string(name)
            if let fallback { object["default"] = .string(fallback) }
        case .list(let items): object["list"] = .array(items.map(json))
        case .mapping(let entries):
            object["keys"] = .array(entries.map { .string($0.key) })
            object["map"] = .object(
                Dictionary(entries.map { ($0.key, json($0.value)) }, uniquingKeysWith: { first, _ in first }))
        }
        return .object(object)
    }

    private static func value(_ resolved: CoreSchema, _ text: String) -> JSONValue {
        switch resolved {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(false, let magnitude): Int64(exactly: magnitude).map { .int($0) } ?? .string(text)
        case .int(true, let magnitude): Int64(exactly: magnitude).map { .int(-$0) } ?? .string(text)
        case .float(let value) where value.isFinite: .double(value)
        case .float, .hugeInt, .hugeFloat, .text: .string(text)
        }
    }
}

/// Writes nodes as YAML, a line for each value with the place it comes from.
struct YAMLWriter {
    /// A line, and the comment behind it.
    private var lines: [(text: String, place: SourceLocation?)] = []
    /// The column beyond which comments are not moved.
    private static let widest = 60

    /// The lines, with comments below each other.
    func text(_ style: TextStyle) -> String {
        let widths = lines.filter { $0.place != nil }.map(\.text.count)
        let column = min(widths.max() ?? 0, Self.widest)
        return lines.map { line in
            guard let place = line.place else { return line.text + "\n" }
            let gap = String(repeating: " ", count: max(0, column - line.text.count))
            let comment = "# \(PlainText.cleaned(place.file)):\(place.line)"
            return "\(line.text)\(gap)  \(style.colored(comment, .dim))\n"
        }.joined()
    }

    /// Writes a document.
    mutating func write(_ root: MergedNode) { write(root, after: "", indentation: 0, isInList: false) }

    /// Writes a node behind a key or a dash.
    private mutating func write(_ node: MergedNode, after lead: String, indentation: Int, isInList: Bool) {
        let isDocument = lead.isEmpty
        if !isDocument || !Self.isBlock(node), Self.isOnOneLine(node) {
            lines.append((lead + (lead.isEmpty ? "" : " ") + Self.flow(node, isFlow: false), node.source))
            return
        }
        let margin = String(repeating: " ", count: indentation)
        switch node.content {
        case .mapping(let entries):
            // The first key of a mapping in a list stands behind its dash.
            var first = isInList ? lead + " " : nil
            if !isInList, !isDocument { lines.append((lead, nil)) }
            for entry in entries {
                let name = entry.isList ? entry.key : Self.scalar(entry.key, isFlow: false)
                let key = "\(first ?? margin)\(name):"
                first = nil
                write(entry.value, after: key, indentation: indentation + 2, isInList: false)
            }
        case .list(let items):
            if !isDocument { lines.append((lead, nil)) }
            for item in items {
                write(item, after: "\(margin)-", indentation: indentation + 2, isInList: true)
            }
        default: break
        }
    }

    /// Whether a node has parts.
    private static func isBlock(_ node: MergedNode) -> Bool {
        switch node.content {
        case .mapping(let entries): !entries.isEmpty
        case .list(let items): !items.isEmpty
        default: false
        }
    }

    /// Whether all of a node was written on one line.
    private static func isOnOneLine(_ node: MergedNode) -> Bool {
        func isThere(_ part: MergedNode) -> Bool {
            guard part.source.file == node.source.file, part.source.line == node.source.line else { return false }
            switch part.content {
            case .mapping(let entries): return entries.allSatisfy { isThere($0.value) }
            case .list(let items): return items.allSatisfy(isThere)
            default: return true
            }
        }
        return isThere(node)
    }

    /// A node on one line.
    private static func flow(_ node: MergedNode, isFlow: Bool) -> String {
        switch node.content {
        case .plain(let text): return plain(text, isFlow: isFlow)
        case .text(let text): return LinkText.quoted(text)
        case .external(let kind, let name, let fallback):
            guard let fallback else { return "!\(kind.rawValue) \(scalar(name, isFlow: isFlow))" }
            return
                "!\(kind.rawValue) { name: \(scalar(name, isFlow: true)), default: \(plain(fallback, isFlow: true)) }"
        case .list(let items): return "[\(items.map { flow($0, isFlow: true) }.joined(separator: ", "))]"
        case .mapping(let entries):
            if entries.isEmpty { return "{}" }
            let parts = entries.map {
                "\($0.isList ? $0.key : scalar($0.key, isFlow: true)): \(flow($0.value, isFlow: true))"
            }
            return "{ \(parts.joined(separator: ", ")) }"
        }
    }

    /// A plain scalar as it is, unless it only can be one where it was written.
    private static func plain(_ text: String, isFlow: Bool) -> String {
        if text.isEmpty { return "null" }
        let isBroken = text.unicodeScalars.contains {
            $0.value < 0x20 || (isFlow && ",[]{}".unicodeScalars.contains($0))
        }
        return isBroken || text != PlainText.cleaned(text) ? LinkText.quoted(text) : text
    }

    /// A key or name: plain if it is a simple one.
    private static func scalar(_ text: String, isFlow: Bool) -> String {
        let isSimple =
            !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "@"):
                    true
                case UInt8(ascii: "-"), UInt8(ascii: "*"): true
                default: false
                }
            }
            && !text.hasPrefix("-") && !text.hasPrefix("@") && !text.hasPrefix("*")
        return isSimple ? text : LinkText.quoted(text)
    }
}
