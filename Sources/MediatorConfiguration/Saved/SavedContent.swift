public import CommonExpression
package import StrictJSON

/// The state of a system as it is saved, with its type.
public struct SavedSystem: Sendable, Hashable {
    /// The type of the data, which has the name of the state.
    public var state: StructureType
    /// The data, in the order of the fields of the type.
    public var fields: [Value]
    /// The time at which the system entered the state.
    public var since: Timestamp

    /// Creates a state.
    public init(state: StructureType, fields: [Value], since: Timestamp) {
        self.state = state
        self.fields = fields
        self.since = since
    }
}

/// The value of a bus that remembers its value, as it is saved, with its type.
public struct SavedBus: Sendable, Hashable {
    /// The type of the bus.
    public var type: ValueType
    /// The value, which has that type.
    public var value: Value
    /// The time at which the bus received the value.
    public var since: Timestamp

    /// Creates a value.
    public init(type: ValueType, value: Value, since: Timestamp) {
        self.type = type
        self.value = value
        self.since = since
    }
}

/// The state of a system or the value of a bus, in the form that ``PartCoder`` encodes.
package protocol SavedContent: Sendable, Hashable {
    /// The time at which the system entered the state, or the bus received the value.
    var since: Timestamp { get }

    /// Returns the content as the members of a JSON object.
    ///
    /// - Throws: ``PartCoder/Flaw`` if the content is nested too deep, or a value does not have its type.
    func members() throws(PartCoder.Flaw) -> JSONObject

    /// Creates the content from a JSON object. Ignores members that it does not know.
    ///
    /// - Throws: ``PartCoder/Flaw`` if a member is missing or wrong, or nested too deep.
    init(members: JSONObject) throws(PartCoder.Flaw)
}

extension SavedSystem: SavedContent {
    package func members() throws(PartCoder.Flaw) -> JSONObject {
        guard state.fields.count == fields.count else {
            throw PartCoder.Flaw(description: "a structure lacks fields")
        }
        var entries: [JSONValue] = []
        for (field, value) in zip(state.fields, fields) {
            entries.append([
                "name": .string(field.name), "type": try ValueCoder.encode(field.type, level: 1),
                "value": try ValueCoder.encode(value, as: field.type, level: 1),
            ])
        }
        return ["state": .string(state.name), "since": .string("\(since)"), "fields": .array(entries)]
    }

    package init(members: JSONObject) throws(PartCoder.Flaw) {
        guard let entries = members["fields"]?.arrayValue else { throw .wrong("fields") }
        var types: [StructureType.Field] = []
        var values: [Value] = []
        for entry in entries {
            let type = try ValueCoder.decodeType(entry["type"], level: 1)
            types.append(StructureType.Field(name: try ValueCoder.text(entry["name"], "name"), type: type))
            values.append(try ValueCoder.decode(entry["value"], as: type, level: 1))
        }
        self.init(
            state: StructureType(name: try ValueCoder.text(members["state"], "state"), fields: types), fields: values,
            since: try ValueCoder.time(members["since"], "since"))
    }
}

extension SavedBus: SavedContent {
    package func members() throws(PartCoder.Flaw) -> JSONObject {
        [
            "type": try ValueCoder.encode(type, level: 0), "value": try ValueCoder.encode(value, as: type, level: 0),
            "since": .string("\(since)"),
        ]
    }

    package init(members: JSONObject) throws(PartCoder.Flaw) {
        let type = try ValueCoder.decodeType(members["type"], level: 0)
        self.init(
            type: type, value: try ValueCoder.decode(members["value"], as: type, level: 0),
            since: try ValueCoder.time(members["since"], "since"))
    }
}
