import CommonExpression

/// The things that all steps of a compilation share: the diagnostics collector, and parsed expressions.
final class CompilationContext {
    /// The diagnostics collector.
    private(set) var diagnostics: DiagnosticsCollector
    /// The dependencies of the part that is being compiled.
    private(set) var dependencies = Dependencies()
    private var budget = ConfigurationLimits.statePrograms
    private var expressions: [String: Parsed<Expression>] = [:]
    private var templates: [String: Parsed<Template>] = [:]
    /// Programs without constants. All instances of a template share them.
    private var shared = Programs()
    /// Programs that name constants, or that were compiled without their values. They are of one instance or link.
    private var own = Programs()
    /// The size of everything compiled until now, in eighths of a program (``ConfigurationLimits/instancePrograms``).
    /// Programs of ``shared`` do not count.
    private(set) var size = 0
    let types: TypeNumbers

    /// Compiled programs by their source.
    private struct Programs {
        var conditions: [ProgramKey: Program] = [:]
        var templates: [ProgramKey: (program: TemplateProgram, mentionsState: Bool)] = [:]
    }

    /// The source of a program. Equal keys have equal programs, if the constants are the same.
    private struct ProgramKey: Hashable {
        var text: String
        var scope: VariableScope.Key
        var type: ValueType
    }

    /// A text parsed once, however often it is written.
    private struct Parsed<Form> {
        var result: Result<Form, Problems>
        var mentionsState: Bool
        /// Failures that do not depend on the variables.
        var certainFailures: [EvaluationError]
    }

    /// The source of values from elsewhere.
    private let values: ExternalValues
    /// The kinds of systems that there are.
    let kinds: KindTable
    /// A Boolean value that indicates whether a template is compiled without an instance, so that types are known but
    /// no values.
    private(set) var isGeneric = false
    /// The constants that every expression may use.
    private(set) var constants: [Environment.Constant] = []
    /// The origins of the parameters that are not written in the configuration.
    private(set) var origins: [String: ValueOrigin] = [:]

    /// The time; nil if it is unknown.
    let now: Timestamp?

    /// A context that reports to the given collector.
    init(
        _ diagnostics: DiagnosticsCollector, _ values: ExternalValues, _ kinds: KindTable, _ types: TypeNumbers,
        now: Timestamp? = nil
    ) {
        self.now = now
        self.diagnostics = diagnostics
        self.values = values
        self.kinds = kinds
        self.types = types
    }

    private init(branching context: CompilationContext) {
        diagnostics = DiagnosticsCollector(continuing: context.diagnostics.part)
        values = context.values
        kinds = context.kinds
        types = context.types
        now = context.now
    }

    /// A context without constants for another thread, which compiles some of the links.
    func branch() -> CompilationContext { CompilationContext(branching: self) }

    /// Adds the results of a branch.
    func add(_ part: CompilationContext) {
        diagnostics.add(part.diagnostics.part)
        dependencies.formUnion(part.dependencies)
    }

    /// Compiles a part, and records its dependencies.
    func compiling<Value>(_ body: () -> Value) -> Compiled<Value> {
        let outer = dependencies
        let reports = diagnostics.reports
        dependencies = Dependencies()
        let value = body()
        let compiled = Compiled(
            value: value, dependencies: dependencies, hasDiagnostics: diagnostics.reports != reports)
        dependencies.formUnion(outer)
        return compiled
    }

    /// Compiles a part with a collector of its own.
    ///
    /// - Parameter part: The diagnostics of the same file until now. They count for limits.
    /// - Returns: The part, and its diagnostics.
    func compiling<Value>(
        after part: DiagnosticsCollector.Part, _ body: () -> Value
    ) -> (compiled: Compiled<Value>, diagnostics: DiagnosticsCollector.Part) {
        let outer = diagnostics
        defer { diagnostics = outer }
        diagnostics = DiagnosticsCollector(continuing: part)
        let compiled = compiling(body)
        return (compiled, diagnostics.part)
    }

    /// Notes that the part also depends on the things on which another part depends.
    func depend(on other: Dependencies) { dependencies.formUnion(other) }

    /// Notes that a value from elsewhere is missing.
    func depend(onMissing value: UnavailableValue) { dependencies.unavailable.insert(value) }

    /// Notes that a diagnostic depends on the time.
    func depend(onTime validity: TimeSensitivity) { dependencies.formUnion(Dependencies(validity: validity)) }

    /// A Boolean value that indicates whether a missing value from elsewhere is only recorded.
    var mayLackValues: Bool { values.mayBeMissing }

    /// A value from elsewhere by its name, which is a valid one.
    func value(_ kind: UnavailableValue.Kind, _ name: String) throws(ExternalValues.Failure) -> String {
        dependencies.looksElsewhere = true
        return try values.value(kind, name)
    }

    /// Begins a part that may use constants: by their values, or only by their types.
    func enter(_ constants: InstanceConstants, isGeneric: Bool) {
        own = Programs()
        self.constants = constants.all
        origins = constants.origins
        self.isGeneric = isGeneric
    }

    /// Ends it.
    func leave() {
        own = Programs()
        constants = []
        origins = [:]
        isGeneric = false
    }

    /// Returns whether the program of a text can be used only by the part that is being compiled.
    private func isOwn(_ text: String) -> Bool { !constants.isEmpty && (isGeneric || Self.namesConstant(text)) }

    /// Returns whether a text may name a constant. Words with another meaning count as well.
    private static func namesConstant(_ text: String) -> Bool { text.holds("parameters") || text.holds("instance") }

