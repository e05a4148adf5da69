import CommonExpression
import StrictJSON

/// Encodes types, and values of these types, as JSON, and decodes them.
///
/// `level` is the depth of a type or value in the part that contains it. It is less than ``PartCoder/deepest``.
enum ValueCoder {
    private static func check(_ level: Int) throws(PartCoder.Flaw) {
        guard level < PartCoder.deepest else {
            throw PartCoder.Flaw(description: "it is nested more than \(PartCoder.deepest) levels deep")
        }
    }

    private static let plainTypes: [(type: ValueType, name: String)] = [
        (.dyn, "dyn"), (.null, "null"), (.bool, "bool"), (.int, "int"), (.uint, "uint"), (.double, "double"),
        (.string, "string"), (.bytes, "bytes"), (.timestamp, "timestamp"), (.duration, "duration"), (.type, "type"),
    ]

    static func encode(_ type: ValueType, level: Int) throws(PartCoder.Flaw) -> JSONValue {
        try check(level)
        switch type {
        case .list(let element): return ["list": try encode(element, level: level + 1)]
        case .optional(let wrapped): return ["optional": try encode(wrapped, level: level + 1)]
        case .map(let key, let value):
            return ["key": try encode(key, level: level + 1), "value": try encode(value, level: level + 1)]
        case .structure(let structure):
            var fields: [JSONValue] = []
            for field in structure.fields {
                fields.append(["name": .string(field.name), "type": try encode(field.type, level: level + 1)])
            }
            return ["structure": .string(structure.name), "fields": .array(fields)]
        case .dyn, .null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .type:
            return .string(plainTypes.first { $0.type == type }?.name ?? "dyn")
        }
    }

    /// The type as which a value of any type is written.
    private static func type(of value: Value) -> ValueType {
        switch value {
        case .list: .list(.dyn)
        case .map: .map(key: .dyn, value: .dyn)
        case .optional: .optional(.dyn)
        default: value.type
        }
    }

    static func encode(_ value: Value, as type: ValueType, level: Int) throws(PartCoder.Flaw) -> JSONValue {
        try check(level)
        switch (type, value) {
        case (.dyn, _):
            let own = Self.type(of: value)
            return ["type": try encode(own, level: level + 1), "value": try encode(value, as: own, level: level + 1)]
        case (.null, .null): return .null
        case (.bool, .bool(let value)): return .bool(value)
        case (.int, .int(let value)): return .int(value)
        case (.uint, .uint(let value)): return .string("\(value)")
        case (.double, .double(let value)): return .string("\(value)")
        case (.string, .string(let value)): return .string(value)
        case (.bytes, .bytes(let bytes)): return .array(bytes.map { .int(Int64($0)) })
        case (.timestamp, .timestamp(let value)): return .string("\(value)")
        case (.duration, .duration(let value)): return .string("\(value)")
        case (.type, .typeValue(let value)): return try encode(value, level: level + 1)
        case (.optional, .optional(nil)): return .array([])
        case (.optional(let wrapped), .optional(let value?)):
            return .array([try encode(value, as: wrapped, level: level + 1)])
        case (.list(let element), .list(let elements)):
            var list: [JSONValue] = []
            for value in elements { list.append(try encode(value, as: element, level: level + 1)) }
            return .array(list)
        case (.map(let key, let value), .map(let entries)):
            var pairs: [JSONValue] = []
            for (left, right) in entries {
                let key = try encode(left, as: key, level: level + 1)
                pairs.append(.array([key, try encode(right, as: value, level: level + 1)]))
            }
            return .array(pairs)
        case (.structure(let structure), .structure(let data)) where structure.fields.count == data.fields.count:
            var fields: [JSONValue] = []
            for (field, value) in zip(structure.fields, data.fields) {
                fields.append(try encode(value, as: field.type, level: level + 1))
            }
            return .array(fields)
        default: throw PartCoder.Flaw(description: "a value is not of the type \(type)")
        }
    }

    // MARK: Decoding

