package import MediatorConfiguration
package import MediatorControl
package import StrictJSON

/// Systems and buses as the nodes of a graph, and links as its edges.
package struct PartGraph: Sendable, Equatable {
    /// A system or a bus.
    package struct Part: Sendable, Equatable {
        /// The kind of the part.
        package var kind: PartKind
        /// Its name.
        package var name: String
        /// The author's description.
        package var description: String?
        /// The health of a system, with live state.
        package var health: Health?
        /// The state a system is in, with live state.
        package var state: SystemState?
        /// The value of a bus that remembers, with live state.
        package var value: JSONValue?
        /// The counter, with live state: events taken, or values published.
        package var count: Int?
        /// The number of drops, with live state.
        package var dropped: Int?

        /// A part of which nothing more is known.
        package init(kind: PartKind, name: String, description: String? = nil) {
            self.kind = kind
            self.name = name
            self.description = description
        }
    }

    /// A link.
    package struct Edge: Sendable, Equatable {
        /// Its name.
        package var name: String
        /// The summary in one line.
        package var description: String
        /// The part from which it comes, as an index.
        package var from: Int
        /// The part to which it leads, as an index.
        package var to: Int
        /// Whether one can come back over it to where it begins.
        package var isInLoop = false
        /// The number of times that it fired, with live state.
        package var fired: Int?
        /// Whether it is held back, with live state.
        package var isOpen: Bool?

        /// A link of which nothing more is known.
        package init(name: String, description: String, from: Int, to: Int) {
            self.name = name
            self.description = description
            self.from = from
            self.to = to
        }
    }

    /// Systems by name, then buses by name.
    package private(set) var parts: [Part]
    /// Links by name.
    package private(set) var edges: [Edge]

    /// A graph of parts and edges; which of these are in loops is found out. Linear time.
    package init(parts: [Part], edges: [Edge]) {
        self.parts = parts
        let component = Self.components(of: parts.count, edges)
        self.edges = edges.map { edge in
            var edge = edge
            edge.isInLoop = component[edge.from] == component[edge.to]
            return edge
        }
    }

    /// The graph of what a daemon tells.
    ///
    /// - Parameter isLive: whether states, values and counts are part of it.
    package init(systems: [SystemSummary], buses: [BusSummary], links: [LinkSummary], isLive: Bool) {
        var parts: [Part] = systems.map { system in
            var part = Part(kind: .system, name: system.name, description: system.description)
            guard isLive else { return part }
            part.health = system.health
            part.state = system.state
            part.count = system.counters.events
            part.dropped = system.counters.dropped
            return part
        }
        parts += buses.map { bus in
            var part = Part(kind: .bus, name: bus.name, description: bus.description)
            guard isLive else { return part }
            part.value = bus.value
            part.count = bus.published
            part.dropped = bus.dropped
            return part
        }
        let index = Index(parts)
        let edges = links.compactMap { link -> Edge? in
            let bus = link.bus.flatMap { index.buses[$0] }
            let ends =
                switch link.form {
                case .systemToBus: (index.systems[link.system], bus)
                case .busToSystem: (bus, index.systems[link.system])
                case .systemToSystem: (index.systems[link.system], link.toSystem.flatMap { index.systems[$0] })
                }
            // A link whose end a reload has removed between two answers is left out.
            guard let from = ends.0, let to = ends.1 else { return nil }
            var edge = Edge(name: link.name, description: link.description, from: from, to: to)
            guard isLive else { return edge }
            edge.fired = link.fired
            edge.isOpen = link.open
            return edge
        }
        self.init(parts: parts, edges: edges)
    }

    /// The graph of a configuration that is written.
    package init(_ graph: Graph) {
        let systems = graph.systems.map { Part(kind: .system, name: $0.name, description: $0.description) }
        let buses = graph.buses.map { Part(kind: .bus, name: $0.name, description: $0.description) }
        let edges = graph.links.map { link in
            let ends =
                switch link.form {
                case .systemToBus(let bus, _, _): (link.system, systems.count + bus)
                case .busToSystem(let bus, _, _): (systems.count + bus, link.system)
                case .systemToSystem(let target, _, _): (link.system, target)
                }
            return Edge(name: link.name, description: link.summary, from: ends.0, to: ends.1)
        }
        self.init(parts: systems + buses, edges: edges)
    }

    /// The places of the parts of each kind.
    private struct Index {
        var systems: [String: Int] = [:]
        var buses: [String: Int] = [:]

        init(_ parts: [Part]) {
            for (index, part) in parts.enumerated() {
                if part.kind == .system { systems[part.name] = index } else { buses[part.name] = index }
            }
        }
    }

    /// The edges that begin at each part, as indices in the order of their names.
    package var outgoing: [[Int]] { Self.adjacency(parts.count, edges) { $0.from } }

    /// The edges that lead to each part, as indices in the order of their names.
    package var incoming: [[Int]] { Self.adjacency(parts.count, edges) { $0.to } }

    private static func adjacency(_ count: Int, _ edges: [Edge], _ end: (Edge) -> Int) -> [[Int]] {
        var table = [[Int]](repeating: [], count: count)
        for (index, edge) in edges.enumerated() { table[end(edge)].append(index) }
        return table
    }

    /// The number of the strongly connected component of each part (Tarjan, SIAM Journal on Computing 1, 1972), without
    /// recursion, so that a long chain of parts needs no deep stack.
    private static func components(of count: Int, _ edges: [Edge]) -> [Int] {
        let outgoing = adjacency(count, edges) { $0.from }
        var number = [Int](repeating: 0, count: count)
        var low = [Int](repeating: 0, count: count)
        var component = [Int](repeating: -1, count: count)
        var open: [Int] = []
        var path: [(part: Int, next: Int)] = []
        var last = 0
        for root in 0..<count where number[root] == 0 {
            path.append((root, 0))
            while let (part, next) = path.last {
                if next == 0 {
                    last += 1
                    number[part] = last
                    low[part] = last
                    open.append(part)
                }
                if next < outgoing[part].count {
                    path[path.count - 1].next += 1
                    let target = edges[outgoing[part][next]].to
                    if number[target] == 0 {
                        path.append((target, 0))
                    } else if component[target] < 0 {
                        low[part] = min(low[part], number[target])
                    }
                    // A part is entered once: with no further edge its next is no longer 0.
                    continue
                }
                path.removeLast()
                if let parent = path.last?.part { low[parent] = min(low[parent], low[part]) }
                guard low[part] == number[part] else { continue }
                while let member = open.popLast() {
                    component[member] = part
                    if member == part { break }
                }
            }
        }
        // One part alone is in a loop only by an edge to itself, of which both ends are in its component.
        return component
    }

    // MARK: Narrowing

    /// The part of a graph to show.
    package enum Focus: Sendable, Equatable {
        /// The part, everything from which one can come to it, and everything to which it leads.
        case flow(Int)
        /// The parts within this number of links, in either direction.
        case around(Int, depth: Int)
    }

    /// The graph of some of its parts, with the links between them.
    package func narrowed(to focus: Focus) -> PartGraph {
        var kept: Set<Int>
        switch focus {
        case .flow(let part):
            kept = reach([part], depth: .max, forward: true, backward: false)
            kept.formUnion(reach([part], depth: .max, forward: false, backward: true))
        case .around(let part, let depth): kept = reach([part], depth: depth, forward: true, backward: true)
        }
        let indices = parts.indices.filter(kept.contains)
        let place = Dictionary(uniqueKeysWithValues: indices.enumerated().map { ($1, $0) })
        let edges = edges.compactMap { edge -> Edge? in
            guard let from = place[edge.from], let to = place[edge.to] else { return nil }
            var edge = edge
            (edge.from, edge.to) = (from, to)
            return edge
        }
        var graph = PartGraph(parts: indices.map { parts[$0] }, edges: edges)
        // A loop is one even if only a part of it is looked at.
        let looping = Set(self.edges.filter(\.isInLoop).map(\.name))
        for index in graph.edges.indices where looping.contains(graph.edges[index].name) {
            graph.edges[index].isInLoop = true
        }
        return graph
    }

    private func reach(_ start: [Int], depth: Int, forward: Bool, backward: Bool) -> Set<Int> {
        let (outgoing, incoming) = (outgoing, incoming)
        var seen = Set(start)
        var front = start
        var distance = 0
        while !front.isEmpty, distance < depth {
            var next: [Int] = []
            for part in front {
                let targets =
                    (forward ? outgoing[part].map { edges[$0].to } : [])
                    + (backward ? incoming[part].map { edges[$0].from } : [])
                for target in targets where seen.insert(target).inserted { next.append(target) }
            }
            front = next
            distance += 1
        }
        return seen
    }
}

