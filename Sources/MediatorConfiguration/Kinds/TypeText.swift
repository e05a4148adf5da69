import CommonExpression

/// Types as text in the words of the configuration, and also `optional(T)` and `{ name: T, … }`. Results of side
/// effects may also be `bytes`, or `dyn` if the type is unknown.
struct TypeText {
    private static let simple: [(name: String, type: ValueType)] = [
        ("bool", .bool), ("int", .int), ("uint", .uint), ("double", .double), ("string", .string),
        ("timestamp", .timestamp), ("duration", .duration),
    ]

    private var rest: Substring
    /// A Boolean value that indicates whether it may be `bytes`, or a type that is not known, `dyn`.
    private let allowsDynamic: Bool

    private init(_ text: String, allowsDynamic: Bool) {
        rest = text[...]
        self.allowsDynamic = allowsDynamic
    }

    /// Reads a type's text, which `ValueType.description` wrote; nil if it is none, or lies too deep.
    ///
    /// - Parameter allowsDynamic: whether `dyn` and `bytes` are some.
    static func parse(_ text: String, allowsDynamic: Bool = false) -> ValueType? {
        var reader = TypeText(text, allowsDynamic: allowsDynamic)
        guard let type = reader.type(depth: 1) else { return nil }
        reader.skipSpaces()
        return reader.rest.isEmpty ? type : nil
    }

    /// Returns whether a type has a text that can be read again.
    static func canSpell(_ type: ValueType) -> Bool { parse(spelling(of: type)) != nil }

    /// The text of a type that can be read again: `dyn` where there are no words for it.
    static func spelled(_ type: ValueType) -> String {
        let text = spelling(of: type)
        return parse(text, allowsDynamic: true) == nil ? dynamic : text
    }

    /// The text of a type: structures by their fields, and `dyn` for types without a name.
    private static func spelling(of type: ValueType) -> String {
        switch type {
        case .list(let element): return "list(\(spelling(of: element)))"
        case .optional(let wrapped): return "optional(\(spelling(of: wrapped)))"
        case .map(.string, let element): return "map(string, \(spelling(of: element)))"
        case .structure(let structure):
            return "{ \(structure.fields.map { "\($0.name): \(spelling(of: $0.type))" }.joined(separator: ", ")) }"
        case .bytes: return bytes
        default: return simple.first { $0.type == type }?.name ?? dynamic
        }
    }

    private static let dynamic = "dyn"
    private static let bytes = "bytes"

    private mutating func skipSpaces() { rest = rest.drop { $0 == " " } }

    private mutating func take(_ text: String) -> Bool {
        skipSpaces()
        guard rest.hasPrefix(text) else { return false }
        rest = rest.dropFirst(text.count)
        return true
    }

    private mutating func name() -> String {
        skipSpaces()
        let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        rest = rest.dropFirst(name.count)
        return String(name)
    }

    private mutating func type(depth: Int) -> ValueType? {
        guard depth <= ConfigurationLimits.typeNesting else { return nil }
        if take("{") { return structure(depth: depth) }
        let name = name()
        if allowsDynamic, name == Self.dynamic { return .dyn }
        if allowsDynamic, name == Self.bytes { return .bytes }
        if let known = Self.simple.first(where: { $0.name == name }) { return known.type }
        guard ["list", "optional", "map"].contains(name), take("(") else { return nil }
        if name == "map" { guard self.name() == "string", take(",") else { return nil } }
        guard let inner = type(depth: depth + 1), take(")") else { return nil }
        switch name {
        case "list": return .list(inner)
        case "optional": return .optional(inner)
        default: return .map(key: .string, value: inner)
        }
    }

    private mutating func structure(depth: Int) -> ValueType? {
        var fields: [StructureType.Field] = []
        while !take("}") {
            guard fields.isEmpty || take(",") else { return nil }
            let name = name()
            guard Names.isIdentifier(name), take(":"), let type = type(depth: depth + 1),
                !fields.contains(where: { $0.name == name }), fields.count < ConfigurationLimits.fields
            else { return nil }
            fields.append(StructureType.Field(name: name, type: type))
        }
        return .structure(StructureType(name: "", fields: fields))
    }
}

extension ValueType {
    /// A Boolean value that indicates whether it can be the type of a field of a kind of systems: made of what
    /// ``TypeText`` can say.
    package var isWritable: Bool { TypeText.parse(description) == self }
}

extension Value {
    /// Converts a value from JSON to a type: texts to times and durations, whole numbers to the number type, objects to
    /// structures. Returns nil if it does not fit.
    func restored(as type: ValueType) -> Value? {
        switch (type, self) {
        case (.optional, .null): return .optional(nil)
        case (.optional(let wrapped), _): return restored(as: wrapped).map { .optional($0) }
        case (.timestamp, .string(let text)): return Timestamp(rfc3339: text).map { .timestamp($0) }
        case (.duration, .string(let text)): return TimeSpan(text: text).map { .duration($0) }
        case (.list(let element), .list(let values)):
            var restored: [Value] = []
            for value in values {
                guard let value = value.restored(as: element) else { return nil }
                restored.append(value)
            }
            return .list(restored)
        case (.map(_, let element), .map(let entries)):
            var restored: [Value: Value] = [:]
            for (key, value) in entries {
                guard let value = value.restored(as: element) else { return nil }
                restored[key] = value
            }
            return .map(restored)
        case (.structure(let structure), .map(let entries)):
            var fields: [Value] = []
            for field in structure.fields {
                guard let value = (entries[.string(field.name)] ?? .null).restored(as: field.type) else { return nil }
                fields.append(value)
            }
            return .structure(Structure(type: structure, fields: fields))
        default: return converted(to: type)
        }
    }
}
