/// A type as the checker knows it (CEL specification, "Gradual Type Checking").
public indirect enum ValueType: Sendable, Hashable {
    /// Any value. Evaluation checks the operations on it.
    case dyn
    /// The type of `null`.
    case null
    /// Booleans.
    case bool
    /// 64-bit signed integers.
    case int
    /// 64-bit unsigned integers.
    case uint
    /// 64-bit floating-point numbers.
    case double
    /// Unicode text.
    case string
    /// Octets.
    case bytes
    /// Points in time.
    case timestamp
    /// Lengths of time.
    case duration
    /// Lists of elements of one type.
    case list(ValueType)
    /// Maps with keys of one type and values of one type.
    case map(key: ValueType, value: ValueType)
    /// Structures of one type.
    case structure(StructureType)
    /// Types as values.
    case type
    /// Optional values of one type.
    case optional(ValueType)
}

extension ValueType: CustomStringConvertible {
    /// The type in messages: `int`, `list(string)`, `map(string, int)`, a structure's name, or `{ text: string,
    /// severity: int }` for an anonymous structure.
    public var description: String {
        switch self {
        case .dyn: "dyn"
        case .null: "null"
        case .bool: "bool"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .timestamp: "timestamp"
        case .duration: "duration"
        case .list(let element): "list(\(element))"
        case .map(let key, let value): "map(\(key), \(value))"
        case .structure(let type): type.description
        case .type: "type"
        case .optional(let type): "optional(\(type))"
        }
    }
}

extension StructureType: CustomStringConvertible {
    /// The name, or the fields of an anonymous type.
    public var description: String {
        if !name.isEmpty { return name }
        if fields.isEmpty { return "{}" }
        return "{ " + fields.map { "\($0.name): \($0.type)" }.joined(separator: ", ") + " }"
    }
}

extension ValueType {
    /// Returns whether a value is of this type.
    ///
    /// `dyn` accepts every value, and only `null` and `dyn` accept null. Elements of lists and maps are checked one by
    /// one. `double` does not accept an `int`, because the language has no implicit conversion ("Numeric Values").
    public func accepts(_ value: Value) -> Bool {
        switch (self, value) {
        case (.dyn, _), (.null, .null), (.bool, .bool), (.int, .int), (.uint, .uint), (.double, .double),
            (.string, .string), (.bytes, .bytes), (.timestamp, .timestamp), (.duration, .duration), (.type, .typeValue):
            true
        case (.list(let element), .list(let elements)):
            element == .dyn || elements.allSatisfy(element.accepts)
        case (.map(let keyType, let valueType), .map(let entries)):
            entries.allSatisfy { keyType.accepts($0.key) && valueType.accepts($0.value) }
        case (.structure(let type), .structure(let structure)):
            type == structure.type
        case (.optional(let wrapped), .optional(let value)):
            value.map(wrapped.accepts) ?? true
        default:
            false
        }
    }
}
