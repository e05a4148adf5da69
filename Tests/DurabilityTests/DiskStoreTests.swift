import Durability
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A store on the disk` {
    private let files = TestStore()

    @Test func `is empty when it is new`() async throws {
        let contents = try await files.contents()
        #expect(contents.parts.isEmpty)
        #expect(contents.flaws.isEmpty)
        #expect(contents.life == 1)
        #expect(contents.head.isClean)
        #expect(try await files.contents().head.store == contents.head.store)
    }

    @Test func `returns what was put, with all fields`() async throws {
        let store = try files.store()
        _ = try store.load()
        #expect(await store.put(.system("a", "one", epoch: 1 << 32 | 7, phase: 3)) == .synced)
        let bus = PartChange(key: PartKey(kind: 2, name: "a"), epoch: UInt64.max >> 8) { [] }
        #expect(await store.put(bus) == .synced)
        #expect(await store.put(.system("ü'\"\u{0}", "two")) == .synced)
        #expect(await store.closed())

        let contents = try await files.contents()
        #expect(contents.flaws.isEmpty)
        #expect(contents.parts.map(\.key.name) == ["a", "ü'\"\u{0}", "a"])
        #expect(contents.parts.map(\.key.kind) == [1, 1, 2])
        #expect(contents.parts.map(\.epoch) == [1 << 32 | 7, 1, UInt64.max >> 8])
        #expect(contents.parts.map(\.phase) == [3, 0, 0])
        #expect(contents.parts.map(\.order) == [1, 3, 2])
        #expect(contents.parts.map(\.body) == [Array("one".utf8), Array("two".utf8), []])
        #expect(contents.head.rows == 3)
        #expect(contents.head.isClean)
    }

    @Test func `replaces and removes parts`() async throws {
        let store = try files.store()
        _ = try store.load()
        for change in [
            PartChange.system("a", "1"), .system("b", "1"), .system("a", "2"), .removal("b"), .removal("c"),
        ] {
            #expect(await store.put(change) == .synced)
        }
        #expect(await store.closed())
        let contents = try await files.contents()
        #expect(contents.bodies == ["a": "2"])
        #expect(contents.flaws.isEmpty)
    }

    @Test func `takes no change of an earlier incarnation, also after a removal`() async throws {
        let store = try files.store()
        _ = try store.load()
        #expect(await store.put(.system("a", "new", epoch: 2)) == .synced)
        #expect(await store.put(.system("a", "old", epoch: 1)) == .refused(.superseded))
        #expect(await store.put(.system("a", "newer", epoch: 2)) == .synced)
        #expect(await store.put(.removal("a", epoch: 3)) == .synced)
        #expect(await store.put(.system("a", "old", epoch: 2)) == .refused(.superseded))
        #expect(await store.put(.system("b", "b")) == .synced)
        #expect(await store.closed())
        #expect(try await files.contents().bodies == ["b": "b"])
    }

    @Test func `counts lives, so that no two have the same epoch`() async throws {
        var epochs: [UInt64] = []
        for number in 1...3 {
            let store = try files.store()
            let contents = try store.load()
            #expect(contents.life == UInt64(number))
            epochs.append(contents.epoch(incarnation: 5))
            #expect(await store.put(.system("a", "\(number)", epoch: contents.epoch(incarnation: 5))) == .synced)
            #expect(await store.closed())
        }
        #expect(epochs == [1 << 32 | 5, 2 << 32 | 5, 3 << 32 | 5])
        #expect(try await files.contents().bodies == ["a": "3"])
    }

    @Test func `counts the starts that did not become ready`() async throws {
        for expected in [0, 1, 2] as [UInt64] {
            let store = try files.store()
            let contents = try store.load()
            #expect(contents.head.starts == expected)
            #expect(contents.life == expected + 1)
            #expect(await store.mark(.started) == .synced)
            #expect(await store.closed())
        }
        let store = try files.store()
        _ = try store.load()
        #expect(await store.mark(.started) == .synced)
        #expect(await store.mark(.ready) == .synced)
        #expect(await store.closed())
        #expect(try await files.contents().head.starts == 0)
    }

    @Test func `notes the clocks, and whether the last life closed it`() async throws {
        let time = StoreTime(wall: 1, boottime: 2, boot: Array(0..<16))
        let store = try files.store { $0.time = { time } }
        _ = try store.load()
        #expect(await store.put(.system("a", "1")) == .synced)
        let image = try files.image()
        #expect(await store.closed())
        #expect(try await files.contents().head.time == time)
        try files.restore(image)
        let contents = try await files.contents()
        #expect(!contents.head.isClean)
        #expect(contents.bodies == ["a": "1"])
    }

    @Test func `keeps ten thousand parts`() async throws {
        let store = try files.store()
        _ = try store.load()
        let outcomes = await store.put((0..<10_000).map { .system("system-\($0)", "{\"state\":\($0)}") })
        #expect(outcomes.allSatisfy { $0.outcome == .synced })
        #expect(outcomes.map(\.number) == Array(0..<10_000))
        #expect(store.metrics.commits >= 10)
        #expect(store.metrics.errors == 0)
        #expect(await store.closed())
        let contents = try await files.contents()
        #expect(contents.flaws.isEmpty)
        #expect(contents.bodies["system-9999"] == "{\"state\":9999}")
        #expect(contents.parts.count == 10_000)
    }

    @Test func `reports outcomes in order, from many threads at once`() async throws {
        let store = try files.store()
        _ = try store.load()
        let seen = Mutex<[Int: [Int]]>([:])
        await onThreads(4) { thread in
            for number in 0..<250 {
                store.put(.system("\(thread)", "\(number)")) { outcome in
                    guard outcome == .synced else { return }
                    seen.withLock { $0[thread, default: []].append(number) }
                }
            }
        }
        #expect(await store.closed())
        for thread in 0..<4 { #expect(seen.withLock { $0[thread] } == Array(0..<250)) }
        #expect(try await files.contents().bodies == ["0": "249", "1": "249", "2": "249", "3": "249"])
    }

    @Test func `commits at most a thousand changes or a MiB at once`() async throws {
        let store = try files.store()
        _ = try store.load()
        let held = await store.held()
        for number in 0..<2_000 { store.put(.system("\(number)", "x")) { _ in } }
        let large = String(repeating: "x", count: 300_000)
        for number in 0..<8 { store.put(.system("large-\(number)", large)) { _ in } }
        #expect(store.metrics.pendingSince != nil)
        held.signal()
        #expect(await store.closed())
        // The first change; two thousands; four large ones, of which the last passes 1 MiB; the other four.
        #expect(store.metrics.commits == 5)
        #expect(store.metrics.pendingSince == nil)
    }

    @Test func `refuses a body that is too large, and takes the others`() async throws {
        let store = try files.store()
        _ = try store.load()
        let large = PartChange(key: PartKey(kind: 1, name: "large"), epoch: 1) {
            [UInt8](repeating: 0, count: StoreLimits.body + 1)
        }
        let outcomes = await store.put([.system("a", "1"), large, .system("b", "1")])
        #expect(outcomes.map(\.outcome) == [.synced, .refused(.tooLarge), .synced])
        #expect(await store.closed())
    }

    @Test func `refuses what does not fit its limit, and goes on when there is room`() async throws {
        let store = try files.store { $0.limit = 1 << 20 }
        _ = try store.load()
        let large = String(repeating: "x", count: 600_000)
        #expect(await store.put(.system("a", large)) == .synced)
        #expect(await store.put(.system("b", large)) == .refused(.full))
        #expect(store.metrics.errors == 1)
        #expect(await store.put(.system("c", "small")) == .synced)
        #expect(await store.put(.removal("a")) == .synced)
        #expect(await store.put(.system("b", large)) == .synced)
        #expect(await store.closed())
        let contents = try await files.contents()
        #expect(contents.bodies == ["b": large, "c": "small"])
        #expect(contents.flaws.isEmpty)
        #expect(files.failures.withLock { $0.isEmpty })
    }

    @Test func `takes what it can of a batch that does not fit as a whole`() async throws {
        let store = try files.store { $0.limit = 1 << 20 }
        _ = try store.load()
        #expect(await store.put(.system("old", "1")) == .synced)
        let held = await store.held()
        let changes: [PartChange] = [
            .system("larger", String(repeating: "x", count: 1_040_000)), .system("small", "1"), .removal("old"),
            .system("large", String(repeating: "x", count: 900_000)),
        ]
        let outcomes = await store.put(changes) { held.signal() }
        #expect(outcomes.map(\.number) == [0, 1, 2, 3])
        #expect(outcomes.map(\.outcome) == [.refused(.full), .synced, .synced, .synced])
        #expect(await store.closed())
        #expect(try await files.contents().bodies.keys.sorted() == ["held", "large", "small"])
    }

    @Test func `takes a bounded number of changes while it waits for the disk`() async throws {
        let store = try files.store()
        _ = try store.load()
        let held = await store.held()
        let seen = Mutex<[StoreOutcome: Int]>([:])
        for _ in 0..<StoreLimits.queue {
            store.put(.system("a", "1")) { outcome in seen.withLock { $0[outcome, default: 0] += 1 } }
        }
        #expect(seen.withLock { $0 } == [.refused(.queueFull): 1])
        held.signal()
        #expect(await store.closed())
        #expect(seen.withLock { $0 } == [.refused(.queueFull): 1, .synced: StoreLimits.queue - 1])
    }

    @Test func `releases what it was given without its lock`() async throws {
        let store = try files.store()
        _ = try store.load()
        for _ in 0..<100 {
            let looker = Looker(at: store)
            store.put(looker.change) { _ in _ = looker.keep(1) }
        }
        #expect(await store.closed())
        #expect(store.metrics.pendingSince == nil)
    }

    @Test func `is not closed at a limit, and later is`() async throws {
        let store = try files.store()
        _ = try store.load()
        let held = await store.held()
        #expect(!store.close(within: .zero))
        #expect(await store.put(.system("a", "1")) == .refused(.closed))
        held.signal()
        #expect(await store.closed())
        #expect(try await files.contents().bodies == ["held": ""])
    }

    @Test func `moves a long log into the database by itself`() async throws {
        // An idle store would empty the log.
        let store = try files.store { $0.idle = .seconds(3_600) }
        _ = try store.load()
        let body = String(repeating: "x", count: 900_000)
        for _ in 0..<12 { #expect(await store.put(.system("a", body)) == .synced) }
        // Without a checkpoint the log would have all 10.8 MB. Its file keeps its size, and is written from its beginning.
        let log = try files.image()["db-wal"]?.count ?? 0
        #expect((4 << 20..<6 << 20).contains(log))
        #expect(await store.closed())
        #expect(try files.image()["db-wal"]?.isEmpty == true)
        #expect(try await files.contents().bodies == ["a": body])
    }

    @Test func `moves a log of a MiB into the database when it is idle`() async throws {
        let store = try files.store { $0.idle = .milliseconds(1) }
        _ = try store.load()
        #expect(await store.put(.system("a", String(repeating: "x", count: 1_500_000))) == .synced)
        // A look at the size opens nothing, so SQLite keeps its locks.
        func size(_ name: String) -> Int {
            var status = stat()
            return stat(files.file(name), &status) == 0 ? Int(status.st_size) : 0
        }
        await suspend(while: size("db") < 1_500_000 || size("db-wal") > 0)
        #expect(await store.closed())
        #expect(store.metrics.errors == 0)
    }

    @Test func `is refused to a second opener until it is closed`() async throws {
        let store = try files.store()
        _ = try store.load()
        let second = try files.store()
        #expect(throws: StoreTrouble.locked) { try second.load() }
        #expect(await store.put(.system("a", "1")) == .synced)
        #expect(await store.closed())
        #expect(try await files.contents().bodies == ["a": "1"])
    }

    @Test func `takes nothing before it is loaded or after it is closed`() async throws {
        let store = try files.store()
        #expect(await store.put(.system("a", "1")) == .refused(.closed))
        _ = try store.load()
        #expect(throws: StoreTrouble.closed) { try store.load() }
        #expect(await store.closed())
        #expect(await store.put(.system("a", "1")) == .refused(.closed))
        #expect(await store.closed())
        #expect(try await files.contents().parts.isEmpty)
    }

    @Test func `cannot be opened without a thread, and is free then`() async throws {
        let store = try files.store { $0.startThread = { _ in false } }
        #expect(throws: StoreTrouble.system(call: "pthread_create", number: 0)) { try store.load() }
        #expect(try await files.contents().parts.isEmpty)
    }

    @Test func `has its files to itself, without shared memory`() async throws {
        let store = try files.store()
        _ = try store.load()
        #expect(await store.put(.system("a", "1")) == .synced)
        var status = stat()
        #expect(stat(files.path, &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(access(files.path + "/db-wal", F_OK) == 0)
        #expect(access(files.path + "/db-shm", F_OK) != 0)
        #expect(store.metrics.bytes > 4_096)
        #expect(await store.closed())
    }
}
