/// Finds links that can make each other fire without end.
///
/// A loop is a chain of causes that can continue for ever without anything from outside, and in which links fire again and
/// again. Outside are clients, the clock, commands, and the actions of a system written in Swift. A link with a limit breaks
/// its loops. The search has three steps:
///
/// 1. Select the systems that links join in a circle, and the systems that drive them.
/// 2. Build their ``FiringGraph`` and keep its ``FiringCycles``: the circles whose transitions can be repeated.
/// 3. Report every circle that is left. ``LoopSearch`` finds the hops of circles that one event keeps going.
///
/// The first two steps leave out only circles that end, so the search misses no loop. It may report a circle that ends: a
/// condition may depend on data, or the circle may lose events until none is left. Such a circle needs a limit, too.
struct LoopFinder {
    /// The number of moves after which the search for hops gives up.
    private static let longestSearch = 200_000
    /// The number of times that the search starts again without the links that it has reported.
    private static let rounds = 8

    private let whole: AnalysedConfiguration
    private let joints: Joints
    private let diagnostics: DiagnosticsCollector

    /// A search of the whole configuration.
    init(_ whole: AnalysedConfiguration, _ joints: Joints, _ diagnostics: DiagnosticsCollector) {
        self.whole = whole
        self.joints = joints
        self.diagnostics = diagnostics
    }

    /// Systems that may keep each other going. No link joins them to another group.
    private struct Group {
        /// Their indices, in order.
        var systems: [Int]
        /// The systems among them that links join in a circle.
        var circles: Set<Int>
    }

    /// Reports loops in which no link has a limit.
    ///
    /// - Returns: The names of the links that have a limit and are part of a circle. A circle that waits for the clock or for a
    ///   command counts, too.
    func reportLoops() -> Set<String> {
        let edges = edges()
        let count = whole.systems.count
        let circles = Set(cyclicComponents(edges).joined().lazy.filter { $0 < count })
        guard !circles.isEmpty else { return [] }
        return groups(circles.union(drivers(of: circles, edges)), circles).reduce(into: []) {
            $0.formUnion(reportLoops(in: $1))
        }
    }

    private func reportLoops(in group: Group) -> Set<String> {
        let links = group.systems.flatMap { joints.attached[$0] }.sorted()
        guard let graph = FiringGraph(Set(group.systems), links, of: whole, moves: moves(of: group.systems)) else {
            reportTooLarge(links, group)
            return []
        }
        let limited = Set(links.filter { whole.links[$0].definition.loop != nil })
        var cut = limited
        for _ in 0..<Self.rounds {
            let named = report(FiringCycles(of: graph, in: whole, without: cut), of: graph)
            if named.isEmpty { break }
            cut.formUnion(named)
        }
        return limited.isEmpty ? [] : inCircles(limited, graph, group.circles)
    }

    /// By system, the transitions of instances of kinds, as far as the kinds tell them.
    private func moves(of systems: [Int]) -> [Int: KindMoves] {
        systems.reduce(into: [:]) { moves, system in
            guard let instance = whole.systems[system].definition?.kind else { return }
            moves[system] = whole.systems[system].scope.kind?.inspection.moves(instance)
        }
    }

    private func reportTooLarge(_ links: [Int], _ group: Group) {
        guard let link = links.first(where: { group.circles.contains(whole.links[$0].definition.system) }) else {
            return
        }
        let written = whole.links[link].written
        diagnostics.report(
            .tooLarge, in: written.source, at: written.name.span,
            "too many states are linked to each other to be searched for loops",
            hint: "make several systems of those with many states")
    }

    /// The names of the links among some that are part of a circle.
    private func inCircles(_ limited: Set<Int>, _ graph: FiringGraph, _ circles: Set<Int>) -> Set<String> {
        func links(_ firings: some Sequence<Int>, of graph: FiringGraph) -> Set<Int> {
            limited.intersection(firings.compactMap { graph.firings[$0].link })
        }
        var found = links(FiringCycles(of: graph, in: whole, without: []).groups.joined(), of: graph)
        let attached = circles.flatMap { joints.attached[$0] }.sorted()
        if found.count < limited.count, let graph = FiringGraph(circles, attached, of: whole, waits: true) {
            found.formUnion(links(cyclicComponents(graph.steps.map { $0.flatMap(\.next) }).joined(), of: graph))
        }
        return Set(found.map { whole.links[$0].definition.name })
    }

