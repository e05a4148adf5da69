import CommonExpression
import StrictJSON

/// A daemon's own kinds of systems and side effects, as JSON. `own-daemon --print-kinds` writes it, and `mediatorctl
/// validate --kinds` reads it.
///
///     {"version":1,"kinds":[{"name":"speaker","parameters":[{"name":"target","type":"int"}],
///       "states":[{"name":"VolumeState","fields":[{"name":"value","type":"int"}]}],
///       "events":[{"name":"IncreaseEvent"},{"name":"DecreaseEvent"}]}]}
///
/// Types are written as in the configuration, and also as `optional(T)` and `{ name: T, … }`. The rule of a field
/// stands beside its type: `"minimum": 0, "maximum": 65535`, `"choices": ["low", "high"]`, `"format": "uuid"`. The rule
/// of the elements of a list or map is within `"each"`, and the rules of a structure's fields are by name within
/// `"fields"`.
///
/// Side effects stand beside the kinds:
///
///     "effects":[{"name":"chime","summary":"strikes a bell","shortForm":"text",
///       "parameters":[{"name":"text","type":"string","required":true,"allowsEmpty":false}],
///       "outcomes":[{"name":"onRung","result":[{"name":"strokes","type":"int"}]}]}]
public struct KindFile: Sendable, Hashable {
    /// The most bytes such a file may have: as many as one of a configuration.
    public static let sizeLimit = ConfigurationLimits.fileSize

    /// The version of the format. It changes as soon as an older reader would misunderstand a file. New members alone
    /// do not change it.
    public static let version = 1

    /// The most side effects of its own that a daemon may have.
    public static let mostEffects = 128

    /// The reason why a text is not such a file.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The reason, in a sentence without a full stop.
        public let description: String
    }

    /// The kinds.
    public var kinds: [SystemKind]
    /// The side effects beyond those of every daemon.
    public var effects: [EffectSchema]

    /// A file of some kinds and side effects.
    public init(_ kinds: [SystemKind], effects: [EffectSchema] = []) {
        self.kinds = kinds
        self.effects = effects
    }

    /// All side effects that such a daemon knows.
    public var allEffects: [EffectSchema] { EffectSchema.builtin + effects }

    /// Reads the text of a file of this version, or one that names none; members that it does not know are passed over.
    public init(json: [UInt8]) throws(Failure) {
        guard json.count <= Self.sizeLimit else {
            throw Failure(description: "it has more than \(Self.sizeLimit) bytes")
        }
        do {
            let json = try JSONValue(parsing: json.span)
            let version = try json.decode(Version.self).version
            guard version == nil || version == Double(Self.version) else {
                let found = version.map { Int(exactly: $0).map(String.init) ?? "\($0)" } ?? ""
                throw Failure(
                    description: "it is of version \(found), and only version \(Self.version) is known here; take the"
                        + " mediatorctl of the release with which that daemon was built")
            }
            let content = try json.decode(Content.self)
            kinds = content.kinds
            effects = content.effects ?? []
        } catch let error as JSONSyntaxError {
            let before = json[..<error.offset].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            throw Failure(
                description: "it is not valid JSON, at line \(before.count), column \((before.last?.count ?? 0) + 1):"
                    + " \(error.reason)")
        } catch let error as DecodingError {
            throw Failure(description: Self.describe(error))
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(description: "\(error)")
        }
        var names: Set<String> = []
        for kind in kinds {
            guard names.insert(kind.name).inserted else {
                throw Failure(description: "two kinds have the name '\(kind.name)'")
            }
            if let flaw = kind.flaws.first { throw Failure(description: "the kind '\(kind.name)': \(flaw)") }
        }
        if effects.count > Self.mostEffects {
            throw Failure(description: "it has more than \(Self.mostEffects) side effects")
        }
        let known = Set(EffectSchema.builtin.map(\.name))
        names = []
        for effect in effects {
            if known.contains(effect.name) {
                throw Failure(description: "every daemon has a side effect '\(effect.name)'")
            }
            guard names.insert(effect.name).inserted else {
                throw Failure(description: "two side effects have the name '\(effect.name)'")
            }
            if let flaw = effect.flaws.first {
                throw Failure(description: "the side effect '\(effect.name)': \(flaw)")
            }
        }
        if let clash = EffectSchema.clashes(of: effects, with: EffectSchema.builtin).first {
            throw Failure(description: clash)
        }
    }

    /// The bytes of a file at a path, to be read by ``init(json:)``.
    ///
    /// - Throws: why it cannot be read.
    public static func contents(_ path: String) throws(Diagnostic) -> [UInt8] {
        switch try ConfigurationDirectory.entry(path) {
        case .file(let contents): return contents
        case .mask: return []
        case .directory: throw Diagnostic(code: .unreadable, message: "this is a directory")
        }
    }

    /// The text of the file, with a line break at its end.
    ///
    /// - Throws: `EncodingError`, where a default value is one that JSON cannot hold: NaN, or infinity.
    public func json() throws -> String {
        let content = Content(version: Self.version, kinds: kinds, effects: effects.isEmpty ? nil : effects)
        return try JSONValue(encoding: content).indented() + "\n"
    }

    /// The contents of the file.
    private struct Content: Codable {
        var version: Int?
        var kinds: [SystemKind]
        var effects: [EffectSchema]?
    }

    /// The version, which is read first since the rest depends on it.
    private struct Version: Decodable {
        var version: Double?
    }

    /// The JSON name of a type.
    private static func words(for type: any Any.Type) -> String? {
        switch type {
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is any BinaryInteger.Type: "a whole number"
        case is any BinaryFloatingPoint.Type: "a number"
        case is any ExpressibleByArrayLiteral.Type: "a list"
        case is any ExpressibleByDictionaryLiteral.Type: "an object"
        default: nil
        }
    }

    private static func describe(_ error: DecodingError) -> String {
        func place(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
            let path = (context.codingPath + (key.map { [$0] } ?? [])).map {
                $0.intValue.map { "[\($0)]" } ?? $0.stringValue
            }
            return path.isEmpty ? "the file" : path.joined(separator: ".").replacing(".[", with: "[")
        }
        switch error {
        case .keyNotFound(let key, let context): return "\(place(context, key)) is missing"
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            return "\(place(context)): \(words(for: type).map { "\($0) is expected" } ?? context.debugDescription)"
        case .dataCorrupted(let context): return "\(place(context)): \(context.debugDescription)"
        @unknown default: return "\(error)"
        }
    }
}

