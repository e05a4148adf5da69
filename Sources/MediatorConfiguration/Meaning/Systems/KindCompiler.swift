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
            let names = lookup.context.kinds.names
            lookup.report(
                .unknownKind, at: name.span, "there is no kind of systems '\(name.text)'",
                hint: names.isEmpty
                    ? "only a daemon of one's own has kinds; give its list to mediatorctl validate with --kinds"
                    : Names.hint(for: name.text, among: names))
            return nil
        }
        guard let arguments = written.arguments, let values = values(arguments, kind, name) else { return nil }
        var confidential: Set<String> = []
        var concealed: Set<String> = []
        for entry in arguments {
            guard let index = kind.parameters.firstIndex(where: { $0.field.name == entry.key.text }) else { continue }
            confidential.formUnion(lookup.context.confidential(values[index], entry.value))
            if lookup.context.isForeign(entry.value) { concealed.insert(entry.key.text) }
        }
        return KindInstance(
            kind: kind.name, parameters: Structure(type: kind.parametersType, fields: values),
            confidential: confidential, concealed: concealed)
    }

    private func values(_ entries: [Node.Entry], _ kind: SystemKind, _ name: Scalar) -> [Value]? {
        let decoder = Decoder(source: lookup.source, diagnostics: lookup.context.diagnostics)
        // A value from elsewhere is hidden, unless the kind's author decided to show it.
        var data = DataCompiler(lookup.context, lookup.source)
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
            if let value, field.rule.map({ lookup.obeys(.constant(value), $0, at: field.name, entry.value) }) ?? true {
                continue
            }
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
    /// Returns whether the fixed parts of data obey a rule; false after reporting.
    ///
    /// - Parameters:
    ///   - path: The name of the data in messages.
    ///   - node: The data as written. Values from elsewhere are not shown.
    func obeys(_ data: DataProgram, _ rule: ValueRule, at path: String, _ node: Node) -> Bool {
        // A sample takes the place of an unknown value.
        guard !context.isGeneric else { return true }
        func all(_ parts: [Bool]) -> Bool { parts.allSatisfy(\.self) }
        switch (data, rule) {
        case (.constant(let value), _): return obeys(value, rule, at: path, node)
        case (.template, _): return true
        case (.optional(let wrapped), _): return obeys(wrapped, rule, at: path, node)
        case (.list(let elements), .each(let rule)):
            return all(
                elements.enumerated().map { obeys($1, rule, at: "\(path)[\($0)]", node.element($0) ?? node) })
        case (.map(let entries), .each(let rule)):
            return all(
                entries.map { obeys($0.value, rule, at: "\(path).\($0.key)", node.member($0.key) ?? node) })
        case (.structure(let type, let fields), .fields(let rules)):
            return all(
                zip(type.fields, fields).map { field, data in
                    guard let rule = rules[field.name] else { return true }
                    let inner = path.isEmpty ? field.name : "\(path).\(field.name)"
                    return obeys(data, rule, at: inner, node.member(field.name) ?? node)
                })
        default: return true
        }
    }

    private func obeys(_ value: Value, _ rule: ValueRule, at path: String, _ node: Node) -> Bool {
        func all(_ parts: [Bool]) -> Bool { parts.allSatisfy(\.self) }
        switch (value, rule) {
        case (.optional(let wrapped), _): return wrapped.map { obeys($0, rule, at: path, node) } ?? true
        case (.list(let values), .each(let rule)):
            return all(values.enumerated().map { obeys($1, rule, at: "\(path)[\($0)]", node.element($0) ?? node) })
        case (.map(let entries), .each(let rule)):
            let named = entries.map { (key: $0.key.text ?? "", value: $0.value) }.sorted { $0.key < $1.key }
            return all(named.map { obeys($0.value, rule, at: "\(path).\($0.key)", node.member($0.key) ?? node) })
        case (.structure(let structure), .fields(let rules)):
            return all(
                zip(structure.type.fields, structure.fields).map { field, value in
                    guard let rule = rules[field.name] else { return true }
                    let inner = path.isEmpty ? field.name : "\(path).\(field.name)"
                    return obeys(value, rule, at: inner, node.member(field.name) ?? node)
                })
        default: break
        }
        guard let breach = rule.breach(of: value, at: path) else { return true }
        let origin = context.origin(node)
        // A sample takes the place of a value that is missing here.
        if origin == .missing { return true }
        let isForeign = origin == .elsewhere
        let code: Diagnostic.Code =
            switch breach.kind {
            case .range: .outOfRange
            case .choice: .unknownChoice
            case .format: .wrongType
            }
        var hint = isForeign ? nil : breach.nearest.map { "did you mean '\($0)'?" }
        if breach.kind == .format { hint = "write one such as 6f1c0a52-3b1e-4c0e-9a7d-2f8e5d1b9c34" }
        report(code, at: node.mark, isForeign ? breach.descriptionWithoutValue : breach.description, hint: hint)
        return false
    }
}

extension CompilationContext {
    /// Returns whether a node comes from elsewhere, or may contain such a value. The default of a credential is written
    /// in the file, but it is hidden as well.
    func isForeign(_ node: Node) -> Bool { origin(node) != .written || node.holdsCredential }

    /// The texts of a value that come from elsewhere, or may contain such a value.
    func confidential(_ value: Value, _ node: Node) -> Set<String> {
        switch (value, node.content) {
        case (.optional(let wrapped), _): return wrapped.map { confidential($0, node) } ?? []
        case (.list(let values), .sequence(let items)):
            return zip(values, items).reduce(into: []) { $0.formUnion(confidential($1.0, $1.1)) }
        case (.map(let entries), .mapping(let written)):
            return written.reduce(into: []) { texts, entry in
                if let value = entries[.string(entry.key.text)] { texts.formUnion(confidential(value, entry.value)) }
            }
        case (.structure(let structure), .mapping(let written)):
            return written.reduce(into: []) { texts, entry in
                if let value = structure[entry.key.text] { texts.formUnion(confidential(value, entry.value)) }
            }
        default: return isForeign(node) ? value.texts.filter { !$0.isEmpty } : []
        }
    }
}

extension Value {
    /// The texts of all plain values in it, and of the keys of maps.
    package var texts: Set<String> {
        switch self {
        case .optional(let wrapped): wrapped?.texts ?? []
        case .list(let values): values.reduce(into: []) { $0.formUnion($1.texts) }
        case .map(let entries):
            entries.reduce(into: []) { texts, entry in
                texts.formUnion(entry.value.texts)
                if let key = entry.key.text { texts.insert(key) }
            }
        case .structure(let structure): structure.fields.reduce(into: []) { $0.formUnion($1.texts) }
        default: text.map { [$0] } ?? []
        }
    }
}

extension Node {
    /// An element of a list.
    fileprivate func element(_ index: Int) -> Node? {
        guard case .sequence(let items) = content, items.indices.contains(index) else { return nil }
        return items[index]
    }

    /// The value of a key as written.
    fileprivate func member(_ name: String) -> Node? {
        guard case .mapping(let entries) = content else { return nil }
        return entries.first { $0.key.text == name }?.value
    }
}

extension ValueType {
    /// A Boolean value that indicates whether a value may be none.
    var isOptional: Bool { if case .optional = self { true } else { false } }
}
