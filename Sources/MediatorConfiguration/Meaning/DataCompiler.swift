import CommonExpression

/// What data is for, put into words only when something is wrong with it.
struct Subject: CustomStringConvertible {
    private let role: String
    private let name: String
    private var isElement = false

    /// A thing of a role and a name: the field 'used'.
    init(_ role: String, _ name: String) {
        self.role = role
        self.name = name
    }

    /// An element of it.
    var element: Subject {
        var copy = self
        copy.isElement = true
        return copy
    }

    var description: String {
        let text = name.isEmpty ? role : "\(role) '\(name)'"
        return isElement ? "an element of \(text)" : text
    }
}

/// Turns plain YAML data into programs, guided by the type it should have.
struct DataCompiler {
    let session: Session
    let source: SourceText
    /// Whether what is compiled may hold credentials.
    var acceptsSecrets = false
    /// Whether what is compiled is a command with its arguments.
    var isCommand = false
    /// Whether what is compiled goes to another program, which may have a use for `{{ … }}`.
    var isForProgram = false

    /// A compiler of a file's data.
    init(_ session: Session, _ source: SourceText) {
        self.session = session
        self.source = source
    }

    /// Reports a mistake.
    func report(
        _ code: Diagnostic.Code, at span: Span, _ message: String, hint: @autoclosure () -> String? = nil
    ) {
        session.findings.report(code, in: source, at: span, message, hint: hint())
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

    /// Compiles data that may be none: nothing, or `null`; else what it holds, or an expression that gives an optional
    /// value.
    private func optional(_ node: Node, _ wrapped: ValueType, _ what: Subject, _ scope: VariableScope) -> DataProgram? {
        if node.isNull { return .constant(.optional(nil)) }
        if let scalar = node.scalar, session.literal(scalar) == nil,
            let program = session.fittingTemplate(scalar, as: .optional(wrapped), scope)
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
        if session.isGeneric { return type.sample }
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
                let decoder = Decoder(source: source, findings: session.findings)
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
    static func sample(_ type: StructureType) -> String {
        type.fields.map { "\($0.name): \(sample($0.type))" }.joined(separator: ", ")
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

    private static func constants(_ programs: [DataProgram]) -> [Value]? {
        var values: [Value] = []
        values.reserveCapacity(programs.count)
        for program in programs {
            guard case .constant(let value) = program else { return nil }
            values.append(value)
        }
        return values
    }

    private func list(_ items: [Node], of type: ValueType, _ what: Subject, _ scope: VariableScope) -> DataProgram? {
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

    private func map(
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

    private func scalar(_ scalar: Scalar, as type: ValueType, _ what: Subject, _ scope: VariableScope) -> DataProgram? {
        if case .string = type, warnsOfBraces(scalar, what, scope) {
            return session.template(scalar, as: type, scope, in: source).flatMap { program in
                data(program, scalar, what, scope, sample: type.sample)
            }
        }
        guard let text = session.literal(scalar) else {
            return session.template(scalar, as: type, scope, in: source).flatMap { program in
                data(program, scalar, what, scope, sample: type.sample)
            }
        }
        if case .dyn = type { return nil }
        let resolved = scalar.style == .plain ? CoreSchema(plain: text) : .text
        if case .string = type, let expression = Self.named(text, scope, session.constants) {
            session.findings.report(
                .literalExpression, in: source, at: scalar.span,
                "\(what) is the text '\(text)', and not the value of that name",
                hint: "write \"${\(expression)}\" for the value", severity: .warning)
        }
        if scalar.style == .plain, let quoted = Typography.unquoted(text) {
            session.findings.report(
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
                Self.isExpression(part, scope, session.constants)
                    || (!isForProgram && part.first.map { $0.isLetter || $0 == "$" || $0 == "_" } ?? false
                        && !part.contains(" ."))
            })
        else { return false }
        let isOurs = Self.isExpression(part, scope, session.constants)
        let expression = isOurs && !part.contains(where: { "|\"\\".contains($0) }) ? part : "…"
        let whole = Braces.inner(of: scalar.text) == part ? "\"${\(expression)}\"" : "${\(expression)}"
        session.findings.report(
            .literalExpression, in: source, at: scalar.span,
            "\(what) holds '{{ \(part.prefix(60)) }}' as text, since '{{' and '}}' mean nothing here",
            hint: "write \(whole) for the value", severity: .warning)
        return true
    }

    /// Texts that are longer name no value.
    private static let longestName = 256

    /// The value of which a text is the name, in this or another notation (`event.reason`, `$event.reason`,
    /// `$(event.reason)`); nil if there is none such.
    private static func named(
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

    /// Whether a text has the name of a value in it, as if it were an expression.
    private static func isExpression(
        _ text: String, _ scope: VariableScope, _ constants: [Environment.Constant]
    ) -> Bool {
        guard text.utf8.count <= longestName else { return false }
        return text.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }
            .contains { named(String($0), scope, constants) != nil }
    }

    /// What a program gives: where only a fixed value can stand at once, so that it is told if it gives none.
    func data(
        _ program: TemplateProgram, _ scalar: Scalar, _ what: Subject, _ scope: VariableScope, sample: Value
    ) -> DataProgram? {
        if let value = program.constant { return .constant(value) }
        guard scope.isFixed, !session.isGeneric else { return .template(program) }
        do throws(EvaluationError) {
            return .constant(try program.evaluate([]))
        } catch {
            let origin = session.origin(scalar)
            // A sample may be nothing that one can compute with.
            if origin == .missing { return .constant(sample) }
            let range = error.range.start..<max(error.range.start, error.range.end)
            report(
                .invalidExpression, at: ScalarMap(scalar, in: source)?.span(range) ?? scalar.span,
                origin == .written
                    ? "\(what) cannot be computed: \(error.message)"
                    : "\(what) cannot be computed of what comes from elsewhere: \(error.code)")
            return nil
        }
    }

    /// A fixed scalar as a value of a type, or nil after reporting why not.
    private func value(
        _ resolved: CoreSchema, _ text: String, as type: ValueType, _ what: Subject, at span: Span,
        _ scope: VariableScope
    ) -> Value? {
        let value = Self.converted(resolved, text, as: type)
        if value == nil { complain(resolved, text, type, what, span, scope) }
        return value
    }

    /// A fixed text as a value of a type, or nil if it is none.
    static func converted(_ resolved: CoreSchema, _ text: String, as type: ValueType) -> Value? {
        switch (type, resolved) {
        case (.string, .text): return .string(text)
        case (.bool, .bool(let value)): return .bool(value)
        case (.int, .int(let isNegative, let magnitude)):
            if !isNegative { return Int64(exactly: magnitude).map { .int($0) } }
            guard magnitude <= UInt64(Int64.max) + 1 else { return nil }
            return .int(Int64(truncatingIfNeeded: 0 &- magnitude))
        case (.uint, .int(let isNegative, let magnitude)):
            return !isNegative || magnitude == 0 ? .uint(magnitude) : nil
        case (.double, .int), (.double, .hugeInt), (.double, .float):
            return double(resolved, text).map { .double($0) }
        case (.duration, .text): return TimeSpan(text: text).map { .duration($0) }
        case (.timestamp, .text): return Timestamp(rfc3339: text).map { .timestamp($0) }
        default: return nil
        }
    }

    private static func double(_ resolved: CoreSchema, _ text: String) -> Double? {
        switch resolved {
        case .float(let value): value
        case .int(let isNegative, let magnitude): isNegative ? -Double(magnitude) : Double(magnitude)
        case .hugeInt: Double(text).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    private func complain(
        _ resolved: CoreSchema, _ text: String, _ type: ValueType, _ what: Subject, _ span: Span, _ scope: VariableScope
    ) {
        let shown = String(text.prefix(60).map { $0.isNewline ? " " : $0 })
        switch (type, resolved) {
        case (.int, .int), (.int, .hugeInt), (.uint, .int), (.uint, .hugeInt), (.double, .hugeFloat),
            (.double, .hugeInt):
            report(.outOfRange, at: span, "\(what) is of type \(type), which cannot hold \(shown)")
            return
        default: break
        }
        var hint: String?
        switch (type, resolved) {
        case (_, .text) where Self.isExpression(text, scope, session.constants):
            let isPlain = text.utf8.count <= 60 && !text.contains { "\"${}\n".contains($0) }
            let expression = Self.named(text, scope, session.constants) ?? (isPlain ? text : nil)
            hint = expression.map { "write \"${\($0)}\"" } ?? "write an expression between \"${ and }\""
        case (.string, .null): hint = "write \"\" for an empty text"
        case (.string, _): hint = "write \"\(shown)\""
        case (.duration, _): hint = DurationText.hint(for: text)
        case (.timestamp, .text) where text == "now": hint = "write \"${now}\""
        case (.timestamp, _): hint = "write a time such as 2026-11-21T10:00:00Z"
        case (.list, _):
            let list = resolved == .null ? "[]" : ListText.suggestion(for: text, isCommand: isCommand)
            hint = "write a list: \(list)"
        case (.structure(let structure), _): hint = "write its fields: { \(Self.list(structure)) }"
        case (.bool, .text) where ["on", "yes"].contains(text.lowercased()): hint = "write true"
        case (.bool, .text) where ["off", "no"].contains(text.lowercased()): hint = "write false"
        case (.int, .text), (.uint, .text), (.double, .text), (.bool, .text):
            // A quoted number or truth value is text.
            if Self.fits(CoreSchema(plain: text), type) { hint = "write \(shown) without quotes" }
        default: break
        }
        report(.wrongType, at: span, "\(what) is of type \(type), but \(Self.word(resolved, shown))", hint: hint)
    }

    private static func fits(_ resolved: CoreSchema, _ type: ValueType) -> Bool {
        switch (type, resolved) {
        case (.int, .int), (.uint, .int(false, _)), (.double, .int), (.double, .float), (.bool, .bool): true
        default: false
        }
    }

    private static func word(_ resolved: CoreSchema, _ shown: String) -> String {
        switch resolved {
        case .null: shown.isEmpty ? "there is nothing" : "'\(shown)' is nothing"
        case .bool: "'\(shown)' is a bool"
        case .int, .hugeInt, .float, .hugeFloat: "\(shown) is a number"
        case .text: shown.isEmpty ? "there is an empty text" : "'\(shown)' is text"
        }
    }
}
