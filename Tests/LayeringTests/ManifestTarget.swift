/// A target as a package manifest declares it, read from the text: enough for a manifest that lists its targets plainly.
struct ManifestTarget: Equatable {
    var name: String
    var isTest: Bool
    /// The targets and products it depends on, by name.
    var dependencies: [String]
    /// The line of the declaration, from 1.
    var line: Int

    /// The targets declared in a manifest's text.
    static func all(in text: String) -> [ManifestTarget] {
        // Comments must go, and strings must stay: so blank only the lines' comments.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(withoutComment)
        let text = lines.joined(separator: "\n")
        var targets: [ManifestTarget] = []
        var rest = text[...]
        // A name behind the target's own arguments, with `.target(` before it, is a dependency.
        while let (range, isTest) = nextBeginning(in: rest) {
            let arguments = balanced(rest[range.upperBound...], open: "(", close: ")")
            if let name = string(after: "name:", in: arguments) {
                let line = text[..<range.lowerBound].count { $0 == "\n" } + 1
                targets.append(
                    ManifestTarget(name: name, isTest: isTest, dependencies: dependencies(in: arguments), line: line))
            }
            rest = rest[arguments.endIndex...]
        }
        return targets
    }

    private static func nextBeginning(in text: Substring) -> (range: Range<Substring.Index>, isTest: Bool)? {
        let beginnings = [(".target(", false), (".executableTarget(", false), (".testTarget(", true)]
        return beginnings.compactMap { beginning, isTest in text.firstRange(of: beginning).map { ($0, isTest) } }
            .min { $0.0.lowerBound < $1.0.lowerBound }
    }

    private static func dependencies(in arguments: Substring) -> [String] {
        guard let label = arguments.firstRange(of: "dependencies:"),
            let bracket = arguments[label.upperBound...].firstIndex(of: "[")
        else { return [] }
        var rest = balanced(arguments[arguments.index(after: bracket)...], open: "[", close: "]")
        var names: [String] = []
        while let quote = rest.firstIndex(of: "\"") {
            if let call = rest.firstIndex(of: "("), call < quote {
                // `.product(name: "A", package: "b")` and the like: the name is what counts.
                let inner = balanced(rest[rest.index(after: call)...], open: "(", close: ")")
                if let name = string(after: "name:", in: inner) { names.append(name) }
                rest = rest[inner.endIndex...].dropFirst()
            } else {
                let end = rest[rest.index(after: quote)...].firstIndex(of: "\"") ?? rest.endIndex
                names.append(String(rest[rest.index(after: quote)..<end]))
                rest = rest[end...].dropFirst()
            }
        }
        return names
    }

    /// The text up to the bracket which closes one that was opened before it.
    private static func balanced(_ text: Substring, open: Character, close: Character) -> Substring {
        var depth = 1
        let end = text.firstIndex { character in
            if character == open { depth += 1 }
            if character == close { depth -= 1 }
            return depth == 0
        }
        return text[..<(end ?? text.endIndex)]
    }

    private static func string(after label: String, in text: Substring) -> String? {
        guard let range = text.firstRange(of: label) else { return nil }
        let parts = text[range.upperBound...].split(separator: "\"", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 ? String(parts[1]) : nil
    }

    private static func withoutComment(_ line: Substring) -> Substring {
        // A manifest's strings hold "//" only in addresses, behind a colon.
        for range in line.ranges(of: "//") where line[..<range.lowerBound].last != ":" {
            return line[..<range.lowerBound]
        }
        return line
    }
}
