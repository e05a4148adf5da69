/// Searches in sequences by the algorithm of Knuth, Morris and Pratt ("Fast Pattern Matching in Strings", 1977), in
/// time linear in the sum of both lengths.
enum SequenceSearch {
    /// Returns the first position of `part` in `text`, not before `start`, or nil if it does not occur. An empty part
    /// occurs everywhere, also at the end.
    static func first<Element: Equatable>(_ part: [Element], in text: [Element], from start: Int = 0) -> Int? {
        guard !part.isEmpty else { return start <= text.count ? start : nil }
        guard start >= 0, start <= text.count - part.count else { return nil }
        return matches(part, in: text, from: start, most: 1).first
    }

    /// Returns all positions of `part` in `text` that do not overlap, from the left. The part must not be empty.
    static func all<Element: Equatable>(_ part: [Element], in text: [Element]) -> [Int] {
        guard !part.isEmpty, text.count >= part.count else { return [] }
        return matches(part, in: text, from: 0, most: Int.max)
    }

    private static func matches<Element: Equatable>(
        _ part: [Element], in text: [Element], from start: Int, most: Int
    ) -> [Int] {
        var borders = [Int](repeating: 0, count: part.count)
        var length = 0
        for index in part.indices.dropFirst() {
            while length > 0, part[index] != part[length] { length = borders[length - 1] }
            if part[index] == part[length] { length += 1 }
            borders[index] = length
        }
        var found: [Int] = []
        length = 0
        for index in start..<text.count {
            while length > 0, text[index] != part[length] { length = borders[length - 1] }
            if text[index] == part[length] { length += 1 }
            guard length == part.count else { continue }
            found.append(index + 1 - part.count)
            if found.count == most { break }
            length = 0
        }
        return found
    }
}
