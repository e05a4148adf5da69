/// A filter that removes confidential values, such as credentials, from the messages of a kind of systems. Other
/// authors write these messages, and may put the parameters of the kind into them.
struct Concealment: Sendable {
    /// The text that replaces a value.
    static let mask = "(not shown)"
    /// The number of successive characters of a value that are as confidential as the value itself.
    static let run = 8
    /// The maximum number of characters of a text that are searched. The rest is cut off, unless no value must be
    /// concealed.
    static let longestText = 4_096

    private let values: [String]

    /// - Parameter values: The values to conceal.
    init(_ values: Set<String>) {
        self.values = values.filter { !$0.isEmpty }.sorted()
    }

    /// Returns a text without the values, in upper or lower case, and without parts of them with at least ``run``
    /// characters.
    ///
    /// - Complexity: The length of the text times ``run`` times the length of the values.
    func callAsFunction(_ text: String) -> String {
        guard !values.isEmpty else { return text }
        let scalars = Array(text.unicodeScalars.prefix(Self.longestText))
        let small = scalars.map(Self.small)
        var isHidden = Array(repeating: false, count: scalars.count)
        for value in values {
            hide(value, in: small, &isHidden)
            // The form that the value has in quotes, where some characters are escaped.
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
            // A short match may be a part of another word or number by chance.
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

    /// Returns a Boolean value that indicates whether an index lies inside a word or a number.
    private func isWithinWord(_ text: [Unicode.Scalar], _ index: Int) -> Bool {
        func isWord(_ index: Int) -> Bool {
            guard text.indices.contains(index) else { return false }
            return text[index].properties.isAlphabetic || text[index].properties.numericType != nil
        }
        return isWord(index - 1) && isWord(index)
    }

    /// Returns the lowercase form of a character as exactly one character.
    private static func small(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        scalar.properties.lowercaseMapping.unicodeScalars.first ?? scalar
    }
}
