import CommonExpression
import Testing

@Suite("JSON in expressions")
struct JSONExtensionTests {
    @Test(arguments: [
        ("null", "null"), ("true", "true"), ("-5", "-5"), ("18446744073709551615u", "18446744073709551615"),
        ("1.0", "1.0"), ("1e300", "1e+300"), ("-0.0", "-0.0"), ("'aé\"\\\\\\n\\u0001'", #""aé\"\\\n\u0001""#),
        ("[]", "[]"), ("[1, 'a', null, [2.5]]", #"[1,"a",null,[2.5]]"#), ("{}", "{}"),
        ("{'b': 1, 'a': {'z': [], 'é': {}}}", #"{"a":{"z":[],"é":{}},"b":1}"#),
        ("{1: 2, true: 3, 4u: 5}", #"{"1":2,"4":5,"true":3}"#),
        ("b'a\\xff'", "[97,255]"), ("now", #""2026-11-21T10:05:00Z""#), ("duration('1h')", #""3600s""#),
        ("int", #""int""#), ("optional.of(1)", "1"), ("[optional.none()]", "[null]"),
        ("[optional.of(optional.of([1]))]", "[[1]]"),
        ("b''", "[]"), ("[[], {}, [[]], {'a': []}]", #"[[],{},[[]],{"a":[]}]"#),
        ("optional.of(optional.none())", "null"), ("ip('::1')", #""::1""#),
        ("cidr('10.0.0.0/8')", #""10.0.0.0/8""#),
        ("state", #"{"failures":3,"load":0.5,"name":"uplink","since":"2026-11-21T10:00:00Z"}"#),
        ("event.labels", #"{"k":1}"#), ("event.tags.map(t, t + t)", #"["aa","bb"]"#),
    ])
    func `a value is written as JSON`(source: String, json: String) throws {
        #expect(try Fixture.program("toJson(\(source))").evaluate(Fixture.values()) == .string(json))
        #expect(throws: Never.self) { try Value(parsingJSON: json.utf8) }
    }

    @Test(arguments: [
        ("null", "null"), ("true", "true"), (" 5 ", "5"), ("9223372036854775808", "9223372036854775808u"),
        ("1.0", "1.0"), ("1e2", "100.0"), (#""aé\n""#, #""aé\n""#), ("[1, [2.0], {}]", "[1, [2.0], {}]"),
        (#"{"a": {"b": [null]}}"#, #"{"a": {"b": [null]}}"#),
    ])
    func `JSON is read`(json: String, value: String) throws {
        #expect(
            try Fixture.program("parseJson(anything)").evaluate(Fixture.values(anything: .string(json))).description
                == value)
    }

    @Test(arguments: [
        ("parseJson('{\"n\": 2}').n + count", "4"), ("parseJson('{\"n\": 2}').?x.orValue(0)", "0"),
        ("has(parseJson('{\"n\": 2}').n)", "true"), ("parseJson(toJson(event.tags)) == event.tags", "true"),
        ("parseJson(toJson({'a': [1, 2.0, 'x', null]})) == dyn({'a': [1, 2.0, 'x', null]})", "true"),
        ("type(parseJson('1')) == int && type(parseJson('1.0')) == double", "true"),
    ])
    func `a value from JSON is used like any other`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("parseJson('')", "invalidConversion at parseJson(''): the text is not JSON: a value is missing"),
        ("parseJson('{\"a\": 1, \"a\": 2}')", "invalidConversion"), ("parseJson('[1,]')", "invalidConversion"),
        ("parseJson('1 2')", "invalidConversion at parseJson('1 2'): the text is not JSON: text follows the value"),
        ("parseJson('01')", "invalidConversion"), ("parseJson('NaN')", "invalidConversion"),
        ("parseJson('1e999')", "invalidConversion"), ("parseJson(event.reason)", "invalidConversion"),
        ("parseJson(dyn(1))", "noSuchOverload at parseJson(dyn(1)): parseJson() does not take int"),
        ("toJson(0.0 / 0.0)", "invalidConversion at toJson(0.0 / 0.0): JSON has no number NaN"),
        ("toJson([{'a': -1.0 / 0.0}])", "invalidConversion"),
        (
            "toJson({1: 0, '1': 0})",
            #"duplicateKey at toJson({1: 0, '1': 0}): two keys of the map have the text "1""#
        ),
        (
            "parseJson(lists.range(128).map(x, '[').join() + lists.range(128).map(x, ']').join())",
            "invalidConversion at parseJson("
        ),
        ("lists.range(10).map(x, toJson(lists.range(60000 + x)))", "costExceeded"),
        ("lists.range(100).map(x, parseJson('[' + lists.range(4000 + x).map(y, '0').join(',') + ']'))", "costExceeded"),
    ])
    func `a text that is not JSON, and a value without JSON, are errors`(source: String, error: String) throws {
        #expect(try Fixture.failure(source).hasPrefix(error))
    }

    @Test func `the deepest JSON is read and written, and a deeper value is an error`() throws {
        let text = String(repeating: "[", count: 127) + String(repeating: "]", count: 127)
        #expect(
            try Fixture.program("toJson(parseJson(anything))").evaluate(Fixture.values(anything: .string(text)))
                == .string(text))
        let deep = try Fixture.failure("parseJson(anything)", Fixture.values(anything: .string("[\(text)]")))
        #expect(
            deep == "invalidConversion at parseJson(anything): the text is not JSON: more than 127 levels of nesting")
        var value = Value.list([])
        for _ in 0..<128 { value = .list([value]) }
        #expect(
            try Fixture.failure("toJson(anything)", Fixture.values(anything: value))
                == "valueTooLarge at toJson(anything): the value is nested more than 128 levels deep")
    }

    @Test(arguments: [
        ("toJson(anything)", Value.string("aaaaaaaaaa"), 11), ("toJson(anything)", .string("\u{1}\u{1}"), 13),
        ("toJson(anything)", .list([.int(10), .int(10), .int(10)]), 9), ("parseJson(anything)", .string("[10, 10]"), 7),
        ("toJson(anything)", .map([.string("abc"): .null]), 10),
    ])
    func `a text beyond the limit for sizes is an error`(source: String, value: Value, limit: Int) throws {
        var environment = Fixture.environment
        environment.limits.valueSize = limit
        let program = try Expression(parsing: source).checked(in: environment)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values(anything: value)) }
        #expect(error.code == .valueTooLarge)
        environment.limits.valueSize = limit + 4
        #expect(throws: Never.self) {
            try Expression(parsing: source).checked(in: environment).evaluate(Fixture.values(anything: value))
        }
    }

    @Test(arguments: ["toJson(anything)", "parseJson(anything)"])
    func `each element costs a step`(source: String) throws {
        let json = "[" + Array(repeating: "0", count: 1_000).joined(separator: ",") + "]"
        let list = Value.list(Array(repeating: .int(0), count: 1_000))
        var environment = Fixture.environment
        environment.limits.cost = 1_000
        let program = try Expression(parsing: source).checked(in: environment)
        let value = source.hasPrefix("to") ? list : .string(json)
        #expect(
            try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values(anything: value)) }.code
                == .costExceeded)
    }

    @Test(arguments: [
        ("parseJson(1)", "noOverload 0..<12 there is no parseJson(int); parseJson takes string; write \"1\""),
        ("toJson()", "noOverload 0..<8 there is no toJson(); toJson takes any value"),
        ("to_json(1)", "unknownFunction 0..<7 unknown function 'to_json'; did you mean 'toJson'?"),
        ("'[]'.parseJson()", "noOverload 5..<14 parseJson is not called on a value; write parseJson('[]')"),
        ("toJson(1) + 1", "noOverload"),
    ])
    func `a wrong call is found before evaluation`(source: String, problem: String) {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1 && problems.first?.hasPrefix(problem) == true, "\(problems)")
    }

    @Test func `a literal that is not JSON is found before evaluation`() throws {
        let failures = try Expression(parsing: "parseJson('{').a == count").certainFailures
        #expect(failures.map(\.message) == ["the text is not JSON: a member name is missing"])
    }
}
