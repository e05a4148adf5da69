import CommonExpression

/// A value in JSON with its type: `["int", "5"]`, `["double", "0x1.8p+0"]`, `["list", [["null"]]]`,
/// `["map", [[key, value], …]]`. Numbers are text, so that none is changed on the way.
struct TypedValue: Codable {
    let value: Value

    /// The reason why a value cannot be read.
    private struct Malformed: Error {}

    init(value: Value) {
        self.value = value
    }

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        switch try container.decode(String.self) {
        case "null": value = .null
        case "bool": value = .bool(try container.decode(Bool.self))
        case "int":
            guard let int = Int64(try container.decode(String.self)) else { throw Malformed() }
            value = .int(int)
        case "uint":
            guard let uint = UInt64(try container.decode(String.self)) else { throw Malformed() }
            value = .uint(uint)
        case "double":
            guard let double = Double(try container.decode(String.self)) else { throw Malformed() }
            value = .double(double)
        case "string": value = .string(try container.decode(String.self))
        case "bytes": value = .bytes(try container.decode([UInt8].self))
        case "list": value = .list(try container.decode([TypedValue].self).map(\.value))
        case "map":
            var entries: [Value: Value] = [:]
            for pair in try container.decode([[TypedValue]].self) where pair.count == 2 {
                entries[pair[0].value] = pair[1].value
            }
            value = .map(entries)
        case "timestamp":
            guard let timestamp = Timestamp(rfc3339: try container.decode(String.self)) else { throw Malformed() }
            value = .timestamp(timestamp)
        case "duration":
            guard let span = TimeSpan(text: try container.decode(String.self)) else { throw Malformed() }
            value = .duration(span)
        default: throw Malformed()
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        switch value {
        case .null: try container.encode("null")
        case .bool(let bool):
            try container.encode("bool")
            try container.encode(bool)
        case .int(let int):
            try container.encode("int")
            try container.encode(String(int))
        case .uint(let uint):
            try container.encode("uint")
            try container.encode(String(uint))
        case .double(let double):
            try container.encode("double")
            try container.encode(double.isNaN ? "nan" : "\(double)")
        case .string(let text):
            try container.encode("string")
            try container.encode(text)
        case .bytes(let bytes):
            try container.encode("bytes")
            try container.encode(bytes)
        case .list(let elements):
            try container.encode("list")
            try container.encode(elements.map { TypedValue(value: $0) })
        case .map(let entries):
            try container.encode("map")
            try container.encode(entries.map { [TypedValue(value: $0.key), TypedValue(value: $0.value)] })
        case .timestamp(let timestamp):
            try container.encode("timestamp")
            try container.encode(timestamp.description)
        case .duration(let span):
            try container.encode("duration")
            try container.encode(span.description)
        case .structure, .typeValue, .optional:
            try container.encode("other")
            try container.encode(value.description)
        }
    }
}
