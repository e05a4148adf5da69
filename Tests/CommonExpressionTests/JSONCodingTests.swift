import CommonExpression
import StrictJSON
import Testing

struct `A value from JSON` {
    @Test(
        arguments: [
            ("null", .null), ("true", .bool(true)), ("1", .int(1)), ("-9223372036854775808", .int(.min)),
            ("18446744073709551615", .uint(.max)), ("18446744073709551616", .double(18_446_744_073_709_551_616)),
            ("1.0", .double(1)), ("1e2", .double(100)), ("\"1\"", .string("1")),
            ("[1, [2.5]]", .list([.int(1), .list([.double(2.5)])])),
            ("{\"a\": {\"b\": null}}", .map([.string("a"): .map([.string("b"): .null])])),
        ] as [(String, Value)])
    func `keeps the form of numbers`(text: String, expected: Value) throws {
        let value = try Value(parsingJSON: Array(text.utf8))
        #expect(value == expected && value.type == expected.type, "\(value)")
    }

    @Test(arguments: ["", "[1,]", "{\"a\": 1, \"a\": 2}", "1 2", "[1", "nan", "1e999", "\"\\ud800\""])
    func `is refused with the place of the mistake`(text: String) {
        let error = #expect(throws: JSONSyntaxError.self) { try Value(parsingJSON: Array(text.utf8)) }
        #expect(error.map { (0...text.utf8.count).contains($0.offset) } ?? false)
    }

    @Test func `has at most as many levels as a value`() throws {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        }
        let value = try Value(parsingJSON: nested(127))
        #expect("\(value)".hasPrefix("[[["))
        #expect(throws: JSONSyntaxError.self) { try Value(parsingJSON: nested(128)) }
    }
}
