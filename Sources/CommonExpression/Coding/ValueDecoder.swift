/// Decodes Swift values that are `Decodable` from values of the language, the reverse of ``ValueEncoder``.
///
/// A number converts to any type that holds it exactly. Structures and maps have keys. Null, a missing key and an empty
/// optional value are nil.
public struct ValueDecoder: Sendable {
    /// Creates a decoder.
    public init() {}

    /// Decodes a value.
    /// - Throws: `DecodingError`, if the value does not fit the type or is nested more than 128 levels deep.
    public func decode<Result: Decodable>(_ type: Result.Type, from value: Value) throws -> Result {
        try DecodedValue(value: value, codingPath: []).decode(type)
    }
}

/// A value that is being decoded.
struct DecodedValue {
    let value: Value
    let codingPath: [any CodingKey]

    /// A Boolean value that indicates whether the value stands for nil.
    var isNil: Bool { value == .null || value == .optional(nil) }

    /// The content of an optional value, otherwise the value itself.
    private var unwrapped: Value {
        var unwrapped = value
        while case .optional(let wrapped?) = unwrapped { unwrapped = wrapped }
        return unwrapped
    }

    func decode<Result: Decodable>(_ type: Result.Type) throws -> Result {
        guard codingPath.count < Value.deepestLevel else {
            throw corrupted("more than \(Value.deepestLevel) levels deep")
        }
        if let known = try known(type) { return known }
        return try type.init(from: TreeDecoder(source: self))
    }

    /// Returns the value as a type that this decoder handles itself, or nil for other types.
    private func known<Result>(_ type: Result.Type) throws -> Result? {
        let known: Any?
        switch type {
        case is Value.Type: known = value
        case is [UInt8].Type:
            guard case .bytes(let bytes) = unwrapped else { return nil }
            known = bytes
        case is Timestamp.Type:
            guard case .timestamp(let timestamp) = unwrapped else { throw mismatch(type) }
            known = timestamp
        case is TimeSpan.Type:
            guard case .duration(let span) = unwrapped else { throw mismatch(type) }
            known = span
        case is Duration.Type:
            guard case .duration(let span) = unwrapped else { throw mismatch(type) }
            known = span.swiftDuration
        default: known = nil
        }
        return known as? Result
    }

    func bool() throws -> Bool {
        guard case .bool(let bool) = unwrapped else { throw mismatch(Bool.self) }
        return bool
    }

    func string() throws -> String {
        guard case .string(let string) = unwrapped else { throw mismatch(String.self) }
        return string
    }

    func double() throws -> Double {
        guard case .double(let double)? = unwrapped.converted(to: .double) else { throw mismatch(Double.self) }
        return double
    }

    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
        let exact: Integer?
        switch unwrapped {
        case .int(let int): exact = Integer(exactly: int)
        case .uint(let uint): exact = Integer(exactly: uint)
        case .double(let double): exact = MapKeys.int(of: double).flatMap { Integer(exactly: $0) }
        default: throw mismatch(type)
        }
        guard let exact else { throw corrupted("the number is out of range for \(type)") }
        return exact
    }

    func elements() throws -> [Value] {
        switch unwrapped {
        case .list(let elements): return elements
        // A dictionary whose keys are neither text nor `Int` is decoded as alternating keys and values.
        case .map(let entries): return entries.flatMap { [$0.key, $0.value] }
        case .bytes(let bytes): return bytes.map { .uint(UInt64($0)) }
        default: throw mismatch([Value].self)
        }
    }

    func entries() throws -> [Value: Value] {
        switch unwrapped {
        case .map(let entries): return entries
        case .structure(let structure):
            var entries: [Value: Value] = [:]
            for (field, value) in zip(structure.type.fields, structure.fields) where value != .null {
                entries[.string(field.name)] = value
            }
            return entries
        default: throw mismatch([String: Value].self)
        }
    }

    func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(
            type, DecodingError.Context(codingPath: codingPath, debugDescription: "the value is \(value.typeName)"))
    }

    func corrupted(_ message: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: message))
    }
}
