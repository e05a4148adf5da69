import CommonExpression

/// Turns plain YAML data into programs, guided by the type it should have.
struct DataCompiler {
    let context: CompilationContext
    let source: SourceText
    /// A Boolean value that indicates whether the data may contain credentials.
    var acceptsSecrets = false
    /// A Boolean value that indicates whether the data is a command with its arguments.
    var isCommand = false
    /// A Boolean value that indicates whether the data goes to another program, to which `{{ … }}` may have a meaning.
    var isForProgram = false

    /// A compiler of a file's data.
    init(_ context: CompilationContext, _ source: SourceText) {
        self.context = context
        self.source = source
    }

    /// Reports a mistake.
    func report(
        _ code: Diagnostic.Code, at span: Span, _ message: String, hint: @autoclosure () -> String? = nil
    ) {
        context.diagnostics.report(code, in: source, at: span, message, hint: hint())
    }

    /// Compiles data; nil after reporting, or if something it depends on is broken.
    func data(_ node: Node, as type: ValueType, _ what: Subject, _ scope: VariableScope)
        -> DataProgram?
    {
        if case .optional(let wrapped) = type { return optional(node, wrapped, what, scope) }
        switch (node.content, type) {
        case (.scalar(let scalar), _):
            return self.scalar(scalar, as: type, what, scope)
        case (.external(let reference), _):
            return external(reference, as: type, what, scope, at: node.span)
        case (_, .dyn):
            return nil
        case (.sequence(let items), .list(let element)):
            return list(items, of: element, what, scope)
        case (.mapping(let entries), .map(_, let value)):
            return map(entries, of: value, what, scope)
        case (.mapping(let entries), .structure(let structure)):
            return self.structure(entries, as: structure, what, at: node.mark, scope)
        default:
            report(.wrongType, at: node.mark, "\(what) is of type \(type), not \(node.kind)")
            return nil
        }
    }

    /// Compiles an optional value: nothing or `null`, the value itself, or an expression that gives an optional value.
    private func optional(_ node: Node, _ wrapped: ValueType, _ what: Subject, _ scope: VariableScope) -> DataProgram? {
        if node.isNull { return .constant(.optional(nil)) }
        if let scalar = node.scalar, context.literal(scalar) == nil,
            let program = context.fittingTemplate(scalar, as: .optional(wrapped), scope)
        {
            return data(program, scalar, what, scope, sample: .optional(nil))
        }
        guard let program = data(node, as: wrapped, what, scope) else { return nil }
        if case .constant(let value) = program { return .constant(.optional(value)) }
        return .optional(program)
    }

    /// Compiles data that must be the same each time.
    func constant(_ node: Node, as type: ValueType, _ what: Subject) -> Value? {
        guard let program = data(node, as: type, what, .fixed) else { return nil }
        if case .constant(let value) = program { return value }
        if context.isGeneric { return type.sample }
        report(.notConstant, at: node.mark, "\(what) must be a fixed value")
        return nil
    }

    /// Compiles all fields of a structure.
    ///
    /// - Parameter bare: the name behind which no field stands.
    func structure(
        _ entries: [Node.Entry], as type: StructureType, _ what: Subject, at span: Span,
        _ scope: VariableScope, bare: String? = nil
    ) -> DataProgram? {
        guard var given = fields(entries, of: type, what, scope) else { return nil }
        var missing: [Int] = []
        for (index, field) in type.fields.enumerated() where given[index] == nil {
            if field.type.isOptional {
                given[index] = .constant(.optional(nil))
            } else {
                missing.append(index)
            }
        }
        guard missing.isEmpty else {
            let names = missing.map { "'\(type.fields[$0].name)'" }.joined(separator: ", ")
            report(
                .missingField, at: span, "\(what) needs the field\(missing.count > 1 ? "s" : "") \(names)",
                hint: bare.map { "write { \($0): { \(Self.sample(type)) } }" }
                    ?? "its fields are { \(Self.list(type)) }")
            return nil
        }
        let programs = given.compactMap(\.self)
        if let values = Self.constants(programs) { return .constant(.structure(Structure(type: type, fields: values))) }
        return .structure(type, programs)
    }

    /// Compiles some fields of a structure: by index, nil for those that are not given; nil if any is wrong.
    func fields(
        _ entries: [Node.Entry], of type: StructureType, _ what: Subject, _ scope: VariableScope
    ) -> [DataProgram?]? {
        var given = [DataProgram?](repeating: nil, count: type.fields.count)
        var isWhole = true
        for entry in entries {
            let name = entry.key.text
            guard let index = type.index(of: name) else {
                isWhole = false
                let decoder = Decoder(source: source, diagnostics: context.diagnostics)
                let hint = decoder.colonHint(entry) ?? Names.hint(for: name, among: type.fields.map(\.name))
                report(
                    .unknownField, at: entry.key.span, "\(what) has no field '\(name)'", hint: hint ?? "it has none")
                continue
            }
            if let program = data(entry.value, as: type.fields[index].type, Subject("the field", name), scope) {
                given[index] = program
            } else {
                isWhole = false
            }
        }
        return isWhole ? given : nil
    }

