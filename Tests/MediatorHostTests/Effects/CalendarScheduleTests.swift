import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A calendar's clock that is set by hand, which wakes its waiters.
private final class WallClock: Sendable {
    private struct State {
        var now: Timestamp
        var zone = ZoneOffsets.utc
        var waiting: [UInt64: (due: Timestamp, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var next: UInt64 = 0
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ text: String) throws {
        state = try Mutex(State(now: #require(Timestamp(rfc3339: text))))
    }

    var now: Timestamp { state.withLock { $0.now } }
    var zone: ZoneOffsets {
        get { state.withLock { $0.zone } }
        set { state.withLock { $0.zone = newValue } }
    }
    var dues: [String] { state.withLock { $0.waiting.values.map { "\($0.due)" }.sorted() } }

    func sleep(until due: Timestamp) async throws {
        let id = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, watchers) = state.withLock { state -> (Bool, [CheckedContinuation<Void, Never>]) in
                    guard due > state.now, !Task.isCancelled else { return (true, []) }
                    state.waiting[id] = (due, continuation)
                    defer { state.watchers = [] }
                    return (false, state.watchers)
                }
                if isOver { continuation.resume() }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiting.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Returns when somebody waits.
    func untilWaiting() async {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                if state.waiting.isEmpty { state.watchers.append(continuation) }
                return !state.waiting.isEmpty
            }
            if waits { continuation.resume() }
        }
    }

    /// Sets the clock as soon as somebody waits, and wakes all.
    func set(_ text: String) async throws {
        await untilWaiting()
        let now = try #require(Timestamp(rfc3339: text))
        let waiting = state.withLock { state in
            state.now = now
            defer { state.waiting = [:] }
            return state.waiting.values.map(\.continuation)
        }
        for continuation in waiting { continuation.resume() }
    }
}

@Suite(.timeLimit(.minutes(20))) struct `Schedules by the calendar` {
    private struct Fixture {
        let clock = ManualClock()
        let wall: WallClock
        let host: Host

        init(
            _ keys: String, at now: String, zone: String? = nil, random: @escaping @Sendable () -> Double = { 0.5 },
            log: Lines = Lines()
        ) throws {
            let wall = try WallClock(now)
            if let zone { wall.zone = try TimeZoneDatabase(directory: "/usr/share/zoneinfo").zone(named: zone) }
            self.wall = wall
            let graph = try Self.graph(keys)
            let time = HostTime(
                clock: clock, now: { wall.now }, zone: { wall.zone },
                sleepUntil: { due in try await wall.sleep(until: due) }, random: random, executor: SettlingPool())
            host = try Host(graph: graph, effects: EffectCatalogue([]), time: time, logger: log.logger)
            host.start()
        }

        static func graph(_ keys: String, _ description: String = "") throws -> Graph {
            let text = """
                system: bell
                description: a bell \(description)
                states: { Quiet: { rings: list(timestamp), plan: string }, Away: { rings: list(timestamp), plan: string } }
                events: { Ring: {}, Go: {}, Come: { plan: string } }
                fromOutside: [Go, Come]
                initialState: { Quiet: { rings: [], plan: "12:00" } }
                feedbacks:
                  ring:
                    onState: Quiet
                    \(keys.replacing("\n", with: "\n    "))
                    emit: Ring
                transitions:
                  Quiet:
                    Ring: { to: Quiet, set: { rings: "${state.rings + [now]}" } }
                    Go: Away
                    Come: { to: Quiet, set: { plan: "${event.plan}" } }
                  Away:
                    Come: { to: Quiet, set: { plan: "${event.plan}" } }
                """
            let file = ConfigurationFile(path: "a.yaml", text: text)
            let result = ConfigurationCompiler.compile(files: [file], effects: EffectCatalogue([]).schemas)
            return try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
        }

        func rings() throws -> [String] {
            guard case .structure(let data) = try host.systemStatus("bell").state.data,
                case .list(let times) = data.fields[0]
            else { return [] }
            return times.map { if case .timestamp(let time) = $0 { "\(time)" } else { "" } }
        }

        /// Returns when it has rung so often, and waits again.
        func until(_ expected: [String]) async throws {
            try await suspend(while: rings().count < expected.count)
            #expect(try rings() == expected)
        }

        /// Has the system enter its state once more, and wait there.
        func enterAnew() async throws {
            try host.emit("Come", to: "bell", fields: [.string("")])
            await host.settled()
        }

        func next() throws -> String? { try host.systemStatus("bell").nextRuns["ring"].map { "\($0)" } }
    }

    @Test func `a side effect runs when the calendar says so, whatever other clocks do`() async throws {
        let fixture = try Fixture("at: [\"Mon..Fri 08:00\", \"Sat 10:00\"]", at: "2026-11-20T07:00:00Z")
        await fixture.wall.untilWaiting()
        #expect(try fixture.next() == "2026-11-20T08:00:00Z")
        fixture.clock.advance(by: .seconds(1_000_000))
        #expect(try fixture.rings() == [])
        var expected: [String] = []
        for time in ["2026-11-20T08:00:00Z", "2026-11-21T10:00:00Z", "2026-11-23T08:00:00Z"] {
            try await fixture.wall.set(time)
            expected.append(time)
            try await fixture.until(expected)
        }
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-24T08:00:00Z"])
        await fixture.host.stop(within: .zero)
        #expect(fixture.wall.dues == [])
    }

    @Test func `a clock that is set is looked at anew, forth and back`() async throws {
        let fixture = try Fixture("at: 08:00", at: "2026-11-20T07:00:00Z")
        // Forth, past it by hours: it was missed.
        try await fixture.wall.set("2026-11-20T12:00:00Z")
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-21T08:00:00Z"])
        // Back: it will come.
        try await fixture.wall.set("2026-11-20T06:00:00Z")
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-20T08:00:00Z"])
        try await fixture.wall.set("2026-11-20T08:00:30Z")
        try await fixture.until(["2026-11-20T08:00:30Z"])
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: [("skip", 0), ("once", 1), ("all", 3)])
    func `what was missed while the machine slept`(_ missed: String, _ runs: Int) async throws {
        let fixture = try Fixture("at: 08:00\nmissed: \(missed)", at: "2026-11-20T07:00:00Z")
        try await fixture.wall.set("2026-11-22T12:00:00Z")
        try await fixture.until(Array(repeating: "2026-11-22T12:00:00Z", count: runs))
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-23T08:00:00Z"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `the zone is the expression's, else the machine's, as it is now`() async throws {
        let fixture = try Fixture(
            "at: [08:00, 12:00 America/New_York]", at: "2026-11-20T00:00:00Z", zone: "Europe/Berlin")
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-20T07:00:00Z"])
        fixture.wall.zone = try TimeZoneDatabase(directory: "/usr/share/zoneinfo").zone(named: "Asia/Tokyo")
        try await fixture.wall.set("2026-11-20T00:01:00Z")
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-20T17:00:00Z"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `a state that does not ask misses nothing, and a computed time is read in each state`() async throws {
        let fixture = try Fixture("at: \"${state.plan}\"\nmissed: all", at: "2026-11-20T07:00:00Z")
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-20T12:00:00Z"])
        try fixture.host.emit("Go", to: "bell", fields: [])
        await suspend(while: !fixture.wall.dues.isEmpty)
        try fixture.host.emit("Come", to: "bell", fields: [.string("13:00")])
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-20T13:00:00Z"])
        try fixture.host.emit("Go", to: "bell", fields: [])
        await suspend(while: !fixture.wall.dues.isEmpty)
        try fixture.host.emit("Come", to: "bell", fields: [.string("noon")])
        try await suspend(while: fixture.host.systemStatus("bell").faults == 0)
        let fault = try fixture.host.systemStatus("bell").lastFault?.message
        #expect(
            fault?.hasPrefix("the calendar time '${state.plan}' cannot be read: 'noon' is no calendar time") == true)
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: ["skip", "once", "all"])
    func `another time is waited for from now on, not from when the one before was`(missed: String) async throws {
        let fixture = try Fixture("at: \"${state.plan}\"\nmissed: \(missed)", at: "2026-11-20T07:00:00Z")
        try await fixture.wall.set("2026-11-20T11:30:20Z")
        try fixture.host.emit("Come", to: "bell", fields: [.string("11:30")])
        await suspend(while: fixture.wall.dues != ["2026-11-21T11:30:00Z"])
        try await fixture.until([])
        await fixture.host.stop(within: .zero)
    }

