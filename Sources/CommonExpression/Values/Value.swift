/// A value of the language (CEL specification, "Values").
///
/// Equality and hashing are structural: two values are equal if they are of the same case and hold the same data.
/// Strings are equal if their code points are, without Unicode normalization ("String and Bytes Values"). The evaluator
/// implements the language's own `==`, for which `1 == 1.0` holds between dynamic operands.
public enum Value: Sendable {
    /// The value `null`.
    case null
    /// A Boolean.
    case bool(Bool)
    /// A 64-bit signed integer.
    case int(Int64)
    /// A 64-bit unsigned integer.
    case uint(UInt64)
    /// A 64-bit IEEE floating-point number.
    case double(Double)
    /// A sequence of Unicode code points.
    case string(String)
    /// A sequence of octets.
    case bytes([UInt8])
    /// An ordered sequence of values, which may be of different types.
    case list([Value])
    /// A map whose keys are `int`, `uint`, `bool` or `string` values.
    case map([Value: Value])
    /// A point in time.
    case timestamp(Timestamp)
    /// A length of time.
    case duration(TimeSpan)
    /// A value with named fields, which the specification calls a message.
    case structure(Structure)
    /// A type: the result of `type()` and the meaning of a type's name. Its element, key and value types are `dyn`.
    case typeValue(ValueType)
    /// An optional value, which may be empty.
    indirect case optional(Value?)
}

extension Value: Hashable {
    /// Returns whether both values are of the same case and hold the same data.
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.int(let left), .int(let right)): left == right
        case (.uint(let left), .uint(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left), .string(let right)): left.hasSameScalars(as: right)
        case (.bytes(let left), .bytes(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        case (.map(let left), .map(let right)): left == right
        case (.timestamp(let left), .timestamp(let right)): left == right
        case (.duration(let left), .duration(let right)): left == right
        case (.structure(let left), .structure(let right)): left == right
        case (.typeValue(let left), .typeValue(let right)): left == right
        case (.optional(let left), .optional(let right)): left == right
        default: false
        }
    }

    /// Feeds the case and its data to the hasher.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .bool(let bool):
            hasher.combine(1 as UInt8)
            hasher.combine(bool)
        case .int(let int):
            hasher.combine(2 as UInt8)
            hasher.combine(int)
        case .uint(let uint):
            hasher.combine(3 as UInt8)
            hasher.combine(uint)
        case .double(let double):
            hasher.combine(4 as UInt8)
            hasher.combine(double)
        case .string(let string):
            hasher.combine(5 as UInt8)
            hasher.combine(string)
        case .bytes(let bytes):
            hasher.combine(6 as UInt8)
            hasher.combine(bytes)
        case .list(let list):
            hasher.combine(7 as UInt8)
            hasher.combine(list)
        case .map(let map):
            hasher.combine(8 as UInt8)
            hasher.combine(map)
        case .timestamp(let timestamp):
            hasher.combine(9 as UInt8)
            hasher.combine(timestamp)
        case .duration(let duration):
            hasher.combine(10 as UInt8)
            hasher.combine(duration)
        case .structure(let structure):
            hasher.combine(11 as UInt8)
            hasher.combine(structure)
        case .typeValue(let type):
            hasher.combine(12 as UInt8)
            hasher.combine(type)
        case .optional(let value):
            hasher.combine(13 as UInt8)
            hasher.combine(value)
        }
    }
}

extension Value {
    /// The depth to which lists, maps and structures are described, typed and compared. Deeper parts are shown as `…`
    /// and typed `dyn`, and comparing them is an evaluation error.
    package static let deepestLevel = 128

    /// The result of the language's `string()` ("List of Standard Definitions", `string`). It is nil for values without
    /// an overload: null, lists, maps, structures other than network addresses and ranges, types, optional values, and bytes
    /// that are not UTF-8.
    ///
    /// A whole `double` has no fraction (`2.0` is `2`). Others are `NaN`, `Infinity`, `-Infinity` and the shortest
    /// decimal that reads back as the same number.
    public var text: String? {
        switch self {
        case .bool(let bool): bool ? "true" : "false"
        case .int(let int): String(int)
        case .uint(let uint): String(uint)
        case .double(let double): DoubleText.text(of: double)
        case .string(let string): string
        case .bytes(let bytes): String(validating: bytes, as: UTF8.self)
        case .timestamp(let timestamp): timestamp.description
        case .duration(let duration): duration.description
        case .structure(let structure): NetworkExtension.text(of: structure)
        case .null, .list, .map, .typeValue, .optional: nil
        }
    }

    /// The type of the value at run time. If all elements of a list have the same type, that is its element type;
    /// otherwise it is `dyn`. Keys and values of a map follow the same rule. Linear in the size of the value.
    public var type: ValueType {
        type(level: 0)
    }

    private func type(level: Int) -> ValueType {
        switch self {
        case .null: return .null
        case .bool: return .bool
        case .int: return .int
        case .uint: return .uint
        case .double: return .double
        case .string: return .string
        case .bytes: return .bytes
        case .timestamp: return .timestamp
        case .duration: return .duration
        case .structure(let structure): return .structure(structure.type)
        case .typeValue: return .type
        case .optional(let value):
            guard level < Self.deepestLevel, let value else { return .optional(.dyn) }
            return .optional(value.type(level: level + 1))
        case .list(let elements):
            return .list(Self.commonType(of: elements, level: level))
        case .map(let entries):
            return .map(
                key: Self.commonType(of: entries.keys, level: level),
                value: Self.commonType(of: entries.values, level: level)
            )
        }
    }

    /// Returns the type that all values share, otherwise `dyn`.
    private static func commonType(of values: some Collection<Value>, level: Int) -> ValueType {
        guard level < deepestLevel, let first = values.first else { return .dyn }
        let type = first.type(level: level + 1)
        for value in values.dropFirst() where value.type(level: level + 1) != type {
            return .dyn
        }
        return type
    }

    /// The name of the value's type in messages, without element types.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .list: "list"
        case .map: "map"
        case .timestamp: "timestamp"
        case .duration: "duration"
        case .structure(let structure): structure.type.name.isEmpty ? "structure" : structure.type.name
        case .typeValue: "type"
        case .optional: "optional"
        }
    }
}
