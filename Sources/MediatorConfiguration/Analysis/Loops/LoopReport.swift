/// Reports loops, each at its first link by name.
struct LoopReport {
    /// The number of links that a message names. Four times as many hops are listed.
    private static let mostNames = 16

    private let whole: AnalysedConfiguration
    private let graph: FiringGraph
    private let diagnostics: DiagnosticsCollector

    /// A report on the firings of a graph.
    init(_ whole: AnalysedConfiguration, _ graph: FiringGraph, _ diagnostics: DiagnosticsCollector) {
        self.whole = whole
        self.graph = graph
        self.diagnostics = diagnostics
    }

    /// Reports a circle of firings.
    ///
    /// - Parameter isCertain: Whether one event can go round without end, as far as the conditions are known.
    /// - Returns: The links of the circle.
    func tell(_ circle: [Int], isCertain: Bool) -> Set<Int> {
        let links = circle.compactMap { graph.firings[$0].link }
        guard let first = links.min() else { return [] }
        let start = circle.firstIndex { graph.firings[$0].link == first } ?? 0
        let circle = circle[start...] + circle[..<start]
        let written = whole.links[first].written
        let verb = isCertain ? "can" : "may"
        let hint = isCertain ? "say on one link how often it may fire" : "limit one link, even if the events run out"
        diagnostics.report(
            .loop, in: written.source, at: written.name.span,
            "\(names(circle, verb)) off without end",
            hint: "break the circle, or \(hint): loop: { limit: 10 per 1s }",
            notes: circle.prefix(Self.mostNames * 4).map {
                Diagnostic.Note(location: graph.firings[$0].source, message: graph.label(of: $0))
            })
        return Set(links)
    }

    private func names(_ circle: ArraySlice<Int>, _ verb: String) -> String {
        var names: [String] = []
        for firing in circle {
            guard let link = graph.firings[firing].link else { continue }
            let name = "'\(whole.links[link].definition.name)'"
            if !names.contains(name) { names.append(name) }
        }
        guard names.count > 1 else { return "the link \(names[0]) \(verb) set itself" }
        if names.count > Self.mostNames {
            names[Self.mostNames...] = ["\(names.count - Self.mostNames) more"]
        }
        return
            "the links \(names.dropLast().joined(separator: ", ")) and \(names[names.count - 1]) \(verb) set each other"
    }
}
