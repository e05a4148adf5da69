import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

/// Hosts of which one goes on from where another was.
@Suite(.timeLimit(.minutes(20))) struct `A host that goes on from another` {
    private final class Fixture: HostedFixture, Sendable {
        let clock = ManualClock()
        let host: Host

        init(_ text: String, continuing state: HostState = HostState()) throws {
            host = try Host(
                graph: try graph(text, effects: EffectCatalogue([]).schemas), effects: EffectCatalogue([]),
                continuing: state, time: .manual(clock), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            host.start()
        }

        /// The saved state after a stop.
        func end() async -> HostState {
            await settle()
            await host.stop(within: .zero)
            return host.state
        }
    }

    private static let counter = """
        system: counter
        states: { Idle: {}, Count: { n: int, notes: list(string) } }
        events: { Add: { by: int } }
        fromOutside: any
        initialState: Idle
        transitions:
          Idle: { Add: { to: Count, set: { n: "${event.by}", notes: [first] } } }
          Count: { Add: { to: Count, set: { n: "${state.n + event.by}" } } }
        ---
        buses:
          seen: { kind: currentValue, value: int, initial: -1, fromOutside: both }
          passing: { kind: passthrough, value: int, fromOutside: both }
        links: { tell: { attach: counter, to: seen, onState: Count, emitValue: "${state.n}" } }

        """

    /// The saved state of the counter after it has counted to seven.
    private func seven() async throws -> (state: HostState, since: Timestamp) {
        let first = try Fixture(Self.counter)
        first.clock.advance(by: .seconds(5))
        try first.host.emit("Add", to: "counter", fields: [.int(7)])
        let state = await first.end()
        return (state, try first.host.systemStatus("counter").state.since)
    }

    @Test func `is in the states in which the other was, since then, and has its values`() async throws {
        let (state, since) = try await seven()
        #expect(state.systems.count == 1 && state.buses.count == 1)
        let second = try Fixture(Self.counter, continuing: state)
        #expect(second.host.continuation == Continuation(systems: 1, buses: 1))
        await second.settle()
        #expect(try second.state("counter") == "Count 7 [\"first\"]")
        #expect(try second.host.systemStatus("counter").state.since == since)
        #expect(try second.host.busStatus("seen").value == .int(7))
        try second.host.emit("Add", to: "counter", fields: [.int(1)])
        await second.settle()
        #expect(try second.state("counter") == "Count 8 [\"first\"]")
        #expect(await second.end().buses["seen"]?.value == .int(8))
    }

    @Test func `tells why it is in its state`() async throws {
        let (state, _) = try await seven()
        let second = try Fixture(Self.counter, continuing: state)
        await second.settle()
        let hops = try second.host.why("counter").hops
        #expect(hops.map(\.kind) == [.state, .restored])
        #expect(hops.last?.text == "kept over a restart of the daemon")
        _ = await second.end()
    }

    @Test func `shows a value that was kept to those who join, and its links the state that was kept`() async throws {
        let (state, _) = try await seven()
        let listener = """
            system: listener
            states: { Deaf: {}, Heard: { n: int } }
            events: { Hear: { n: int } }
            initialState: Deaf
            transitions: { any: { Hear: { to: Heard, set: { n: "${event.n}" } } } }
            ---
            links: { hear: { attach: listener, to: seen, when: "true", emitEvent: { Hear: { n: "${value}" } } } }

            """
        let second = try Fixture(Self.counter + "---\n" + listener, continuing: state)
        await second.settle()
        #expect(try second.state("listener") == "Heard 7")
        let kinds = try second.host.why("listener").hops.map(\.kind)
        #expect(kinds.last == .restored)
        _ = await second.end()
    }

    @Test func `begins anew where what was kept does not fit, and says why`() async throws {
        let (state, _) = try await seven()
        let gone = "it was in the state 'Count', which there is no more"
        let changed = "it was in the state 'Count', whose fields have changed: 'more' is new and has no default"
        let changes: [(from: String, to: String, part: String, reason: String)] = [
            ("Count", "Sum", "system", gone), ("n: int, notes", "n: int, more: int, notes", "system", changed),
            (
                "kind: currentValue, value: int, initial: -1", "kind: passthrough, value: int", "bus",
                "it remembers no value any more"
            ),
            (
                "value: int, initial: -1", "value: string, initial: none", "bus",
                "its values have another type now"
            ),
        ]
        for change in changes {
            var text = Self.counter.replacing(change.from, with: change.to)
            if change.to.contains("more: int") {
                text = text.replacing("notes: [first]", with: "more: 0, notes: [first]")
            }
            if change.to.contains("string") { text = text.replacing("\"${state.n}\"", with: "some") }
            let second = try Fixture(text, continuing: state)
            let refusal = try #require(second.host.continuation.refusals.first, "\(change)")
            #expect(refusal.part == change.part && refusal.reason == change.reason)
            #expect(second.host.continuation.systems + second.host.continuation.buses == 1)
            if change.part == "system" { #expect(try second.state("counter") == "Idle") }
            _ = await second.end()
        }
    }

    @Test func `knows nothing of what there is no more, nor of what is new`() async throws {
        let (state, _) = try await seven()
        let second = try Fixture(Self.counter.replacing("counter", with: "other"), continuing: state)
        #expect(second.host.continuation == Continuation(systems: 0, buses: 1))
        #expect(try second.state("other") == "Idle")
        _ = await second.end()
    }

    @Test func `begins those anew that had ended on account of a fault`() async throws {
        let fragile = """
            system: fragile
            states: { Here: { n: int } }
            events: { Divide: { by: int } }
            fromOutside: any
            initialState: { Here: { n: 1 } }
            supervision: stop
            transitions: { Here: { Divide: { to: Here, set: { n: "${10 / event.by}" } } } }

            """
        let first = try Fixture(fragile)
        try first.host.emit("Divide", to: "fragile", fields: [.int(2)])
        await first.settle()
        #expect(first.host.state.systems.keys.sorted() == ["fragile"])
        try first.host.emit("Divide", to: "fragile", fields: [.int(0)])
        for await _ in first.host.healthChanges where try first.host.systemStatus("fragile").health == .failed { break }
        await first.host.stop(within: .zero)
        #expect(first.host.state == HostState())
    }

    @Test func `has systems written in Swift go on, where they can be in that state`() async throws {
        let state = HostState(systems: [
            "kitchen": HostState.System(
                state: StructureType(name: "VolumeState", fields: [.init(name: "value", type: .int)]),
                fields: [.int(15)], since: try #require(Timestamp(rfc3339: "2026-01-01T00:00:00Z")))
        ])
        let text = "system: kitchen\nkind: speaker\nwith: { target: 15, volume: 1 }\n"
        let fixture = try KindFixture(text, continuing: state)
        #expect(fixture.host.continuation == Continuation(systems: 1))
        fixture.host.start()
        let seen = try await fixture.states(of: "kitchen", until: "VolumeState 15")
        #expect(seen == ["VolumeState 15"])
        await fixture.host.stop(within: .seconds(1))
    }
}
