#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The functions of the math extension, and `pow`.
enum MathExtension {
    /// All functions of the extension, and `pow`.
    static let all: [Function] = [
        Function(
            "math.greatest", [extremum],
            general: { values, range, frame throws(EvaluationError) in
                try select(values, "math.greatest", .greater, range, &frame)
            }),
        Function(
            "math.least", [extremum],
            general: { values, range, frame throws(EvaluationError) in
                try select(values, "math.least", .less, range, &frame)
            }),
        rounding("math.ceil") { $0.rounded(.up) },
        rounding("math.floor") { $0.rounded(.down) },
        rounding("math.round") { $0.rounded(.toNearestOrAwayFromZero) },
        rounding("math.trunc") { $0.rounded(.towardZero) },
        test("math.isNaN") { $0.isNaN },
        test("math.isInf") { $0.isInfinite },
        test("math.isFinite") { $0.isFinite },
        Function("math.abs", sameType, unary: abs),
        Function("math.sign", sameType, unary: sign),
        Function(
            "math.sqrt",
            [.function(.int, result: .double), .function(.uint, result: .double), .function(.double, result: .double)],
            unary: squareRoot),
        bitwise("math.bitAnd") { $0 & $1 },
        bitwise("math.bitOr") { $0 | $1 },
        bitwise("math.bitXor") { $0 ^ $1 },
        Function("math.bitNot", [.function(.int, result: .int), .function(.uint, result: .uint)], unary: bitNot),
        shift("math.bitShiftLeft") { $0 << $1 },
        shift("math.bitShiftRight") { $0 >> $1 },
        Function(
            "pow",
            [
                .function(.int, .int, result: .int), .function(.uint, .uint, result: .uint),
                .function(.double, .double, result: .double),
            ], binary: power),
    ]

    private static let sameType: [Function.Overload] = [
        .function(.int, result: .int), .function(.uint, result: .uint), .function(.double, result: .double),
    ]

