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
        case .multiply, .divide: return try scale(operation, left, right, at: range)
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

    /// Multiplies a duration by a number, or divides it by an integer. An integer division drops parts of a nanosecond,
    /// and a product with a `double` is rounded to the nearest nanosecond.
    private static func scale(
        _ operation: BinaryOperator, _ left: Value, _ right: Value, at range: SourceRange
    ) throws(EvaluationError) -> Value {
        let nanoseconds: Int128?
        switch (operation, left, right) {
        case (.multiply, .duration(let span), .int(let factor)), (.multiply, .int(let factor), .duration(let span)):
            let (product, overflows) = span.totalNanoseconds.multipliedReportingOverflow(by: Int128(factor))
            nanoseconds = overflows ? nil : product
        case (.multiply, .duration(let span), .double(let factor)),
            (.multiply, .double(let factor), .duration(let span)):
            nanoseconds = product(span.totalNanoseconds, factor)
        case (.divide, .duration(let span), .int(let divisor)):
            guard divisor != 0 else { throw divisionByZero(operation, left, right, at: range) }
            nanoseconds = span.totalNanoseconds / Int128(divisor)
        default: throw noOverload(operation, left, right, at: range)
        }
        guard let span = nanoseconds.flatMap({ TimeSpan(totalNanoseconds: $0) }) else {
            throw overflow(operation, left, right, "duration", at: range)
        }
        return .duration(span)
    }

    /// Returns the product of the nanoseconds of a duration and a factor, rounded to the nearest integer, or nil if it
    /// is out of range for any duration.
    ///
    /// The product of both significands is exact: the nanoseconds take at most 69 bits, and those of the factor 53.
    private static func product(_ nanoseconds: Int128, _ factor: Double) -> Int128? {
        guard factor.isFinite else { return nil }
        let isSubnormal = factor.exponentBitPattern == 0
        let significand = Int128(factor.significandBitPattern) + (isSubnormal ? 0 : 1 << 52)
        let product = nanoseconds * (factor.sign == .minus ? -significand : significand)
        let exponent = Int(isSubnormal ? 1 : factor.exponentBitPattern) - 1_075
        guard product != 0, exponent > -124 else { return 0 }
        if exponent >= 0 {
            // Any product with a larger exponent exceeds 2¹¹⁵.
            guard exponent < 64 else { return nil }
            let (result, overflows) = product.multipliedReportingOverflow(by: 1 << exponent)
            return overflows ? nil : result
        }
        let (quotient, remainder) = product.quotientAndRemainder(dividingBy: 1 << -exponent)
        let isHalfOrMore = remainder.magnitude >= 1 << (-exponent - 1)
        return isHalfOrMore ? quotient + Int128(product.signum()) : quotient
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
