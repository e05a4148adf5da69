/// The encoder that types receive while they are encoded.
struct TreeEncoder: Encoder {
    let target: EncodedValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        target.beginMap()
        return KeyedEncodingContainer(KeyedTreeEncoder<Key>(target: target, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        target.beginList()
        return UnkeyedTreeEncoder(target: target, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleTreeEncoder(target: target, codingPath: codingPath)
    }
}

/// A position in a list.
struct IndexKey: CodingKey {
    let position: Int

    init(_ position: Int) {
        self.position = position
    }

    init?(intValue: Int) { position = intValue }

    init?(stringValue: String) { nil }

    var intValue: Int? { position }
    var stringValue: String { "Index \(position)" }
}

/// The key of a superclass's data.
struct SuperKey: CodingKey {
    init() {}

    init?(intValue: Int) { nil }

    init?(stringValue: String) { nil }

    var intValue: Int? { nil }
    var stringValue: String { "super" }
}

/// Encodes one value.
struct SingleTreeEncoder: SingleValueEncodingContainer {
    let target: EncodedValue
    let codingPath: [any CodingKey]

    func encodeNil() { target.set(.null) }

    func encode(_ value: Bool) { target.set(.bool(value)) }

    func encode(_ value: String) { target.set(.string(value)) }

    func encode(_ value: Double) { target.set(.double(value)) }

    func encode(_ value: Float) { target.set(.double(Double(value))) }

    func encode(_ value: Int) { target.set(.int(Int64(value))) }

    func encode(_ value: Int8) { target.set(.int(Int64(value))) }

    func encode(_ value: Int16) { target.set(.int(Int64(value))) }

    func encode(_ value: Int32) { target.set(.int(Int64(value))) }

    func encode(_ value: Int64) { target.set(.int(value)) }

    func encode(_ value: UInt) { target.set(.uint(UInt64(value))) }

    func encode(_ value: UInt8) { target.set(.uint(UInt64(value))) }

    func encode(_ value: UInt16) { target.set(.uint(UInt64(value))) }

    func encode(_ value: UInt32) { target.set(.uint(UInt64(value))) }

    func encode(_ value: UInt64) { target.set(.uint(value)) }

    func encode(_ value: some Encodable) throws {
        target.set(try EncodedValue.value(of: value, codingPath: codingPath))
    }
}

/// Encodes the elements of a list.
struct UnkeyedTreeEncoder: UnkeyedEncodingContainer {
    let target: EncodedValue
    let codingPath: [any CodingKey]

    var count: Int { target.count }

    private var nextPath: [any CodingKey] { codingPath + [IndexKey(count)] }

    func encodeNil() { target.append(EncodedValue(.null)) }

    func encode(_ value: some Encodable) throws {
        target.append(EncodedValue(try EncodedValue.value(of: value, codingPath: nextPath)))
    }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        superEncoder().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superEncoder().unkeyedContainer() }

    func superEncoder() -> any Encoder {
        let path = nextPath
        let element = EncodedValue()
        target.append(element)
        return TreeEncoder(target: element, codingPath: path)
    }
}

/// Encodes the values of keys.
struct KeyedTreeEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let target: EncodedValue
    let codingPath: [any CodingKey]

    /// Returns the key as a value: an `int` for keys that are only numbers, such as those of dictionaries of `Int`.
    private func value(of key: any CodingKey) -> Value {
        if let int = key.intValue, key.stringValue == String(int) { return .int(Int64(int)) }
        return .string(key.stringValue)
    }

    func encodeNil(forKey key: Key) { target.insert(EncodedValue(.null), for: value(of: key)) }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        let encoded = try EncodedValue.value(of: value, codingPath: codingPath + [key])
        target.insert(EncodedValue(encoded), for: self.value(of: key))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { nested(key).unkeyedContainer() }

    func superEncoder() -> any Encoder { nested(SuperKey()) }

    func superEncoder(forKey key: Key) -> any Encoder { nested(key) }

    private func nested(_ key: any CodingKey) -> TreeEncoder {
        let entry = EncodedValue()
        target.insert(entry, for: value(of: key))
        return TreeEncoder(target: entry, codingPath: codingPath + [key])
    }
}
