import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `Calendar times` {
    /// The examples of systemd.time(7), and what `systemd-analyze calendar` of systemd 252 and 257 makes of others.
    static let normalForms = [
        ("Sat,Thu,Mon..Wed,Sat..Sun", "Mon..Thu,Sat,Sun *-*-* 00:00:00"),
        ("Sat,Thu,Mon-Wed,Sat-Sun", "Mon..Thu,Sat,Sun *-*-* 00:00:00"),
        ("Mon,Sun 12-*-* 2,1:23", "Mon,Sun 2012-*-* 01,02:23:00"), ("Wed *-1", "Wed *-*-01 00:00:00"),
        ("Wed..Wed,Wed *-1", "Wed *-*-01 00:00:00"), ("Wed, 17:48", "Wed *-*-* 17:48:00"),
        ("Wed..Sat,Tue 12-10-15 1:2:3", "Tue..Sat 2012-10-15 01:02:03"), ("*-*-7 0:0:0", "*-*-07 00:00:00"),
        ("10-15", "*-10-15 00:00:00"), ("monday *-12-* 17:00", "Mon *-12-* 17:00:00"),
        ("Mon,Fri *-*-3,1,2 *:30:45", "Mon,Fri *-*-01,02,03 *:30:45"),
        ("12,14,13,12:20,10,30", "*-*-* 12,13,14:10,20,30:00"), ("12..14:10,20,30", "*-*-* 12..14:10,20,30:00"),
        ("mon,fri *-1/2-1,3 *:30:45", "Mon,Fri *-01/2-01,03 *:30:45"), ("03-05 08:05:40", "*-03-05 08:05:40"),
        ("08:05:40", "*-*-* 08:05:40"), ("05:40", "*-*-* 05:40:00"),
        ("Sat,Sun 12-05 08:05:40", "Sat,Sun *-12-05 08:05:40"), ("Sat,Sun 08:05:40", "Sat,Sun *-*-* 08:05:40"),
        ("2003-03-05 05:40", "2003-03-05 05:40:00"),
        ("05:40:23.4200004/3.1700005", "*-*-* 05:40:23.420000/3.170001"),
        ("2003-02..04-05", "2003-02..04-05 00:00:00"), ("2003-03-05 05:40 UTC", "2003-03-05 05:40:00 UTC"),
        ("2003-03-05", "2003-03-05 00:00:00"), ("03-05", "*-03-05 00:00:00"), ("hourly", "*-*-* *:00:00"),
        ("daily", "*-*-* 00:00:00"), ("daily UTC", "*-*-* 00:00:00 UTC"), ("monthly", "*-*-01 00:00:00"),
        ("weekly", "Mon *-*-* 00:00:00"), ("weekly Pacific/Auckland", "Mon *-*-* 00:00:00 Pacific/Auckland"),
        ("yearly", "*-01-01 00:00:00"), ("annually", "*-01-01 00:00:00"), ("*:2/3", "*-*-* *:02/3:00"),
        ("minutely", "*-*-* *:*:00"), ("quarterly", "*-01,04,07,10-01 00:00:00"),
        ("semi-annually", "*-01,07-01 00:00:00"), ("Bi-Annually", "*-01,07-01 00:00:00"),
        ("2015-10-25 01:00:00 uTc", "2015-10-25 01:00:00 UTC"),
        ("2016-03-27 03:17:00.4200005", "2016-03-27 03:17:00.420001"),
        ("2016-03-27 03:17:00/0.42", "2016-03-27 03:17:00/0.420000"), ("9..11,13:00,30", "*-*-* 09..11,13:00,30:00"),
        ("1..3-1..3 1..3:1..3", "*-01..03-01..03 01..03:01..03:00"),
        ("00:00:1.125..2.125", "*-*-* 00:00:01.125000..02.125000"), ("00:00:1.0..3.8", "*-*-* 00:00:01..03"),
        ("*-*~1 Utc", "*-*~01 00:00:00 UTC"), ("*-*~05,3 ", "*-*~03,05 00:00:00"), ("*-*~* 00:00:00", "*-*-* 00:00:00"),
        ("Monday", "Mon *-*-* 00:00:00"), ("Monday *-*-*", "Mon *-*-* 00:00:00"), ("*-*-*", "*-*-* 00:00:00"),
        ("*:*:*", "*-*-* *:*:*"), ("*-*-* *:*:0/0.5", "*-*-* *:*:00/0.500000"),
        ("9:00:0..10/5", "*-*-* 09:00:00..10/5"),
        ("9:00:0..59", "*-*-* 09:00:00..59"), ("2020..2030/3-1-1", "2020..2029/3-01-01 00:00:00"),
        ("*-*~7/1", "*-*~07/1 00:00:00"), ("70-1-1", "1970-01-01 00:00:00"), ("1..3/5:00", "*-*-* 01:00:00"),
        ("Mon..Sun 10:00", "*-*-* 10:00:00"), ("5..5:00", "*-*-* 05:00:00"),
    ]

    @Test(arguments: normalForms)
    func `has a normal form, which means the same`(text: String, expected: String) throws {
        let expression = try CalendarExpression(text)
        #expect(expression.description == expected)
        #expect(try CalendarExpression(expected) == expression)
    }

    static let nextTimes = [
        ("2016-03-27 03:17:00", "UTC", "1970-01-01T00:00:00Z", "2016-03-27T03:17:00Z"),
        ("2016-03-27 03:17:00", "Europe/Berlin", "1970-01-01T00:00:00Z", "2016-03-27T01:17:00Z"),
        // The clock skips that time.
        ("2016-03-27 03:17:00", "Europe/Helsinki", "1970-01-01T00:00:00Z", nil),
        ("2016-03-27 03:17:00 UTC", "Europe/Helsinki", "1970-01-01T00:00:00Z", "2016-03-27T03:17:00Z"),
        ("2016-03-27 03:17:00.4200005 UTC", "UTC", "1970-01-01T00:00:00Z", "2016-03-27T03:17:00.420001Z"),
        ("2015-11-13 09:11:23.42/1.77", "UTC", "2015-11-13T09:11:23.42Z", "2015-11-13T09:11:25.19Z"),
        ("2015-11-13 09:11:23.42/1.77", "UTC", "2015-11-13T09:11:23.419999Z", "2015-11-13T09:11:23.42Z"),
        ("*-04-31", "UTC", "1970-01-01T00:00:00Z", nil), ("2020-01-01", "UTC", "2020-01-01T00:00:00Z", nil),
        ("*-02-29", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"),
        ("2016-02~01 UTC", "UTC", "1970-01-01T00:00:00Z", "2016-02-29T00:00:00Z"),
        ("Mon 2017-05~01..07 UTC", "UTC", "1970-01-01T00:00:00Z", "2017-05-29T00:00:00Z"),
        ("Mon *-05~07/1", "UTC", "2017-01-01T00:00:00Z", "2017-05-29T00:00:00Z"),
        ("*-02~03", "UTC", "2023-01-01T00:00:00Z", "2023-02-26T00:00:00Z"),
        ("Mon..Fri 08:00", "UTC", "2026-11-21T00:00:00Z", "2026-11-23T08:00:00Z"),
        // Forward: 02:30 does not come that day; what is due each half hour goes on behind the gap.
        ("02:30", "Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-30T00:30:00Z"),
        ("*:0/30", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"),
        ("*:0/15", "Australia/Lord_Howe", "2026-10-03T15:15:00Z", "2026-10-03T15:30:00Z"),
        // A midnight that is skipped.
        ("daily", "America/Santiago", "2026-09-05T04:00:00Z", "2026-09-07T03:00:00Z"),
        // A whole day that is skipped.
        ("daily", "Pacific/Apia", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"),
        // Back: what comes twice is taken the first time.
        ("02:30", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
        ("02:30", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
        ("hourly", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"),
        // A caller within the second time gets that one.
        ("*:0/30", "Europe/Berlin", "2026-10-25T01:15:00Z", "2026-10-25T01:30:00Z"),
    ]

    @Test(arguments: nextTimes)
    func `comes next`(text: String, zone: String, after: String, expected: String?) throws {
        let zone = try TimeZoneDatabase(directory: "/usr/share/zoneinfo").zone(named: zone == "UTC" ? "Etc/UTC" : zone)
        let next = try CalendarExpression(text).next(after: #require(Timestamp(rfc3339: after)), in: zone)
        #expect(next?.description == expected)
    }

    static let problems = [
        ("", "a calendar time is empty", 0..<0), ("   ", "a calendar time is empty", 0..<3),
        ("test", "'test' is no calendar time", 0..<4), ("dayly", "'dayly' is no calendar time", 0..<5),
        ("7", "this is neither a date nor a time of day", 0..<1),
        ("Mon 10", "this is neither a date nor a time of day", 4..<6),
        ("121212:1:2", "the hour is from 0 to 23, not 121212", 0..<6),
        ("25:00", "the hour is from 0 to 23, not 25", 0..<2),
        ("Mon 10:60", "the minute is from 0 to 59, not 60", 7..<9),
        ("10:00:60", "the second is from 0 to 59, not 60", 6..<8),
        ("*-13-01", "the month is from 1 to 12, not 13", 2..<4), ("*-*-32", "the day is from 1 to 31, not 32", 4..<6),
        ("*-*~29", "the day before the end of the month is from 1 to 28, not 29", 4..<6),
        ("2200-1-1", "the year is from 1970 to 2199, not 2200", 0..<4),
        ("2000-03-05.23 00:00:00", "'.' stands where a space is expected", 10..<11),
        ("2000-03-05 00:00.1:00", "'.' stands where ':' or the end is expected", 16..<17),
        ("00:00:00/0.00000001", "a repetition cannot be 0", 9..<19), ("0/0:00", "a repetition cannot be 0", 2..<3),
        ("00:00:50/10", "the repetition leads out of the seconds, so that there would be none", 6..<11),
        ("2016~11-22", "'-' stands where a space is expected", 7..<8),
        (
            "*-*~5/5", "the repetition leads out of the day before the end of the months, so that there would be none",
            4..<7
        ),
        ("*/2:00", "'/' stands where the end of '*' is expected", 1..<2),
        ("5..2:00", "this range ends before it begins", 0..<4),
        ("Fri..Mon 10:00", "a range of days ends before it begins; the week begins on Monday", 0..<8),
        ("Mon.. 10:00", "' ' stands where a day of the week is expected", 5..<6),
        ("Mom 10:00", "'Mom' is no day of the week", 0..<3),
        ("Mon, Fri 10:00", "'F' stands where a number is expected", 5..<6),
        ("10:00 Mon", "days of the week stand in front, without spaces between them", 6..<9),
        ("10:00 Mars/Olympus", "there is no time zone 'Mars/Olympus'", 6..<18),
        ("10:00 ../../etc/passwd", "' ' stands where ':' or the end is expected", 5..<6),
        ("10", "this is neither a date nor a time of day", 0..<2), ("10:", "a number is missing at the end", 3..<3),
        ("10:00é", "'é' stands where ':' or the end is expected", 5..<7),
        ("1234567890:00", "this number is too large", 0..<10),
    ]

    @Test(arguments: problems)
    func `is refused with what is wrong, and where`(text: String, message: String, range: Range<Int>) {
        do throws(CalendarProblem) {
            let expression = try CalendarExpression(text)
            Issue.record("\(text) is \(expression)")
        } catch {
            #expect(error.message == message)
            #expect(error.range == range)
        }
    }

    @Test func `has bounds: a list, its text and the search`() throws {
        let list = (0..<241).map { "\($0 % 60)" }.joined(separator: ",")
        #expect(throws: CalendarProblem.self) { try CalendarExpression("*:" + list) }
        #expect(throws: CalendarProblem.self) { try CalendarExpression(String(repeating: "1", count: 5_000)) }
        let zone = try TimeZoneDatabase(directory: "/usr/share/zoneinfo").zone(named: "Africa/Casablanca")
        // The last point in time there is, and none behind it.
        let last = try CalendarExpression("2199-12-31 23:59:59.999999")
        let first = try #require(last.next(after: Timestamp(seconds: 0, nanoseconds: 0) ?? .epoch, in: zone))
        #expect(last.next(after: first, in: zone) == nil)
        #expect(try CalendarExpression("*:*:*").next(after: first, in: zone) == nil)
    }

    /// Random texts of the characters that calendar times are made of.
    @Test func `nothing that is written makes it fail other than by saying so`() {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func random(_ count: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(count))
        }
        let pieces = [
            "*", "-", "~", ":", "/", ",", "..", ".", " ", "0", "1", "5", "12", "31", "59", "2026", "Mon", "fri", "UTC",
            "é",
            "Europe/Berlin", "daily", "99999999",
        ]
        var accepted = 0
        for _ in 0..<20_000 {
            let text = (0..<(1 + random(9))).map { _ in pieces[random(pieces.count)] }.joined()
            do throws(CalendarProblem) {
                let expression = try CalendarExpression(text)
                accepted += 1
                #expect((try? CalendarExpression(expression.description)) == expression, "\(text)")
                var time = Timestamp.epoch
                for _ in 0..<3 {
                    guard let next = expression.next(after: time, in: .utc) else { break }
                    #expect(next > time)
                    time = next
                }
            } catch {
                #expect(error.range.lowerBound <= error.range.upperBound && error.range.upperBound <= text.utf8.count)
            }
        }
        #expect(accepted > 300)
    }
}
