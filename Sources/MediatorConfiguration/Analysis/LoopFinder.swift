import CommonExpression

/// Finds links that make each other fire without end.
///
/// A loop is a chain of causes that can go on for ever without anything from outside, and in which links fire again and
/// again. Outside are clients, the clock, commands, and what a system in Swift does by itself. A link with a limit breaks
/// its loops.
///
/// 1. Only systems that links join in a circle can be part of one, and only they, and systems before them that go round by
///    themselves, are looked at.
/// 2. Of what fires there (``FiringGraph``), only cycles can go on. A system cannot go the same way twice without coming back
///    first, so a transition counts only where the events of what fires again and again lead back to where it began;
///    leaving out the others may break cycles, until nothing changes.
/// 3. What is left goes on only if its events do not become fewer and fewer (``EventBalance``).
///
/// None of the three leaves out a chain that can go on, so what is not found does not exist. What is found may not be
/// possible, where conditions depend on data, or where it would need events in an order in which they never come. Where one
/// or two events are enough, ``LoopSearch`` finds the hops in their order.
struct LoopFinder {
    private typealias Step = LoopSearch.Step

    /// How many moves are looked at to find the hops of a loop.
    private static let longestSearch = 200_000
    /// How many links of a loop are named in its message; four times as many hops are listed.
    private static let hops = 16
    /// How many times loops are looked for beside those that were found.
    private static let rounds = 8

    private let whole: AnalysedConfiguration
    private let reachable: [[Bool]]
    private let findings: Findings

    /// A search of everything.
    init(_ whole: AnalysedConfiguration, _ reachable: [[Bool]], _ findings: Findings) {
        self.whole = whole
        self.reachable = reachable
        self.findings = findings
    }

    /// Reports loops in which no link has a limit. Returns the names of the links with a limit that are part of a circle, be
    /// it one that waits for the clock or a command.
    func report() -> Set<String> {
        let circles = circles()
        guard !circles.isEmpty else { return [] }
        guard let graph = FiringGraph(circles.union(drivers(of: circles)), of: whole, reachable) else {
            if let link = whole.links.first(where: { circles.contains($0.definition.system) }) {
                findings.report(
                    .tooLarge, in: link.written.source, at: link.written.name.span,
                    "too many states are linked to each other to be searched for loops",
                    hint: "make several systems of those with many states")
            }
            return []
        }
        var cut = Set(whole.links.indices.filter { whole.links[$0].definition.loop != nil })
        let limited = cut
        for _ in 0..<Self.rounds {
            let found = report(graph, without: cut)
            if found.isEmpty { break }
            cut.formUnion(found)
        }
        return limited.isEmpty ? [] : needed(limited, graph, circles)
    }

    /// The names of those of some links that are part of a circle.
    private func needed(_ limited: Set<Int>, _ graph: FiringGraph, _ circles: Set<Int>) -> Set<String> {
        func links(_ firings: some Sequence<Int>, of graph: FiringGraph) -> Set<Int> {
            limited.intersection(firings.compactMap { graph.firings[$0].link })
        }
        var needed = links(cycles(of: graph, without: []).groups.joined(), of: graph)
        if needed.count < limited.count, let graph = FiringGraph(circles, of: whole, reachable, waits: true) {
            let edges = graph.steps.map { $0.flatMap(\.next) }
            needed.formUnion(links(Self.cyclic(stronglyConnectedComponents(edges), edges).joined(), of: graph))
        }
        return Set(needed.map { whole.links[$0].definition.name })
    }

    // Which systems are looked at

    /// Where links lead, by system and then by bus.
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

    /// Systems that links join in a circle.
    private func circles() -> Set<Int> {
        let edges = edges()
        let count = whole.systems.count
        return Set(Self.cyclic(stronglyConnectedComponents(edges), edges).joined()).filter { $0 < count }
    }

    /// Systems that go round by themselves without end, and what they drive, as far as links lead from there to some
    /// systems: they may bring these back to where they were.
    private func drivers(of systems: Set<Int>) -> Set<Int> {
        let restless = whole.systems.indices.filter { index in
            !systems.contains(index)
                && whole.systems[index].definition.map { isRestless($0, reachable[index]) } ?? false
        }
        guard !restless.isEmpty else { return [] }
        let edges = edges()
        var back = Array(repeating: [Int](), count: edges.count)
        for (node, targets) in edges.enumerated() { for target in targets { back[target].append(node) } }
        return Self.reached(from: restless, edges).intersection(Self.reached(from: systems, back))
            .filter { $0 < whole.systems.count }.subtracting(systems)
    }

