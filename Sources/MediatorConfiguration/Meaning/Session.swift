import CommonExpression
import Synchronization

/// What one compilation shares: findings, and expressions already parsed.
final class Session {
    /// Where mistakes go.
    var findings: Findings
    /// Whether an expression compiled since this was last set to false names `state`, so that another state needs
    /// another program. (It may do so within a literal: then it is compiled once more than needed.)
    var mentionsState = false
    /// Whether a condition compiled since this was last set to false is always the same, which has been reported.
    var saidConstant = false
    private var budget = ConfigurationLimits.statePrograms
    private var expressions: [String: Parsed<Expression>] = [:]
    private var templates: [String: Parsed<Template>] = [:]
    private var conditions: [ProgramKey: Program] = [:]
    private var programs: [ProgramKey: (program: TemplateProgram, mentionsState: Bool)] = [:]
    private let types: TypeNumbers

    /// What a program is compiled from: equal keys give programs that do the same.
    private struct ProgramKey: Hashable {
        var text: String
        var scope: VariableScope.Key
        var constants: Int32
        var type: ValueType
    }

    /// A text parsed once, however often it is written.
    private struct Parsed<Form> {
        var result: Result<Form, Problems>
        var mentionsState: Bool
        /// What fails in it, whatever its variables are.
        var certainFailures: [EvaluationError]
    }

    /// Where values from elsewhere are found.
    private let values: ExternalValues
    /// Whether something compiled since this was last set to false looked at values from elsewhere.
    var looksElsewhere = false {
        didSet { if looksElsewhere { hasLookedElsewhere = true } }
    }
    /// Whether anything compiled looked at values from elsewhere.
    private(set) var hasLookedElsewhere = false
    /// The kinds of systems that there are.
    let kinds: KindTable
    /// The values that were not there.
    var unavailable: Set<UnavailableValue> = []
    /// Whether a template is compiled without an instance, so that types are known but no values.
    private(set) var isGeneric = false
    /// The constants that every expression may use.
    private(set) var constants: [Environment.Constant] = []
    /// Where those parameters among them come from that are not written in the configuration.
    private(set) var origins: [String: ValueOrigin] = [:]
    /// Tells sets of constants apart.
    private var constantsNumber: Int32 = 0
    private var constantsCount: Int32 = 0

    /// What time it is; nil: nobody knows.
    let now: Timestamp?
    /// When something that was compiled is found so; nil: always.
    var span: TimeSensitivity?

    /// A compilation that reports to the given findings.
    init(
        _ findings: Findings, _ values: ExternalValues, _ kinds: KindTable, _ types: TypeNumbers,
        now: Timestamp? = nil
    ) {
        self.now = now
        self.findings = findings
        self.values = values
        self.kinds = kinds
        self.types = types
    }

    private init(branching session: Session) {
        findings = Findings(continuing: session.findings.part)
        values = session.values
        kinds = session.kinds
        types = session.types
        now = session.now
    }

    /// A session for a part of the links, which is compiled beside the others; without constants.
    func branch() -> Session { Session(branching: self) }

    /// Adds what came of a part.
    func add(_ part: Session) {
        findings.add(part.findings.part)
        unavailable.formUnion(part.unavailable)
        if part.hasLookedElsewhere { hasLookedElsewhere = true }
    }

    /// Whether a value from elsewhere that is missing is merely noted.
    var mayLackValues: Bool { values.mayBeMissing }

    /// A value from elsewhere by its name, which is a valid one.
    func value(_ kind: UnavailableValue.Kind, _ name: String) throws(ExternalValues.Failure) -> String {
        looksElsewhere = true
        return try values.value(kind, name)
    }

    /// Begins what may use constants: by their values, or by their types only.
    func enter(_ constants: InstanceConstants, isGeneric: Bool) {
        if !constants.all.isEmpty {
            constantsCount += 1
            constantsNumber = constantsCount
        }
        self.constants = constants.all
        origins = constants.origins
        self.isGeneric = isGeneric
    }

    /// Ends it.
    func leave() {
        constants = []
        origins = [:]
        constantsNumber = 0
        isGeneric = false
    }

