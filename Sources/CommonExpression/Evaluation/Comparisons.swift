/// Equality and ordering of values at evaluation (CEL specification, "Equality and Ordering").
///
/// Values of different types are not equal. Numbers of all types are ordered together, as in the conformance suite.
enum Comparisons {
    /// Returns whether two values are equal. Charges a step per element.
    static func areEqual(
        _ left: Value, _ right: Value, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        try areEqual(left, right, level: 0, at: range, &frame)
    }

    private static func areEqual(
        _ left: Value, _ right: Value, level: Int, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        switch (left, right) {
        case (.null, .null): return true
        case (.bool(let left), .bool(let right)): return left == right
        case (.string(let left), .string(let right)):
            try frame.charge(octets: min(left.utf8.count, right.utf8.count), at: range)
            return left.hasSameScalars(as: right)
        case (.bytes(let left), .bytes(let right)):
            try frame.charge(octets: min(left.count, right.count), at: range)
            return left == right
        case (.timestamp(let left), .timestamp(let right)): return left == right
        case (.duration(let left), .duration(let right)): return left == right
        case (.typeValue(let left), .typeValue(let right)): return left == right
        case (.list, .list), (.map, .map), (.structure, .structure), (.optional, .optional):
            guard level < Value.deepestLevel else {
                throw EvaluationError(
                    code: .valueTooLarge,
                    message: "values nested more than \(Value.deepestLevel) levels deep cannot be compared",
                    range: range)
            }
            return try areEqualAggregates(left, right, level: level + 1, at: range, &frame)
        default:
            return numbers(left, right) == .equal
        }
    }

    private static func areEqualAggregates(
        _ left: Value, _ right: Value, level: Int, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        switch (left, right) {
        case (.list(let left), .list(let right)):
            return try areEqual(left, right, level: level, at: range, &frame)
        case (.structure(let left), .structure(let right)):
            guard left.type == right.type else { return false }
            return try areEqual(left.fields, right.fields, level: level, at: range, &frame)
        case (.optional(let left), .optional(let right)):
            guard let left, let right else { return left == nil && right == nil }
            return try areEqual(left, right, level: level, at: range, &frame)
        case (.map(let left), .map(let right)):
            guard left.count == right.count else { return false }
            for (key, value) in left {
                try frame.charge(1, at: range)
                guard let other = MapKeys.value(of: key, in: right),
                    try areEqual(value, other, level: level, at: range, &frame)
                else { return false }
            }
            return true
        default: return false
        }
    }

    private static func areEqual(
        _ left: [Value], _ right: [Value], level: Int, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices {
            try frame.charge(1, at: range)
            guard try areEqual(left[index], right[index], level: level, at: range, &frame) else { return false }
        }
        return true
    }

    /// Returns the order of two values, or nil if they have no order.
    static func order(_ left: Value, _ right: Value) -> Comparison? {
        switch (left, right) {
        case (.bool(let left), .bool(let right)): order(left ? 1 : 0, right ? 1 : 0)
        case (.string(let left), .string(let right)): left.scalarOrder(to: right)
        case (.bytes(let left), .bytes(let right)): ByteOrder.compare(left, right)
        case (.timestamp(let left), .timestamp(let right)): order(left.totalNanoseconds, right.totalNanoseconds)
        case (.duration(let left), .duration(let right)): order(left.totalNanoseconds, right.totalNanoseconds)
        default: numbers(left, right)
        }
    }

    /// Returns the order of two numbers of any types, or nil for other values. An integer is compared with a `double`
    /// as a `double`.
    static func numbers(_ left: Value, _ right: Value) -> Comparison? {
        switch (left, right) {
        case (.int(let left), .int(let right)): order(left, right)
        case (.uint(let left), .uint(let right)): order(left, right)
        case (.double(let left), .double(let right)): order(left, right)
        case (.int(let left), .uint(let right)): left < 0 ? .less : order(UInt64(left), right)
        case (.uint(let left), .int(let right)): right < 0 ? .greater : order(left, UInt64(right))
        case (.int(let left), .double(let right)): order(Double(left), right)
        case (.double(let left), .int(let right)): order(left, Double(right))
        case (.uint(let left), .double(let right)): order(Double(left), right)
        case (.double(let left), .uint(let right)): order(left, Double(right))
        default: nil
        }
    }

