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

    @Test func `are those of an earlier name, unless there are some of the new one`() throws {
        func states(_ contents: StoreContents, _ more: String = "") throws -> StoredStates {
            let text = lampSystem.replacing("system: lamp", with: "system: light\nwas: lamp")
                .replacing("initialState: Off", with: "initialState: Off\npersist: state")
            let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "light.yaml", text: text + more)]
            )
            return StoredStates(contents, inherited: HostState(), for: try #require(result.graph))
        }
        let earlier = try Self.store("On")
        let renamed = try states(earlier)
        #expect(renamed.state.systems["light"]?.state.name == "On" && renamed.systems == ["light"])
        // The next write uses the new name, and the old row stays.
        #expect(renamed.parts.systems["light"]?.isStored == false && renamed.unused == 1)

        let store = MemoryStore(contents: earlier)
        _ = try store.load()
        let body = try PartCoder.encode(
            SavedPart(try Self.system("Off", at: 20), SavedDetails(epoch: 9 << 32, serial: 1)))
        store.put(PartChange(key: PartKey(kind: PartKey.system, name: "light"), epoch: 9 << 32) { body }) { _ in }
        let own = try states(store.contents)
        #expect(own.state.systems["light"]?.state.name == "Off" && own.parts.systems["light"]?.isStored == true)

        // Back to the earlier name: the later state counts.
        let text = lampSystem.replacing("system: lamp", with: "system: lamp\nwas: light")
            .replacing("initialState: Off", with: "initialState: Off\npersist: state")
        let graph = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "lamp.yaml", text: text)]).graph
        let back = StoredStates(store.contents, inherited: HostState(), for: try #require(graph))
        #expect(back.state.systems["lamp"]?.state.name == "Off" && back.parts.systems["lamp"]?.isStored == false)

        // A damaged row of its own may be later.
        var damaged = earlier
        damaged.flaws = [.row(kind: Int64(PartKey.system), name: "light", body: [])]
        let flawed = try states(damaged)
        #expect(flawed.state.systems.isEmpty && flawed.parts.unusable == ["light": "it is damaged"])
        damaged.parts = []
        damaged.flaws = [.row(kind: Int64(PartKey.system), name: "lamp", body: [])]
        #expect(try states(damaged).parts.unusable == ["light": "it is damaged"])
    }

    @Test func `are inherited under an earlier name`() throws {
        let text = lampSystem.replacing("system: lamp", with: "system: light\nwas: lamp")
        let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "light.yaml", text: text)])
        let states = StoredStates(
            nil, inherited: try Self.inherited("On", at: 1, epoch: nil), for: try #require(result.graph))
        #expect(states.state.systems["light"]?.state.name == "On" && states.state.systems["lamp"] == nil)
    }
}
