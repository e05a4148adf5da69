import CommonExpression

/// Finds links that make each other fire without end.
///
/// What fires is a link, or a feedback that emits at once, in a state or on a value of a bus. Firing leads to an event,
/// the event to transitions, and each transition to what fires in the state it leads to: a graph, whose cycles are
/// candidates. A system cannot go the same way twice without coming back first, so a transition counts only where the
/// events of what fires again and again lead back to where it began; leaving out the others may break cycles, until
/// nothing changes. What remains can go on without an event from outside or a timer, as far as conditions that depend
/// on data allow it. A link with a limit breaks its loops.
struct LoopFinder {
    /// What fires.
    private struct Firing {
        /// The link; nil: a feedback.
        var link: Int?
        /// The system that is, and the state it enters; nil for a link from a bus.
        var state: Int?
        var system: Int
        /// What happens, in words.
        var label: String
        var source: SourceLocation
    }

    private typealias Step = LoopSearch.Step

    /// How many steps are looked at; there are more only where hundreds of states are linked to hundreds.
    private static let budget = 4_000_000
    /// How many moves are looked at to see whether a circle is a loop; beyond, it counts as one.
    private static let longestSearch = 200_000
    /// How many links of a loop are named in its message; four times as many hops are listed.
    private static let hops = 16

    private let whole: AnalysedConfiguration
    private let reachable: [[Bool]]
    private let findings: Findings
    private var firings: [Firing] = []
    private var steps: [[Step]] = []
    /// By system and state, what may fire when it is entered, with its selector.
    private var inState: [Int: [Int: [(firing: Int, selector: StateSelector)]]] = [:]
    /// By bus, what its values make fire.
    private var onBus: [Int: [(firing: Int, filter: ValueFilter)]] = [:]

    /// A search of everything.
    init(_ whole: AnalysedConfiguration, _ reachable: [[Bool]], _ findings: Findings) {
        self.whole = whole
        self.reachable = reachable
        self.findings = findings
    }

    /// Reports loops in which no link has a limit. Returns the names of the links with a limit that are part of a loop.
    func report() -> Set<String> {
        let suspects = suspects()
        guard !suspects.isEmpty else { return [] }
        var search = self
        guard search.build(suspects) else {
            if let link = whole.links.first(where: { suspects.contains($0.definition.system) }) {
                findings.report(
                    .tooLarge, in: link.written.source, at: link.written.name.span,
                    "too many states are linked to each other to be searched for loops",
                    hint: "make several systems of those with many states")
            }
            return []
        }
        let all = search.cycles(without: { _ in false })
        let limited = Set(
            all.groups.joined().compactMap { firing -> String? in
                guard let link = search.firings[firing].link, whole.links[link].definition.loop != nil else {
                    return nil
                }
                return whole.links[link].definition.name
            })
        let open = search.cycles { firing in
            search.firings[firing].link.map { whole.links[$0].definition.loop != nil } ?? false
        }
        search.report(open.groups, open.steps)
        return limited
    }

    /// Systems that links join in a circle.
    private func suspects() -> Set<Int> {
        let count = whole.systems.count
        var edges = Array(repeating: [Int](), count: count + whole.buses.count)
        var own: Set<Int> = []
        for link in whole.links {
            let system = link.definition.system
            switch link.definition.form {
            case .systemToBus(let bus, _, _): edges[system].append(count + bus)
            case .busToSystem(let bus, _, _): edges[count + bus].append(system)
            case .systemToSystem(let target, _, _):
                edges[system].append(target)
                if target == system { own.insert(system) }
            }
        }
        let components = stronglyConnectedComponents(edges)
        var sizes: [Int: Int] = [:]
        for component in components { sizes[component, default: 0] += 1 }
        return own.union((0..<count).filter { sizes[components[$0], default: 0] > 1 })
    }

    // What fires, and where that leads

