/// The messages of the parser, with advice for common mistakes.
extension Parser {
    func report(
        _ code: Problem.Code, _ statement: String, advice: String? = nil, at range: SourceRange,
        detail: Problem.Detail? = nil
    ) -> Abort {
        if problems.count < Problems.most {
            problems.append(
                Problem(code: code, statement: statement, advice: advice, range: range, detail: detail))
        }
        return Abort()
    }

    /// Reports the current token, unless the lexer has reported it.
    func unexpected(_ what: String) -> Abort {
        let token = token
        guard token.kind != .invalid else { return Abort() }
        if token.kind == .end {
            return report(
                .syntax, "expected \(what), but the expression ends here", at: token.range,
                detail: .endsEarly(expected: what))
        }
        return report(
            .syntax, "expected \(what), not \(describe(token))", advice: advice(for: token), at: token.range)
    }

    private func describe(_ token: Token) -> String {
        switch token.kind {
        case .end: "the end"
        case .identifier: "'\(Excerpt.of(text(of: token)))'"
        case .quotedIdentifier: "'`\(Excerpt.of(text(of: token)))`'"
        case .int, .uint, .double: "a number"
        case .string: "a string"
        case .bytes: "bytes"
        default: "'\(token.kind.symbol)'"
        }
    }

    /// Returns advice about a word in place of an operator, or about the word before it.
    private func advice(for token: Token) -> String? {
        if position > 0, tokens[position - 1].kind == .identifier, text(of: tokens[position - 1]) == "not" {
            return "'not' is written '!'"
        }
        if token.kind == .comma, isDecimal(at: position) { return "a decimal point is written '.'" }
        guard token.kind == .identifier else { return nil }
        return switch text(of: token) {
        case "contains", "startsWith", "endsWith", "matches": "it is a function: write .\(text(of: token))(…)"
        case let text: advice(forOperator: text.lowercased())
        }
    }

    private func advice(forOperator word: String) -> String? {
        switch word {
        case "and": "'and' is written '&&'"
        case "or": "'or' is written '||'"
        case "is", "eq", "equals": "equality is written '=='"
        case "ne": "inequality is written '!='"
        case "not": "'not' is written '!'"
        default: nil
        }
    }

    /// Returns whether a comma separates two integers without a blank.
    private func isDecimal(at index: Int) -> Bool {
        guard index > 0, index + 1 < tokens.count else { return false }
        let (before, comma, after) = (tokens[index - 1], tokens[index], tokens[index + 1])
        return before.kind == .int && after.kind == .int && before.range.end == comma.range.start
            && comma.range.end == after.range.start
    }
}
