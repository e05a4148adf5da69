import CommonExpression
import Testing

@Suite("Explanations")
struct ExplanationTests {
    private func explain(_ source: String, failures: Int64 = 5) throws -> Explanation {
        try Fixture.program(source).explain(Fixture.values(failures: failures))
    }

    @Test(arguments: [
        ("state.failures < 3", "state.failures < 3 — false, state.failures is 5"),
        (
            "state.failures < 3 && event.reason != 'maintenance'",
            "state.failures < 3 — false, state.failures is 5"
        ),
        ("ready && state.failures < count", "state.failures < count — false, state.failures is 5, count is 2"),
        (
            "state.failures < 3 || count > 7",
            "state.failures < 3 — false, state.failures is 5; count > 7 — false, count is 2"
        ),
        ("ready && !ready", "!ready — false, ready is true"), ("(count > 7)", "(count > 7) — false, count is 2"),
        ("state.failures > 3", "state.failures > 3 — true, state.failures is 5"),
        ("count * 2", "count * 2 — 4, count is 2"), ("count", "count — 2"), ("1 + 1", "1 + 1 — 2"),
        ("10 / (count - 2) == 1", "10 / (count - 2) == 1 — error: 10 / 0: division by zero, count is 2"),
        ("event.tags[0] == 'b'", #"event.tags[0] == 'b' — false, event.tags[0] is "a""#),
        (
            "event.labels.?z.orValue(0) > 0",
            "event.labels.?z.orValue(0) > 0 — false, event.labels.?z is optional.none()"
        ),
        ("false && ready", "false — false"),
        (
            "event.tags.exists(t, t == 'z')",
            #"event.tags.exists(t, t == 'z') — false, event.tags is ["a", "b"], t is "b""#
        ),
    ])
    func `a summary names the decisive part`(source: String, summary: String) throws {
        #expect(try explain(source).summary == summary)
    }

    @Test func `each part has its value, its range and its text`() throws {
        let explanation = try explain("state.failures + 1 < 3 && event.reason == 'x'")
        #expect(
            explanation.parts.map { "\($0.depth) \($0.range.start)..<\($0.range.end) \($0.text) \($0.evaluations)" }
                == [
                    "0 0..<45 state.failures + 1 < 3 && event.reason == 'x' 1", "1 0..<22 state.failures + 1 < 3 1",
                    "2 0..<18 state.failures + 1 1", "3 0..<14 state.failures 1", "1 26..<45 event.reason == 'x' 0",
                    "2 26..<38 event.reason 0",
                ])
        #expect(
            explanation.description == """
                state.failures + 1 < 3 && event.reason == 'x' — false
                  state.failures + 1 < 3 — false
                    state.failures + 1 — 6
                      state.failures — 5
                """)
    }

    @Test func `the explanation of a long row stays small`() throws {
        let program = try Fixture.program("state.name" + String(repeating: "+'é'", count: 4_500))
        let description = program.explain(Fixture.values()).description
        #expect(description.utf8.count < 3_000_000)
        #expect(
            description.hasSuffix(
                "state.name+'é' — \"uplinké\"\n" + String(repeating: " ", count: 64) + "state.name — \"uplink\""))
        let short = try Fixture.program("count" + String(repeating: "+1", count: 40)).explain(Fixture.values())
        #expect(short.parts.allSatisfy { $0.evaluations == 1 })
        #expect(short.parts.compactMap { try? $0.result?.get() } == (2...42).reversed().map { .int($0) })
    }

    @Test func `long values are cut off`() throws {
        let list = Value.list(Array(repeating: .string("text"), count: 100_000))
        let environment = Environment(variables: [Environment.Variable(name: "list", type: .list(.string))])
        let program = try Expression(parsing: "size(list) < 3").checked(in: environment)
        let summary = program.explain([list]).summary
        #expect(summary.hasPrefix(#"size(list) < 3 — false, list is ["text", "text", "#) && summary.hasSuffix("…"))
        #expect(summary.utf8.count < 200)
    }

    @Test func `parts within macros are counted`() throws {
        let explanation = try explain("event.tags.all(t, size(t) == count - 1)")
        let size = try #require(explanation.parts.first { $0.text == "size(t)" })
        #expect(size.evaluations == 2)
        #expect(explanation.description.contains("size(t) — 1 (the last of 2)"))
    }

    @Test func `the outcome is the one of evaluation, also in long rows and where it is an error`() throws {
        for source in [
            "count" + String(repeating: " + count", count: 4_000), "1 / (count - 2) == 1 || ready", "anything.x",
            "[1, 2].map(x, x / (x - 1))", "cel.bind(x, count, x * x)", "optional.of(count).optMap(x, x + 1).value()",
            "'uplink'.matches('up' + 'link') && now.getHours('UTC') == 10", "{'a': [count]}.a[0]",
        ] {
            let program = try Fixture.program(source)
            let result: Result<Value, EvaluationError>
            do throws(EvaluationError) {
                result = .success(try program.evaluate(Fixture.values()))
            } catch {
                result = .failure(error)
            }
            let explanation = program.explain(Fixture.values())
            #expect(explanation.result == result)
            #expect(explanation.parts.first?.result == result)
        }
    }

    @Test func `an expression whose types were not checked is explained`() throws {
        let environment = Environment(variables: [.init(name: "count", type: .dyn)])
        let program = try Expression(parsing: "missing == 1 || count == 2").unchecked(in: environment)
        #expect(try program.explain([.int(2)]).result.get() == .bool(true))
        #expect(throws: EvaluationError.self) { try program.explain([.int(3)]).result.get() }
    }

    @Test func `an expression of a template is explained by its place in the template`() throws {
        let program = try Template(parsing: "${count}: ${state.failures < 3}").checked(in: Fixture.environment)
        let explanations = program.explain(Fixture.values(failures: 5))
        #expect(explanations.map(\.summary) == ["count — 2", "state.failures < 3 — false, state.failures is 5"])
        #expect(explanations.last?.parts.first?.range.start == 12)
    }

    @Test(arguments: [
        ("state.failures < 3 && event.reason != ''", [["state", "failures"], ["event", "reason"]]),
        ("a.b.c + a[x].d", [["a", "b", "c"], ["a"], ["x"]]), ("[1].map(x, x + y)", [["y"]]),
        ("math.abs(z.?y) == 1 && type(q) == int", [["z", "y"], ["q"]]), ("cel.bind(x, v, x) + 1", [["v"]]),
        ("has(s.t)", [["s", "t"]]), ("math.x", [["math", "x"]]),
    ])
    func `an expression lists what it reads before it is checked`(source: String, paths: [[String]]) throws {
        #expect(try Expression(parsing: source).references == Set(paths))
    }
}
