/// The functions that copy a map with or without a key. CEL has none for that.
enum MapExtension {
    /// All functions of maps.
    static let all: [Function] = [
        Function("with", [extended], general: with, nesting: .arguments),
        Function("without", [reduced], binary: without),
    ]

    private static let extended = Function.Overload(isMember: true, form: "map.with(key, value)") { operands in
        guard operands.count == 3 else { return nil }
        return type(operands[0], key: operands[1], value: operands[2])
    }

    private static let reduced = Function.Overload(isMember: true, form: "map.without(key)") { operands in
        guard operands.count == 2 else { return nil }
        return type(operands[0], key: operands[1], value: .open)
    }

    /// Returns the type of a map that has an entry more, or nil if the entry does not fit.
    private static func type(_ map: StaticType, key: StaticType, value: StaticType) -> StaticType? {
        guard Operators.isKey(key) else { return nil }
        guard case .map(let keys, let values) = map else { return map.isUnknown ? .map(.dyn, .dyn) : nil }
        guard let keys = keys.joined(with: key), let values = values.joined(with: value) else { return nil }
        return .map(keys, values)
    }

    /// Returns the entries of the map and its key that equals an operand, which is nil if the map has none.
    private static func entries(
        _ arguments: CallArguments, _ frame: inout Frame
    ) throws(EvaluationError) -> (entries: [Value: Value], stored: Value?) {
        guard case .map(let entries) = arguments.values[0] else { throw arguments.noOverload() }
        let key = arguments.values[1]
        guard MapKeys.isKey(key) else {
            throw Code.mismatch(key, "a key of int, uint, bool or string", arguments.range)
        }
        try frame.charge(key: key, at: arguments.range)
        return (entries, MapKeys.stored(key, in: entries))
    }

    private static let with: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "with", values: values, range: range)
        var (entries, stored) = try entries(arguments, &frame)
        try frame.create(elements: entries.count + (stored == nil ? 1 : 0), at: range)
        entries[stored ?? values[1]] = values[2]
        return .map(entries)
    }

    private static let without: Function.Binary = { map, key, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "without", values: [map, key], range: range)
        var (entries, stored) = try entries(arguments, &frame)
        guard let stored else { return map }
        try frame.create(elements: entries.count - 1, at: range)
        entries[stored] = nil
        return .map(entries)
    }
}
