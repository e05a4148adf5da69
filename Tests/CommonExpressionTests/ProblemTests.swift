import CommonExpression
import Testing

/// The parts of a problem, for callers that compose their own messages.
@Suite struct `A problem` {
    private static func first(_ source: String, isTemplate: Bool = false) throws -> Problem {
        let problems = #expect(throws: Problems.self) {
            if isTemplate {
                _ = try Template(parsing: source).checked(in: Fixture.environment)
            } else {
                _ = try Expression(parsing: source).checked(in: Fixture.environment)
            }
        }
        return try #require(problems?.problems.first)
    }

    @Test(arguments: [
        ("count = 1", "'=' is not part of the language", "equality is written '=='"),
        ("coutn", "unknown variable 'coutn'", "did you mean 'count'?"),
        ("count + 1.5", "'+' does not take int and double", "convert it with double(count)"),
        ("count == \"a\"", "'==' does not take int and string", nil),
        ("1 +", "expected a value, but the expression ends here", nil),
    ])
    func `has its advice apart from the statement`(source: String, statement: String, advice: String?) throws {
        let problem = try Self.first(source)
        #expect(problem.statement == statement)
        #expect(problem.advice == advice)
        #expect(problem.message == statement + (advice.map { "; \($0)" } ?? ""))
    }

    @Test(arguments: [
        ("'a", false, Problem.Detail.unclosed(by: "'")), ("\"\"\"a", false, .unclosed(by: "\"\"\"")),
        ("a ${count", true, .unclosed(by: "}")), ("(count", false, .endsEarly(expected: "')'")),
        ("count ==", false, .endsEarly(expected: "a value")), ("count count", false, nil), ("other", false, nil),
    ])
    func `says what the source lacks at its end`(source: String, isTemplate: Bool, detail: Problem.Detail?) throws {
        #expect(try Self.first(source, isTemplate: isTemplate).detail == detail)
    }
}
