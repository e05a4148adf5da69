public import CommonExpression
import FoundationEssentials

/// A rule for a value beyond its type, which a Swift type knows and the words of a configuration cannot express: a
/// range of numbers, or a choice of words. The rule of an optional value applies if the value is present.
public indirect enum ValueRule: Sendable, Hashable {
    /// A whole number in this range.
    case range(ClosedRange<Int64>)
    /// One of these texts.
    case words([String])
    /// One of these whole numbers.
    case numbers([Int64])
    /// The text of a UUID (RFC 9562 § 4).
    case uuid
    /// Each element of a list, or each value of a map.
    case each(ValueRule)
    /// Fields of a structure, by name.
    case fields([String: ValueRule])

    /// A breach of a rule.
    public struct Breach: Error, Sendable, Hashable, CustomStringConvertible {
        /// The sort of rule.
        public enum Kind: Sendable, Hashable {
            case range
            case choice
            case format
        }

        /// The sort of rule.
        public var kind: Kind
        /// The place of the value, beginning with the name of the whole: `server.ports[2]`.
        public var path: String
        /// The expected value: `between 0 and 65535`.
        public var expected: String
        /// The value in words.
        public var found: String
        /// The value that was probably meant.
        public var nearest: String?

        /// The breach in a sentence without a full stop, and without the value that was probably meant.
        public var description: String { "'\(path)' is \(expected), not \(found)" }
        /// The same without the value, which is hidden.
        public var descriptionWithoutValue: String { "'\(path)' is \(expected), not that" }
    }

    /// The first place where a value breaks the rule; nil if it obeys.
    ///
    /// - Parameter path: The name of the whole.
    /// - Complexity: Linear in the size of the value.
    public func breach(of value: Value, at path: String) -> Breach? {
        switch (self, value) {
        case (_, .optional(let wrapped)): return wrapped.flatMap { breach(of: $0, at: path) }
        case (.each(let rule), .list(let values)):
            for (index, value) in values.enumerated() {
                if let breach = rule.breach(of: value, at: "\(path)[\(index)]") { return breach }
            }
            return nil
        case (.each(let rule), .map(let entries)):
            let named = entries.map { (key: $0.key.text ?? "", value: $0.value) }.sorted { $0.key < $1.key }
            for (key, value) in named {
                if let breach = rule.breach(of: value, at: "\(path).\(key)") { return breach }
            }
            return nil
        case (.fields(let rules), .structure(let structure)):
            for (field, value) in zip(structure.type.fields, structure.fields) {
                guard let rule = rules[field.name] else { continue }
                let inner = path.isEmpty ? field.name : "\(path).\(field.name)"
                if let breach = rule.breach(of: value, at: inner) { return breach }
            }
            return nil
        default: return plainBreach(of: value, at: path)
        }
    }

    private func plainBreach(of value: Value, at path: String) -> Breach? {
        let kind: Breach.Kind
        var nearest: String?
        switch (self, value) {
        case (.range(let range), .int(let number)):
            if range.contains(number) { return nil }
            kind = .range
        case (.range(let range), .uint(let number)):
            if let number = Int64(exactly: number), range.contains(number) { return nil }
            kind = .range
        case (.numbers(let numbers), .int(let number)):
            if numbers.contains(number) { return nil }
            kind = .choice
        case (.numbers(let numbers), .uint(let number)):
            if let number = Int64(exactly: number), numbers.contains(number) { return nil }
            kind = .choice
        case (.words(let words), .string(let text)):
            if words.contains(text) { return nil }
            kind = .choice
            nearest = nearestName(to: text, among: words)
        case (.uuid, .string(let text)):
            if UUID(uuidString: text) != nil { return nil }
            kind = .format
        // Of another type it cannot be, since types are checked before.
        default: return nil
        }
        var found = value.text ?? "\(value)"
        if case .string(let text) = value {
            found = "'\(text.prefix(60).map { $0.isNewline ? " " : String($0) }.joined())'"
        }
        return Breach(kind: kind, path: path, expected: text, found: found, nearest: nearest)
    }

    /// The rule in words: `between 0 and 65535`.
    public var text: String {
        switch self {
        case .range(let range) where range.upperBound == .max: "at least \(range.lowerBound)"
        case .range(let range) where range.lowerBound == .min: "at most \(range.upperBound)"
        case .range(let range): "between \(range.lowerBound) and \(range.upperBound)"
        case .words(let words): Self.list(words.map { "'\($0)'" })
        case .numbers(let numbers): Self.list(numbers.map(String.init))
        case .uuid: "a UUID"
        case .each(let rule): "each \(rule.text)"
        case .fields(let rules):
            rules.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.text)" }.joined(separator: ", ")
        }
    }

    private static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    /// Returns whether values of a type can obey the rule. Rules for numbers suit only numbers.
    func fits(_ type: ValueType) -> Bool {
        switch (self, type) {
        case (_, .optional(let wrapped)): fits(wrapped)
        case (.range, .int), (.range, .uint), (.numbers, .int), (.numbers, .uint), (.words, .string), (.uuid, .string):
            true
        case (.each(let rule), .list(let element)), (.each(let rule), .map(_, let element)): rule.fits(element)
        case (.fields(let rules), .structure(let structure)):
            rules.allSatisfy { name, rule in
                structure.index(of: name).map { rule.fits(structure.fields[$0].type) } ?? false
            }
        default: false
        }
    }
}

extension ValueRule: Codable {
    /// In a file of kinds: members of the field, beside its type.
    private enum CodingKeys: String, CodingKey {
        case minimum, maximum, choices, format, each, fields
    }

    /// Reads a rule, or none.
    static func reading(_ decoder: any Swift.Decoder) throws -> ValueRule? {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let minimum = try container.decodeIfPresent(Int64.self, forKey: .minimum)
        let maximum = try container.decodeIfPresent(Int64.self, forKey: .maximum)
        if minimum != nil || maximum != nil {
            let (least, most) = (minimum ?? .min, maximum ?? .max)
            guard least <= most else {
                throw DecodingError.dataCorruptedError(
                    forKey: .maximum, in: container, debugDescription: "it is less than the minimum")
            }
            return .range(least...most)
        }
        if container.contains(.choices) {
            if let words = try? container.decode([String].self, forKey: .choices) {
                return words.isEmpty ? nil : .words(words)
            }
            return .numbers(try container.decode([Int64].self, forKey: .choices))
        }
        if let format = try container.decodeIfPresent(String.self, forKey: .format) {
            guard format == "uuid" else {
                throw DecodingError.dataCorruptedError(
                    forKey: .format, in: container, debugDescription: "there is no format '\(format.prefix(80))'")
            }
            return .uuid
        }
        if container.contains(.each) { return .each(try container.decode(ValueRule.self, forKey: .each)) }
        if container.contains(.fields) {
            return .fields(try container.decode([String: ValueRule].self, forKey: .fields))
        }
        return nil
    }

    /// Reads a rule.
    public init(from decoder: any Swift.Decoder) throws {
        guard let rule = try Self.reading(decoder) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "it says nothing"))
        }
        self = rule
    }

    /// Writes a rule.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .range(let range):
            try container.encode(range.lowerBound, forKey: .minimum)
            try container.encode(range.upperBound, forKey: .maximum)
        case .words(let words): try container.encode(words, forKey: .choices)
        case .numbers(let numbers): try container.encode(numbers, forKey: .choices)
        case .uuid: try container.encode("uuid", forKey: .format)
        case .each(let rule): try container.encode(rule, forKey: .each)
        case .fields(let rules): try container.encode(rules, forKey: .fields)
        }
    }
}
