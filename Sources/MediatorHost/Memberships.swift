import MediatorConfiguration

/// For each part of a graph, the links and the group that it takes part in, by their indices. Made in one pass over the graph,
/// so that to tell of all parts takes linear time.
struct Memberships: Sendable {
    /// By system, the links that begin or end there.
    let links: IndexLists
    /// By bus, the links that read it.
    let readers: IndexLists
    /// By bus, the links that write it.
    let writers: IndexLists
    /// By system, its group.
    let groups: [Int: Int]
    /// By group, the names of its systems, in its order.
    let groupSystems: [[String]]

    init(_ graph: Graph) {
        var links: [(part: Int, member: Int)] = []
        var readers: [(part: Int, member: Int)] = []
        var writers: [(part: Int, member: Int)] = []
        for (index, link) in graph.links.enumerated() {
            links.append((link.system, index))
            switch link.form {
            case .systemToBus(let bus, _, _): writers.append((bus, index))
            case .busToSystem(let bus, _, _): readers.append((bus, index))
            case .systemToSystem(let target, _, _):
                if target != link.system { links.append((target, index)) }
            }
        }
        self.links = IndexLists(parts: graph.systems.count, links)
        self.readers = IndexLists(parts: graph.buses.count, readers)
        self.writers = IndexLists(parts: graph.buses.count, writers)
        var groups: [Int: Int] = [:]
        for (index, group) in graph.groups.enumerated() {
            // A system that several name belongs to the first.
            for system in group.systems where groups[system] == nil { groups[system] = index }
        }
        self.groups = groups
        groupSystems = graph.groups.map { group in group.systems.map { graph.systems[$0].name } }
    }
}

/// A list of indices for each of several parts, all in one piece of memory.
struct IndexLists: Sendable {
    /// The place at which the list of each part begins, and the end of the last.
    private let starts: [Int]
    private let members: [Int]

    /// The lists of so many parts. Each keeps the order in which its members are given.
    init(parts count: Int, _ pairs: [(part: Int, member: Int)]) {
        var starts = [Int](repeating: 0, count: count + 1)
        for pair in pairs { starts[pair.part + 1] += 1 }
        for part in 0..<count { starts[part + 1] += starts[part] }
        var next = starts
        var members = [Int](repeating: 0, count: pairs.count)
        for pair in pairs {
            members[next[pair.part]] = pair.member
            next[pair.part] += 1
        }
        self.starts = starts
        self.members = members
    }

    /// The list of a part.
    subscript(part: Int) -> ArraySlice<Int> { members[starts[part]..<starts[part + 1]] }
}
