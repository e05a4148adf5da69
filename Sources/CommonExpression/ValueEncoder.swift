/// Makes values of the language from Swift values that are `Encodable`.
///
/// Integers become `int`, unsigned ones `uint`, floating-point numbers `double`, `[UInt8]` becomes `bytes`,
/// ``Timestamp``, ``TimeSpan`` and the standard library's `Duration` become timestamps and durations, nil becomes null,
/// arrays become lists, and what has keys becomes a map with string keys (`int` keys for dictionaries of `Int`). With a
/// type given, maps become structures, and numbers that fit exactly the numbers the type asks for.
public struct ValueEncoder: Sendable {
    /// Creates an encoder.
    public init() {}

    /// The value of a Swift value.
    /// - Throws: `EncodingError`, where a type encodes nothing, or is nested more than 128 levels deep.
    public func encode(_ value: some Encodable) throws -> Value {
        try EncodedValue.value(of: value, codingPath: [])
    }

    /// The value of a Swift value, as one of a type.
    /// - Throws: `EncodingError`, also where the value does not fit the type.
    public func encode(_ value: some Encodable, as type: ValueType) throws -> Value {
        let encoded = try encode(value)
        guard let converted = encoded.converted(to: type) else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [], debugDescription: "the value is \(encoded.type), which does not fit \(type)"))
        }
        return converted
    }
}

extension Value {
    /// The value as one of a type: a map with string keys as a structure, whose missing fields are null; a number as
    /// another type of number where it is exactly the same; elements and fields likewise; any other value of the type
    /// as it is. Nil where it does not fit, and where a key names no field.
    public func converted(to type: ValueType) -> Value? {
        converted(to: type, level: 0)
    }

    private func converted(to type: ValueType, level: Int) -> Value? {
        guard level < Self.deepestLevel else { return nil }
        switch (type, self) {
        case (.dyn, _): return self
        case (.list(let elementType), .list(let elements)):
            var converted: [Value] = []
            converted.reserveCapacity(elements.count)
            for element in elements {
                guard let element = element.converted(to: elementType, level: level + 1) else { return nil }
                converted.append(element)
            }
            return .list(converted)
        case (.map(let keyType, let valueType), .map(let entries)):
            var converted: [Value: Value] = [:]
            for (key, value) in entries {
                guard let key = key.converted(to: keyType, level: level + 1),
                    let value = value.converted(to: valueType, level: level + 1)
                else { return nil }
                converted[key] = value
            }
            return .map(converted)
        case (.structure(let structureType), .map(let entries)):
            return Self.structure(of: structureType, entries, level: level)
        case (.optional(let wrappedType), .optional(let wrapped)):
            guard let wrapped else { return self }
            return wrapped.converted(to: wrappedType, level: level + 1).map { .optional($0) }
        case (.int, .uint(let uint)): return Int64(exactly: uint).map { .int($0) }
        case (.uint, .int(let int)): return UInt64(exactly: int).map { .uint($0) }
        case (.double, .int(let int)):
            let double = Double(int)
            return MapKeys.int(of: double) == int ? .double(double) : nil
        case (.double, .uint(let uint)): return uint <= 1 << 53 ? .double(Double(uint)) : nil
        default: return type.accepts(self) ? self : nil
        }
    }

    private static func structure(of type: StructureType, _ entries: [Value: Value], level: Int) -> Value? {
        var fields: [Value] = []
        var found = 0
        for field in type.fields {
            guard let entry = entries[.string(field.name)] else {
                fields.append(.null)
                continue
            }
            found += 1
            guard entry != .null else {
                fields.append(.null)
                continue
            }
            guard let converted = entry.converted(to: field.type, level: level + 1) else { return nil }
            fields.append(converted)
        }
        return found == entries.count ? .structure(Structure(type: type, fields: fields)) : nil
    }
}

/// What is being encoded: a container is filled after it was handed out, so that it lies behind a reference.
final class EncodedValue {
    private enum Content {
        case none
        case single(Value)
        case list([EncodedValue])
        case map([(key: Value, value: EncodedValue)])
    }

    private var content = Content.none

    init() {}

    init(_ value: Value) {
        content = .single(value)
    }

    /// The value of anything that is `Encodable`.
    static func value(of value: some Encodable, codingPath: [any CodingKey]) throws -> Value {
        if let known = known(value) { return known }
        guard codingPath.count < Value.deepestLevel else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: codingPath, debugDescription: "more than \(Value.deepestLevel) levels deep"))
        }
        let encoded = EncodedValue()
        try value.encode(to: TreeEncoder(target: encoded, codingPath: codingPath))
        guard let result = encoded.result else {
            throw EncodingError.invalidValue(
                value, EncodingError.Context(codingPath: codingPath, debugDescription: "nothing was encoded"))
        }
        return result
    }

    /// The value of what is not left to its own way of encoding.
    private static func known(_ value: any Encodable) -> Value? {
        switch value {
        case let value as Value: value
        // An empty array of anything can be cast, so that the type itself decides.
        case let bytes as [UInt8] where type(of: value) == [UInt8].self: .bytes(bytes)
        case let timestamp as Timestamp: .timestamp(timestamp)
        case let span as TimeSpan: .duration(span)
        case let duration as Duration: TimeSpan(duration).map { .duration($0) }
        default: nil
        }
    }

    var result: Value? {
        switch content {
        case .none: return nil
        case .single(let value): return value
        case .list(let elements): return .list(elements.compactMap(\.result))
        case .map(let entries):
            var map: [Value: Value] = [:]
            for entry in entries { map[entry.key] = entry.value.result ?? .null }
            return .map(map)
        }
    }

    var count: Int {
        if case .list(let elements) = content { return elements.count }
        return 0
    }

    func set(_ value: Value) { content = .single(value) }

    func beginList() {
        if case .list = content { return }
        content = .list([])
    }

    func beginMap() {
        if case .map = content { return }
        content = .map([])
    }

    func append(_ value: EncodedValue) {
        guard case .list(var elements) = content else { return }
        content = .none
        elements.append(value)
        content = .list(elements)
    }

    func insert(_ value: EncodedValue, for key: Value) {
        guard case .map(var entries) = content else { return }
        content = .none
        entries.append((key, value))
        content = .map(entries)
    }
}
