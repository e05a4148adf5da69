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

    /// Systems that may keep each other going, and what came of looking at them.
    fileprivate struct Part: Sendable {
        /// Their indices, in order.
        var systems: [Int]
        /// Those of them that links join in a circle.
        var circles: Set<Int>
        /// The names of the links with a limit that are part of a circle, be it one that waits for the clock or a command.
        var limited: Set<String> = []
        /// Whether nothing at all goes round there, and no link has a limit.
        var isCalm = false
    }

    /// What was looked at, to be gone on from when something has changed.
    struct Survey: Sendable {
        /// No link joins a system of one part to one of another.
        fileprivate var parts: [Part] = []
        /// Systems that go round by themselves.
        fileprivate var restless: Set<Int> = []

        /// The names of the links with a limit that are part of a circle.
        var limited: Set<String> { parts.reduce(into: []) { $0.formUnion($1.limited) } }

        /// The same, where systems have other indices; what has to do with those that have gone is forgotten.
        func reordered(_ order: Reordering) -> Survey {
            guard !order.isIdentity else { return self }
            return Survey(
                parts: parts.compactMap { part in
                    let systems = part.systems.compactMap(order.index)
                    guard systems.count == part.systems.count else { return nil }
                    return Part(
                        systems: systems, circles: Set(part.circles.compactMap(order.index)), limited: part.limited)
                }, restless: Set(restless.compactMap(order.index)))
        }
    }

    private let whole: AnalysedConfiguration
    private let joints: Joints
    private let findings: Findings

    /// A search of everything.
    init(_ whole: AnalysedConfiguration, _ joints: Joints, _ findings: Findings) {
        self.whole = whole
        self.joints = joints
        self.findings = findings
    }

    /// Reports loops in which no link has a limit.
    ///
    /// - Parameter earlier: a survey that found none, and what has changed since.
    func survey(since earlier: (survey: Survey, changes: Changes)? = nil) -> Survey {
        var survey = layout(since: earlier)
        let known = Dictionary(
            uniqueKeysWithValues: earlier?.survey.parts.map { ($0.systems[0], $0) } ?? [])
        for index in survey.parts.indices {
            let part = survey.parts[index]
            if let changes = earlier?.changes, let known = known[part.systems[0]], known.systems == part.systems,
                known.circles == part.circles, changes.systems.isDisjoint(with: part.systems)
            {
                survey.parts[index] = known
            } else if let changes = earlier?.changes, !changes.areOfJoints, part.isCalm,
                staysCalm(part, changes.systems)
            {
                survey.parts[index].isCalm = true
            } else {
                report(&survey.parts[index])
            }
        }
        return survey
    }

    /// Which systems are to be looked at, and in which parts.
    private func layout(since earlier: (survey: Survey, changes: Changes)?) -> Survey {
        if let (survey, changes) = earlier, !changes.areOfJoints,
            changes.systems.allSatisfy({ survey.restless.contains($0) == whole.systems[$0].isRestless })
        {
            return survey
        }
        let restless = Set(whole.systems.indices.filter { whole.systems[$0].isRestless })
        let edges = edges()
        let count = whole.systems.count
        let circles = Set(Self.cyclic(stronglyConnectedComponents(edges), edges).joined().lazy.filter { $0 < count })
        let systems = circles.isEmpty ? [] : circles.union(drivers(restless, of: circles, edges))
        return Survey(parts: parts(systems, circles), restless: restless)
    }

    /// Some systems in parts that no link joins.
    private func parts(_ systems: Set<Int>, _ circles: Set<Int>) -> [Part] {
        guard !systems.isEmpty else { return [] }
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
        var parts: [Int: [Int]] = [:]
        for system in systems.sorted() { parts[sets.root(of: system), default: []].append(system) }
        return parts.values.sorted { $0[0] < $1[0] }.map { systems in
            Part(systems: systems, circles: circles.intersection(systems))
        }
    }

    /// Whether nothing goes round in a part in which nothing did before some systems and the links attached to them changed;
    /// false if that takes as long to find out as to look at everything.
    ///
    /// What goes round now leads through one of them, so only what they set off is looked at.
    private func staysCalm(_ part: Part, _ changed: Set<Int>) -> Bool {
        // Where the whole part may be too large to be looked at, that has to be told.
        guard mostSteps(in: part) < Double(FiringGraph.budget) else { return false }
        let members = Set(part.systems)
        let changed = changed.intersection(members)
        var systems = changed
        for _ in 0..<Self.rounds {
            guard systems.count * 2 <= members.count else { return false }
            let links = systems.flatMap { joints.attached[$0] }.sorted()
            guard links.allSatisfy({ whole.links[$0].definition.loop == nil }),
                let graph = FiringGraph(systems, links, of: whole)
            else { return false }
            let edges = graph.steps.map { $0.flatMap(\.next) }
            guard Self.cyclic(stronglyConnectedComponents(edges), edges).isEmpty else { return false }
            let starts = graph.firings.indices.filter { changed.contains(graph.firings[$0].system) }
            let reached = Self.reached(from: starts, edges).compactMap { graph.firings[$0].link }
            let others = Set(reached).flatMap(receivers).filter { members.contains($0) && !systems.contains($0) }
            if others.isEmpty { return true }
            systems.formUnion(others)
        }
        return false
    }

    /// How many steps there may be at most in the firing graph of a part, by how much is in it. A floating-point number, since no
    /// more than its size matters, and integers would overflow. Linear in the part.
    private func mostSteps(in part: Part) -> Double {
        var known: [Int: Double] = [:]
        /// What one event may come to in a system: in each state, each rule and whatever fires then.
        func steps(in system: Int) -> Double {
            if let steps = known[system] { return steps }
            guard let definition = whole.systems[system].definition else { return 0 }
            let states = Double(definition.states.count)
            let rules =
                definition.kind == nil
                ? Double(definition.rules.joined().lazy.map(\.count).max() ?? 0) : states
            let steps = states * rules * Double(1 + joints.attached[system].count + definition.feedbacks.count)
            known[system] = steps
            return steps
        }
        return part.systems.reduce(0) { most, system in
            guard let definition = whole.systems[system].definition else { return most }
            let states = Double(definition.states.count)
            let emissions = Double(definition.feedbacks.count { $0.emitsAtOnce } * definition.events.count) * states
            let links = joints.attached[system].map { link in
                switch whole.links[link].definition.form {
                case .systemToBus(let bus, _, _): states * Double(joints.readers[bus].count)
                case .busToSystem: steps(in: system)
                case .systemToSystem(let target, _, _): states * steps(in: target)
                }
            }
            return links.reduce(most + emissions * steps(in: system), +)
        }
    }

    /// Where a link leads: the systems that get events from it, or from what it puts on a bus.
    private func receivers(of link: Int) -> [Int] {
        switch whole.links[link].definition.form {
        case .systemToBus(let bus, _, _): joints.readers[bus].map { whole.links[$0].definition.system }
        case .busToSystem: []
        case .systemToSystem(let target, _, _): [target]
        }
    }

    /// Reports loops of some systems, and notes which links with a limit are part of a circle.
    private func report(_ part: inout Part) {
        part.limited = []
        part.isCalm = false
        let links = part.systems.flatMap { joints.attached[$0] }.sorted()
        guard let graph = FiringGraph(Set(part.systems), links, of: whole) else {
            if let link = links.first(where: { part.circles.contains(whole.links[$0].definition.system) }) {
                let written = whole.links[link].written
                findings.report(
                    .tooLarge, in: written.source, at: written.name.span,
                    "too many states are linked to each other to be searched for loops",
                    hint: "make several systems of those with many states")
            }
            return
        }
        let limited = Set(links.filter { whole.links[$0].definition.loop != nil })
        var cut = limited
        for _ in 0..<Self.rounds {
            let (found, isAcyclic) = report(graph, without: cut)
            if isAcyclic, cut.isEmpty { part.isCalm = true }
            if found.isEmpty { break }
            cut.formUnion(found)
        }
        if !limited.isEmpty { part.limited = needed(limited, graph, part.circles) }
    }

    /// The names of those of some links that are part of a circle.
    private func needed(_ limited: Set<Int>, _ graph: FiringGraph, _ circles: Set<Int>) -> Set<String> {
        func links(_ firings: some Sequence<Int>, of graph: FiringGraph) -> Set<Int> {
            limited.intersection(firings.compactMap { graph.firings[$0].link })
        }
        var needed = links(cycles(of: graph, without: []).groups.joined(), of: graph)
        let attached = circles.flatMap { joints.attached[$0] }.sorted()
        if needed.count < limited.count, let graph = FiringGraph(circles, attached, of: whole, waits: true) {
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

    /// Systems that go round by themselves without end, and what they drive, as far as links lead from there to some
    /// systems: they may bring these back to where they were.
    private func drivers(_ restless: Set<Int>, of systems: Set<Int>, _ edges: [[Int]]) -> Set<Int> {
        let restless = restless.subtracting(systems)
        guard !restless.isEmpty else { return [] }
        var back = Array(repeating: [Int](), count: edges.count)
        for (node, targets) in edges.enumerated() { for target in targets { back[target].append(node) } }
        return Self.reached(from: restless, edges).intersection(Self.reached(from: systems, back))
            .filter { $0 < whole.systems.count }.subtracting(systems)
    }

    // Cycles

    /// What can go on without end, as far as states are concerned.
    private struct Cycles {
        /// The components of firings.
        var groups: [[Int]] = []
        /// Whether there are none even where systems may go every way as often as they like.
        var isAcyclic = false
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
        var isFirst = true
        while true {
            let edges = alive.map { $0.flatMap(\.next) }
            let groups = Self.cyclic(stronglyConnectedComponents(edges), edges)
            if groups.isEmpty { return Cycles(isAcyclic: isFirst) }
            isFirst = false
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
    static func cyclic(_ components: [Int], _ edges: [[Int]]) -> [[Int]] {
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
        // By system, one of its groups; groups that share one are joined.
        var sets = DisjointSets(cycles.groups.count)
        var owners: [Int: Int] = [:]
        var members: [Set<Int>] = []
        for (index, group) in cycles.groups.enumerated() {
            members.append(Self.reached(from: group, edges))
            for firing in members[index] {
                for step in cycles.moves[firing] where step.from != nil {
                    if let owner = owners[step.system] { sets.join(index, owner) }
                    owners[step.system] = index
                }
            }
        }
        var clusters: [Int: Cluster] = [:]
        for (index, group) in cycles.groups.enumerated() {
            let root = sets.root(of: index)
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
    /// Returns the links that were named, and whether nothing goes round at all.
    private func report(_ graph: FiringGraph, without cut: Set<Int>) -> (named: Set<Int>, isAcyclic: Bool) {
        let cycles = cycles(of: graph, without: cut)
        var named: Set<Int> = []
        for cluster in clusters(cycles, of: graph) {
            let going = balance(cluster, cycles, of: graph)
            if going == [] { continue }
            let found = ones(cluster, cycles, graph)
            named.formUnion(found)
            if found.isEmpty { named.formUnion(several(cluster, cycles, graph, going)) }
        }
        return (named, cycles.isAcyclic)
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
