import MediatorControl

/// A graph as a picture: SVG 1.1 without script, and without anything from elsewhere.
package enum SVGText {
    private static let letterWidth = 7.25
    private static let smallLetterWidth = 6.05
    private static let lineHeight = 16.0

    /// The picture, with times as a style shows them; nil if the graph is too large for one.
    package static func text(_ graph: PartGraph, _ style: TextStyle = TextStyle()) -> String? {
        let labels = graph.parts.map { part in
            [PlainText.cleaned(part.name)] + (GraphLabel.state(part, style).map { [$0] } ?? [])
        }
        let sizes = zip(graph.parts, labels).map { part, lines in
            let letters = lines.map { Double(TextWidth.columns($0)) }.max() ?? 0
            return GraphLayout.Size(
                width: letters * letterWidth + (part.kind == .bus ? 32 : 22),
                height: Double(lines.count) * lineHeight + 12)
        }
        let links = graph.edges.map { edge in
            let letters = Double(TextWidth.columns(GraphLabel.link(edge)))
            return (
                from: edge.from, to: edge.to, label: GraphLayout.Size(width: letters * smallLetterWidth + 8, height: 16)
            )
        }
        guard let layout = GraphLayout(parts: sizes, links: links) else { return nil }
        let (width, height) = (number(layout.size.width), number(layout.size.height))
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" "
                + "viewBox=\"0 0 \(width) \(height)\" font-family=\"monospace\" font-size=\"12\">",
            "<title>systems, buses and links of mediatord</title>",
            "<defs>" + ["#57606a", "#9a6700", "#b42318"].enumerated().map { marker($0, $1) }.joined() + "</defs>",
            "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
        ]
        for (edge, route) in zip(graph.edges, layout.routes) {
            let tone = edge.isOpen == true ? 2 : edge.isInLoop ? 1 : 0
            let dashes = edge.isOpen == true ? " stroke-dasharray=\"5 4\"" : ""
            lines.append(
                "<path d=\"\(path(route.points))\" fill=\"none\" stroke=\"\(tones[tone])\" stroke-width=\"1.3\""
                    + "\(dashes) marker-end=\"url(#a\(tone))\"/>")
        }
        for (index, route) in layout.routes.enumerated() {
            let edge = graph.edges[index]
            let tone = edge.isOpen == true ? 2 : edge.isInLoop ? 1 : 0
            let size = links[index].label
            lines.append(
                "<g><title>\(escaped(PlainText.cleaned(edge.description)))\(edge.isInLoop ? " (part of a loop)" : "")"
                    + "</title><rect x=\"\(number(route.label.x - size.width / 2))\""
                    + " y=\"\(number(route.label.y - size.height / 2))\" width=\"\(number(size.width))\""
                    + " height=\"\(number(size.height))\" fill=\"#ffffff\"/>"
                    + text(GraphLabel.link(edge), at: route.label, size: 10, fill: tones[tone], more: "") + "</g>")
        }
        for (index, part) in graph.parts.enumerated() {
            lines.append(drawing(part, labels[index], layout.centers[index], sizes[index]))
        }
        return (lines + ["</svg>"]).map { $0 + "\n" }.joined()
    }

    private static let tones = ["#57606a", "#9a6700", "#b42318"]

    private static func marker(_ index: Int, _ color: String) -> String {
        "<marker id=\"a\(index)\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
            + "orient=\"auto\"><path d=\"M0 0.5 L8 4 L0 7.5 z\" fill=\"\(color)\"/></marker>"
    }

    private static func drawing(
        _ part: PartGraph.Part, _ lines: [String], _ center: GraphLayout.Point, _ size: GraphLayout.Size
    ) -> String {
        let colors = GraphLabel.colors(part)
        let radius = part.kind == .bus ? size.height / 2 : 4
        let (x, y) = (center.x - size.width / 2, center.y - size.height / 2)
        let kind = part.kind == .bus ? "bus" : "system"
        let title =
            "\(kind) \(PlainText.cleaned(part.name))"
            + (part.description.map { ": \(PlainText.cleaned($0))" } ?? "")
        var text = "<g><title>\(escaped(title))</title>"
        text += "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(size.width))\""
        text += " height=\"\(number(size.height))\" rx=\"\(number(radius))\" fill=\"\(colors.area)\""
        text += " stroke=\"\(colors.line)\" stroke-width=\"1.5\"/>"
        for (index, line) in lines.enumerated() {
            let offset = (Double(index) - Double(lines.count - 1) / 2) * lineHeight
            let place = GraphLayout.Point(x: center.x, y: center.y + offset)
            text += self.text(
                line, at: place, size: 12, fill: index == 0 ? "#1f2328" : "#424a53",
                more: index == 0 ? " font-weight=\"bold\"" : "")
        }
        return text + "</g>"
    }

    private static func text(
        _ text: String, at point: GraphLayout.Point, size: Int, fill: String, more: String
    ) -> String {
        let baseline = point.y + Double(size) * 0.35
        return "<text x=\"\(number(point.x))\" y=\"\(number(baseline))\" font-size=\"\(size)\" text-anchor=\"middle\""
            + " fill=\"\(fill)\"\(more)>\(escaped(text))</text>"
    }

    /// Through all points: bent between them, and straight where two are on one height.
    private static func path(_ points: [GraphLayout.Point]) -> String {
        guard let first = points.first else { return "" }
        var path = "M\(number(first.x)) \(number(first.y))"
        for (from, to) in zip(points, points.dropFirst()) {
            if from.y == to.y || from.x == to.x {
                path += " L\(number(to.x)) \(number(to.y))"
            } else {
                let middle = number((from.x + to.x) / 2)
                path += " C\(middle) \(number(from.y)) \(middle) \(number(to.y)) \(number(to.x)) \(number(to.y))"
            }
        }
        return path
    }

    /// A number with one decimal, whatever the language of the system.
    private static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        let sign = tenths < 0 ? "-" : ""
        return "\(sign)\(abs(tenths) / 10)" + (tenths % 10 == 0 ? "" : ".\(abs(tenths) % 10)")
    }

    /// Text as XML has it; what XML 1.0 (§ 2.2) has no way to say is replaced.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"": "&quot;"
            case "\t", "\n", "\r": String(scalar)
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": "\u{FFFD}"
            default: String(scalar)
            }
        }.joined()
    }
}