    // Selection of systems

    /// The nodes to which links lead: by system, then by bus.
    private func edges() -> [[Int]] {
        let count = whole.systems.count
        var edges = Array(repeating: [Int](), count: count + whole.buses.count)
        for link in whole.links {
            let system = link.definition.system
            switch link.definition.form {
            case .systemToBus(let bus, _, _): edges[system].append(count + bus)
            case .busToSystem(let bus, _, _): edges[count + bus].append(system)
            case .systemToSystem(let target, _, _): edges[system].append(target)
            }
        }
        return edges
    }

    /// Systems that keep themselves going, and the systems between them and the circles: they may bring the systems of a
    /// circle back to an earlier state.
    private func drivers(of circles: Set<Int>, _ edges: [[Int]]) -> Set<Int> {
        let restless = Set(whole.systems.indices.filter { whole.systems[$0].isRestless }).subtracting(circles)
        guard !restless.isEmpty else { return [] }
        var back = Array(repeating: [Int](), count: edges.count)
        for (node, targets) in edges.enumerated() { for target in targets { back[target].append(node) } }
        return reachedNodes(from: restless, edges).intersection(reachedNodes(from: circles, back))
            .filter { $0 < whole.systems.count }.subtracting(circles)
    }

    /// The systems in groups that no link joins.
    private func groups(_ systems: Set<Int>, _ circles: Set<Int>) -> [Group] {
        let count = whole.systems.count
        var sets = DisjointSets(count + whole.buses.count)
        for system in systems {
            for link in joints.attached[system] {
                switch whole.links[link].definition.form {
                case .systemToBus(let bus, _, _), .busToSystem(let bus, _, _): sets.join(system, count + bus)
                case .systemToSystem(let target, _, _): if systems.contains(target) { sets.join(system, target) }
                }
            }
        }
        var groups: [Int: [Int]] = [:]
        for system in systems.sorted() { groups[sets.root(of: system), default: []].append(system) }
        return groups.values.sorted { $0[0] < $1[0] }.map { systems in
            Group(systems: systems, circles: circles.intersection(systems))
        }
    }

    // Reports

    /// Reports circles, as a rule so many that every link in a circle is named.
    ///
    /// - Returns: The links that were named.
    private func report(_ cycles: FiringCycles, of graph: FiringGraph) -> Set<Int> {
        let report = LoopReport(whole, graph, diagnostics)
        var named: Set<Int> = []
        var moved: Set<Int> = []
        var uncertain: [[Int]] = []
        for group in cycles.groups where group.contains(where: { graph.firings[$0].link != nil }) {
            let found = reportHops(in: group, cycles, graph, report)
            named.formUnion(found)
            if found.isEmpty { uncertain.append(group) } else { moved.formUnion(cycles.systems(in: group)) }
        }
        // Circles that move the same system may need each other. So report one of them, and look again without its links.
        for group in uncertain where moved.isDisjoint(with: cycles.systems(in: group)) {
            guard let circle = cycles.shortestCircle(in: group, of: graph) else { continue }
            named.formUnion(report.tell(circle, isCertain: false))
            moved.formUnion(cycles.systems(in: group))
        }
        return named
    }

    /// Reports the loops that one event keeps going.
    private func reportHops(
        in group: [Int], _ cycles: FiringCycles, _ graph: FiringGraph, _ report: LoopReport
    ) -> Set<Int> {
        var named: Set<Int> = []
        var search = LoopSearch(
            cycles.steps, within: Set(group), budget: Self.longestSearch,
            counts: { $0.contains { graph.firings[$0].link != nil } })
        for start in group {
            guard let link = graph.firings[start].link, !named.contains(link) else { continue }
            switch search.search(from: start) {
            case .none: continue
            case .undecided: return named
            case .loop(let fired):
                // A system that goes round in several states may need several rounds: one is enough.
                let end = fired.dropFirst().firstIndex(of: fired[0]) ?? fired.count
                let circle = Array(fired[..<end])
                if named.isSuperset(of: circle.compactMap { graph.firings[$0].link }) { continue }
                named.formUnion(report.tell(circle, isCertain: true))
            }
        }
        return named
    }
}
