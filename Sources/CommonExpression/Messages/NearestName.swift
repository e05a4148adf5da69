/// Finds the name that was probably meant. This is the candidate with the least edit distance (insertions, deletions,
/// replacements and swaps of neighbours, ignoring case), if that is at most a third of the name's length.
///
/// The distance is the optimal string alignment distance (G. Boytsov, "Indexing Methods for Approximate Dictionary
/// Searching", 2011). Names longer than 128 code points are not compared. Of equally near candidates, the first in
/// lexicographic order is taken. The cost is the product of both lengths per candidate.
/// - Parameters:
///   - name: The name as written.
///   - candidates: The known names.
/// - Returns: The nearest candidate, or nil if none is near. Never `name` itself.
public func nearestName(to name: String, among candidates: some Sequence<String>) -> String? {
    let written = Array(name.lowercased().unicodeScalars)
    guard !written.isEmpty, written.count <= EditDistance.longestName else { return nil }
    var nearest: (name: String, distance: Int)?
    for candidate in candidates where candidate != name {
        let known = Array(candidate.lowercased().unicodeScalars)
        guard known.count <= EditDistance.longestName else { continue }
        let most = max(written.count, known.count) < 3 ? 1 : max(1, written.count / 3)
        guard abs(written.count - known.count) <= most else { continue }
        let distance = EditDistance.between(written, known)
        guard distance <= most, distance < min(written.count, known.count) || distance == 0 else { continue }
        if let best = nearest, (best.distance, best.name) <= (distance, candidate) { continue }
        nearest = (candidate, distance)
    }
    return nearest?.name
}

/// The distance behind ``nearestName(to:among:)``.
enum EditDistance {
    /// The longest name that is compared.
    static let longestName = 128

    /// Computes the optimal string alignment distance from the last three rows of its table.
    static func between(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var beforePrevious = [Int](repeating: 0, count: right.count + 1)
        var previous = Array(0...right.count)
        var current = previous
        for row in 0..<left.count {
            current[0] = row + 1
            for column in 0..<right.count {
                let replaced = previous[column] + (left[row] == right[column] ? 0 : 1)
                var least = min(replaced, previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    least = min(least, beforePrevious[column - 1] + 1)
                }
                current[column + 1] = least
            }
            (beforePrevious, previous, current) = (previous, current, beforePrevious)
        }
        return previous[right.count]
    }
}
