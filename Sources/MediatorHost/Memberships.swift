import MediatorConfiguration

/// The links and the group of each part of a graph, by index. One pass over the graph finds them, so that a status of all parts
/// takes linear time.
struct Memberships: Sendable {
    /// The links that begin or end at each system.
    let links: IndexLists
    /// The links that read each bus.
    let readers: IndexLists
    /// The links that write each bus.
    let writers: IndexLists
    /// The group of each system that has one.
    let groups: [Int: Int]
    /// The names of the systems of each group, in the order of the group.
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
            // A system in several groups belongs to the first one.
            for system in group.systems where groups[system] == nil { groups[system] = index }
        }
        self.groups = groups
        groupSystems = graph.groups.map { group in group.systems.map { graph.systems[$0].name } }
    }
}

/// A list of indices for each of several parts, all in one array.
struct IndexLists: Sendable {
    /// The index at which the list of each part begins, and the end of the last list.
    private let starts: [Int]
    private let members: [Int]

    /// Creates the lists of a number of parts. Each list keeps the order of the pairs.
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
