import CommonExpression
import FoundationEssentials

// Side effects as JSON in a `KindFile`. A result type that the configuration cannot spell becomes `dyn`: expressions
// take it as they take JSON. Parameters have no such type. Constraints of a newer daemon are ignored.

extension EffectSchema: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, summary, parameters, shortForm, exactlyOneOf, outcomes, isLasting, isProbe, onlyTells
    }

    /// Reads a side effect; all but the name may be missing.
    public init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let outcomes = try container.decodeIfPresent([Outcome].self, forKey: .outcomes) ?? []
        let isLasting = try container.decodeIfPresent(Bool.self, forKey: .isLasting) ?? false
        let onlyTells = try container.decodeIfPresent(Bool.self, forKey: .onlyTells) ?? false
        self.init(
            name: try container.decode(String.self, forKey: .name),
            summary: try container.decodeIfPresent(String.self, forKey: .summary),
            parameters: try container.decodeIfPresent([Parameter].self, forKey: .parameters) ?? [],
            shortForm: try container.decodeIfPresent(String.self, forKey: .shortForm),
            exactlyOneOf: try container.decodeIfPresent([String].self, forKey: .exactlyOneOf) ?? [],
            outcomes: outcomes, emitsDirectly: false, isLasting: isLasting,
            isProbe: try container.decodeIfPresent(Bool.self, forKey: .isProbe) ?? false,
            onlyTells: onlyTells || isLasting && !outcomes.isEmpty)
    }

    /// Writes a side effect.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(summary, forKey: .summary)
        try container.encode(parameters, forKey: .parameters)
        try container.encodeIfPresent(shortForm, forKey: .shortForm)
        if !exactlyOneOf.isEmpty { try container.encode(exactlyOneOf, forKey: .exactlyOneOf) }
        try container.encode(outcomes, forKey: .outcomes)
        if isLasting { try container.encode(true, forKey: .isLasting) }
        if isProbe { try container.encode(true, forKey: .isProbe) }
        if onlyTells { try container.encode(true, forKey: .onlyTells) }
    }
}

extension EffectSchema.Parameter: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, summary, type, required, `default`, choices, allowsEmpty, acceptsSecrets, constraint, upperBound
        case lowerBound, companion
    }

    /// Reads a parameter; all but its name and type may be missing.
    public init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let type = try container.decodeType(forKey: .type, allowsDynamic: false)
        var usual: Value?
        if container.contains(.default) {
            guard let value = try container.decode(Value.self, forKey: .default).restored(as: type) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .default, in: container, debugDescription: "it is not of type \(type)")
            }
            usual = value
        }
        self.init(
            name: try container.decode(String.self, forKey: .name),
            summary: try container.decodeIfPresent(String.self, forKey: .summary), type: type,
            required: try container.decodeIfPresent(Bool.self, forKey: .required) ?? false, default: usual,
            choices: try container.decodeIfPresent([String].self, forKey: .choices) ?? [],
            allowsEmpty: try container.decodeIfPresent(Bool.self, forKey: .allowsEmpty) ?? true,
            acceptsSecrets: try container.decodeIfPresent(Bool.self, forKey: .acceptsSecrets) ?? false,
            constraint: try container.decodeIfPresent(KnownConstraint.self, forKey: .constraint)?.constraint,
            upperBound: try container.decodeIfPresent(String.self, forKey: .upperBound),
            lowerBound: try container.decodeIfPresent(String.self, forKey: .lowerBound),
            companion: try container.decodeIfPresent(String.self, forKey: .companion))
    }

    /// Writes a parameter.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(summary, forKey: .summary)
        try container.encode(TypeText.spelled(type), forKey: .type)
        if required { try container.encode(true, forKey: .required) }
        try container.encodeIfPresent(`default`, forKey: .default)
        if !choices.isEmpty { try container.encode(choices, forKey: .choices) }
        if !allowsEmpty { try container.encode(false, forKey: .allowsEmpty) }
        if acceptsSecrets { try container.encode(true, forKey: .acceptsSecrets) }
        try container.encodeIfPresent(constraint.map { KnownConstraint(constraint: $0) }, forKey: .constraint)
        try container.encodeIfPresent(upperBound, forKey: .upperBound)
        try container.encodeIfPresent(lowerBound, forKey: .lowerBound)
        try container.encodeIfPresent(companion, forKey: .companion)
    }
}

extension EffectSchema.Outcome: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, summary, result, type
    }

    /// Reads an outcome; the fields of its result may be missing.
    public init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        var fields: [StructureType.Field] = []
        if container.contains(.result) {
            var list = try container.nestedUnkeyedContainer(forKey: .result)
            while !list.isAtEnd {
                let field = try list.nestedContainer(keyedBy: CodingKeys.self)
                fields.append(
                    StructureType.Field(
                        name: try field.decode(String.self, forKey: .name),
                        type: try field.decodeType(forKey: .type, allowsDynamic: true)))
            }
        }
        self.init(
            name: try container.decode(String.self, forKey: .name),
            summary: try container.decodeIfPresent(String.self, forKey: .summary),
            result: StructureType(name: "result", fields: fields))
    }

    /// Writes an outcome.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(summary, forKey: .summary)
        var list = container.nestedUnkeyedContainer(forKey: .result)
        for field in result.fields {
            var entry = list.nestedContainer(keyedBy: CodingKeys.self)
            try entry.encode(field.name, forKey: .name)
            try entry.encode(TypeText.spelled(field.type), forKey: .type)
        }
    }
}

