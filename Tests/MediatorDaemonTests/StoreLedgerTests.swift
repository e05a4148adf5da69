import CommonExpression
import Durability
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorDaemon
import MediatorHost
import TestSupport
import Testing

/// The names and times of stored states, and looks into the store of a daemon.
@Suite(.timeLimit(.minutes(5))) struct `A look into the store of a daemon` {
    private let directory = TemporaryDirectory()
    private let lamp = PartKey(kind: PartKey.system, name: "lamp")
    private let gone = PartKey(kind: PartKey.bus, name: "gone")

    /// Opens the store in memory of a configuration with a lamp, which persists.
    private func keeper(
        over store: MemoryStore
    ) async throws -> StoreKeeper {
        let keeper = StoreKeeper(
            StorePlace(directory("store")), clock: ManualClock(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { (_, _) throws(StoreTrouble) in store }
        let text = lampSystem.replacing("initialState: Off", with: "initialState: Off\npersist: state")
        let graph = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "lamp.yaml", text: text)]).graph
        _ = try await keeper.open(for: try #require(graph))
        #expect(await keeper.begin())
        return keeper
    }

    private func write(_ keeper: StoreKeeper, removes: Bool = false) throws {
        let since = try #require(Timestamp(rfc3339: "2026-01-02T03:04:05Z"))
        let system = SavedSystem(state: StructureType(name: "On", fields: []), fields: [], since: since)
        keeper.write(
            HostChange(part: .system, name: "lamp", incarnation: 1, phase: HostChange.running) {
                removes ? nil : .system(system, SavedDetails())
            }
        ) { _ in }
    }

    /// A store of an earlier life, with a state of each part.
    private func earlier() throws -> MemoryStore {
        let store = MemoryStore(time: { StoreTime(wall: 1_000_000_000, boottime: 0, boot: []) })
        _ = try store.load()
        for key in [lamp, gone] {
            store.put(PartChange(key: key, epoch: store.contents.life << 32 | 1) { [] }) { _ in }
        }
        #expect(store.close(within: .zero))
        return MemoryStore(contents: store.contents)
    }

    @Test func `has the time of each state of this life`() async throws {
        let keeper = try await keeper(over: try earlier())
        #expect(keeper.presence.phase == .open)
        #expect(keeper.presence.ledger.keys(with: []) == [lamp, gone])
        #expect(keeper.presence.ledger.time(of: lamp) == nil)
        try write(keeper)
        #expect(keeper.presence.ledger.time(of: lamp) != nil)
        #expect(keeper.presence.ledger.time(of: gone) == nil)
        try write(keeper, removes: true)
        #expect(!keeper.presence.ledger.has(lamp))
        #expect(keeper.presence.ledger.has(gone))
        try write(keeper)
        #expect(keeper.presence.ledger.has(lamp))
        // The first commit is that of the start.
        #expect(keeper.presence.metrics.commits == 4)
    }

    @Test func `follows the last of several changes in a commit`() async throws {
        let store = try earlier()
        let keeper = try await keeper(over: store)
        for removes in [true, false] {
            store.set(.hang)
            try write(keeper, removes: !removes)
            try write(keeper, removes: removes)
            let commits = keeper.presence.metrics.commits
            store.set(.noFault)
            #expect(keeper.presence.metrics.commits == commits + 1)
            #expect(keeper.presence.ledger.has(lamp) == !removes)
            #expect(store.contents.parts.contains { $0.key == lamp } == !removes)
        }
    }

    @Test func `tells a refused state until it is forgotten`() async throws {
        let store = try earlier()
        let keeper = try await keeper(over: store)
        store.set(.refuse(.full))
        try write(keeper)
        #expect(keeper.presence.unstored[lamp]?.contains("make room on its disk") == true)
        #expect(keeper.presence.refused == 1)
        store.set(.noFault)
        #expect(try await keeper.forget(lamp))
        #expect(keeper.presence.unstored.isEmpty)
        #expect(keeper.presence.refused == 0)
        #expect(store.contents.parts.map(\.key) == [gone])
    }

    @Test func `forgets a state, but not one of a later incarnation`() async throws {
        let store = try earlier()
        let keeper = try await keeper(over: store)
        #expect(try await keeper.forget(gone))
        #expect(!keeper.presence.ledger.has(gone))
        #expect(try await !keeper.forget(gone))
        try write(keeper)
        // As if the state had been read before that.
        let old = PartChange(key: lamp, epoch: 1 << 32 | 1) { nil }
        store.put(old) { #expect($0 == .refused(.superseded)) }
        #expect(store.contents.parts.map(\.key) == [lamp])
    }

    @Test func `fails when the store is not open`() async throws {
        let keeper = StoreKeeper(
            nil, clock: ManualClock(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { (_, _) throws(StoreTrouble) in throw .closed }
        #expect(keeper.presence.phase == .unneeded)
        await #expect(throws: StoreTrouble.closed) { try await keeper.read(.check) }
        await #expect(throws: StoreTrouble.closed) { try await keeper.forget(lamp) }
    }
}
