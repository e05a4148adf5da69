package import CommonExpression

extension ValueType {
    /// The zero or empty value of the type, or `null` for a type without one. It fills fields of unknown value.
    package var blank: Value {
        switch self {
        case .bool: .bool(false)
        case .int: .int(0)
        case .uint: .uint(0)
        case .double: .double(0)
        case .string: .string("")
        case .duration: TimeSpan(seconds: 0, nanoseconds: 0).map { .duration($0) } ?? .null
        case .timestamp: Timestamp(seconds: 0, nanoseconds: 0).map { .timestamp($0) } ?? .null
        case .list: .list([])
        case .map: .map([:])
        default: .null
        }
    }
}