    private mutating func build(_ suspects: Set<Int>) -> Bool {
        for (index, link) in whole.links.enumerated() where suspects.contains(link.definition.system) {
            addFirings(of: link, index)
        }
        var emissions: [(firing: Int, states: [Int: EventProgram], staysInState: Bool)] = []
        for system in suspects.sorted() {
            guard let definition = whole.systems[system].definition else { continue }
            for feedback in definition.feedbacks {
                // What waits or runs a command goes on by the clock or the world, not by itself.
                guard case .atOnce = feedback.schedule, feedback.effect == EffectSchema.emit.name else { continue }
                for state in feedback.selector.states where reachable[system][state] {
                    guard let rule = feedback.outcomes[state]?[feedback.effect]?.first else { continue }
                    let label =
                        "'\(definition.name)' is '\(definition.states[state].name)': its feedback '\(feedback.name)' emits "
                        + "'\(definition.events[rule.event.event].name)'"
                    let firing = add(
                        Firing(link: nil, state: state, system: system, label: label, source: feedback.source),
                        feedback.selector)
                    emissions.append((firing, [state: rule.event], feedback.strategy == .cancelOnNewState))
                }
            }
        }
        steps = Array(repeating: [], count: firings.count)
        var budget = Self.budget
        for firing in firings.indices {
            guard let link = firings[firing].link else { continue }
            switch whole.links[link].definition.form {
            case .systemToBus(let bus, _, let programs):
                guard let state = firings[firing].state, let program = programs[state] else { continue }
                let value = Known(program)
                let next = onBus[bus, default: []].filter { $0.filter.admits(value) != false }.map(\.firing)
                steps[firing].append(Step(system: -1, from: nil, to: nil, next: next))
                budget -= next.count
            case .busToSystem(_, _, let event):
                addSteps(firing, event, to: firings[firing].system, only: nil, &budget)
            case .systemToSystem(let target, _, let events):
                guard let state = firings[firing].state, let event = events[state], suspects.contains(target) else {
                    continue
                }
                addSteps(firing, event, to: target, only: nil, &budget)
            }
            guard budget > 0 else { return false }
        }
        for emission in emissions {
            for (state, event) in emission.states {
                addSteps(
                    emission.firing, event, to: firings[emission.firing].system,
                    only: emission.staysInState ? state : nil, &budget)
            }
            guard budget > 0 else { return false }
        }
        return true
    }

    private mutating func add(_ firing: Firing, _ selector: StateSelector?) -> Int {
        firings.append(firing)
        if let state = firing.state, let selector {
            inState[firing.system, default: [:]][state, default: []].append((firings.count - 1, selector))
        }
        return firings.count - 1
    }

    private mutating func addFirings(of link: AnalysedLink, _ index: Int) {
        let definition = link.definition
        let system = definition.system
        guard let owner = whole.systems[system].definition else { return }
        func add(_ selector: StateSelector, _ emits: (Int) -> String) {
            for state in selector.states where reachable[system][state] && selector.picks(state, .nothing) != false {
                let label = "'\(owner.name)' is '\(owner.states[state].name)': \(emits(state))"
                _ = self.add(
                    Firing(link: index, state: state, system: system, label: label, source: definition.source), selector
                )
            }
        }
        switch definition.form {
        case .systemToBus(let bus, let selector, _):
            let name = whole.buses[bus].written.name.text
            add(selector) { _ in "'\(definition.name)' puts \(definition.emits) on the bus '\(name)'" }
        case .systemToSystem(let target, let selector, let events):
            guard let receiver = whole.systems[target].definition else { return }
            add(selector) { state in
                let event = events[state].map { receiver.events[$0.event].name } ?? ""
                return "'\(definition.name)' sends '\(event)' to '\(receiver.name)'"
            }
        case .busToSystem(let bus, let filter, let event):
            let name = whole.buses[bus].written.name.text
            let label =
                "the bus '\(name)' has a value: '\(definition.name)' sends '\(owner.events[event.event].name)' "
                + "to '\(owner.name)'"
            let firing = self.add(
                Firing(link: index, state: nil, system: system, label: label, source: definition.source), nil)
            onBus[bus, default: []].append((firing, filter))
        }
    }

    /// Notes each transition that an event may cause, and what fires then.
    private mutating func addSteps(
        _ firing: Int, _ event: EventProgram, to system: Int, only state: Int?, _ budget: inout Int
    ) {
        guard let definition = whole.systems[system].definition else { return }
        let data = Known(event.data)
        for from in definition.states.indices where reachable[system][from] && (state ?? from) == from {
            guard budget > 0 else { return }
            for target in definition.targets(from: from, on: event.event, data) {
                budget -= 1
                let next = inState[system]?[target.state, default: []].filter {
                    $0.selector.picks(target.state, target.data) != false
                }
                steps[firing].append(
                    Step(system: system, from: from, to: target.state, next: next?.map(\.firing) ?? []))
                budget -= next?.count ?? 0
            }
        }
    }

    // Cycles

