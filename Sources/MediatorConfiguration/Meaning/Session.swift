import CommonExpression

/// What one compilation shares: findings, and expressions already parsed.
final class Session {
    /// Where mistakes go.
    let findings: Findings
    /// Whether an expression compiled since this was last set to false names `state`, so that another state needs
    /// another program. (It may do so within a literal: then it is compiled once more than needed.)
    var mentionsState = false
    private var budget = ConfigurationLimits.statePrograms
    private var expressions: [String: Result<Expression, Problems>] = [:]
    private var templates: [String: Result<Template, Problems>] = [:]

    /// A compilation that reports to the given findings.
    init(_ findings: Findings) { self.findings = findings }

    /// Begins a system or link, with a fresh budget of programs.
    func begin() { budget = ConfigurationLimits.statePrograms }

    /// Takes programs from the budget; false if it is used up.
    func spend(_ programs: Int) -> Bool {
        budget -= programs
        return budget >= 0
    }

    private func parsedExpression(_ text: String) -> Result<Expression, Problems> {
        if let known = expressions[text] { return known }
        let result = Result { () throws(Problems) in try Expression(parsing: text) }
        expressions[text] = result
        return result
    }

    private func parsedTemplate(_ text: String) -> Result<Template, Problems> {
        if let known = templates[text] { return known }
        let result = Result { () throws(Problems) in try Template(parsing: text) }
        templates[text] = result
        return result
    }

    /// Compiles a condition; nil after reporting, or if the scope is broken.
    func condition(_ scalar: Scalar, _ scope: VariableScope, in source: SourceText) -> Program? {
        if scalar.text.hasPrefix("${"), scalar.text.hasSuffix("}") {
            findings.report(
                .invalidExpression, in: source, at: scalar.span, "a condition is an expression already",
                hint: "write it without '${' and '}'")
            return nil
        }
        do {
            let expression = try parsedExpression(scalar.text).get()
            let depends = scalar.text.contains("state")
            if depends { mentionsState = true }
            guard !scope.isBroken else { return nil }
            do {
                let program = try expression.checked(in: scope.environment, expecting: .bool)
                if case .bool(let constant) = program.constant {
                    findings.report(
                        .constantCondition, in: source, at: scalar.span, "this condition is always \(constant)",
                        hint: constant ? "leave it out" : nil, severity: .warning)
                }
                return program
            } catch {
                report(error, scalar, scope, in: source, state: depends ? scope.state : nil)
            }
        } catch {
            report(error, scalar, scope, in: source, state: nil)
        }
        return nil
    }

    /// Compiles text that may hold expressions; nil after reporting, or if the scope is broken.
    func template(_ scalar: Scalar, as type: ValueType, _ scope: VariableScope, in source: SourceText)
        -> TemplateProgram?
    {
        do {
            let template = try parsedTemplate(scalar.text).get()
            let depends = scalar.text.contains("state")
            if depends { mentionsState = true }
            guard !scope.isBroken else { return nil }
            do {
                return try template.checked(in: scope.environment, expecting: type)
            } catch {
                report(error, scalar, scope, in: source, state: depends ? scope.state : nil)
            }
        } catch {
            report(error, scalar, scope, in: source, state: nil)
        }
        return nil
    }

    /// The text of a scalar whose `${…}`, if any, are all escaped; nil if it holds expressions or is wrong.
    func literal(_ scalar: Scalar) -> String? {
        guard scalar.text.contains("${") else { return scalar.text }
        return (try? parsedTemplate(scalar.text).get())?.literalText
    }

    /// Reports an expression's problems where they are written.
    private func report(
        _ problems: Problems, _ scalar: Scalar, _ scope: VariableScope, in source: SourceText, state: String?
    ) {
        let map = ScalarMap(scalar, in: source)
        for problem in problems.problems {
            let range = problem.range.start..<max(problem.range.start, problem.range.end)
            let span = map?.span(range) ?? scalar.span
            var code = Self.code(problem.code)
            var hint = problem.suggestion.map { "did you mean '\($0)'?" }
            if problem.code == .unknownVariable,
                let reason = scope.reason(forMissing: Self.text(range, of: scalar.text))
            {
                hint = reason
                if case .fixed = scope.absences { code = .notConstant }
            }
            let message = state.map { "\(problem.message) (in state '\($0)')" } ?? problem.message
            findings.report(code, in: source, at: span, message, hint: hint)
        }
    }

    private static func text(_ range: Range<Int>, of text: String) -> String {
        let bytes = Array(text.utf8)
        let start = min(max(0, range.lowerBound), bytes.count)
        return String(decoding: bytes[start..<min(max(start, range.upperBound), bytes.count)], as: UTF8.self)
    }

    private static func code(_ code: Problem.Code) -> Diagnostic.Code {
        switch code {
        case .unknownVariable: .unknownVariable
        case .unknownField: .unknownField
        case .unknownFunction: .unknownFunction
        case .noOverload, .typeMismatch: .wrongType
        default: .invalidExpression
        }
    }
}
