import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

private struct GaugeState: State, Codable { var reading: Int }
private struct BlindState: State, Codable {}
private struct ReadEvent: Event, Codable { let reading: Int }
private struct LoseEvent: Event, Codable {}
private struct GaugeParameters: Codable { var first = 1 }

/// Updates in place beside the other changes in the life of a system.
@Suite(.timeLimit(.minutes(20))) struct `An update in place in the life of a system` {
    private static let tank = """
        system: tank
        states: { Filling: { used: int } }
        events: { Measured: { used: int } }
        fromOutside: any
        initialState: { Filling: { used: 0 } }
        feedbacks:
          quiet: { onState: Filling, strategy: continueOnNewState, debounce: 10s, publish: { to: quiet, value: "${state.used}" } }
        transitions: { Filling: { Measured: { set: { used: "${event.used}" } } } }
        ---
        buses:
          level: { kind: passthrough, value: int, fromOutside: read }
          quiet: { kind: passthrough, value: int, fromOutside: read }
        links: { level: { attach: tank, to: level, onState: Filling, on: change, emitValue: "${state.used}" } }
        """

    private func measure(_ number: Int64, in fixture: HostFixture) async throws {
        try fixture.host.emit("Measured", to: "tank", fields: [.int(number)])
        await fixture.settle()
    }

    private func start() async throws -> HostFixture {
        let fixture = try HostFixture(Self.tank)
        fixture.host.start()
        await fixture.settle()
        return fixture
    }

    @Test func `is kept over a restart of the daemon, with the time of entry`() async throws {
        let fixture = try await start()
        let entered = try fixture.host.systemStatus("tank").state.since
        fixture.clock.advance(by: .seconds(3))
        try await measure(5, in: fixture)
        let kept = try #require(fixture.host.state.systems["tank"])
        #expect(kept.fields == [.int(5)])
        #expect(kept.since == entered)
        await fixture.host.stop(within: .zero)
    }

    @Test func `waits while its system is paused`() async throws {
        let fixture = try await start()
        _ = try fixture.host.pause("tank", by: 0, named: nil)
        try fixture.host.emit("Measured", to: "tank", fields: [.int(8)])
        await fixture.settle()
        #expect(try fixture.state("tank") == "Filling 0")
        _ = try fixture.host.resume("tank", by: 0, named: nil)
        await fixture.settle()
        #expect(try fixture.state("tank") == "Filling 8")
        await fixture.host.stop(within: .zero)
    }

    @Test func `is forgotten by a reset and a restart, which enter the state again`() async throws {
        let fixture = try await start()
        func fired() throws -> UInt64 { try fixture.host.linkStatus("level").fired }
        try await measure(8, in: fixture)
        #expect(try fired() == 2)
        try fixture.host.reset("tank")
        await fixture.settle()
        #expect(try fixture.state("tank") == "Filling 0")
        #expect(try fired() == 3)
        try await measure(8, in: fixture)
        try await fixture.host.restart("tank")
        await fixture.settle()
        #expect(try fixture.state("tank") == "Filling 0")
        // The entry counts, though the link emitted the same value last.
        #expect(try fired() == 5)
        await fixture.host.stop(within: .zero)
    }

    @Test func `is the data of a debounced side effect, which it does not put off`() async throws {
        let fixture = try await start()
        let values = try fixture.host.watchBus("quiet")
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(10)))
        fixture.clock.advance(by: .seconds(6))
        try await measure(8, in: fixture)
        fixture.clock.advance(by: .seconds(4))
        #expect(await values.next()?.subject == .int(8))
        await fixture.host.stop(within: .zero)
    }

    @Test func `of a system written in Swift is an update for the host`() async throws {
        let gauge = try TypedKind<any State, any Event, GaugeParameters>.system(
            "gauge", description: nil, parameters: GaugeParameters.self, defaults: GaugeParameters(),
            states: [GaugeState.self, BlindState.self], events: [ReadEvent.self, LoseEvent.self]
        ) { parameters in
            System {
                InitialState { GaugeState(reading: parameters.first) }
                Feedbacks {}
                Transitions {
                    From(GaugeState.self) { _ in
                        UpdateInPlace(on: ReadEvent.self) { event in GaugeState(reading: event.reading) }
                        On(LoseEvent.self, transitionTo: BlindState())
                    }
                }
            }
        }
        let fixture = try KindFixture(
            """
            system: meter
            kind: gauge
            ---
            buses: { level: { kind: currentValue, value: int, initial: 0, fromOutside: read } }
            links: { l: { attach: meter, to: level, onState: GaugeState, on: change, emitValue: "${state.reading}" } }
            """, also: [gauge])
        fixture.host.start()
        let definition = try fixture.host.systemStatus("meter").definition
        let names = definition.events.map(\.name)
        let read = try #require(names.first { $0.hasPrefix("Read") || $0.hasPrefix("read") }, "\(names)")
        try fixture.host.emit(read, to: "meter", fields: [.int(7)])
        await fixture.settle()
        let status = try fixture.host.systemStatus("meter")
        #expect(status.loop.counters.updates == 1 && status.loop.counters.transitions == 0)
        #expect(status.state.isUpdated)
        #expect(try fixture.host.busStatus("level").value == .int(7))
        let answer = try fixture.host.whyNot("meter", event: read, fields: [.int(1)])
        #expect(answer.transitions.map(\.to) == ["in place"])
        #expect(try fixture.host.trace("meter").last?.kind == .update)
        await fixture.host.stop(within: .zero)
    }
}
