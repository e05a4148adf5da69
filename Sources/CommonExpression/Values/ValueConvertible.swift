/// A Swift type that converts to and from values of the language.
public protocol ValueConvertible: SendableMetatype {
    /// The type in the language.
    static var valueType: ValueType { get }

    /// Converts a value; nil if it is of another type or out of range.
    init?(_ value: Value)

    /// The value in the language.
    var value: Value { get }
}

extension Value: ValueConvertible {
    /// Any type.
    public static var valueType: ValueType { .dyn }

    /// The value itself.
    public init?(_ value: Value) { self = value }

    /// The value itself.
    public var value: Value { self }
}

extension Bool: ValueConvertible {
    /// `bool`.
    public static var valueType: ValueType { .bool }

    /// Converts a `bool`.
    public init?(_ value: Value) {
        guard case .bool(let bool) = value else { return nil }
        self = bool
    }

    /// A `bool`.
    public var value: Value { .bool(self) }
}

extension Int64: ValueConvertible {
    /// `int`.
    public static var valueType: ValueType { .int }

    /// Converts an `int`.
    public init?(_ value: Value) {
        guard case .int(let int) = value else { return nil }
        self = int
    }

    /// An `int`.
    public var value: Value { .int(self) }
}

extension Int: ValueConvertible {
    /// `int`.
    public static var valueType: ValueType { .int }

    /// Converts an `int`.
    public init?(_ value: Value) {
        guard case .int(let int) = value, let exact = Int(exactly: int) else { return nil }
        self = exact
    }

    /// An `int`.
    public var value: Value { .int(Int64(self)) }
}

extension UInt64: ValueConvertible {
    /// `uint`.
    public static var valueType: ValueType { .uint }

    /// Converts a `uint`.
    public init?(_ value: Value) {
        guard case .uint(let uint) = value else { return nil }
        self = uint
    }

    /// A `uint`.
    public var value: Value { .uint(self) }
}

extension Double: ValueConvertible {
    /// `double`.
    public static var valueType: ValueType { .double }

    /// Converts a `double`.
    public init?(_ value: Value) {
        guard case .double(let double) = value else { return nil }
        self = double
    }

    /// A `double`.
    public var value: Value { .double(self) }
}

extension String: ValueConvertible {
    /// `string`.
    public static var valueType: ValueType { .string }

    /// Converts a `string`.
    public init?(_ value: Value) {
        guard case .string(let string) = value else { return nil }
        self = string
    }

    /// A `string`.
    public var value: Value { .string(self) }
}

extension Timestamp: ValueConvertible {
    /// `timestamp`.
    public static var valueType: ValueType { .timestamp }

    /// Converts a `timestamp`.
    public init?(_ value: Value) {
        guard case .timestamp(let timestamp) = value else { return nil }
        self = timestamp
    }

    /// A `timestamp`.
    public var value: Value { .timestamp(self) }
}

extension TimeSpan: ValueConvertible {
    /// `duration`.
    public static var valueType: ValueType { .duration }

    /// Converts a `duration`.
    public init?(_ value: Value) {
        guard case .duration(let span) = value else { return nil }
        self = span
    }

    /// A `duration`.
    public var value: Value { .duration(self) }
}

extension Array: ValueConvertible where Element: ValueConvertible {
    /// A `list`.
    public static var valueType: ValueType { .list(Element.valueType) }

    /// Converts a `list` if all its elements convert.
    public init?(_ value: Value) {
        guard case .list(let elements) = value else { return nil }
        self = []
        reserveCapacity(elements.count)
        for element in elements {
            guard let element = Element(element) else { return nil }
            append(element)
        }
    }

    /// A `list`.
    public var value: Value { .list(map(\.value)) }
}

extension Dictionary: ValueConvertible where Key: ValueConvertible, Value: ValueConvertible {
    /// A `map`.
    public static var valueType: ValueType { .map(key: Key.valueType, value: Value.valueType) }

    /// Converts a `map` if all its keys and values convert.
    public init?(_ value: CommonExpression.Value) {
        guard case .map(let entries) = value else { return nil }
        self = [:]
        for (key, value) in entries {
            guard let key = Key(key), let value = Value(value) else { return nil }
            self[key] = value
        }
    }

    /// A `map`.
    public var value: CommonExpression.Value {
        var entries: [CommonExpression.Value: CommonExpression.Value] = [:]
        for (key, value) in self { entries[key.value] = value.value }
        return .map(entries)
    }
}

extension Optional: ValueConvertible where Wrapped: ValueConvertible {
    /// An `optional` value.
    public static var valueType: ValueType { .optional(Wrapped.valueType) }

    /// Converts an `optional` value.
    public init?(_ value: Value) {
        guard case .optional(let wrapped) = value else { return nil }
        guard let wrapped else {
            self = .none
            return
        }
        guard let known = Wrapped(wrapped) else { return nil }
        self = known
    }

    /// An `optional` value.
    public var value: Value { .optional(self?.value) }
}
