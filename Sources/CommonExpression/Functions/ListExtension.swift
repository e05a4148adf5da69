/// The functions of two extensions (github.com/google/cel-go/ext): "Lists", whose `sortBy` is a macro, and "Sets", which treats
/// lists as sets.
enum ListExtension {
    /// All functions of both extensions. `reverse` has its place among those of texts.
    static let all: [Function] = [
        Function("lists.range", [.function(.int, result: .list(.int))], unary: range),
        Function("slice", [.member(list, .int, .int, result: list)], general: slice),
        Function("flatten", [flattened], general: flatten),
        Function("distinct", [.member(list, result: list)], unary: distinct),
        Function("sort", sortable.map { .member(.list($0), result: .list($0)) }, unary: sort),
        Function(
            "first", [.member(list, result: .optional(element))],
            unary: { value, range, _ throws(EvaluationError) in .optional(try elements(value, "first", range).first) }),
        Function(
            "last", [.member(list, result: .optional(element))],
            unary: { value, range, _ throws(EvaluationError) in .optional(try elements(value, "last", range).last) }),
        Function(
            "sets.contains", [.function(list, list, result: .bool)],
            binary: { left, right, range, frame throws(EvaluationError) in
                .bool(try includes(left, right, "sets.contains", range, &frame))
            }),
        Function(
            "sets.equivalent", [.function(list, list, result: .bool)],
            binary: { left, right, range, frame throws(EvaluationError) in
                guard try includes(left, right, "sets.equivalent", range, &frame) else { return .bool(false) }
                return .bool(try includes(right, left, "sets.equivalent", range, &frame))
            }),
        Function("sets.intersects", [.function(list, list, result: .bool)], binary: intersects),
    ]

    private static let element = StaticType.parameter("T")
    private static let list = StaticType.list(element)
    /// The types that have an order.
    static let sortable: [StaticType] = [
        .int, .uint, .double, .bool, .string, .bytes, .timestamp, .duration,
    ]

    /// The type of the result has one level less; if the depth is given, it is unknown.
    private static let flattened = Function.Overload(isMember: true, form: "list.flatten() or list.flatten(depth)") {
        operands in
        guard (1...2).contains(operands.count), operands.count == 1 || operands[1].fits(.int) else { return nil }
        switch operands[0] {
        case .list(.list(let inner)) where operands.count == 1: return .list(inner)
        case .list(let element) where operands.count == 1 && !element.isUnknown: return .list(element)
        case .list: return .list(.dyn)
        default: return operands[0].isUnknown ? .list(.dyn) : nil
        }
    }

    /// Returns the elements of the only argument or the receiver of a function.
    private static func elements(
        _ value: Value, _ name: String, _ range: SourceRange
    ) throws(EvaluationError) -> [Value] {
        try CallArguments(name: name, values: [value], range: range).list(0)
    }

    // MARK: Lists

    private static let range: Function.Unary = { value, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "lists.range", values: [value], range: range)
        let count = try arguments.int(0, default: 0)
        guard count >= 0 else { throw arguments.invalid("lists.range(\(count)): a list has no negative length") }
        try frame.create(elements: Int(count), at: range)
        return .list((0..<count).map { .int($0) })
    }

    private static let slice: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "slice", values: values, range: range)
        let all = try arguments.list(0)
        let (start, end) = (try arguments.int(1, default: 0), try arguments.int(2, default: 0))
        guard start >= 0, start <= end, end <= all.count else {
            throw arguments.invalid("slice(\(start), \(end)) is not within a list of \(all.count) elements")
        }
        try frame.create(elements: Int(end - start), at: range)
        return .list(Array(all[Int(start)..<Int(end)]))
    }

    private static let flatten: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "flatten", values: values, range: range)
        let (all, depth) = (try arguments.list(0), try arguments.int(1, default: 1))
        guard depth >= 0 else { throw arguments.invalid("flatten(\(depth)): a depth is not negative") }
        var flat: [Value] = []
        try append(all, depth: Int(min(depth, Int64(Value.deepestLevel))), to: &flat, range, &frame)
        return .list(flat)
    }

    private static func append(
        _ elements: [Value], depth: Int, to flat: inout [Value], _ range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) {
        for element in elements {
            if depth > 0, case .list(let inner) = element {
                try frame.charge(1, at: range)
                try append(inner, depth: depth - 1, to: &flat, range, &frame)
            } else {
                try frame.grow(elements: flat.count + 1, at: range)
                flat.append(element)
            }
        }
    }

    /// Keeps the first of equal elements. Each comparison is a step.
    private static let distinct: Function.Unary = { value, range, frame throws(EvaluationError) in
        var distinct: [Value] = []
        for element in try elements(value, "distinct", range)
        where try !Comparisons.contains(.list(distinct), element, at: range, &frame) {
            try frame.grow(elements: distinct.count + 1, at: range)
            distinct.append(element)
        }
        return .list(distinct)
    }

    static func reverse(
        _ elements: [Value], _ range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        try frame.create(elements: elements.count, at: range)
        return .list(elements.reversed())
    }

    private static let sort: Function.Unary = { value, range, frame throws(EvaluationError) in
        let all = try elements(value, "sort", range)
        return try sorted(all, by: all, "sort", range, &frame)
    }

    /// Sorts elements by their keys, which must be of one type, and equal ones in their order. It charges the steps of
    /// all comparisons in advance.
    /// - Parameter name: The function or macro, for messages.
    static func sorted(
        _ elements: [Value], by keys: [Value], _ name: String, _ range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        guard let first = keys.first else { return .list(elements) }
        try frame.create(elements: elements.count, at: range)
        let rounds = Int.bitWidth - keys.count.leadingZeroBitCount
        for key in keys {
            guard key.typeName == first.typeName, let order = Comparisons.order(key, key) else {
                throw EvaluationError(
                    code: .noSuchOverload,
                    message: "\(name)() takes \(name == "sort" ? "elements" : "keys") of one type that has an order, "
                        + "not \(first.typeName) and \(key.typeName)", range: range)
            }
            guard order == .equal else {
                throw EvaluationError(code: .invalidArgument, message: "\(name)(): NaN has no order", range: range)
            }
            for _ in 0..<rounds {
                try frame.charge(key: key, at: range)
                if case .bytes(let octets) = key { try frame.charge(octets: octets.count, at: range) }
            }
        }
        try frame.charge(keys.count * rounds, at: range)
        let order = keys.indices.sorted { Comparisons.order(keys[$0], keys[$1]) == .less }
        return .list(order.map { elements[$0] })
    }

    // MARK: Sets

    /// Returns whether each element of the second list is in the first.
    private static func includes(
        _ set: Value, _ part: Value, _ name: String, _ range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        _ = try elements(set, name, range)
        for element in try elements(part, name, range)
        where try !Comparisons.contains(set, element, at: range, &frame) {
            return false
        }
        return true
    }

    private static let intersects: Function.Binary = { left, right, range, frame throws(EvaluationError) in
        _ = try elements(left, "sets.intersects", range)
        for element in try elements(right, "sets.intersects", range)
        where try Comparisons.contains(left, element, at: range, &frame) {
            return .bool(true)
        }
        return .bool(false)
    }
}
