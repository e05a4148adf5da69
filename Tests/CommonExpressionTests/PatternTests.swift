import CommonExpression
import Testing

@Suite("Patterns")
struct PatternTests {
    @Test(arguments: [
        ("'cows'.matches('')", "true"), ("''.matches('a|b')", "false"), ("'abcd'.matches('bc')", "true"),
        ("'mañana'.matches('^a?ma.ana$')", "true"), ("matches('uplink7', '[0-9]$')", "true"),
        ("state.name.matches('^up(link|stream)$')", "true"), ("state.name.matches('^' + state.name + '$')", "true"),
        ("'a\\u0000b'.matches('a.b')", "true"), ("['a1', 'b'].filter(x, x.matches('\\\\d'))", #"["a1"]"#),
        ("'AbC'.matches('(?i)abc')", "true"), ("'x'.matches(b'x' == b'x' ? 'x' : 'y')", "true"),
    ])
    func `a pattern matches a part of a text`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("'a'.matches(state.name + '(')", "invalidArgument"), ("'a'.matches(dyn(1))", "noSuchOverload"),
        ("dyn(1).matches('a')", "noSuchOverload"),
        (#"'a'.matches(state.name + '((\\pL{100}){100}){100}')"#, "invalidArgument"),
    ])
    func `an invalid pattern is an error`(source: String, error: String) throws {
        #expect(try Fixture.failure(source).hasPrefix(error))
    }

    @Test(arguments: [#"'a'.matches('((\\pL{100}){100}){100}')"#, #"'a'.matches('(?=a)')"#, #"'a'.matches('a\\1')"#])
    func `an invalid literal pattern is found before evaluation`(source: String) {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("invalidLiteral") == true)
    }

    @Test func `a text that makes other engines backtrack costs only its length`() throws {
        let text = String(repeating: "a", count: 100_000)
        let values = Fixture.values(anything: .string(text))
        let program = try Fixture.program("anything.matches('(a|aa)+$') && !anything.matches('(a*)*b')")
        #expect(try program.evaluateBool(values))
    }

    @Test func `the cost of large patterns on long texts is bounded`() throws {
        let values = Fixture.values(anything: .string(String(repeating: "é", count: 400_000)))
        let program = try Fixture.program(#"anything.matches('[a-z]{900}x') || anything.matches('[a-z]{900}y')"#)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate(values) }
        #expect(error.code == .costExceeded)
        let dynamic = try Fixture.program("event.tags.map(t, [1, 2, 3, 4, 5, 6, 7, 8].map(i, string(i).matches(t)))")
        #expect(throws: Never.self) { try dynamic.evaluate(Fixture.values()) }
    }

    @Test func `an expression has a bounded number of patterns`() throws {
        let source = Array(repeating: "'a'.matches('b')", count: 70).joined(separator: " || ")
        #expect(Fixture.problems(source).contains { $0.hasPrefix("tooComplex") })
        let constants = Array(repeating: "state.name.matches('upl' + 'ink')", count: 70).joined(separator: " && ")
        #expect(try Fixture.value(constants) == "true")
    }
}