    @inline(__always)
    static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Comparison {
        left < right ? .less : left == right ? .equal : left > right ? .greater : .unordered
    }

    /// Returns whether a value is an element of a list or a key of a map. Charges a step per element of a list.
    static func contains(
        _ container: Value, _ item: Value, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        switch container {
        case .list(let elements):
            for element in elements {
                try frame.charge(1, at: range)
                if try areEqual(item, element, at: range, &frame) { return true }
            }
            return false
        case .map(let entries):
            try frame.charge(key: item, at: range)
            return MapKeys.value(of: item, in: entries) != nil
        default:
            throw EvaluationError(
                code: .noSuchOverload, message: "'in' needs a list or map on the right, not \(container.typeName)",
                range: range)
        }
    }

    /// Evaluates a relation between two values.
    static func relate(
        _ operation: BinaryOperator, _ left: Value, _ right: Value, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        switch operation {
        case .equal: return try areEqual(left, right, at: range, &frame)
        case .notEqual: return try !areEqual(left, right, at: range, &frame)
        case .in: return try contains(right, left, at: range, &frame)
        default:
            try frame.charge(key: left, at: range)
            if case .bytes(let octets) = left { try frame.charge(octets: octets.count, at: range) }
            guard let order = order(left, right) else {
                throw EvaluationError(
                    code: .noSuchOverload,
                    message: "'\(operation.symbol)' does not take \(left.typeName) and \(right.typeName)",
                    range: range)
            }
            return order.rawValue & operation.outcomes != 0
        }
    }
}

/// Looks up keys of maps. Equal numbers are the same key, whether `int`, `uint` or `double`.
enum MapKeys {
    /// Returns the value of a key, or nil if the map does not have the key.
    static func value(of key: Value, in entries: [Value: Value]) -> Value? {
        switch key {
        case .string, .bool: return entries[key]
        case .int(let int):
            return entries[key] ?? UInt64(exactly: int).flatMap { entries[.uint($0)] }
        case .uint(let uint):
            return entries[key] ?? Int64(exactly: uint).flatMap { entries[.int($0)] }
        case .double(let double):
            return int(of: double).flatMap { entries[.int($0)] } ?? uint(of: double).flatMap { entries[.uint($0)] }
        default: return nil
        }
    }

    /// Returns the key of the map that equals an `int`, `uint`, `bool` or `string`, or nil if the map has none.
    static func stored(_ key: Value, in entries: [Value: Value]) -> Value? {
        if entries[key] != nil { return key }
        let other: Value? =
            switch key {
            case .int(let int): UInt64(exactly: int).map { .uint($0) }
            case .uint(let uint): Int64(exactly: uint).map { .int($0) }
            default: nil
            }
        return other.flatMap { entries[$0] == nil ? nil : $0 }
    }

    /// Returns the number as an integer if it is one. `Int64(exactly:)` would link the C library's mathematics, which a
    /// program may not need otherwise.
    static func int(of double: Double) -> Int64? {
        guard double >= -0x1p63, double < 0x1p63 else { return nil }
        let int = Int64(double)
        return Double(int) == double ? int : nil
    }

    private static func uint(of double: Double) -> UInt64? {
        guard double >= 0, double < 0x1p64 else { return nil }
        let uint = UInt64(double)
        return Double(uint) == double ? uint : nil
    }

    /// Returns whether a value may be a key.
    static func isKey(_ value: Value) -> Bool {
        switch value {
        case .int, .uint, .bool, .string: true
        default: false
        }
    }
}
