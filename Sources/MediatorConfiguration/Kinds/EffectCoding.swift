import CommonExpression
import FoundationEssentials

// Side effects as JSON, as a `KindFile` has them. Of types that the configuration has no words for nothing is said but `dyn`: then
// the check elsewhere is as lenient as the daemon is where it does not know a type.

extension EffectSchema: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, summary, parameters, shortForm, exactlyOneOf, outcomes, isLasting, isProbe, onlyTells
    }

    /// Reads a side effect; all but the name may be missing.
    public init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try container.decode(String.self, forKey: .name),
            summary: try container.decodeIfPresent(String.self, forKey: .summary),
            parameters: try container.decodeIfPresent([Parameter].self, forKey: .parameters) ?? [],
            shortForm: try container.decodeIfPresent(String.self, forKey: .shortForm),
            exactlyOneOf: try container.decodeIfPresent([String].self, forKey: .exactlyOneOf) ?? [],
            outcomes: try container.decodeIfPresent([Outcome].self, forKey: .outcomes) ?? [],
            emitsDirectly: false,
            isLasting: try container.decodeIfPresent(Bool.self, forKey: .isLasting) ?? false,
            isProbe: try container.decodeIfPresent(Bool.self, forKey: .isProbe) ?? false,
            onlyTells: try container.decodeIfPresent(Bool.self, forKey: .onlyTells) ?? false)
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
        let type = try container.decodeType(forKey: .type)
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
            constraint: try container.decodeIfPresent(Constraint.self, forKey: .constraint),
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
        try container.encodeIfPresent(constraint, forKey: .constraint)
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
                        name: try field.decode(String.self, forKey: .name), type: try field.decodeType(forKey: .type)))
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

extension EffectSchema.Parameter.Constraint: Codable {
    private typealias Constraint = Self

    /// Those that are a word.
    private static let words: [(word: String, constraint: Self)] = [
        ("absolutePath", .absolutePath), ("socketPath", .socketPath), ("permissions", .permissions),
        ("unitName", .unitName), ("journalFields", .journalFields), ("logFields", .logFields), ("command", .command),
        ("environment", .environment), ("host", .host), ("url", .url), ("statuses", .statuses), ("exits", .exits),
        ("account", .account), ("headers", .headers),
    ]

    private enum CodingKeys: String, CodingKey {
        case component, text, whole, number, time
    }

    /// Reads a word, or one of `{"component": LIMIT}`, `{"text": LIMIT}`, `{"whole": [FROM, TO]}`, `{"number": [FROM, TO]}` and
    /// `{"time": [FROM, TO]}`.
    public init(from decoder: any Swift.Decoder) throws {
        if let word = try? decoder.singleValueContainer().decode(String.self) {
            guard let known = Self.words.first(where: { $0.word == word }) else {
                throw Self.failure(decoder, "there is no constraint '\(word.prefix(80))'")
            }
            self = known.constraint
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let key = container.allKeys.first, container.allKeys.count == 1 else {
            throw Self.failure(decoder, "a constraint is a word, or an object with one member that is known")
        }
        func range<Bound: Decodable & Comparable>(_: Bound.Type) throws -> ClosedRange<Bound> {
            let bounds = try container.decode([Bound].self, forKey: key)
            guard bounds.count == 2, bounds[0] <= bounds[1] else {
                throw Self.failure(decoder, "a range is two values, the lesser one first")
            }
            return bounds[0]...bounds[1]
        }
        switch key {
        case .component: self = .component(limit: try container.decode(Int.self, forKey: key))
        case .text: self = .text(limit: try container.decode(Int.self, forKey: key))
        case .whole: self = .whole(try range(Int64.self))
        case .number: self = .number(try range(Double.self))
        case .time:
            let bounds = try container.decode([String].self, forKey: key).map { TimeSpan(text: $0)?.swiftDuration }
            guard bounds.count == 2, let least = bounds[0], let most = bounds[1], least <= most else {
                throw Self.failure(decoder, "a range is two lengths of time, the lesser one first")
            }
            self = .time(least...most)
        }
    }

    /// Writes a constraint.
    public func encode(to encoder: any Encoder) throws {
        if let known = Self.words.first(where: { $0.constraint == self }) {
            var container = encoder.singleValueContainer()
            return try container.encode(known.word)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .component(let limit): try container.encode(limit, forKey: .component)
        case .text(let limit): try container.encode(limit, forKey: .text)
        case .whole(let range): try container.encode([range.lowerBound, range.upperBound], forKey: .whole)
        case .number(let range): try container.encode([range.lowerBound, range.upperBound], forKey: .number)
        case .time(let range):
            let bounds = [range.lowerBound, range.upperBound].map { TimeSpan($0)?.brief ?? "0s" }
            try container.encode(bounds, forKey: .time)
        case .absolutePath, .socketPath, .permissions, .unitName, .journalFields, .logFields, .command, .environment,
            .host, .url, .statuses, .exits, .account, .headers:
            preconditionFailure("a constraint that is a word has one")
        }
    }

    private static func failure(_ decoder: any Swift.Decoder, _ text: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: decoder.codingPath, debugDescription: text))
    }
}

extension KeyedDecodingContainer {
    /// A type, by its text.
    fileprivate func decodeType(forKey key: Key) throws -> ValueType {
        let text = try decode(String.self, forKey: key)
        guard let type = TypeText.parse(text, allowsDynamic: true) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "there is no type '\(text.prefix(80))'")
        }
        return type
    }
}
