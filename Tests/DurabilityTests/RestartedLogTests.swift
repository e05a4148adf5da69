import Durability
import TestSupport
import Testing

extension `A damaged store` {
    @Test func `that lost the tail of a log with older changes behind it has an earlier state and reports it`()
        async throws
    {
        let store = try files.store()
        _ = try store.load()
        let body = String(repeating: "x", count: 900_000)
        // The log was full, and is written from its beginning.
        for _ in 0..<6 { #expect(await store.put(.system("big", body)) == .synced) }
        let older = try #require(try files.image()["db-wal"])
        var states = [["big": body]]
        for number in 1...12 {
            #expect(await store.put(.system("small", "\(number)")) == .synced)
            states.append(["big": body, "small": "\(number)"])
        }
        let image = try files.image()
        #expect(await store.closed())
        let log = try #require(image["db-wal"])
        #expect(log.count == older.count)
        let changed = log.indices.filter { log[$0] != older[$0] }
        let (first, last) = try (#require(changed.first), #require(changed.last))
        var random = SeededGenerator(state: 44)
        let frames = (first...last).filter { ($0 - 32) % 4_120 == 0 }
        var seen: Set<Int> = []
        for place in frames + [last + 1] + (0..<20).map({ _ in Int.random(in: first...last, using: &random) }) {
            var cut = image
            cut["db-wal"] = Array(log[..<place] + older[place...])
            try files.restore(cut)
            let contents = try await files.contents()
            let number = try #require(states.firstIndex(of: contents.bodies), "cut at \(place)")
            seen.insert(number)
            let lost = StoreFlaw.lostTail(stored: UInt64(6 + number), acknowledged: 18)
            #expect(contents.flaws == (number == 12 ? [] : [lost]), "cut at \(place)")
        }
        #expect(seen == Set(0...12))
    }
}
