/// Types as values (CEL specification, "Values", "Types").
extension ValueType {
    /// The name of the type in an expression: `int`, `null_type`, `google.protobuf.Timestamp`. The name does not
    /// contain element types.
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

    /// The types with a name, by that name. `dyn` is missing, because no value has it.
    static let denotations: [String: ValueType] = Dictionary(
        uniqueKeysWithValues: [
            .null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .list(.dyn),
            .map(key: .dyn, value: .dyn), .optional(.dyn), .type, .structure(NetworkExtension.addressType),
            .structure(NetworkExtension.rangeType),
        ].map { (type: ValueType) in (type.denotation, type) })

    /// The most points in one of those names.
    static let denotationDepth = 2
    /// The first words of the names that contain points.
    static let denotationRoots: Set = ["google", "net"]
}

extension Value {
    /// The result of `type()`: the type without element types. Constant time.
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
