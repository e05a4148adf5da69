import CSQLite
import Durability
import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A damaged store` {
    let files = TestStore()

    /// Writes 40 parts in 20 commits. Returns the files as they are after the last commit or after the close.
    private func written(closes: Bool) async throws -> TestStore.Image {
        let store = try files.store()
        _ = try store.load()
        for number in 0..<20 {
            let body = String(repeating: "\(number)", count: 40 * number)
            _ = await store.put([.system("system-\(number)", body), .system("other-\(number % 7)", body)])
        }
        let image = try files.image()
        #expect(await store.closed())
        return closes ? try files.image() : image
    }

    /// Expects that the store cannot be opened, and that its files stay as they are.
    private func expectUntouched(_ isExpected: (StoreTrouble) -> Bool) throws {
        let before = try files.image()
        let store = try files.store()
        let trouble = #expect(throws: StoreTrouble.self) { try store.load() }
        #expect(trouble.map(isExpected) == true, "\(String(describing: trouble))")
        #expect(try files.image() == before)
    }

    @Test func `of a newer version stays untouched, also with a log`() async throws {
        _ = try await written(closes: true)
        var connection: OpaquePointer?
        try #require(sqlite3_open(files.file("db"), &connection) == SQLITE_OK)
        let text = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA user_version = 2"
        try #require(sqlite3_exec(connection, text, nil, nil, nil) == SQLITE_OK)
        let image = try files.image()
        #expect(image["db-wal"]?.isEmpty == false)
        sqlite3_close(connection)
        try files.restore(image)
        try expectUntouched { $0 == .newer(2) }
        #expect(access(files.file("db-shm"), F_OK) != 0)
    }

    @Test(arguments: [68, 71]) func `with another application's id stays untouched`(offset: Int) async throws {
        var image = try await written(closes: true)
        image["db"]?[offset] = 0
        try files.restore(image)
        try expectUntouched { if case .foreign = $0 { true } else { false } }
    }

    @Test func `that is no database stays untouched`() throws {
        try files.restore(["db": Array(repeating: 65, count: 8_192), "db-wal": [], "head": []])
        try expectUntouched { if case .damaged = $0 { true } else { false } }
    }

    @Test func `without a database keeps the log`() async throws {
        var image = try await written(closes: false)
        image["db"] = []
        try files.restore(image)
        try expectUntouched { if case .damaged = $0 { true } else { false } }
    }

    @Test func `with a log but without tables keeps both`() async throws {
        var connection: OpaquePointer?
        mkdir(files.path, 0o700)
        try #require(sqlite3_open(files.file("db"), &connection) == SQLITE_OK)
        try #require(sqlite3_exec(connection, "PRAGMA journal_mode = WAL", nil, nil, nil) == SQLITE_OK)
        sqlite3_close(connection)
        try files.restore(["db-wal": Array(repeating: 65, count: 5_000), "head": []])
        try expectUntouched { if case .damaged = $0 { true } else { false } }
    }

    @Test func `without its log, or with a damaged one, still has its tables`() async throws {
        let store = try files.store()
        let new = try store.load().head.store
        // The tables are in the database before the first change.
        #expect(await store.put(.system("a", "1")) == .synced)
        var image = try files.image()
        #expect(await store.closed())
        for log in [[], Array(repeating: 65, count: 5_000)] as [[UInt8]] {
            image["db-wal"] = log
            try files.restore(image)
            let contents = try await files.contents()
            #expect(contents.head.store == new)
            #expect(contents.flaws == [.lostTail(stored: 0, acknowledged: 1)])
        }
    }

    @Test func `is copied before it is changed, once for each damage`() async throws {
        let original = try await written(closes: false)
        for (cut, copies) in [(1, 1), (2, 2), (3, 3), (4, 3)] {
            var image = original
            image["db-wal"] = original["db-wal"].map { Array($0.dropLast($0.count / 6 * cut)) }
            // The second time, the damage is known.
            for _ in 0..<2 {
                try files.restore(image)
                let before = try Set(files.copies())
                #expect(try await files.contents().flaws.count == 1)
                let names = try files.copies()
                #expect(names.count == copies)
                for name in Set(names).subtracting(before) {
                    #expect(try TestStore.read(files.path + "/\(name)/db") == image["db"])
                    #expect(try TestStore.read(files.path + "/\(name)/db-wal") == image["db-wal"])
                }
            }
        }
    }

    @Test func `has the path of its copy, if there is one`() async throws {
        var image = try await written(closes: false)
        image["db-wal"] = image["db-wal"].map { Array($0.dropLast($0.count / 6)) }
        try files.restore(image)
        let store = try files.store()
        let contents = try store.load()
        let name = try #require(try files.copies().first)
        #expect(DamagedFiles.copy(of: contents, in: files.path) == files.path + "/" + name)
        #expect(DamagedFiles.copy(of: contents, in: files.directory("elsewhere")) == nil)
        #expect(await store.put(.system("a", "1")) == .synced)
        #expect(await store.closed())
        #expect(DamagedFiles.copy(of: try await files.contents(), in: files.path) == nil)
    }

    @Test func `takes no changes until it could be copied`() async throws {
        _ = try await written(closes: true)
        let lost = try files.store()
        _ = try lost.load()
        #expect(await lost.put(.system("lost", "1")) == .synced)
        var image = try files.image()
        #expect(await lost.closed())
        // The copy of the head knows a life that the store does not.
        image["db-wal"] = []
        try files.restore(image)
        // A file stands where the copy is made.
        try TestStore.write(files.path + "/damaged.new", [])
        let store = try files.store()
        let contents = try store.load()
        #expect(contents.flaws.count == 1)
        #expect(contents.life == 3)
        let trouble = StoreTrouble.system(call: "mkdir", number: EEXIST)
        let outcomes = await store.put([.system("a", "1"), .system("b", "1")])
        #expect(outcomes.map(\.outcome) == [.refused(trouble), .refused(trouble)])
        #expect(store.metrics.errors >= 2)
        #expect(try files.image() == image)
        unlink(files.path + "/damaged.new")
        #expect(await store.put(.system("a", "1")) == .synced)
        #expect(try files.copies().count == 1)
        #expect(await store.closed())
    }

    /// Returns whether a process has a lock of fcntl(2) on a file.
    private static func isLocked(_ path: String) throws -> Bool {
        var status = stat()
        try #require(stat(path, &status) == 0)
        let file = try #require(fopen("/proc/locks", "re"))
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if text.contains("POSIX"), text.contains("WRITE"), text.contains(":\(status.st_ino) ") { return true }
        }
        return false
    }

    @Test func `that was replaced by a new one reports it`() async throws {
        _ = try await written(closes: true)
        for name in ["db", "db-wal"] { unlink(files.file(name)) }
        let contents = try await files.contents()
        #expect(contents.parts.isEmpty)
        guard case .replaced(let changes, true) = contents.flaws.first else {
            Issue.record("no other store among \(contents.flaws)")
            return
        }
        #expect(contents.flaws.count == 1 && changes >= 40)
    }

    @Test func `whose files were moved away refuses changes until they are back`() async throws {
        let store = try files.store()
        _ = try store.load()
        #expect(await store.put(.system("a", "1")) == .synced)
        for name in ["db", "db-wal"] { rename(files.file(name), files.directory(name)) }
        #expect(await store.put(.system("a", "2")) == .refused(.gone))
        for name in ["db", "db-wal"] { rename(files.directory(name), files.file(name)) }
        #expect(await store.put(.system("a", "3")) == .synced)
        #expect(await store.closed())
        #expect(try await files.contents().bodies["a"] == "3")
    }

    @Test func `with an unreadable copy of the head reports it`() async throws {
        var image = try await written(closes: true)
        image["head"]?[30] ^= 1
        try files.restore(image)
        #expect(try await files.contents().flaws == [.unreadableCopy])
        // A process may end between the creation of the file and its first write.
        try files.restore(["head": []])
        #expect(try await files.contents().flaws == [])
    }

    @Test(arguments: ["db", "db-wal"])
    func `with one flipped bit has its contents or reports a flaw`(name: String) async throws {
        let image = try await written(closes: name == "db")
        try files.restore(image)
        let original = try await files.contents()
        #expect(original.flaws.isEmpty)
        #expect(original.parts.count == 27)
        let count = try #require(image[name]).count
        var random = SeededGenerator(state: 41)
        var reported = 0
        for _ in 0..<200 * soakFactor {
            let (place, bit) = (Int.random(in: 0..<count, using: &random), Int.random(in: 0..<8, using: &random))
            var changed = image
            changed[name]?[place] ^= 1 << bit
            try files.restore(changed)
            do {
                let contents = try await files.contents()
                let isReported = !contents.flaws.isEmpty
                #expect(isReported || contents == original, "byte \(place), bit \(bit) of \(name)")
                if isReported { reported += 1 }
            } catch is StoreTrouble {
                // Only the pages of the schema and of the head make all parts unreadable.
                #expect(name == "db" && place < 3 * 4_096, "byte \(place), bit \(bit) of \(name)")
                reported += 1
            }
        }
        // The other places are free, or belong to pages that were written again later.
        #expect(reported > 20, "\(reported)")
    }

    @Test func `with a damaged row keeps the others, and takes a new state for it`() async throws {
        var image = try await written(closes: true)
        let body = Array(String(repeating: "19", count: 500).utf8)
        let place = try #require(image["db"]?.firstRange(of: body)).lowerBound
        image["db"]?[place] = 0
        try files.restore(image)
        let store = try files.store()
        let contents = try store.load()
        #expect(contents.parts.count == 26)
        #expect(contents.flaws.count == 1)
        guard case .row(1, let name, _) = contents.flaws.first else {
            Issue.record("no row among \(contents.flaws)")
            return
        }
        // SQLite's lock is still there, although the copy has read the database.
        #expect(try files.copies().count == 1)
        #expect(try Self.isLocked(files.file("db")))
        #expect(await store.put(.system(name, "new")) == .synced)
        #expect(await store.closed())
        let next = try await files.contents()
        #expect(next.flaws.isEmpty)
        #expect(next.bodies[name] == "new")
        #expect(next.parts.count == 27)
    }

    @Test func `whose structure is damaged takes no changes, which could destroy more`() async throws {
        var image = try await written(closes: true)
        // The number of free pages, in the header of the database.
        image["db"]?[39] ^= 1
        try files.restore(image)
        let store = try files.store()
        let contents = try store.load()
        #expect(contents.parts.count == 27)
        guard case .structure(let text) = contents.flaws.first else {
            Issue.record("no structure among \(contents.flaws)")
            return
        }
        #expect(await store.put(.system("a", "1")) == .refused(.damaged(text)))
        #expect(await store.closed())
        #expect(try files.image() == image)
    }

    @Test func `with a damaged page keeps the parts before it`() async throws {
        let image = try await written(closes: true)
        let database = try #require(image["db"])
        // A page of rows begins with this type.
        let leaves = stride(from: 3 * 4_096, to: database.count, by: 4_096).filter { database[$0] == 10 }
        #expect(leaves.count > 2)
        var counts: Set<Int> = []
        for place in leaves {
            var changed = image
            changed["db"]?[place] = 0
            try files.restore(changed)
            let store = try files.store()
            let contents = try store.load()
            guard case .structure(let text) = contents.flaws.first else {
                Issue.record("no structure among \(contents.flaws)")
                continue
            }
            counts.insert(contents.parts.count)
            #expect(await store.put(.system("a", "1")) == .refused(.damaged(text)))
            #expect(await store.closed())
            #expect(try files.image() == changed)
        }
        #expect(counts.count > 2 && counts.allSatisfy { $0 < 27 }, "\(counts)")
    }

    @Test func `that lost the tail of its log has an earlier state and reports it`() async throws {
        let (states, image) = try await recorded()
        let log = try #require(image["db-wal"])
        var random = SeededGenerator(state: 42)
        var seen: Set<Int> = []
        let frames = Array(stride(from: 0, to: log.count, by: 4_120)).map { $0 == 0 ? 0 : $0 + 32 }
        for place in frames + (0..<60).map({ _ in Int.random(in: 0..<log.count, using: &random) }) {
            var changed = image
            changed["db-wal"] = Array(log[..<min(place, log.count)])
            // A torn write may leave anything behind its end.
            if place % 3 == 0 {
                changed["db-wal"]? += (0..<5_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            try files.restore(changed)
            let contents = try await files.contents()
            let number = try #require(states.firstIndex(of: contents.bodies), "cut at \(place)")
            seen.insert(number)
            let lost = StoreFlaw.lostTail(stored: UInt64(number), acknowledged: UInt64(states.count - 1))
            #expect(contents.flaws == (number == states.count - 1 ? [] : [lost]), "cut at \(place)")
        }
        #expect(seen.count > 15, "\(seen.count)")
    }

    @Test func `never gives the number of a lost change again`() async throws {
        let (states, image) = try await recorded()
        var changed = image
        changed["db-wal"] = image["db-wal"]?.dropLast(4_120 * 6)
        try files.restore(changed)
        let store = try files.store()
        let contents = try store.load()
        #expect(contents.flaws.count == 1)
        #expect(contents.life == 2)
        #expect(await store.put(.system("new", "1", epoch: contents.epoch(incarnation: 1))) == .synced)
        #expect(await store.closed())
        let next = try await files.contents()
        #expect(next.flaws.isEmpty)
        #expect(try #require(next.parts.first { $0.key.name == "new" }).order >= UInt64(states.count))
    }

    @Test func `whose checkpoint was cut anywhere has every change`() async throws {
        let (states, before) = try await recorded()
        let old = try #require(before["db"])
        let new = try #require(try files.image()["db"])
        var random = SeededGenerator(state: 43)
        for _ in 0..<60 * soakFactor {
            // Each block of 512 bytes of the database has been written, or not.
            var database = old + [UInt8](repeating: 0, count: max(0, new.count - old.count))
            for block in stride(from: 0, to: new.count, by: 512) where Bool.random(using: &random) {
                database.replaceSubrange(block..<block + 512, with: new[block..<block + 512])
            }
            var changed = before
            changed["db"] = database
            try files.restore(changed)
            let contents = try await files.contents()
            #expect(contents.bodies == states.last)
            #expect(contents.flaws.isEmpty)
        }
    }

    /// Commits 30 changes one by one. Returns all states in between, and the files after the last commit; the files on the disk are
    /// those after the close.
    private func recorded() async throws -> (states: [[String: String]], image: TestStore.Image) {
        let store = try files.store()
        _ = try store.load()
        var states: [[String: String]] = [[:]]
        for number in 1...30 {
            let removes = number % 8 == 0
            let name = "system-\((removes ? number - 2 : number) % 9)"
            var state = states[number - 1]
            if removes {
                #expect(await store.put(.removal(name)) == .synced)
                state[name] = nil
            } else {
                let body = String(repeating: "\(number)", count: 1 + number * number)
                #expect(await store.put(.system(name, body)) == .synced)
                state[name] = body
            }
            states.append(state)
        }
        let image = try files.image()
        #expect(await store.closed())
        return (states, image)
    }
}