    /// What an expression may use.
    private func environment(_ scope: VariableScope) -> Environment {
        guard !constants.isEmpty else { return scope.environment }
        guard !isGeneric else { return genericEnvironment(scope) }
        var environment = scope.environment
        environment.constants = constants
        return environment
    }

    /// What an expression may use, whatever values the constants have.
    private func genericEnvironment(_ scope: VariableScope) -> Environment {
        var environment = scope.environment
        environment.variables += constants.map { Environment.Variable(name: $0.name, type: $0.type) }
        return environment
    }

    /// Begins a system or link, with a fresh budget of programs.
    func begin() { budget = ConfigurationLimits.statePrograms }

    /// Takes programs from the budget; false if it is used up.
    func spend(_ programs: Int) -> Bool {
        budget -= programs
        return budget >= 0
    }

    private func parsedExpression(_ text: String) -> Parsed<Expression> {
        if let known = expressions[text] { return known }
        let result = Result { () throws(Problems) in try Expression(parsing: text) }
        let parsed = Parsed(
            result: result, mentionsState: text.holds("state"),
            certainFailures: (try? result.get())?.certainFailures ?? [])
        expressions[text] = parsed
        return parsed
    }

    private func parsedTemplate(_ text: String) -> Parsed<Template> {
        if let known = templates[text] { return known }
        let result = Result { () throws(Problems) in try Template(parsing: text) }
        let parsed = Parsed(
            result: result, mentionsState: text.holds("state"),
            certainFailures: (try? result.get())?.certainFailures ?? [])
        templates[text] = parsed
        return parsed
    }

    /// A number for a type: the same for equal types, so that programs can be shared between equal scopes.
    func number(of type: ValueType) -> Int32 { types.number(of: type).number }

    /// A structure's type and its number. Of equal types it is the one that came first: values of it are recognised as such
    /// by programs that were compiled for that one.
    func shared(_ type: StructureType) -> (type: StructureType, number: Int32) {
        let (number, known) = types.number(of: .structure(type))
        guard case .structure(let known) = known else { return (type, number) }
        return (known, number)
    }

    /// Compiles a condition; nil after reporting, or if the scope is broken.
    func condition(_ scalar: Scalar, _ scope: VariableScope, in source: SourceText) -> Program? {
        if let inner = Braces.inner(of: scalar.text) {
            findings.report(
                .invalidExpression, in: source, at: scalar.span, "a condition is an expression already",
                hint: "write \(inner)")
            return nil
        }
        let parsed = parsedExpression(scalar.text)
        if parsed.mentionsState { mentionsState = true }
        let key = ProgramKey(text: scalar.text, scope: scope.key, constants: constantsNumber, type: .bool)
        var program = scope.isBroken ? nil : conditions[key]
        if program == nil {
            program = checked(parsed, scalar, scope, in: source) { expression throws(Problems) in
                try expression.checked(in: environment(scope), expecting: .bool)
            }
            if let program { conditions[key] = program }
        }
        if case .bool(let constant) = program?.constant, !isDecidedByConstants(parsed, scope) {
            saidConstant = true
            findings.report(
                .constantCondition, in: source, at: scalar.span, "this condition is always \(constant)",
                hint: constant ? "leave it out" : nil, severity: .warning)
        }
        return program
    }

    /// Whether a condition is always the same only because of the values of an instance's constants.
    private func isDecidedByConstants(_ parsed: Parsed<Expression>, _ scope: VariableScope) -> Bool {
        guard !constants.isEmpty, !isGeneric, case .success(let expression) = parsed.result else { return false }
        return (try? expression.checked(in: genericEnvironment(scope), expecting: .bool))?.constant == nil
    }

