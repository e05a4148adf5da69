import MediatorControl
import MediatorDaemon
import MediatorHost
import StrictJSON
import Testing
import Varlink

/// Changes of single links, asked for over the control interface.
@Suite(.timeLimit(.minutes(5))) struct `Changes of links` {
    private static let lamp = """
        system: lamp
        states: { Off: {}, On: { level: int } }
        events: { Switch: { level: int }, Out: {} }
        fromOutside: any
        initialState: Off
        transitions: { any: { Switch: { to: On, set: { level: "${event.level}" } }, Out: Off } }
        ---
        buses: { light: { kind: currentValue, value: int, initial: 0, fromOutside: both } }
        links: { shine: { attach: lamp, to: light, onState: On, emitValue: "${state.level}" } }

        """
    /// The drop-in of a link that is in a file.
    private static let dropIn = "lamp.yaml.d/90-mediatorctl.yaml"
    /// The file of a link that is in no other file.
    private static let file = "90-mediatorctl.yaml"
    private static let glow = "{ attach: lamp, to: light, onState: Off, emitValue: -1 }"

    private let fixture: ServedFixture
    private let client: ControlClient

    init() async throws {
        fixture = try await ServedFixture(["lamp.yaml": Self.lamp])
        client = try await fixture.client()
    }

    /// Switches the lamp on or off, and returns the value of the bus then.
    private func light(_ level: Int64?) async throws -> JSONValue? {
        if let level {
            try await client.emit("Switch", to: "lamp", data: ["level": .int(level)])
        } else {
            try await client.emit("Out", to: "lamp")
        }
        await fixture.settle()
        return try await client.describeBus("light").summary.value
    }

    private func links() async throws -> [String] { try await client.listLinks().map(\.name) }

    @Test func `a link that is attached is there until it is detached, and in no file`() async throws {
        let reply = try await client.attach(AttachParameters(link: "glow", definition: Self.glow))
        #expect(reply.valid && reply.applied && reply.changed && reply.generation == 2)
        #expect(reply.transient == ["glow"])
        #expect(try await client.listChanges().map { "\($0.kind) \($0.link)" } == ["attached glow"])
        // It sees the present state first.
        #expect(try await client.describeBus("light").summary.value == .int(-1))
        #expect(try await light(5) == .int(5))
        #expect(try await light(nil) == .int(-1))
        let again = try await client.attach(AttachParameters(link: "glow", definition: Self.glow))
        #expect(again.valid && !again.changed && again.summary == "link 'glow' is there already")
        await #expect(throws: ControlError.linkExists(name: "glow")) {
            try await client.attach(
                AttachParameters(link: "glow", definition: Self.glow.replacing("-1", with: "-2")))
        }
        #expect(try await client.detach(DetachParameters(link: "glow")).applied)
        #expect(try await links() == ["shine"])
        #expect(try await client.listChanges().isEmpty)
        #expect(fixture.text(of: Self.file) == nil && fixture.text(of: Self.dropIn) == nil)
        await fixture.end()
    }

    @Test func `a link that is detached comes back as it was written`() async throws {
        #expect(try await client.detach(DetachParameters(link: "shine")).applied)
        #expect(try await light(5) == .int(0))
        await #expect(throws: ControlError.linkDetached(name: "shine")) {
            try await client.set(
                SetParameters(link: "shine", settings: [Setting(key: "emitValue", value: "7")]))
        }
        #expect(try await client.attach(AttachParameters(link: "shine")).applied)
        #expect(try await light(6) == .int(6))
        #expect(try await client.listChanges().isEmpty)
        await fixture.end()
    }

    @Test func `a key that is set holds until the changes are dropped`() async throws {
        let setting = SetParameters(link: "shine", settings: [Setting(key: "emitValue", value: "7")])
        #expect(try await client.set(setting).applied)
        #expect(try await light(5) == .int(7))
        #expect(try await !client.set(setting).changed)
        // A reload keeps it.
        #expect(try await client.reload().transient == ["shine"])
        #expect(try await light(5) == .int(7))
        #expect(try await client.reload(dropTransient: true).transient.isEmpty)
        #expect(try await light(4) == .int(4))
        await fixture.end()
    }

    @Test func `what would be done is told, and not done`() async throws {
        let reply = try await client.detach(DetachParameters(link: "shine", dryRun: true))
        #expect(reply.valid && !reply.applied && reply.steps.map { "\($0.action) \($0.name)" } == ["remove shine"])
        #expect(try await links() == ["shine"])
        #expect(try await client.status().generation == 1)
        await fixture.end()
    }

    @Test func `what is wrong with a change is said, and nothing is changed`() async throws {
        let reply = try await client.attach(
            AttachParameters(link: "glow", definition: "{ attach: lmp, to: light, emitValue: 1 }"))
        #expect(!reply.valid && !reply.applied && reply.errors > 0)
        #expect(reply.diagnostics.contains { $0.hint?.contains("lamp") == true || $0.text.contains("'lamp'") })
        await #expect(throws: ControlError.noSuchLink(name: "shin", nearest: "shine")) {
            try await client.detach(DetachParameters(link: "shin"))
        }
        #expect(try await links() == ["shine"])
        let status = try await client.status()
        #expect(status.generation == 1 && status.reload?.link == "glow" && status.reload?.applied == false)
        await fixture.end()
    }

    @Test func `what is persisted is in a file, and holds after the next reload`() async throws {
        let setting = Setting(key: "emitValue", value: "7")
        let reply = try await client.set(SetParameters(link: "shine", settings: [setting], persist: true))
        #expect(reply.applied && reply.file?.path.hasSuffix(Self.dropIn) == true)
        #expect(fixture.text(of: Self.dropIn) == reply.file?.text && reply.file?.text.contains("emitValue: 7") == true)
        #expect(try await client.attach(AttachParameters(link: "glow", definition: Self.glow, persist: true)).applied)
        #expect(fixture.text(of: Self.file)?.contains("glow") == true)
        #expect(try await client.listChanges().isEmpty)
        #expect(try await client.reload(dropTransient: true).applied)
        #expect(try await light(5) == .int(7))
        #expect(try await light(nil) == .int(-1))
        // A link of a file of ours that is detached for good leaves nothing behind.
        #expect(try await client.detach(DetachParameters(link: "glow", persist: true)).file?.removed == true)
        #expect(fixture.text(of: Self.file) == nil)
        await fixture.end()
    }

    @Test func `what cannot be written is not done`() async throws {
        // No directory of drop-ins can be made.
        try fixture.write("in the way", to: "lamp.yaml.d")
        let error = await #expect(throws: ControlError.self) {
            try await client.detach(DetachParameters(link: "shine", persist: true))
        }
        guard case .cannotPersist(let path, _, _, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(path.hasSuffix(Self.dropIn))
        #expect(try await links() == ["shine"])
        #expect(try await client.listChanges().isEmpty)
        #expect(try await client.status().generation == 1)
        #expect(fixture.text(of: "lamp.yaml.d") == "in the way")
        await fixture.end()
    }

    @Test func `what somebody else has written meanwhile is left alone`() async throws {
        try fixture.write("links: {}\n", to: Self.file)
        let error = await #expect(throws: ControlError.self) {
            try await client.attach(AttachParameters(link: "glow", definition: Self.glow, persist: true))
        }
        #expect(error?.description.contains(Self.file) == true)
        #expect(fixture.text(of: Self.file) == "links: {}\n")
        #expect(try await links() == ["shine"])
        await fixture.end()
    }

    @Test func `what was written is taken back where the change is not made`() async throws {
        await fixture.daemon.host.stop(within: .seconds(1))
        let reply = try await client.attach(AttachParameters(link: "glow", definition: Self.glow, persist: true))
        #expect(!reply.valid && !reply.applied && reply.summary == "everything is being stopped")
        #expect(fixture.text(of: Self.file) == nil)
        let detached = try await client.detach(DetachParameters(link: "shine", persist: true))
        #expect(!detached.applied && fixture.text(of: Self.dropIn) == nil && !fixture.exists("lamp.yaml.d"))
        await fixture.end()
    }
}
