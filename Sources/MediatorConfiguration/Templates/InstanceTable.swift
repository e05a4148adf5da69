import CommonExpression

/// A template whose body has been checked.
struct SystemTemplate: Sendable {
    /// The system as written.
    let written: WrittenSystem
    /// Its names and types, under its own name.
    let scope: SystemScope
    /// Its parameters with their types; `dyn` if that is a mistake.
    let parameters: StructureType
    /// A Boolean value that indicates whether it can be instantiated: nothing in it is a mistake.
    let isSound: Bool
    /// The size of an instance, in eighths of a program (``ConfigurationLimits/instancePrograms``).
    let size: Int
}

/// An instance with the values of its constants.
struct SystemInstance {
    /// As written.
    let written: WrittenInstance
    /// Its template.
    let template: SystemTemplate
    /// `instance` and `parameters`; nil after reporting.
    let constants: InstanceConstants?
}

/// The templates and instances of a configuration.
struct InstanceTable {
    /// The templates by name.
    private(set) var templates: [String: SystemTemplate] = [:]
    /// The instances by template, sorted by name.
    private(set) var instances: [String: [SystemInstance]] = [:]
    /// Templates that could not be read.
    private let broken: Set<String>
    let context: CompilationContext
    private let mayHideSystems: Bool

    /// An empty table. Unreadable templates are not reported.
    init(_ context: CompilationContext, broken: [String], mayHideSystems: Bool) {
        self.context = context
        self.broken = Set(broken)
        self.mayHideSystems = mayHideSystems
    }

    /// Adds a template and checks its body once, for whatever values its parameters may have.
    mutating func add(_ written: WrittenSystem) {
        let types = TypeReader(source: written.source, diagnostics: context.diagnostics)
        let before = (errors: context.diagnostics.errors, size: context.size)
        let fields = written.parameters.map { parameter in
            StructureType.Field(
                name: parameter.name.text,
                type: parameter.type.flatMap { types.type($0, "the parameter '\(parameter.name.text)'") } ?? .dyn)
        }
        let type = StructureType(name: "", fields: fields)
        let data = DataCompiler(context, written.source)
        context.withConstants(Self.constants("", nil, type), isGeneric: true) {
            for (parameter, field) in zip(written.parameters, fields) {
                guard let node = parameter.fallback else { continue }
                _ = data.data(node, as: field.type, Subject("the default of", field.name), .fixed)
            }
        }
        let scope = context.withConstants(Self.constants("", type.sampleValue, type), isGeneric: true) {
            let scope = SystemScope(written, context: context)
            _ = SystemCompiler(scope, written, context).system()
            return scope
        }
        templates[written.name.text] = SystemTemplate(
            written: written, scope: scope, parameters: type, isSound: context.diagnostics.errors == before.errors,
            size: written.size + context.size - before.size)
    }

    /// Adds a template whose body has been checked.
    mutating func add(_ template: SystemTemplate) { templates[template.written.name.text] = template }

    /// The constants of an instance; without parameters those that their defaults may use.
    static func constants(
        _ name: String, _ parameters: Value?, _ type: StructureType, origins: [String: ValueOrigin] = [:]
    ) -> InstanceConstants {
        let instance = Environment.Constant(name: "instance", type: .string, value: .string(name))
        guard let parameters else { return InstanceConstants(all: [instance]) }
        let all = [instance, Environment.Constant(name: "parameters", type: .structure(type), value: parameters)]
        return InstanceConstants(all: all, origins: origins)
    }

    /// Adds an instance: finds its template, and checks its parameters. Returns nil after reporting, or if the template
    /// could not be read.
    mutating func add(_ written: WrittenInstance, systems: [String]) -> SystemInstance? {
        guard let template = templates[written.template] else {
            guard InstanceName(written.name.text)?.isValid == true, !broken.contains(written.template), !mayHideSystems
            else { return nil }
            let plain = String(written.template.dropLast())
            context.diagnostics.report(
                .unknownSystem, in: written.source, at: written.name.span,
                "there is no template '\(written.template)'",
                hint: systems.contains(plain)
                    ? "'\(plain)' is no template: write system: \(plain)@ there"
                    : nearestName(to: written.template, among: templates.keys.sorted())
                        .map { "did you mean '\($0)\(written.instance)'?" }
                        ?? "a template is a system of that name: write system: \(written.template)")
            return nil
        }
        let constants = written.arguments.flatMap { instanceConstants($0, written, template) }
        let instance = SystemInstance(written: written, template: template, constants: constants)
        instances[written.template, default: []].append(instance)
        return instance
    }