    /// Compiles text that may hold expressions; nil after reporting, or if the scope is broken.
    func template(_ scalar: Scalar, as type: ValueType, _ scope: VariableScope, in source: SourceText)
        -> TemplateProgram?
    {
        let key = ProgramKey(text: scalar.text, scope: scope.key, constants: constantsNumber, type: type)
        if !scope.isBroken, let known = programs[key] {
            if known.mentionsState { mentionsState = true }
            return known.program
        }
        let parsed = parsedTemplate(scalar.text)
        if parsed.mentionsState { mentionsState = true }
        let program = checked(parsed, scalar, scope, in: source) { template throws(Problems) in
            try template.checked(in: environment(scope), expecting: type)
        }
        if let program { programs[key] = (program, parsed.mentionsState) }
        return program
    }

    /// Compiles text that may hold expressions, where it is of a type; nil, and nothing is said, where it is not.
    func fittingTemplate(_ scalar: Scalar, as type: ValueType, _ scope: VariableScope) -> TemplateProgram? {
        let parsed = parsedTemplate(scalar.text)
        if parsed.mentionsState { mentionsState = true }
        guard case .success(let template) = parsed.result, !scope.isBroken else { return nil }
        return try? template.checked(in: environment(scope), expecting: type)
    }

    /// Which constants, or fields of them, a fixed text's expressions name; nil if that cannot be told.
    func constantReferences(_ scalar: Scalar) -> Set<[String]>? {
        guard case .success(let template) = parsedTemplate(scalar.text).result else { return nil }
        return (try? template.checked(in: genericEnvironment(.fixed)))?.references
    }

    /// Checks what was parsed, unless its parsing failed or the scope is broken; nil after reporting.
    private func checked<Form, Result>(
        _ parsed: Parsed<Form>, _ scalar: Scalar, _ scope: VariableScope, in source: SourceText,
        _ check: (Form) throws(Problems) -> Result
    ) -> Result? {
        switch parsed.result {
        case .failure(let problems):
            report(problems, scalar, scope, in: source, state: nil)
        case .success(let form):
            // What is fixed is computed at once, and told where that fails.
            let failures = scope.isFixed ? [] : parsed.certainFailures
            for failure in failures {
                let range = failure.range.start..<failure.range.end
                findings.report(
                    .invalidExpression, in: source, at: ScalarMap(scalar, in: source)?.span(range) ?? scalar.span,
                    failure.message)
            }
            if scope.isBroken { return nil }
            do throws(Problems) {
                let result = try check(form)
                return failures.isEmpty ? result : nil
            } catch {
                report(error, scalar, scope, in: source, state: parsed.mentionsState ? scope.state : nil)
            }
        }
        return nil
    }

    /// The text of a scalar whose `${…}`, if any, are all escaped; nil if it holds expressions or is wrong.
    func literal(_ scalar: Scalar) -> String? {
        guard scalar.text.holds("${") else { return scalar.text }
        return (try? parsedTemplate(scalar.text).result.get())?.literalText
    }

    /// Reports an expression's problems where they are written.
    private func report(
        _ problems: Problems, _ scalar: Scalar, _ scope: VariableScope, in source: SourceText, state: String?
    ) {
        let map = ScalarMap(scalar, in: source)
        for problem in problems.problems {
            let range = problem.range.start..<max(problem.range.start, problem.range.end)
            let span = map?.span(range) ?? scalar.span
            if problem.code == .unknownVariable,
                let absence = scope.absence(of: Self.text(range, of: scalar.text))
            {
                findings.report(absence.code, in: source, at: span, absence.message, hint: absence.hint)
                continue
            }
            var hint = problem.suggestion.map { "did you mean '\($0)'?" }
            var message = problem.message
            if hint == nil, problem.code == .unknownVariable {
                message = String(message.prefix { $0 != ";" })
                hint = scope.variables(and: constants.map(\.name))
                let name = Self.text(range, of: scalar.text)
                if scalar.text == "${\(name)}", name == name.uppercased() {
                    hint?.append("; a variable of the environment is written !env \(name)")
                } else if scalar.text.contains("${\(name)}"), Self.looksLikeScript(scalar.text) {
                    hint?.append("; a shell's '${\(name)}' is written '$${\(name)}' here")
                } else if Self.isOperand(range, of: scalar.text) {
                    hint?.append("; a text is written \"\(name)\"")
                }
            }
            if Self.isNamedState(scalar.text), problem.code == .unknownVariable || problem.code == .typeMismatch {
                hint =
                    "a condition compares data; a state is chosen by 'onState' of a feedback or link, and by the key above a transition"
            }
            if hint == nil, problem.code == .syntax, Self.hasDoubleBrace(before: range, of: scalar.text) {
                hint = "an expression stands between '${' and '}', with one brace each: \"${state.n}\""
            }
            if hint == nil, Self.isCommented(after: range, of: scalar.text) {
                hint = "what follows '//' is a comment; a division is written '/'"
            }
            if problem.code == .syntax, Self.isCut(scalar, message, after: range, in: source) {
                message = message.replacing("; a string over several lines is written between three quotes", with: "")
                hint = "what follows ' #' is a comment; write the whole between quotation marks: 'a == \"b #1\"'"
            }
            // The suggestion has a line of its own here.
            if let hint, message.hasSuffix("; \(hint)") { message.removeLast(hint.count + 2) }
            if let state { message += " (in state '\(state)')" }
            findings.report(Diagnostic.Code(problem.code), in: source, at: span, message, hint: hint)
        }
    }

