import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct `The breaker of a link` {
    /// Ten times in a second.
    static func make(_ count: Int, hops: Int? = nil) throws -> LinkBreaker {
        let second = try #require(TimeSpan(seconds: 1, nanoseconds: 0))
        return LinkBreaker(LoopLimit(rate: RateLimit(count: count, period: second), hops: hops))
    }

    @Test func `counts in every period, not from one full second to the next`() throws {
        var breaker = try Self.make(3)
        // Times in tenths of a second.
        let attempts: [(Int, LinkBreaker.Verdict)] = [
            (0, .fires), (8, .fires), (9, .fires), (10, .fires), (17, .opens(.rate)), (18, .holds), (27, .holds),
            (36, .holds),
            (46, .closes), (46, .fires), (47, .fires), (55, .opens(.rate)), (65, .closes),
        ]
        for (time, verdict) in attempts {
            #expect(breaker.attempt(at: .milliseconds(time * 100), hops: 1) == verdict, "at \(time)")
        }
        #expect(breaker.excess(at: .seconds(100)) == nil)
    }

    @Test func `is open until a whole period has passed without an attempt`() throws {
        var breaker = try Self.make(1)
        #expect(breaker.attempt(at: .zero, hops: .max) == .fires)
        #expect(breaker.excess(at: .zero) == nil)
        #expect(breaker.attempt(at: .milliseconds(999), hops: 1) == .opens(.rate))
        #expect(breaker.excess(at: .milliseconds(1998)) == .rate)
        #expect(breaker.excess(at: .milliseconds(1999)) == nil)
    }

    @Test func `opens for what has come over too many links, also when that comes slowly`() throws {
        var breaker = try Self.make(2, hops: 4)
        let attempts: [(Int, UInt32, LinkBreaker.Verdict)] = [
            // Values that have not come so far pass all the while.
            (0, 2, .fires), (20, 4, .fires), (40, 5, .opens(.hops)), (45, 1, .fires), (49, 6, .holds), (58, 5, .holds),
            (68, 5, .opens(.hops)),
            // A link that did not fire counts nothing. One that fires too often holds back everything.
            (80, 4, .fires), (81, 1, .fires), (82, 1, .opens(.rate)), (91, 9, .holds), (101, 9, .opens(.hops)),
            (102, 1, .closes),
        ]
        for (time, hops, verdict) in attempts {
            #expect(breaker.attempt(at: .milliseconds(time * 100), hops: hops) == verdict, "at \(time)")
        }
        #expect(breaker.excess(at: .milliseconds(11_099)) == .hops && breaker.excess(at: .milliseconds(11_100)) == nil)
    }

    /// Two systems that ask each other, of which the second waits for a minute; a bus in between, over which the answer comes.
    static let slow = """
        system: a
        states: { Here: { n: int } }
        events: { Ask: {} }
        fromOutside: any
        initialState: { Here: { n: 0 } }
        transitions: { Here: { Ask: { to: Here, set: { n: "${state.n + 1}" } } } }
        ---
        system: b
        states: { Idle: {}, Waiting: {}, Due: {} }
        events: { Ask: {}, Time: {}, Tick: {} }
        initialState: Idle
        feedbacks:
          wait: { onState: Waiting, after: 1m, emit: Time }
        transitions:
          any: { Ask: Waiting, Time: Due, Tick: Waiting }
        ---
        buses:
          answers: { kind: passthrough, value: bool }
        links:
          ask: { attach: a, toSystem: b, onState: Here, when: state.n > 0, emitEvent: Ask }
          answer: { attach: b, to: answers, onState: Due, emitValue: true }
          again: { attach: a, to: answers, onValue: true, emitEvent: Ask, loop: { limit: 10 per 1s, hops: 9 } }
        """

    /// Has a host run, and a clock go on by minutes.
    private static func run(
        _ configuration: String, _ body: (Host, _ pass: (Int) async -> Void) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        let now = try #require(Timestamp(seconds: 0, nanoseconds: 0))
        let host = try Host(
            graph: try graph(configuration), effects: EffectCatalogue([]),
            time: HostTime.settling(clock) { now }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        func settle() async {
            // Each turn of the loop needs two.
            await host.settled()
        }
        host.start()
        await settle()
        try await body(host) { minutes in
            await settle()
            for _ in 0..<minutes {
                clock.advance(by: .seconds(60))
                await settle()
            }
        }
        await host.stop(within: .zero)
    }

    @Test func `ends a slow circle after so many links`() async throws {
        try await Self.run(Self.slow) { host, pass in
            try host.emit("Ask", to: "a", fields: [])
            // Each round is three links; the third of them may be passed for the third time, and not for the fourth.
            await pass(3)
            #expect(try host.linkStatus("again").fired == 3 && !host.linkStatus("again").isOpen)
            await pass(1)
            var again = try host.linkStatus("again")
            #expect(again.fired == 3 && again.dropped == 1 && again.isOpen)
            let sender = try host.whyNot("a", event: "Ask").senders.first { $0.name == "again" }
            #expect(
                sender?.reasons.first
                    == "it is held back, since what came round had come over more than 9 links, and is not passed on"
            )
            // A value from outside begins to count, and passes.
            try host.emit("Ask", to: "a", fields: [])
            await pass(3)
            again = try host.linkStatus("again")
            #expect(again.fired == 6 && again.dropped == 1)
        }
    }

    @Test func `lets pass what a bus shows anew to a system that begins`() async throws {
        let remembering = Self.slow.replacing(
            "{ kind: passthrough, value: bool }", with: "{ kind: currentValue, value: bool, initial: false }")
        try await Self.run(remembering) { host, pass in
            try host.emit("Ask", to: "a", fields: [])
            await pass(4)
            #expect(try host.linkStatus("again").fired == 3 && host.linkStatus("again").dropped == 1)
            try await host.restart("a")
            await pass(0)
            #expect(try host.linkStatus("again").fired == 4 && host.linkStatus("again").dropped == 1)
        }
    }

    @Test func `lets a circle go on that the clock begins anew`() async throws {
        let ticking = Self.slow.replacing("after: 1m, emit: Time", with: "every: 1m, emit: Time")
        try await Self.run(ticking) { host, pass in
            try host.emit("Ask", to: "a", fields: [])
            await pass(12)
            let again = try host.linkStatus("again")
            #expect(again.fired >= 6 && again.dropped == 0)
        }
    }

    @Test func `cuts a loop that turns too fast, and lets it go on later`() async throws {
        func system(_ name: String) -> String {
            """
            system: \(name)
            states: { Here: { n: int } }
            events: { Ask: {} }
            fromOutside: any
            initialState: { Here: { n: 0 } }
            transitions: { Here: { Ask: { to: Here, set: { n: "${state.n + 1}" } } } }
            ---

            """
        }
        let links = """
            links:
              ping: { attach: a, toSystem: b, onState: Here, when: state.n > 0, emitEvent: Ask, loop: { limit: 5 per 1s } }
              pong: { attach: b, toSystem: a, onState: Here, when: state.n > 0, emitEvent: Ask }
            """
        try await Self.run(system("a") + system("b") + links) { host, pass in
            try host.emit("Ask", to: "a", fields: [])
            await pass(0)
            var ping = try host.linkStatus("ping")
            #expect(ping.isOpen && ping.fired == 5 && ping.dropped == 1)
            let pong = try host.linkStatus("pong")
            #expect(!pong.isOpen && pong.fired == 5 && pong.dropped == 0)
            await pass(1)
            #expect(try !host.linkStatus("ping").isOpen)
            try host.emit("Ask", to: "a", fields: [])
            await pass(0)
            ping = try host.linkStatus("ping")
            #expect(ping.isOpen && ping.fired == 10 && ping.dropped == 2)
        }
    }
}
