extension Environment {
    /// A function that the host adds to the language.
    ///
    /// Its types are checked like those of the standard functions. Evaluation calls the function each time it reaches
    /// the call. Compiling never calls it, so the result may depend on more than the arguments. The function must
    /// return soon, because the limit for cost does not apply inside it.
    public struct Function: Sendable {
        /// The implementation for operands of certain types.
        public struct Overload: Sendable {
            /// Computes the result from the operands, with the receiver first. An error that it throws becomes an
            /// evaluation error with the code `hostFailure`.
            public typealias Body = @Sendable (_ operands: [Value]) throws -> Value

            /// The types of the operands, with the receiver first.
            public let parameters: [ValueType]
            /// The type of the result. A result of another type is an evaluation error.
            public let result: ValueType
            /// A Boolean value that indicates whether it is called as `receiver.name(…)`.
            public let isMember: Bool
            let body: Body

            /// Declares an overload.
            /// - Parameters:
            ///   - parameters: The types of the operands, with the receiver first.
            ///   - result: The type of the result.
            ///   - isMember: Whether it is called as `receiver.name(…)`, which needs at least one parameter.
            ///   - body: Computes the result. The operands fit the parameters.
            public init(
                _ parameters: [ValueType], result: ValueType, isMember: Bool = false, body: @escaping Body
            ) {
                self.parameters = parameters
                self.result = result
                self.isMember = isMember
                self.body = body
            }
        }

        /// The default cost of a call, in steps.
        public static let usualCost = 10

        /// The name. Points in it separate the namespace, as in `net.lookup`. It hides a standard function of the same
        /// name, but not a macro.
        public let name: String
        /// The overloads. If several take the operands, the first counts.
        public let overloads: [Overload]
        /// The steps that a call costs, in addition to those for its operands.
        public let cost: Int

        /// Declares a function.
        /// - Parameters:
        ///   - name: The name.
        ///   - overloads: The overloads, by the types of the operands.
        ///   - cost: The steps that a call costs; negative ones count as none.
        public init(_ name: String, overloads: [Overload], cost: Int = usualCost) {
            self.name = name
            self.overloads = overloads
            self.cost = max(0, cost)
        }

        /// Declares a function by a closure, whose types become those of the function.
        /// - Parameters:
        ///   - name: The name.
        ///   - isMember: Whether it is called as `receiver.name(…)`, with the first argument as the receiver.
        ///   - cost: The steps that a call costs.
        ///   - body: Computes the result.
        public init<each Argument: ValueConvertible, Result: ValueConvertible>(
            _ name: String, isMember: Bool = false, cost: Int = usualCost,
            body: @escaping @Sendable (repeat each Argument) throws -> Result
        ) {
            var parameters: [ValueType] = []
            for type in repeat (each Argument).self { parameters.append(type.valueType) }
            let overload = Overload(parameters, result: Result.valueType, isMember: isMember) { operands in
                var reader = OperandReader(operands: operands)
                return try body(repeat reader.next((each Argument).self)).value
            }
            self.init(name, overloads: [overload], cost: cost)
        }
    }
}

/// Converts one operand after the other to a Swift type.
private struct OperandReader {
    let operands: [Value]
    private var position = 0

    init(operands: [Value]) {
        self.operands = operands
    }

    mutating func next<Argument: ValueConvertible>(_ type: Argument.Type) throws -> Argument {
        defer { position += 1 }
        guard position < operands.count, let argument = Argument(operands[position]) else {
            throw ConversionFailure(position: position + 1, type: Argument.valueType)
        }
        return argument
    }
}

/// An operand whose value is out of the range of the Swift type.
private struct ConversionFailure: Error, CustomStringConvertible {
    let position: Int
    let type: ValueType

    var description: String { "operand \(position) is out of range for what the function takes as \(type)" }
}

extension Function {
    /// Returns a function of the host in one of its two styles. The other style serves messages only.
    static func host(_ declaration: Environment.Function, isMember: Bool) -> Function {
        let overloads = declaration.overloads.map { overload in
            Overload(
                isMember: overload.isMember, parameters: overload.parameters.map { .type(StaticType($0)) },
                result: StaticType(overload.result))
        }
        let candidates = declaration.overloads.filter { $0.isMember == isMember }
        return Function(
            declaration.name, overloads,
            general: { values, range, frame throws(EvaluationError) in
                try frame.charge(declaration.cost, at: range)
                for value in values { try frame.charge(reading: value, at: range) }
                for candidate in candidates where candidate.parameters.count == values.count {
                    guard zip(candidate.parameters, values).allSatisfy({ $0.accepts($1) }) else { continue }
                    return try call(candidate, declaration.name, values, range, &frame)
                }
                throw EvaluationError(
                    code: .noSuchOverload,
                    message: "\(declaration.name)() does not take \(NameList.text(values.map(\.typeName)))",
                    range: range)
            },
            nesting: .operands, isImpure: true)
    }

    private static func call(
        _ overload: Environment.Function.Overload, _ name: String, _ values: [Value], _ range: SourceRange,
        _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let result: Value
        do {
            result = try overload.body(values)
        } catch {
            throw EvaluationError(
                code: .hostFailure, message: "\(name)() failed: \(Excerpt.of("\(error)"))", range: range)
        }
        try frame.create(asLargeAs: result, at: range)
        guard overload.result.accepts(result) else {
            throw EvaluationError(
                code: .hostFailure,
                message: "\(name)() gave \(result.typeName), but is declared to give \(overload.result)", range: range)
        }
        return result
    }
}

extension Frame {
    /// Charges the steps for reading a value and its contents once.
    mutating func charge(reading value: Value, at range: SourceRange) throws(EvaluationError) {
        try charge(reading: value, level: 0, at: range)
    }

    private mutating func charge(reading value: Value, level: Int, at range: SourceRange) throws(EvaluationError) {
        try charge(1, at: range)
        guard level < Value.deepestLevel else { return }
        switch value {
        case .list(let elements):
            for element in elements { try charge(reading: element, level: level + 1, at: range) }
        case .map(let entries):
            for (key, value) in entries {
                try charge(key: key, at: range)
                try charge(reading: value, level: level + 1, at: range)
            }
        case .structure(let structure):
            for field in structure.fields { try charge(reading: field, level: level + 1, at: range) }
        case .optional(let wrapped?): try charge(reading: wrapped, level: level + 1, at: range)
        case .string(let text): try charge(octets: text.utf8.count, at: range)
        case .bytes(let bytes): try charge(octets: bytes.count, at: range)
        default: break
        }
    }

    /// Charges the steps for a value that was created elsewhere. Throws if it exceeds the largest size.
    mutating func create(asLargeAs value: Value, at range: SourceRange) throws(EvaluationError) {
        switch value {
        case .list(let elements): try create(elements: elements.count, at: range)
        case .map(let entries): try create(elements: entries.count, at: range)
        case .string(let text): try create(octets: text.utf8.count, at: range)
        case .bytes(let bytes): try create(octets: bytes.count, at: range)
        default: break
        }
    }
}
