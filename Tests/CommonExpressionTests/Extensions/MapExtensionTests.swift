import CommonExpression
import Testing

@Suite("Maps with and without a key")
struct MapExtensionTests {
    @Test(arguments: [
        ("{'a': 1}.with('b', 2)", #"{"a": 1, "b": 2}"#), ("{'a': 1}.with('a', 2)", #"{"a": 2}"#),
        ("{}.with('a', 1)", #"{"a": 1}"#), ("{}.with(true, [])", "{true: []}"), ("{1: 'a'}.with(2, 'b')[2]", #""b""#),
        ("dyn({1: 'a'}).with(1u, 'b')", #"{1: "b"}"#), ("dyn({1u: 'a'}).with(1, 'b')", #"{1u: "b"}"#),
        ("dyn({1: 'a'}).with(18446744073709551615u, 'b').size()", "2"), ("dyn({1u: 'a'}).with(-1, 'b').size()", "2"),
        ("event.labels.with('x', count)", #"{"k": 1, "x": 2}"#), ("event.labels.with('k', 5).k", "5"),
        ("event.labels.with(state.name, 7).without('k')", #"{"uplink": 7}"#),
        ("{'a': 1}.with('b', anything)", #"{"a": 1, "b": 5}"#),
        ("{'a': 1}.with('b', dyn('x'))", #"{"a": 1, "b": "x"}"#),
        ("{'a': dyn(1)}.with('b', 'x')", #"{"a": 1, "b": "x"}"#), ("{'a': []}.with('b', [1])['b'][0] + count", "3"),
        ("{'a': 1, 'b': 2}.without('a')", #"{"b": 2}"#), ("{'a': 1}.without('b')", #"{"a": 1}"#),
        ("{'a': 1}.without('a')", "{}"), ("{}.without('a')", "{}"), ("dyn({1: 'a'}).without(1u)", "{}"),
        ("dyn({1u: 'a'}).without(1)", "{}"), ("event.labels.without('k') == {}", "true"),
        ("cel.bind(m, {'a': 1}, [m.with('a', 2), m])", #"[{"a": 2}, {"a": 1}]"#),
    ])
    func `a map is copied with or without a key`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("event.labels.with('a', 1)", ValueType.map(key: .string, value: .int)),
        ("event.labels.without('a')", .map(key: .string, value: .int)),
        ("{}.without('a')", .map(key: .string, value: .dyn)),
        ("{}.with('a', 1.5)", .map(key: .string, value: .double)),
        ("anything.with('a', 1)", .map(key: .dyn, value: .dyn)),
        ("{'a': 1}.with('b', anything)", .map(key: .string, value: .dyn)),
    ])
    func `the copy has the type of the map`(source: String, type: ValueType) throws {
        #expect(try Fixture.program(source).type == type)
    }

    @Test(arguments: [
        (
            "event.labels.with('a', 'x')",
            "noOverload 0..<27 there is no map(string, int).with(string, string); with takes map.with(key, value)"
        ),
        (
            "event.labels.with('a', '1')",
            "noOverload 0..<27 there is no map(string, int).with(string, string); with takes map.with(key, value); write 1"
        ),
        (
            "event.labels.with(1, 2)",
            "noOverload 0..<23 there is no map(string, int).with(int, int); with takes map.with(key, value); "
                + #"write "1""#
        ),
        (
            "event.labels.without(count)",
            "noOverload 0..<27 there is no map(string, int).without(int); without takes map.without(key); "
                + "convert it with string(count)"
        ),
        (
            "{}.with(1.5, 1)",
            "noOverload 0..<15 there is no map(dyn, dyn).with(double, int); with takes map.with(key, value)"
        ),
        ("{}.with('a')", "noOverload 0..<12 there is no map(dyn, dyn).with(string); with takes map.with(key, value)"),
        (
            "state.with('a', 1)",
            "noOverload 0..<18 there is no Degraded.with(string, int); with takes map.with(key, value)"
        ),
        ("without({}, 'a')", "noOverload 0..<7 without is called on a value; write {}.without('a')"),
    ])
    func `a key or value of another type is reported`(source: String, problem: String) {
        #expect(Fixture.problems(source) == [problem])
    }

    @Test(arguments: [
        (
            "{}.with(dyn(1.5), 1)",
            "noSuchOverload at {}.with(dyn(1.5), 1): a key of int, uint, bool or string is needed here, but the value "
                + "is double"
        ),
        ("{}.without(dyn([]))", "noSuchOverload"),
        ("anything.with('a', 1)", "noSuchOverload at anything.with('a', 1): with() does not take int, string, int"),
        ("anything.without('a')", "noSuchOverload"),
        (
            "cel.bind(m, lists.range(1000).transformMap(i, x, x), lists.range(1000).map(x, m.with(x, x)))",
            "costExceeded"
        ),
        (
            "cel.bind(m, lists.range(1000).transformMap(i, x, x), lists.range(1000).map(x, m.without(x)))",
            "costExceeded"
        ),
    ])
    func `a value that is no map or no key is an error`(source: String, error: String) throws {
        #expect(try Fixture.failure(source).hasPrefix(error))
    }

    @Test func `a map does not grow beyond the limit for sizes`() throws {
        var environment = Fixture.environment
        environment.limits.valueSize = 2
        let program = try Expression(parsing: "event.labels.with('a', 1).with('b', 2)").checked(in: environment)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values()) }
        #expect(error.code == .valueTooLarge)
        let same = try Expression(parsing: "event.labels.with('a', 1).with('a', 2).size()").checked(in: environment)
        #expect(try same.evaluate(Fixture.values()) == .int(2))
    }

    @Test func `a chain of copies is one level deep, and values within each other are more`() throws {
        let flat = "{}" + String(repeating: ".with('a', 1)", count: 200)
        #expect(try Fixture.value(flat) == #"{"a": 1}"#)
        let nested = String(repeating: "{}.with('a', ", count: 40) + "1" + String(repeating: ")", count: 40)
        #expect(Fixture.problems(nested, limits: Limits(nesting: 50)).isEmpty)
        let binds = String(repeating: "cel.bind(x, {}.with('a', {}.with('a', ", count: 1) + "count)), x)"
        #expect(Fixture.problems(binds, limits: Limits(nesting: 5)).isEmpty)
        let deep = "[1]" + String(repeating: ".map(x, {}.with('a', {}.with('b', {}.with('c', x))))", count: 40)
        #expect(Fixture.problems(deep).first?.contains("the value is nested more than 64 levels deep") == true)
    }
}