    private static func noOverload(_ name: String, _ values: [Value], _ range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .noSuchOverload, message: "\(name)() does not take \(NameList.text(values.map(\.typeName)))",
            range: range)
    }

    // MARK: The greatest and the least

    /// Computes the extremum of one or more numbers, or of a list of numbers.
    private static let extremum = Function.Overload(isMember: false, form: "(number, …) or (list)") { operands in
        var types = operands
        if operands.count == 1, case .list(let element) = operands[0] { types = [element] }
        guard let first = types.first, types.allSatisfy({ $0.isNumeric || $0.isUnknown }) else { return nil }
        return types.allSatisfy { $0 == first } && first.isNumeric ? first : .dyn
    }

    private static func select(
        _ values: [Value], _ name: String, _ wanted: Comparison, _ range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        var numbers = values
        if values.count == 1, case .list(let elements) = values[0] { numbers = elements }
        guard var best = numbers.first else {
            throw EvaluationError(code: .invalidArgument, message: "\(name)() of an empty list", range: range)
        }
        for number in numbers {
            try frame.charge(1, at: range)
            guard let order = Comparisons.numbers(number, best) else { throw noOverload(name, [number], range) }
            if order == wanted { best = number }
        }
        return best
    }

    // MARK: Floating point

    private static func rounding(_ name: String, _ round: @escaping @Sendable (Double) -> Double) -> Function {
        Function(
            name, [.function(.double, result: .double)],
            unary: { value, range, _ throws(EvaluationError) in
                guard case .double(let double) = value else { throw noOverload(name, [value], range) }
                return .double(round(double))
            })
    }

    private static func test(_ name: String, _ holds: @escaping @Sendable (Double) -> Bool) -> Function {
        Function(
            name, [.function(.double, result: .bool)],
            unary: { value, range, _ throws(EvaluationError) in
                guard case .double(let double) = value else { throw noOverload(name, [value], range) }
                return .bool(holds(double))
            })
    }

    private static let abs: Function.Unary = { value, range, _ throws(EvaluationError) in
        switch value {
        case .int(let int):
            guard let result = Int64(exactly: int.magnitude) else {
                throw EvaluationError(
                    code: .overflow, message: "math.abs(\(int)) is out of range for int", range: range)
            }
            return .int(result)
        case .uint: return value
        case .double(let double): return .double(double.magnitude)
        default: throw noOverload("math.abs", [value], range)
        }
    }

    private static let sign: Function.Unary = { value, range, _ throws(EvaluationError) in
        switch value {
        case .int(let int): .int(int.signum())
        case .uint(let uint): .uint(uint == 0 ? 0 : 1)
        case .double(let double): .double(double > 0 ? 1 : double < 0 ? -1 : double)
        default: throw noOverload("math.sign", [value], range)
        }
    }

    private static let squareRoot: Function.Unary = { value, range, _ throws(EvaluationError) in
        switch value {
        case .int(let int): .double(Double(int).squareRoot())
        case .uint(let uint): .double(Double(uint).squareRoot())
        case .double(let double): .double(double.squareRoot())
        default: throw noOverload("math.sqrt", [value], range)
        }
    }

    // MARK: Powers

    /// Raises a number to a power of the same type. `pow` of two `double` values is that of C, so it gives infinity
    /// rather than an error for a result out of range.
    private static let power: Function.Binary = { base, exponent, range, _ throws(EvaluationError) in
        switch (base, exponent) {
        case (.int(let number), .int(let times)):
            guard let times = UInt64(exactly: times) else {
                throw EvaluationError(
                    code: .invalidArgument,
                    message: "pow(\(number), \(times)): the exponent of an int must not be negative; use double values",
                    range: range)
            }
            guard let result = power(number, times) else { break }
            return .int(result)
        case (.uint(let number), .uint(let times)):
            guard let result = power(number, times) else { break }
            return .uint(result)
        case (.double(let number), .double(let exponent)): return .double(pow(number, exponent))
        default: throw noOverload("pow", [base, exponent], range)
        }
        throw EvaluationError(
            code: .overflow, message: "pow(\(base), \(exponent)) is out of range for \(base.typeName)", range: range)
    }

    /// Returns the power by repeated squaring, in at most 64 rounds, or nil if it is out of range.
    private static func power<Number: FixedWidthInteger>(_ base: Number, _ exponent: UInt64) -> Number? {
        var (result, square, rest): (Number, Number, UInt64) = (1, base, exponent)
        while rest > 0 {
            if rest & 1 == 1 {
                let (product, overflows) = result.multipliedReportingOverflow(by: square)
                guard !overflows else { return nil }
                result = product
            }
            rest >>= 1
            guard rest > 0 else { break }
            // A later round multiplies by this square, so the power is out of range if the square is.
            let (next, overflows) = square.multipliedReportingOverflow(by: square)
            guard !overflows else { return nil }
            square = next
        }
        return result
    }

    // MARK: Bits

    private static func bitwise(
        _ name: String, _ combine: @escaping @Sendable (UInt64, UInt64) -> UInt64
    ) -> Function {
        Function(
            name, [.function(.int, .int, result: .int), .function(.uint, .uint, result: .uint)],
            binary: { left, right, range, _ throws(EvaluationError) in
                switch (left, right) {
                case (.int(let left), .int(let right)):
                    return .int(Int64(bitPattern: combine(UInt64(bitPattern: left), UInt64(bitPattern: right))))
                case (.uint(let left), .uint(let right)): return .uint(combine(left, right))
                default: throw noOverload(name, [left, right], range)
                }
            })
    }

    private static let bitNot: Function.Unary = { value, range, _ throws(EvaluationError) in
        switch value {
        case .int(let int): .int(~int)
        case .uint(let uint): .uint(~uint)
        default: throw noOverload("math.bitNot", [value], range)
        }
    }

    /// Shifts and fills with zeros, also to the right of a negative number. A shift by 64 or more gives 0.
    private static func shift(
        _ name: String, _ shift: @escaping @Sendable (UInt64, UInt64) -> UInt64
    ) -> Function {
        Function(
            name, [.function(.int, .int, result: .int), .function(.uint, .int, result: .uint)],
            binary: { value, distance, range, _ throws(EvaluationError) in
                guard case .int(let distance) = distance else { throw noOverload(name, [value, distance], range) }
                guard let distance = UInt64(exactly: distance) else {
                    throw EvaluationError(
                        code: .invalidArgument, message: "\(name)() by \(distance): a shift must not be negative",
                        range: range)
                }
                switch value {
                case .int(let int): return .int(Int64(bitPattern: shift(UInt64(bitPattern: int), distance)))
                case .uint(let uint): return .uint(shift(uint, distance))
                default: throw noOverload(name, [value, .int(0)], range)
                }
            })
    }
}
