import CommonExpression
import Durability
import FeedbackKitTesting
import Glibc
import Logging
import MediatorConfiguration
import MediatorDaemon
import MediatorHost
import Synchronization
import TestSupport
import Testing

/// The journal of a host, over a store in memory with faults.
@Suite(.timeLimit(.minutes(5))) struct `The keeper of the store` {
    private struct Handler: LogHandler {
        let log: AwaitedValue<[String]>
        let details: AwaitedValue<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            details.add("\(event.metadata ?? [:])")
            log.add("\(event.level): \(event.message)")
        }
    }

    private final class Fixture: Sendable {
        let directory = TemporaryDirectory()
        let clock = ManualClock()
        let log = AwaitedValue<[String]>([])
        let details = AwaitedValue<[String]>([])
        let keeper: StoreKeeper
        private let made = Mutex<MemoryStore?>(nil)

        init(_ contents: StoreContents? = nil, fault: MemoryStore.Fault = .noFault) async throws {
            let (log, details, made) = (log, details, Box())
            let path = directory.path + "/store"
            keeper = StoreKeeper(
                StorePlace(path), clock: clock,
                logger: Logger(label: "test") { _ in Handler(log: log, details: details) }
            ) { (_, failed) throws(StoreTrouble) in
                let store = MemoryStore(contents: contents, fault: fault, failed: failed)
                made.store.withLock { $0 = store }
                return store
            }
            _ = try await keeper.open(for: try Self.graph())
            self.made.withLock { own in own = made.store.withLock { $0 } }
        }

        private final class Box: Sendable {
            let store = Mutex<MemoryStore?>(nil)
        }

        var store: MemoryStore {
            get throws { try #require(made.withLock { $0 }) }
        }

        /// The states in the store, as text.
        var stored: [String] {
            get throws {
                try store.contents.parts.map { part in
                    let system: SavedPart<SavedSystem> = try PartCoder.decode(part.body)
                    return "\(part.key.name) \(system.content.state.name)"
                }
            }
        }

        /// Writes a state. Returns whether that was answered.
        func write(_ state: String, incarnation: UInt32 = 1) throws -> Bool {
            let isAnswered = Mutex(false)
            let since = try #require(Timestamp(rfc3339: "2026-01-02T03:04:05Z"))
            let system = SavedSystem(state: StructureType(name: state, fields: []), fields: [], since: since)
            keeper.write(
                HostChange(part: .system, name: "lamp", incarnation: incarnation, phase: HostChange.running) {
                    .system(system, SavedDetails())
                }
            ) { goesOn in isAnswered.withLock { $0 = goesOn } }
            return isAnswered.withLock { $0 }
        }

        static func graph(dark: String = "Off") throws -> Graph {
            let text = lampSystem.replacing("initialState: Off", with: "initialState: Off\npersist: state")
                .replacing("Off", with: dark)
            let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "lamp.yaml", text: text)])
            return try #require(result.graph)
        }
    }

    @Test func `tells a new store from one of an earlier life`() async throws {
        let fixture = try await Fixture()
        #expect(fixture.log.value == ["info: opened a new store"])
        #expect(await fixture.keeper.begin())
        let next = try await Fixture(fixture.store.contents)
        #expect(next.log.value == ["info: opened the store"])
    }

    @Test func `answers when a state is stored`() async throws {
        let fixture = try await Fixture()
        #expect(await fixture.keeper.begin())
        #expect(try fixture.write("On"))
        #expect(try fixture.stored == ["lamp On"])
        await fixture.keeper.close(isInOrder: true)
        #expect(try fixture.store.contents.head.isClean && fixture.store.contents.head.starts == 0)
        #expect(try fixture.write("Off"), "the host is about to end, and goes on in memory")
        #expect(try fixture.stored == ["lamp On"])
    }

    @Test func `goes on when a state is refused, says so once, and stores the newest one later`() async throws {
        let fixture = try await Fixture()
        #expect(await fixture.keeper.begin())
        try fixture.store.set(.refuse(.full))
        for state in ["On", "Off", "On"] { #expect(try fixture.write(state)) }
        #expect(try fixture.stored.isEmpty)
        await fixture.clock.nextDeadline(in: .seconds(5))
        fixture.clock.advance(by: .seconds(5))
        await fixture.clock.nextDeadline(in: .seconds(5))
        try fixture.store.set(.noFault)
        fixture.clock.advance(by: .seconds(5))
        await fixture.log.wait(for: "all states are stored again")
        #expect(try fixture.stored == ["lamp On"])
        #expect(fixture.log.value.count { $0.hasPrefix("error: states are not stored") } == 1)
    }

    @Test func `a later state that is stored ends the attempts with an earlier one`() async throws {
        let fixture = try await Fixture()
        #expect(await fixture.keeper.begin())
        try fixture.store.set(.refuse(.full))
        #expect(try fixture.write("On"))
        try fixture.store.set(.noFault)
        #expect(try fixture.write("Off"))
        await fixture.log.wait(for: "all states are stored again")
        await fixture.clock.nextDeadline(in: .seconds(5))
        fixture.clock.advance(by: .seconds(5))
        #expect(try fixture.stored == ["lamp Off"])
    }

    @Test func `writes nothing before it begins`() async throws {
        let fixture = try await Fixture()
        #expect(try !fixture.write("On"))
        #expect(try fixture.stored.isEmpty && fixture.store.metrics.commits == 0)
        #expect(await fixture.keeper.begin())
        #expect(try fixture.stored == ["lamp On"])
    }

    @Test func `tells which systems are not stored, and why`() async throws {
        let (fixture, graph) = (try await Fixture(), try Fixture.graph())
        #expect(await fixture.keeper.begin())
        #expect(try fixture.write("On"))
        #expect(fixture.keeper.troubles(of: graph).isEmpty)
        try fixture.store.set(.refuse(.full))
        #expect(try fixture.write("Off"))
        let reason = try #require(fixture.keeper.troubles(of: graph)["lamp"])
        #expect(reason.hasPrefix("there is no room for the store") && reason.hasSuffix("or raise the quota"))
        try fixture.store.set(.refuse(.damaged("broken")))
        #expect(try fixture.write("On"))
        #expect(fixture.keeper.troubles(of: graph)["lamp"]?.contains("is damaged: broken") == true)
        try fixture.store.set(.refuse(.readOnly))
        #expect(try fixture.write("Off"))
        #expect(fixture.keeper.troubles(of: graph)["lamp"]?.contains("; mount its file system writable, or") == true)
        try fixture.store.set(.noFault)
        #expect(try fixture.write("Off"))
        #expect(fixture.keeper.troubles(of: graph).isEmpty)
        #expect(fixture.log.value.contains { $0.hasSuffix("all states are stored again") })
    }

    @Test func `says that a reload starts a system without its stored state, and why`() async throws {
        let fixture = try await Fixture()
        #expect(await fixture.keeper.begin())
        let host = try Host(
            graph: try Fixture.graph(), effects: EffectCatalogue([]), journal: fixture.keeper,
            time: .manual(fixture.clock), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        await host.settled()
        let old = host.snapshot
        fixture.keeper.report(try await host.apply(try Fixture.graph()).plan, replacing: old)
        #expect(!fixture.log.value.contains { $0.hasPrefix("warning") })
        fixture.keeper.report(try await host.apply(try Fixture.graph(dark: "Dark")).plan, replacing: old)
        #expect(fixture.log.value.last == "warning: starts without its stored state")
        #expect(fixture.details.value.last?.contains("it is in the state 'Off', which there is no more") == true)
        #expect(fixture.details.value.last?.contains("\"lost\": Off") == true)
        await host.stop(within: .zero)
    }

    @Test func `leaves the next daemon the epochs of this life`() async throws {
        let since = try #require(Timestamp(rfc3339: "2026-01-02T03:04:05Z"))
        var left = HostState(systems: [
            "lamp": SavedSystem(state: StructureType(name: "On", fields: []), fields: [], since: since)
        ])
        left.systemDetails["lamp"] = SavedDetails(serial: 3)
        let fixture = try await Fixture()
        let marked = fixture.keeper.marked(left)
        #expect(marked.systemDetails["lamp"]?.epoch == 1 << 32 | UInt64(UInt32.max))
        let unused = StoreKeeper(nil, clock: fixture.clock, logger: Logger(label: "test")) {
            (_, _) throws(StoreTrouble) in throw .readOnly
        }
        #expect(unused.marked(left) == left, "nothing has needed a store")
        do {
            _ = try await unused.open(for: try Fixture.graph())
            Issue.record("there is no directory")
        } catch let problem as StoreKeeper.Problem {
            unused.runInMemory(because: problem)
        }
        #expect(unused.marked(left).systemDetails["lamp"]?.epoch == 0)
        #expect(unused.troubles(of: try Fixture.graph())["lamp"]?.hasSuffix("then restart mediatord") == true)
    }

    @Test func `answers nothing after a failed sync, and says so`() async throws {
        let fixture = try await Fixture()
        #expect(await fixture.keeper.begin())
        try fixture.store.set(.failSync)
        #expect(try !fixture.write("On"))
        for await trouble in fixture.keeper.failures {
            #expect(trouble == .system(call: "fdatasync", number: EIO))
        }
        #expect(fixture.keeper.hasFailed && fixture.log.value.contains { $0.hasPrefix("critical: ending") })
        #expect(try !fixture.write("Off"))
    }

    @Test func `a failed first commit lets nothing begin`() async throws {
        let fixture = try await Fixture(fault: .failSync)
        #expect(await !fixture.keeper.begin())
    }

    @Test func `a store that hangs delays the start for a limited time`() async throws {
        let fixture = try await Fixture(fault: .hang)
        async let begun = fixture.keeper.begin()
        await fixture.clock.nextDeadline(in: .seconds(30))
        fixture.clock.advance(by: .seconds(30))
        #expect(await begun)
        #expect(fixture.log.value.contains { $0.contains("the store does not answer") })
    }

    @Test(arguments: [UInt64(2), 3])
    func `after three starts that never became ready, systems begin with a pause until that has ended in order`(
        starts: UInt64
    ) async throws {
        var contents = try await Fixture().store.contents
        contents.head.starts = starts
        let fixture = try await Fixture(contents)
        #expect(await fixture.keeper.begin())
        #expect(fixture.keeper.pausedSystems() == (starts == 3 ? ["lamp"] : []))
        fixture.keeper.becomeReady()
        #expect(try fixture.store.contents.head.starts == (starts == 3 ? 4 : 0))
    }
}

/// The directory of the store.
@Suite struct `The place of the store` {
    private let directory = TemporaryDirectory()

    private func place(_ environment: [String: String], named: String? = nil) -> StorePlace {
        StorePlace(named: named, of: ConfigurationLayers([directory.path])) { environment[$0] }
    }

    @Test func `is the named one, else the variable's, else one for the configuration`() {
        let home = ["HOME": "/h/x", "XDG_STATE_HOME": "", "MEDIATORD_STORE": ""]
        #expect(place(home, named: "/a/").directory == "/a")
        #expect(place(home, named: "a/b").directory?.hasPrefix("/") == true)
        #expect(place(home, named: "a/b").directory?.hasSuffix("/a/b") == true)
        #expect(place(["MEDIATORD_STORE": "/b", "HOME": "/h/x"]).directory == "/b")
        #expect(place(["XDG_STATE_HOME": "/s"]).directory?.hasPrefix("/s/mediatord/by-config/") == true)
        let usual = place(home).directory
        #expect(usual?.hasPrefix("/h/x/.local/state/mediatord/by-config/") == true)
        #expect(usual?.split(separator: "/").last?.count == 16)
        #expect(StorePlace(named: nil, of: ConfigurationLayers(["/elsewhere"])) { home[$0] }.directory != usual)
        #expect(place([:]).directory == nil)
        #expect(throws: StorePlace.Flaw.self) { try place([:]).prepare() }
    }

    @Test func `is made for this user alone`() throws {
        let path = directory.path + "/a/b"
        #expect(throws: StorePlace.Flaw.self) { try StorePlace(path).prepare() }
        #expect(try StorePlace(path, makesParents: true).prepare() == path)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o700)
        #expect(try StorePlace(path).prepare() == path)
    }

    @Test func `is refused if others could change it`() throws {
        let path = directory.path + "/open"
        mkdir(path, 0o700)
        chmod(path, 0o710)
        let flaw = #expect(throws: StorePlace.Flaw.self) { try StorePlace(path).prepare() }
        #expect(flaw?.reason == "other users can read or write '\(path)'")
        chmod(path, 0o700)
        symlink(path, directory.path + "/link")
        for link in ["/link", "/link/"] {
            let flaw = #expect(throws: StorePlace.Flaw.self) { try StorePlace(directory.path + link).prepare() }
            #expect(flaw?.reason.contains("is a symbolic link") == true)
        }
    }
}
