/// The members of a JSON object, by name.
public typealias JSONObject = [String: JSONValue]

/// A JSON value (RFC 8259).
///
/// A number without fraction and exponent is ``int(_:)``, ``uint(_:)`` if it is too large for that, and ``double(_:)`` if it
/// is too large for both. Every other number is ``double(_:)``. The cases are never equal, so `1` and `1.0` keep their form.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent that fits 64 bits.
    case int(Int64)
    /// A number without fraction and exponent from 2⁶³ up to 2⁶⁴ − 1. Smaller ones are ``int(_:)``.
    case uint(UInt64)
    /// Any other number.
    case double(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object. Member names are unique. Their order is not kept, and is alphabetical in text.
    case object(JSONObject)
}

extension JSONValue {
    /// A Boolean value that indicates whether the value is `null`.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The Boolean, or nil for another value.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The integer, or nil for another value, including ``uint(_:)`` and ``double(_:)``.
    public var intValue: Int64? { if case .int(let value) = self { value } else { nil } }

    /// The integer if it is not negative, or nil for another value.
    public var uintValue: UInt64? {
        switch self {
        case .int(let value): UInt64(exactly: value)
        case .uint(let value): value
        default: nil
        }
    }

    /// The number, or nil for another value.
    public var doubleValue: Double? {
        switch self {
        case .double(let value): value
        case .int(let value): Double(value)
        case .uint(let value): Double(value)
        default: nil
        }
    }

    /// The string, or nil for another value.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements, or nil for another value.
    public var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members, or nil for another value.
    public var objectValue: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// The member of that name, or nil if the value is not an object or has no such member.
    public subscript(name: String) -> JSONValue? { objectValue?[name] }

    /// The kind for messages: `null`, `bool`, `int`, `float`, `string`, `array` or `object`.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .int, .uint: "int"
        case .double: "float"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`.
    public init(nilLiteral: ()) { self = .null }

    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// An integer.
    public init(integerLiteral value: Int64) { self = .int(value) }

    /// A number with a fraction.
    public init(floatLiteral value: Double) { self = .double(value) }

    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// An object. Of members with the same name, the last counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements, uniquingKeysWith: { _, last in last }))
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as JSON text on one line.
    public var description: String { String(decoding: serialized(), as: UTF8.self) }
}
