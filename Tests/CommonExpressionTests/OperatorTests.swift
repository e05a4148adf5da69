import CommonExpression
import Testing

@Suite("Operators")
struct OperatorTests {
    @Test(arguments: [
        ("1 + 2 * 3", "7"), ("(1 + 2) * 3", "9"), ("10 - 4 - 3", "3"), ("100 / 10 / 5", "2"), ("7 % 4 * 2", "6"),
        ("1 + 2 == 3 && 4 < 5", "true"), ("true || false && false", "true"), ("(true || false) && false", "false"),
        ("false ? 1 : true ? 2 : 3", "2"), ("true ? 1 : false ? 2 : 3", "1"), ("!true || true", "true"),
        ("-2 * -3", "6"), ("1 - -1", "2"), ("1 -1", "0"), ("!!true", "true"), ("--count", "2"), ("-count + 5", "3"),
        ("1 in [1] == true", "true"), ("1 < 2 == true", "true"), ("-1.5 - 1.5", "-3.0"),
        ("{'a': [1, 2]}.a[1]", "2"), ("-[1][0]", "-1"), ("[1, 2,][1]", "2"), ("{1: 2,}[1]", "2"),
    ])
    func `precedence and associativity`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("-7 / 2", "-3"), ("-7 % 2", "-1"), ("7u % 4u", "3u"), ("1.0 / 0.0", #"double("Infinity")"#),
        ("0.0 / 0.0 == 0.0 / 0.0", "false"), ("'a' + 'b'", #""ab""#), ("b'a' + b'b'", #"b"ab""#),
        ("[1] + [2]", "[1, 2]"), ("[] + [2]", "[2]"),
        ("timestamp('2026-11-21T10:00:00Z') + duration('90s')", #"timestamp("2026-11-21T10:01:30Z")"#),
        ("duration('90s') + timestamp('2026-11-21T10:00:00Z')", #"timestamp("2026-11-21T10:01:30Z")"#),
        ("timestamp('2026-11-21T10:00:00Z') - duration('0.5s')", #"timestamp("2026-11-21T09:59:59.5Z")"#),
        ("now - state.since", #"duration("300s")"#), ("duration('1m') - duration('90s')", #"duration("-30s")"#),
    ])
    func arithmetic(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        "dyn(1) == 1.0", "dyn(1u) == 1", "[1, 2.0] == [1.0, 2u]", "dyn({1: 'a'}) == {1u: 'a'}", "dyn(1) != 'a'",
        "dyn(-1) < 0u", "dyn(1) < 1.5", "dyn(2u) > 1", "'a' < 'b'", "'a' < 'á'", "'Z' < 'a'", "b'a' < b'b'",
        "false < true", "duration('1s') < duration('1m')", "now > state.since", "'e\\u0301' != '\\u00e9'",
        "null == null", "dyn(null) != 1", "1 in {1u: 0, 2: 0}", "dyn(3.0) in [1, 2, 3]", "!('x' in event.labels)",
        "'b' in event.tags", "state == state", "event.state != state", "now != null",
    ])
    func `comparisons that hold`(source: String) throws {
        #expect(try Fixture.value(source) == "true")
    }

    @Test(arguments: [
        (
            "-9223372036854775808 % -1",
            "overflow at -9223372036854775808 % -1: -9223372036854775808 % -1 is out of range for int"
        ),
        (
            "9223372036854775807 + count",
            "overflow at 9223372036854775807 + count: 9223372036854775807 + 2 is out of range for int"
        ),
        (
            "-9223372036854775808 - 1",
            "overflow at -9223372036854775808 - 1: -9223372036854775808 - 1 is out of range for int"
        ),
        (
            "5000000000 * 5000000000",
            "overflow at 5000000000 * 5000000000: 5000000000 * 5000000000 is out of range for int"
        ),
        (
            "-(-9223372036854775808)",
            "overflow at -(-9223372036854775808): -(-9223372036854775808) is out of range for int"
        ),
        (
            "-9223372036854775808 / -1",
            "overflow at -9223372036854775808 / -1: -9223372036854775808 / -1 is out of range for int"
        ),
        ("0u - 1u", "overflow at 0u - 1u: 0u - 1u is out of range for uint"),
        ("1 / 0", "divisionByZero at 1 / 0: 1 / 0: division by zero"),
        ("1u % 0u", "divisionByZero at 1u % 0u: 1u % 0u: division by zero"),
        (
            "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
            "overflow at timestamp('9999-12-31T23:59:59Z') + duration('1s'): "
                + #"timestamp("9999-12-31T23:59:59Z") + duration("1s") is out of range for timestamp"#
        ),
        ("dyn(1) + 'a'", "noSuchOverload at dyn(1) + 'a': '+' does not take int and string"),
        ("dyn([1]) < dyn([2])", "noSuchOverload at dyn([1]) < dyn([2]): '<' does not take list and list"),
        ("[1, 2][2]", "indexOutOfRange at [1, 2][2]: the index 2 is out of range for a list of 2"),
        ("[1, 2][-1]", "indexOutOfRange at [1, 2][-1]: the index -1 is out of range for a list of 2"),
        ("[1][dyn(0.5)]", "indexOutOfRange at [1][dyn(0.5)]: the index 0.5 is out of range for a list of 1"),
        ("event.labels['z']", "noSuchKey at event.labels['z']: the map has no key \"z\""),
        ("event.labels.z", "noSuchKey at z: the map has no key \"z\""),
        ("anything.z", "noSuchField at z: int has no fields, so no 'z'"),
        ("dyn(state).z", "noSuchField at z: Degraded has no field 'z'"),
        ("{1: 1, 1u: 2}", "duplicateKey at 1u: the key 1u is given twice"),
        (
            "{anything: 1, dyn(1.5): 1}",
            "noSuchOverload at dyn(1.5): a key of int, uint, bool or string is needed here, but the value is double"
        ),
    ])
    func `an evaluation error has a message and a range`(source: String, error: String) throws {
        #expect(try Fixture.failure(source) == error)
    }

    @Test(arguments: [
        ("false && 1 / 0 == 1", "false"), ("1 / 0 == 1 && false", "false"), ("true || 1 / 0 == 1", "true"),
        ("1 / 0 == 1 || true", "true"), ("ready || 1 / count == 0 || 1 / 0 == 0", "true"),
        ("1 / 0 == 0 || 2 / 0 == 0 || ready", "true"), ("1 / (count - 2) == 0 && !ready && ready", "false"),
        ("ready ? 1 : 1 / 0", "1"), ("!ready ? 1 / 0 : 2", "2"),
    ])
    func `logic absorbs errors in either order`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        "1 / 0 == 1 && ready", "ready && 1 / 0 == 1", "1 / 0 == 1 || !ready", "ready && ready && 1 / 0 == 1",
    ])
    func `logic keeps an error that decides`(source: String) throws {
        #expect(try Fixture.failure(source) == "divisionByZero at 1 / 0: 1 / 0: division by zero")
    }

    @Test func `a value of another type than declared is an error, not a crash`() throws {
        var values = Fixture.values()
        values[0] = .int(1)
        #expect(
            try Fixture.failure("state.failures + 1", values)
                == "noSuchField at failures: int has no fields, so no 'failures'")
        values[0] = .structure(Structure(type: Fixture.degraded, fields: []))
        #expect(
            try Fixture.failure("state.failures + 1", values)
                == "noSuchField at failures: Degraded has no field 'failures'")
        values[0] = .structure(Structure(type: Fixture.degraded, fields: [.string("x")]))
        #expect(
            try Fixture.failure("state.failures + 1", values)
                == "noSuchOverload at failures: int is needed here, but the value is string")
        values[5] = .null
        #expect(
            try Fixture.failure("count + 1", values)
                == "noSuchOverload at count: int is needed here, but the value is null")
        #expect(
            try Fixture.failure("count", [])
                == "invalidArgument at count: 0 values were given for the 6 variables of the environment")
    }

    @Test func `a field is found by name where the value's type differs`() throws {
        let other = StructureType(
            name: "Other",
            fields: [
                StructureType.Field(name: "x", type: .int), StructureType.Field(name: "failures", type: .int),
            ])
        var values = Fixture.values()
        values[0] = .structure(Structure(type: other, fields: [.int(1), .int(8)]))
        #expect(try Fixture.program("state.failures").evaluate(values) == .int(8))
    }
}