    /// The components of firings that can go on without end, and where each leads.
    private func cycles(without isCut: (Int) -> Bool) -> (groups: [[Int]], steps: [[Step]]) {
        var alive = steps.enumerated().map { firing, steps in
            isCut(firing) ? [] : steps.map { step in Self.without(step, isCut) }
        }
        while true {
            let edges = alive.map { $0.flatMap(\.next) }
            let components = stronglyConnectedComponents(edges)
            let groups = Self.cyclic(components, edges)
            if groups.isEmpty { return ([], alive) }
            // What a cycle sets off again and again, though it need not lead back, moves systems too.
            let lively = Self.reached(from: groups.joined(), edges)
            var ways: [Int: Set<[Int]>] = [:]
            for firing in lively {
                for step in steps[firing] where !isCut(firing) {
                    if let from = step.from, let to = step.to { ways[step.system, default: []].insert([from, to]) }
                }
            }
            var places: [Int: [Int]] = [:]
            for (system, ways) in ways {
                var graph = Array(repeating: [Int](), count: whole.systems[system].definition?.states.count ?? 0)
                for way in ways { graph[way[0]].append(way[1]) }
                places[system] = stronglyConnectedComponents(graph)
            }
            var changed = false
            for firing in alive.indices {
                for index in alive[firing].indices where !alive[firing][index].next.isEmpty {
                    let step = alive[firing][index]
                    guard let from = step.from, let to = step.to else { continue }
                    let isPossible = places[step.system].map { $0[from] == $0[to] } ?? false
                    if !isPossible {
                        alive[firing][index].next = []
                        changed = true
                    }
                }
            }
            if !changed { return (groups, alive) }
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

    // Reports

    /// Reports the loops among firings that may go round in circles: as many as name every link that is part of one.
    private func report(_ groups: [[Int]], _ steps: [[Step]]) {
        let linked = groups.filter { $0.contains { firings[$0].link != nil } }
        var hasLoop = false
        for group in linked {
            var named: Set<Int> = []
            for start in group {
                guard let link = firings[start].link, !named.contains(link) else { continue }
                var search = LoopSearch(
                    steps, within: Set(group), budget: Self.longestSearch,
                    counts: { $0.contains { firings[$0].link != nil } })
                switch search.search(from: [start]) {
                case .none: continue
                case .loop(let fired):
                    // A system that goes round in several states may need several rounds.
                    let end = fired.dropFirst().firstIndex(of: fired[0]) ?? fired.count
                    let cycle = Array(fired[..<end])
                    let links = Set(cycle.compactMap { firings[$0].link })
                    hasLoop = true
                    if named.isSuperset(of: links) { continue }
                    named.formUnion(links)
                    report(cycle)
                case .undecided:
                    hasLoop = true
                    named.formUnion(group.compactMap { firings[$0].link })
                    report(group)
                }
            }
        }
        if hasLoop { return }
        for cluster in clusters(linked, steps) { reportPair(cluster.starts, cluster.members, steps) }
    }

    /// Circles that move the same systems, together: only there can two events keep each other going.
    private func clusters(_ groups: [[Int]], _ steps: [[Step]]) -> [(starts: [Int], members: Set<Int>)] {
        let edges = steps.map { $0.flatMap(\.next) }
        var clusters: [(starts: [Int], members: Set<Int>, systems: Set<Int>)] = []
        for group in groups {
            let members = Self.reached(from: group, edges)
            let systems = Set(members.flatMap { steps[$0].compactMap { $0.from == nil ? nil : $0.system } })
            var merged = (starts: group, members: members, systems: systems)
            clusters.removeAll { cluster in
                guard !cluster.systems.isDisjoint(with: merged.systems) else { return false }
                merged.starts += cluster.starts
                merged.members.formUnion(cluster.members)
                merged.systems.formUnion(cluster.systems)
                return true
            }
            clusters.append(merged)
        }
        return clusters.map { ($0.starts.sorted(), $0.members) }
    }

    /// Reports the first loop that two events keep going.
    private func reportPair(_ starts: [Int], _ members: Set<Int>, _ steps: [[Step]]) {
        var search = LoopSearch(
            steps, within: members, budget: Self.longestSearch, counts: { $0.contains { firings[$0].link != nil } })
        for (index, first) in starts.enumerated() {
            for second in starts[index...] {
                switch search.search(from: [first, second]) {
                case .none: continue
                case .loop(let fired): return report(fired)
                case .undecided: return report(starts)
                }
            }
        }
    }

    /// Reports a loop at its first link by name.
    private func report(_ cycle: [Int]) {
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
            Diagnostic.Note(location: firings[$0].source, message: firings[$0].label)
        }
        findings.report(
            .loop, in: written.source, at: written.name.span, message,
            hint: "break the circle, or say on one link how often it may fire: loop: { limit: 10 per 1s }",
            notes: notes)
    }
}
