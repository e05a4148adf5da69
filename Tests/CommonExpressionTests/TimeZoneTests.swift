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
        // The same test with a zone that is not a constant.
        let dynamic = source.replacingOccurrences(of: "('", with: "(state.name.substring(6) + '")
        let inner = dynamic.replacingOccurrences(of: "timestamp(state.name.substring(6) + '", with: "timestamp('")
        #expect(try Fixture.program(inner).evaluate(Fixture.values()) == .int(expected))
    }

    @Test(arguments: [
        "../../etc/passwd", "/etc/passwd", "Europe/../Europe/Berlin", "Europe", "", "Europe/", "Europe//Berlin",
        "zone1970.tab", "leapseconds", "Mars/Base", "posixrules\u{0}", "right/UTC",
    ])
    func `an unknown zone name is an error`(name: String) throws {
        let values = Fixture.values(reason: name)
        let failure = try Fixture.failure("now.getHours(event.reason)", values)
        #expect(failure.hasPrefix("invalidArgument at now.getHours(event.reason): the time zone "))
    }

    @Test func `a message says that the database is missing`() {
        let database = TimeZoneDatabase(directory: "/nonexistent/zoneinfo")
        #expect(throws: TimeZoneDatabase.Failure.missing(directory: "/nonexistent/zoneinfo")) {
            try database.zone(named: "Europe/Berlin")
        }
    }

    @Test func `a damaged file gives an error or offsets in range`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "zones-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let whole = try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin"))
        var generator = Xorshift(state: 99)
        var (damaged, read) = (0, 0)
        for turn in 0..<1_000 {
            var data = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                // The headers and the footer are chosen more often than the rest.
                let place = [
                    Int.random(in: 0..<44, using: &generator), Int.random(in: 0..<data.count, using: &generator),
                    data.count - 1 - Int.random(in: 0..<30, using: &generator),
                ].randomElement(using: &generator)
                data[place ?? 0] = UInt8.random(in: 0...255, using: &generator)
            }
            if turn % 7 == 0 { data = data.prefix(Int.random(in: 0..<data.count, using: &generator)) }
            try data.write(to: directory.appending(path: "Zone"))
            // A separate database for each file, because a database keeps files after reading.
            let database = TimeZoneDatabase(directory: directory.path)
            do throws(TimeZoneDatabase.Failure) {
                let zone = try database.zone(named: "Zone")
                for seconds in [Timestamp.firstSecond, -1, 0, 1_700_000_000, Timestamp.lastSecond] {
                    #expect(zone.offset(at: seconds).magnitude <= 168 * 3_600)
                }
                read += 1
            } catch {
                #expect(error == .malformed)
                damaged += 1
            }
        }
        #expect(damaged > 0 && read > 0)
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
