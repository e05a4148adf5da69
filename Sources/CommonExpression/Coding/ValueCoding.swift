// Encoders other than `ValueEncoder`, such as one for JSON, write the JSON form of protocol buffers.

extension Timestamp: Codable {
    /// Reads text in the format of RFC 3339. ``ValueDecoder`` takes a timestamp unchanged.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let timestamp = Timestamp(rfc3339: text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\"\(text)\" is not a timestamp such as \"2026-11-21T10:00:00Z\"")
        }
        self = timestamp
    }

    /// Writes text in the format of RFC 3339, in UTC.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension TimeSpan: Codable {
    /// Reads text such as `1h30m` or `1.5s`. ``ValueDecoder`` takes a duration unchanged.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let span = TimeSpan(text: text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\"\(text)\" is not a duration such as \"1.5s\"")
        }
        self = span
    }

    /// Writes text: seconds with fraction and `s`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Value: Codable {
    /// Reads the output of other encoders: null, Booleans, numbers, text, arrays, and objects, whose keys become
    /// strings. An integer becomes an `int`, or a `uint` beyond the range of `int`. ``ValueDecoder`` takes a value
    /// unchanged.
    public init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count < Self.deepestLevel else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath, debugDescription: "more than \(Self.deepestLevel) levels deep"))
        }
        if let container = try? decoder.container(keyedBy: NameKey.self) {
            var entries: [Value: Value] = [:]
            for key in container.allKeys {
                entries[.string(key.stringValue)] = try container.decode(Value.self, forKey: key)
            }
            self = .map(entries)
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [Value] = []
            while !container.isAtEnd { elements.append(try container.decode(Value.self)) }
            self = .list(elements)
        } else {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let bool = try? container.decode(Bool.self) {
                self = .bool(bool)
            } else if let int = try? container.decode(Int64.self) {
                self = .int(int)
            } else if let uint = try? container.decode(UInt64.self) {
                self = .uint(uint)
            } else if let double = try? container.decode(Double.self) {
                self = .double(double)
            } else {
                self = .string(try container.decode(String.self))
            }
        }
    }

    /// Writes the value with any encoder. Structures become objects, timestamps and durations text, types their names,
    /// empty optional values null, and bytes numbers. Keys of maps become text.
    public func encode(to encoder: any Encoder) throws {
        guard encoder.codingPath.count < Self.deepestLevel else {
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: encoder.codingPath, debugDescription: "more than \(Self.deepestLevel) levels deep"))
        }
        switch self {
        case .list(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
            return
        case .map(let entries):
            var container = encoder.container(keyedBy: NameKey.self)
            for (key, value) in entries { try container.encode(value, forKey: NameKey(key.text ?? key.description)) }
            return
        case .structure(let structure):
            var container = encoder.container(keyedBy: NameKey.self)
            for (field, value) in zip(structure.type.fields, structure.fields) {
                try container.encode(value, forKey: NameKey(field.name))
            }
            return
        default: break
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .bool(let bool): try container.encode(bool)
        case .int(let int): try container.encode(int)
        case .uint(let uint): try container.encode(uint)
        case .double(let double): try container.encode(double)
        case .string(let string): try container.encode(string)
        case .bytes(let bytes): try container.encode(bytes)
        case .timestamp(let timestamp): try container.encode(timestamp.description)
        case .duration(let span): try container.encode(span.description)
        case .typeValue(let type): try container.encode(type.denotation)
        case .optional(let wrapped?): try container.encode(wrapped)
        case .null, .optional, .list, .map, .structure: try container.encodeNil()
        }
    }

    /// A key of any name.
    private struct NameKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) {
            stringValue = name
        }

        init?(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { stringValue = String(intValue) }
    }
}
