/// The strongly connected components of a directed graph (R. Tarjan, "Depth-first search and linear graph algorithms",
/// 1972), without recursion. Linear in nodes and edges.
///
/// - Parameter edges: By node, the nodes to which its edges lead.
/// - Returns: By node, the number of its component.
func stronglyConnectedComponents(_ edges: [[Int]]) -> [Int] {
    var order = Array(repeating: -1, count: edges.count)
    var low = order
    var component = order
    var stack: [Int] = []
    var path: [(node: Int, next: Int)] = []
    var visited = 0
    var components = 0
    for root in edges.indices where order[root] < 0 {
        path.append((root, 0))
        while let (node, next) = path.last {
            if next == 0 {
                order[node] = visited
                low[node] = visited
                visited += 1
                stack.append(node)
            }
            if next < edges[node].count {
                path[path.count - 1].next += 1
                let target = edges[node][next]
                if order[target] < 0 {
                    path.append((target, 0))
                } else if component[target] < 0 {
                    low[node] = min(low[node], order[target])
                }
                continue
            }
            path.removeLast()
            if let parent = path.last?.node { low[parent] = min(low[parent], low[node]) }
            guard low[node] == order[node] else { continue }
            while let last = stack.popLast() {
                component[last] = components
                if last == node { break }
            }
            components += 1
        }
    }
    return component
}

/// The components that are circles: those with several nodes, or with an edge from their node to itself.
///
/// - Parameter edges: By node, the nodes to which its edges lead.
func cyclicComponents(_ edges: [[Int]]) -> [[Int]] {
    var groups: [Int: [Int]] = [:]
    for (node, component) in stronglyConnectedComponents(edges).enumerated() {
        groups[component, default: []].append(node)
    }
    return groups.values.filter { $0.count > 1 || edges[$0[0]].contains($0[0]) }.sorted { $0[0] < $1[0] }
}

/// The nodes to which edges lead from some nodes, and these nodes.
func reachedNodes(from start: some Sequence<Int>, _ edges: [[Int]]) -> Set<Int> {
    var reached = Set(start)
    var waiting = Array(reached)
    while let node = waiting.popLast() {
        for next in edges[node] where reached.insert(next).inserted { waiting.append(next) }
    }
    return reached
}

/// Disjoint sets of numbers (union with path halving: R. Tarjan and J. van Leeuwen, "Worst-case analysis of set union
/// algorithms", 1984). Each operation takes nearly constant time.
struct DisjointSets {
    private var parents: [Int]

    /// Creates a set for each number below a count.
    init(_ count: Int) { parents = Array(0..<count) }

    /// The representative of the set of a number.
    mutating func root(of number: Int) -> Int {
        var number = number
        while parents[number] != number {
            parents[number] = parents[parents[number]]
            number = parents[number]
        }
        return number
    }

    /// Joins the sets of two numbers.
    mutating func join(_ first: Int, _ second: Int) { parents[root(of: first)] = root(of: second) }
}
