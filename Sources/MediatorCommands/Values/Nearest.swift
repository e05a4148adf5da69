/// The most similar of several names, for "did you mean".
package enum Nearest {
    /// The candidate with the least edit distance, the first of equals; nil when none is similar.
    ///
    /// Similar is what differs by at most a third of its letters, and by three at most. Case counts for nothing.
    package static func name(to text: String, among candidates: [String]) -> String? {
        let limit = min(3, max(1, text.count / 3))
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(text.lowercased(), candidate.lowercased())
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// "; did you mean 'x'?" or nothing.
    static func hint(_ text: String, among candidates: [String]) -> String {
        name(to: text, among: candidates).map { "; did you mean '\($0)'?" } ?? ""
    }

    /// How many letters have to be inserted, removed, replaced or swapped with their neighbour (optimal string
    /// alignment). Texts are compared up to 64 letters.
    package static func distance(_ first: String, _ second: String) -> Int {
        let first = Array(first.prefix(64))
        let second = Array(second.prefix(64))
        var beforePrevious: [Int] = []
        var previous = Array(0...second.count)
        for row in first.indices {
            var current = [row + 1]
            for column in second.indices {
                let replaced = previous[column] + (first[row] == second[column] ? 0 : 1)
                var least = min(replaced, previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                    least = min(least, beforePrevious[column - 1] + 1)
                }
                current.append(least)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[second.count]
    }
}