/// A constraint as JSON: a word, or one of `{"component": LIMIT}`, `{"text": LIMIT}`, `{"whole": [FROM, TO]}`,
/// `{"number": [FROM, TO]}` and `{"time": [FROM, TO]}`. A bound of null means no bound.
private struct KnownConstraint: Codable {
    typealias Constraint = EffectSchema.Parameter.Constraint

    /// nil: it is not known here.
    let constraint: Constraint?

    init(constraint: Constraint) { self.constraint = constraint }

    /// Those that are a word.
    private static let words: [(word: String, constraint: Constraint)] = [
        ("absolutePath", .absolutePath), ("socketPath", .socketPath), ("permissions", .permissions),
        ("unitName", .unitName), ("journalFields", .journalFields), ("logFields", .logFields), ("command", .command),
        ("environment", .environment), ("host", .host), ("url", .url), ("statuses", .statuses), ("exits", .exits),
        ("account", .account), ("headers", .headers),
    ]

    private enum CodingKeys: String, CodingKey {
        case component, text, whole, number, time
    }

    init(from decoder: any Swift.Decoder) throws {
        if let word = try? decoder.singleValueContainer().decode(String.self) {
            if CodingKeys(stringValue: word) != nil {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "'\(word)' is without its limits"))
            }
            constraint = Self.words.first { $0.word == word }?.constraint
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func range<Bound: Comparable>(
            _ key: CodingKeys, _ all: ClosedRange<Bound>, _ bounds: [Bound?]
        ) throws -> ClosedRange<Bound> {
            guard bounds.count == 2 else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: container, debugDescription: "a range has two bounds")
            }
            let (least, most) = (bounds[0] ?? all.lowerBound, bounds[1] ?? all.upperBound)
            guard least <= most else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: container, debugDescription: "of a range the lesser bound comes first")
            }
            return least...most
        }
        guard container.allKeys.count < 2 else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "only one thing can be asked of a parameter"))
        }
        guard let key = container.allKeys.first else {
            constraint = nil
            return
        }
        switch key {
        case .component: constraint = .component(limit: try container.decode(Int.self, forKey: key))
        case .text: constraint = .text(limit: try container.decode(Int.self, forKey: key))
        case .whole:
            constraint = .whole(
                try range(key, Int64.min...(.max), try container.decode([Int64?].self, forKey: key)))
        case .number:
            constraint = .number(
                try range(key, -Double.infinity...(.infinity), try container.decode([Double?].self, forKey: key)))
        case .time:
            let bounds = try container.decode([String?].self, forKey: key).map { text throws -> Duration? in
                guard let text else { return nil }
                guard let span = TimeSpan(text: text) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: key, in: container, debugDescription: "'\(text.prefix(80))' is no length of time")
                }
                return span.swiftDuration
            }
            constraint = .time(try range(key, Duration.seconds(Int64.min)...(.seconds(Int64.max)), bounds))
        }
    }

    func encode(to encoder: any Encoder) throws {
        if let known = Self.words.first(where: { $0.constraint == constraint }) {
            var container = encoder.singleValueContainer()
            return try container.encode(known.word)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch constraint {
        case .component(let limit)?: try container.encode(limit, forKey: .component)
        case .text(let limit)?: try container.encode(limit, forKey: .text)
        case .whole(let range)?: try container.encode([range.lowerBound, range.upperBound], forKey: .whole)
        case .number(let range)?:
            let bounds = [range.lowerBound, range.upperBound].map { $0.isFinite ? $0 : nil }
            try container.encode(bounds, forKey: .number)
        case .time(let range)?:
            // Shown as it is read: to the nanosecond, and up to ten thousand years.
            let bounds = [range.lowerBound, range.upperBound].map { TimeSpan($0).map { "\($0)" } }
            try container.encode(bounds, forKey: .time)
        case .absolutePath?, .socketPath?, .permissions?, .unitName?, .journalFields?, .logFields?, .command?,
            .environment?, .host?, .url?, .statuses?, .exits?, .account?, .headers?, nil:
            preconditionFailure("a known constraint that is a word has a text")
        }
    }
}

extension KeyedDecodingContainer {
    /// A type, by its text.
    fileprivate func decodeType(forKey key: Key, allowsDynamic: Bool) throws -> ValueType {
        let text = try decode(String.self, forKey: key)
        guard let type = TypeText.parse(text, allowsDynamic: allowsDynamic) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "there is no type '\(text.prefix(80))'")
        }
        return type
    }
}
