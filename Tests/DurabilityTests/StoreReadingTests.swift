import Durability
import Glibc
import Synchronization
import TestSupport
import Testing

extension PartStore {
    /// Looks into the store.
    fileprivate func read(_ reading: StoreReading) async throws -> StorePage {
        try await withCheckedContinuation { continuation in
            read(reading) { continuation.resume(returning: $0) }
        }.get()
    }
}

@Suite(.timeLimit(.minutes(5))) struct `A look into an open store` {
    private let files = TestStore()

    @Test func `has one part, or all in pages`() async throws {
        let store = try files.store()
        await #expect(throws: StoreTrouble.closed) { try await store.read(.check) }
        _ = try store.load()
        let names = (0..<3).map { "part-\($0)" }
        for name in names { _ = await store.put(.system(name, String(repeating: "x", count: StoreLimits.bytes))) }
        _ = await store.put(PartChange(key: PartKey(kind: 2, name: "a"), epoch: 7, phase: 1) { [65] })

        let one = try await store.read(.part(PartKey(kind: 2, name: "a")))
        #expect(one.parts.map(\.epoch) == [7])
        #expect(one.parts.map(\.phase) == [1])
        #expect(one.parts.map(\.body) == [[65]])
        #expect(try await store.read(.part(PartKey(kind: 1, name: "a"))) == StorePage())

        var found: [String] = []
        var next: PartKey?
        for number in 0..<4 {
            let page = try await store.read(.parts(after: next))
            #expect(page.parts.count == 1, "a page ends after \(StoreLimits.bytes) bytes")
            found += page.parts.map(\.key.name)
            next = page.next
            #expect((next == nil) == (number == 3))
        }
        #expect(found == names + ["a"])
        #expect(await store.closed())
        await #expect(throws: StoreTrouble.closed) { try await store.read(.check) }
    }

    @Test func `of a store in memory has the same pages`() async throws {
        let store = MemoryStore()
        _ = try store.load()
        for number in 0...StoreLimits.changes { _ = await store.put(.system("\(1_000_000 + number)", "")) }
        let first = try await store.read(.parts(after: nil))
        #expect(first.rows == StoreLimits.changes)
        let second = try await store.read(.parts(after: first.next))
        #expect(second.parts.map(\.key.name) == ["\(1_000_000 + StoreLimits.changes)"])
        #expect(second.next == nil)
        #expect(try await store.read(.check).rows == StoreLimits.changes + 1)
    }

    @Test func `finds damage that came while the store was open`() async throws {
        let store = try files.store()
        _ = try store.load()
        for number in 0..<40 {
            _ = await store.put(.system("part-\(number)", String(repeating: "\(number)", count: 2_000)))
        }
        // The next life reads the database, and no log.
        #expect(await store.closed())
        let open = try files.store()
        _ = try open.load()
        let sound = try await open.read(.check)
        #expect(sound.flaws.isEmpty)
        #expect(sound.rows == 40)

        var bytes = try TestStore.read(files.file("db"))
        // Free room in the file can have copies of the row.
        let copies = bytes.ranges(of: Array(repeating: UInt8(ascii: "7"), count: 100))
        try #require(!copies.isEmpty)
        for copy in copies { bytes[copy.lowerBound] = UInt8(ascii: "8") }
        // In place, because the store has the file open.
        let file = Glibc.open(files.file("db"), O_WRONLY)
        try #require(pwrite(file, bytes, bytes.count, 0) == bytes.count)
        close(file)

        let damaged = try await open.read(.check)
        #expect(damaged.rows == 39)
        #expect(damaged.flaws.contains { if case .row(1, "part-7", _) = $0 { true } else { false } })
        let rows = try await open.read(.part(PartKey(kind: 1, name: "part-7")))
        #expect(rows.parts.isEmpty)
        #expect(rows.flaws == [.row(kind: 1, name: "part-7", body: [])])
        #expect(await open.closed())
    }

    @Test func `waits for the commit before it, and is refused beyond a limit`() async throws {
        let store = try files.store()
        _ = try store.load()
        let held = await store.held()
        let answers = AsyncStream.makeStream(of: Result<StorePage, StoreTrouble>.self)
        for _ in 0..<StoreLimits.reads { store.read(.check) { answers.continuation.yield($0) } }
        await #expect(throws: StoreTrouble.queueFull) { try await store.read(.check) }
        // It is put before the answers, and committed after the first one at the latest.
        let outcome = Mutex<StoreOutcome?>(nil)
        store.put(.system("late", "1")) { late in outcome.withLock { $0 = late } }
        held.signal()
        var rows: [Int] = []
        for await answer in answers.stream {
            rows.append(try answer.get().rows)
            if rows.count == StoreLimits.reads { break }
        }
        #expect(rows.first == 1)
        #expect(rows.last == 2)
        #expect(await store.closed())
        #expect(outcome.withLock { $0 } == .synced)
    }

    @Test func `is refused by a store that closes, which commits all changes`() async throws {
        let store = try files.store()
        _ = try store.load()
        let held = await store.held()
        let answers = AsyncStream.makeStream(of: Result<StorePage, StoreTrouble>.self)
        for _ in 0..<2 { store.read(.check) { answers.continuation.yield($0) } }
        let outcome = Mutex<StoreOutcome?>(nil)
        store.put(.system("late", "1")) { late in outcome.withLock { $0 = late } }
        #expect(!store.close(within: .zero))
        held.signal()
        var refused = 0
        for await answer in answers.stream {
            #expect(answer == .failure(.closed))
            refused += 1
            if refused == 2 { break }
        }
        #expect(await store.closed())
        #expect(outcome.withLock { $0 } == .synced)
    }

    @Test func `tells the last commit, what waits, and how long commits took`() async throws {
        let clock = Mutex<Int64>(0)
        let store = try files.store { settings in
            settings.time = {
                let now = clock.withLock { time in
                    time += 1_000_000
                    return time
                }
                return StoreTime(wall: now + 5, boottime: now, boot: [])
            }
        }
        _ = try store.load()
        #expect(store.metrics.lastCommit == nil)
        #expect(store.metrics.durations.bound(of: 0.5) == nil)
        _ = await store.put(.system("a", "1"))
        let metrics = store.metrics
        #expect(metrics.lastCommit != nil)
        #expect(metrics.pending == 0)
        #expect(metrics.durations.total == 1_000_000)
        #expect(metrics.durations.bound(of: 0.5) == 1 << 20, "the lowest bound above 1 ms")
        #expect(await store.closed())
    }

    @Test func `counts times in classes`() {
        var durations = CommitDurations()
        for time: Int64 in [-1, 0, 1 << 16, 1 << 16 + 1, 1 << 35, 1 << 35 + 1, Int64.max / 2] { durations.add(time) }
        #expect(durations.counts.first == 3)
        #expect(durations.counts[1] == 1)
        #expect(durations.counts[CommitDurations.bounds.count - 1] == 1)
        #expect(durations.counts.last == 2)
        #expect(durations.bound(of: 3.0 / 7) == 1 << 16)
        #expect(durations.bound(of: 4.0 / 7) == 1 << 17)
        #expect(durations.bound(of: 1) == nil, "longer than the last bound")
    }
}
