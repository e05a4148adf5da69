/// One import declaration.
struct Import: Equatable {
    /// The module; of `import struct A.B.c` it is `A`.
    var module: String
    /// `public`, `package`, `internal`, `fileprivate`, `private`, or `nil` where none is written.
    var access: String?
    /// The attributes by name, without `@` and arguments.
    var attributes: [String] = []
    /// The line, from 1.
    var line: Int

    private static let accessLevels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
    private static let kinds: Set<Substring> = [
        "typealias", "struct", "class", "enum", "protocol", "let", "var", "func",
    ]

    /// All import declarations of a file, wherever they stand in it.
    static func all(in source: SwiftSource) -> [Import] {
        let tokens = source.tokens
        return tokens.indices.compactMap { index in
            // `import` is a keyword; only behind a point, or in backticks, is it a name.
            guard tokens[index].text == "import", index == 0 || !".`".contains(tokens[index - 1].text) else {
                return nil
            }
            var name = index + 1
            if name < tokens.count, kinds.contains(tokens[name].text) { name += 1 }
            if name < tokens.count, tokens[name].text == "`" { name += 1 }
            guard name < tokens.count else { return nil }
            var found = Import(module: String(tokens[name].text), access: nil, line: tokens[index].line + 1)
            found.readModifiers(before: index, in: tokens.map(\.text))
            return found
        }
    }

    /// Reads access level and attributes backwards from `import`.
    private mutating func readModifiers(before index: Int, in tokens: [Substring]) {
        var index = index - 1
        while index >= 0 {
            if Self.accessLevels.contains(tokens[index]) {
                access = String(tokens[index])
                index -= 1
            } else if tokens[index] == ")", let open = tokens[..<index].lastIndex(of: "("), open >= 2,
                tokens[open - 2] == "@"
            {
                attributes.insert(String(tokens[open - 1]), at: 0)
                index = open - 3
            } else if index >= 1, tokens[index - 1] == "@" {
                attributes.insert(String(tokens[index]), at: 0)
                index -= 2
            } else {
                return
            }
        }
    }
}
