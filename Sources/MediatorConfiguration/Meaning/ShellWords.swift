import CommonExpression

/// Finds what only a shell would understand in a command that none runs, and data in what one runs.
struct ShellWords {
    /// What is to be said of an element of a command.
    struct Finding {
        var element: Int
        var message: String
        var hint: String
    }

    private static let shells: Set<Substring> = ["sh", "bash", "dash", "ash", "ksh", "zsh"]
    /// What a program cannot do for another, and so is part of shells.
    private static let builtins: Set<String> = ["cd", "source", ".", "export", "alias", "set", "unset", "exec", "eval"]
    /// A `;` ends what `find` executes.
    private static let operators: Set<String> = ["&&", "||", "|", "&", ">", ">>", "<", "<<", "2>&1", "1>&2", "&>"]

    /// What means something of its own by such words, or has another shell read them.
    private static let readers: Set<Substring> = ["ssh", "expr", "test", "[", "jq", "parallel", "watch"]

    /// The texts of the elements as they are written; nil: it is something else than a text without expressions.
    private let literals: [String?]

    /// - Parameter literals: the texts of the elements; nil: it is something else than a text without expressions.
    init(_ literals: [String?]) {
        self.literals = literals
    }

    /// The first that is to be said; nil: there is nothing.
    var finding: Finding? {
        guard let program = literals.first ?? nil, script == nil else { return nil }
        if Self.builtins.contains(program) {
            let hint = program == "cd" ? "write directory: … beside 'command'" : "for a shell write [sh, -c, \"…\"]"
            return Finding(element: 0, message: "'\(program)' is no program: only shells have it", hint: hint)
        }
        if program.contains(" "), !program.contains("/") {
            let list = ListText.suggestion(for: program, isCommand: true)
            return Finding(
                element: 0, message: "'\(program)' is the name of one program, with its spaces", hint: "write \(list)")
        }
        if let name = program.split(separator: "/").last, Self.readers.contains(name) { return nil }
        for (index, literal) in literals.enumerated().dropFirst() {
            guard let literal, let hint = Self.hint(for: literal) else { continue }
            return Finding(
                element: index, message: "no shell runs this command, so it is given '\(literal)' as it stands",
                hint: hint)
        }
        return nil
    }

    /// Which element a shell runs as a script; nil: no shell runs any.
    var script: Int? {
        guard let program = literals.first ?? nil, let name = program.split(separator: "/").last,
            Self.shells.contains(name)
        else { return nil }
        // The options before it may be joined: -ec.
        for (index, literal) in literals.enumerated().dropFirst() {
            guard let literal, literal.hasPrefix("-"), !literal.hasPrefix("--") else { return nil }
            if literal.contains("c") { return index + 1 < literals.count ? index + 1 : nil }
        }
        return nil
    }

    /// What to write instead of a word of a shell; nil: it is none.
    private static func hint(for word: String) -> String? {
        let shell = "for a shell write [sh, -c, \"…\"]"
        if operators.contains(word) || (word.hasPrefix("$(") && word.hasSuffix(")")) { return shell }
        if word == "~" || word.hasPrefix("~/") { return "write the whole path; \(shell)" }
        guard word.hasPrefix("$"), word == word.uppercased(), Names.isIdentifier(String(word.dropFirst())) else {
            return nil
        }
        return "of a variable of the environment write !env \(word.dropFirst()); \(shell)"
    }
}