    private func keep(_ program: Program, _ key: ProgramKey, isOwn: Bool) {
        if isOwn {
            own.conditions[key] = program
            count(programOf: key.text)
        } else {
            shared.conditions[key] = program
        }
    }

    private func keep(_ program: (TemplateProgram, Bool), _ key: ProgramKey, isOwn: Bool) {
        if isOwn {
            own.templates[key] = program
            count(programOf: key.text)
        } else {
            shared.templates[key] = program
        }
    }

    /// Counts a program, with one more for each 64 bytes of its text, if instances cannot share it.
    private func count(programOf text: String) {
        if Self.namesConstant(text) { count(8 + text.utf8.count / 8) }
    }

    /// Counts entries of something compiled, in eighths of a program.
    func count(_ entries: Int) { size += entries }

    /// The environment of expressions.
    private func environment(_ scope: VariableScope) -> Environment {
        guard !constants.isEmpty else { return scope.environment }
        guard !isGeneric else { return genericEnvironment(scope) }
        var environment = scope.environment
        environment.constants = constants
        return environment
    }

    /// The environment of expressions that must be right for any values of the constants.
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
    func condition(_ scalar: Scalar, _ scope: VariableScope, in source: SourceText) -> CompiledCondition? {
        if let inner = Braces.inner(of: scalar.text) {
            diagnostics.report(
                .invalidExpression, in: source, at: scalar.span, "a condition is an expression already",
                hint: "write \(inner)")
            return nil
        }
        let parsed = parsedExpression(scalar.text)
        if parsed.mentionsState { dependencies.mentionsState = true }
        let key = ProgramKey(text: scalar.text, scope: scope.key, type: .bool)
        let isOwn = isOwn(scalar.text)
        var program = scope.isBroken ? nil : isOwn ? own.conditions[key] : shared.conditions[key]
        if program == nil {
            program = checked(parsed, scalar, scope, in: source) { expression throws(Problems) in
                try expression.checked(in: environment(scope), expecting: .bool)
            }
            if let program { keep(program, key, isOwn: isOwn) }
        }
        guard let program else { return nil }
        guard case .bool(let constant) = program.constant, !isDecidedByConstants(parsed, scope) else {
            return CompiledCondition(program: program, isConstant: false)
        }
        diagnostics.report(
            .constantCondition, in: source, at: scalar.span, "this condition is always \(constant)",
            hint: constant ? "leave it out" : nil, severity: .warning)
        return CompiledCondition(program: program, isConstant: true)
    }

    /// Returns whether a condition is always the same only because of the values of an instance's constants.
    private func isDecidedByConstants(_ parsed: Parsed<Expression>, _ scope: VariableScope) -> Bool {
        guard !constants.isEmpty, !isGeneric, case .success(let expression) = parsed.result else { return false }
        return (try? expression.checked(in: genericEnvironment(scope), expecting: .bool))?.constant == nil
    }

    /// Compiles text that may hold expressions; nil after reporting, or if the scope is broken.
    func template(_ scalar: Scalar, as type: ValueType, _ scope: VariableScope, in source: SourceText)
        -> TemplateProgram?
    {
        let key = ProgramKey(text: scalar.text, scope: scope.key, type: type)
        let isOwn = isOwn(scalar.text)
        if !scope.isBroken, let known = isOwn ? own.templates[key] : shared.templates[key] {
            if known.mentionsState { dependencies.mentionsState = true }
            return known.program
        }
        let parsed = parsedTemplate(scalar.text)
        if parsed.mentionsState { dependencies.mentionsState = true }
        let program = checked(parsed, scalar, scope, in: source) { template throws(Problems) in
            try template.checked(in: environment(scope), expecting: type)
        }
        guard let program else { return nil }
        keep((program, parsed.mentionsState), key, isOwn: isOwn)
        return program
    }

    /// Compiles text that may hold expressions. Returns nil, without a report, if it has another type.
    func fittingTemplate(_ scalar: Scalar, as type: ValueType, _ scope: VariableScope) -> TemplateProgram? {
        let key = ProgramKey(text: scalar.text, scope: scope.key, type: type)
        let parsed = parsedTemplate(scalar.text)
        if parsed.mentionsState { dependencies.mentionsState = true }
        guard case .success(let template) = parsed.result, !scope.isBroken else { return nil }
        let isOwn = isOwn(scalar.text)
        if let known = isOwn ? own.templates[key] : shared.templates[key] { return known.program }
        guard let program = try? template.checked(in: environment(scope), expecting: type) else { return nil }
        keep((program, parsed.mentionsState), key, isOwn: isOwn)
        return program
    }

    /// The constants, or their fields, that the expressions of a fixed text name; nil if that is unknown.
    func constantReferences(_ scalar: Scalar) -> Set<[String]>? {
        guard case .success(let template) = parsedTemplate(scalar.text).result else { return nil }
        return (try? template.checked(in: genericEnvironment(.fixed)))?.references
    }

    /// Checks a parsed form; nil after reporting, if its parsing failed, or if the scope is broken.
    private func checked<Form, Result>(
        _ parsed: Parsed<Form>, _ scalar: Scalar, _ scope: VariableScope, in source: SourceText,
        _ check: (Form) throws(Problems) -> Result
    ) -> Result? {
        switch parsed.result {
        case .failure(let problems):
            report(problems, scalar, scope, in: source, state: nil)
        case .success(let form):
            // A fixed text is computed at once, which reports its failures.
            let failures = scope.isFixed ? [] : parsed.certainFailures
            for failure in failures {
                let range = failure.range.start..<failure.range.end
                diagnostics.report(
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
}
