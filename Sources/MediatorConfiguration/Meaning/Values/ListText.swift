/// A suggestion of a YAML list (YAML 1.2.2 § 7.4.1) in place of a single text.
enum ListText {
    /// Longer texts are not repeated.
    private static let most = 60

    /// The words of a text as a list: `[df, -h, /]`; of a command line that needs a shell, the shell with it:
    /// `[sh, -c, "df -h | tail -1"]`.
    ///
    /// - Parameter isCommand: whether the list is a command with its arguments.
    static func suggestion(for text: String, isCommand: Bool) -> String {
        if isCommand, needsShell(text) {
            let (shell, script) = script(in: text)
            return "[\(shell), -c, \(script.count > most ? "\"…\"" : LinkText.quoted(script))]"
        }
        let shown = String(text.prefix(most))
        return "[\(shown.split(whereSeparator: \.isWhitespace).map { element(String($0)) }.joined(separator: ", "))]"
    }

    /// Returns whether only a shell does what a command line seems to say.
    private static func needsShell(_ text: String) -> Bool {
        let special = Set("|&;<>()`\\\"'*\n\r")
        let words = text.split(separator: " ")
        // Variables before the program, a home directory, a comment, and what only a shell does.
        if words.contains(where: { $0.hasPrefix("~") || $0.hasPrefix("#") })
            || words.first.map({ $0.contains("=") || $0 == "cd" || $0 == "source" || $0 == "." }) == true
        {
            return true
        }
        var previous: Character?
        for character in text {
            if special.contains(character) || (previous == "$" && !character.isWhitespace) {
                return true
            }
            previous = character
        }
        return false
    }

    /// The shell and its script: the whole text, or the script that the text itself gives to a shell.
    private static func script(in text: String) -> (shell: String, script: String) {
        let words = text.split(separator: " ", maxSplits: 2)
        guard words.count == 3, ["sh", "bash", "/bin/sh", "/bin/bash"].contains(words[0]), words[1] == "-c",
            let quote = words[2].first, quote == "'" || quote == "\"", words[2].last == quote,
            words[2].dropFirst().firstIndex(of: quote) == words[2].index(before: words[2].endIndex)
        else { return ("sh", text) }
        return (String(words[0]), String(words[2].dropFirst().dropLast()))
    }

    /// A text as an element of a list within brackets.
    private static func element(_ text: String) -> String {
        let isText = if case .text = CoreSchema(plain: text) { true } else { false }
        let indicators = Set(",[]{}#&*!|>'\"%@`:?")
        guard isText, text != "-", !text.contains(where: indicators.contains) else { return LinkText.quoted(text) }
        return text
    }
}
