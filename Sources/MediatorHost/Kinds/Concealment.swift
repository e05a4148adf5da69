/// Takes values that came from elsewhere, such as credentials, out of what a kind of systems says: its errors are written
/// by others, and may show what it was given.
struct Concealment: Sendable {
    /// What takes the place of a value.
    static let mask = "(not shown)"
    /// So many characters of a value in a row are as much as the value itself.
    static let run = 8
    /// How much of a text is looked at; the rest is cut off, if there is something to be concealed.
    static let longestText = 4_096

    private let values: [String]

    /// - Parameter values: what is to be concealed.
    init(_ values: Set<String>) {
        self.values = values.filter { !$0.isEmpty }.sorted()
    }

    /// A text without the values, in whatever case they are written, and without longer parts of them.
    ///
    /// - Complexity: the text's length times the length of a run, and that of the values.
    func callAsFunction(_ text: String) -> String {
        guard !values.isEmpty else { return text }
        let scalars = Array(text.unicodeScalars.prefix(Self.longestText))
        let small = scalars.map(Self.small)
        var isHidden = Array(repeating: false, count: scalars.count)
        for value in values {
            hide(value, in: small, &isHidden)
            // As it is printed in quotes, in which some characters are written otherwise.
            let quoted = String(value.debugDescription.dropFirst().dropLast())
            if quoted != value { hide(quoted, in: small, &isHidden) }
        }
        var shown = String.UnicodeScalarView()
        for index in scalars.indices {
            if !isHidden[index] {
                shown.append(scalars[index])
            } else if index == 0 || !isHidden[index - 1] {
                shown.append(contentsOf: Self.mask.unicodeScalars)
            }
        }
        return String(shown) + (text.unicodeScalars.count > scalars.count ? "…" : "")
    }

    private func hide(_ value: String, in text: [Unicode.Scalar], _ isHidden: inout [Bool]) {
        let value = value.unicodeScalars.map(Self.small)
        let length = min(Self.run, value.count)
        guard length > 0, length <= text.count else { return }
        var places: [ArraySlice<Unicode.Scalar>: [Int]] = [:]
        for start in 0...(text.count - length) {
            // What is short may be a part of another word or number by chance.
            let isPart = isWithinWord(text, start) || isWithinWord(text, start + length)
            if length < 4, isPart { continue }
            places[text[start..<(start + length)], default: []].append(start)
        }
        for start in 0...(value.count - length) {
            for place in places[value[start..<(start + length)]] ?? [] {
                for index in place..<(place + length) { isHidden[index] = true }
            }
        }
    }

    /// Whether a word or number goes on from the place before to the place itself.
    private func isWithinWord(_ text: [Unicode.Scalar], _ index: Int) -> Bool {
        func isWord(_ index: Int) -> Bool {
            guard text.indices.contains(index) else { return false }
            return text[index].properties.isAlphabetic || text[index].properties.numericType != nil
        }
        return isWord(index - 1) && isWord(index)
    }

    /// A character in small letters; one stays one.
    private static func small(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        scalar.properties.lowercaseMapping.unicodeScalars.first ?? scalar
    }
}
