package import CommonExpression
package import MediatorHost
import StrictJSON
import Varlink

/// The state of a host as a text, which one daemon leaves to the next: a JSON object, with a version, of bounded size.
///
/// Each state and value has its type beside it, so the text keeps its meaning when the configuration changes.
/// `Documentation/Reference/SavedState.md` describes the format.
package enum StateSnapshot {
    /// The marker of the format.
    package static let format = "io.mediatord.state"
    /// The version that is written, and the only one that is read.
    package static let version: Int64 = 1
    /// The longest text, in bytes.
    package static let largest = 32 << 20
    /// The limit on nesting of types and values.
    package static let deepest = 24

    /// The reason why a text is no saved state.
    package struct Flaw: Error, Hashable, CustomStringConvertible {
        /// The reason in words.
        package let description: String
    }

    /// A state as a text, and the names of the systems and buses that are not in it, since they are nested too deep.
    ///
    /// - Parameter time: when it is so.
    /// - Throws: ``Flaw`` where the text would be longer than ``largest``.
    package static func encode(
        _ state: HostState, at time: Timestamp
    ) throws(Flaw) -> (bytes: [UInt8], left: [String]) {
        var left: [String] = []
        var systems: JSONObject = [:]
        for (name, system) in state.systems {
            do throws(Flaw) {
                systems[name] = [
                    "state": .string(system.state.name), "since": .string("\(system.since)"),
                    "fields": .array(try fields(of: system.state, system.fields)),
                ]
            } catch {
                left.append(name)
            }
        }
        var buses: JSONObject = [:]
        for (name, bus) in state.buses {
            do throws(Flaw) {
                buses[name] = [
                    "type": try json(bus.type, level: 0), "value": try json(bus.value, as: bus.type, level: 0),
                    "since": .string("\(bus.since)"),
                ]
            } catch {
                left.append(name)
            }
        }
        let whole: JSONValue = [
            "format": .string(format), "version": .int(version), "time": .string("\(time)"),
            "systems": .object(systems), "buses": .object(buses),
        ]
        let bytes = whole.serialized()
        guard bytes.count <= largest else {
            throw Flaw(description: "it would have \(bytes.count) bytes, and \(largest) are the most")
        }
        return (bytes, left.sorted())
    }

    /// The state that a text holds.
    ///
    /// - Throws: ``Flaw`` where the text is not wholly as ``encode(_:at:)`` makes it.
    package static func decode(_ bytes: [UInt8]) throws(Flaw) -> HostState {
        guard bytes.count <= largest else { throw Flaw(description: "it has more than \(largest) bytes") }
        let whole: JSONValue
        do throws(JSONSyntaxError) {
            whole = try JSONValue(parsing: bytes.span)
        } catch {
            throw Flaw(description: "\(error)")
        }
        guard whole["format"]?.stringValue == format else { throw Flaw(description: "it is no state of mediatord") }
        guard whole["version"]?.intValue == version else {
            let found = whole["version"].map { String("\($0)".prefix(40)) } ?? "none"
            throw Flaw(description: "its version is \(found), and this daemon knows \(version)")
        }
        var state = HostState()
        for (name, entry) in try object(whole["systems"], "systems") {
            let (type, values) = try readFields(entry["fields"], of: try text(entry["state"], name), at: name)
            state.systems[name] = HostState.System(
                state: type, fields: values, since: try time(entry["since"], name))
        }
        for (name, entry) in try object(whole["buses"], "buses") {
            let type = try readType(entry["type"], at: name)
            state.buses[name] = HostState.Bus(
                type: type, value: try readValue(entry["value"], as: type, at: name),
                since: try time(entry["since"], name))
        }
        return state
    }

    // MARK: Writing

    private static func check(_ level: Int) throws(Flaw) {
        guard level < deepest else { throw Flaw(description: "it is nested more than \(deepest) levels deep") }
    }

    private static func fields(of type: StructureType, _ values: [Value]) throws(Flaw) -> [JSONValue] {
        guard type.fields.count == values.count else { throw Flaw(description: "a structure lacks fields") }
        var fields: [JSONValue] = []
        for (field, value) in zip(type.fields, values) {
            fields.append([
                "name": .string(field.name), "type": try json(field.type, level: 1),
                "value": try json(value, as: field.type, level: 1),
            ])
        }
        return fields
    }

    private static let plainTypes: [(type: ValueType, name: String)] = [
        (.dyn, "dyn"), (.null, "null"), (.bool, "bool"), (.int, "int"), (.uint, "uint"), (.double, "double"),
        (.string, "string"), (.bytes, "bytes"), (.timestamp, "timestamp"), (.duration, "duration"), (.type, "type"),
    ]

    private static func json(_ type: ValueType, level: Int) throws(Flaw) -> JSONValue {
        try check(level)
        switch type {
        case .list(let element): return ["list": try json(element, level: level + 1)]
        case .optional(let wrapped): return ["optional": try json(wrapped, level: level + 1)]
        case .map(let key, let value):
            return ["key": try json(key, level: level + 1), "value": try json(value, level: level + 1)]
        case .structure(let structure):
            var fields: [JSONValue] = []
            for field in structure.fields {
                fields.append(["name": .string(field.name), "type": try json(field.type, level: level + 1)])
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

    private static func json(_ value: Value, as type: ValueType, level: Int) throws(Flaw) -> JSONValue {
        try check(level)
        switch (type, value) {
        case (.dyn, _):
            let own = Self.type(of: value)
            return ["type": try json(own, level: level + 1), "value": try json(value, as: own, level: level + 1)]
        case (.null, .null): return .null
        case (.bool, .bool(let value)): return .bool(value)
        case (.int, .int(let value)): return .int(value)
        case (.uint, .uint(let value)): return .string("\(value)")
        case (.double, .double(let value)): return .string("\(value)")
        case (.string, .string(let value)): return .string(value)
        case (.bytes, .bytes(let bytes)): return .array(bytes.map { .int(Int64($0)) })
        case (.timestamp, .timestamp(let value)): return .string("\(value)")
        case (.duration, .duration(let value)): return .string("\(value)")
        case (.type, .typeValue(let value)): return try json(value, level: level + 1)
        case (.optional, .optional(nil)): return .array([])
        case (.optional(let wrapped), .optional(let value?)):
            return .array([try json(value, as: wrapped, level: level + 1)])
        case (.list(let element), .list(let elements)):
            var list: [JSONValue] = []
            for value in elements { list.append(try json(value, as: element, level: level + 1)) }
            return .array(list)
        case (.map(let key, let value), .map(let entries)):
            var pairs: [JSONValue] = []
            for (left, right) in entries {
                pairs.append(
                    .array([try json(left, as: key, level: level + 1), try json(right, as: value, level: level + 1)]))
            }
            return .array(pairs)
        case (.structure(let structure), .structure(let data)) where structure.fields.count == data.fields.count:
            var fields: [JSONValue] = []
            for (field, value) in zip(structure.fields, data.fields) {
                fields.append(try json(value, as: field.type, level: level + 1))
            }
            return .array(fields)
        default: throw Flaw(description: "a value is not of the type \(type)")
        }
    }

    // MARK: Reading

    private static func wrong(_ name: String) -> Flaw {
        Flaw(description: "its '\(name.prefix(100))' is invalid")
    }

    private static func object(_ json: JSONValue?, _ name: String) throws(Flaw) -> JSONObject {
        guard let object = json?.objectValue else { throw wrong(name) }
        return object
    }

    private static func text(_ json: JSONValue?, _ name: String) throws(Flaw) -> String {
        guard let text = json?.stringValue else { throw wrong(name) }
        return text
    }

    private static func time(_ json: JSONValue?, _ name: String) throws(Flaw) -> Timestamp {
        guard let time = Timestamp(rfc3339: try text(json, name)) else { throw wrong(name) }
        return time
    }

    private static func readFields(
        _ json: JSONValue?, of state: String, at name: String
    ) throws(Flaw) -> (StructureType, [Value]) {
        guard let entries = json?.arrayValue else { throw wrong(name) }
        var fields: [StructureType.Field] = []
        var values: [Value] = []
        for entry in entries {
            let type = try readType(entry["type"], at: name)
            fields.append(StructureType.Field(name: try text(entry["name"], name), type: type))
            values.append(try readValue(entry["value"], as: type, at: name))
        }
        return (StructureType(name: state, fields: fields), values)
    }

    // No deeper than the text, whose depth is limited as it is parsed.
    private static func readType(_ json: JSONValue?, at name: String) throws(Flaw) -> ValueType {
        if let plain = json?.stringValue {
            guard let type = plainTypes.first(where: { $0.name == plain })?.type else { throw wrong(name) }
            return type
        }
        guard let parts = json?.objectValue else { throw wrong(name) }
        if let element = parts["list"] { return .list(try readType(element, at: name)) }
        if let wrapped = parts["optional"] { return .optional(try readType(wrapped, at: name)) }
        if let structure = parts["structure"] {
            guard let entries = parts["fields"]?.arrayValue else { throw wrong(name) }
            var fields: [StructureType.Field] = []
            for entry in entries {
                fields.append(
                    StructureType.Field(
                        name: try text(entry["name"], name), type: try readType(entry["type"], at: name)))
            }
            return .structure(StructureType(name: try text(structure, name), fields: fields))
        }
        return .map(key: try readType(parts["key"], at: name), value: try readType(parts["value"], at: name))
    }

    private static func readValue(_ json: JSONValue?, as type: ValueType, at name: String) throws(Flaw) -> Value {
        guard let json else { throw wrong(name) }
        switch (type, json) {
        case (.dyn, .object(let parts)):
            return try readValue(parts["value"], as: try readType(parts["type"], at: name), at: name)
        case (.null, .null): return .null
        case (.bool, .bool(let value)): return .bool(value)
        case (.int, .int(let value)): return .int(value)
        case (.string, .string(let value)): return .string(value)
        case (.uint, .string(let text)):
            guard let value = UInt64(text) else { throw wrong(name) }
            return .uint(value)
        case (.double, .string(let text)):
            guard let value = Double(text) else { throw wrong(name) }
            return .double(value)
        case (.timestamp, .string): return .timestamp(try time(json, name))
        case (.duration, .string(let text)):
            guard let value = TimeSpan(text: text) else { throw wrong(name) }
            return .duration(value)
        case (.type, _): return .typeValue(try readType(json, at: name))
        case (.bytes, .array(let elements)):
            var bytes: [UInt8] = []
            for element in elements {
                guard let byte = element.intValue.flatMap({ UInt8(exactly: $0) }) else { throw wrong(name) }
                bytes.append(byte)
            }
            return .bytes(bytes)
        case (.optional(let wrapped), .array(let elements)) where elements.count <= 1:
            guard let element = elements.first else { return .optional(nil) }
            return .optional(try readValue(element, as: wrapped, at: name))
        case (.list(let element), .array(let elements)):
            var list: [Value] = []
            for value in elements { list.append(try readValue(value, as: element, at: name)) }
            return .list(list)
        case (.map(let key, let value), .array(let pairs)):
            var map: [Value: Value] = [:]
            for pair in pairs {
                guard let parts = pair.arrayValue, parts.count == 2 else { throw wrong(name) }
                let entry = try readValue(parts[1], as: value, at: name)
                let old = map.updateValue(entry, forKey: try readValue(parts[0], as: key, at: name))
                guard old == nil else { throw wrong(name) }
            }
            return .map(map)
        case (.structure(let structure), .array(let elements)) where elements.count == structure.fields.count:
            var values: [Value] = []
            for (field, value) in zip(structure.fields, elements) {
                values.append(try readValue(value, as: field.type, at: name))
            }
            return .structure(Structure(type: structure, fields: values))
        default: throw wrong(name)
        }
    }
}
