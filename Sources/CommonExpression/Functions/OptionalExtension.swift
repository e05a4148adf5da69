/// The functions of optional values. `optMap` and `optFlatMap` are macros.
enum OptionalExtension {
    /// All functions of optional values.
    static let all: [Function] = [
        Function(
            "optional.of", [.function(element, result: optional)],
            unary: { value, _, _ throws(EvaluationError) in .optional(value) }, nesting: .operands),
        Function(
            "optional.ofNonZeroValue", [.function(element, result: optional)],
            unary: { value, range, frame throws(EvaluationError) in
                try isZero(value, level: 0, range, &frame) ? .optional(nil) : .optional(value)
            }, nesting: .operands),
        Function(
            "optional.none", [.function(result: optional)],
            general: { _, _, _ throws(EvaluationError) in .optional(nil) }),
        Function(
            "hasValue", [.member(optional, result: .bool)],
            unary: { value, range, _ throws(EvaluationError) in
                .bool(try wrapped(value, "hasValue", range) != nil)
            }),
        Function("value", [.member(optional, result: element)], unary: unwrap),
        Function(
            "or", [.member(optional, optional, result: optional)], binary: alternative,
            shortcut: { value in
                if case .optional(.some) = value { return value }
                return nil
            }),
        Function(
            "orValue", [.member(optional, element, result: element)], binary: alternativeValue,
            shortcut: { value in
                if case .optional(let wrapped) = value { return wrapped }
                return nil
            }),
        Function("optional.unwrap", [.function(.list(optional), result: .list(element))], unary: unwrapList),
        Function("unwrapOpt", [.member(.list(optional), result: .list(element))], unary: unwrapList),
    ]

    private static let element = StaticType.parameter("T")
    private static let optional = StaticType.optional(element)

    private static func wrapped(
        _ value: Value, _ name: String, _ range: SourceRange
    ) throws(EvaluationError) -> Value? {
        guard case .optional(let wrapped) = value else {
            throw EvaluationError(
                code: .noSuchOverload, message: "\(name)() takes an optional value, not \(value.typeName)",
                range: range)
        }
        return wrapped
    }

    private static let unwrap: Function.Unary = { value, range, _ throws(EvaluationError) in
        guard let wrapped = try wrapped(value, "value", range) else {
            throw EvaluationError(
                code: .emptyOptional, message: "value() of optional.none(); use orValue(…) or test hasValue()",
                range: range)
        }
        return wrapped
    }

    private static let alternative: Function.Binary = { value, other, range, _ throws(EvaluationError) in
        if try wrapped(value, "or", range) != nil { return value }
        _ = try wrapped(other, "or", range)
        return other
    }

    private static let alternativeValue: Function.Binary = { value, other, range, _ throws(EvaluationError) in
        try wrapped(value, "orValue", range) ?? other
    }

    private static let unwrapList: Function.Unary = { value, range, frame throws(EvaluationError) in
        guard case .list(let elements) = value else {
            throw EvaluationError(
                code: .noSuchOverload, message: "unwrapOpt() takes a list, not \(value.typeName)", range: range)
        }
        try frame.create(elements: elements.count, at: range)
        var values: [Value] = []
        for element in elements {
            if let wrapped = try wrapped(element, "unwrapOpt", range) { values.append(wrapped) }
        }
        return .list(values)
    }

    /// Returns whether a value is the zero value of its type: null, false, zero, empty, the first second of the range,
    /// or a structure of such values.
    private static func isZero(
        _ value: Value, level: Int, _ range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        switch value {
        case .null, .optional(nil): return true
        case .bool(let bool): return !bool
        case .int(let int): return int == 0
        case .uint(let uint): return uint == 0
        case .double(let double): return double == 0
        case .string(let text): return text.isEmpty
        case .bytes(let bytes): return bytes.isEmpty
        case .list(let elements): return elements.isEmpty
        case .map(let entries): return entries.isEmpty
        case .duration(let span): return span.seconds == 0 && span.nanoseconds == 0
        case .timestamp(let timestamp): return timestamp.seconds == Timestamp.firstSecond && timestamp.nanoseconds == 0
        case .structure(let structure):
            guard level < Value.deepestLevel else { return false }
            for field in structure.fields {
                try frame.charge(1, at: range)
                guard try isZero(field, level: level + 1, range, &frame) else { return false }
            }
            return true
        case .typeValue, .optional: return false
        }
    }
}
