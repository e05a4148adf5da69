import CommonExpression
import Foundation
import Testing

@Suite struct `The local time zone` {
    private static let database = TimeZoneDatabase(directory: "/usr/share/zoneinfo")
    /// 2026-07-01T00:00:00Z.
    private static let summer: Int64 = 1_782_864_000
    /// 2026-01-01T00:00:00Z.
    private static let winter: Int64 = 1_767_225_600

    @Test(arguments: [
        ("Europe/Berlin", 3_600, 7_200), (":Europe/Berlin", 3_600, 7_200), ("Etc/UTC", 0, 0), ("", 0, 0), (":", 0, 0),
        ("/usr/share/zoneinfo/America/New_York", -18_000, -14_400), ("CET-1CEST,M3.5.0,M10.5.0/3", 3_600, 7_200),
        ("<+0545>-5:45", 20_700, 20_700), ("EST5", -18_000, -18_000), ("Mars/Olympus", 0, 0),
        ("../../etc/passwd", 0, 0),
        ("/etc/passwd", 0, 0), ("/nonexistent", 0, 0),
    ])
    func `follows TZ like tzset`(variable: String, winter: Int64, summer: Int64) {
        let zone = LocalTimeZone(variable: variable, path: "/nonexistent", database: Self.database).offsets()
        #expect(zone.offset(at: Self.winter) == winter)
        #expect(zone.offset(at: Self.summer) == summer)
    }

    @Test func `follows the file without TZ, and its replacement`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "zone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "localtime").path
        let zone = LocalTimeZone(variable: nil, path: path, database: Self.database)
        #expect(zone.offsets().offset(at: Self.summer) == 0)
        for (name, offset) in [("Europe/Berlin", 7_200), ("Asia/Tokyo", 32_400), ("America/New_York", -14_400)] {
            // timedatectl(1) also creates a link beside the file and then replaces the file.
            try FileManager.default.createSymbolicLink(
                atPath: path + "~", withDestinationPath: "/usr/share/zoneinfo/\(name)")
            #expect(rename(path + "~", path) == 0)
            #expect(zone.offsets().offset(at: Self.summer) == Int64(offset))
            #expect(zone.offsets().offset(at: Self.summer) == Int64(offset))
        }
        try FileManager.default.removeItem(atPath: path)
        #expect(zone.offsets().offset(at: Self.summer) == 0)
    }

    /// The search finds every change of the offset, and it ends.
    @Test(arguments: [
        "Europe/Berlin", "Europe/Dublin", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca",
        "Pacific/Apia",
        "Asia/Kathmandu", "Antarctica/Troll", "America/Havana", "Etc/UTC",
    ])
    func `returns the next change of the clock`(name: String) throws {
        let zone = try Self.database.zone(named: name)
        let end: Int64 = 2_600_000_000
        var transitions: Set<Int64> = []
        var time: Int64 = 0
        while let next = zone.transition(after: time), next < end {
            #expect(next > time)
            transitions.insert(next)
            time = next
        }
        var before = zone.offset(at: 0)
        for time in stride(from: Int64(1_800), to: end, by: 1_800) {
            let offset = zone.offset(at: time)
            if offset != before {
                #expect(transitions.contains { $0 > time - 1_800 && $0 <= time }, "\(name) at \(time)")
            }
            before = offset
        }
        for transition in transitions where zone.offset(at: transition) == zone.offset(at: transition - 1) {
            // Some changes only rename the time.
            #expect(transition < 2_200_000_000)
        }
    }
}
