import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

@Suite(.timeLimit(.minutes(5))) struct `The breaker of a link` {
    /// Ten times in a second.
    static func make(_ count: Int) throws -> LinkBreaker {
        LinkBreaker(RateLimit(count: count, period: try #require(TimeSpan(seconds: 1, nanoseconds: 0))))
    }

    @Test func `counts in every period, not from one full second to the next`() throws {
        var breaker = try Self.make(3)
        // Times in tenths of a second.
        let attempts: [(Int, LinkBreaker.Verdict)] = [
            (0, .fires), (8, .fires), (9, .fires), (10, .fires), (17, .opens), (18, .holds), (27, .holds), (36, .holds),
            (46, .closes), (46, .fires), (47, .fires), (55, .opens), (65, .closes),
        ]
        for (time, verdict) in attempts {
            #expect(breaker.attempt(at: .milliseconds(time * 100)) == verdict, "at \(time)")
        }
        #expect(!breaker.isOpen(at: .seconds(100)))
    }

    @Test func `is open until a whole period has passed without an attempt`() throws {
        var breaker = try Self.make(1)
        #expect(breaker.attempt(at: .zero) == .fires)
        #expect(!breaker.isOpen(at: .zero))
        #expect(breaker.attempt(at: .milliseconds(999)) == .opens)
        #expect(breaker.isOpen(at: .milliseconds(1998)))
        #expect(!breaker.isOpen(at: .milliseconds(1999)))
    }

    @Test func `cuts a loop that turns too fast, and lets it go on later`() async throws {
        func system(_ name: String) -> String {
            """
            system: \(name)
            states: { Here: { n: int } }
            events: { Ask: {} }
            external: any
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
        let clock = ManualClock()
        let now = try #require(Timestamp(seconds: 0, nanoseconds: 0))
        let host = try Host(
            graph: try graph(system("a") + system("b") + links), effects: EffectCatalogue([]),
            time: HostTime(clock: clock) { now }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        func settle() async {
            // Each turn of the loop needs two.
            for _ in 0..<30 { #expect(await host.stuckSystems(within: .seconds(1_000_000)).isEmpty) }
        }
        host.start()
        try host.emit("Ask", to: "a", fields: [])
        await settle()
        var ping = try host.linkStatus("ping")
        #expect(ping.isOpen && ping.fired == 5 && ping.dropped == 1)
        let pong = try host.linkStatus("pong")
        #expect(!pong.isOpen && pong.fired == 5 && pong.dropped == 0)
        clock.advance(by: .seconds(1))
        #expect(try !host.linkStatus("ping").isOpen)
        try host.emit("Ask", to: "a", fields: [])
        await settle()
        ping = try host.linkStatus("ping")
        #expect(ping.isOpen && ping.fired == 10 && ping.dropped == 2)
        await host.stop(within: .zero)
    }
}
