import CommonExpression
import Glibc
import MediatorConfiguration
import MediatorDaemon
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct `The calendar's alarm` {
    private static func now() throws -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return try #require(Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec)))
    }

    private static func later(_ span: Duration) throws -> Timestamp { try #require(try now().advanced(by: span)) }

    @Test func `wakes when the time has come, and at once where it has passed`() async throws {
        let alarm = try #require(CalendarAlarm())
        let due = try Self.later(.milliseconds(30))
        try await alarm.sleep(until: due)
        #expect(try Self.now() >= due)
        try await alarm.sleep(until: due)
        try await alarm.sleep(until: .epoch)
        #expect(alarm.waiting == 0)
    }

    @Test func `wakes each in time, whoever came first`() async throws {
        let alarm = try #require(CalendarAlarm())
        let base = try Self.later(.milliseconds(20))
        let late = try await withThrowingTaskGroup(of: Bool.self) { group in
            for step in [9, 3, 7, 1, 5, 8, 2, 6, 4, 0] {
                let due = try #require(base.advanced(by: .milliseconds(5 * step)))
                group.addTask {
                    try await alarm.sleep(until: due)
                    return try Self.now() < due
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(late == 0)
        #expect(alarm.waiting == 0)
    }

    @Test func `wakes everybody when the clock has been set, and who is cancelled`() async throws {
        let alarm = try #require(CalendarAlarm())
        let far = try Self.later(.seconds(1_000_000))
        let sleepers = (0..<20).map { _ in Task { try await alarm.sleep(until: far) } }
        await suspend(while: alarm.waiting < 20)
        for sleeper in sleepers.prefix(10) {
            sleeper.cancel()
            await #expect(throws: CancellationError.self) { try await sleeper.value }
        }
        #expect(alarm.waiting == 10)
        alarm.wake(all: false)
        #expect(alarm.waiting == 10)
        alarm.wake(all: true)
        for sleeper in sleepers.dropFirst(10) { try await sleeper.value }
        #expect(alarm.waiting == 0)
        let cancelled = Task {
            while !Task.isCancelled { await Task.yield() }
            try await alarm.sleep(until: far)
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    /// As the process's own table of descriptors shows.
    @Test func `is the kernel's timer by the calendar, which tells too when the clock is set`() async throws {
        func timers() throws -> Int {
            var count = 0
            let directory = try #require(opendir("/proc/self/fd"))
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                let name = DirectoryEntry.name(of: entry)
                var text = [CChar](repeating: 0, count: 256)
                let length = readlink("/proc/self/fd/\(name)", &text, 255)
                guard length > 0 else { continue }
                let target = String(decoding: text.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
                guard target.contains("timerfd"), let file = fopen("/proc/self/fdinfo/\(name)", "r") else { continue }
                defer { fclose(file) }
                var line = [CChar](repeating: 0, count: 256)
                while fgets(&line, 256, file) != nil {
                    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                    // 0: CLOCK_REALTIME; 03: absolute, and told when the clock is set.
                    if text.hasPrefix("clockid: 0") { count += 1 }
                    if text.hasPrefix("settime flags: 03"), count > 0 { return count }
                }
            }
            return 0
        }
        let alarm = try #require(CalendarAlarm())
        let far = try Self.later(.seconds(1_000_000))
        let sleepers = (0..<100).map { _ in Task { try await alarm.sleep(until: far) } }
        await suspend(while: alarm.waiting < 100)
        #expect(try timers() >= 1)
        for sleeper in sleepers { sleeper.cancel() }
        for sleeper in sleepers { _ = await sleeper.result }
        #expect(alarm.waiting == 0)
    }
}
