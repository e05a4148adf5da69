import CommonExpression

/// Finds what only a shell would understand in a command that none runs, and what a shell runs as a script.
///
/// It looks for slips and not for all that shells know: what other programs may mean by a word is left alone.
struct ShellWords {
    /// A remark about an element of a command.
    struct Remark {
        var element: Int
        var message: String
        var hint: String
    }

    private static let shells: Set<Substring> = ["sh", "bash", "dash", "ash", "ksh", "zsh"]
    /// Commands that exist only within a shell.
    private static let builtins: Set<String> = ["cd", "source", ".", "export", "alias", "set", "unset", "exec", "eval"]
    /// Programs that run another program.
    private static let wrappers: Set<Substring> = [
        "sudo", "doas", "env", "nice", "ionice", "timeout", "nohup", "setsid", "stdbuf", "busybox", "chrt", "runuser",
    ]
    /// Programs that interpret such words themselves, or give them to another shell.
    private static let readers: Set<Substring> = [
        "ssh", "expr", "test", "[", "jq", "parallel", "watch", "tcpdump", "tshark", "dpkg", "envsubst", "systemd-run",
        "su", "awk", "grep", "sed", "cut", "sort", "find",
    ]

    /// The texts of the elements as they are written; nil: it is something else than a text without expressions.
    private let literals: [String?]
    /// The elements that are written without quotes.
    private let plain: Set<Int>
    /// The element that names the program which is run in the end.
    private let program: Int
    private let name: Substring

    /// - Parameters:
    ///   - literals: the texts of the elements; nil: it is something else than a text without expressions.
    ///   - plain: the elements that are written without quotes.
    init(_ literals: [String?], plain: Set<Int>) {
        self.literals = literals
        self.plain = plain
        func name(at index: Int) -> Substring {
            guard literals.indices.contains(index), let literal = literals[index] else { return "" }
            return literal.split(separator: "/").last ?? ""
        }
        let first = name(at: 0)
        let inner =
            Self.wrappers.contains(first)
            ? literals.indices.first { Self.shells.contains(name(at: $0)) || Self.readers.contains(name(at: $0)) } : nil
        program = inner ?? 0
        self.name = name(at: inner ?? 0)
    }

