/// A decoder that records the requests of a type to find its shape.
struct RecordingDecoder: Decoder {
    let note: ShapeNote
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard codingPath.count <= ShapeRecorder.deepest else {
            throw KindError("it lies more than \(ShapeRecorder.deepest) levels deep")
        }
        return KeyedDecodingContainer(KeyedRecorder<Key>(note: note, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        note.elements = note.elements ?? ShapeNote()
        return ElementRecorder(note: note.elements ?? ShapeNote(), codingPath: codingPath)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        SingleRecorder(note: note, codingPath: codingPath)
    }
}

/// A container that records the requests of a type.
private protocol Recorder {
    var codingPath: [any CodingKey] { get }
}

extension Recorder {
    /// Records a type, and returns a placeholder.
    func record<T: Decodable>(_ type: T.Type, _ note: ShapeNote, _ key: (any CodingKey)?) throws -> T {
        let path = codingPath + (key.map { [$0] } ?? [])
        do {
            let (shape, value) = try ShapeRecorder.record(type, path: path)
            note.single = shape
            return value
        } catch {
            throw key.map { KindError(error, in: "the field '\($0.stringValue)'") } ?? error
        }
    }
}

/// A container that records keys.
private struct KeyedRecorder<Key: CodingKey>: KeyedDecodingContainerProtocol, Recorder {
    let note: ShapeNote
    let codingPath: [any CodingKey]

    var allKeys: [Key] {
        note.asksForKeys = true
        return note.offered.compactMap { Key(stringValue: $0) }
    }

    func contains(_ key: Key) -> Bool {
        // A type that asks for the presence of a key works without the key.
        note.member(key.stringValue).isOptional = true
        return true
    }

    func decodeNil(forKey key: Key) -> Bool {
        note.member(key.stringValue).isOptional = true
        return false
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(type, key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(type, key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(type, key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(type, key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try member(type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try member(type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try member(type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try member(type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try member(type, key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try member(type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try member(type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try member(type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try member(type, key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try member(type, key) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try member(type, key) }

    private func member<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T {
        try record(type, note.member(key.stringValue), key)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try superDecoder(forKey: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try superDecoder(forKey: key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        RecordingDecoder(note: note.member("super"), codingPath: codingPath + [PlaceKey("super")])
    }

    func superDecoder(forKey key: Key) -> any Decoder {
        RecordingDecoder(note: note.member(key.stringValue), codingPath: codingPath + [key])
    }
}

/// A container that records one value.
private struct SingleRecorder: SingleValueDecodingContainer, Recorder {
    let note: ShapeNote
    let codingPath: [any CodingKey]

    func decodeNil() -> Bool {
        note.isOptional = true
        return false
    }

    func decode(_ type: Bool.Type) throws -> Bool { try record(type, note, nil) }
    func decode(_ type: String.Type) throws -> String { try record(type, note, nil) }
    func decode(_ type: Double.Type) throws -> Double { try record(type, note, nil) }
    func decode(_ type: Float.Type) throws -> Float { try record(type, note, nil) }
    func decode(_ type: Int.Type) throws -> Int { try record(type, note, nil) }
    func decode(_ type: Int8.Type) throws -> Int8 { try record(type, note, nil) }
    func decode(_ type: Int16.Type) throws -> Int16 { try record(type, note, nil) }
    func decode(_ type: Int32.Type) throws -> Int32 { try record(type, note, nil) }
    func decode(_ type: Int64.Type) throws -> Int64 { try record(type, note, nil) }
    func decode(_ type: UInt.Type) throws -> UInt { try record(type, note, nil) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try record(type, note, nil) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try record(type, note, nil) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try record(type, note, nil) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try record(type, note, nil) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try record(type, note, nil) }
}

/// A container that records elements. It has exactly one.
private struct ElementRecorder: UnkeyedDecodingContainer, Recorder {
    let note: ShapeNote
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0
    var count: Int? { 1 }
    var isAtEnd: Bool { currentIndex > 0 }

    init(note: ShapeNote, codingPath: [any CodingKey]) {
        self.note = note
        self.codingPath = codingPath
    }

    mutating func decodeNil() -> Bool {
        note.isOptional = true
        return false
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try element(type) }
    mutating func decode(_ type: String.Type) throws -> String { try element(type) }
    mutating func decode(_ type: Double.Type) throws -> Double { try element(type) }
    mutating func decode(_ type: Float.Type) throws -> Float { try element(type) }
    mutating func decode(_ type: Int.Type) throws -> Int { try element(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try element(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try element(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try element(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try element(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try element(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try element(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try element(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try element(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try element(type) }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try element(type) }

    private mutating func element<T: Decodable>(_ type: T.Type) throws -> T {
        currentIndex += 1
        return try record(type, note, PlaceKey("[]"))
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try superDecoder().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try superDecoder().unkeyedContainer()
    }

    mutating func superDecoder() -> any Decoder {
        currentIndex += 1
        return RecordingDecoder(note: note, codingPath: codingPath + [PlaceKey("[]")])
    }
}
