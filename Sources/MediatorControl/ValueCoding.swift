public import CommonExpression
public import StrictJSON

/// The encoding of values on the control socket.
///
/// Text, numbers, truth values, lists and structures are those of JSON. A timestamp is RFC 3339 text, and a duration
/// text such as `1.5s`. A number that JSON does not have (`NaN`, infinity) is text. A missing
/// optional value is null, and as a field has no key.
public enum ValueCoding {
    /// A value as JSON.
    public static func json(_ value: Value) -> JSONValue {
        switch value {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .uint(let value): JSONValue(value)
        case .double(let value): value.isFinite ? .double(value) : .string("\(value)")
        case .string(let value): .string(value)
        case .bytes(let bytes): .array(bytes.map { .int(Int64($0)) })
        case .list(let elements): .array(elements.map(json))
        case .map(let entries):
            .object(Dictionary(entries.map { ($0.key.text ?? "\($0.key)", json($0.value)) }) { first, _ in first })
        case .timestamp(let value): .string("\(value)")
        case .duration(let value): .string("\(value)")
        case .structure: .object(fields(of: value))
        case .typeValue(let type): .string("\(type)")
        case .optional(let value): value.map(json) ?? .null
        }
    }

    /// The fields of a structure as a JSON object; an optional one that is not there has no key.
    public static func fields(of value: Value) -> JSONObject {
        guard case .structure(let structure) = value else { return [:] }
        let fields = zip(structure.type.fields.map(\.name), structure.fields).filter { $0.1 != .optional(nil) }
        return Dictionary(uniqueKeysWithValues: fields.map { ($0.0, json($0.1)) })
    }

    /// A problem with a JSON value.
    public struct Mismatch: Error, Hashable {
        /// The place: the name of the event or bus, then fields and indices.
        public let path: String
        /// The type it must have.
        public let expected: String
        /// The problem, in a sentence.
        public let message: String
    }

    /// The limit on a value in a message, in characters.
    private static let longestTold = 200

    /// A JSON value as a value of the type. `path` names it in errors.
    public static func value(_ json: JSONValue, as type: ValueType, at path: String) throws(Mismatch) -> Value {
        // Made on demand, since it holds the value.
        func mismatch() -> Mismatch {
            var text = json.description
            if text.utf8.count > longestTold { text = text.prefix(longestTold) + "…" }
            return Mismatch(path: path, expected: "\(type)", message: "\(path) must be \(type), not \(text)")
        }
        switch (type, json) {
        case (.dyn, _): return Value(json)
        case (.optional, .null): return .optional(nil)
        case (.optional(let wrapped), _): return .optional(try value(json, as: wrapped, at: path))
        case (.null, .null): return .null
        case (.bool, .bool(let value)): return .bool(value)
        case (.int, .int(let value)): return .int(value)
        case (.uint, .int(let value)):
            guard let value = UInt64(exactly: value) else { throw mismatch() }
            return .uint(value)
        case (.uint, .uint(let value)): return .uint(value)
        case (.double, .string(let text)):
            guard let value = Double(text), !value.isFinite else { throw mismatch() }
            return .double(value)
        case (.bytes, .array(let elements)):
            var bytes: [UInt8] = []
            for element in elements {
                guard case .int(let value) = element, let byte = UInt8(exactly: value) else { throw mismatch() }
                bytes.append(byte)
            }
            return .bytes(bytes)
        case (.double, .int(let value)): return .double(Double(value))
        case (.double, .double(let value)): return .double(value)
        case (.string, .string(let value)): return .string(value)
        case (.timestamp, .string(let text)):
            guard let value = Timestamp(rfc3339: text) else { throw mismatch() }
            return .timestamp(value)
        case (.duration, .string(let text)):
            guard let value = TimeSpan(text: text) else { throw mismatch() }
            return .duration(value)
        case (.list(let element), .array(let values)):
            var list: [Value] = []
            for (index, value) in values.enumerated() {
                list.append(try self.value(value, as: element, at: "\(path)[\(index)]"))
            }
            return .list(list)
        case (.map(.string, let element), .object(let entries)):
            var map: [Value: Value] = [:]
            for (key, value) in entries { map[.string(key)] = try self.value(value, as: element, at: "\(path).\(key)") }
            return .map(map)
        case (.structure(let structure), .object(let entries)):
            let values = try fields(entries, as: structure, at: path)
            return .structure(Structure(type: structure, fields: values))
        default: throw mismatch()
        }
    }

    /// The fields of a JSON object in the order of the type; every one that is not optional must be there, and no other.
    public static func fields(_ entries: JSONObject, as type: StructureType, at path: String) throws(Mismatch)
        -> [Value]
    {
        var values: [Value] = []
        for (field, value) in zip(type.fields, try someFields(entries, as: type, at: path)) {
            guard let value else {
                throw Mismatch(
                    path: "\(path).\(field.name)", expected: "\(field.type)",
                    message: "\(path) needs the field \(field.name): \(field.type)")
            }
            values.append(value)
        }
        return values
    }

    /// The fields of a JSON object in the order of the type; nil for each that is not there and is not optional.
    public static func someFields(_ entries: JSONObject, as type: StructureType, at path: String) throws(Mismatch)
        -> [Value?]
    {
        for key in entries.keys.sorted() where type.index(of: key) == nil {
            let hint = nearestName(to: key, among: type.fields.map(\.name)).map { "; did you mean \($0)?" } ?? ""
            throw Mismatch(
                path: "\(path).\(key)", expected: "\(type.name)", message: "\(path) has no field \(key)" + hint)
        }
        var values: [Value?] = []
        for field in type.fields {
            guard let json = entries[field.name] else {
                if case .optional = field.type { values.append(.optional(nil)) } else { values.append(nil) }
                continue
            }
            values.append(try value(json, as: field.type, at: "\(path).\(field.name)"))
        }
        return values
    }
}
