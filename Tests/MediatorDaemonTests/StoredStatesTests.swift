import CommonExpression
import Durability
import MediatorConfiguration
import MediatorDaemon
import MediatorHost
import TestSupport
import Testing

/// Which state counts: that of the store, or that of the previous daemon.
@Suite struct `The states of the next host` {
    private static let end = UInt64(UInt32.max)

    private static func system(_ state: String, at second: Int64) throws -> SavedSystem {
        let since = try #require(Timestamp(seconds: second, nanoseconds: 0))
        return SavedSystem(state: StructureType(name: state, fields: []), fields: [], since: since)
    }

    /// A store with the third state of the lamp, since second 10.
    private static func store(
        _ state: String, epoch: UInt64 = 1 << 32 | 1, phase: UInt8 = HostChange.running, isReadable: Bool = true
    ) throws -> StoreContents {
        let body = try PartCoder.encode(SavedPart(try system(state, at: 10), SavedDetails(epoch: epoch, serial: 3)))
        let store = MemoryStore()
        _ = try store.load()
        let change = PartChange(key: PartKey(kind: PartKey.system, name: "lamp"), epoch: epoch, phase: phase) {
            isReadable ? body : []
        }
        store.put(change) { _ in }
        return store.contents
    }

    private static func states(_ contents: StoreContents, inherited: HostState) throws -> StoredStates {
        let text = lampSystem.replacing("initialState: Off", with: "initialState: Off\npersist: state")
        let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "lamp.yaml", text: text)])
        return StoredStates(contents, inherited: inherited, for: try #require(result.graph))
    }

    private static func inherited(_ state: String, at second: Int64, epoch: UInt64?) throws -> HostState {
        var inherited = HostState(systems: ["lamp": try system(state, at: second)])
        inherited.systemDetails["lamp"] = SavedDetails(epoch: epoch, serial: 3)
        return inherited
    }

    @Test(arguments: [
        // The end of the same life: an update of the data that the store has refused.
        (second: Int64(10), epoch: UInt64?(1 << 32 | end), wins: true),
        (second: 5, epoch: 1 << 32 | end, wins: true),
        // An earlier life, whose text nobody has discarded.
        (second: 20, epoch: 0 << 32 | end, wins: false),
        // A daemon that could not use the store.
        (second: 20, epoch: 0, wins: false),
        // A daemon in which the system did not persist.
        (second: 20, epoch: nil, wins: true), (second: 5, epoch: nil, wins: false),
    ])
    func `are the newer ones`(second: Int64, epoch: UInt64?, wins: Bool) throws {
        let states = try Self.states(
            try Self.store("On"), inherited: try Self.inherited("Off", at: second, epoch: epoch))
        #expect(states.state.systems["lamp"]?.state.name == (wins ? "Off" : "On"))
        #expect(states.systems == (wins ? [] : ["lamp"]) && states.refusals.isEmpty)
    }

    @Test func `are inherited where the store has none`() throws {
        let states = try Self.states(MemoryStore().contents, inherited: try Self.inherited("Off", at: 1, epoch: 0))
        #expect(states.state.systems["lamp"]?.state.name == "Off" && states.systems.isEmpty)
    }

    @Test func `are none of a system that has ended since, because of a fault`() throws {
        let store = try Self.store("On", epoch: 2 << 32 | 1, phase: HostChange.ended)
        let states = try Self.states(store, inherited: try Self.inherited("Off", at: 1, epoch: 1 << 32 | Self.end))
        #expect(states.state.systems["lamp"] == nil)
        #expect(states.refusals.map(\.reason) == ["it had ended because of a fault"])
        #expect(states.refusals.map(\.lost) == ["On"])
        #expect(states.parts.unusable == ["lamp": "it had ended because of a fault"])
    }

    @Test func `do without a row that cannot be read`() throws {
        let store = try Self.store("On", isReadable: false)
        #expect(try Self.states(store, inherited: HostState()).refusals.map(\.name) == ["lamp"])
        let states = try Self.states(store, inherited: try Self.inherited("Off", at: 1, epoch: nil))
        #expect(states.state.systems["lamp"]?.state.name == "Off" && states.refusals.isEmpty)
    }

    @Test func `are none of a damaged row, and the host learns it unless it has another state`() throws {
        var store = MemoryStore().contents
        store.flaws = [.row(kind: Int64(PartKey.system), name: "lamp", body: [])]
        #expect(try Self.states(store, inherited: HostState()).parts.unusable == ["lamp": "it is damaged"])
        let inherited = try Self.inherited("Off", at: 1, epoch: nil)
        #expect(try Self.states(store, inherited: inherited).parts.unusable.isEmpty)
    }
}
