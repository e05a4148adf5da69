import CommonExpression
import Testing

@Suite("Timestamps and durations")
struct TimeTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"),
        ("2009-02-13T23:31:30Z", 1_234_567_890, "2009-02-13T23:31:30Z"),
        ("2000-02-29T12:00:00.250Z", 951_825_600, "2000-02-29T12:00:00.25Z"),
        ("0001-01-01T00:00:00Z", -62_135_596_800, "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, "9999-12-31T23:59:59.999999999Z"),
        ("2026-11-21t11:00:00+01:00", 1_795_255_200, "2026-11-21T10:00:00Z"),
        ("1969-12-31T23:59:59.5Z", -1, "1969-12-31T23:59:59.5Z"),
        ("2026-11-21T10:00:00.1234567899z", 1_795_255_200, "2026-11-21T10:00:00.123456789Z"),
    ])
    func `RFC 3339 is read and written`(text: String, seconds: Int64, written: String) throws {
        let timestamp = try #require(Timestamp(rfc3339: text))
        #expect(timestamp.seconds == seconds)
        #expect(timestamp.description == written)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T10:00:00", "2026-11-21 10:00:00Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-04-31T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T10:60:00Z", "2026-11-21T10:00:60Z",
        "2026-11-21T10:00:00.Z", "0000-01-01T00:00:00Z",
        "2026-11-21T10:00:00+1:00", "2026-11-21T10:00:00Zx", "9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01",
        "1900-02-29T00:00:00Z",
    ])
    func `other text is not a timestamp`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func `every day from year 1 to 9999 survives writing and reading`() throws {
        for day in stride(from: Int64(-719_162), through: 2_932_896, by: 97) {
            let timestamp = try #require(Timestamp(seconds: day * 86_400, nanoseconds: 0))
            #expect(Timestamp(rfc3339: timestamp.description) == timestamp)
        }
    }

    @Test(arguments: [
        ("0", 0, 0, "0s"), ("1s", 1, 0, "1s"), ("1h30m", 5_400, 0, "5400s"), ("1.5s", 1, 500_000_000, "1.5s"),
        ("250ms", 0, 250_000_000, "0.25s"),
        ("-2s", -2, 0, "-2s"), ("-0.5s", 0, -500_000_000, "-0.5s"), ("+3us", 0, 3_000, "0.000003s"),
        ("7µs", 0, 7_000, "0.000007s"), ("1ns", 0, 1, "0.000000001s"),
        (".5h", 1_800, 0, "1800s"), ("1.s", 1, 0, "1s"), ("315576000000s", 315_576_000_000, 0, "315576000000s"),
        ("0.0000000009s", 0, 0, "0s"),
    ])
    func `durations are read and written`(text: String, seconds: Int64, nanoseconds: Int32, written: String) throws {
        let span = try #require(TimeSpan(text: text))
        #expect(span == TimeSpan(seconds: seconds, nanoseconds: nanoseconds))
        #expect(span.description == written)
    }

    @Test(arguments: [
        "0s", "1s", "1m", "1h", "1h30m", "1m30s", "1h5s", "90h", "1.5s", "250ms", "-2s",
        "-500ms", "3us", "1ns", "1500us", "1h1m1.000000001s", "-87660000h", "59m59.999s",
    ])
    func `durations have a brief notation`(text: String) throws {
        #expect(try #require(TimeSpan(text: text)).brief == text)
    }

    @Test(arguments: [
        "", "-", "1", "s", "1x", "1 s", "1s ", "--1s", "1d", "315576000001s", "99999999999999999999s", ".s", "1e3s",
        "1s-1s", "١s",
    ])
    func `other text is not a duration`(text: String) {
        #expect(TimeSpan(text: text) == nil)
    }

    @Test func `ranges and signs are checked`() {
        #expect(Timestamp(seconds: 253_402_300_800, nanoseconds: 0) == nil)
        #expect(Timestamp(seconds: 0, nanoseconds: -1) == nil)
        #expect(Timestamp(seconds: 0, nanoseconds: 1_000_000_000) == nil)
        #expect(TimeSpan(seconds: 1, nanoseconds: -1) == nil)
        #expect(TimeSpan(seconds: -1, nanoseconds: 1) == nil)
        #expect(TimeSpan(seconds: 0, nanoseconds: 1_000_000_000) == nil)
        #expect(TimeSpan(seconds: .min, nanoseconds: .min) == nil)
    }

    @Test func `durations convert to those of the standard library and back`() throws {
        let span = try #require(TimeSpan(text: "-1.25s"))
        #expect(span.swiftDuration == .milliseconds(-1_250))
        #expect(TimeSpan(.milliseconds(-1_250)) == span)
        #expect(TimeSpan(.seconds(1_000_000_000_000)) == nil)
        #expect(try #require(TimeSpan(text: "-1s")) < #require(TimeSpan(text: "-0.5s")))
    }
}
