/// Arithmetic on values (CEL specification, "Numeric Values", "Overflow" and "List of Standard Definitions").
enum Arithmetic {
    /// The largest difference of two timestamps: 64 bits of nanoseconds, about 292 years, as in the conformance suite.
    static let largestDifference = Int128(Int64.max)

    /// Applies an arithmetic operation to operands of any types.
    static func apply(
        _ operation: BinaryOperator, _ left: Value, _ right: Value, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(let left), .int(let right)): return .int(try int(operation, left, right, at: range))
        case (.uint(let left), .uint(let right)): return .uint(try uint(operation, left, right, at: range))
        case (.double(let leftNumber), .double(let rightNumber)):
            guard operation != .remainder else { throw noOverload(operation, left, right, at: range) }
            return .double(double(operation, leftNumber, rightNumber))
        default: break
        }
        switch operation {
        case .add: return try sum(left, right, at: range, &frame)
        case .subtract: return try difference(left, right, at: range)
        default: throw noOverload(operation, left, right, at: range)
        }
    }

    static func int(
        _ operation: BinaryOperator, _ left: Int64, _ right: Int64, at range: SourceRange
    ) throws(EvaluationError) -> Int64 {
        let (result, overflows): (Int64, Bool)
        switch operation {
        case .add: (result, overflows) = left.addingReportingOverflow(right)
        case .subtract: (result, overflows) = left.subtractingReportingOverflow(right)
        case .multiply: (result, overflows) = left.multipliedReportingOverflow(by: right)
        case .divide:
            guard right != 0 else { throw divisionByZero(operation, .int(left), .int(right), at: range) }
            (result, overflows) = left.dividedReportingOverflow(by: right)
        default:
            guard right != 0 else { throw divisionByZero(operation, .int(left), .int(right), at: range) }
            // The remainder of the least integer by -1 counts as overflow, like its quotient. The reference
            // implementations do the same.
            (result, overflows) = left.remainderReportingOverflow(dividingBy: right)
        }
        guard !overflows else { throw overflow(operation, .int(left), .int(right), "int", at: range) }
        return result
    }

    static func uint(
        _ operation: BinaryOperator, _ left: UInt64, _ right: UInt64, at range: SourceRange
    ) throws(EvaluationError) -> UInt64 {
        let (result, overflows): (UInt64, Bool)
        switch operation {
        case .add: (result, overflows) = left.addingReportingOverflow(right)
        case .subtract: (result, overflows) = left.subtractingReportingOverflow(right)
        case .multiply: (result, overflows) = left.multipliedReportingOverflow(by: right)
        default:
            guard right != 0 else { throw divisionByZero(operation, .uint(left), .uint(right), at: range) }
            (result, overflows) = (operation == .divide ? left / right : left % right, false)
        }
        guard !overflows else { throw overflow(operation, .uint(left), .uint(right), "uint", at: range) }
        return result
    }

    /// Applies an operation of IEEE 754. There is no remainder.
    static func double(_ operation: BinaryOperator, _ left: Double, _ right: Double) -> Double {
        switch operation {
        case .add: left + right
        case .subtract: left - right
        case .multiply: left * right
        default: left / right
        }
    }

    /// Negates an `int` or `double`.
    static func negate(_ value: Value, at range: SourceRange) throws(EvaluationError) -> Value {
        switch value {
        case .int(let int): return .int(try negate(int, at: range))
        case .double(let double): return .double(-double)
        default:
            throw EvaluationError(
                code: .noSuchOverload, message: "'-' does not take \(value.typeName)", range: range)
        }
    }

    static func negate(_ int: Int64, at range: SourceRange) throws(EvaluationError) -> Int64 {
        let (result, overflows) = (0 as Int64).subtractingReportingOverflow(int)
        guard !overflows else {
            throw EvaluationError(code: .overflow, message: "-(\(int)) is out of range for int", range: range)
        }
        return result
    }

    /// Concatenates two strings within the limit for sizes.
    static func concatenate(
        _ left: String, _ right: String, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> String {
        try frame.create(octets: left.utf8.count + right.utf8.count, at: range)
        return left + right
    }

    private static func sum(
        _ left: Value, _ right: Value, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.string(let left), .string(let right)):
            return .string(try concatenate(left, right, at: range, &frame))
        case (.bytes(let left), .bytes(let right)):
            try frame.create(octets: left.count + right.count, at: range)
            return .bytes(left + right)
        case (.list(let left), .list(let right)):
            try frame.create(elements: left.count + right.count, at: range)
            return .list(left + right)
        case (.timestamp(let timestamp), .duration(let duration)), (.duration(let duration), .timestamp(let timestamp)):
            let sum = timestamp.totalNanoseconds + duration.totalNanoseconds
            guard let result = Timestamp(totalNanoseconds: sum) else {
                throw overflow(.add, left, right, "timestamp", at: range)
            }
            return .timestamp(result)
        case (.duration(let leftSpan), .duration(let rightSpan)):
            guard let result = TimeSpan(totalNanoseconds: leftSpan.totalNanoseconds + rightSpan.totalNanoseconds) else {
                throw overflow(.add, left, right, "duration", at: range)
            }
            return .duration(result)
        default: throw noOverload(.add, left, right, at: range)
        }
    }

    private static func difference(
        _ left: Value, _ right: Value, at range: SourceRange
    ) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.timestamp(let leftTime), .timestamp(let rightTime)):
            let difference = leftTime.totalNanoseconds - rightTime.totalNanoseconds
            guard difference.magnitude <= largestDifference.magnitude, let span = TimeSpan(totalNanoseconds: difference)
            else { throw overflow(.subtract, left, right, "the difference of timestamps", at: range) }
            return .duration(span)
        case (.timestamp(let timestamp), .duration(let duration)):
            let difference = timestamp.totalNanoseconds - duration.totalNanoseconds
            guard let result = Timestamp(totalNanoseconds: difference) else {
                throw overflow(.subtract, left, right, "timestamp", at: range)
            }
            return .timestamp(result)
        case (.duration(let leftSpan), .duration(let rightSpan)):
            guard let result = TimeSpan(totalNanoseconds: leftSpan.totalNanoseconds - rightSpan.totalNanoseconds) else {
                throw overflow(.subtract, left, right, "duration", at: range)
            }
            return .duration(result)
        default: throw noOverload(.subtract, left, right, at: range)
        }
    }

    private static func overflow(
        _ operation: BinaryOperator, _ left: Value, _ right: Value, _ type: String, at range: SourceRange
    ) -> EvaluationError {
        EvaluationError(
            code: .overflow, message: "\(left) \(operation.symbol) \(right) is out of range for \(type)", range: range)
    }

    private static func divisionByZero(
        _ operation: BinaryOperator, _ left: Value, _ right: Value, at range: SourceRange
    ) -> EvaluationError {
        EvaluationError(
            code: .divisionByZero, message: "\(left) \(operation.symbol) \(right): division by zero", range: range)
    }

    private static func noOverload(
        _ operation: BinaryOperator, _ left: Value, _ right: Value, at range: SourceRange
    ) -> EvaluationError {
        EvaluationError(
            code: .noSuchOverload,
            message: "'\(operation.symbol)' does not take \(left.typeName) and \(right.typeName)", range: range)
    }
}
