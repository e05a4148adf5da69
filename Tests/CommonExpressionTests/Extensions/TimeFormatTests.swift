import CommonExpression
import Foundation
import Testing

@Suite("Times written by a pattern")
struct TimeFormatTests {
    /// Saturday, 2026-11-21T10:05:00Z is `now`.
    @Test(arguments: [
        ("%Y-%m-%d %H:%M:%S", "2026-11-21 10:05:00"), ("%F %T", "2026-11-21 10:05:00"), ("%R", "10:05"),
        ("%a %A %b %B", "Sat Saturday Nov November"), ("%d. %-m. %y", "21. 11. 26"), ("%I:%M %p", "10:05 AM"),
        ("%j %u %V %G", "325 6 47 2026"), ("%z", "+0000"), ("%s", "1795255500"), ("100 %%", "100 %"), ("", ""),
        ("é%Hü", "é10ü"), ("%H%H", "1010"),
    ])
    func `the present time is written by a pattern`(pattern: String, text: String) throws {
        #expect(try Fixture.value("format(now, '\(pattern)', 'UTC')") == "\"\(text)\"")
    }

    @Test(arguments: [
        ("2026-01-05T03:04:09Z", "%e|%-d|%-H|%-M|%-S|%-j|%I|%-I", " 5|5|3|4|9|5|03|3"),
        ("2026-01-05T00:00:00Z", "%I %p", "12 AM"), ("2026-01-05T12:00:00Z", "%I %p", "12 PM"),
        ("2026-01-05T23:59:00Z", "%I %p", "11 PM"), ("0001-01-01T00:00:00Z", "%Y %y %A", "0001 01 Monday"),
        ("0900-03-01T00:00:00Z", "%Y %-Y", "0900 900"), ("9999-12-31T23:59:59.9Z", "%F %T", "9999-12-31 23:59:59"),
        ("1969-12-31T23:59:59.5Z", "%T %s", "23:59:59 -1"),
        ("2027-01-01T00:00:00Z", "%G-W%V-%u", "2026-W53-5"), ("2024-12-30T00:00:00Z", "%G-W%V-%u", "2025-W01-1"),
        ("2023-01-01T00:00:00Z", "%G-W%V-%u", "2022-W52-7"), ("2024-12-31T00:00:00Z", "%j", "366"),
    ])
    func `numbers are padded, and weeks are those of ISO 8601`(time: String, pattern: String, text: String) throws {
        #expect(try Fixture.value("format(timestamp('\(time)'), '\(pattern)', 'UTC')") == "\"\(text)\"")
    }

    @Test(arguments: [
        ("Europe/Berlin", "11:05 +0100"), ("America/New_York", "05:05 -0500"), ("+02:30", "12:35 +0230"),
        ("-09:30", "00:35 -0930"), ("Asia/Tokyo", "19:05 +0900"),
    ])
    func `a time zone may be given`(zone: String, text: String) throws {
        #expect(try Fixture.value("format(now, '%R %z', '\(zone)')") == "\"\(text)\"")
    }

