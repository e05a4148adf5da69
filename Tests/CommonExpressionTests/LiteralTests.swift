import CommonExpression
import Testing

@Suite("Literals")
struct LiteralTests {
    @Test(arguments: [
        ("0", Value.int(0)), ("42", .int(42)), ("-42", .int(-42)), ("0xFf", .int(255)), ("-0x10", .int(-16)),
        ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
        ("0u", .uint(0)), ("18446744073709551615u", .uint(.max)), ("0xFFU", .uint(255)),
        ("1.5", .double(1.5)), (".5", .double(0.5)), ("1e3", .double(1000)), ("-2.5E-1", .double(-0.25)),
        ("true", .bool(true)), ("false", .bool(false)), ("null", .null),
        ("// a comment\n 1 // another", .int(1)), ("\t\r\n\u{c} 1", .int(1)),
    ])
    func `numbers and words`(source: String, value: Value) throws {
        #expect(try Fixture.program(source).constant == value)
    }

    @Test(arguments: [
        (#""abc""#, "abc"), (#"'a"c'"#, #"a"c"#), (#""a'c""#, "a'c"),
        (#""\a\b\f\n\r\t\v""#, "\u{7}\u{8}\u{c}\n\r\t\u{b}"),
        (#""\\\?\"\'\`""#, #"\?"'`"#), (#""\x41\X42\u00e9\U0001F600""#, "ABé😀"), (#""\101\377""#, "Aÿ"),
        (#""\ud83d\ude00""#, "😀"), (#"r"\n\\""#, #"\n\\"#), (#"R'\x41'"#, #"\x41"#),
        ("'''a\n'b\"'''", "a\n'b\""), ("\"\"\"a\"b\n\"\"\"", "a\"b\n"), ("r'''\\n'''", "\\n"), ("''", ""),
        ("''''''", ""),
    ])
    func `strings and their escapes`(source: String, text: String) throws {
        #expect(try Fixture.program(source).constant == .string(text))
    }

    @Test(
        arguments: [
            (#"b"abc""#, [97, 98, 99]), (#"b"ÿ""#, [195, 191]), (#"b"\377\xFE""#, [255, 254]), (#"B'\\'"#, [92]),
            (#"br"\n""#, [92, 110]), (#"bR'''x'''"#, [120]), (#"b"""#, []),
        ] as [(String, [UInt8])])
    func `bytes hold octets`(source: String, bytes: [UInt8]) throws {
        #expect(try Fixture.program(source).constant == .bytes(bytes))
    }

    @Test(arguments: [
        (
            "9223372036854775808",
            "invalidLiteral 0..<19 the number is out of range for int, -9223372036854775808 to 9223372036854775807"
        ),
        (
            "18446744073709551616",
            "invalidLiteral 0..<20 the number is out of range for int; the largest is 9223372036854775807"
        ),
        (
            "18446744073709551616u",
            "invalidLiteral 0..<21 the number is out of range for uint; the largest is 18446744073709551615u"
        ),
        ("1 + 0x", "invalidLiteral 4..<6 '0x' must be followed by hexadecimal digits"),
        ("1e999", "invalidLiteral 0..<5 '1e999' is out of range for double; the largest is about 1.8e308"),
        ("5m", #"invalidLiteral 0..<2 '5m' is not a number; write a duration as duration("5m")"#),
        ("1abc", "invalidLiteral 0..<4 '1abc' is not a number; put an operator or a blank between"),
        (
            #""a\qb""#,
            #"invalidLiteral 2..<4 '\q' is not an escape; a backslash itself is written '\\', or the string with the prefix r"#
        ),
        (#""\ud83d""#, "invalidLiteral 1..<7 the escape stands for no Unicode code point"),
        (#""\U00110000""#, "invalidLiteral 1..<11 the escape stands for no Unicode code point"),
        (#""\x4""#, "invalidLiteral 1..<4 the escape must have 2 hexadecimal digits"),
        (#""\08""#, #"invalidLiteral 1..<3 an octal escape has three digits, from \000 to \377"#),
        (#"b"\u0041""#, #"invalidLiteral 2..<8 \u and \U are not allowed in bytes; write the octets with \x"#),
        (
            "'abc",
            "syntax 0..<4 the string is not closed with '; a string over several lines is written between three quotes"
        ),
        (
            "'a\nb'",
            "syntax 0..<2 the string is not closed with '; a string over several lines is written between three quotes"
        ),
        ("'''abc'", "syntax 0..<7 the string is not closed with '''"),
    ])
    func `a malformed literal is reported with its range`(source: String, problem: String) {
        #expect(Fixture.problems(source).first == problem)
    }

    @Test func `all malformed literals are found at once`() {
        #expect(
            Fixture.problems(#""\q" + 5m + 0x + "\z""#).map { $0.prefix(20) } == [
                "invalidLiteral 1..<3", "invalidLiteral 7..<9", "invalidLiteral 12..<", "invalidLiteral 18..<",
            ])
    }
}
