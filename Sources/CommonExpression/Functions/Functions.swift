/// The standard functions (CEL specification, "List of Standard Definitions").
enum Functions {
    /// All functions by name.
    static let all: [String: Function] = Dictionary(
        uniqueKeysWithValues: (conversions + texts + dates + StringExtension.all + MathExtension.all
            + EncodersExtension.all + JSONExtension.all + ListExtension.all + MapExtension.all + NetworkExtension.all
            + OptionalExtension.all + PatternFunctions.all + TimeExtension.all).map { ($0.name, $0) })

    /// The functions that are only called as `name(…)`, although a member has the same name.
    static let ofMemberNames: [String: Function] = [TimeExtension.format.name: TimeExtension.format]

    /// The first parts of functions with a namespace.
    static let namespaces = namespaces(of: all.keys)

    /// Returns the namespaces of functions.
    static func namespaces(of names: some Sequence<String>) -> Set<String> {
        Set(names.compactMap { name in name.lastIndex(of: ".").map { String(name[..<$0]) } })
    }

    /// The functions, for messages.
    static let list =
        "string(), int(), uint(), double(), bool(), bytes(), timestamp(), duration(), size(), has(), contains(), "
        + "startsWith(), endsWith(), matches(), all(), exists(), map(), filter() and the like"

    private static func conversion(to result: StaticType, from types: [StaticType]) -> [Function.Overload] {
        types.map { .function($0, result: result) }
    }

    private static let conversions: [Function] = [
        Function(
            "dyn", [Function.Overload(isMember: false, parameters: [.any], result: .dyn)],
            unary: { value, _, _ throws(EvaluationError) in value }),
        Function(
            "string",
            conversion(
                to: .string,
                from: [
                    .string, .int, .uint, .double, .bool, .bytes, .timestamp, .duration, NetworkExtension.ip,
                    NetworkExtension.cidr,
                ]),
            unary: Conversions.string),
        Function(
            "int", conversion(to: .int, from: [.int, .uint, .double, .string, .timestamp]), unary: Conversions.int),
        Function("uint", conversion(to: .uint, from: [.uint, .int, .double, .string]), unary: Conversions.uint),
        Function(
            "double", conversion(to: .double, from: [.double, .int, .uint, .string]), unary: Conversions.double),
        Function("bool", conversion(to: .bool, from: [.bool, .string]), unary: Conversions.bool),
        Function("bytes", conversion(to: .bytes, from: [.bytes, .string]), unary: Conversions.bytes),
        Function(
            "timestamp", conversion(to: .timestamp, from: [.timestamp, .string, .int]),
            unary: Conversions.timestamp),
        Function(
            "type", [Function.Overload(isMember: false, parameters: [.any], result: .type)],
            unary: { value, _, _ throws(EvaluationError) in .typeValue(value.typeAsValue) }),
        Function("duration", conversion(to: .duration, from: [.duration, .string]), unary: Conversions.duration),
    ]

    private static let texts: [Function] = [
        Function("size", sizes(isMember: false) + sizes(isMember: true), unary: TextFunctions.size),
        Function(
            "contains", [.member(.string, .string, result: .bool)], binary: TextFunctions.contains),
        Function(
            "startsWith", [.member(.string, .string, result: .bool)], binary: TextFunctions.startsWith),
        Function(
            "endsWith", [.member(.string, .string, result: .bool)], binary: TextFunctions.endsWith),
    ]

    private static func sizes(isMember: Bool) -> [Function.Overload] {
        let parameters: [Function.Parameter] = [.type(.string), .type(.bytes), .anyList, .anyMap]
        return parameters.map { Function.Overload(isMember: isMember, parameters: [$0], result: .int) }
    }

    private static let dates: [Function] = DatePart.allCases.map { part in
        var overloads: [Function.Overload] = [
            .member(.timestamp, result: .int),
            .member(.timestamp, .string, result: .int),
        ]
        if part.isOfDuration { overloads.append(.member(.duration, result: .int)) }
        return Function(
            part.rawValue, overloads,
            unary: { value, range, _ throws(EvaluationError) in try part.value(of: value, at: range) },
            binary: { value, zone, range, frame throws(EvaluationError) in
                try frame.charge(DatePart.zoneCost, at: range)
                return try part.value(of: value, zone: zone, at: range)
            },
            specialize: { zone, _ in part.specialized(zone: zone) })
    }

    /// Returns the function that converts to a type.
    static func conversion(to type: StaticType) -> String? {
        switch type {
        case .string: "string"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .bool: "bool"
        case .bytes: "bytes"
        case .timestamp: "timestamp"
        case .duration: "duration"
        default: nil
        }
    }

    /// Returns whether the function takes a value of the type as its only argument.
    static func converts(_ type: StaticType, with name: String) -> Bool {
        all[name]?.overloads.contains { !$0.isMember && $0.result(for: [type]) != nil } == true
    }

    /// Returns the equivalent in the language for a name of other languages.
    static func literalLike(_ name: String) -> String? {
        switch name.lowercased() {
        case "nil", "none", "undefined": "null"
        case "true", "yes", "on": "true"
        case "false", "no", "off": "false"
        default: nil
        }
    }
}
