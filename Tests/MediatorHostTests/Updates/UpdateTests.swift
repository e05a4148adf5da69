import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

private let tank = """
    system: tank
    states: { Idle: { used: int }, Filling: { used: int, peak: int } }
    events: { Start: {}, Measured: { used: int }, Told: { text: string }, Stop: {} }
    fromOutside: any
    initialState: { Idle: { used: 0 } }
    feedbacks:
      fill: { onState: Filling, wait: { name: fill, for: 60s }, onDone: { Told: { text: "${result.name} ${state.used}" } } }
      tick: { onState: Filling, every: 10s, publish: { to: ticks, value: "${state.used}" } }
      limit: { onState: Filling, after: 25s, publish: { to: ticks, value: "${100 + state.used}" } }
    transitions:
      Idle: { Start: { to: Filling, set: { peak: 0 } } }
      Filling:
        Measured:
          - { when: event.used > 90, to: Idle }
          - { when: event.used > state.peak, set: { used: "${event.used}", peak: "${event.used}" } }
          - { set: { used: "${event.used}" } }
        Told: { to: Idle, set: { used: "${1000 + size(event.text)}" } }
      any:
        Measured: { set: { used: "${event.used / (event.used - 7)}" } }
        Stop: { to: Idle, set: { used: 0 } }
    ---
    buses:
      ticks: { kind: passthrough, value: int, fromOutside: read }
      level: { kind: currentValue, value: int, initial: -1, fromOutside: read }
      high: { kind: currentValue, value: int, initial: -1, fromOutside: read }
      entries: { kind: currentValue, value: int, initial: -1, fromOutside: read }
    links:
      level: { attach: tank, to: level, onState: any, on: change, emitValue: "${state.used}" }
      high: { attach: tank, to: high, onState: Filling, when: state.used > 50, on: change, emitValue: "${state.used}" }
      entries: { attach: tank, to: entries, onState: any, emitValue: "${state.used}" }

    """

