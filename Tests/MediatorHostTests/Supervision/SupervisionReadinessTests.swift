import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import TestSupport
import Testing

extension `Supervision` {
    private static func slow(_ keys: String, name: String = "slow") -> String {
        """
        system: \(name)
        states: { Waiting: {}, Up: {} }
        events: { Go: {} }
        fromOutside: Go
        initialState: Waiting
        \(keys)
        transitions:
          Waiting:
            Go: Up
        """
    }

    @Test func `a system that is not ready within its time is restarted`() async throws {
        let fixture = try Fixture(
            Self.slow("ready: { in: Up, within: 5s, otherwise: restart }\nsupervision: { onFault: continue }")
        ).start()
        await fixture.pass(.seconds(5))
        try await fixture.until("slow") { $0.health == .failed }
        #expect(try fixture.status("slow").lastFault?.message == "not ready within 5s: its state is 'Waiting'")
        await fixture.pass(.seconds(1))
        try await fixture.until("slow") { $0.restarts == 1 }
        #expect(try fixture.status("slow").health == .starting)
        try fixture.host.emit("Go", to: "slow", fields: [])
        try await fixture.until("slow") { $0.health == .healthy }
        fixture.clock.advance(by: .seconds(60))
        #expect(try fixture.status("slow").restarts == 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a system that is reset has its time to become ready anew`() async throws {
        let fixture = try Fixture(
            Self.slow(
                "ready: { in: Up, within: 5s, otherwise: reset }\nsupervision: { onFault: continue, limit: 2 per 1h }")
        ).start()
        for number in 1...2 {
            await fixture.pass(.seconds(5))
            try await fixture.until("slow") { $0.resets == UInt64(number) && $0.state.serial == UInt64(number) + 1 }
        }
        await fixture.pass(.seconds(5))
        try await fixture.until("slow") { $0.loop.phase == .stopped }
        #expect(try fixture.status("slow").faults == 3)
        await fixture.host.stop(within: .zero)
    }

    @Test func `readiness of the whole waits for each as long as it may take`() async throws {
        let fixture = try Fixture(
            Self.slow("ready: { in: Up, within: 5s }", name: "short") + "\n---\n"
                + Self.slow("ready: { in: Up, within: 100s }", name: "long") + "\n---\n"
                + Self.slow("ready: Up", name: "usual")
        ).start()
        await fixture.host.settled()
        let own = fixture.clock.deadlines
        async let late = fixture.host.ready(within: .seconds(30))
        // Beside the waits of the systems, the call waits for each of the three limits.
        let limits = [5, 30, 100].map { ManualClock.Instant(offset: .seconds($0)) }
        await suspend(while: fixture.clock.deadlines != (own + limits).sorted())
        fixture.clock.advance(by: .seconds(30))
        #expect(try fixture.status("short").health == .starting)
        try fixture.host.emit("Go", to: "long", fields: [])
        #expect(await late == ["short", "usual"])
        #expect(try fixture.status("long").health == .healthy)
        await fixture.host.stop(within: .zero)
    }
}
