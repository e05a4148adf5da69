import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import TestSupport
import Testing

extension `Supervision` {
    @Test func `a side effect that does not end is left behind, and the system begins anew`() async throws {
        let fixture = try Fixture(
            Self.system(
                "supervision: { onFault: restart, delay: 0s }",
                more: """
                    feedbacks:
                      go:
                        onState: any
                        when: state.quotient == 50
                        strategy: continueOnNewState
                        work: { name: long, stubborn: true }
                    """)
        ).start()
        try fixture.divide(by: 2)
        await fixture.works.began.wait { !$0.isEmpty }
        try await fixture.breakIt()
        // The stubborn one sleeps in a task that the host does not know.
        await suspend(while: fixture.clock.deadlines.last != .init(offset: .seconds(60)))
        await fixture.clock.nextDeadline(in: .seconds(10))
        #expect(try fixture.status().health == .failed)
        fixture.clock.advance(by: .seconds(10))
        try await fixture.until { $0.restarts == 1 && $0.loop.phase == .running }
        #expect(fixture.works.ended.value.isEmpty)
        fixture.clock.advance(by: .seconds(50))
        await fixture.works.ended.wait { !$0.isEmpty }
        #expect(try fixture.quotient() == .int(100))
        await fixture.host.stop(within: .zero)
    }

    @Test func `a stop need not wait for a delay`() async throws {
        let fixture = try Fixture(Self.system("supervision: { onFault: restart, delay: 1h, maxDelay: 1h }")).start()
        try await fixture.breakIt()
        await fixture.host.settled()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(3_600)))
        await fixture.host.stop(within: .zero)
        #expect(try fixture.status().health == .stopped)
        #expect(try fixture.status().loop.phase == .stopped)
    }

    @Test func `another configuration takes the place of one that waits, or has ended`() async throws {
        let old =
            Self.system("supervision: { onFault: restart, delay: 1h, maxDelay: 1h }")
            + "\n---\n" + Self.system("supervision: stop", name: "ended") + "\n---\n"
            + Self.system("supervision: stop", name: "stays")
        let new =
            Self.system("description: new\nsupervision: continue")
            + "\n---\n" + Self.system("supervision: continue", name: "ended") + "\n---\n"
            + Self.system("supervision: stop", name: "stays")
        let fixture = try Fixture(old).start()
        for name in ["ended", "stays"] {
            try fixture.divide(name, by: 2)
            try await fixture.breakIt(name)
            try await fixture.until(name) { $0.loop.phase == .stopped }
        }
        try await fixture.breakIt()
        await fixture.host.settled()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(3_600)))
        let applied = try await fixture.host.apply(try Fixture.graph(new, fixture.catalogue))
        #expect(applied.plan.systems.map(\.action) == [.restart, .restart, .keep])
        #expect(applied.plan.systems[0].reason == "it does not run, on account of a fault")
        #expect(try fixture.status().health == .healthy)
        #expect(try fixture.status("ended").health == .healthy)
        #expect(try fixture.quotient("ended") == .int(100))
        #expect(try fixture.status("stays").health == .failed)
        fixture.clock.advance(by: .seconds(3600))
        #expect(try fixture.status().restarts == 0)
        await fixture.host.stop(within: .zero)
    }

    @Test func `two faults at a time are one incident`() async throws {
        let fixture = try Fixture(
            Self.system(
                "supervision: { onFault: restart, delay: 1s, limit: 1 per 1h }",
                more: """
                    feedbacks:
                      one: { onState: any, when: 1 / (state.quotient - 1) == 6, work: one }
                      two: { onState: any, when: 1 / (state.quotient - 1) == 7, work: two }
                    """)
        ).start()
        try fixture.divide(by: 100)
        try await fixture.until { $0.faults == 2 }
        await fixture.pass(.seconds(1))
        try await fixture.until { $0.restarts == 1 && $0.loop.phase == .running }
        #expect(try fixture.status().health == .healthy)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a mailbox that overflows while its system waits is another fault`() async throws {
        let fixture = try Fixture(
            Self.system("mailbox: { limit: 3, overflow: fail }\nsupervision: { onFault: restart, delay: 10s }")
        ).start()
        try await fixture.breakIt()
        try await fixture.until { $0.loop.phase == .notStarted }
        for _ in 1...5 { try? fixture.divide(by: 1) }
        #expect(try fixture.status().health == .failed)
        await fixture.pass(.seconds(10))
        try await fixture.until { $0.restarts == 1 && $0.loop.phase == .notStarted }
        await fixture.pass(.seconds(20))
        try await fixture.until { $0.restarts == 2 && $0.loop.phase == .running }
        try fixture.divide(by: 2)
        try await fixture.until { $0.state.serial == 2 }
        await fixture.host.stop(within: .zero)
    }

    @Test func `who waits begins at once when it is restarted by hand`() async throws {
        let fixture = try Fixture(Self.system("supervision: { onFault: restart, delay: 1h, maxDelay: 1h }")).start()
        try await fixture.breakIt()
        try await fixture.until { $0.loop.phase == .notStarted }
        try fixture.divide(by: 4)
        try await fixture.host.restart("fragile")
        try await fixture.until { $0.restarts == 1 && $0.state.serial == 2 }
        #expect(try fixture.quotient() == .int(25))
        fixture.clock.advance(by: .seconds(3600))
        #expect(try fixture.status().restarts == 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `what has ended for good stays so when another of its group begins anew`() async throws {
        let systems = [
            Self.system("supervision: { onFault: restart, delay: 0s }", name: "a"),
            Self.system("supervision: stop", name: "b"),
            "groups: { letters: { strategy: rest, systems: [a, b] } }",
        ]
        let fixture = try Fixture(systems.joined(separator: "\n---\n")).start()
        try await fixture.breakIt("b")
        try await fixture.until("b") { $0.loop.phase == .stopped }
        try await fixture.breakIt("a")
        try await fixture.until("a") { $0.restarts == 1 && $0.loop.phase == .running }
        #expect(try fixture.status("b").health == .failed)
        #expect(try fixture.status("b").restarts == 0)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a link to a system that is replaced while it waits is open`() async throws {
        func text(_ supervision: String) -> String {
            """
            system: fragile
            states: { Ready: { seen: list(int) } }
            events: { See: { value: int }, Break: {} }
            fromOutside: Break
            initialState: { Ready: { seen: [] } }
            supervision: \(supervision)
            transitions:
              Ready:
                See: { to: Ready, set: { seen: "${state.seen + [event.value]}" } }
                Break: { to: Ready, set: { seen: "${[1 / (size(state.seen) - size(state.seen))]}" } }
            ---
            buses: { level: { kind: currentValue, value: int, initial: 1, fromOutside: write } }
            links: { in: { attach: fragile, to: level, emitEvent: { See: { value: "${value}" } } } }
            """
        }
        let fixture = try Fixture(text("{ onFault: restart, delay: 1h, maxDelay: 1h }")).start()
        try await fixture.until { $0.state.serial == 2 }
        try fixture.host.emit("Break", to: "fragile", fields: [])
        try await fixture.until { $0.loop.phase == .notStarted }
        try fixture.host.publish(.int(2), on: "level")
        try await fixture.host.apply(try Fixture.graph(text("continue"), fixture.catalogue))
        try await fixture.until { $0.state.serial == 2 }
        try fixture.host.publish(.int(3), on: "level")
        try await fixture.until { $0.state.serial == 3 }
        #expect(try fixture.seen() == [2, 3])
        await fixture.host.stop(within: .zero)
    }
}
