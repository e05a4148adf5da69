/// A type as the checker computes it: the declared types, and two that exist during checking only.
indirect enum StaticType: Sendable, Hashable {
    /// The type of a part with a reported problem. It fits everywhere, so that one mistake gives one message.
    case error
    /// The element type of an empty literal. It fits everywhere, and joining it with another type gives that type.
    case open
    case dyn, null, bool, int, uint, double, string, bytes, timestamp, duration
    case list(StaticType)
    case map(StaticType, StaticType)
    case structure(StructureType)
    case type
    case optional(StaticType)
    /// In the declaration of a function, a type that the operands of a call determine.
    case parameter(String)
}

extension StaticType {
    init(_ type: ValueType) {
        switch type {
        case .dyn: self = .dyn
        case .null: self = .null
        case .bool: self = .bool
        case .int: self = .int
        case .uint: self = .uint
        case .double: self = .double
        case .string: self = .string
        case .bytes: self = .bytes
        case .timestamp: self = .timestamp
        case .duration: self = .duration
        case .list(let element): self = .list(StaticType(element))
        case .map(let key, let value): self = .map(StaticType(key), StaticType(value))
        case .structure(let type): self = .structure(type)
        case .type: self = .type
        case .optional(let type): self = .optional(StaticType(type))
        }
    }

    /// The corresponding public type.
    var valueType: ValueType {
        switch self {
        case .error, .open, .dyn, .parameter: .dyn
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .uint: .uint
        case .double: .double
        case .string: .string
        case .bytes: .bytes
        case .timestamp: .timestamp
        case .duration: .duration
        case .list(let element): .list(element.valueType)
        case .map(let key, let value): .map(key: key.valueType, value: value.valueType)
        case .structure(let type): .structure(type)
        case .type: .type
        case .optional(let type): .optional(type.valueType)
        }
    }

    /// A Boolean value that indicates whether the type says nothing about a value, because evaluation checks it or a
    /// problem was reported.
    var isUnknown: Bool {
        switch self {
        case .error, .open, .dyn: true
        default: false
        }
    }

    var isNumeric: Bool {
        self == .int || self == .uint || self == .double
    }

    /// A Boolean value that indicates whether evaluation must determine some part of the type.
    var hasUnknownPart: Bool {
        switch self {
        case .error, .open, .dyn: true
        case .list(let element): element.hasUnknownPart
        case .map(let key, let value): key.hasUnknownPart || value.hasUnknownPart
        case .optional(let type): type.hasUnknownPart
        default: false
        }
    }

    /// Returns whether a value of this type may be used where the other is needed. Unknown types fit in both
    /// directions, also as element types (CEL specification, "Gradual Type Checking").
    func fits(_ needed: StaticType) -> Bool {
        if isUnknown || needed.isUnknown { return true }
        return switch (self, needed) {
        case (.list(let element), .list(let neededElement)): element.fits(neededElement)
        case (.map(let key, let value), .map(let neededKey, let neededValue)):
            key.fits(neededKey) && value.fits(neededValue)
        case (.optional(let type), .optional(let neededType)): type.fits(neededType)
        default: self == needed
        }
    }

    /// Returns whether values of both types may be compared for equality: one type, or null with a type whose values
    /// the host may leave unset.
    func isComparable(with other: StaticType) -> Bool {
        fits(other) || (self == .null && other.isNullable) || (other == .null && isNullable)
    }

    private var isNullable: Bool {
        switch self {
        case .structure, .timestamp, .duration: true
        default: false
        }
    }

    /// Returns the least type that both fit, or nil if only `dyn` fits.
    func joined(with other: StaticType) -> StaticType? {
        switch (self, other) {
        case (.error, _), (_, .error): return .error
        case (.open, let type), (let type, .open): return type
        case (.dyn, _), (_, .dyn): return .dyn
        case (.list(let left), .list(let right)):
            return left.joined(with: right).map { .list($0) }
        case (.optional(let left), .optional(let right)):
            return left.joined(with: right).map { .optional($0) }
        case (.map(let leftKey, let leftValue), .map(let rightKey, let rightValue)):
            guard let key = leftKey.joined(with: rightKey), let value = leftValue.joined(with: rightValue) else {
                return nil
            }
            return .map(key, value)
        default: return self == other ? self : nil
        }
    }
}

extension StaticType: CustomStringConvertible {
    /// The longest description, in code points.
    private static let longestDescription = 160

    /// The type in messages, cut off after 160 code points.
    var description: String {
        let text = wholeDescription
        guard text.unicodeScalars.count > Self.longestDescription else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.longestDescription))) + "…"
    }

    private var wholeDescription: String {
        switch self {
        case .parameter(let name): name
        case .list(let element): "list(\(element.wholeDescription))"
        case .map(let key, let value): "map(\(key.wholeDescription), \(value.wholeDescription))"
        case .optional(let type): "optional(\(type.wholeDescription))"
        default: valueType.description
        }
    }
}
