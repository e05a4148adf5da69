import CommonExpression
import Testing

@Suite("Checking")
struct CheckerTests {
    @Test(arguments: [
        ("stat.failures", "unknownVariable 0..<4 unknown variable 'stat'; did you mean 'state'?"),
        (
            "xyz",
            "unknownVariable 0..<3 unknown variable 'xyz'; known variables: state, event, now, anything, ready, count"
        ),
        ("nil == anything", "unknownVariable 0..<3 unknown variable 'nil'; did you mean 'null'?"),
        (
            "state.failurs < 3",
            "unknownField 6..<13 'state' (Degraded) has no field 'failurs'; did you mean 'failures'?"
        ),
        (
            "state.x",
            "unknownField 6..<7 'state' (Degraded) has no field 'x'; its fields are failures, since, name, load"
        ),
        ("event.raeson", "unknownField 6..<12 'event' has no field 'raeson'; did you mean 'reason'?"),
        ("event.state.nme", "unknownField 12..<15 'event.state' (Degraded) has no field 'nme'; did you mean 'name'?"),
        ("has(state.sinc)", "unknownField 10..<14 'state' (Degraded) has no field 'sinc'; did you mean 'since'?"),
        ("state.name.size", "unknownField 11..<15 string has no fields; size is a function: write .size()"),
        ("count.x", "unknownField 6..<7 int has no fields"),
        (
            "state['failures']",
            "noOverload 0..<17 a structure is not indexed; its fields are selected with '.'; write state.failures"
        ),
        ("event.labels[3]", #"noOverload 13..<14 the map is indexed by string, not int; write "3""#),
        ("event.tags['x']", "noOverload 11..<14 a list is indexed by int, not string"),
        ("count[0]", "noOverload 0..<8 int has no elements; only lists and maps are indexed"),
        ("{1: 2}.x", "noOverload 7..<8 {1: 2} is map(int, int), whose keys are not strings; use […]"),
    ])
    func `names and selections`(source: String, problem: String) {
        #expect(Fixture.problems(source) == [problem])
    }

    @Test(arguments: [
        ("count + 'x'", "noOverload 0..<11 '+' does not take int and string; convert it with string(count)"),
        ("'x' + count", "noOverload 0..<11 '+' does not take string and int; convert it with string(count)"),
        ("'x' + 1", #"noOverload 0..<7 '+' does not take string and int; write "1""#),
        ("count + 1.5", "noOverload 0..<11 '+' does not take int and double; convert it with double(count)"),
        ("state.load * 2", "noOverload 0..<14 '*' does not take double and int; write 2.0"),
        ("event.size > 3", "noOverload 0..<14 '>' does not take uint and int; write 3u"),
        ("3 < event.size", "noOverload 0..<14 '<' does not take int and uint; write 3u"),
        ("count == '3'", "noOverload 0..<12 '==' does not take int and string; write 3"),
        ("count == state.name", "noOverload 0..<19 '==' does not take int and string; convert it with int(state.name)"),
        ("now - state.since > 60", #"noOverload 0..<22 '>' does not take duration and int; write duration("60s")"#),
        ("now - '5s'", #"noOverload 0..<10 '-' does not take timestamp and string; write duration("5s")"#),
        (
            "now > '2026-11-21T10:00:00Z'",
            #"noOverload 0..<28 '>' does not take timestamp and string; write timestamp("2026-11-21T10:00:00Z")"#
        ),
        ("ready == null", "noOverload 0..<13 '==' does not take bool and null"),
        ("[1] < [2]", "noOverload 0..<9 '<' does not take list(int) and list(int)"),
        ("1.5 % 2.0", "noOverload 0..<9 '%' does not take double and double"),
        ("'a' in 'abc'", "noOverload 0..<12 'in' does not take string and string; write 'abc'.contains('a')"),
        ("'since' in state", "noOverload 0..<16 'in' does not take string and Degraded; write has(state.since)"),
        ("3 in event.tags", #"noOverload 0..<15 'in' does not take int and list(string); write "3""#),
        ("1 in 2", "noOverload 0..<6 'in' does not take int and int; the right side must be a list or map"),
        ("count && ready", "noOverload 0..<5 '&&' takes bool, not int; compare it, for instance count == 0"),
        ("!state.name", #"noOverload 0..<11 '!' takes bool, not string; compare it, for instance state.name == "…""#),
        ("-event.size", "noOverload 0..<11 '-' takes int or double, not uint; convert it with int(event.size)"),
        (
            "count ? 1 : 2",
            "noOverload 0..<5 the condition before '?' must be bool, not int; compare it, for instance count == 0"
        ),
        ("ready ? 1 : 'a'", "noOverload 0..<15 both values of a conditional must be of one type, not int and string"),
        ("{1.5: 2}", "noOverload 1..<4 a key of a map must be int, uint, bool or string, not double"),
        ("count.all(x, true)", "noOverload 0..<5 all() walks over a list or the keys of a map, not int"),
        (
            "[1].filter(x, x)",
            "noOverload 14..<15 the condition of filter() must be bool, not int; compare it, for instance x == 0"
        ),
    ])
    func `operators and operands`(source: String, problem: String) {
        #expect(Fixture.problems(source) == [problem])
    }

    @Test(arguments: [
        ("lenth(state.name)", "unknownFunction 0..<5 unknown function 'lenth'; known functions: "),
        ("state.name.length()", "unknownFunction 11..<17 unknown function 'length'; did you mean 'size'?"),
        (
            "state.name.startWith('u')",
            "unknownFunction 11..<20 unknown function 'startWith'; did you mean 'startsWith'?"
        ),
        (
            "startsWith(state.name, 'u')",
            "noOverload 0..<10 startsWith is called on a value; write state.name.startsWith('u')"
        ),
        ("'5'.int()", "noOverload 4..<7 int is not called on a value; write int('5')"),
        (
            "state.name.startsWith(3)",
            #"noOverload 0..<24 there is no string.startsWith(int); startsWith takes string.(string); write "3""#
        ),
        (
            "event.tags.contains('a')",
            "noOverload 0..<24 there is no list(string).contains(string); contains takes string.(string); write 'a' in event.tags"
        ),
        ("size(count)", "noOverload 0..<11 there is no size(int); size takes string, bytes, list or map"),
        (
            "now.getDate(1)",
            "noOverload 0..<14 there is no timestamp.getDate(int); getDate takes timestamp.() or timestamp.(string)"
        ),
        ("Alarm{text: 'a'}", "unsupported 0..<6 the name of a type cannot construct a structure; "),
        (
            "now.getHours('Europe/Berli')",
            #"invalidLiteral 13..<27 the time zone "Europe/Berli" is unknown; use a name such as "Europe/Berlin""#
        ),
        (
            "state.name.matches('(a')",
            #"invalidLiteral 19..<23 "(a" is not a regular expression of RE2: missing ): (a"#
        ),
    ])
    func `calls and unsupported constructs`(source: String, problem: String) throws {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1)
        #expect(try #require(problems.first).hasPrefix(problem))
    }

    @Test(arguments: [
        ("", "syntax 0..<0 an expression is missing here"),
        ("1 +", "syntax 3..<3 expected a value, but the expression ends here"),
        ("(1", "syntax 2..<2 expected ')', but the expression ends here"),
        (")", "syntax 0..<1 expected a value, not ')'"),
        ("[1, 2", "syntax 5..<5 expected ',' or ']' after the element, but the expression ends here"),
        ("1 2", "syntax 2..<3 expected the end of the expression, not a number"),
        ("a = b", "syntax 2..<3 '=' is not part of the language; equality is written '=='"),
        ("ready & ready", "syntax 6..<7 '&' is not part of the language; 'and' is written '&&'"),
        ("ready and ready", "syntax 6..<9 expected the end of the expression, not 'and'; 'and' is written '&&'"),
        ("for", "syntax 0..<3 'for' is a reserved word and cannot be a name"),
        ("a.in", "syntax 2..<4 'in' cannot follow '.'; write .`in`"),
        ("!-1", "syntax 1..<2 '!' and '-' cannot follow each other; use parentheses"),
        ("1 # x", "syntax 2..<3 '#' is not part of the language; a comment begins with '//'"),
        ("ready ~ ready", "syntax 6..<7 '~' is not part of the language"),
        ("has(state)", "syntax 0..<10 has() takes a field, as in has(state.since)"),
        (
            "a ? b",
            "syntax 5..<5 expected ':' and the value for when the condition is false, but the expression ends here"
        ),
        ("[1].map(x)", "syntax 4..<7 map() is written map(x, value), where x names the element"),
        ("[1].all(state.x, true)", "syntax 4..<7 all() is written all(x, condition), where x names the element"),
        ("`a`", "syntax 0..<3 a name between backticks must follow '.'"),
    ])
    func `a violation of the grammar`(source: String, problem: String) {
        #expect(Fixture.problems(source).first == problem)
    }

    @Test(
        arguments: [
            (
                "1\u{a0}+ 1",
                "syntax 1..<3 the character U+00A0 is not part of the language; write a space as the character U+0020"
            ),
            (
                "ready\u{200B} && ready",
                "syntax 5..<8 the character U+200B is not part of the language; it is invisible; remove it"
            ),
            ("“a” + 'b'", "syntax 0..<7 '“' is not part of the language; a string is written between \" or '"),
            ("„ä“ == 'b'", "syntax 0..<8 '„' is not part of the language; a string is written between \" or '"),
            ("count ≥ 1", "syntax 6..<9 '≥' is not part of the language; it is written '>='"),
            ("count − 1", "syntax 6..<9 '−' is not part of the language; it is written '-'"),
            ("¬ready", "syntax 0..<2 '¬' is not part of the language; it is written '!'"),
            ("count <> 1", "syntax 6..<8 '<>' is not part of the language; inequality is written '!='"),
            ("count<1", nil),
            ("count === 1", "syntax 6..<9 '===' is not part of the language; equality is written '=='"),
            ("count !== 1", "syntax 6..<9 '!==' is not part of the language; inequality is written '!='"),
            ("state.name =~ 'a'", "syntax 11..<13 '=~' is not part of the language; try a pattern with .matches(…)"),
            ("$count > 1", "syntax 0..<1 '$' is not part of the language; write the variable without it"),
            (
                "${count} > 1",
                "syntax 0..<1 '$' is not part of the language; the text is already an expression; remove '${' and '}'"
            ),
            ("not ready", "syntax 4..<9 expected the end of the expression, not 'ready'; 'not' is written '!'"),
            (
                "state.name contains 'a'",
                "syntax 11..<19 expected the end of the expression, not 'contains'; it is a function: write .contains(…)"
            ),
            ("count ne 1", "syntax 6..<8 expected the end of the expression, not 'ne'; inequality is written '!='"),
            (
                "count > 1,5",
                "syntax 9..<10 expected the end of the expression, not ','; a decimal point is written '.'"
            ),
            ("state.name.length > 1", "unknownField 11..<17 string has no fields; size is a function: write .size()"),
        ] as [(String, String?)])
    func `syntax of other languages is reported once`(source: String, problem: String?) {
        #expect(Fixture.problems(source) == (problem.map { [$0] } ?? []))
    }

    @Test(arguments: [
        (
            "count", ValueType.bool,
            "typeMismatch 0..<5 the result is int, but bool is needed; compare it, for instance count == 0"
        ),
        ("3", .double, "typeMismatch 0..<1 the result is int, but double is needed; write 3.0"),
        (
            "count + 1", .double,
            "typeMismatch 0..<9 the result is int, but double is needed; convert it with double(count + 1)"
        ),
        ("'5s'", .duration, #"typeMismatch 0..<4 the result is string, but duration is needed; write duration("5s")"#),
        ("null", .timestamp, "typeMismatch 0..<4 the result is null, but timestamp is needed"),
        ("[1]", .list(.string), "typeMismatch 0..<3 the result is list(int), but list(string) is needed"),
        (
            "state", .structure(Fixture.event),
            "typeMismatch 0..<5 the result is Degraded, but { reason: string, size: uint, tags: list(string), labels: map(string, int), state: Degraded, urgent: bool } is needed"
        ),
    ])
    func `the result must be of the expected type`(source: String, expected: ValueType, problem: String) {
        #expect(Fixture.problems(source, expecting: expected) == [problem])
    }

    @Test func `all problems are reported at once, in order`() {
        let found = Fixture.problems("stat.failures < 3 && event.raeson == 3 && count + 'a' == foo()")
        #expect(
            found.map { $0.prefix(while: { $0 != " " }) } == [
                "unknownVariable", "unknownField", "noOverload", "unknownFunction",
            ])
    }

    @Test(arguments: [
        "size(stat) + 1 > 2 && ready", "[stat, 1].map(x, x + 'a')", "stat.a.b.c[1].d()", "ready ? stat : 1",
        "-stat + 'a'",
        "{stat: 1}.x", "!(stat && 1 > 0)", "has(stat.x.y)", "stat in [1]", "[stat].all(x, x)", "stat.all(x, x > 1)",
    ])
    func `one mistake gives one message`(source: String) {
        #expect(Fixture.problems(source, expecting: .bool).map { $0.prefix(15) } == ["unknownVariable"])
    }

    @Test(arguments: [
        ("1", ValueType.int), ("[1, 2u]", .list(.dyn)), ("[]", .list(.dyn)), ("[[], [1]]", .list(.list(.int))),
        ("{'a': 1}", .map(key: .string, value: .int)), ("anything + 1", .int), ("anything + anything", .dyn),
        ("anything.x[1]", .dyn),
        ("ready ? [] : [1]", .list(.int)), ("event.tags + []", .list(.string)), ("size(anything)", .int),
        ("event.tags.map(t, size(t))", .list(.int)),
        ("event.labels.transformMap(k, v, k)", .map(key: .string, value: .string)),
        ("now - now", .duration), ("now - anything", .dyn), ("state", .structure(Fixture.degraded)),
        ("event.state.load", .double),
    ])
    func `static types`(source: String, type: ValueType) throws {
        #expect(try Fixture.program(source).type == type)
    }

    @Test func `evaluation compares a dynamic result with the expected type`() throws {
        let program = try Fixture.program("anything", expecting: .string)
        #expect(program.type == .string)
        #expect(try program.evaluate(Fixture.values(anything: .string("a"))) == .string("a"))
        #expect(throws: EvaluationError.self) { try program.evaluate(Fixture.values(anything: .int(1))) }
        #expect(try Fixture.program("[]", expecting: .list(.int)).constant == .list([]))
        let condition = try Fixture.program("anything", expecting: .bool)
        #expect(try condition.evaluateBool(Fixture.values(anything: .bool(true))))
        #expect(throws: EvaluationError.self) { try condition.evaluateBool(Fixture.values(anything: .int(1))) }
    }

    @Test(
        arguments: [
            ("state.failures < 3", [["state", "failures"]]), ("event", [["event"]]),
            ("event.state.load + state.load", [["event", "state", "load"], ["state", "load"]]),
            ("event.labels['k'] + event.labels.k", [["event", "labels"], ["event", "labels", "k"]]),
            ("has(state.since)", [["state", "since"]]),
            ("[1].all(state, state > 0)", []), ("[1].all(x, x > count)", [["count"]]),
            ("size(event.tags)", [["event", "tags"]]), ("1 + 1", []),
            ("false && ready", [["ready"]]),
        ] as [(String, Set<[String]>)])
    func `references are the paths that an expression reads`(source: String, paths: Set<[String]>) throws {
        #expect(try Fixture.program(source).references == paths)
    }

    @Test(arguments: [
        ("1 + 2 * 3", Value.int(7)), ("'a' + 'b' == 'ab' ? [1] : []", .list([.int(1)])),
        ("[1, 2].map(x, [x].map(y, x * y))", .list([.list([.int(1)]), .list([.int(4)])])),
        ("size('abc') > 2 || 1 / 0 == 0", .bool(true)),
    ])
    func `constants are folded`(source: String, value: Value) throws {
        #expect(try Fixture.program(source).constant == value)
    }

    @Test(arguments: ["1 / 0", "count", "false && ready", "[1 / 0]", "[1].map(x, x + count)"])
    func `an expression that reads a variable or fails is not a constant`(source: String) throws {
        #expect(try Fixture.program(source).constant == nil)
    }

    @Test func `the longest qualified variable wins`() throws {
        let environment = Environment(variables: [
            Environment.Variable(name: "a.b", type: .map(key: .string, value: .int)),
            Environment.Variable(name: "a.b.c", type: .string),
        ])
        let values: [Value] = [.map([.string("c"): .int(1), .string("d"): .int(2)]), .string("yes")]
        #expect(try Expression(parsing: "a.b.c").checked(in: environment).evaluate(values) == .string("yes"))
        #expect(try Expression(parsing: "a.b.d").checked(in: environment).evaluate(values) == .int(2))
        let program = try Expression(parsing: "(a.b).c").checked(in: environment)
        #expect(try program.evaluate(values) == .int(1))
        #expect(program.references == [["a.b", "c"]])
        #expect(throws: Problems.self) { try Expression(parsing: "a.x").checked(in: environment) }
    }

    @Test func `a problem knows its line and column`() throws {
        let source = "ready &&\r\n  'é' == xyz"
        let problems = try #require(throws: Problems.self) { try Fixture.program(source) }
        #expect(
            problems.description
                == "2:10: unknown variable 'xyz'; known variables: state, event, now, anything, ready, count")
        #expect(problems.source == source)
    }
}
