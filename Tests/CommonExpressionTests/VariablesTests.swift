import CommonExpression
import Testing

/// Variables that several programs use in turn.
@Suite struct VariablesTests {
    private static func program(_ text: String) throws -> Program {
        try Expression(parsing: text).checked(in: Fixture.environment)
    }

    @Test func `give the same results as arrays, for programs with macros, without, and that fail`() throws {
        let programs = try [
            "state.failures + count", "[1, 2].map(x, [x, state.failures].map(y, y + x))", "event.reason + state.name",
            "count / (count - count)", "[1, 2, 3].exists(x, x > state.failures)", "event.state.failures", "anything",
            "[4].map(x, x / (count - count))", "now > state.since && ready",
        ].map(Self.program)
        let values = Fixture.values()
        var variables = Variables(values)
        for _ in 0..<3 {
            for program in programs {
                let alone = Result { () throws(EvaluationError) in try program.evaluate(values) }
                let served: Result<Value, EvaluationError>
                do throws(EvaluationError) {
                    served = .success(try program.evaluate(&variables))
                } catch {
                    served = .failure(error)
                }
                switch (served, alone) {
                case (.success(let served), .success(let alone)): #expect(served == alone, "\(program.source)")
                case (.failure(let served), .failure(let alone)):
                    #expect(served.code == alone.code, "\(program.source)")
                default: Issue.record("\(program.source): \(served) instead of \(alone)")
                }
            }
        }
    }

    @Test func `must be as many as the environment has, wherever structures are among them`() throws {
        let all = (0..<6).map { Environment.Variable(name: "v\($0)", type: .structure(Fixture.degraded)) }
        for count in 0...6 {
            let environment = Environment(variables: Array(all.prefix(count)))
            let values = (0..<count).map { Fixture.state(failures: Int64($0)) }
            for index in 0..<count {
                let program = try Expression(parsing: "v\(index).failures").checked(in: environment)
                #expect(try program.evaluate(values) == .int(Int64(index)))
                let whole = try Expression(parsing: "v\(index)").checked(in: environment)
                #expect(try whole.evaluate(values) == values[index])
                #expect(throws: EvaluationError.self) { try program.evaluate(Array(values.dropLast())) }
                #expect(throws: EvaluationError.self) { try program.evaluate(values + [.null]) }
            }
            let variables = Variables(values)
            for index in 0..<count { #expect(variables[index] == values[index]) }
        }
    }

    @Test func `of two and of three equal those of an array`() throws {
        let two = Environment(variables: Array(Fixture.environment.variables.prefix(2)))
        let program = try Expression(parsing: "event.reason + state.name").checked(in: two)
        let values = Fixture.values()
        var variables = Variables(values[0], values[1])
        #expect(try program.evaluate(&variables) == .string("timeoutuplink"))
        var three = Variables(values[0], values[1], values[2])
        #expect(throws: EvaluationError.self) { try program.evaluate(&three) }
    }
}
