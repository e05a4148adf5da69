/// Evaluates to a value of any type.
typealias ValueCode = @Sendable (inout Frame) throws(EvaluationError) -> Value
/// Evaluates to a `bool`.
typealias BoolCode = @Sendable (inout Frame) throws(EvaluationError) -> Bool
/// Evaluates to an `int`.
typealias IntCode = @Sendable (inout Frame) throws(EvaluationError) -> Int64
/// Evaluates to a `uint`.
typealias UIntCode = @Sendable (inout Frame) throws(EvaluationError) -> UInt64
/// Evaluates to a `double`.
typealias DoubleCode = @Sendable (inout Frame) throws(EvaluationError) -> Double
/// Evaluates to a `string`.
typealias StringCode = @Sendable (inout Frame) throws(EvaluationError) -> String
/// Applies an operator to the value of its left operand.
typealias Step = @Sendable (Value, inout Frame) throws(EvaluationError) -> Value

/// The compiled form of a node: a closure over the closures of its operands. If the checker knows a scalar type, the
/// closure returns the scalar itself, so that no value is wrapped only for the next operator to unwrap it.
enum Code: Sendable {
    case constant(Value)
    case value(ValueCode)
    case bool(BoolCode)
    case int(IntCode)
    case uint(UIntCode)
    case double(DoubleCode)
    case string(StringCode)
    /// A long chain of operators along the left operand, evaluated by a loop.
    case chain(base: ValueCode, steps: [Step])
}

extension Code {
    /// The code as a closure that returns any value.
    var valueCode: ValueCode {
        switch self {
        case .constant(let value): { _ throws(EvaluationError) in value }
        case .value(let code): code
        case .bool(let code): { frame throws(EvaluationError) in .bool(try code(&frame)) }
        case .int(let code): { frame throws(EvaluationError) in .int(try code(&frame)) }
        case .uint(let code): { frame throws(EvaluationError) in .uint(try code(&frame)) }
        case .double(let code): { frame throws(EvaluationError) in .double(try code(&frame)) }
        case .string(let code): { frame throws(EvaluationError) in .string(try code(&frame)) }
        case .chain(let base, let steps):
            { frame throws(EvaluationError) in
                var value = try base(&frame)
                for step in steps { value = try step(value, &frame) }
                return value
            }
        }
    }

    /// Returns the code as a closure that returns a `bool`. Other values are an error at the range.
    func boolCode(at range: SourceRange) -> BoolCode {
        switch self {
        case .constant(.bool(let bool)): return { _ throws(EvaluationError) in bool }
        case .bool(let code): return code
        default:
            let code = valueCode
            return { frame throws(EvaluationError) in
                let value = try code(&frame)
                guard case .bool(let bool) = value else { throw Self.mismatch(value, "bool", range) }
                return bool
            }
        }
    }

    /// Returns the code as a closure that returns an `int`. Other values are an error at the range.
    func intCode(at range: SourceRange) -> IntCode {
        switch self {
        case .constant(.int(let int)): return { _ throws(EvaluationError) in int }
        case .int(let code): return code
        default:
            let code = valueCode
            return { frame throws(EvaluationError) in
                let value = try code(&frame)
                guard case .int(let int) = value else { throw Self.mismatch(value, "int", range) }
                return int
            }
        }
    }

    /// Returns the code as a closure that returns a `uint`. Other values are an error at the range.
    func uintCode(at range: SourceRange) -> UIntCode {
        switch self {
        case .constant(.uint(let uint)): return { _ throws(EvaluationError) in uint }
        case .uint(let code): return code
        default:
            let code = valueCode
            return { frame throws(EvaluationError) in
                let value = try code(&frame)
                guard case .uint(let uint) = value else { throw Self.mismatch(value, "uint", range) }
                return uint
            }
        }
    }

    /// Returns the code as a closure that returns a `double`. Other values are an error at the range.
    func doubleCode(at range: SourceRange) -> DoubleCode {
        switch self {
        case .constant(.double(let double)): return { _ throws(EvaluationError) in double }
        case .double(let code): return code
        default:
            let code = valueCode
            return { frame throws(EvaluationError) in
                let value = try code(&frame)
                guard case .double(let double) = value else { throw Self.mismatch(value, "double", range) }
                return double
            }
        }
    }

    /// Returns the code as a closure that returns a `string`. Other values are an error at the range.
    func stringCode(at range: SourceRange) -> StringCode {
        switch self {
        case .constant(.string(let string)): return { _ throws(EvaluationError) in string }
        case .string(let code): return code
        default:
            let code = valueCode
            return { frame throws(EvaluationError) in
                let value = try code(&frame)
                guard case .string(let string) = value else { throw Self.mismatch(value, "string", range) }
                return string
            }
        }
    }

    /// Returns the error for a value whose type is not the declared or needed one.
    static func mismatch(_ value: Value, _ needed: String, _ range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .noSuchOverload, message: "\(needed) is needed here, but the value is \(value.typeName)",
            range: range)
    }
}
