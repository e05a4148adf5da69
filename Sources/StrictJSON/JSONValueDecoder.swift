/// A decoder that reads a ``JSONValue``.
struct JSONValueDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func unwrap<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if type == JSONValue.self, let result = value as? Value { return result }
        if type == JSONObject.self, let result = value.objectValue as? Value { return result }
        return try Value(from: self)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch(JSONObject.self, "an object") }
        return KeyedDecodingContainer(KeyedContainer<Key>(members: members, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([JSONValue].self, "an array") }
        return UnkeyedContainer(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        SingleContainer(decoder: self)
    }

    func bool() throws -> Bool { try value.bool(codingPath) }
    func string() throws -> String { try value.string(codingPath) }
    func double() throws -> Double { try value.double(codingPath) }
    func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        try value.integer(type, codingPath)
    }

    func mismatch(_ type: Any.Type, _ expected: String) -> DecodingError { value.mismatch(type, expected, codingPath) }
}

/// Typed reading. The path is computed only for an error.
extension JSONValue {
    fileprivate func mismatch(_ type: Any.Type, _ expected: String, _ path: [any CodingKey]) -> DecodingError {
        .typeMismatch(
            type,
            DecodingError.Context(
                codingPath: path, debugDescription: "\(expected) is expected, but \(kind) was found"))
    }

    fileprivate func bool(_ path: @autoclosure () -> [any CodingKey]) throws -> Bool {
        guard case .bool(let result) = self else { throw mismatch(Bool.self, "a bool", path()) }
        return result
    }

    fileprivate func string(_ path: @autoclosure () -> [any CodingKey]) throws -> String {
        guard case .string(let result) = self else { throw mismatch(String.self, "a string", path()) }
        return result
    }

    fileprivate func double(_ path: @autoclosure () -> [any CodingKey]) throws -> Double {
        guard let result = doubleValue else { throw mismatch(Double.self, "a number", path()) }
        return result
    }

    fileprivate func integer<Number: FixedWidthInteger>(
        _ type: Number.Type, _ path: @autoclosure () -> [any CodingKey]
    ) throws -> Number {
        let result: Number?
        switch self {
        case .int(let number): result = Number(exactly: number)
        case .uint(let number): result = Number(exactly: number)
        default: throw mismatch(type, "a whole number", path())
        }
        guard let result else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: path(), debugDescription: "\(self) is out of range"))
        }
        return result
    }
}

private struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: JSONObject
    let codingPath: [any CodingKey]

    var allKeys: [Key] { members.keys.compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func value(_ key: Key) throws -> JSONValue {
        guard let value = members[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(codingPath: codingPath, debugDescription: "'\(key.stringValue)' is missing")
            )
        }
        return value
    }

    private func decoder(_ key: Key) throws -> JSONValueDecoder {
        JSONValueDecoder(value: try value(key), codingPath: codingPath + [key])
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        if case .null = try value(key) { true } else { false }
    }
    // The protocol asks for one for each type. The generic one below would also do, with a decoder for each number.
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(key).bool(codingPath + [key]) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(key).string(codingPath + [key]) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(key).double(codingPath + [key]) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        Float(try value(key).double(codingPath + [key]))
    }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try value(key).integer(type, codingPath + [key])
    }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try value(key).integer(type, codingPath + [key])
    }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try value(key).integer(type, codingPath + [key])
    }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try value(key).integer(type, codingPath + [key])
    }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try value(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try value(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try value(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try value(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try value(key).integer(type, codingPath + [key])
    }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try value(key).integer(type, codingPath + [key])
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder(key).unwrap(type)
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type, forKey key: Key) throws
        -> KeyedDecodingContainer<NestedKey>
    {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        JSONValueDecoder(
            value: members["super"] ?? .null,
            codingPath: codingPath + [AnyCodingKey(stringValue: "super")]
        )
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct UnkeyedContainer: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let codingPath: [any CodingKey]
    var currentIndex = 0

    init(elements: [JSONValue], codingPath: [any CodingKey]) {
        self.elements = elements
        self.codingPath = codingPath
    }

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private func decoder(_ type: Any.Type) throws -> JSONValueDecoder {
        let path = codingPath + [AnyCodingKey(intValue: currentIndex)]
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type,
                DecodingError.Context(codingPath: path, debugDescription: "the array has no more elements")
            )
        }
        return JSONValueDecoder(value: elements[currentIndex], codingPath: path)
    }

    mutating func decodeNil() throws -> Bool {
        guard try decoder(JSONValue.self).value.isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try decoder(type).unwrap(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) throws
        -> KeyedDecodingContainer<NestedKey>
    {
        let container = try decoder(JSONObject.self).container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try decoder([JSONValue].self).unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let result = try decoder(JSONValue.self)
        currentIndex += 1
        return result
    }
}

private struct SingleContainer: SingleValueDecodingContainer {
    let decoder: JSONValueDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value.isNull }
    func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool() }
    func decode(_ type: String.Type) throws -> String { try decoder.string() }
    func decode(_ type: Double.Type) throws -> Double { try decoder.double() }
    func decode(_ type: Float.Type) throws -> Float { Float(try decoder.double()) }
    func decode(_ type: Int.Type) throws -> Int { try decoder.integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try decoder.integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try decoder.integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try decoder.integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try decoder.integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try decoder.integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try decoder.integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try decoder.integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try decoder.integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try decoder.integer(type) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.unwrap(type) }
}
