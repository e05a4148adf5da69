import CommonExpression

/// Reads, checks, explains and evaluates an input as an expression and as a template.
///
/// The fuzzer calls it with new inputs, and `StoredInputTests` with the stored ones.
enum ExpressionSubject {
    static let event = StructureType(
        name: "Event",
        fields: [
            StructureType.Field(name: "reason", type: .string), StructureType.Field(name: "size", type: .uint),
            StructureType.Field(name: "tags", type: .list(.string)),
            StructureType.Field(name: "labels", type: .map(key: .string, value: .int)),
        ])

    /// Small limits, so that no input takes long.
    static let environment = Environment(
        variables: [
            Environment.Variable(name: "event", type: .structure(event)),
            Environment.Variable(name: "now", type: .timestamp),
            Environment.Variable(name: "any", type: .dyn),
            Environment.Variable(name: "count", type: .int),
        ],
        limits: Limits(sourceLength: 4_096, cost: 20_000, valueSize: 65_536),
        functions: [Environment.Function("twice", isMember: true) { (number: Int64) in number &* 2 }])

    static let values: [Value] = [
        .structure(
            Structure(
                type: event,
                fields: [.string("é"), .uint(7), .list([.string("a")]), .map([.string("k"): .int(1)])])),
        Timestamp(seconds: 1_234_567_890, nanoseconds: 5).map { .timestamp($0) } ?? .null,
        .map([.string("a"): .list([.double(1.5), .bytes([255]), .null])]), .int(2),
    ]

    static func exercise(_ source: String) {
        if let expression = try? Expression(parsing: source, limits: environment.limits) {
            var unchecked: Result<Value, EvaluationError>?
            if let program = try? expression.unchecked(in: environment) { unchecked = evaluate(program) }
            do throws(Problems) {
                let program = try expression.checked(in: environment)
                let result = evaluate(program)
                compare(result, unchecked)
                _ = program.explain(values).description
            } catch {
                for problem in error.problems {
                    precondition(problem.range.start <= problem.range.end && problem.range.end <= source.utf8.count)
                }
            }
        }
        if let template = try? Template(parsing: source, limits: environment.limits),
            let program = try? template.checked(in: environment)
        {
            _ = try? program.evaluate(values)
        }
    }

    private static func evaluate(_ program: Program) -> Result<Value, EvaluationError> {
        do throws(EvaluationError) {
            let value = try program.evaluate(values)
            precondition(program.type.accepts(value) || program.type == .dyn, "\(value) is no \(program.type)")
            _ = value.description
            return .success(value)
        } catch {
            return .failure(error)
        }
    }

    /// A checked expression gives the same value as an unchecked one, unless a limit or NaN takes part.
    private static func compare(_ checked: Result<Value, EvaluationError>, _ other: Result<Value, EvaluationError>?) {
        guard case .success(let value) = checked, case .success(let unchecked)? = other else { return }
        precondition(value.description == unchecked.description, "\(value) when checked, else \(unchecked)")
    }
}
