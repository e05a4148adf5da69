/// Types as values (CEL specification, "Values", "Types").
extension ValueType {
    /// The name that stands for the type in an expression: `int`, `null_type`, `google.protobuf.Timestamp`. Types of
    /// elements are no part of it.
    var denotation: String {
        switch self {
        case .null: "null_type"
        case .timestamp: "google.protobuf.Timestamp"
        case .duration: "google.protobuf.Duration"
        case .list: "list"
        case .map: "map"
        case .optional: "optional_type"
        case .structure(let type): type.description
        case .dyn, .bool, .int, .uint, .double, .string, .bytes, .type: description
        }
    }

    /// The types with a name of their own, by that name. `dyn` is not among them: no value has it.
    static let denotations: [String: ValueType] = Dictionary(
        uniqueKeysWithValues: [
            .null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .list(.dyn),
            .map(key: .dyn, value: .dyn), .optional(.dyn), .type,
        ].map { (type: ValueType) in (type.denotation, type) })

    /// How many points the longest of those names has.
    static let denotationDepth = 2
    /// The word with which those of them begin that have points.
    static let denotationRoot = "google"
}

extension Value {
    /// What `type()` gives: the type without the types of elements. Constant time.
    var typeAsValue: ValueType {
        switch self {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .uint: .uint
        case .double: .double
        case .string: .string
        case .bytes: .bytes
        case .timestamp: .timestamp
        case .duration: .duration
        case .list: .list(.dyn)
        case .map: .map(key: .dyn, value: .dyn)
        case .structure(let structure): .structure(structure.type)
        case .typeValue: .type
        case .optional: .optional(.dyn)
        }
    }
}
