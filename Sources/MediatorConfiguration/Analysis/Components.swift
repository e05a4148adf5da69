/// The strongly connected components of a directed graph (R. Tarjan, "Depth-first search and linear graph algorithms",
/// 1972), without recursion. Linear in nodes and edges.
///
/// - Parameter edges: By node, where its edges lead.
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

/// Sets of numbers that are joined two by two (union by halved paths: R. Tarjan and J. van Leeuwen, "Worst-case analysis
/// of set union algorithms", 1984). About linear in what is asked.
struct DisjointSets {
    private var parents: [Int]

    /// Each number below a count in a set of its own.
    init(_ count: Int) { parents = Array(0..<count) }

    /// A number that stands for the set in which one is.
    mutating func root(of number: Int) -> Int {
        var number = number
        while parents[number] != number {
            parents[number] = parents[parents[number]]
            number = parents[number]
        }
        return number
    }

    /// Makes one of two numbers' sets.
    mutating func join(_ first: Int, _ second: Int) { parents[root(of: first)] = root(of: second) }
}