    /// Whether feedbacks that emit at once may keep a system going by themselves.
    private func isRestless(_ system: SystemDefinition, _ reachable: [Bool]) -> Bool {
        let feedbacks = system.feedbacks.filter(\.emitsAtOnce)
        guard !feedbacks.isEmpty else { return false }
        var emitted: Set<Int> = []
        for feedback in feedbacks {
            for rules in feedback.outcomes.values {
                for rule in rules.values.joined() { emitted.insert(rule.event.event) }
            }
        }
        let edges = system.states.indices.map { state in
            reachable[state] ? emitted.flatMap { system.targets(from: state, on: $0).map(\.state) } : []
        }
        return !Self.cyclic(stronglyConnectedComponents(edges), edges).isEmpty
    }

    // Cycles

    /// What can go on without end, as far as states are concerned.
    private struct Cycles {
        /// The components of firings.
        var groups: [[Int]] = []
        /// By firing, where it leads that can go on.
        var steps: [[Step]] = []
        /// By firing, the transitions that may happen again and again.
        var moves: [[Step]] = []
    }

    private func cycles(of graph: FiringGraph, without cut: Set<Int>) -> Cycles {
        func isCut(_ firing: Int) -> Bool { graph.firings[firing].link.map(cut.contains) ?? false }
        var alive = graph.steps.enumerated().map { firing, steps in
            isCut(firing) ? [] : steps.map { step in Self.without(step, isCut) }
        }
        while true {
            let edges = alive.map { $0.flatMap(\.next) }
            let groups = Self.cyclic(stronglyConnectedComponents(edges), edges)
            if groups.isEmpty { return Cycles() }
            // What a cycle sets off again and again, though it need not lead back, moves systems too.
            let lively = Self.reached(from: groups.joined(), edges)
            var ways: [Int: Set<[Int]>] = [:]
            for firing in lively {
                for step in alive[firing] {
                    if let from = step.from, let to = step.to { ways[step.system, default: []].insert([from, to]) }
                }
            }
            var places: [Int: [Int]] = [:]
            for (system, ways) in ways {
                var graph = Array(repeating: [Int](), count: whole.systems[system].definition?.states.count ?? 0)
                for way in ways { graph[way[0]].append(way[1]) }
                places[system] = stronglyConnectedComponents(graph)
            }
            func isPossible(_ step: Step) -> Bool {
                guard let from = step.from, let to = step.to else { return true }
                return places[step.system].map { $0[from] == $0[to] } ?? false
            }
            var changed = false
            for firing in alive.indices {
                for index in alive[firing].indices where !alive[firing][index].next.isEmpty {
                    if isPossible(alive[firing][index]) { continue }
                    alive[firing][index].next = []
                    changed = true
                }
            }
            if changed { continue }
            let moves = alive.indices.map { lively.contains($0) ? alive[$0].filter(isPossible) : [] }
            return Cycles(groups: groups, steps: alive, moves: moves)
        }
    }

    private static func without(_ step: Step, _ isCut: (Int) -> Bool) -> Step {
        var step = step
        step.next.removeAll(where: isCut)
        return step
    }

    /// The components that are cycles.
    private static func cyclic(_ components: [Int], _ edges: [[Int]]) -> [[Int]] {
        var groups: [Int: [Int]] = [:]
        for (node, component) in components.enumerated() { groups[component, default: []].append(node) }
        return groups.values.filter { $0.count > 1 || edges[$0[0]].contains($0[0]) }.sorted { $0[0] < $1[0] }
    }

    private static func reached(from start: some Sequence<Int>, _ edges: [[Int]]) -> Set<Int> {
        var reached = Set(start)
        var waiting = Array(reached)
        while let node = waiting.popLast() {
            for next in edges[node] where reached.insert(next).inserted { waiting.append(next) }
        }
        return reached
    }

