/// Comparison of names and keys, which is done all the time and mostly finds two that differ.
extension String {
    /// Returns whether two texts are equal and equally long in UTF-8. The lengths are compared first, which is enough for
    /// most. Swift's `==` also accepts canonically equivalent texts of another length; these are different words here.
    @inline(__always) func isWord(_ other: String) -> Bool { utf8.count == other.utf8.count && self == other }
}

extension [String] {
    /// A Boolean value that indicates whether a word is among them. Linear.
    @inline(__always) func holdsWord(_ word: String) -> Bool {
        for index in indices where self[index].isWord(word) { return true }
        return false
    }

    /// The place of a word among them. Linear.
    @inline(__always) func placeOfWord(_ word: String) -> Int? {
        for index in indices where self[index].isWord(word) { return index }
        return nil
    }
}

/// Words, asked again and again whether one is among them: found by looking through a few, by hashing when there are more.
struct WordSet: Sendable {
    private static let few = 12
    /// The words, in order.
    let words: [String]
    private let hashed: Set<String>?

    /// Words, each as often as one likes.
    init(_ words: [String]) {
        self.words = words
        hashed = words.count > Self.few ? Set(words) : nil
    }

    /// The number of words.
    var count: Int { words.count }

    /// Returns whether a word is among them.
    func contains(_ word: String) -> Bool {
        guard let hashed else { return words.holdsWord(word) }
        return hashed.firstIndex(of: word).map { hashed[$0].isWord(word) } ?? false
    }
}
