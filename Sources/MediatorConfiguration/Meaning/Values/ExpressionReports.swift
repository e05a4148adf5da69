import CommonExpression

extension CompilationContext {
    /// Reports an expression's problems where they are written.
    func report(
        _ problems: Problems, _ scalar: Scalar, _ scope: VariableScope, in source: SourceText, state: String?
    ) {
        let map = ScalarMap(scalar, in: source)
        for problem in problems.problems {
            let range = problem.range.start..<max(problem.range.start, problem.range.end)
            let span = map?.span(range) ?? scalar.span
            if problem.code == .unknownVariable,
                let absence = scope.absence(of: Self.text(range, of: scalar.text))
            {
                diagnostics.report(absence.code, in: source, at: span, absence.message, hint: absence.hint)
                continue
            }
            let remedy = remedy(for: problem, at: range, scalar, scope, in: source)
            var message = remedy.replacesAdvice ? problem.statement : problem.message
            if let state { message += " (in state '\(state)')" }
            diagnostics.report(Diagnostic.Code(problem.code), in: source, at: span, message, hint: remedy.hint)
        }
    }

    /// Returns the hint for a problem, which has a line of its own, and whether it replaces the advice of the expression
    /// language.
    private func remedy(
        for problem: Problem, at range: Range<Int>, _ scalar: Scalar, _ scope: VariableScope, in source: SourceText
    ) -> (hint: String?, replacesAdvice: Bool) {
        let isUnknown = problem.code == .unknownVariable
        if Self.isCut(scalar, problem.detail, after: range, in: source) {
            let hint = "what follows ' #' is a comment; write the whole between quotation marks: 'a == \"b #1\"'"
            return (hint, true)
        }
        if Self.isNamedState(scalar.text), isUnknown || problem.code == .typeMismatch {
            let hint =
                "a condition compares data; a state is chosen by 'onState' of a feedback or link, and by the key above a transition"
            return (hint, isUnknown && problem.suggestion == nil)
        }
        if let suggestion = problem.suggestion { return ("did you mean '\(suggestion)'?", true) }
        if isUnknown { return (hint(onVariableAt: range, scalar, scope), true) }
        if problem.code == .syntax, Self.hasDoubleBrace(before: range, of: scalar.text) {
            return ("an expression stands between '${' and '}', with one brace each: \"${state.n}\"", false)
        }
        if Self.isCommented(after: range, of: scalar.text) {
            return ("'//' begins a comment; write '/' to divide", false)
        }
        return (nil, false)
    }

    /// Returns the variables that an expression may use, with advice about an unknown name.
    private func hint(onVariableAt range: Range<Int>, _ scalar: Scalar, _ scope: VariableScope) -> String {
        let variables = scope.variables(and: constants.map(\.name))
        let name = Self.text(range, of: scalar.text)
        if scalar.text == "${\(name)}", name == name.uppercased() {
            return "\(variables); a variable of the environment is written !env \(name)"
        }
        if scalar.text.contains("${\(name)}"), Self.looksLikeScript(scalar.text) {
            return "\(variables); a shell's '${\(name)}' is written '$${\(name)}' here"
        }
        return Self.isOperand(range, of: scalar.text) ? "\(variables); a text is written \"\(name)\"" : variables
    }

    /// Returns whether an expression is nothing but a name as states have it.
    private static func isNamedState(_ text: String) -> Bool {
        Names.isIdentifier(text) && text.first.map(\.isUppercase) ?? false
    }

    /// Returns whether a range is compared with something or given to a function, as a text would be.
    private static func isOperand(_ range: Range<Int>, of text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard range.upperBound <= bytes.count else { return false }
        let before = String(decoding: bytes[..<range.lowerBound].suffix(64), as: UTF8.self)
            .reversed().drop { $0 == " " }
        let after = String(decoding: bytes[range.upperBound...].prefix(64), as: UTF8.self).drop { $0 == " " }
        // The parenthesis of a call, and not one that only holds together.
        let isArgument =
            (before.first == "(" && before.dropFirst().first.map { $0.isLetter || $0.isNumber } ?? false)
            || before.first == "[" || before.first == ","
        return isArgument || ["==", "=!"].contains { before.starts(with: $0) }
            || ["==", "!=", "in "].contains { after.hasPrefix($0) }
    }

    /// Returns whether a text seems to be for a shell.
    private static func looksLikeScript(_ text: String) -> Bool {
        ["; ", "$(", "\n", " | ", "&& ", "echo "].contains { text.contains($0) }
    }

    /// Returns whether `${{` stands somewhere before the end of a problem, and is no `${{` that is meant as text.
    private static func hasDoubleBrace(before range: Range<Int>, of text: String) -> Bool {
        let bytes = Array(text.utf8.prefix(range.upperBound))
        let mark = Array("${{".utf8)
        guard bytes.count >= mark.count else { return false }
        return (0...(bytes.count - mark.count)).contains { start in
            bytes[start..<(start + mark.count)].elementsEqual(mark)
                && (start == 0 || bytes[start - 1] != UInt8(ascii: "$"))
        }
    }

    /// Returns whether a range ends where a comment begins.
    private static func isCommented(after range: Range<Int>, of text: String) -> Bool {
        let rest = text.utf8.dropFirst(range.upperBound).drop { $0 == UInt8(ascii: " ") }
        return rest.starts(with: "//".utf8)
    }

    /// Returns whether an expression that ends too early may do so since YAML takes the rest of the line for a comment.
    private static func isCut(
        _ scalar: Scalar, _ detail: Problem.Detail?, after range: Range<Int>, in source: SourceText
    ) -> Bool {
        switch detail {
        case .unclosed, .endsEarly: break
        case nil: return false
        }
        guard scalar.style == .plain, scalar.span.end < source.bytes.count else { return false }
        guard range.upperBound >= scalar.text.utf8.count || text(range, of: scalar.text) == "${" else { return false }
        let rest = source.bytes[scalar.span.end...]
        return rest.first == UInt8(ascii: " ")
            && rest.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } == UInt8(ascii: "#")
    }

    static func text(_ range: Range<Int>, of text: String) -> String {
        let bytes = Array(text.utf8)
        let start = min(max(0, range.lowerBound), bytes.count)
        return String(decoding: bytes[start..<min(max(start, range.upperBound), bytes.count)], as: UTF8.self)
    }
}
