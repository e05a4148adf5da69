/// Encodes Swift values that are `Encodable` as values of the language.
///
/// Integers become `int`, unsigned integers `uint`, and floating-point numbers `double`. `[UInt8]` becomes `bytes`.
/// ``Timestamp``, ``TimeSpan`` and the standard library's `Duration` become timestamps and durations. Nil becomes null,
/// and arrays become lists. A keyed container becomes a map with string keys, or `int` keys for dictionaries of `Int`.
///
/// If a type is given, maps become structures, and numbers become the type's numbers if they fit exactly.
public struct ValueEncoder: Sendable {
    /// Creates an encoder.
    public init() {}

    /// Encodes a Swift value.
    /// - Throws: `EncodingError`, if a type encodes nothing or is nested more than 128 levels deep.
    public func encode(_ value: some Encodable) throws -> Value {
        try EncodedValue.value(of: value, codingPath: [])
    }

    /// Encodes a Swift value as a value of a type.
    /// - Throws: `EncodingError`, also if the value does not fit the type.
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
    /// Converts the value to a type; nil if it does not fit or a key names no field.
    ///
    /// A map with string keys becomes a structure whose missing fields are null. A number becomes another type of
    /// number if it stays exactly the same. Elements and fields follow the same rules. Any other value of the type is
    /// unchanged.
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

/// A value under construction. A container is filled after its creation, so the value is behind a reference.
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

    /// Encodes anything that is `Encodable`.
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

    /// Returns the value of a type that this encoder handles itself.
    private static func known(_ value: any Encodable) -> Value? {
        switch value {
        case let value as Value: value
        // Any empty array can be cast to `[UInt8]`, so the type itself decides.
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
