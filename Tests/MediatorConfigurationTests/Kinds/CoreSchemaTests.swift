import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `Core schema` {
    @Test(
        arguments: [
            ("", .null), ("~", .null), ("null", .null), ("Null", .null), ("NULL", .null), ("nULL", .text),
            ("none", .text),
            ("true", .bool(true)), ("True", .bool(true)), ("TRUE", .bool(true)), ("tRUE", .text),
            ("false", .bool(false)), ("False", .bool(false)), ("FALSE", .bool(false)),
            ("on", .text), ("off", .text), ("yes", .text), ("no", .text), ("y", .text), ("n", .text), ("Off", .text),
            ("0", .int(isNegative: false, magnitude: 0)), ("-0", .int(isNegative: true, magnitude: 0)),
            ("42", .int(isNegative: false, magnitude: 42)), ("+42", .int(isNegative: false, magnitude: 42)),
            ("-42", .int(isNegative: true, magnitude: 42)), ("007", .int(isNegative: false, magnitude: 7)),
            ("0o17", .int(isNegative: false, magnitude: 15)), ("0o8", .text), ("0o", .text), ("-0o17", .text),
            ("0x1F", .int(isNegative: false, magnitude: 31)), ("0xg", .text), ("0x", .text), ("0X1F", .text),
            ("0b11", .text), ("1_000", .text), ("1,000", .text), ("190:20:30", .text), ("0.", .float(0)),
            ("18446744073709551615", .int(isNegative: false, magnitude: .max)), ("18446744073709551616", .hugeInt),
            ("0xFFFFFFFFFFFFFFFFF", .hugeInt),
            ("1.5", .float(1.5)), ("-1.5", .float(-1.5)), ("+1.5", .float(1.5)), (".5", .float(0.5)),
            ("-.5", .float(-0.5)),
            ("1.", .float(1)), ("1e3", .float(1000)), ("1E-2", .float(0.01)), ("1.5e+3", .float(1500)), ("1e", .text),
            ("e3", .text), (".", .text), ("-", .text), ("+", .text), (".e3", .text), ("1.2.3", .text),
            ("1e999", .hugeFloat),
            (".inf", .float(.infinity)), (".Inf", .float(.infinity)), (".INF", .float(.infinity)),
            ("-.inf", .float(-.infinity)), ("+.inf", .float(.infinity)), (".iNF", .text), ("inf", .text),
            ("nan", .text),
            ("-.nan", .text), ("5s", .text), ("2026-11-21", .text), ("0x1p3", .text), ("infinity", .text),
            ("<<", .text),
        ] as [(String, CoreSchema)])
    func `a plain scalar means what YAML 1.2 says`(text: String, meaning: CoreSchema) {
        #expect(CoreSchema(plain: text) == meaning)
    }

    @Test(arguments: [".nan", ".NaN", ".NAN"]) func `not a number is a number`(text: String) {
        guard case .float(let value) = CoreSchema(plain: text) else {
            Issue.record("\(text) is not a float")
            return
        }
        #expect(value.isNaN)
    }

    @Test(
        arguments: [
            ("bool", "true", .bool(true)), ("int", "0x1F", .int(31)), ("int", "0o17", .int(15)),
            ("int", "-9223372036854775808", .int(.min)), ("int", "9223372036854775807", .int(.max)),
            ("uint", "18446744073709551615", .uint(.max)), ("uint", "-0", .uint(0)), ("double", "1", .double(1)),
            ("double", "-2", .double(-2)), ("double", "1e3", .double(1000)), ("double", ".inf", .double(.infinity)),
            ("double", "18446744073709551616", .double(18_446_744_073_709_551_616)),
            ("string", "on", .string("on")), ("string", "\"42\"", .string("42")), ("string", "'true'", .string("true")),
            ("string", "\"\"", .string("")), ("string", "\"$${x}\"", .string("${x}")),
            ("string", "\"${'a' + 'b'}\"", .string("ab")),
            ("string", "5s", .string("5s")), ("list(int)", "[1, 2]", .list([.int(1), .int(2)])),
            ("list(int)", "[]", .list([])),
            (
                "\"map(string, bool)\"", "{ on: true, 1: false }",
                .map([.string("on"): .bool(true), .string("1"): .bool(false)])
            ),
        ] as [(String, String, Value)])
    func `data becomes a value of the expected type`(type: String, text: String, value: Value) throws {
        let bus = try graph("buses: { b: { kind: currentValue, value: \(type), initial: \(text) } }").buses[0]
        #expect(bus.initial == value)
        #expect(bus.valueType.accepts(value))
    }

    @Test func `durations and timestamps are read from text`() throws {
        let buses = try graph(
            """
            buses:
              a: { kind: currentValue, value: duration, initial: 1m30s }
              b: { kind: currentValue, value: timestamp, initial: 2026-11-21T10:00:00Z }
            """
        ).buses
        #expect(buses[0].initial == .duration(try #require(TimeSpan(seconds: 90, nanoseconds: 0))))
        #expect(buses[1].initial == .timestamp(try #require(Timestamp(rfc3339: "2026-11-21T10:00:00Z"))))
    }

    @Test(arguments: [
        ("bool", "on"), ("bool", "1"), ("bool", "\"true\""), ("int", "1.0"), ("int", "true"), ("int", "\"1\""),
        ("int", "9223372036854775808"), ("int", "-9223372036854775809"), ("int", "~"), ("uint", "-1"),
        ("uint", "18446744073709551616"), ("double", "x"), ("double", "1e999"), ("double", "true"), ("string", "42"),
        ("string", "1.5"), ("string", "true"), ("string", "null"), ("string", "[a]"), ("string", "{ a: b }"),
        ("duration", "5"), ("duration", "5 s"), ("timestamp", "2026-11-21"), ("timestamp", "1"), ("list(int)", "1"),
        ("list(int)", "[a]"), ("list(int)", "{ }"), ("\"map(string, int)\"", "[1]"),
        ("\"map(string, int)\"", "{ a: b }"),
        ("{ a: int }", "1"), ("{ a: int }", "{}"), ("{ a: int }", "{ a: 1, b: 2 }"),
    ])
    func `data of another type is one error`(type: String, text: String) {
        let result = compile("buses: { b: { kind: currentValue, value: \(type), initial: \(text) } }")
        #expect(result.graph == nil)
        #expect(result.diagnostics.count == 1)
    }
}
