import Durability
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A store in memory` {
    @Test func `keeps what was put for the next life`() async throws {
        let store = MemoryStore()
        #expect(await store.put(.system("a", "0")) == .refused(.closed))
        #expect(try store.load().parts.isEmpty)
        #expect(throws: StoreTrouble.closed) { try store.load() }
        #expect(await store.mark(.started) == .synced)
        #expect(await store.put(.system("b", "1", epoch: 2)) == .synced)
        #expect(await store.put(.system("a", "2")) == .synced)
        #expect(await store.put(.system("b", "0", epoch: 1)) == .refused(.superseded))
        #expect(await store.put(.system("c", "1")) == .synced)
        #expect(await store.put(.removal("c")) == .synced)
        #expect(!store.contents.head.isClean)
        #expect(store.close(within: .zero))
        #expect(await store.put(.system("a", "3")) == .refused(.closed))

        let next = MemoryStore(contents: store.contents)
        let contents = try next.load()
        #expect(contents.bodies == ["a": "2", "b": "1"])
        #expect(contents.life == 2)
        #expect(contents.head.isClean)
        #expect(contents.head.starts == 1)
    }

    @Test func `refuses as long as a test wants`() async throws {
        let store = MemoryStore(fault: .refuse(.full))
        _ = try store.load()
        #expect(await store.put(.system("a", "1")) == .refused(.full))
        store.set(.refuse(.readOnly))
        #expect(await store.put(.system("a", "2")) == .refused(.readOnly))
        #expect(store.metrics.errors == 2)
        store.set(.noFault)
        #expect(await store.put(.system("a", "3")) == .synced)
        #expect(store.contents.bodies == ["a": "3"])
    }

    @Test func `shows since when it hangs, and commits everything in order after that`() throws {
        let clock = Mutex<Int64>(10)
        let store = MemoryStore(time: { StoreTime(wall: 0, boottime: clock.withLock { $0 }, boot: []) })
        _ = try store.load()
        store.set(.hang)
        let seen = Mutex<[Int]>([])
        for number in 0..<3 {
            store.put(.system("a", "\(number)")) { _ in seen.withLock { $0.append(number) } }
            clock.withLock { $0 += 10 }
        }
        #expect(store.metrics.pendingSince == 10)
        #expect(!store.close(within: .zero))
        #expect(seen.withLock { $0 } == [])
        store.set(.noFault)
        #expect(seen.withLock { $0 } == [0, 1, 2])
        #expect(store.metrics.pendingSince == nil)
        #expect(store.close(within: .zero))
    }

    @Test func `reports no outcome after a failed sync, and fails once`() throws {
        let failures = Mutex(0)
        let store = MemoryStore(failed: { _ in failures.withLock { $0 += 1 } })
        _ = try store.load()
        store.set(.failSync)
        store.put(.system("a", "1")) { _ in Issue.record("an outcome after a failed sync") }
        store.set(.noFault)
        store.put(.system("a", "2")) { _ in Issue.record("an outcome after a failed sync") }
        #expect(failures.withLock { $0 } == 1)
        #expect(store.metrics.pendingSince != nil)
        #expect(!store.close(within: .zero))
        #expect(store.contents.parts.isEmpty)
    }

    @Test(arguments: [MemoryStore.Fault.noFault, .refuse(.full), .failSync])
    func `reads the clock, and releases what it was given, without its lock`(fault: MemoryStore.Fault) throws {
        let box = Mutex<MemoryStore?>(nil)
        let store = MemoryStore(
            fault: .hang,
            time: {
                _ = box.withLock { $0 }?.metrics
                return StoreTime.now()
            })
        box.withLock { $0 = store }
        _ = try store.load()
        // One more comes during the commit, and still waits if that fails.
        let key = PartKey(kind: 1, name: "b")
        store.put(
            PartChange(key: key, epoch: 1) {
                store.put(Looker(at: store).change) { _ in }
                return []
            }
        ) { _ in }
        for _ in 0..<10 {
            let looker = Looker(at: store)
            store.put(looker.change) { _ in _ = looker.keep(1) }
        }
        #expect(store.metrics.pendingSince != nil)
        store.set(fault)
        #expect(store.close(within: .zero) == (fault != .failSync))
        box.withLock { $0 = nil }
    }

    @Test func `takes changes from within an outcome`() throws {
        let store = MemoryStore()
        _ = try store.load()
        let seen = Mutex<[String]>([])
        store.put(.system("a", "1")) { _ in
            store.put(.system("a", "2")) { _ in seen.withLock { $0.append("inner") } }
            seen.withLock { $0.append("outer") }
        }
        #expect(seen.withLock { $0 } == ["outer", "inner"])
        #expect(store.contents.bodies == ["a": "2"])
    }

    @Test func `takes a bounded number of changes while it hangs`() throws {
        let store = MemoryStore(fault: .hang)
        _ = try store.load()
        let refused = Mutex(0)
        for _ in 0...StoreLimits.queue {
            store.put(.system("a", "1")) { outcome in
                if outcome == .refused(.queueFull) { refused.withLock { $0 += 1 } }
            }
        }
        #expect(refused.withLock { $0 } == 1)
        store.set(.noFault)
        #expect(refused.withLock { $0 } == 1)
    }
}