    private func instanceConstants(
        _ entries: [Node.Entry], _ written: WrittenInstance, _ template: SystemTemplate
    ) -> InstanceConstants? {
        func report(_ code: Diagnostic.Code, _ span: Span, _ message: String, hint: String?) {
            context.diagnostics.report(code, in: written.source, at: span, message, hint: hint)
        }
        let decoder = Decoder(source: written.source, diagnostics: context.diagnostics)
        let names = template.parameters.fields.map(\.name)
        var values: [Value?] = Array(repeating: nil, count: names.count)
        var given: Set<Int> = []
        var origins: [String: ValueOrigin] = [:]
        func note(_ index: Int, _ node: Node) {
            let origin = context.origin(node)
            if origin != .written { origins[names[index]] = origin }
        }
        var isWhole = template.isSound
        for entry in entries {
            guard let index = template.parameters.index(of: entry.key.text) else {
                isWhole = false
                report(
                    .unknownParameter, entry.key.span,
                    "'\(written.template)' has no parameter '\(entry.key.text)'",
                    hint: decoder.colonHint(entry) ?? Names.hint(for: entry.key.text, among: names) ?? "it has none")
                continue
            }
            given.insert(index)
            let subject = Subject("the parameter", entry.key.text)
            values[index] = DataCompiler(context, written.source).constant(
                entry.value, as: template.parameters.fields[index].type, subject)
            note(index, entry.value)
        }
        let missing = names.indices.filter { index in
            let parameter = template.written.parameters[index]
            return !given.contains(index) && parameter.fallback == nil && !parameter.mayHideFallback
        }
        if isWhole, !missing.isEmpty {
            let list = missing.map { "'\(names[$0])'" }.joined(separator: ", ")
            report(
                .missingParameter, written.name.span,
                "'\(written.name.text)' needs the parameter\(missing.count > 1 ? "s" : "") \(list)",
                hint: "its parameters are { \(DataCompiler.list(template.parameters)) }")
        }
        guard isWhole, missing.isEmpty else { return nil }
        context.withConstants(Self.constants(written.instance, nil, template.parameters), of: written.name.text) {
            for (index, parameter) in template.written.parameters.enumerated() where !given.contains(index) {
                guard let node = parameter.fallback else { continue }
                values[index] = DataCompiler(context, template.written.source).constant(
                    node, as: template.parameters.fields[index].type, Subject("the default of", names[index]))
                note(index, node)
            }
        }
        let whole = values.compactMap(\.self)
        guard whole.count == names.count else { return nil }
        let parameters = Value.structure(Structure(type: template.parameters, fields: whole))
        return Self.constants(written.instance, parameters, template.parameters, origins: origins)
    }

    /// The instances that `NAME@*` means; nil after reporting, or if the template could not be read.
    func all(_ name: Scalar, in source: SourceText) -> [SystemInstance]? {
        guard let parts = InstanceName(name.text) else { return nil }
        if templates[parts.template] != nil { return instances[parts.template] ?? [] }
        guard !broken.contains(parts.template), !mayHideSystems else { return nil }
        context.diagnostics.report(
            .unknownSystem, in: source, at: name.span, "there is no template '\(parts.template)'",
            hint: Names.hint(
                for: parts.template, among: templates.keys.sorted(), followedBy: InstanceName.every))
        return nil
    }
}

extension StructureType {
    /// Some value of the type.
    var sampleValue: Value { ValueType.structure(self).sample }
}

extension CompilationContext {
    /// Compiles a part that may use constants. A diagnostic about an instance names it, and is reported only for the
    /// first one. The body of a template without values gets no diagnostics that depend on values.
    ///
    /// - Parameter isChecked: Whether the same part was checked without values before.
    func withConstants<Result>(
        _ constants: InstanceConstants, of instance: String? = nil, isGeneric: Bool = false, isChecked: Bool = true,
        _ body: () -> Result
    ) -> Result {
        enter(constants, isGeneric: isGeneric)
        defer { leave() }
        guard let instance else { return body() }
        return diagnostics.about(instance, isChecked: isChecked, body)
    }
}
