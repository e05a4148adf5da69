import CommonExpression

/// Proposes a name for one that does not exist.
package enum Nearest {
    /// The limit on names with the same beginning.
    private static let most = 3

    /// "; did you mean 'x'?" or nothing: the nearest name, or else those with the same beginning.
    package static func hint(_ text: String, among candidates: [String]) -> String {
        if let nearest = nearestName(to: text, among: candidates) { return "; did you mean '\(nearest)'?" }
        let longer = text.count < 2 ? [] : Set(candidates).filter { $0.hasPrefix(text) && $0 != text }.sorted()
        guard 1...most ~= longer.count else { return "" }
        return "; did you mean \(longer.map { "'\($0)'" }.joined(separator: " or "))?"
    }
}