    @Test func `a jitter is later than the calendar says`() async throws {
        let fixture = try Fixture("at: 08:00\njitter: 10m", at: "2026-11-20T07:00:00Z")
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-20T08:05:00Z"])
        try await fixture.wall.set("2026-11-20T08:05:00Z")
        try await fixture.until(["2026-11-20T08:05:00Z"])
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-21T08:05:00Z"])
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: [
        "cancelOnNewState", "continueOnNewState\nmode: single", "continueOnNewState\nmode: restart",
        "continueOnNewState\nmode: queued", "continueOnNewState",
    ])
    func `ticks go on in each new state, however its runs are handled`(strategy: String) async throws {
        let fixture = try Fixture("at: \"*:00\"\nstrategy: \(strategy)", at: "2026-11-20T07:30:00Z")
        var expected: [String] = []
        for hour in ["08", "09", "10", "11"] {
            try await fixture.wall.set("2026-11-20T\(hour):00:00Z")
            expected.append("2026-11-20T\(hour):00:00Z")
            try await fixture.until(expected)
        }
        await fixture.host.stop(within: .zero)
    }

    @Test func `a run whose jitter leads to another state and back comes once`() async throws {
        let fixture = try Fixture("at: \"*:00\"\njitter: 50m", at: "2026-11-20T07:30:00Z", random: { 0.5 })
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-20T08:25:00Z"])
        try await fixture.wall.set("2026-11-20T08:25:00Z")
        try await fixture.until(["2026-11-20T08:25:00Z"])
        await fixture.wall.untilWaiting()
        try fixture.host.emit("Go", to: "bell", fields: [])
        await suspend(while: !fixture.wall.dues.isEmpty)
        try fixture.host.emit("Come", to: "bell", fields: [.string("")])
        await fixture.wall.untilWaiting()
        #expect(fixture.wall.dues == ["2026-11-20T09:25:00Z"])
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: [("skip", 0), ("once", 1), ("all", 3)])
    func `an interval that was missed`(_ missed: String, _ more: Int) async throws {
        let log = Lines()
        let fixture = try Fixture("every: 1h\nmissed: \(missed)", at: "2026-11-20T07:00:00Z", log: log)
        try await fixture.until(["2026-11-20T07:00:00Z"])
        await fixture.host.settled()
        // Three and a half hours of which nobody saw anything.
        fixture.clock.advance(by: .seconds(3.5 * 3_600))
        try await fixture.until(Array(repeating: "2026-11-20T07:00:00Z", count: 1 + more))
        await fixture.host.settled()
        let next = try #require(fixture.clock.nextDeadline)
        #expect(next.offset == .seconds(missed == "once" ? 4.5 * 3_600 : 4 * 3_600))
        // The wait of the next state does not report them again.
        try await fixture.enterAnew()
        #expect(fixture.clock.nextDeadline == next)
        await fixture.host.stop(within: .zero)
        let told = log.all.compactMap { line in line.metadata["ticks"].map { "\(line.message): \($0)" } }
        #expect(told == (missed == "skip" ? ["missed, and not made up for: 3"] : []))
    }

