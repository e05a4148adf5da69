/// The circles of a ``FiringGraph`` whose transitions can be repeated.
///
/// A system cannot take a transition again without coming back to where the transition began. So a transition counts only if
/// the events of the circles lead back there. Leaving out a transition may break a circle, which may take the way back from
/// another transition. The search repeats this until nothing changes.
struct FiringCycles {
    typealias Step = LoopSearch.Step

    /// The components of firings that are circles.
    private(set) var groups: [[Int]] = []
    /// By firing, the steps that can be repeated.
    private(set) var steps: [[Step]]

    /// Finds the circles of a graph.
    ///
    /// - Parameter cut: Links that are left out.
    init(of graph: FiringGraph, in whole: AnalysedConfiguration, without cut: Set<Int>) {
        func isCut(_ firing: Int) -> Bool { graph.firings[firing].link.map(cut.contains) ?? false }
        steps = graph.steps.enumerated().map { firing, steps in
            isCut(firing) ? [] : steps.map { Self.without($0, isCut) }
        }
        var hasChanged = true
        while hasChanged {
            let edges = steps.map { $0.flatMap(\.next) }
            groups = cyclicComponents(edges)
            hasChanged =
                groups.isEmpty ? false : removeSteps(reachedNodes(from: groups.joined(), edges), of: graph, whole)
        }
    }

    /// Removes the effects of transitions that have no way back.
    ///
    /// - Parameter lively: The firings that happen again and again: those of the circles, and those that the circles cause.
    /// - Returns: A Boolean value that indicates whether a transition was removed.
    private mutating func removeSteps(
        _ lively: Set<Int>, of graph: FiringGraph, _ whole: AnalysedConfiguration
    ) -> Bool {
        var ways: [Int: Set<[Int]>] = [:]
        for firing in lively {
            for step in steps[firing] {
                guard let from = step.from, let to = step.to else { continue }
                ways[step.system, default: graph.ownWays(of: step.system)].insert([from, to])
            }
        }
        let components = ways.reduce(into: [Int: [Int]]()) { components, entry in
            let states = whole.systems[entry.key].definition?.states.count ?? 0
            var graph = Array(repeating: [Int](), count: states)
            for way in entry.value { graph[way[0]].append(way[1]) }
            components[entry.key] = stronglyConnectedComponents(graph)
        }
        var hasChanged = false
        for firing in steps.indices {
            for index in steps[firing].indices where !steps[firing][index].next.isEmpty {
                let step = steps[firing][index]
                guard let from = step.from, let to = step.to else { continue }
                if components[step.system].map({ $0[from] == $0[to] }) ?? false { continue }
                steps[firing][index].next = []
                hasChanged = true
            }
        }
        return hasChanged
    }

    private static func without(_ step: Step, _ isCut: (Int) -> Bool) -> Step {
        var step = step
        step.next.removeAll(where: isCut)
        return step
    }

    /// The systems whose states the firings of a group change.
    func systems(in group: [Int]) -> Set<Int> {
        Set(group.lazy.flatMap { steps[$0] }.compactMap { $0.from == nil ? nil : $0.system })
    }

    /// A shortest circle through the first link of a group; nil if no link fires in the group.
    func shortestCircle(in group: [Int], of graph: FiringGraph) -> [Int]? {
        func order(_ firing: Int) -> (link: Int, firing: Int)? { graph.firings[firing].link.map { ($0, firing) } }
        guard let start = group.compactMap(order).min(by: { ($0.link, $0.firing) < ($1.link, $1.firing) })?.firing
        else { return nil }
        let members = Set(group)
        var causes: [Int: Int] = [:]
        var waiting = [start][...]
        while let firing = waiting.popFirst() {
            for next in steps[firing].flatMap(\.next).sorted() where members.contains(next) {
                if next == start {
                    var circle = [firing]
                    while let cause = causes[circle[0]] { circle.insert(cause, at: 0) }
                    return circle
                }
                guard causes[next] == nil else { continue }
                causes[next] = firing
                waiting.append(next)
            }
        }
        return nil
    }
}
