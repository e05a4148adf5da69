import CommonExpression

/// A value that is not written in the configuration but named there: `!env NAME`, `!credential NAME`, or
/// `!env { name: NAME, default: VALUE }`.
struct ExternalReference: Sendable {
    /// The source of the value.
    var kind: UnavailableValue.Kind
    /// Its name, in which `${…}` may use an instance's constants.
    var name: Scalar
    /// The default, if the value is missing.
    var fallback: Scalar?
    /// A Boolean value that indicates whether it could not be read, which is reported.
    var isBroken = false

    /// As one writes it.
    var text: String { "!\(kind.rawValue) \(name.text)" }

    /// The tag's kind, if it marks such a value.
    static func kind(ofTag tag: String) -> UnavailableValue.Kind? {
        tag.hasPrefix("!") ? UnavailableValue.Kind(rawValue: String(tag.dropFirst())) : nil
    }

    /// Reads the form with a default.
    static func reading(
        _ kind: UnavailableValue.Kind, _ entries: [Node.Entry], at span: Span, _ decoder: Decoder
    ) -> ExternalReference {
        let what = "'!\(kind.rawValue)'"
        let keyed = Keyed(entries: entries, known: ["name", "default"], span: span)
        var isBroken = false
        for entry in entries where !keyed.known.contains(entry.key.text) {
            decoder.unknownKey(entry, what, known: keyed.known)
            isBroken = true
        }
        let name = decoder.required("name", of: keyed, what).flatMap { decoder.scalar($0, "the name of \(what)") }
        let fallback = keyed["default"].map { decoder.scalar($0, "the default of \(what)") }
        if case .some(nil) = fallback { isBroken = true }
        return ExternalReference(
            kind: kind, name: name ?? Scalar(text: "", style: .plain, span: span), fallback: fallback ?? nil,
            isBroken: isBroken || name == nil)
    }

    /// Returns whether a name can be one of its kind.
    static func isValid(_ name: String, _ kind: UnavailableValue.Kind) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, bytes.count <= 255 else { return false }
        switch kind {
        case .environment:
            // IEEE Std 1003.1, "Environment Variable Definition".
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
            return !isDigit && bytes.allSatisfy { $0 == UInt8(ascii: "_") || Names.isLetterOrDigit($0) }
        case .credential:
            // A file's name, systemd.exec(5).
            return name != "." && name != ".." && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
        }
    }
}

extension Node {
    /// The named value, if it is one.
    var external: ExternalReference? {
        if case .external(let reference) = content { reference } else { nil }
    }

    /// A Boolean value that indicates whether a credential is somewhere in it.
    var holdsCredential: Bool {
        switch content {
        case .scalar: false
        case .external(let reference): reference.kind == .credential
        case .sequence(let items): items.contains(where: \.holdsCredential)
        case .mapping(let entries): entries.contains { $0.value.holdsCredential }
        }
    }
}

extension DataCompiler {
    /// The value of a reference, of a type; nil after reporting.
    func external(
        _ reference: ExternalReference, as type: ValueType, _ what: Subject, _ scope: VariableScope, at span: Span
    ) -> DataProgram? {
        if case .dyn = type { return nil }
        if reference.isBroken { return nil }
        guard reference.kind == .environment || acceptsSecrets else {
            report(
                .misplacedSecret, at: span,
                "\(what) cannot be a credential, because clients of the daemon can see it",
                hint: "give it to a side effect, such as the 'environment' of 'run'")
            return nil
        }
        let fallback = reference.fallback.map {
            data(Node(content: .scalar($0), span: $0.span), as: type, what, .fixed)
        }
        if case .some(nil) = fallback { return nil }
        guard let name = name(reference) else { return nil }
        if context.isGeneric { return .constant(type.sample) }
        do throws(ExternalValues.Failure) {
            let text = try context.value(reference.kind, name)
            let resolved = type == .string ? CoreSchema.text : CoreSchema(plain: text)
            if let value = Self.converted(resolved, text, as: type) { return .constant(value) }
            // The message shows neither value, since both may be confidential.
            report(
                .wrongType, at: span,
                "\(what) is of type \(type), which the value of the \(reference.kind.words) '\(name)' is not")
        } catch {
            if error.isMissing, let value = fallback ?? nil { return value }
            if error.isMissing, context.mayLackValues {
                context.depend(
                    onMissing: UnavailableValue(
                        kind: reference.kind, name: name, source: source.location(at: span.start)))
                return .constant(type.sample)
            }
            report(.unavailableValue, at: span, error.message, hint: error.hint)
        }
        return nil
    }

    private func name(_ reference: ExternalReference) -> String? {
        let scalar = reference.name
        var name = context.literal(scalar)
        if name == nil {
            guard let program = context.template(scalar, as: .string, .fixed, in: source) else { return nil }
            if context.isGeneric { return "" }
            let subject = Subject("the name of the \(reference.kind.words)", "")
            guard
                case .constant(.string(let text))? = data(
                    program, scalar, subject, .fixed, sample: ValueType.string.sample)
            else { return nil }
            name = text
        }
        guard let name, ExternalReference.isValid(name, reference.kind) else {
            report(
                .invalidName, at: scalar.span,
                "'\((name ?? "").prefix(60))' cannot name \(reference.kind == .environment ? "an" : "a") \(reference.kind.words)",
                hint: reference.kind == .environment ? "letters, digits and '_', not beginning with a digit" : nil)
            return nil
        }
        return name
    }
}

extension CompilationContext {
    /// The name of a reference, with an instance's constants put in; nil if it is none. Nothing is reported.
    func fixedName(_ reference: ExternalReference) -> String? {
        if let text = literal(reference.name) {
            return ExternalReference.isValid(text, reference.kind) ? text : nil
        }
        guard case .string(let text)? = fittingTemplate(reference.name, as: .string, .fixed)?.constant,
            ExternalReference.isValid(text, reference.kind)
        else { return nil }
        return text
    }
}

extension UnavailableValue.Kind {
    /// The name of the source in messages.
    var words: String { self == .environment ? "environment variable" : "credential" }
}

extension ValueType {
    /// Some value of the type, where only the type matters.
    var sample: Value {
        switch self {
        case .dyn, .null, .type, .optional: .null
        case .bool: .bool(false)
        case .int: .int(1)
        case .uint: .uint(1)
        case .double: .double(1)
        case .string: .string("sample")
        case .bytes: .bytes([])
        case .timestamp: Timestamp(seconds: 0, nanoseconds: 0).map { .timestamp($0) } ?? .null
        case .duration: TimeSpan(seconds: 1, nanoseconds: 0).map { .duration($0) } ?? .null
        case .list: .list([])
        case .map: .map([:])
        case .structure(let type): .structure(Structure(type: type, fields: type.fields.map(\.type.sample)))
        }
    }
}
