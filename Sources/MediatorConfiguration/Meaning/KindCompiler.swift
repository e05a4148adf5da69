import CommonExpression

/// Gives an instance of a kind of systems its parameters.
struct KindCompiler {
    private let written: WrittenKind
    private let scope: SystemScope
    private let lookup: Lookup

    /// A compiler of one instance.
    init(_ written: WrittenKind, _ scope: SystemScope, _ lookup: Lookup) {
        self.written = written
        self.scope = scope
        self.lookup = lookup
    }

    /// Compiles it; nil after reporting.
    func instance() -> KindInstance? {
        guard let name = written.name else { return nil }
        guard let kind = scope.kind else {
            let names = lookup.session.kinds.names
            lookup.report(
                .unknownKind, at: name.span, "there is no kind of systems '\(name.text)'",
                hint: names.isEmpty
                    ? "kinds are part of a daemon of one's own; mediatorctl validate is told them by --kinds"
                    : Names.hint(for: name.text, among: names))
            return nil
        }
        guard let arguments = written.arguments, let values = values(arguments, kind, name) else { return nil }
        return KindInstance(kind: kind.name, parameters: Structure(type: kind.parametersType, fields: values))
    }

    private func values(_ entries: [Node.Entry], _ kind: SystemKind, _ name: Scalar) -> [Value]? {
        let decoder = Decoder(source: lookup.source, findings: lookup.session.findings)
        // Who is given a parameter shows it to nobody, unless the kind's author has it do so.
        var data = DataCompiler(lookup.session, lookup.source)
        data.acceptsSecrets = true
        let names = kind.parameters.map(\.field.name)
        var values: [Value?] = kind.parameters.map { $0.default ?? ($0.field.type.isOptional ? .optional(nil) : nil) }
        var given: Set<Int> = []
        var isWhole = true
        for entry in entries {
            guard let index = names.firstIndex(of: entry.key.text) else {
                isWhole = false
                lookup.report(
                    .unknownParameter, at: entry.key.span, "'\(kind.name)' has no parameter '\(entry.key.text)'",
                    hint: decoder.colonHint(entry) ?? Names.hint(for: entry.key.text, among: names) ?? "it has none")
                continue
            }
            given.insert(index)
            let field = kind.parameters[index].field
            let value = data.constant(entry.value, as: field.type, Subject("the parameter", field.name))
            values[index] = value
            if let value, lookup.isChoice(value, of: field, entry.value) { continue }
            isWhole = false
        }
        let missing = names.indices.filter { values[$0] == nil && !given.contains($0) }
        if isWhole, !missing.isEmpty {
            let list = missing.map { "'\(names[$0])'" }.joined(separator: ", ")
            lookup.report(
                .missingParameter, at: name.span,
                "'\(kind.name)' needs the parameter\(missing.count > 1 ? "s" : "") \(list)",
                hint: "its parameters are { \(DataCompiler.list(kind.parametersType)) }")
        }
        let whole = values.compactMap(\.self)
        return isWhole && whole.count == names.count ? whole : nil
    }
}

extension Lookup {
    /// Whether a fixed value is one of those that a field of a kind may have; false after reporting.
    ///
    /// - Parameter node: What is written; a value that comes from elsewhere is not told.
    func isChoice(_ value: Value, of field: SystemKind.Field, _ node: Node) -> Bool {
        // A sample takes the place of a value that is not to be had here.
        let isExternal = node.external != nil
        if isExternal, session.mayLackValues { return true }
        var value = value
        if case .optional(let wrapped?) = value { value = wrapped }
        // A sample stands for what nobody knows yet.
        guard case .string(let text) = value, !field.choices.isEmpty, !field.choices.contains(text), !session.isGeneric
        else { return true }
        let words = field.choices.map { "'\($0)'" }
        let list =
            words.count > 1 ? words.dropLast().joined(separator: ", ") + " or " + words[words.count - 1] : words[0]
        report(
            .unknownChoice, at: node.mark, "'\(field.name)' is \(list), not \(isExternal ? "that" : "'\(text)'")",
            hint: isExternal ? nil : nearestName(to: text, among: field.choices).map { "did you mean '\($0)'?" })
        return false
    }

    /// Whether the fixed values among the fields of a state or an event are such as its kind allows; false after
    /// reporting.
    func areChoices(_ values: (Int) -> Value?, of record: SystemKind.Record, _ written: WrittenConstruct) -> Bool {
        var isRight = true
        for (index, field) in record.fields.enumerated() where !field.choices.isEmpty {
            guard let value = values(index) else { continue }
            let entry = written.fields?.first { $0.key.text == field.name }
            isRight = isChoice(value, of: field, entry?.value ?? written.node) && isRight
        }
        return isRight
    }
}

extension ValueType {
    /// Whether a value may be none.
    var isOptional: Bool { if case .optional = self { true } else { false } }
}
