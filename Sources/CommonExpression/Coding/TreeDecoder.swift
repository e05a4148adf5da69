/// The decoder that types receive while they are decoded.
struct TreeDecoder: Decoder {
    let source: DecodedValue
    var codingPath: [any CodingKey] { source.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(KeyedTreeDecoder<Key>(entries: try source.entries(), codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        UnkeyedTreeDecoder(elements: try source.elements(), codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { SingleTreeDecoder(source: source) }
}

/// Decodes one value.
struct SingleTreeDecoder: SingleValueDecodingContainer {
    let source: DecodedValue
    var codingPath: [any CodingKey] { source.codingPath }

    func decodeNil() -> Bool { source.isNil }

    func decode(_ type: Bool.Type) throws -> Bool { try source.bool() }

    func decode(_ type: String.Type) throws -> String { try source.string() }

    func decode(_ type: Double.Type) throws -> Double { try source.double() }

    func decode(_ type: Float.Type) throws -> Float { Float(try source.double()) }

    func decode(_ type: Int.Type) throws -> Int { try source.integer(type) }

    func decode(_ type: Int8.Type) throws -> Int8 { try source.integer(type) }

    func decode(_ type: Int16.Type) throws -> Int16 { try source.integer(type) }

    func decode(_ type: Int32.Type) throws -> Int32 { try source.integer(type) }

    func decode(_ type: Int64.Type) throws -> Int64 { try source.integer(type) }

    func decode(_ type: UInt.Type) throws -> UInt { try source.integer(type) }

    func decode(_ type: UInt8.Type) throws -> UInt8 { try source.integer(type) }

    func decode(_ type: UInt16.Type) throws -> UInt16 { try source.integer(type) }

    func decode(_ type: UInt32.Type) throws -> UInt32 { try source.integer(type) }

    func decode(_ type: UInt64.Type) throws -> UInt64 { try source.integer(type) }

    func decode<Result: Decodable>(_ type: Result.Type) throws -> Result { try source.decode(type) }
}

/// Decodes the elements of a list.
struct UnkeyedTreeDecoder: UnkeyedDecodingContainer {
    let elements: [Value]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0

    init(elements: [Value], codingPath: [any CodingKey]) {
        self.elements = elements
        self.codingPath = codingPath
    }

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private func next(_ type: Any.Type) throws -> DecodedValue {
        let path = codingPath + [IndexKey(currentIndex)]
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type, DecodingError.Context(codingPath: path, debugDescription: "the list has no more elements"))
        }
        return DecodedValue(value: elements[currentIndex], codingPath: path)
    }

    mutating func decodeNil() throws -> Bool {
        guard try next(Value?.self).isNil else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Result: Decodable>(_ type: Result.Type) throws -> Result {
        let result = try next(type).decode(type)
        currentIndex += 1
        return result
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try superDecoder().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try superDecoder().unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = TreeDecoder(source: try next(Value.self))
        currentIndex += 1
        return decoder
    }
}

/// Decodes the values of keys.
struct KeyedTreeDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let entries: [Value: Value]
    let codingPath: [any CodingKey]

    var allKeys: [Key] {
        entries.keys.compactMap { key in
            switch key {
            case .string(let text): Key(stringValue: text)
            case .int(let int): Int(exactly: int).flatMap { Key(intValue: $0) }
            case .uint(let uint): Int(exactly: uint).flatMap { Key(intValue: $0) }
            default: nil
            }
        }
    }

    private func value(for key: any CodingKey) -> Value? {
        if let value = entries[.string(key.stringValue)] { return value }
        return key.intValue.flatMap { MapKeys.value(of: .int(Int64($0)), in: entries) }
    }

    private func source(_ key: any CodingKey) throws -> DecodedValue {
        guard let value = value(for: key) else {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(
                    codingPath: codingPath, debugDescription: "the key '\(key.stringValue)' is missing"))
        }
        return DecodedValue(value: value, codingPath: codingPath + [key])
    }

    func contains(_ key: Key) -> Bool { value(for: key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try source(key).isNil }

    func decode<Result: Decodable>(_ type: Result.Type, forKey key: Key) throws -> Result {
        try source(key).decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try superDecoder(forKey: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try superDecoder(forKey: key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { TreeDecoder(source: try source(SuperKey())) }

    func superDecoder(forKey key: Key) throws -> any Decoder { TreeDecoder(source: try source(key)) }
}