    /// Whether an expression is nothing but a name as states have it.
    private static func isNamedState(_ text: String) -> Bool {
        Names.isIdentifier(text) && text.first.map(\.isUppercase) ?? false
    }

    /// Whether what is there is compared with something, or given to a function, as a text would be.
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

    /// Whether a text seems to be for a shell.
    private static func looksLikeScript(_ text: String) -> Bool {
        ["; ", "$(", "\n", " | ", "&& ", "echo "].contains { text.contains($0) }
    }

    /// Whether `${{` stands somewhere before the end of a problem, and is no `${{` that is meant as text.
    private static func hasDoubleBrace(before range: Range<Int>, of text: String) -> Bool {
        let bytes = Array(text.utf8.prefix(range.upperBound))
        let mark = Array("${{".utf8)
        guard bytes.count >= mark.count else { return false }
        return (0...(bytes.count - mark.count)).contains { start in
            bytes[start..<(start + mark.count)].elementsEqual(mark)
                && (start == 0 || bytes[start - 1] != UInt8(ascii: "$"))
        }
    }

    /// Whether what has the problem ends where a comment begins.
    private static func isCommented(after range: Range<Int>, of text: String) -> Bool {
        let rest = text.utf8.dropFirst(range.upperBound).drop { $0 == UInt8(ascii: " ") }
        return rest.starts(with: "//".utf8)
    }

    /// Whether an expression that ends too early may do so since YAML takes the rest of the line for a comment.
    private static func isCut(_ scalar: Scalar, _ message: String, after range: Range<Int>, in source: SourceText)
        -> Bool
    {
        guard scalar.style == .plain, scalar.span.end < source.bytes.count,
            message.contains(" is not closed with ") || message.hasSuffix(", but the expression ends here")
        else { return false }
        guard range.upperBound >= scalar.text.utf8.count || text(range, of: scalar.text) == "${" else { return false }
        let rest = source.bytes[scalar.span.end...]
        return rest.first == UInt8(ascii: " ")
            && rest.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } == UInt8(ascii: "#")
    }

    private static func text(_ range: Range<Int>, of text: String) -> String {
        let bytes = Array(text.utf8)
        let start = min(max(0, range.lowerBound), bytes.count)
        return String(decoding: bytes[start..<min(max(start, range.upperBound), bytes.count)], as: UTF8.self)
    }
}

/// Numbers for types, the same for equal ones in all parts of a compilation.
final class TypeNumbers: Sendable {
    private let numbers = Mutex<[ValueType: (number: Int32, type: ValueType)]>([:])
    /// How many types have one.
    var count: Int { numbers.withLock { $0.count } }

    /// The number of a type, and the first of those equal to it.
    func number(of type: ValueType) -> (number: Int32, type: ValueType) {
        numbers.withLock { numbers in
            if let known = numbers[type] { return known }
            let new = (number: Int32(truncatingIfNeeded: numbers.count), type: type)
            numbers[type] = new
            return new
        }
    }
}
