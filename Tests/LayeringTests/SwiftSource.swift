/// A Swift file, with its code separated from comments and the text of string literals.
struct SwiftSource {
    /// The lines, with every character blank that is not code. Code within an interpolation is code.
    let code: [Substring]
    /// Whether each line has a comment, or a part of one.
    let hasComment: [Bool]

    init(_ text: String) {
        var lexer = Lexer(text)
        lexer.run()
        let code = String(String.UnicodeScalarView(lexer.code))
        self.code = code.split(separator: "\n", omittingEmptySubsequences: false)
        self.hasComment = self.code.indices.map { lexer.commentedLines.contains($0) }
    }

    /// The words of the code, and each other character that is not white space, with the line (from 0) of each.
    var tokens: [(text: Substring, line: Int)] {
        var tokens: [(text: Substring, line: Int)] = []
        for (number, line) in code.enumerated() {
            var rest = line[...]
            while let first = rest.first {
                let end =
                    Self.isWordCharacter(first)
                    ? rest.firstIndex { !Self.isWordCharacter($0) } ?? rest.endIndex
                    : rest.index(after: rest.startIndex)
                if !first.isWhitespace { tokens.append((rest[..<end], number)) }
                rest = rest[end...]
            }
        }
        return tokens
    }

    static func isWordCharacter(_ character: Character) -> Bool {
        character == "_" || character.isLetter || character.isNumber
    }
}

/// Reads Swift's comments and string literals, and keeps the rest. Source: The Swift Programming Language, "Lexical
/// Structure". A regular expression literal is read as code, and a quotation mark in one as a string up to the line's
/// end.
private struct Lexer {
    private enum Mode {
        /// Code; within an interpolation, the number of parentheses that are open.
        case code(parentheses: Int)
        case string(hashes: Int, isMultiline: Bool)
    }

    private let text: [Unicode.Scalar]
    private var position = 0
    private var line = 0
    private var modes: [Mode] = [.code(parentheses: 0)]
    private(set) var code: [Unicode.Scalar] = []
    private(set) var commentedLines: Set<Int> = []

    init(_ text: String) {
        self.text = Array(text.unicodeScalars)
    }

    mutating func run() {
        while position < text.count {
            switch modes.last {
            case .string(let hashes, let isMultiline): readString(hashes: hashes, isMultiline: isMultiline)
            case .code, nil: readCode()
            }
        }
    }

    private func isAt(_ expected: String) -> Bool {
        text[position...].starts(with: expected.unicodeScalars)
    }

    /// Takes scalars, as code or as blanks.
    private mutating func take(_ count: Int = 1, asCode: Bool = false) {
        for _ in 0..<min(count, text.count - position) {
            let isNewline = text[position] == "\n"
            code.append(asCode || isNewline ? text[position] : " ")
            if isNewline { line += 1 }
            position += 1
        }
    }

    private mutating func readCode() {
        switch text[position] {
        case "/", "#", "\"", "(", ")": break
        default: return take(asCode: true)
        }
        if isAt("//") {
            commentedLines.insert(line)
            while position < text.count, text[position] != "\n" { take() }
        } else if isAt("/*") {
            readBlockComment()
        } else if let (hashes, isMultiline) = stringStart() {
            take(hashes + (isMultiline ? 3 : 1))
            modes.append(.string(hashes: hashes, isMultiline: isMultiline))
        } else {
            if case .code(let open) = modes.last, modes.count > 1 {
                if text[position] == "(" { modes[modes.count - 1] = .code(parentheses: open + 1) }
                if text[position] == ")" {
                    if open == 1 { modes.removeLast() } else { modes[modes.count - 1] = .code(parentheses: open - 1) }
                }
            }
            take(asCode: true)
        }
    }

    private mutating func readBlockComment() {
        var depth = 0
        repeat {
            commentedLines.insert(line)
            if isAt("/*") {
                depth += 1
                take(2)
            } else if isAt("*/") {
                depth -= 1
                take(2)
            } else {
                take()
            }
        } while depth > 0 && position < text.count
    }

    private func stringStart() -> (hashes: Int, isMultiline: Bool)? {
        let hashes = text[position...].prefix { $0 == "#" }.count
        let quotes = text[(position + hashes)...].prefix(3).prefix { $0 == "\"" }.count
        return quotes == 0 ? nil : (hashes, quotes == 3)
    }

    private mutating func readString(hashes: Int, isMultiline: Bool) {
        let marks = String(repeating: "#", count: hashes)
        if isAt("\\" + marks + "(") {
            take(1 + hashes)
            take(asCode: true)
            modes.append(.code(parentheses: 1))
        } else if isAt("\\" + marks) {
            // The escaped scalar; a newline is left for the case below.
            take(1 + hashes)
            if position < text.count, text[position] != "\n" { take() }
        } else if isAt((isMultiline ? "\"\"\"" : "\"") + marks) {
            take((isMultiline ? 3 : 1) + hashes)
            modes.removeLast()
        } else {
            // A string on one line ends there at the latest, so that a mistake of this reader ends there too.
            if text[position] == "\n", !isMultiline { modes.removeLast() }
            take()
        }
    }
}
