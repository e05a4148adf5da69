import MediatorCommands
import MediatorControl
import StrictJSON
import Testing
import Varlink

struct ValueTests {
    static let values: [(text: String, type: String, value: JSONValue?)] = [
        ("true", "bool", true), ("false", "bool", false), ("yes", "bool", nil), ("", "bool", nil),
        ("0", "int", 0), ("-12", "int", -12), ("1.0", "int", nil), ("9223372036854775808", "int", nil),
        ("", "int", nil),
        ("7", "uint", 7), ("-7", "uint", nil), ("18446744073709551615", "uint", .uint(.max)),
        ("1", "double", 1.0), ("-0.5e3", "double", -500.0), ("nan", "double", nil), ("inf", "double", nil),
        ("", "string", ""), ("a b", "string", "a b"), ("\"a\"", "string", "\"a\""),
        ("now", "timestamp", "2026-11-21T12:00:00Z"), ("2026-01-02T03:04:05Z", "timestamp", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.5+02:00", "timestamp", "2026-01-02T03:04:05.5+02:00"), ("yesterday", "timestamp", nil),
        ("2026-02-29T00:00:00Z", "timestamp", nil),
        ("1h30m", "duration", "1h30m"), ("500ms", "duration", "500ms"), ("-1.5s", "duration", "-1.5s"),
        ("0", "duration", "0"), ("10", "duration", nil), ("5 s", "duration", nil), ("h", "duration", nil),
        ("", "duration", nil), ("1..5s", "duration", nil),
        ("[1, 2]", "list(int)", [1, 2]), (#"{"a": true}"#, "map(string, bool)", ["a": true]), ("[1,", "list(int)", nil),
        ("7", "optional(int)", 7), ("x", "optional(int)", nil), ("a b", "optional(string)", "a b"),
    ]

    @Test(arguments: values.indices)
    func `a value is read by its type`(index: Int) {
        let (text, type, value) = Self.values[index]
        let read = Result { try TypedValue(now: Bench.now).value(text, type: type, name: "field") }
        switch read {
        case .success(let result): #expect(result == value)
        case .failure(let error):
            #expect(value == nil)
            #expect((error as? CommandError)?.message.contains("'field'") == true)
        }
    }

    @Test(arguments: [
        ("9223372036854775808", "int", "int is from -9223372036854775808 to 9223372036854775807"),
        ("-99999999999999999999999", "optional(int)", "int is from -9223372036854775808 to 9223372036854775807"),
        ("18446744073709551616", "uint", "uint is from 0 to 18446744073709551615"),
        ("-1", "uint", "uint is from 0 to 18446744073709551615"),
        ("1e999", "double", "double is from -1.7976931348623157e+308 to 1.7976931348623157e+308"),
    ])
    func `a number beyond its type is out of range`(text: String, type: String, range: String) {
        let error = #expect(throws: CommandError.self) {
            try TypedValue(now: 0).value(text, type: type, name: "field")
        }
        #expect(error?.message == "'\(text)' is out of range for 'field': \(range)")
        let written = #expect(throws: CommandError.self) {
            try TypedValue(now: 0).check(
                ["a": .double(1e30)], fields: [Field(name: "a", type: "int")], owner: "it")
        }
        #expect(
            written?.message.hasPrefix("'1e+30' is out of range for 'a': int is from") == true,
            "\(written?.message ?? "")")
    }

    @Test func `an optional field may be left out`() throws {
        let fields = [Field(name: "a", type: "int"), Field(name: "b", type: "optional(string)")]
        let reader = TypedValue(now: 0)
        #expect(try reader.object(["a=1"], fields: fields, owner: "it") == ["a": 1])
        #expect(try reader.object(["a=1", "b=x"], fields: fields, owner: "it") == ["a": 1, "b": "x"])
        #expect(throws: CommandError.self) { try reader.object(["b=x"], fields: fields, owner: "it") }
        try reader.check(["a": 1, "b": .null], fields: fields, owner: "it")
        #expect(throws: CommandError.self) { try reader.check(["a": 1, "b": 2], fields: fields, owner: "it") }
    }

    @Test func `a field given twice is told`() {
        let error = #expect(throws: CommandError.self) {
            try TypedValue(now: 0).object(["a=1", "a=2"], fields: [Field(name: "a", type: "int")], owner: "it")
        }
        #expect(error?.message == "the field 'a' is given twice")
        #expect(error?.status == .usage)
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-21T12:00:00Z", Bench.now),
            ("2026-11-21t13:00:00.999+01:00", Bench.now),
            ("2026-11-21T06:30:00-05:30", Bench.now), ("2000-02-29T00:00:00Z", 951_782_400),
            ("1969-12-31T23:59:59Z", -1), ("2016-12-31T23:59:60Z", 1_483_228_800),
            ("2026-11-21T12:00:00", nil), ("2026-11-21 12:00:00Z", nil), ("2026-13-01T00:00:00Z", nil),
            ("1900-02-29T00:00:00Z", nil), ("2026-11-21T12:00:00.Z", nil), ("2026-11-21T12:00:00+25:00", nil),
            ("2026-11-21T24:00:00Z", nil), ("", nil), ("2026-11-21T12:00:00Zjunk", nil), ("２026-11-21T12:00:00Z", nil),
        ] as [(String, Int64?)])
    func `times are read as RFC 3339 writes them`(text: String, seconds: Int64?) {
        #expect(Timestamp.seconds(text) == seconds)
    }

    @Test func `times are written as they are read`() {
        for seconds: Int64 in stride(from: -62_000_000_000, through: 250_000_000_000, by: 777_777_777) {
            #expect(Timestamp.seconds(Timestamp.text(seconds)) == seconds)
        }
        #expect(Timestamp.text(Bench.now) == "2026-11-21T12:00:00Z")
    }

    @Test(
        arguments: [
            ("stauts", ["status", "list"], "; did you mean 'status'?"), ("Full", ["full"], "; did you mean 'full'?"),
            ("abc", ["xyz"], ""), ("", ["abcd"], ""), ("disk", [], ""), ("d", ["disk"], ""),
            ("backpu", ["backup", "back"], "; did you mean 'backup'?"),
            ("disk", ["disk.status", "tell-disk", "disk-guard"], "; did you mean 'disk-guard' or 'disk.status'?"),
            ("disk", ["disk-guard", "disk-guard"], "; did you mean 'disk-guard'?"),
            ("disk", ["disk.a", "disk.b", "disk.c", "disk.d"], ""),
        ] as [(String, [String], String)])
    func `what was probably meant is near, or begins so`(text: String, names: [String], hint: String) {
        #expect(Nearest.hint(text, among: names) == hint)
    }
}