    static func text(_ json: JSONValue?, _ name: String) throws(PartCoder.Flaw) -> String {
        guard let text = json?.stringValue else { throw .wrong(name) }
        return text
    }

    static func time(_ json: JSONValue?, _ name: String) throws(PartCoder.Flaw) -> Timestamp {
        guard let time = Timestamp(rfc3339: try text(json, name)) else { throw .wrong(name) }
        return time
    }

    static func decodeType(_ json: JSONValue?, level: Int) throws(PartCoder.Flaw) -> ValueType {
        try check(level)
        if let plain = json?.stringValue {
            guard let type = plainTypes.first(where: { $0.name == plain })?.type else { throw .wrong("type") }
            return type
        }
        guard let parts = json?.objectValue else { throw .wrong("type") }
        if let element = parts["list"] { return .list(try decodeType(element, level: level + 1)) }
        if let wrapped = parts["optional"] { return .optional(try decodeType(wrapped, level: level + 1)) }
        if let structure = parts["structure"] {
            guard let entries = parts["fields"]?.arrayValue else { throw .wrong("type") }
            var fields: [StructureType.Field] = []
            for entry in entries {
                fields.append(
                    StructureType.Field(
                        name: try text(entry["name"], "name"), type: try decodeType(entry["type"], level: level + 1)))
            }
            return .structure(StructureType(name: try text(structure, "name"), fields: fields))
        }
        let key = try decodeType(parts["key"], level: level + 1)
        return .map(key: key, value: try decodeType(parts["value"], level: level + 1))
    }

    static func decode(_ json: JSONValue?, as type: ValueType, level: Int) throws(PartCoder.Flaw) -> Value {
        try check(level)
        guard let json else { throw .wrong("value") }
        switch (type, json) {
        case (.dyn, .object(let parts)):
            return try decode(parts["value"], as: try decodeType(parts["type"], level: level + 1), level: level + 1)
        case (.null, .null): return .null
        case (.bool, .bool(let value)): return .bool(value)
        case (.int, .int(let value)): return .int(value)
        case (.string, .string(let value)): return .string(value)
        case (.uint, .string(let text)):
            guard let value = UInt64(text) else { throw .wrong("value") }
            return .uint(value)
        case (.double, .string(let text)):
            guard let value = Double(text) else { throw .wrong("value") }
            return .double(value)
        case (.timestamp, .string): return .timestamp(try time(json, "value"))
        case (.duration, .string(let text)):
            guard let value = TimeSpan(text: text) else { throw .wrong("value") }
            return .duration(value)
        case (.type, _): return .typeValue(try decodeType(json, level: level + 1))
        case (.bytes, .array(let elements)):
            var bytes: [UInt8] = []
            for element in elements {
                guard let byte = element.intValue.flatMap({ UInt8(exactly: $0) }) else { throw .wrong("value") }
                bytes.append(byte)
            }
            return .bytes(bytes)
        case (.optional(let wrapped), .array(let elements)) where elements.count <= 1:
            guard let element = elements.first else { return .optional(nil) }
            return .optional(try decode(element, as: wrapped, level: level + 1))
        case (.list(let element), .array(let elements)):
            var list: [Value] = []
            for value in elements { list.append(try decode(value, as: element, level: level + 1)) }
            return .list(list)
        case (.map(let key, let value), .array(let pairs)):
            var map: [Value: Value] = [:]
            for pair in pairs {
                guard let parts = pair.arrayValue, parts.count == 2 else { throw .wrong("value") }
                let entry = try decode(parts[1], as: value, level: level + 1)
                let old = map.updateValue(entry, forKey: try decode(parts[0], as: key, level: level + 1))
                guard old == nil else { throw .wrong("value") }
            }
            return .map(map)
        case (.structure(let structure), .array(let elements)) where elements.count == structure.fields.count:
            var values: [Value] = []
            for (field, value) in zip(structure.fields, elements) {
                values.append(try decode(value, as: field.type, level: level + 1))
            }
            return .structure(Structure(type: structure, fields: values))
        default: throw .wrong("value")
        }
    }
}