    /// Cycles that move the same systems, together: only these can keep each other going.
    private struct Cluster {
        /// Those in which a link fires.
        var groups: [[Int]] = []
        /// All that fires because of them.
        var members: Set<Int> = []
    }

    private func clusters(_ cycles: Cycles, of graph: FiringGraph) -> [Cluster] {
        let edges = cycles.steps.map { $0.flatMap(\.next) }
        // By system, one of its groups; groups that share one are joined (union-find).
        var parents = Array(cycles.groups.indices)
        func root(_ group: Int) -> Int {
            var group = group
            while parents[group] != group {
                parents[group] = parents[parents[group]]
                group = parents[group]
            }
            return group
        }
        var owners: [Int: Int] = [:]
        var members: [Set<Int>] = []
        for (index, group) in cycles.groups.enumerated() {
            members.append(Self.reached(from: group, edges))
            for firing in members[index] {
                for step in cycles.moves[firing] where step.from != nil {
                    if let owner = owners[step.system] { parents[root(index)] = root(owner) }
                    owners[step.system] = index
                }
            }
        }
        var clusters: [Int: Cluster] = [:]
        for (index, group) in cycles.groups.enumerated() {
            let root = root(index)
            clusters[root, default: Cluster()].members.formUnion(members[index])
            if group.contains(where: { graph.firings[$0].link != nil }) {
                clusters[root, default: Cluster()].groups.append(group)
            }
        }
        return clusters.values.filter { !$0.groups.isEmpty }.sorted { $0.groups[0][0] < $1.groups[0][0] }
    }

    // Whether events are used up

    /// What goes on for ever if it is counted how many events there are, by firing; nil: that is not known. Empty: nothing.
    private func balance(_ cluster: Cluster, _ cycles: Cycles, of graph: FiringGraph) -> [Int]? {
        var inGroup: [Int: Int] = [:]
        for (index, group) in cluster.groups.enumerated() { for firing in group { inGroup[firing] = index } }
        var steps: [EventBalance.Step] = []
        var owners: [Int] = []
        var states: [[Int]: Int] = [:]
        func number(_ system: Int, _ state: Int) -> Int {
            let key = [system, state]
            if let known = states[key] { return known }
            states[key] = states.count
            return states.count - 1
        }
        // An instance of a kind may make of one event as many as it likes.
        let hasKind = cluster.groups.map { $0.contains { cycles.moves[$0].contains(where: graph.isOfKind) } }
        for firing in cluster.members.sorted() {
            for step in cycles.moves[firing] {
                let group = graph.firings[firing].link == nil ? nil : inGroup[firing]
                let leadsBack = group.map { group in step.next.contains { inGroup[$0] == group } } ?? false
                if graph.isOfKind(step) {
                    guard step.from == step.to else { continue }
                    steps.append(EventBalance.Step(uses: nil, makes: step.next, move: nil, counts: false))
                } else if let from = step.from, let to = step.to {
                    let move = (from: number(step.system, from), to: number(step.system, to))
                    steps.append(EventBalance.Step(uses: firing, makes: step.next, move: move, counts: leadsBack))
                } else {
                    let counts = leadsBack && !(group.map { hasKind[$0] } ?? false)
                    steps.append(EventBalance.Step(uses: firing, makes: step.next, move: nil, counts: counts))
                }
                owners.append(firing)
            }
        }
        // Nor is anything known of kinds among themselves.
        for (index, group) in cluster.groups.enumerated() where hasKind[index] {
            let members = Set(group)
            let edges = cycles.steps.enumerated().map { firing, steps in
                members.contains(firing)
                    ? steps.filter { $0.from == nil || graph.isOfKind($0) }.flatMap(\.next).filter(members.contains)
                    : []
            }
            let among = Self.cyclic(stronglyConnectedComponents(edges), edges)
            if let first = among.first(where: { $0.contains { graph.firings[$0].link != nil } }) { return first }
        }
        switch EventBalance(steps).verdict() {
        case .ends: return []
        case .undecided: return nil
        case .goesOn(let going): return Array(Set(going.map { owners[$0] })).sorted()
        }
    }

    // Reports

