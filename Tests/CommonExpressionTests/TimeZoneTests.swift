import CommonExpression
import Foundation
import Testing

private enum ZoneFiles {
    static var areInstalled: Bool { FileManager.default.isReadableFile(atPath: "/usr/share/zoneinfo/Europe/Berlin") }
}

@Suite("Time zones", .enabled(if: ZoneFiles.areInstalled, "tzdata is not installed"))
struct TimeZoneTests {

    @Test(arguments: [
        ("timestamp('2026-03-29T00:59:59Z').getHours('Europe/Berlin')", 1),
        ("timestamp('2026-03-29T01:00:00Z').getHours('Europe/Berlin')", 3),
        ("timestamp('2026-10-25T00:59:59Z').getHours('Europe/Berlin')", 2),
        ("timestamp('2026-10-25T01:00:00Z').getHours('Europe/Berlin')", 2),
        ("timestamp('2500-07-01T12:00:00Z').getHours('Europe/Berlin')", 14),
        ("timestamp('2500-01-01T12:00:00Z').getHours('Australia/Sydney')", 23),
        ("timestamp('2500-07-01T12:00:00Z').getHours('Australia/Sydney')", 22),
        ("timestamp('1800-01-01T12:00:00Z').getMinutes('Europe/Berlin')", 53),
        ("timestamp('2009-02-13T23:31:30Z').getDate('Australia/Sydney')", 14),
        ("timestamp('2009-02-13T23:31:30Z').getMinutes('Asia/Kathmandu')", 16),
        ("timestamp('2026-01-01T04:00:00Z').getFullYear('America/New_York')", 2025),
        ("timestamp('2026-07-01T00:00:00Z').getHours('Africa/Casablanca')", 1),
        ("timestamp('2026-07-01T00:00:00Z').getHours('Etc/GMT+5')", 19),
        ("timestamp('9999-12-31T23:59:59Z').getHours('America/Los_Angeles')", 15),
        ("timestamp('0001-01-01T00:00:00Z').getDayOfYear('Asia/Tokyo')", 0),
    ])
    func `local time follows the database`(source: String, expected: Int64) throws {
        #expect(try Fixture.program(source).evaluate(Fixture.values()) == .int(expected))
        // The same with a zone that is no constant.
        let dynamic = source.replacingOccurrences(of: "('", with: "(state.name.substring(6) + '")
        let inner = dynamic.replacingOccurrences(of: "timestamp(state.name.substring(6) + '", with: "timestamp('")
        #expect(try Fixture.program(inner).evaluate(Fixture.values()) == .int(expected))
    }

    @Test(arguments: [
        "../../etc/passwd", "/etc/passwd", "Europe/../Europe/Berlin", "Europe", "", "Europe/", "Europe//Berlin",
        "zone1970.tab", "leapseconds", "Mars/Base", "posixrules\u{0}", "right/UTC",
    ])
    func `a name that is no zone is an error`(name: String) throws {
        let values = Fixture.values(reason: name)
        let failure = try Fixture.failure("now.getHours(event.reason)", values)
        #expect(failure.hasPrefix("invalidArgument at now.getHours(event.reason): the time zone "))
    }

    @Test func `the whole database agrees with another reader of it`() throws {
        let program = try Fixture.program(
            "anything.getHours(event.reason) * 3600 + anything.getMinutes(event.reason) * 60 + anything.getSeconds(event.reason)"
        )
        var checked = 0
        for name in ["Europe/London", "America/Sao_Paulo", "Asia/Tehran", "Pacific/Apia", "Europe/Dublin", "Asia/Gaza"]
        {
            let found = TimeZone(identifier: name)
            let zone = try #require(found)
            for month in 0..<840 {
                let seconds = Int64(month) * 2_629_746 + 12_345
                let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
                let time = try #require(Timestamp(seconds: seconds, nanoseconds: 0))
                let value = try program.evaluate(Fixture.values(reason: name, anything: .timestamp(time)))
                #expect(value == .int(Int64(Int(seconds) + offset + 86_400) % 86_400), "\(name) \(time)")
                checked += 1
            }
        }
        #expect(checked == 5_040)
    }
}
