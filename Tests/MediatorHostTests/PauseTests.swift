import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

/// Systems that are paused, with a clock that is moved by hand.
@Suite(.timeLimit(.minutes(20))) struct `A system that is paused` {
    private final class Fixture: HostedFixture, Sendable {
        let clock = ManualClock()
        let host: Host

        init(
            _ text: String, logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) throws {
            host = try Host(
                graph: try graph(text, effects: EffectCatalogue([]).schemas), effects: EffectCatalogue([]),
                time: .manual(clock), logger: logger)
            host.start()
        }
    }

    private static let counter = """
        system: counter
        states: { Count: { n: int } }
        events: { Add: { by: int } }
        fromOutside: any
        mailbox: { limit: 3, overflow: dropNewest }
        initialState: { Count: { n: 0 } }
        transitions: { Count: { Add: { to: Count, set: { n: "${state.n + event.by}" } } } }
        ---
        buses: { seen: { kind: currentValue, value: int, initial: -1, fromOutside: read } }
        links: { tell: { attach: counter, to: seen, onState: Count, emitValue: "${state.n}" } }

        """

    private func add(_ number: Int64, _ host: Host) throws {
        try host.emit("Add", to: "counter", fields: [.int(number)])
    }

    @Test func `takes no event, shows its links nothing, and keeps to its mailbox's limit`() async throws {
        let fixture = try Fixture(Self.counter)
        try add(1, fixture.host)
        await fixture.settle()
        #expect(try fixture.host.pause("counter", by: 1_000, named: "alice"))
        #expect(try !fixture.host.pause("counter", by: 0, named: "root"), "it is paused already")
        for number in 1...3 { try add(Int64(number) * 10, fixture.host) }
        #expect(throws: HostError.self) { try add(1_000, fixture.host) }
        await fixture.settle()
        let status = try fixture.host.systemStatus("counter")
        #expect(try fixture.state("counter") == "Count 1" && status.loop.waiting == 3)
        #expect(try fixture.host.busStatus("seen").value == .int(1))
        #expect(status.pause?.userName == "alice" && status.pause?.user == 1_000)
        #expect(status.health == .degraded && status.healthReason == "paused by alice")
        #expect(fixture.host.health == .degraded)
        #expect(try fixture.host.resume("counter"))
        #expect(try !fixture.host.resume("counter"), "it is not paused")
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 61")
        #expect(try fixture.host.busStatus("seen").value == .int(61))
        let after = try fixture.host.systemStatus("counter")
        #expect(after.health == .healthy && after.pause == nil)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `says that it goes on before it does`() async throws {
        let fixture = try Fixture(Self.counter)
        try fixture.host.pause("counter", by: 0, named: nil)
        try add(5, fixture.host)
        await fixture.settle()
        var states: [String] = []
        let wasPaused = try fixture.host.resume("counter") {
            states.append((try? fixture.state("counter")) ?? "")
            // A second caller at the same time comes too late.
            let isFirst = try? fixture.host.resume("counter") { states.append("again") }
            states.append("\(isFirst ?? true)")
        }
        #expect(wasPaused)
        await fixture.settle()
        let isPaused = try fixture.host.resume("counter") { states.append("not paused") }
        #expect(!isPaused && states == ["Count 0", "false"])
        #expect(try fixture.state("counter") == "Count 5")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `is not late for the watchdog`() async throws {
        let fixture = try Fixture(Self.counter)
        try fixture.host.pause("counter", by: 0, named: nil)
        try add(1, fixture.host)
        _ = fixture.host.lookAtLoops(deadline: .seconds(10))
        await fixture.settle()
        fixture.clock.advance(by: .seconds(60))
        #expect(fixture.host.lookAtLoops(deadline: .seconds(10)).isEmpty)
        #expect(try fixture.host.systemStatus("counter").healthReason == "paused by user 0")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `has no ticks, and makes up for one when it is resumed`() async throws {
        let fixture = try Fixture(
            """
            system: clock
            states: { Count: { n: int } }
            events: { Tick: {} }
            fromOutside: any
            initialState: { Count: { n: 0 } }
            feedbacks: { tick: { onState: any, strategy: continueOnNewState, every: 10s, emit: Tick } }
            transitions: { Count: { Tick: { to: Count, set: { n: "${state.n + 1}" } } } }

            """)
        while try fixture.state("clock") != "Count 1" { await fixture.settle() }
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(10)))
        try fixture.host.pause("clock", by: 0, named: "root")
        fixture.clock.advance(by: .seconds(100))
        await fixture.settle()
        #expect(try fixture.state("clock") == "Count 1")
        #expect(try fixture.host.systemStatus("clock").loop.waiting == 0)
        try fixture.host.resume("clock")
        while try fixture.state("clock") != "Count 2" { await fixture.settle() }
        await fixture.settle()
        fixture.clock.advance(by: .seconds(11))
        while try fixture.state("clock") != "Count 3" { await fixture.settle() }
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `goes on being paused with its events when a reload keeps or changes it, and not when it is restarted`()
        async throws
    {
        let fixture = try Fixture(Self.counter)
        try fixture.host.pause("counter", by: 0, named: "root")
        try add(5, fixture.host)
        let other = Self.counter.replacing("initial: -1", with: "initial: -2")
        _ = try await fixture.host.apply(try graph(other))
        #expect(try fixture.host.systemStatus("counter").pause != nil)
        #expect(try fixture.state("counter") == "Count 0")
        try await fixture.host.restart("counter")
        #expect(try fixture.host.systemStatus("counter").pause == nil)
        try add(2, fixture.host)
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 2")
        try fixture.host.pause("counter", by: 0, named: "root")
        let changed = other.replacing("limit: 3", with: "limit: 4")
        try add(7, fixture.host)
        _ = try await fixture.host.apply(try graph(changed))
        #expect(try fixture.host.systemStatus("counter").pause != nil)
        #expect(try fixture.host.systemStatus("counter").loop.waiting == 1)
        let restarted = changed.replacing("Count", with: "Number")
        func reason() throws -> String? {
            try fixture.host.plan(for: graph(restarted)).systems.first { $0.name == "counter" }?.reason
        }
        #expect(try reason()?.hasSuffix("; it is no longer paused, and the event that waits is lost") == true)
        try add(8, fixture.host)
        #expect(try reason()?.hasSuffix("; it is no longer paused, and the 2 events that wait are lost") == true)
        try fixture.host.resume("counter")
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 17")
        try fixture.host.pause("counter", by: 0, named: "root")
        _ = try await fixture.host.apply(try graph(restarted))
        #expect(try fixture.host.systemStatus("counter").pause == nil)
        try add(2, fixture.host)
        await fixture.settle()
        #expect(try fixture.state("counter") == "Number 2")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `is reset when it is resumed, and stops with the host`() async throws {
        let fixture = try Fixture(Self.counter)
        try add(7, fixture.host)
        await fixture.settle()
        try fixture.host.pause("counter", by: 0, named: "root")
        try fixture.host.reset("counter")
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 7")
        try fixture.host.resume("counter")
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 0")
        try fixture.host.pause("counter", by: 0, named: "root")
        try add(1, fixture.host)
        await fixture.host.stop(within: .seconds(60))
        #expect(try fixture.state("counter") == "Count 0")
        #expect(throws: HostError.self) { try fixture.host.pause("counter", by: 0, named: "root") }
        #expect(try !fixture.host.resume("counter"))
    }

    @Test func `is reset once, however often that is asked for meanwhile, and says what a restart loses`() async throws
    {
        let log = Lines()
        let fixture = try Fixture(Self.counter, logger: log.logger)
        try add(7, fixture.host)
        await fixture.settle()
        try fixture.host.pause("counter", by: 0, named: "root")
        for _ in 0..<3 { try fixture.host.reset("counter") }
        try add(1, fixture.host)
        #expect(try fixture.host.systemStatus("counter").resets == 1)
        #expect(try fixture.host.systemStatus("counter").loop.waiting == 1)
        try await fixture.host.restart("counter")
        let lost = log.about(.eventsLost, of: "counter")
        #expect(lost.map(\.message) == ["events that waited are lost, since it begins anew"])
        #expect(lost.first?.metadata["count"] == "1")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `has its time to become ready anew when it is resumed`() async throws {
        let fixture = try Fixture(
            """
            system: slow
            states: { Waiting: {}, There: {} }
            events: { Come: {} }
            fromOutside: any
            initialState: Waiting
            ready: { in: There, within: 10s, otherwise: stop }
            transitions: { Waiting: { Come: There } }

            """)
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(10)))
        try fixture.host.pause("slow", by: 0, named: "root")
        fixture.clock.advance(by: .seconds(60))
        await fixture.settle()
        #expect(try fixture.host.systemStatus("slow").health == .degraded)
        try fixture.host.resume("slow")
        #expect(try fixture.host.systemStatus("slow").health == .starting)
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(70)))
        fixture.clock.advance(by: .seconds(11))
        try await suspend(while: fixture.host.systemStatus("slow").health != .failed)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `a host can start a system with a pause, and its side effects begin when it is resumed`() async throws {
        let fixture = try HostFixture(
            """
            system: waiter
            states: { Waiting: {} }
            events: { Go: {} }
            fromOutside: any
            initialState: Waiting
            feedbacks: { wait: { onState: Waiting, wait: first } }
            transitions: { Waiting: { Go: stay } }
            ---
            system: other
            states: { Waiting: {} }
            events: { Go: {} }
            fromOutside: any
            initialState: Waiting
            feedbacks: { wait: { onState: Waiting, wait: other } }
            transitions: { Waiting: { Go: stay } }

            """)
        fixture.host.start(pausing: ["waiter"], by: 0, named: "mediatord", because: "no start became ready")
        try fixture.host.emit("Go", to: "waiter", fields: [])
        await fixture.settle()
        #expect(fixture.began.value == ["other"])
        let status = try fixture.host.systemStatus("waiter")
        #expect(status.health == .degraded && status.loop.waiting == 1)
        #expect(status.healthReason == "paused by mediatord: no start became ready")
        #expect(try fixture.host.resume("waiter"))
        await fixture.settle()
        #expect(try fixture.host.systemStatus("waiter").loop.waiting == 0)
        #expect(fixture.began.value == ["other", "first"])
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `a metric shows a pause`() async throws {
        let fixture = try Fixture(Self.counter)
        func value() -> [Double] {
            fixture.host.snapshot.metrics.first { $0.name == "mediatord_system_paused" }?.samples.map(\.value) ?? []
        }
        #expect(value() == [0])
        try fixture.host.pause("counter", by: 0, named: "root")
        #expect(value() == [1])
        await fixture.host.stop(within: .seconds(1))
    }
}
