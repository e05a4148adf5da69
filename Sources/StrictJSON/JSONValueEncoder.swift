/// An encoder whose result is a ``JSONValue``.
final class JSONValueEncoder: Encoder {
    /// The content so far. Nested containers and super encoders may be filled after their parent, so they are collected
    /// when the value is read.
    private enum Content {
        case nothing
        case single(JSONValue)
        case object(JSONObject, pending: [String: JSONValueEncoder])
        case array([JSONValue], pending: [Int: JSONValueEncoder])
    }

    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    private var content = Content.nothing

    init(codingPath: [any CodingKey]) {
        self.codingPath = codingPath
    }

    static func encode<Value: Encodable>(_ value: Value, codingPath: @autoclosure () -> [any CodingKey]) throws
        -> JSONValue
    {
        // Comparing types is faster than trying a cast.
        if Value.self == JSONValue.self, let value = value as? JSONValue { return value }
        if Value.self == String.self, let value = value as? String { return .string(value) }
        if Value.self == JSONObject.self, let value = value as? JSONObject { return .object(value) }
        let encoder = JSONValueEncoder(codingPath: codingPath())
        try value.encode(to: encoder)
        return encoder.result
    }

    /// The value. A value that encoded nothing is an empty object.
    var result: JSONValue {
        switch content {
        case .nothing: return .object([:])
        case .single(let value): return value
        case .object(var members, let pending):
            for (name, encoder) in pending { members[name] = encoder.result }
            return .object(members)
        case .array(var elements, let pending):
            for (index, encoder) in pending { elements[index] = encoder.result }
            return .array(elements)
        }
    }

    func setSingle(_ value: JSONValue) {
        content = .single(value)
    }

    func beginObject() {
        if case .object = content { return }
        content = .object([:], pending: [:])
    }

    func beginArray() {
        if case .array = content { return }
        content = .array([], pending: [:])
    }

    func set(_ value: JSONValue, for name: String) {
        guard case .object(var members, let pending) = content else { return }
        content = .nothing  // leaves the members with one owner, so that they are changed in place
        members[name] = value
        content = .object(members, pending: pending)
    }

    func child(for name: String, codingPath: [any CodingKey]) -> JSONValueEncoder {
        let encoder = JSONValueEncoder(codingPath: codingPath)
        if case .object(let members, var pending) = content {
            content = .nothing  // as in `set`
            pending[name] = encoder
            content = .object(members, pending: pending)
        }
        return encoder
    }

    var elementCount: Int { if case .array(let elements, _) = content { elements.count } else { 0 } }

    func append(_ value: JSONValue) {
        guard case .array(var elements, let pending) = content else { return }
        content = .nothing
        elements.append(value)
        content = .array(elements, pending: pending)
    }

    func appendChild() -> JSONValueEncoder {
        let encoder = JSONValueEncoder(codingPath: codingPath + [AnyCodingKey(intValue: elementCount)])
        if case .array(var elements, var pending) = content {
            content = .nothing
            pending[elements.count] = encoder
            elements.append(.null)
            content = .array(elements, pending: pending)
        }
        return encoder
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        beginObject()
        return KeyedEncodingContainer(KeyedContainer<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        beginArray()
        return UnkeyedContainer(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleContainer(encoder: self)
    }

    /// Encodes an integer of any width. Throws if it needs more than 64 bits.
    static func integer(_ value: some BinaryInteger, codingPath: @autoclosure () -> [any CodingKey]) throws -> JSONValue
    {
        if let number = UInt64(exactly: value) { return JSONValue(number) }
        guard let number = Int64(exactly: value) else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(codingPath: codingPath(), debugDescription: "\(value) does not fit 64 bits")
            )
        }
        return .int(number)
    }
}

private struct KeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: JSONValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) { encoder.set(.null, for: key.stringValue) }
    func encode(_ value: Bool, forKey key: Key) { encoder.set(.bool(value), for: key.stringValue) }
    func encode(_ value: String, forKey key: Key) { encoder.set(.string(value), for: key.stringValue) }
    func encode(_ value: Double, forKey key: Key) { encoder.set(.double(value), for: key.stringValue) }
    func encode(_ value: Float, forKey key: Key) { encoder.set(.double(Double(value)), for: key.stringValue) }
    func encode(_ value: Int, forKey key: Key) { encoder.set(.int(Int64(value)), for: key.stringValue) }
    func encode(_ value: Int8, forKey key: Key) throws { try setInteger(value, key) }
    func encode(_ value: Int16, forKey key: Key) throws { try setInteger(value, key) }
    func encode(_ value: Int32, forKey key: Key) throws { try setInteger(value, key) }
    func encode(_ value: Int64, forKey key: Key) { encoder.set(.int(value), for: key.stringValue) }
    func encode(_ value: UInt, forKey key: Key) throws { try setInteger(value, key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try setInteger(value, key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try setInteger(value, key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try setInteger(value, key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try setInteger(value, key) }

    private func setInteger(_ value: some BinaryInteger, _ key: Key) throws {
        encoder.set(try JSONValueEncoder.integer(value, codingPath: codingPath + [key]), for: key.stringValue)
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        encoder.set(try JSONValueEncoder.encode(value, codingPath: codingPath + [key]), for: key.stringValue)
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type, forKey key: Key)
        -> KeyedEncodingContainer<NestedKey>
    {
        encoder.child(for: key.stringValue, codingPath: codingPath + [key]).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.child(for: key.stringValue, codingPath: codingPath + [key]).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        encoder.child(for: "super", codingPath: codingPath + [AnyCodingKey(stringValue: "super")])
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        encoder.child(for: key.stringValue, codingPath: codingPath + [key])
    }
}

private struct UnkeyedContainer: UnkeyedEncodingContainer {
    let encoder: JSONValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.elementCount }

    func encodeNil() { encoder.append(.null) }

    func encode<Value: Encodable>(_ value: Value) throws {
        encoder.append(
            try JSONValueEncoder.encode(value, codingPath: codingPath + [AnyCodingKey(intValue: count)])
        )
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        encoder.appendChild().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.appendChild().unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder.appendChild() }
}

private struct SingleContainer: SingleValueEncodingContainer {
    let encoder: JSONValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() { encoder.setSingle(.null) }
    func encode(_ value: Bool) { encoder.setSingle(.bool(value)) }
    func encode(_ value: String) { encoder.setSingle(.string(value)) }
    func encode(_ value: Double) { encoder.setSingle(.double(value)) }
    func encode(_ value: Float) { encoder.setSingle(.double(Double(value))) }
    func encode(_ value: Int) throws { try setInteger(value) }
    func encode(_ value: Int8) throws { try setInteger(value) }
    func encode(_ value: Int16) throws { try setInteger(value) }
    func encode(_ value: Int32) throws { try setInteger(value) }
    func encode(_ value: Int64) throws { try setInteger(value) }
    func encode(_ value: UInt) throws { try setInteger(value) }
    func encode(_ value: UInt8) throws { try setInteger(value) }
    func encode(_ value: UInt16) throws { try setInteger(value) }
    func encode(_ value: UInt32) throws { try setInteger(value) }
    func encode(_ value: UInt64) throws { try setInteger(value) }

    private func setInteger(_ value: some BinaryInteger) throws {
        encoder.setSingle(try JSONValueEncoder.integer(value, codingPath: codingPath))
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        encoder.setSingle(try JSONValueEncoder.encode(value, codingPath: codingPath))
    }
}
