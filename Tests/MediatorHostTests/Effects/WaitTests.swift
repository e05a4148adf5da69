import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

/// A host whose clock is moved by hand.
private struct Fixture {
    let clock = ManualClock()
    let host: Host
    private let values: Changes<Value>

    /// A system that is switched on and off, with a feedback that puts a value on a bus.
    init(_ keys: String) throws {
        let text = """
            system: a
            states: { Off: {}, On: { n: int } }
            events: { Go: { n: int }, Back: {} }
            fromOutside: any
            initialState: Off
            feedbacks:
              tell: { onState: On, \(keys), publish: { to: b, value: "${state.n}" } }
            transitions:
              Off: { Go: { to: On, set: { n: "${event.n}" } } }
              On: { Go: { to: On, set: { n: "${event.n}" } }, Back: Off }
            ---
            buses: { b: { kind: passthrough, value: int, fromOutside: read } }

            """
        host = try Host(
            graph: try graph(text), effects: EffectCatalogue([]),
            time: HostTime.settling(clock) { [clock] in Self.begin.advanced(by: clock.now.offset) ?? Self.begin },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        values = try host.watchBus("b")
        host.start()
    }

    /// Has the system take an event, and all before it.
    func emit(_ event: String, _ fields: Value...) async throws {
        try host.emit(event, to: "a", fields: fields)
        await host.settled()
    }

    /// Advances the clock when so many runs wait, the first of them until then.
    func pass(_ milliseconds: Int, until deadline: Int, waiting: Int = 1) async throws {
        await host.settled()
        #expect(try host.systemStatus("a").runs(of: "tell").waiting == waiting)
        #expect(clock.nextDeadline?.offset == .milliseconds(deadline))
        clock.advance(by: .milliseconds(milliseconds))
    }

    /// The next value that the feedback publishes.
    func next() async -> Int? {
        guard case .int(let value)? = await values.next()?.subject else { return nil }
        return Int(value)
    }

    /// Returns when so many values have been published.
    func skip(_ count: Int) async {
        var left = count
        while left > 0, let change = await values.next() { left -= 1 + change.dropped }
        #expect(left == 0)
    }

    /// Stops the host. Nothing more was published.
    func end() async {
        await host.stop(within: .zero)
        #expect(await next() == nil)
    }

    /// When the feedback runs next.
    var due: Duration? {
        get throws { try host.systemStatus("a").nextRuns["tell"]?.span(since: Self.begin) }
    }

    private static let begin: Timestamp = {
        guard let time = Timestamp(seconds: 1_700_000_000, nanoseconds: 0) else { preconditionFailure("it is in 2023") }
        return time
    }()
}

private let goesOn = "strategy: continueOnNewState"

@Suite(.timeLimit(.minutes(20))) struct `A wait` {
    @Test(arguments: [
        "after: 2s", "after: 2s, \(goesOn)", "debounce: 2s, \(goesOn)", "after: 2s, \(goesOn), key: \"${state.n}\"",
        "after: 2s, \(goesOn), mode: single",
    ])
    func `ends with its state, and begins anew with the next one`(keys: String) async throws {
        let fixture = try Fixture(keys)
        try await fixture.emit("Go", .int(1))
        try await fixture.pass(1_000, until: 2_000)
        try await fixture.emit("Back")
        #expect(fixture.clock.nextDeadline == nil)
        fixture.clock.advance(by: .milliseconds(200))
        try await fixture.emit("Go", .int(2))
        try await fixture.pass(800, until: 3_200)
        try await fixture.pass(1_200, until: 3_200)
        #expect(await fixture.next() == 2)
        await fixture.end()
    }

    @Test func `of a throttle ends with its state, and the interval goes on`() async throws {
        let fixture = try Fixture("throttle: 10s, \(goesOn)")
        try await fixture.emit("Go", .int(1))
        #expect(await fixture.next() == 1)
        fixture.clock.advance(by: .seconds(1))
        try await fixture.emit("Go", .int(2))
        try await fixture.pass(1_000, until: 10_000)
        try await fixture.emit("Back")
        #expect(fixture.clock.nextDeadline == nil)
        try await fixture.emit("Go", .int(3))
        try await fixture.pass(8_000, until: 10_000)
        #expect(await fixture.next() == 3)
        await fixture.end()
    }

    @Test(arguments: ["parallel", "single", "queued", "restart"])
    func `gives way to that of the same state entered anew`(mode: String) async throws {
        let fixture = try Fixture("after: 2s, \(goesOn), mode: \(mode)")
        for number in 0..<3 {
            try await fixture.emit("Go", .int(Int64(number)))
            try await fixture.pass(1_000, until: number * 1_000 + 2_000)
        }
        try await fixture.pass(1_000, until: 4_000)
        #expect(await fixture.next() == 2)
        await fixture.end()
        #expect(try fixture.host.systemStatus("a").runs(of: "tell") == FeedbackRuns(feedback: "tell"))
    }

    @Test(arguments: ["after: 2s", "debounce: 2s"])
    func `for a key ends when the condition is false for that key, and for no other`(wait: String) async throws {
        let fixture = try Fixture("\(wait), \(goesOn), key: \"${state.n / 100}\", when: state.n % 100 != 0")
        try await fixture.emit("Go", .int(101))
        try await fixture.pass(1_000, until: 2_000)
        // The condition is false for another key, which then has no wait.
        try await fixture.emit("Go", .int(200))
        try await fixture.pass(1_000, until: 2_000)
        #expect(await fixture.next() == 101)
        try await fixture.emit("Go", .int(102))
        try await fixture.pass(1_000, until: 4_000)
        try await fixture.emit("Go", .int(100))
        #expect(fixture.clock.nextDeadline == nil)
        try await fixture.emit("Go", .int(103))
        try await fixture.emit("Back")
        #expect(fixture.clock.nextDeadline == nil)
        await fixture.end()
    }

    @Test func `with a key gives way to that of its key, and all end with their state`() async throws {
        let fixture = try Fixture("after: 2s, \(goesOn), key: \"${state.n}\"")
        try await fixture.emit("Go", .int(1))
        try await fixture.pass(1_000, until: 2_000)
        try await fixture.emit("Go", .int(2))
        try await fixture.pass(500, until: 2_000, waiting: 2)
        try await fixture.emit("Go", .int(2))
        try await fixture.pass(500, until: 2_000, waiting: 2)
        #expect(await fixture.next() == 1)
        try await fixture.pass(1_500, until: 3_500)
        #expect(await fixture.next() == 2)
        try await fixture.emit("Go", .int(3))
        try await fixture.emit("Go", .int(4))
        try await fixture.pass(1_000, until: 5_500, waiting: 2)
        try await fixture.emit("Back")
        #expect(fixture.clock.nextDeadline == nil)
        await fixture.end()
    }

    /// The power comes back and fails again while nobody takes notice.
    @Test(arguments: ["after: 2s", "debounce: 2s", "at: \"*:*:0/2\"", "every: 2s"])
    func `whose time comes while its system is paused is that of the state it was asked in`(keys: String) async throws {
        let fixture = try Fixture("\(keys), \(goesOn)")
        try await fixture.emit("Go", .int(1))
        if keys.hasPrefix("every") { #expect(await fixture.next() == 1) }
        await fixture.host.settled()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        try fixture.host.pause("a", by: 0, named: nil)
        try await fixture.emit("Back")
        try await fixture.emit("Go", .int(2))
        fixture.clock.advance(by: .seconds(2))
        try fixture.host.resume("a")
        if keys.hasPrefix("every") {
            // The interval is the feedback's, and has passed.
            #expect(await fixture.next() == 2)
        } else {
            try await fixture.pass(2_000, until: 4_000)
            #expect(await fixture.next() == 2)
        }
        await fixture.host.stop(within: .zero)
    }

    @Test func `that goes on is due as before after a pause`() async throws {
        let fixture = try Fixture("after: 2s, \(goesOn)")
        try await fixture.emit("Go", .int(1))
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        try fixture.host.pause("a", by: 0, named: nil)
        fixture.clock.advance(by: .seconds(2))
        try fixture.host.resume("a")
        #expect(await fixture.next() == 1)
        await fixture.end()
    }

    @Test func `ends with the initial state that a reset enters`() async throws {
        let fixture = try Fixture("after: 2s, \(goesOn)")
        try await fixture.emit("Go", .int(1))
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        try fixture.host.reset("a")
        await fixture.host.settled()
        #expect(fixture.clock.nextDeadline == nil)
        await fixture.end()
    }

    @Test(arguments: ["after: 2s", "debounce: 2s"])
    func `is told, with when it ends`(keys: String) async throws {
        let fixture = try Fixture("\(keys), \(goesOn)")
        #expect(try fixture.due == nil)
        try await fixture.emit("Go", .int(1))
        #expect(try fixture.due == .seconds(2))
        try await fixture.pass(1_000, until: 2_000)
        try await fixture.emit("Go", .int(1))
        #expect(try fixture.due == .seconds(3))
        try await fixture.emit("Back")
        #expect(try fixture.due == nil)
        await fixture.end()
    }

    @Test(arguments: ["3s", "\"${duration('3s')}\""])
    func `of a debounce comes to its end though its source keeps changing`(maxWait: String) async throws {
        let fixture = try Fixture("debounce: 1s, maxWait: \(maxWait), \(goesOn)")
        for round in 0..<3 {
            let begin = round * 3_000
            // The first change is put off, and so are the next five, each before the delay is over.
            for number in 1...6 {
                try await fixture.emit("Go", .int(Int64(number)))
                try await fixture.pass(500, until: min(begin + number * 500 + 500, begin + 3_000))
            }
            #expect(await fixture.next() == 6)
        }
        // After a run, and after its state, the longest wait begins again.
        try await fixture.emit("Go", .int(7))
        try await fixture.pass(900, until: 10_000)
        try await fixture.emit("Back")
        for number in 8...11 {
            try await fixture.emit("Go", .int(Int64(number)))
            try await fixture.pass(900, until: min(9_900 + (number - 8) * 900 + 1_000, 12_900))
        }
        #expect(await fixture.next() == 11)
        await fixture.end()
    }

    @Test(arguments: ["2s", "24h", "\"${duration(string(state.n) + 'h')}\""])
    func `of a debounce may have any limit that is no shorter`(maxWait: String) throws {
        _ = try Fixture("debounce: 2s, maxWait: \(maxWait), \(goesOn)")
    }

    /// Ticks that are due at about the same time wake the daemon once, a little later.
    @Test func `for a tick is told with the moment at which that comes`() async throws {
        let fixture = try Fixture("every: 10s, \(goesOn)")
        fixture.clock.advance(by: .milliseconds(123))
        try await fixture.emit("Go", .int(1))
        #expect(await fixture.next() == 1)
        await fixture.host.settled()
        #expect(fixture.clock.nextDeadline?.offset == .milliseconds(10_150))
        #expect(try fixture.due == .milliseconds(10_150))
        await fixture.end()
    }

    /// As many keys wait at once as are told from each other, and no more.
    @Test func `of one key too many is a fault`() async throws {
        let fixture = try Fixture("after: 2s, \(goesOn), key: \"${state.n}\"")
        for number in 0...1_024 { try await fixture.emit("Go", .int(Int64(number))) }
        try await fixture.pass(2_000, until: 2_000, waiting: 1_024)
        await fixture.skip(1_024)
        let status = try fixture.host.systemStatus("a")
        #expect(status.faults == 1)
        #expect(status.lastFault?.message == "there are more than 1024 keys at a time; none was started")
        await fixture.end()
    }
}
