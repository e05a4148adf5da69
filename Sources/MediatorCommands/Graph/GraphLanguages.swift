import MediatorControl
import Varlink

/// The text of a part or a link in a drawing.
enum GraphLabel {
    /// The limit on letters of a state or value.
    static let longest = 32

    /// The state of a system or the value of a bus, in few letters.
    static func state(_ part: PartGraph.Part, _ style: TextStyle) -> String? {
        let text = part.state.map { StateText.text($0, style) } ?? part.value.map(style.value)
        return text.map { $0.count > longest ? $0.prefix(longest - 1) + "…" : $0 }
    }

    /// The name of a link, and how often it has fired.
    static func link(_ edge: PartGraph.Edge) -> String {
        PlainText.cleaned(edge.name) + (edge.fired.map { " ×\($0)" } ?? "") + (edge.isOpen == true ? " held back" : "")
    }

    /// The colours of a part: of its line and of its area.
    static func colors(_ part: PartGraph.Part) -> (line: String, area: String) {
        switch part.health {
        case .failed: ("#b42318", "#fde8e6")
        case .starting, .degraded: ("#9a6700", "#fff3d6")
        case .stopped: ("#8a8f98", "#eceef1")
        case .healthy: ("#1a7f37", "#e5f5e9")
        case nil: part.kind == .bus ? ("#3b6ea8", "#e9f1fb") : ("#4a4f57", "#ffffff")
        }
    }
}

/// A graph in the language of Graphviz (graphviz.org, "The DOT Language").
package enum DotText {
    /// The graph, with times as a style shows them.
    package static func text(_ graph: PartGraph, _ style: TextStyle = TextStyle()) -> String {
        var lines = [
            "digraph mediatord {", "  rankdir=LR;", "  node [fontname=\"sans-serif\", style=filled];",
            "  edge [fontname=\"sans-serif\", fontsize=10];",
        ]
        for (index, part) in graph.parts.enumerated() {
            let colors = GraphLabel.colors(part)
            let label = [PlainText.cleaned(part.name)] + (GraphLabel.state(part, style).map { [$0] } ?? [])
            let shape = part.kind == .bus ? "cds" : "box"
            var line = "  p\(index) [label=\(quoted(label)), shape=\(shape)"
            line += ", color=\"\(colors.line)\", fillcolor=\"\(colors.area)\""
            if let description = part.description { line += ", tooltip=\(quoted([PlainText.cleaned(description)]))" }
            lines.append(line + "];")
        }
        for edge in graph.edges {
            var line = "  p\(edge.from) -> p\(edge.to) [label=\(quoted([GraphLabel.link(edge)]))"
            line += ", tooltip=\(quoted([PlainText.cleaned(edge.description)]))"
            if edge.isOpen == true {
                line += ", color=\"#b42318\", style=dashed"
            } else if edge.isInLoop {
                line += ", color=\"#9a6700\""
            }
            lines.append(line + "];")
        }
        return (lines + ["}"]).map { $0 + "\n" }.joined()
    }

    /// A quoted text; its lines are centred. Within quotes only a quotation mark is special, and, in labels, a backslash.
    private static func quoted(_ lines: [String]) -> String {
        let escaped = lines.map { line in
            line.unicodeScalars.map { $0 == "\"" ? "\\\"" : $0 == "\\" ? "\\\\" : String($0) }.joined()
        }
        return "\"\(escaped.joined(separator: "\\n"))\""
    }
}

/// A graph in the language of Mermaid (mermaid.js.org, "Flowcharts").
package enum MermaidText {
    /// The graph, with times as a style shows them.
    package static func text(_ graph: PartGraph, _ style: TextStyle = TextStyle()) -> String {
        var lines = ["flowchart LR"]
        for (index, part) in graph.parts.enumerated() {
            let label = [escaped(part.name)] + (GraphLabel.state(part, style).map { [escaped($0)] } ?? [])
            let text = "\"\(label.joined(separator: "<br>"))\""
            lines.append("  p\(index)" + (part.kind == .bus ? "([\(text)])" : "[\(text)]"))
        }
        for edge in graph.edges {
            let arrow = edge.isOpen == true ? "-.->" : "-->"
            lines.append("  p\(edge.from) \(arrow)|\"\(escaped(GraphLabel.link(edge)))\"| p\(edge.to)")
        }
        let loops = graph.edges.indices.filter { graph.edges[$0].isInLoop }
        if !loops.isEmpty {
            lines.append("  linkStyle \(loops.map(String.init).joined(separator: ",")) stroke:#9a6700")
        }
        for (index, part) in graph.parts.enumerated() where part.health != nil || part.kind == .bus {
            let colors = GraphLabel.colors(part)
            lines.append("  style p\(index) fill:\(colors.area),stroke:\(colors.line),color:#1f2328")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Text between quotation marks: what means something to Mermaid or to HTML is written by its number.
    private static func escaped(_ text: String) -> String {
        PlainText.cleaned(text).unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "#", "<", ">", "&", "`", ";", "\\", "*", "_", "[", "]", "(", ")", "{", "}", "|":
                "#\(scalar.value);"
            default: String(scalar)
            }
        }.joined()
    }
}