extension PartGraph: Encodable {
    private struct End: Encodable {
        let kind: PartKind
        let name: String
    }

    private enum Key: String, CodingKey {
        case parts, links
    }

    private enum PartKey: String, CodingKey {
        case kind, name, description, health, state, value, count, dropped
    }

    private enum EdgeKey: String, CodingKey {
        case name, description, from, to, loop, fired, open
    }

    /// As documented: `parts` and `links`, whose ends are named by kind and name.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        var list = container.nestedUnkeyedContainer(forKey: .parts)
        for part in parts {
            var entry = list.nestedContainer(keyedBy: PartKey.self)
            try entry.encode(part.kind, forKey: .kind)
            try entry.encode(part.name, forKey: .name)
            try entry.encodeIfPresent(part.description, forKey: .description)
            try entry.encodeIfPresent(part.health, forKey: .health)
            try entry.encodeIfPresent(part.state, forKey: .state)
            try entry.encodeIfPresent(part.value, forKey: .value)
            try entry.encodeIfPresent(part.count, forKey: .count)
            try entry.encodeIfPresent(part.dropped, forKey: .dropped)
        }
        list = container.nestedUnkeyedContainer(forKey: .links)
        for edge in edges {
            var entry = list.nestedContainer(keyedBy: EdgeKey.self)
            try entry.encode(edge.name, forKey: .name)
            try entry.encode(edge.description, forKey: .description)
            try entry.encode(End(kind: parts[edge.from].kind, name: parts[edge.from].name), forKey: .from)
            try entry.encode(End(kind: parts[edge.to].kind, name: parts[edge.to].name), forKey: .to)
            try entry.encode(edge.isInLoop, forKey: .loop)
            try entry.encodeIfPresent(edge.fired, forKey: .fired)
            try entry.encodeIfPresent(edge.isOpen, forKey: .open)
        }
    }
}
