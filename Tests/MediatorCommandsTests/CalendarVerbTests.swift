import MediatorCommands
import StrictJSON
import Testing
import Varlink

@Suite struct `mediatorctl calendar` {
    @Test func `shows the normal form and the next times, in the zone of the expression or of TZ`() async {
        let result = await Bench.run(
            [
                "calendar", "Mon..Fri 8:00", "daily America/New_York", "--iterations", "2", "--base-time",
                "2026-12-24T12:00:00Z",
            ], variables: ["TZ": "Europe/Berlin"])
        #expect(result.status == .success)
        #expect(
            result.output == """
                Mon..Fri 8:00
                  normal form  Mon..Fri *-*-* 08:00:00
                  next         Fri 2026-12-25 08:00:00 +01:00 (19 h later)
                               Mon 2026-12-28 08:00:00 +01:00 (4 d later)

                daily America/New_York
                  normal form  *-*-* 00:00:00 America/New_York
                  next         Fri 2026-12-25 00:00:00 -05:00 (17 h later)
                               Sat 2026-12-26 00:00:00 -05:00 (41 h later)

                """)
    }

    @Test(arguments: [
        ("25T07:59:01", "59 s"), ("25T07:58:30", "2 min"), ("25T07:00:31", "59 min"), ("25T07:00:30", "1 h"),
        ("25T06:30:01", "1 h"), ("25T06:01:00", "2 h"), ("23T08:30:01", "47 h"), ("23T08:30:00", "2 d"),
        ("20T08:00:01", "5 d"),
    ])
    func `rounds the time until then to the nearest`(base: String, distance: String) async {
        let result = await Bench.run(
            ["calendar", "2026-12-25 8:00 UTC", "--base-time", "2026-12-\(base)Z"], variables: ["TZ": "UTC"])
        #expect(result.output.hasSuffix(" (\(distance) later)\n"))
    }

    @Test func `tells programs the same, in UTC and locally, to the microsecond`() async throws {
        let result = await Bench.run(
            ["calendar", "--json", "--base-time", "2026-12-24T12:00:00Z", "*:*:0/0.25"],
            variables: ["TZ": "<+0545>-5:45"])
        #expect(result.status == .success)
        let calendar: JSONValue = [
            "expression": "*:*:0/0.25", "normalForm": "*-*-* *:*:00/0.250000",
            "next": [["time": "2026-12-24T12:00:00.25Z", "local": "Thu 2026-12-24 17:45:00.25 +05:45"]],
        ]
        #expect(try JSONValue(parsing: result.output) == ["calendars": [calendar]])
    }

    @Test func `shows where an expression is wrong, and goes on with the others`() async {
        let result = await Bench.run(
            ["calendar", "10:00 Mars/Olympus", "daily", "02-30"], variables: ["TZ": "UTC"])
        #expect(result.status == .refused)
        #expect(
            result.error == """
                1:7: error: there is no time zone 'Mars/Olympus' [invalid-calendar-time]
                  10:00 Mars/Olympus
                        ^~~~~~~~~~~~
                  hint: write UTC, or a name such as Europe/Berlin, as the time zone database has it

                """)
        #expect(result.output.hasPrefix("daily\n  normal form  *-*-* 00:00:00\n  next         "))
        #expect(result.output.hasSuffix("02-30\n  normal form  *-02-30 00:00:00\n  next         never\n"))
    }

    @Test(arguments: [
        ["calendar"], ["calendar", "daily", "--iterations", "0"], ["calendar", "daily", "--iterations", "1001"],
        ["calendar", "daily", "--base-time", "tomorrow"],
    ])
    func `a wrong command line ends with 2`(arguments: [String]) async {
        let result = await Bench.run(arguments)
        #expect(result.status == .usage)
        #expect(result.output.isEmpty && !result.error.isEmpty)
    }
}
