/// A function of the language: its overloads for the checker, and what it does at evaluation.
struct Function: Sendable {
    /// A function of one operand, the receiver or the argument. It takes any value and throws `noSuchOverload` for
    /// those it has no overload for.
    typealias Unary = @Sendable (Value, SourceRange, inout Frame) throws(EvaluationError) -> Value
    /// A function of two operands.
    typealias Binary = @Sendable (Value, Value, SourceRange, inout Frame) throws(EvaluationError) -> Value

    struct Overload: Sendable {
        /// Whether it is called as `receiver.name(…)`.
        let isMember: Bool
        /// With the receiver first.
        let parameters: [Parameter]
        let result: StaticType

        /// Whether the receiver of a member call may be of this type.
        func accepts(receiver: StaticType) -> Bool {
            parameters.first?.accepts(receiver) == true
        }
    }

    /// What an overload takes.
    enum Parameter: Sendable, CustomStringConvertible {
        case type(StaticType)
        case any
        case anyList
        case anyMap

        func accepts(_ type: StaticType) -> Bool {
            if type.isUnknown { return true }
            switch (self, type) {
            case (.any, _), (.anyList, .list), (.anyMap, .map): return true
            case (.type(let needed), _): return type.fits(needed)
            default: return false
            }
        }

        var description: String {
            switch self {
            case .type(let type): type.description
            case .any: "any value"
            case .anyList: "list"
            case .anyMap: "map"
            }
        }
    }

    let name: String
    let overloads: [Overload]
    let unary: Unary?
    let binary: Binary?

    init(_ name: String, _ overloads: [Overload], unary: Unary? = nil, binary: Binary? = nil) {
        self.name = name
        self.overloads = overloads
        self.unary = unary
        self.binary = binary
    }
}

/// The standard functions (CEL specification, "List of Standard Definitions").
enum Functions {
    /// All functions by name.
    static let all: [String: Function] = Dictionary(
        uniqueKeysWithValues: (conversions + texts + dates).map { ($0.name, $0) })

    /// Names of types that the specification has as values.
    static let typeNames: Set<String> = [
        "int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type", "dyn",
    ]

    /// Names that begin the functions of the specification's extensions.
    static let namespaces: Set<String> = ["math", "optional", "base64", "strings", "cel", "sets", "lists", "net"]

    /// Functions of the specification and its extensions that are not there.
    static let unsupported: Set<String> = [
        "matches", "type", "charAt", "indexOf", "lastIndexOf", "replace", "split", "substring", "trim", "join",
        "lowerAscii", "upperAscii", "format", "reverse", "transformMapEntry", "optMap", "optFlatMap", "orValue",
        "hasValue",
    ]

    /// The functions, for messages.
    static let list =
        "string(), int(), uint(), double(), bool(), bytes(), timestamp(), duration(), size(), has(), contains(), "
        + "startsWith(), endsWith(), all(), exists(), map(), filter() and the like"

    private static func function(_ parameters: StaticType..., result: StaticType) -> Function.Overload {
        Function.Overload(isMember: false, parameters: parameters.map { .type($0) }, result: result)
    }

    private static func member(_ parameters: StaticType..., result: StaticType) -> Function.Overload {
        Function.Overload(isMember: true, parameters: parameters.map { .type($0) }, result: result)
    }

    private static func conversion(to result: StaticType, from types: [StaticType]) -> [Function.Overload] {
        types.map { function($0, result: result) }
    }

    private static let conversions: [Function] = [
        Function(
            "dyn", [Function.Overload(isMember: false, parameters: [.any], result: .dyn)],
            unary: { value, _, _ throws(EvaluationError) in value }),
        Function(
            "string",
            conversion(to: .string, from: [.string, .int, .uint, .double, .bool, .bytes, .timestamp, .duration]),
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
        Function("duration", conversion(to: .duration, from: [.duration, .string]), unary: Conversions.duration),
    ]

    private static let texts: [Function] = [
        Function("size", sizes(isMember: false) + sizes(isMember: true), unary: TextFunctions.size),
        Function(
            "contains", [member(.string, .string, result: .bool)], binary: TextFunctions.contains),
        Function(
            "startsWith", [member(.string, .string, result: .bool)], binary: TextFunctions.startsWith),
        Function(
            "endsWith", [member(.string, .string, result: .bool)], binary: TextFunctions.endsWith),
    ]

    private static func sizes(isMember: Bool) -> [Function.Overload] {
        let parameters: [Function.Parameter] = [.type(.string), .type(.bytes), .anyList, .anyMap]
        return parameters.map { Function.Overload(isMember: isMember, parameters: [$0], result: .int) }
    }

    private static let dates: [Function] = DatePart.allCases.map { part in
        var overloads = [
            member(.timestamp, result: .int),
            member(.timestamp, .string, result: .int),
        ]
        if part.isOfDuration { overloads.append(member(.duration, result: .int)) }
        return Function(
            part.rawValue, overloads,
            unary: { value, range, _ throws(EvaluationError) in try part.value(of: value, at: range) },
            binary: { value, zone, range, _ throws(EvaluationError) in
                try part.value(of: value, zone: zone, at: range)
            })
    }

    /// The function that converts to a type.
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

    /// Whether the function takes a value of the type as its only argument.
    static func converts(_ type: StaticType, with name: String) -> Bool {
        all[name]?.overloads.contains { !$0.isMember && $0.parameters[0].accepts(type) } == true
    }

    /// What stands in the language for a name of other languages.
    static func literalLike(_ name: String) -> String? {
        switch name.lowercased() {
        case "nil", "none", "undefined": "null"
        case "true", "yes", "on": "true"
        case "false", "no", "off": "false"
        default: nil
        }
    }
}
