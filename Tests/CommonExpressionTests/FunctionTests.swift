import CommonExpression
import Testing

@Suite("Functions")
struct FunctionTests {
    @Test(arguments: [
        ("string(1)", #""1""#), ("string(1u)", #""1""#), ("string(1.5)", #""1.5""#), ("string(2.0)", #""2""#),
        ("string(true)", #""true""#), ("string(b'ab')", #""ab""#), ("string('a')", #""a""#),
        ("string(duration('1h30m'))", #""5400s""#), ("string(timestamp(0))", #""1970-01-01T00:00:00Z""#),
        ("int('-12')", "-12"), ("int(3.9)", "3"), ("int(-3.9)", "-3"), ("int(7u)", "7"), ("int(timestamp(5))", "5"),
        ("uint(7)", "7u"), ("uint('7')", "7u"), ("uint(1.9)", "1u"), ("double(1)", "1.0"), ("double('1e3')", "1000.0"),
        ("double('NaN') == double('NaN')", "false"), ("double('-Infinity')", #"double("-Infinity")"#),
        ("bool('True')", "true"), ("bool('f')", "false"), ("bytes('é')", #"b"\xc3\xa9""#),
        ("timestamp('2026-11-21T11:00:00+01:00')", #"timestamp("2026-11-21T10:00:00Z")"#),
        ("timestamp(now) == now", "true"), ("duration('250ms')", #"duration("0.25s")"#), ("dyn('x')", #""x""#),
        ("size('pé😀')", "3"), ("size(b'é')", "2"), ("size([1, 2])", "2"), ("size({1: 2})", "1"), ("'abc'.size()", "3"),
        ("event.tags.size()", "2"), ("size(anything == 5 ? [1] : [])", "1"),
        ("'abcabd'.contains('abd')", "true"), ("'abc'.contains('')", "true"), ("'aaab'.contains('aab')", "true"),
        ("'abc'.contains('abcd')", "false"), ("'abc'.startsWith('ab')", "true"), ("'abc'.startsWith('abcd')", "false"),
        ("'abc'.endsWith('bc')", "true"), ("'e\\u0301'.startsWith('e')", "true"), ("'bc'.endsWith('abc')", "false"),
        ("now.getFullYear()", "2026"), ("now.getMonth()", "10"), ("now.getDate()", "21"), ("now.getDayOfMonth()", "20"),
        ("now.getDayOfWeek()", "6"), ("now.getDayOfYear()", "324"), ("now.getHours()", "10"), ("now.getMinutes()", "5"),
        ("now.getSeconds()", "0"), ("now.getMilliseconds()", "0"), ("now.getHours('+02:30')", "12"),
        ("now.getDate('-11:00')", "20"), ("now.getHours('Europe/Berlin')", "11"), ("now.getHours('UTC')", "10"),
        ("duration('3730s').getMinutes()", "62"),
        ("duration('1.25s').getMilliseconds()", "250"), ("duration('2h').getHours()", "2"),
        ("has(state.since)", "true"), ("has(event.labels.k)", "true"), ("has(event.labels.z)", "false"),
        ("{'as': 1}.as", "1"), ("{'a-b': 1}.`a-b`", "1"), (".count", "2"),
    ])
    func `functions and conversions`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("int('x')", #"invalidConversion at int('x'): "x" is not an int"#),
        ("int(1e19)", "overflow at int(1e19): 1e+19 is out of range for int"),
        ("int(double('NaN'))", #"overflow at int(double('NaN')): double("NaN") is out of range for int"#),
        (
            "int(18446744073709551615u)",
            "overflow at int(18446744073709551615u): 18446744073709551615u is out of range for int"
        ),
        ("uint(-1)", "overflow at uint(-1): -1 is out of range for uint"),
        ("uint(-0.5)", "overflow at uint(-0.5): -0.5 is out of range for uint"),
        ("double('0x1')", #"invalidConversion at double('0x1'): "0x1" is not a double"#),
        ("bool('yes')", #"invalidConversion at bool('yes'): "yes" is not a bool"#),
        (
            "string(b'\\xff')",
            "invalidConversion at string(b'\\xff'): the bytes are not UTF-8, so string() cannot convert them"
        ),
        ("string(dyn([1]))", "noSuchOverload at string(dyn([1])): string() does not take list"),
        (
            "timestamp('x')",
            #"invalidConversion at timestamp('x'): "x" is not a timestamp such as "2026-11-21T10:00:00Z""#
        ),
        ("timestamp(253402300800)", "overflow at timestamp(253402300800): 253402300800 is out of range for timestamp"),
        (
            "duration('1')",
            #"invalidConversion at duration('1'): "1" is not a duration such as "1h30m" or "1.5s" within 10000 years"#
        ),
        (
            "now.getHours(event.reason)",
            #"invalidArgument at now.getHours(event.reason): the time zone "timeout" is unknown; use a name such as "Europe/Berlin", "UTC" or "+02:00""#
        ),
        (
            "dyn(1).contains('a')",
            "noSuchOverload at dyn(1).contains('a'): contains() takes two strings, not int and string"
        ),
        ("has(dyn(state).x)", "noSuchField at x: Degraded has no field 'x'"),
        ("has(anything.x)", "noSuchField at x: int has no fields, so no 'x'"),
    ])
    func `an unsuitable value is an error`(source: String, error: String) throws {
        #expect(try Fixture.failure(source) == error)
    }

    @Test(arguments: [
        ("[1, 2, 3].all(x, x > 0)", "true"), ("[1, 2, 3].exists(x, x == 2)", "true"), ("[].exists(x, x == 2)", "false"),
        ("[1, 0].exists(x, 1 / x == 1)", "true"), ("[0, 1].exists(x, 1 / x == 1)", "true"),
        ("[0, 2].all(x, 4 / x == 1)", "false"), ("[1, 2].exists_one(x, x > 1)", "true"),
        ("[1, 2].map(x, x * count)", "[2, 4]"), ("[1, 2, 3].map(x, x > 1, x * 10)", "[20, 30]"),
        ("[1, 2, 3].filter(x, x != count)", "[1, 3]"), ("{'b': 1, 'a': 2, 'c': 0}.map(k, k)", #"["a", "b", "c"]"#),
        ("{2: 0, 1u: 0, true: 0, 'x': 0}.map(k, k)", #"[true, 1u, 2, "x"]"#),
        ("event.labels.all(k, v, k == 'k' && v == 1)", "true"), ("[5].exists(i, v, i == 0 && v == 5)", "true"),
        ("[4, 5].transformList(i, v, v + i)", "[4, 6]"), ("{'a': 1}.transformMap(k, v, v + 1)", #"{"a": 2}"#),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, k)", #"{"b": "b"}"#), ("[3].transformMap(i, v, v)", "{0: 3}"),
        ("[[1, 2], [3]].map(x, x.map(y, y + size(x)))", "[[3, 4], [4]]"),
        ("[1].map(count, count)", "[1]"), ("[1].map(count, .count)", "[2]"), ("[1].map(x, [2].map(x, x))", "[[2]]"),
        ("event.tags.filter(t, t == event.reason).size() == 0 && ready", "true"),
    ])
    func `macros walk over lists and maps`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        "[1, 0].all(x, 1 / x == 1)", "[0, 1].exists(x, 1 / x == 2)", "[1, 0].exists_one(x, 1 / x == 1)",
        "[0].map(x, 1 / x)", "[0].filter(x, 1 / x == 1)", "{'a': 0}.transformMap(k, x, 1 / x)",
    ])
    func `a macro keeps an error unless an element decides`(source: String) throws {
        #expect(try Fixture.failure(source).hasPrefix("divisionByZero at 1 / x"))
    }
}
