/// Expressions in the braces of other languages: `{{ … }}`, as Jinja, Go and Ansible write them.
enum Braces {
    /// Texts that are longer are not looked at.
    private static let longest = 4_096

    /// The expression that a whole text is, between `${` and `}` or between `{{` and `}}`; nil: it is something else.
    static func inner(of text: String) -> String? {
        for (opening, closing) in [("${", "}"), ("{{", "}}")] where text.hasPrefix(opening) && text.hasSuffix(closing) {
            let inner = text.dropFirst(opening.count).dropLast(closing.count)
            guard text.count >= opening.count + closing.count, !inner.contains("{") else { continue }
            return trimmed(inner)
        }
        return nil
    }

    /// The parts of a text between `{{` and `}}`, in order, without those that begin with `${{`.
    static func parts(of text: String) -> [String] {
        guard text.utf8.count <= longest, text.holds("{{") else { return [] }
        var parts: [String] = []
        var rest = text[...]
        while let start = rest.firstRange(of: "{{") {
            let isOurs = rest[..<start.lowerBound].hasSuffix("$")
            let behind = rest[start.upperBound...]
            guard let end = behind.firstRange(of: "}}") else { break }
            if !isOurs { parts.append(trimmed(behind[..<end.lowerBound])) }
            rest = behind[end.upperBound...]
        }
        return parts
    }

    /// The parts of a text between `{` and `}`, in order, without those that begin with `${` or with a second brace.
    static func singleParts(of text: String) -> [String] {
        guard text.utf8.count <= longest, text.holds("{") else { return [] }
        var parts: [String] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: "{") {
            let isOurs = rest[..<start].hasSuffix("$")
            let behind = rest[rest.index(after: start)...]
            guard let end = behind.firstIndex(where: { $0 == "}" || $0 == "{" }) else { break }
            if !isOurs, behind[end] == "}" { parts.append(trimmed(behind[..<end])) }
            rest = behind[end] == "}" ? behind[behind.index(after: end)...] : behind[end...]
        }
        return parts
    }

    /// The names behind `$` and between `$(` and `)` in a text, in order, with the way in which they are written.
    static func dollarParts(of text: String) -> [(written: String, name: String)] {
        guard text.utf8.count <= longest, text.holds("$") else { return [] }
        var parts: [(written: String, name: String)] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: "$") {
            let behind = rest[rest.index(after: start)...]
            if behind.first == "(", let end = behind.firstIndex(of: ")") {
                let inner = behind[behind.index(after: behind.startIndex)..<end]
                parts.append(("$(\(inner))", trimmed(inner)))
                rest = behind[end...]
            } else {
                var name = behind.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }
                rest = behind[name.endIndex...]
                // A full stop may end the sentence.
                while name.last == "." { name.removeLast() }
                if !name.isEmpty { parts.append(("$\(name)", String(name))) }
            }
        }
        return parts
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