    /// Reports the loops that are there without some links: as many as name every link that is part of one, as a rule.
    /// Returns the links that were named.
    private func report(_ graph: FiringGraph, without cut: Set<Int>) -> Set<Int> {
        let cycles = cycles(of: graph, without: cut)
        var named: Set<Int> = []
        for cluster in clusters(cycles, of: graph) {
            let going = balance(cluster, cycles, of: graph)
            if going == [] { continue }
            let found = ones(cluster, cycles, graph)
            named.formUnion(found)
            if found.isEmpty { named.formUnion(several(cluster, cycles, graph, going)) }
        }
        return named
    }

    /// Reports loops that one event keeps going.
    private func ones(_ cluster: Cluster, _ cycles: Cycles, _ graph: FiringGraph) -> Set<Int> {
        var reported: Set<Int> = []
        for group in cluster.groups {
            var named: Set<Int> = []
            var search = LoopSearch(
                cycles.steps, within: Set(group), budget: Self.longestSearch,
                counts: { $0.contains { graph.firings[$0].link != nil } })
            search: for start in group {
                guard let link = graph.firings[start].link, !named.contains(link) else { continue }
                switch search.search(from: [start]) {
                case .none: continue
                case .undecided: break search
                case .loop(let fired):
                    // A system that goes round in several states may need several rounds.
                    let end = fired.dropFirst().firstIndex(of: fired[0]) ?? fired.count
                    let cycle = Array(fired[..<end])
                    let links = Set(cycle.compactMap { graph.firings[$0].link })
                    if named.isSuperset(of: links) { continue }
                    named.formUnion(links)
                    report(cycle, of: graph)
                }
            }
            reported.formUnion(named)
        }
        return reported
    }

    /// Reports a loop that several events keep going: two, if that is enough.
    private func several(_ cluster: Cluster, _ cycles: Cycles, _ graph: FiringGraph, _ going: [Int]?) -> Set<Int> {
        let starts = cluster.groups.joined().sorted()
        var search = LoopSearch(
            cycles.steps, within: cluster.members, budget: Self.longestSearch,
            counts: { $0.contains { graph.firings[$0].link != nil } })
        var loop: [Int]?
        pairs: for (index, first) in starts.enumerated() {
            for second in starts[index...] {
                switch search.search(from: [first, second]) {
                case .none: continue
                case .loop(let fired): loop = fired
                case .undecided: break
                }
                break pairs
            }
        }
        let hops = loop ?? ordered(going ?? starts, cycles)
        report(hops, of: graph)
        return Set(hops.compactMap { graph.firings[$0].link })
    }

    /// What fires, each after what makes it fire, as far as that is possible.
    private func ordered(_ firings: [Int], _ cycles: Cycles) -> [Int] {
        var rest = Set(firings)
        var ordered: [Int] = []
        for start in firings where rest.remove(start) != nil {
            var waiting = [start]
            while !waiting.isEmpty {
                let firing = waiting.removeFirst()
                ordered.append(firing)
                for next in cycles.steps[firing].flatMap(\.next).sorted() where rest.remove(next) != nil {
                    waiting.append(next)
                }
            }
        }
        return ordered
    }

    /// Reports a loop at its first link by name.
    private func report(_ cycle: [Int], of graph: FiringGraph) {
        let firings = graph.firings
        let links = cycle.compactMap { firings[$0].link }
        guard let first = links.min() else { return }
        let start = cycle.firstIndex { firings[$0].link == first } ?? 0
        let cycle = cycle[start...] + cycle[..<start]
        let written = whole.links[first].written
        var names: [String] = []
        for firing in cycle {
            guard let link = firings[firing].link else { continue }
            let name = "'\(whole.links[link].definition.name)'"
            if !names.contains(name) { names.append(name) }
        }
        let shown = names.count > Self.hops ? names.prefix(Self.hops) + ["\(names.count - Self.hops) more"] : names[...]
        let message =
            shown.count == 1
            ? "the link \(names[0]) can set itself off without end"
            : "the links \(shown.dropLast().joined(separator: ", ")) and \(shown.last ?? "") can set each other off "
                + "without end"
        let notes = cycle.prefix(Self.hops * 4).map {
            Diagnostic.Note(location: firings[$0].source, message: graph.label(of: $0))
        }
        findings.report(
            .loop, in: written.source, at: written.name.span, message,
            hint: "break the circle, or say on one link how often it may fire: loop: { limit: 10 per 1s }",
            notes: notes)
    }
}
