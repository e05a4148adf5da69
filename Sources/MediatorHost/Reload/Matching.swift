import MediatorConfiguration

/// The parts of two graphs, matched by name.
struct Matching: Sendable {
    /// A part of one graph, or of both.
    struct Pair: Sendable {
        var name: String
        /// The index in the first graph, if the part is there.
        var old: Int?
        /// The index in the second graph, if the part is there.
        var new: Int?
    }

    /// The parts of one kind, by name.
    struct Pairs: Sendable {
        var all: [Pair] = []
        /// A Boolean value that indicates whether both graphs have all these parts, at the same indices.
        var areAligned = true
    }

    let systems: Pairs
    let buses: Pairs
    let links: Pairs
    let groups: Pairs

    /// Matches the parts of two graphs by name. Linear if the graphs are sorted by name, as they should be.
    init(_ old: Graph, _ new: Graph) {
        systems = Self.pairs(old.systems, new.systems) { $0.name }
        buses = Self.pairs(old.buses, new.buses) { $0.name }
        links = Self.pairs(old.links, new.links) { $0.name }
        groups = Self.pairs(old.groups, new.groups) { $0.name }
    }

    private static func pairs<Part>(_ old: [Part], _ new: [Part], _ name: (Part) -> String) -> Pairs {
        let (olds, news) = (order(old, name), order(new, name))
        var pairs = Pairs()
        pairs.all.reserveCapacity(max(olds.count, news.count))
        var (left, right) = (0, 0)
        while left < olds.count || right < news.count {
            let before = left < olds.count ? name(old[olds[left]]) : nil
            let after = right < news.count ? name(new[news[right]]) : nil
            var pair = Pair(name: "")
            if let before, after.map({ before <= $0 }) ?? true {
                pair.name = before
                pair.old = olds[left]
                left += 1
            }
            if let after, before.map({ after <= $0 }) ?? true {
                pair.name = after
                pair.new = news[right]
                right += 1
            }
            if pair.old != pair.new { pairs.areAligned = false }
            pairs.all.append(pair)
        }
        return pairs
    }

    /// Returns the indices in the order of the names.
    private static func order<Part>(_ parts: [Part], _ name: (Part) -> String) -> [Int] {
        let indices = Array(parts.indices)
        let isSorted = zip(indices, indices.dropFirst()).allSatisfy { name(parts[$0]) < name(parts[$1]) }
        return isSorted ? indices : indices.sorted { name(parts[$0]) < name(parts[$1]) }
    }
}