    @Test(arguments: ["skip", "once", "all"])
    func `the jitter of a tick is drawn once, however often its state is entered`(missed: String) async throws {
        let draws = Mutex([0.9, 0.3, 0.7, 0.1, 0.8, 0.2, 0.6, 0.4])
        let fixture = try Fixture(
            "every: 1h\njitter: 30m\nmissed: \(missed)", at: "2026-11-20T07:00:00Z",
            random: {
                draws.withLock { draws in
                    draws.append(draws.removeFirst())
                    return draws[draws.count - 1]
                }
            })
        var dues: [Duration] = []
        for rings in 1...3 {
            await fixture.host.settled()
            let due = try #require(fixture.clock.nextDeadline)
            for _ in 0..<3 {
                try await fixture.enterAnew()
                #expect(fixture.clock.nextDeadline == due)
            }
            dues.append(due.offset)
            fixture.clock.advance(by: due.offset - fixture.clock.now.offset)
            try await suspend(while: fixture.rings().count < rings)
        }
        #expect(dues[0] == .seconds(0.9 * 1_800))
        // Each tick has a delay of its own.
        #expect(dues[1] - dues[0] != dues[2] - dues[1])
        await fixture.host.stop(within: .zero)
    }

    /// A tick that takes longer than its interval, with events that lead to new states, loses none of them.
    @Test func `each that is made up for is taken before the next begins`() async throws {
        let fixture = try Fixture("at: \"*:*:*\"\nmissed: all", at: "2026-11-20T07:00:00.5Z")
        try await fixture.wall.set("2026-11-20T07:01:40Z")
        // At most a hundred, beside the present one.
        try await fixture.until(Array(repeating: "2026-11-20T07:01:40Z", count: 100))
        try await fixture.wall.set("2026-11-20T08:00:00Z")
        try await suspend(while: fixture.rings().count < 201)
        await fixture.wall.untilWaiting()
        #expect(try fixture.rings().count == 201)
        #expect(fixture.wall.dues == ["2026-11-20T08:00:01Z"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `when a delay has passed is told`() async throws {
        let fixture = try Fixture("after: 90s", at: "2026-11-20T07:00:00Z")
        await fixture.host.settled()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(90)))
        #expect(try fixture.next() == "2026-11-20T07:01:30Z")
        try fixture.host.emit("Go", to: "bell", fields: [])
        try await suspend(while: fixture.next() != nil)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a system that is kept keeps its next tick, and another time is a change`() async throws {
        let graph = try Fixture.graph("at: 08:00")
        let again = try Fixture.graph("at: 08:00", "and the same one")
        #expect(graph.systems[0].fingerprint == again.systems[0].fingerprint)
        for other in ["at: 09:00", "at: [08:00, 09:00]", "at: 08:00\nmissed: all"] {
            #expect(try Fixture.graph(other).systems[0].fingerprint != graph.systems[0].fingerprint, "\(other)")
        }
        #expect(try Fixture.graph("at: 08:00\nmissed: skip").systems[0].fingerprint == graph.systems[0].fingerprint)
        #expect(try Fixture.graph("at: [08:00]").systems[0].fingerprint == graph.systems[0].fingerprint)
        let fixture = try Fixture("at: 08:00", at: "2026-11-20T07:00:00Z")
        await fixture.wall.untilWaiting()
        let applied = try await fixture.host.apply(again)
        #expect(applied.plan.systems.map(\.action) == [.keep])
        #expect(try fixture.next() == "2026-11-20T08:00:00Z")
        #expect(fixture.wall.dues == ["2026-11-20T08:00:00Z"])
        await fixture.host.stop(within: .zero)
    }
}