extension SystemKind: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, description, parameters, states, events
    }

    /// Reads a kind; parameters and events may be missing.
    public init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try container.decode(String.self, forKey: .name),
            description: try container.decodeIfPresent(String.self, forKey: .description),
            parameters: try container.decodeIfPresent([Parameter].self, forKey: .parameters) ?? [],
            states: try container.decode([Record].self, forKey: .states),
            events: try container.decodeIfPresent([Record].self, forKey: .events) ?? [])
    }

    /// Writes a kind.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(description, forKey: .description)
        try container.encode(parameters, forKey: .parameters)
        try container.encode(states, forKey: .states)
        try container.encode(events, forKey: .events)
    }
}

extension SystemKind.Record: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, fields
    }

    /// Reads a state or an event; its fields may be missing.
    public init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try container.decode(String.self, forKey: .name),
            fields: try container.decodeIfPresent([SystemKind.Field].self, forKey: .fields) ?? [])
    }

    /// Writes a state or an event.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        if !fields.isEmpty { try container.encode(fields, forKey: .fields) }
    }
}

extension SystemKind.Field: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, type
    }

    /// Reads a field.
    public init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let text = try container.decode(String.self, forKey: .type)
        guard let type = TypeText.parse(text) else {
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "there is no type '\(text.prefix(80))'")
        }
        self.init(
            name: try container.decode(String.self, forKey: .name), type: type, rule: try ValueRule.reading(decoder))
    }

    /// Writes a field.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode("\(type)", forKey: .type)
        try rule?.encode(to: encoder)
    }
}

extension SystemKind.Parameter: Codable {
    private enum CodingKeys: String, CodingKey {
        case `default`
    }

    /// Reads a parameter: a field, and perhaps its default value.
    public init(from decoder: any Swift.Decoder) throws {
        let field = try SystemKind.Field(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.contains(.default) else {
            self.init(field: field)
            return
        }
        guard let value = try container.decode(Value.self, forKey: .default).restored(as: field.type) else {
            throw DecodingError.dataCorruptedError(
                forKey: .default, in: container, debugDescription: "it is not of type \(field.type)")
        }
        self.init(field: field, default: value)
    }

    /// Writes a parameter.
    public func encode(to encoder: any Encoder) throws {
        try field.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(`default`, forKey: .default)
    }
}