    /// A structure's fields as one writes them.
    static func list(_ type: StructureType) -> String {
        type.fields.map { "\($0.name): \($0.type)" }.joined(separator: ", ")
    }

    /// The same with values, to be written where the data of a state or an event stand.
    /// - Parameter event: the data of an event. A field that it has, too, takes its value.
    static func sample(_ type: StructureType, from event: StructureType? = nil) -> String {
        type.fields.map { field in
            let isThere = event?.fields.contains { $0.name == field.name && $0.type == field.type } ?? false
            return "\(field.name): \(isThere ? "\"${event.\(field.name)}\"" : sample(field.type))"
        }.joined(separator: ", ")
    }

    private static func sample(_ type: ValueType) -> String {
        switch type {
        case .bool: "false"
        case .int, .uint: "0"
        case .double: "0.5"
        case .duration: "1s"
        case .timestamp: "\"${now}\""
        case .list: "[]"
        case .map: "{}"
        case .structure(let structure): "{ \(sample(structure)) }"
        case .optional, .null: "null"
        case .string, .bytes, .dyn, .type: "\"…\""
        }
    }

    static func constants(_ programs: [DataProgram]) -> [Value]? {
        var values: [Value] = []
        values.reserveCapacity(programs.count)
        for program in programs {
            guard case .constant(let value) = program else { return nil }
            values.append(value)
        }
        return values
    }

    func list(_ items: [Node], of type: ValueType, _ what: Subject, _ scope: VariableScope) -> DataProgram? {
        var programs: [DataProgram] = []
        var isWhole = true
        for item in items {
            if let program = data(item, as: type, what.element, scope) {
                programs.append(program)
            } else {
                isWhole = false
            }
        }
        guard isWhole else { return nil }
        return Self.constants(programs).map { .constant(.list($0)) } ?? .list(programs)
    }

    func map(
        _ entries: [Node.Entry], of type: ValueType, _ what: Subject, _ scope: VariableScope
    ) -> DataProgram? {
        var programs: [DataProgram.Entry] = []
        var isWhole = true
        for entry in entries {
            if let program = data(entry.value, as: type, Subject("the entry", entry.key.text), scope) {
                programs.append(DataProgram.Entry(key: entry.key.text, value: program))
            } else {
                isWhole = false
            }
        }
        guard isWhole else { return nil }
        guard let values = Self.constants(programs.map(\.value)) else { return .map(programs) }
        let pairs = zip(programs, values).map { (Value.string($0.key), $1) }
        return .constant(.map(Dictionary(pairs, uniquingKeysWith: { first, _ in first })))
    }

    func scalar(_ scalar: Scalar, as type: ValueType, _ what: Subject, _ scope: VariableScope) -> DataProgram? {
        if case .string = type, warnsOfBraces(scalar, what, scope) {
            return context.template(scalar, as: type, scope, in: source).flatMap { program in
                data(program, scalar, what, scope, sample: type.sample)
            }
        }
        guard let text = context.literal(scalar) else {
            return context.template(scalar, as: type, scope, in: source).flatMap { program in
                data(program, scalar, what, scope, sample: type.sample)
            }
        }
        if case .dyn = type { return nil }
        if case .string = type {
            warnOfSingleBraces(text, scalar, what, scope)
            warnOfDollars(text, scalar, what, scope)
        }
        let resolved = scalar.style == .plain ? CoreSchema(plain: text) : .text
        if case .string = type, let expression = Self.named(text, scope, context.constants) {
            context.diagnostics.report(
                .literalExpression, in: source, at: scalar.span,
                "\(what) is the text '\(text)', and not the value of that name",
                hint: "write \"${\(expression)}\" for the value", severity: .warning)
        }
        if scalar.style == .plain, let quoted = Typography.unquoted(text) {
            context.diagnostics.report(
                .literalQuotes, in: source, at: scalar.span, "\(what) is \(text), with these quotation marks",
                hint:
                    "write \(LinkText.quoted(quoted)) for the text without them, \(LinkText.quoted(text)) for the one with them",
                severity: .warning)
        }
        return value(resolved, text, as: type, what, at: scalar.span, scope).map { .constant($0) }
    }

    /// Warns of `{{ … }}`, which is text here, as if it were an expression; whether it has.
    ///
    /// Text for another program may be a template of that program. There, only the name of a value of this configuration between
    /// the braces counts. Go templates name data with a leading '.'.
    private func warnsOfBraces(_ scalar: Scalar, _ what: Subject, _ scope: VariableScope) -> Bool {
        let parts = Braces.parts(of: scalar.text)
        guard
            let part = parts.first(where: { part in
                Self.isExpression(part, scope, context.constants)
                    || (!isForProgram && part.first.map { $0.isLetter || $0 == "$" || $0 == "_" } ?? false
                        && !part.contains(" ."))
            })
        else { return false }
        let isOurs = Self.isExpression(part, scope, context.constants)
        let expression = isOurs && !part.contains(where: { "|\"\\".contains($0) }) ? part : "…"
        let whole = Braces.inner(of: scalar.text) == part ? "\"${\(expression)}\"" : "${\(expression)}"
        context.diagnostics.report(
            .literalExpression, in: source, at: scalar.span,
            "\(what) holds '{{ \(part.prefix(60)) }}' as text, since '{{' and '}}' mean nothing here",
            hint: "write \(whole) for the value", severity: .warning)
        return true
    }

    /// Warns of `{event.reason}` without a dollar sign. Only the name of a value of this configuration counts.
    private func warnOfSingleBraces(_ text: String, _ scalar: Scalar, _ what: Subject, _ scope: VariableScope) {
        let parts = Braces.singleParts(of: text)
        guard let name = parts.lazy.compactMap({ Self.named($0, scope, context.constants) }).first else { return }
        context.diagnostics.report(
            .literalExpression, in: source, at: scalar.span,
            "\(what) holds '{\(name)}' as text, since braces without '$' mean nothing here",
            hint: "write ${\(name)} for the value", severity: .warning)
    }

    /// Warns of `$(event.reason)`, `$event.reason` and `$reason` within a text. Text for another program may be for a shell,
    /// where these have a meaning.
    private func warnOfDollars(_ text: String, _ scalar: Scalar, _ what: Subject, _ scope: VariableScope) {
        guard !isForProgram, Self.named(text, scope, context.constants) == nil else { return }
        for (written, name) in Braces.dollarParts(of: text) {
            let values = [name] + ["event", "result", "state"].map { "\($0).\(name)" }
            guard let value = values.lazy.compactMap({ Self.named($0, scope, context.constants) }).first else {
                continue
            }
            return context.diagnostics.report(
                .literalExpression, in: source, at: scalar.span,
                "\(what) holds '\(written)' as text, since '$' without braces means nothing here",
                hint: "write ${\(value)} for the value", severity: .warning)
        }
    }

    /// Texts that are longer name no value.
    private static let longestName = 256

    /// The value that a text names, in this or another notation (`event.reason`, `$event.reason`, `$(event.reason)`);
    /// nil: it names no value.
    static func named(
        _ text: String, _ scope: VariableScope, _ constants: [Environment.Constant]
    ) -> String? {
        guard text.utf8.count <= longestName, text.holds(".") else { return nil }
        var name = text[...]
        func peel(_ opening: String, _ closing: String) -> Bool {
            guard name.hasPrefix(opening), name.hasSuffix(closing),
                name.utf8.count > opening.utf8.count + closing.utf8.count
            else { return false }
            name = name.dropFirst(opening.count).dropLast(closing.count)
            while name.first == " " { name.removeFirst() }
            while name.last == " " { name.removeLast() }
            return true
        }
        _ = peel("$(", ")") || peel("$", "")
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, parts.allSatisfy({ Names.isIdentifier(String($0)) }) else { return nil }
        let types =
            scope.environment.variables.lazy.filter { $0.name[...] == parts[0] }.map(\.type)
            + constants.lazy.filter { $0.name[...] == parts[0] }.map(\.value.type)
        guard case .structure(let structure)? = types.first,
            structure.fields.contains(where: { $0.name[...] == parts[1] })
        else { return nil }
        return String(name)
    }

    /// Returns whether a text has the name of a value in it, as if it were an expression.
    static func isExpression(
        _ text: String, _ scope: VariableScope, _ constants: [Environment.Constant]
    ) -> Bool {
        guard text.utf8.count <= longestName else { return false }
        return text.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }
            .contains { named(String($0), scope, constants) != nil }
    }

    /// The data of a program. A fixed value is computed at once, which reports its failures.
    func data(
        _ program: TemplateProgram, _ scalar: Scalar, _ what: Subject, _ scope: VariableScope, sample: Value
    ) -> DataProgram? {
        if let value = program.constant { return .constant(value) }
        guard scope.isFixed, !context.isGeneric else { return .template(program) }
        do throws(EvaluationError) {
            return .constant(try program.evaluate([]))
        } catch {
            let origin = context.origin(scalar)
            // A sample may be nothing that one can compute with.
            if origin == .missing { return .constant(sample) }
            let range = error.range.start..<max(error.range.start, error.range.end)
            report(
                .invalidExpression, at: ScalarMap(scalar, in: source)?.span(range) ?? scalar.span,
                origin == .written
                    ? "\(what) cannot be computed: \(error.message)"
                    : "\(what) cannot be computed from values that are not in the files: \(error.code)")
            return nil
        }
    }
}
