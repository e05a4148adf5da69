import CommonExpression

/// What was probably meant by a name that nothing has.
package enum Nearest {
    /// So many names that begin with what was written are told.
    private static let most = 3

    /// "; did you mean 'x'?" or nothing: the name that is nearest, or else those that begin with what was written.
    package static func hint(_ text: String, among candidates: [String]) -> String {
        if let nearest = nearestName(to: text, among: candidates) { return "; did you mean '\(nearest)'?" }
        let longer = text.count < 2 ? [] : Set(candidates).filter { $0.hasPrefix(text) && $0 != text }.sorted()
        guard 1...most ~= longer.count else { return "" }
        return "; did you mean \(longer.map { "'\($0)'" }.joined(separator: " or "))?"
    }
}
