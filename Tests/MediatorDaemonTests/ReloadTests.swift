import FeedbackKitTesting
import MediatorControl
import MediatorDaemon
import MediatorHost
import Testing
import Varlink

/// Reloads, asked for over the control interface.
@Suite(.timeLimit(.minutes(5))) struct `Reloads` {
    /// A system that ends when the test says so.
    private static let holder = """
        system: holder
        states: { Holding: {} }
        events: { Poke: {} }
        fromOutside: any
        initialState: Holding
        feedbacks: { hold: { onState: Holding, hold: held } }
        transitions: { Holding: { Poke: stay } }

        """

    private static func other(_ name: String) -> String {
        lampSystem.replacing("system: lamp", with: "system: \(name)")
    }

    @Test func `what was written is what runs, and everybody is told`() async throws {
        let fixture = try await ServedFixture(["lamp.yaml": lampSystem])
        let client = try await fixture.client()
        try fixture.write(Self.other("second"), to: "second.yaml")
        let reply = try await client.reload()
        #expect(reply.applied && reply.generation == 2 && reply.errors == 0)
        #expect(reply.steps.map { "\($0.action) \($0.name)" } == ["add second"])
        #expect(try await client.listSystems().map(\.name) == ["lamp", "second"])
        let status = try await client.status()
        #expect(status.underway == nil && status.reloads.applied == 1 && status.reloads.rejected == 0)
        #expect(status.reload?.applied == true && status.reload?.time == "2023-11-14T22:13:20Z")
        #expect(fixture.log.value.contains { $0.hasPrefix("notice: reloaded: ") })
        let told = fixture.manager.value
        let begins = try #require(told.firstIndex { $0.contains("RELOADING=1") })
        #expect(told[begins].contains("STATUS=reloading the configuration"))
        #expect(told[(begins + 1)...].contains { $0.hasPrefix("READY=1") })
        await fixture.end()
    }

    @Test func `one that is wrong changes nothing, and says what is wrong`() async throws {
        let fixture = try await ServedFixture(["lamp.yaml": lampSystem])
        let client = try await fixture.client()
        try fixture.write(lampSystem.replacing("On: {}", with: "On: { level: number }"), to: "lamp.yaml")
        let reply = try await client.reload()
        #expect(!reply.applied && reply.generation == 1 && reply.errors > 0)
        #expect(reply.summary == "2 errors in the configuration")
        #expect(reply.diagnostics.contains { $0.file?.hasSuffix("lamp.yaml") == true && $0.severity == "error" })
        #expect(fixture.log.value.contains { $0.hasPrefix("error: reload rejected: ") })
        let status = try await client.status()
        #expect(status.generation == 1 && status.reloads.applied == 0 && status.reloads.rejected == 1)
        #expect(status.reload?.applied == false && status.reload?.summary == reply.summary)
        #expect(fixture.manager.value.last?.contains("reload rejected: 2 errors in the configuration") == true)
        // The running configuration goes on.
        try await client.emit("Switch", to: "lamp")
        await fixture.settle()
        #expect(try await client.describeSystem("lamp").summary.state.name == "On")
        await fixture.end()
    }

    @Test func `one without a difference keeps everything`() async throws {
        let fixture = try await ServedFixture(["lamp.yaml": lampSystem])
        let client = try await fixture.client()
        try await client.emit("Switch", to: "lamp")
        await fixture.settle()
        let reply = try await client.reload(all: true)
        #expect(reply.applied && reply.steps.map { "\($0.action) \($0.name)" } == ["keep lamp"])
        #expect(try await client.describeSystem("lamp").summary.state.name == "On")
        await fixture.end()
    }

    @Test func `files that are all gone stop nothing`() async throws {
        let fixture = try await ServedFixture(["lamp.yaml": lampSystem])
        let client = try await fixture.client()
        try fixture.remove("lamp.yaml")
        let reply = try await client.reload()
        #expect(!reply.applied && reply.summary.hasPrefix("there is no configuration file in "))
        #expect(try await client.listSystems().map(\.name) == ["lamp"])
        await fixture.end()
    }

    @Test func `what a reload would do is told, and not done`() async throws {
        let fixture = try await ServedFixture(["lamp.yaml": lampSystem])
        let client = try await fixture.client()
        try fixture.write(Self.other("second"), to: "second.yaml")
        let plan = try await client.plan()
        #expect(plan.valid && plan.steps.map { "\($0.action) \($0.name)" } == ["add second"])
        try fixture.write("system: [", to: "second.yaml")
        let wrong = try await client.plan()
        #expect(!wrong.valid && wrong.errors > 0 && !wrong.diagnostics.isEmpty)
        let status = try await client.status()
        #expect(status.generation == 1 && status.systems.count == 1 && status.reloads.rejected == 0)
        await fixture.end()
    }

    @Test func `one after the other, and the last gets what was written when it asked`() async throws {
        let fixture = try await ServedFixture(["lamp.yaml": lampSystem, "holder.yaml": Self.holder])
        await fixture.held.began.wait { $0.count == 1 }
        let (first, second, third) = (
            try await fixture.client(), try await fixture.client(), try await fixture.client()
        )
        try fixture.remove("holder.yaml")
        async let one = first.reload()
        // The system that goes has a side effect that holds the reload up.
        await fixture.manager.wait(for: "RELOADING=1")
        let underway = try await third.status().underway
        #expect(underway?.waiting == 0 && underway?.since == "2023-11-14T22:13:20Z")
        async let two = second.reload()
        _ = try await fixture.status(third) { $0.underway?.waiting == 1 }
        try fixture.write(Self.other("late"), to: "late.yaml")
        fixture.held.release()
        let (before, after) = try await (one, two)
        #expect(before.applied && before.generation == 2)
        #expect(before.steps.map { "\($0.action) \($0.name)" } == ["remove holder"])
        #expect(after.applied && after.generation == 3)
        #expect(after.steps.map { "\($0.action) \($0.name)" } == ["add late"])
        #expect(try await third.status().reloads.applied == 2)
        await fixture.end()
    }

    @Test func `who goes away while he waits has nothing done`() async throws {
        let fixture = try await ServedFixture(["lamp.yaml": lampSystem, "holder.yaml": Self.holder])
        await fixture.held.began.wait { $0.count == 1 }
        let (first, second, third) = (
            try await fixture.client(), try await fixture.client(), try await fixture.client()
        )
        try fixture.remove("holder.yaml")
        async let one = first.reload()
        await fixture.manager.wait(for: "RELOADING=1")
        let gone = Task { try await second.reload() }
        _ = try await fixture.status(third) { $0.underway?.waiting == 1 }
        await second.close()
        await #expect(throws: VarlinkError.self) { try await gone.value }
        _ = try await fixture.status(third) { $0.underway?.waiting == 0 }
        fixture.held.release()
        #expect(try await one.generation == 2)
        await fixture.log.wait(for: "their callers have gone (1)")
        let status = try await third.status()
        #expect(status.generation == 2 && status.reloads.applied == 1)
        await fixture.end()
    }

    @Test func `several hangups while one is carried out are one`() async throws {
        let fixture = try await ServedFixture(["lamp.yaml": lampSystem, "holder.yaml": Self.holder])
        await fixture.held.began.wait { $0.count == 1 }
        let client = try await fixture.client()
        try fixture.remove("holder.yaml")
        fixture.daemon.reloadSoon()
        await fixture.manager.wait(for: "RELOADING=1")
        for _ in 0..<5 { fixture.daemon.reloadSoon() }
        fixture.held.release()
        await fixture.manager.wait { $0.count { $0.hasPrefix("READY=1") } == 2 }
        #expect(try await client.status().generation == 3)
        // Another one comes after it.
        fixture.daemon.reloadSoon()
        await fixture.manager.wait { $0.count { $0.hasPrefix("READY=1") } == 3 }
        #expect(try await client.status().reloads.applied == 3)
        await fixture.end()
    }

    @Test func `one that the end of the daemon interrupts says so, and readiness is not told anew`() async throws {
        let fixture = try await ServedFixture(["lamp.yaml": lampSystem, "holder.yaml": Self.holder])
        await fixture.held.began.wait { $0.count == 1 }
        let client = try await fixture.client()
        try fixture.remove("holder.yaml")
        let reload = Task { try await client.reload() }
        await fixture.manager.wait(for: "RELOADING=1")
        _ = try await fixture.status(try await fixture.client()) { $0.generation == 2 }
        async let stopped = fixture.daemon.host.stop(within: .seconds(1_000))
        _ = try await fixture.status(try await fixture.client()) { $0.health == .stopped }
        fixture.held.release()
        await #expect(throws: ControlError.stopping) { try await reload.value }
        #expect(await stopped.isEmpty)
        #expect(!fixture.manager.value.contains { $0.hasPrefix("READY=1") })
        let again = try await client.reload()
        #expect(!again.applied && again.summary == "everything is being stopped")
        await fixture.end()
    }
}
