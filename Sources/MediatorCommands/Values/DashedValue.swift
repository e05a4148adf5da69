/// A value on a command line that begins with '-' and so is taken for an option, where values may begin so.
struct DashedValue {
    /// The text to write instead.
    let advice: String

    /// Looks for one in a command line without the name of the program; nil if there is none.
    init?(in arguments: [String]) {
        guard let name = arguments.first, ["emit", "publish", "why-not", "eval"].contains(name),
            let verb = try? CommandLineInfo.current().verbs.first(where: { $0.name == name })
        else { return nil }
        // Words that are no options follow all options.
        var options: [String] = []
        var values: [String] = []
        var rest = arguments.dropFirst()
        var isBehindDashes = false
        var dashed = false
        while let word = rest.popFirst() {
            let isOption = !isBehindDashes && word.hasPrefix("-") && word != "-"
            if isOption, word == "--" {
                isBehindDashes = true
            } else if isOption, let option = verb.arguments.first(where: { $0.names.contains(Self.name(of: word)) }) {
                options.append(word)
                if option.kind == .option, !word.contains("="), let value = rest.popFirst() { options.append(value) }
            } else {
                guard !isOption || !word.hasPrefix("--") else { return nil }
                dashed = dashed || isOption
                values.append(word)
            }
        }
        guard dashed, let first = values.firstIndex(where: { $0.hasPrefix("-") }) else { return nil }
        let words = ["mediatorctl", name] + values[..<first] + options + ["--"] + values[first...]
        advice =
            "A value that begins with '-' is written behind `--`: "
            + "`\(words.map(ShellWord.quoted).joined(separator: " "))`."
    }

    /// The name of an option without its value.
    private static func name(of word: String) -> String { String(word.prefix { $0 != "=" }) }
}
