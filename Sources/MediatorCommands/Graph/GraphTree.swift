import MediatorControl

/// A graph as a tree of text: what leads where, from what nothing leads to.
///
/// Each part is unfolded once and each link is a line, so that the text is as long as the graph is large.
struct GraphTree: Report {
    /// The depth of a tree; deeper parts begin a tree of their own.
    static let mostDepth = 40

    let graph: PartGraph

    func encode(to encoder: any Encoder) throws { try graph.encode(to: encoder) }

    /// A link that is still to be drawn.
    private struct Step {
        var edge: Int
        var depth: Int
        /// The prefix of the lines below its parent.
        var margin: String
        var isLast: Bool
    }

    func text(_ style: TextStyle) -> String {
        guard !graph.parts.isEmpty else { return "there are no systems and no buses\n" }
        let (outgoing, incoming) = (graph.outgoing, graph.incoming)
        var isDrawn = [Bool](repeating: false, count: graph.parts.count)
        var later: [Int] = []
        var lines: [String] = []

        func draw(_ root: Int) {
            guard !isDrawn[root] else { return }
            isDrawn[root] = true
            lines.append(Self.label(graph.parts[root], style))
            var steps = Self.steps(outgoing[root], depth: 1, margin: "")
            while let step = steps.popLast() {
                let edge = graph.edges[step.edge]
                let branch = step.margin + (step.isLast ? "└─ " : "├─ ")
                var line = style.colored(branch, .dim) + Self.label(edge, style) + " → "
                line += Self.label(graph.parts[edge.to], style)
                if isDrawn[edge.to] {
                    line += style.colored(
                        edge.isInLoop ? "  ↺ a loop" : outgoing[edge.to].isEmpty ? "" : "  ↑ above",
                        edge.isInLoop ? .yellow : .dim)
                } else if step.depth >= Self.mostDepth, !outgoing[edge.to].isEmpty {
                    later.append(edge.to)
                    line += style.colored("  ↓ below", .dim)
                } else {
                    isDrawn[edge.to] = true
                    let margin = step.margin + (step.isLast ? "   " : "│  ")
                    steps += Self.steps(outgoing[edge.to], depth: step.depth + 1, margin: margin)
                }
                lines.append(line)
            }
        }

        for root in graph.parts.indices where incoming[root].isEmpty {
            draw(root)
            while let next = later.popLast() { draw(next) }
        }
        // The remaining parts are in loops, or behind them.
        for root in graph.parts.indices where !isDrawn[root] && !outgoing[root].isEmpty {
            draw(root)
            while let next = later.popLast() { draw(next) }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Links to be drawn, the first one last, as they are taken from the end.
    private static func steps(_ edges: [Int], depth: Int, margin: String) -> [Step] {
        edges.enumerated().map { index, edge in
            Step(edge: edge, depth: depth, margin: margin, isLast: index == edges.count - 1)
        }.reversed()
    }

    private static func label(_ part: PartGraph.Part, _ style: TextStyle) -> String {
        let name = PlainText.cleaned(part.name)
        var text = part.kind == .bus ? "bus " + style.colored(name, .cyan) : style.colored(name, .bold)
        if let state = part.state { text += "  \(StateText.text(state, style))" }
        if let value = part.value { text += "  \(style.value(value))" }
        if let health = part.health, health != .healthy {
            text += "  " + style.colored(health.rawValue, TextStyle.color(health))
        }
        if let dropped = part.dropped, dropped > 0 { text += "  " + style.colored("\(dropped) dropped", .yellow) }
        return text
    }

    private static func label(_ edge: PartGraph.Edge, _ style: TextStyle) -> String {
        var text = PlainText.cleaned(edge.name)
        if let fired = edge.fired { text += style.colored(" ×\(fired)", .dim) }
        if edge.isOpen == true { text += style.colored(" held back", .red) }
        return text
    }
}

extension PartGraph: CustomStringConvertible {
    /// The graph as a tree without colours.
    package var description: String { GraphTree(graph: self).text(TextStyle()) }
}