    /// The first remark; nil if the command is fine.
    var remark: Remark? {
        if let lone = loneQuote ?? unusedArgument ?? openQuote { return lone }
        guard let first = literals.first ?? nil, !Self.shells.contains(name) else { return nil }
        if Self.builtins.contains(first) {
            let hint = first == "cd" ? "write directory: … beside 'command'" : "for a shell write [sh, -c, \"…\"]"
            return Remark(element: 0, message: "'\(first)' is no program: only shells have it", hint: hint)
        }
        if Self.isLine(first) {
            let list = ListText.suggestion(for: first, isCommand: true)
            return Remark(
                element: 0, message: "'\(first)' is the name of one program, with its spaces",
                hint:
                    "write each word as an element of its own: \(literals.count == 1 ? list : "\(list.dropLast()), …]")"
            )
        }
        guard !Self.readers.contains(name) else { return nil }
        for index in literals.indices {
            guard let literal = literals[index], let hint = hint(for: literal, at: index) else { continue }
            return Remark(
                element: index, message: "no shell runs this command, so it is given '\(literal)' as it stands",
                hint: hint)
        }
        return nil
    }

    /// A remark about an element that ends with a quote without an opening one: `[echo, hello"]`. YAML takes it as it stands.
    private var loneQuote: Remark? {
        for index in literals.indices where plain.contains(index) {
            guard let text = literals[index], text.contains("\"") else { continue }
            // An earlier part of a text that a comma has cut has the opening quote.
            guard text.firstIndex(of: "\"") == text.index(before: text.endIndex) else { return nil }
            // The delimiter of cut(1), for example, is an option: -d"
            guard let before = text.dropLast().last, before.isLetter || ")}]".contains(before), !text.hasPrefix("-")
            else { continue }
            // A comma may have cut the script of a shell.
            let script = Self.shells.contains(name) ? scripts.first { $0 < index && plain.contains($0) } : nil
            let parts = literals[(script ?? index)...index]
            let whole = parts.compactMap { $0 }.joined(separator: ", ").dropLast()
            let isKnown = parts.allSatisfy { $0 != nil }
            return Remark(
                element: index, message: "the quote at the end of '\(text)' has no opening quote",
                hint: isKnown && !whole.contains("\\") ? "write \"\(whole)\"" : "put quotes around the whole text")
        }
        return nil
    }

    /// A remark about arguments behind `sh -c` that the script does not use: mostly, a comma has cut the script.
    private var unusedArgument: Remark? {
        guard Self.shells.contains(name), let script = scripts.first, script + 1 < literals.count,
            let text = literals[script]
        else { return nil }
        let rest = literals[script...].compactMap { $0 }
        let marks = text.indices.filter { text[$0] == "$" }.map { text[text.index(after: $0)...].first }
        let isUsing = marks.contains { mark in mark.map { $0.isNumber || "@*#{".contains($0) } ?? false }
        guard !isUsing, rest.count == literals.count - script else { return nil }
        return Remark(
            element: script + 1, message: "the script before this does not use this argument",
            hint: "a text with a comma needs quotes\(Self.quoted(rest.joined(separator: ", ")).map { ": \($0)" } ?? "")"
        )
    }

    /// A remark about a script with a quote that never ends. Scripts with comments, here-documents or commands within are left
    /// out, because their quotes follow other rules.
    private var openQuote: Remark? {
        guard Self.shells.contains(name), let script = scripts.first, let text = literals[script],
            !["<<", "$(", "`", "#", "$'"].contains(where: text.contains)
        else { return nil }
        var quote: Character?
        var isEscaped = false
        for character in text {
            if isEscaped {
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            }
        }
        return quote.map { quote in
            Remark(
                element: script, message: "the quote \(quote) in this script never ends",
                hint: "end it, or write \\\(quote) for the character itself")
        }
    }

    /// The text in the quotes that it does not contain itself; nil if it contains both kinds.
    private static func quoted(_ text: String) -> String? {
        if !text.contains("\"") { return "\"\(text)\"" }
        return text.contains("'") ? nil : "'\(text)'"
    }

    /// Returns whether the name of a program looks like a command line: `rsync -a /srv`, but not `/opt/My App/run`.
    private static func isLine(_ name: String) -> Bool {
        let words = name.split(separator: " ")
        guard words.count > 1 else { return false }
        return !words[0].contains("/") || words[1].hasPrefix("-") || words[1].hasPrefix("/")
            || !words.dropFirst().contains { $0.contains("/") }
    }

    /// The elements that a shell runs as its script, on this machine or on another.
    var scripts: [Int] {
        if name == "ssh" { return Array(literals.indices.dropFirst(host + 1)) }
        guard Self.shells.contains(name) else { return [] }
        var index = program + 1
        var runsText = false
        while index < literals.count, let literal = literals[index], literal.hasPrefix("-") || literal.hasPrefix("+") {
            index += 1
            if literal.hasPrefix("--") { continue }
            if literal.contains("c") { runsText = true }
            // -o pipefail
            if literal.lowercased().hasSuffix("o") { index += 1 }
        }
        return runsText && index < literals.count ? [index] : []
    }

    /// The index of the host in the arguments of ssh(1), after its options.
    private var host: Int {
        var index = program + 1
        while index < literals.count, let literal = literals[index], literal.hasPrefix("-") {
            index += literal.count == 2 && "BbcDEeFIiJLlmOopQRSWw".contains(literal.suffix(1)) ? 2 : 1
        }
        return index
    }

    /// Advice in place of a word of a shell; nil: it may have another meaning.
    private func hint(for word: String, at index: Int) -> String? {
        let shell = "for a shell write [sh, -c, \"…\"]"
        if word == "~" || word.hasPrefix("~/") { return "write the whole path; \(shell)" }
        if word.hasPrefix("$(") && word.hasSuffix(")") { return shell }
        if word.hasPrefix("$") {
            let variable = word.dropFirst().prefix { $0 != "/" }
            guard variable == variable.uppercased(), Names.isIdentifier(String(variable)) else { return nil }
            return "of a variable of the environment write !env \(variable); \(shell)"
        }
        guard index > 0 else { return nil }
        if Self.isRedirection(word) { return shell }
        let isBehindOption = literals[index - 1]?.hasPrefix("-") ?? false
        let next = index + 1 < literals.count ? literals[index + 1] : nil
        switch word {
        case "&&", "||": return next == nil ? nil : shell
        case "|": return !isBehindOption && (next?.first?.isLetter ?? false) ? shell : nil
        case ">", ">>", "<": return !isBehindOption && (next?.contains("/") ?? false) ? shell : nil
        default: return nil
        }
    }

    /// Returns whether a word leads what a program writes elsewhere: `2>&1`, `>/dev/null`.
    private static func isRedirection(_ word: String) -> Bool {
        var rest = word[...]
        if let first = rest.first, "12&".contains(first) { rest = rest.dropFirst() }
        guard rest.first == ">" else { return false }
        rest = rest.dropFirst(rest.hasPrefix(">>") ? 2 : 1)
        return rest.hasPrefix("&1") || rest.hasPrefix("&2") || rest.hasPrefix("/")
    }
}

extension Environment {
    /// Returns whether a variable may be any text, which is not in the hands of the configuration's author.
    func mayBeText(_ path: [String]) -> Bool {
        guard let variable = variables.first(where: { $0.name == path.first }) else { return false }
        var type = variable.type
        for name in path.dropFirst() {
            guard case .structure(let structure) = type, let index = structure.index(of: name) else { break }
            type = structure.fields[index].type
        }
        return type.holdsText
    }
}

extension ValueType {
    /// A Boolean value that indicates whether values of it are texts, or may have texts in them.
    fileprivate var holdsText: Bool {
        switch self {
        case .bool, .int, .uint, .double, .timestamp, .duration, .null, .type: false
        case .optional(let type), .list(let type): type.holdsText
        case .structure(let structure): structure.fields.contains { $0.type.holdsText }
        case .string, .bytes, .dyn, .map: true
        }
    }
}