    /// `strftime` of the C library is another implementation of the same letters.
    @Test func `the texts are those of strftime`() throws {
        var generator = Xorshift(state: 99)
        let pattern = "%Y|%y|%m|%d|%e|%H|%I|%M|%S|%p|%j|%u|%a|%A|%b|%B|%V|%G|%F|%T|%R|%z|%s|%%|%-d|%-H|%-j|%-V|%-I"
        let format = try TimeFormat(pattern)
        for _ in 0..<2_000 {
            let seconds = Int64.random(in: -30_000_000_000...250_000_000_000, using: &generator)
            var (time, parts) = (time_t(seconds), tm())
            gmtime_r(&time, &parts)
            var buffer = [CChar](repeating: 0, count: 512)
            let count = strftime(&buffer, buffer.count, pattern.replacing("|%s|", with: "||"), &parts)
            let expected = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let timestamp = try #require(Timestamp(seconds: seconds, nanoseconds: 0))
            #expect(
                format.text(of: timestamp, offset: 0).replacing("|\(seconds)|", with: "||") == expected, "\(seconds)")
        }
    }

    @Test func `without a time zone it is that of the machine`() throws {
        let seconds: Int64 = 1_795_255_500
        let local = CivilDate(secondsSinceEpoch: seconds + LocalTimeZone.machine.offsets().offset(at: seconds))
        #expect(try Fixture.value("format(now, '%-H %-M %-d')") == "\"\(local.hour) \(local.minute) \(local.day)\"")
        #expect(try Fixture.value("format(now, '%F %T %z') == format(now, '%F' + ' %T %z')") == "true")
        // The time zone may change while the program exists.
        #expect(try Fixture.program("format(timestamp(0), '%H')").constant == nil)
    }

    @Test(arguments: [
        ("'%s and %d'.format(['a', 1])", #""a and 1""#), ("'%s'.format([format(now, '%Y', 'UTC')])", #""2026""#),
        ("format(dyn(now), dyn('%Y'), dyn('UTC'))", #""2026""#), ("dyn('%d').format(dyn([1]))", #""1""#),
        ("format(now, event.reason)", #""timeout""#),
    ])
    func `the function and the member of the same name are apart`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test func `a constant text is still formatted once`() throws {
        #expect(try Fixture.program("'%d'.format([1])").constant == .string("1"))
    }

    private static let letters = "%Y %y %m %d %e %H %I %M %S %p %j %u %a %A %b %B %V %G %F %T %R %z %s %%"

    @Test(arguments: [
        (
            "format(now, '%H:%Q')",
            #"invalidLiteral 12..<19 the pattern "%H:%Q" has the unknown letter '%Q'; use \#(letters)"#
        ),
        (
            "format(now, '%')",
            #"invalidLiteral 12..<15 the pattern "%" ends within a letter; write '%%' for a percent sign"#
        ),
        ("format(now, '%H:%-')", "invalidLiteral"), ("format(now, '%é')", "invalidLiteral"),
        ("format(now, '%-é')", #"invalidLiteral 12..<18 the pattern "%-é" has the unknown letter '%-é'"#),
        ("format(now, '%H', 'Europe/Berli')", #"invalidLiteral 18..<32 the time zone "Europe/Berli" is unknown"#),
        (
            "format(now, '\(String(repeating: "a", count: 1_025))')",
            #"invalidLiteral 12..<1039 the pattern "\#(String(repeating: "a", count: 60))"… is longer than 1024 bytes"#
        ),
        (
            "now.format('%H')",
            "noOverload 0..<16 there is no timestamp.format(string); format takes string.(list); write format(now, '%H')"
        ),
        (
            "format('%d', [1])",
            "noOverload 0..<17 there is no format(string, list(int)); format takes (timestamp, string) or "
                + "(timestamp, string, string); write '%d'.format([1])"
        ),
        (
            "format(count, '%H')",
            "noOverload 0..<19 there is no format(int, string); format takes (timestamp, string) or "
        ),
        ("format(now)", "noOverload"), ("'%d'.format(1)", "noOverload"),
    ])
    func `a wrong pattern or call is found before evaluation`(source: String, problem: String) {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1 && problems.first?.hasPrefix(problem) == true, "\(problems)")
    }

    @Test(arguments: [
        (
            "format(now, event.reason + '%Q')",
            #"invalidArgument at format(now, event.reason + '%Q'): the pattern "timeout%Q" has"#
        ),
        (
            "format(now, '%H', event.reason)",
            #"invalidArgument at format(now, '%H', event.reason): the time zone "timeout" is"#
        ),
        ("format(anything, '%H')", "noSuchOverload at format(anything, '%H'): format() does not take int, string"),
        ("format(now, anything)", "noSuchOverload at format(now, anything): format() does not take timestamp, int"),
        ("format(now, '%H', anything)", "noSuchOverload"), ("dyn(now).format(dyn('%H'))", "noSuchOverload"),
        (
            "format(dyn('%d'), dyn([1]))",
            "noSuchOverload at format(dyn('%d'), dyn([1])): format() does not take string, list"
        ),
        ("lists.range(10000).map(x, format(now, '%H'))", "costExceeded"),
        ("lists.range(10000).map(x, format(now, '%H', 'UTC'))", "costExceeded"),
    ])
    func `a wrong pattern or value is an error at evaluation`(source: String, error: String) throws {
        #expect(try Fixture.failure(source).hasPrefix(error))
    }

    @Test func `a text beyond the limit for sizes is an error`() throws {
        var environment = Fixture.environment
        environment.limits.valueSize = 7
        for source in ["format(now, '%A')", "format(now, '%A', 'UTC')", "format(now, '%' + 'A')"] {
            let program = try Expression(parsing: source).checked(in: environment)
            let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values()) }
            #expect(error.code == .valueTooLarge)
        }
    }

    @Test func `a function of the host may have the name`() throws {
        let environment = Environment(functions: [Environment.Function("format") { (text: String) in text + "!" }])
        #expect(try Expression(parsing: "format('%Q')").checked(in: environment).evaluate([]) == .string("%Q!"))
    }
}