/// Updates of a state in place, in a configured system.
@Suite(.timeLimit(.minutes(20))) struct `A configured update in place` {
    private func start(_ text: String = tank) throws -> HostFixture {
        let fixture = try HostFixture(text)
        fixture.host.start()
        return fixture
    }

    private func measure(_ numbers: Int64..., in fixture: HostFixture) async throws {
        for number in numbers { try fixture.host.emit("Measured", to: "tank", fields: [.int(number)]) }
        await fixture.settle()
    }

    private func fired(_ link: String, _ fixture: HostFixture) throws -> UInt64 {
        try fixture.host.linkStatus(link).fired
    }

    private func value(_ bus: String, _ fixture: HostFixture) throws -> Value? { try fixture.host.busStatus(bus).value }

    @Test func `changes the data, and neither the time of entry nor what runs`() async throws {
        let fixture = try start()
        try fixture.host.emit("Start", to: "tank", fields: [])
        await fixture.settle()
        let entered = try fixture.host.systemStatus("tank").state.since
        let deadline = try #require(fixture.clock.nextDeadline)
        #expect(deadline == .init(offset: .seconds(10)))
        fixture.clock.advance(by: .seconds(5))
        try await measure(3, 8, 5, in: fixture)
        #expect(try fixture.state("tank") == "Filling 5 8")
        let status = try fixture.host.systemStatus("tank")
        #expect(status.state.since == entered)
        #expect(status.state.changed == entered.advanced(by: .seconds(5)))
        #expect(status.state.isUpdated && status.state.nameOfPrevious == nil)
        #expect(status.loop.counters.transitions == 1 && status.loop.counters.updates == 3)
        // The command began once, and the next tick is the one that was due before.
        #expect(fixture.began.value == ["fill"])
        #expect(fixture.clock.nextDeadline == deadline)
        await fixture.host.stop(within: .zero)
    }

    @Test func `is seen by ticks, waits and outcomes of what goes on`() async throws {
        let fixture = try start()
        let values = try fixture.host.watchBus("ticks")
        try fixture.host.emit("Start", to: "tank", fields: [])
        await fixture.settle()
        // The first tick comes with the entry.
        #expect(await values.next()?.subject == .int(0))
        try await measure(4, in: fixture)
        fixture.clock.advance(by: .seconds(10))
        #expect(await values.next()?.subject == .int(4))
        try await measure(6, in: fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(20)))
        fixture.clock.advance(by: .seconds(10))
        #expect(await values.next()?.subject == .int(6))
        try await measure(9, in: fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(25)))
        fixture.clock.advance(by: .seconds(5))
        #expect(await values.next()?.subject == .int(109))
        try await measure(91, in: fixture)
        #expect(try fixture.state("tank") == "Idle 9")
        await fixture.host.stop(within: .zero)
    }

    @Test func `is the state with which an outcome makes its event`() async throws {
        let fixture = try start()
        try fixture.host.emit("Start", to: "tank", fields: [])
        await fixture.settle()
        try await measure(55, in: fixture)
        while try fixture.state("tank").hasPrefix("Filling") {
            fixture.clock.advance(by: .seconds(5))
            await fixture.settle()
        }
        // The text of the event was `fill 55`, seven letters long.
        #expect(try fixture.state("tank") == "Idle 1007")
        #expect(fixture.began.value == ["fill"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `makes only links with on change fire, when what they emit differs`() async throws {
        let fixture = try start()
        await fixture.settle()
        #expect(try [fired("level", fixture), fired("high", fixture), fired("entries", fixture)] == [1, 0, 1])
        try fixture.host.emit("Start", to: "tank", fields: [])
        try await measure(3, 3, in: fixture)
        #expect(try [fired("level", fixture), fired("high", fixture), fired("entries", fixture)] == [3, 0, 2])
        #expect(try value("level", fixture) == .int(3))
        #expect(try value("entries", fixture) == .int(0))
        // Of a condition that begins to hold again, the value is new.
        try await measure(60, 60, 40, 60, 61, in: fixture)
        #expect(try [fired("level", fixture), fired("high", fixture), fired("entries", fixture)] == [7, 3, 2])
        #expect(try value("high", fixture) == .int(61))
        // An entry makes every link fire, whatever it emitted before.
        try fixture.host.emit("Stop", to: "tank", fields: [])
        try await measure(0, in: fixture)
        #expect(try [fired("level", fixture), fired("entries", fixture)] == [8, 3])
        #expect(try value("level", fixture) == .int(0))
        await fixture.host.stop(within: .zero)
    }

    /// A tank, and a pump that follows it.
    private static func pump(_ pump: String = "", link: String = "") -> String {
        """
        system: tank
        states: { Filling: { used: int } }
        events: { Measured: { used: int } }
        fromOutside: any
        initialState: { Filling: { used: 0 } }
        transitions: { Filling: { Measured: { set: { used: "${event.used}" } } } }
        ---
        system: pump
        states: { Idle: { level: int\(pump) } }
        events: { Level: { used: int } }
        initialState: { Idle: { level: -1\(pump.isEmpty ? "" : ", more: 0") } }
        transitions: { Idle: { Level: { set: { level: "${event.used}" } } } }
        ---
        links:
          tell: { attach: tank, toSystem: pump, onState: Filling, on: change, emitEvent: { Level: { used: "${state.used}" } }\(link) }

        """
    }

    @Test func `is told to a system that a reload makes anew`() async throws {
        let fixture = try start(Self.pump())
        try await measure(5, in: fixture)
        #expect(try fixture.state("pump") == "Idle 5")
        _ = try await fixture.host.apply(try fixture.graph(Self.pump(", more: int")), stopLimit: .seconds(600))
        await fixture.settle()
        #expect(try fixture.state("pump") == "Idle 5 0")
        try await measure(6, in: fixture)
        #expect(try fixture.state("pump") == "Idle 6 0")
        await fixture.host.stop(within: .zero)
    }

    @Test func `that a link may not tell yet is told when it may`() async throws {
        let fixture = try start(Self.pump(link: ", loop: { limit: 2 per 1s }"))
        try await measure(1, 2, 3, in: fixture)
        let held = try fixture.state("pump")
        #expect(held == "Idle 1")
        fixture.clock.advance(by: .seconds(5))
        try await measure(3, in: fixture)
        #expect(try fixture.state("pump") == "Idle 3")
        await fixture.host.stop(within: .zero)
    }

    @Test func `leaves the entry of its state in the story of what follows`() async throws {
        let fixture = try start()
        try fixture.host.emit("Start", to: "tank", fields: [])
        await fixture.settle()
        try await measure(3, 4, 5, in: fixture)
        while try fixture.state("tank").hasPrefix("Filling") {
            fixture.clock.advance(by: .seconds(5))
            await fixture.settle()
        }
        let story = try fixture.host.why("tank").hops.map(\.text)
        #expect(story.contains("tank was in Filling { used: 0, peak: 0 }"), "\(story)")
        #expect(story.contains("by the event Start"), "\(story)")
        #expect(!story.contains { $0.contains("when that side effect began") }, "\(story)")
        await fixture.host.stop(within: .zero)
    }

    @Test func `of any state changes each that has the field`() async throws {
        let fixture = try start()
        try await measure(14, in: fixture)
        #expect(try fixture.state("tank") == "Idle 2")
        await fixture.host.stop(within: .zero)
    }

    @Test func `that fails is a fault and changes nothing`() async throws {
        let fixture = try start()
        try await measure(7, in: fixture)
        #expect(try fixture.state("tank") == "Idle 0")
        let faults = try fixture.host.systemStatus("tank").faults
        #expect(faults == 1)
        #expect(try fixture.host.systemStatus("tank").loop.counters.updates == 0)
        await fixture.host.stop(within: .zero)
    }

    @Test func `is told by why, trace and why-not`() async throws {
        let fixture = try start()
        try fixture.host.emit("Start", to: "tank", fields: [])
        await fixture.settle()
        fixture.clock.advance(by: .seconds(2))
        try await measure(3, in: fixture)
        let hops = try fixture.host.why("tank").hops
        #expect(
            hops.map(\.text) == [
                "tank is in Filling { used: 3, peak: 3 }, which it entered from Idle on Start",
                "by the event Measured { used: 3 }", "emitted by the program",
            ])
        let entered = try fixture.host.systemStatus("tank").state.since
        #expect(hops[0].entered == entered && hops[0].time == entered.advanced(by: .seconds(2)))
        #expect(hops[0].previous == nil)
        let step = try #require(try fixture.host.trace("tank").last)
        #expect(step.kind == .update)
        #expect(step.text == "updated to Filling { used: 3, peak: 3 } on Measured { used: 3 }")
        #expect(step.guards.map(\.holds) == [false, true])
        let answer = try fixture.host.whyNot("tank", event: "Measured", fields: [.int(1)])
        #expect(answer.transitions.map(\.to) == ["Idle", "in place", "in place"])
        #expect(answer.transitions.map(\.holds) == [false, false, true])
        await fixture.host.stop(within: .zero)
    }

    @Test func `survives a reload, after which ticks see later updates`() async throws {
        let fixture = try start()
        let values = try fixture.host.watchBus("ticks")
        try fixture.host.emit("Start", to: "tank", fields: [])
        await fixture.settle()
        #expect(await values.next()?.subject == .int(0))
        try await measure(3, in: fixture)
        let entered = try fixture.host.systemStatus("tank").state.since
        let changed = tank.replacing("Stop: {} }", with: "Stop: {}, More: {} }")
        _ = try await fixture.host.apply(try fixture.graph(changed), stopLimit: .seconds(600))
        #expect(try fixture.state("tank") == "Filling 3 3")
        #expect(try fixture.host.systemStatus("tank").state.since == entered)
        try await measure(5, in: fixture)
        fixture.clock.advance(by: .seconds(10))
        #expect(await values.next()?.subject == .int(5))
        #expect(fixture.began.value == ["fill"])
        #expect(try value("level", fixture) == .int(5))
        await fixture.host.stop(within: .zero)
    }
}
