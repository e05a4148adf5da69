import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(20))) struct `Supervision` {
    @Test func `one that cannot be made is tried again at the delays of its policy`() async throws {
        let lines = Lines()
        let fixture = try Fixture(
            """
            system: a
            states: { A: { n: int } }
            events: { Boom: {} }
            fromOutside: any
            initialState:
              A: { n: "${now >= timestamp('2023-11-14T22:13:21Z') && now < timestamp('2023-11-14T22:13:30Z') ? 1 / (int(now) - int(now)) : 1}" }
            supervision: { onFault: restart, delay: 1s, maxDelay: 1m, limit: 10 per 10m }
            transitions: { A: { Boom: { to: A, set: { n: "${1 / (state.n - state.n)}" } } } }

            """, logger: lines.logger)
        fixture.host.start()
        await fixture.host.settled()
        fixture.clock.advance(by: .seconds(1))
        try fixture.host.emit("Boom", to: "a", fields: [])
        func attempts() -> Int { lines.about(.systemRestarting, of: "a").count }
        // It cannot be made at once, nor at 3 and 7 s, but at 15.
        for (number, delay) in [(2, 2), (3, 4), (4, 8)] {
            await fixture.host.settled()
            #expect(attempts() == number)
            #expect(try fixture.host.systemStatus("a").restarts == 0)
            fixture.clock.advance(by: .seconds(delay))
        }
        try await suspend(while: fixture.host.systemStatus("a").restarts == 0)
        #expect(attempts() == 4)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `goes on after a fault where nothing else is said`() async throws {
        let fixture = try Fixture(Self.system("")).start()
        try fixture.divide(by: 2)
        try await fixture.breakIt()
        #expect(try fixture.quotient() == .int(50))
        #expect(try fixture.status().health == .degraded)
        #expect(try fixture.status().restarts == 0)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a fault is not forgotten, also where nothing happens any more`() async throws {
        let fixture = try Fixture(Self.system("")).start()
        try await fixture.breakIt()
        fixture.clock.advance(by: .seconds(86_400))
        #expect(fixture.host.health == .degraded)
        try fixture.divide(by: 2)
        await fixture.host.settled()
        let status = try fixture.status()
        #expect(status.health == .healthy && status.healthReason == nil && status.lastFault != nil)
        #expect(status.healthSince?.seconds == 1_700_086_400)
        try await fixture.breakIt()
        #expect(try fixture.status().health == .degraded)
        await fixture.host.stop(within: .zero)
    }

    @Test func `restarts in the initial state after a delay that doubles`() async throws {
        let fixture = try Fixture(Self.system("supervision: { onFault: restart, delay: 1s, maxDelay: 3s }")).start()
        try fixture.divide(by: 2)
        for (number, delay) in [1, 2, 3, 3].enumerated() {
            try await fixture.breakIt()
            #expect(try fixture.status().health == .failed)
            let reason = try #require(try fixture.status().healthReason)
            #expect(reason.hasPrefix("being restarted (\(number + 1) of 10 per 10m)"), "\(reason)")
            // An event in that time waits for the successor.
            try await fixture.until { $0.loop.phase == .notStarted }
            let begins = try #require(try fixture.status().begins)
            try fixture.divide(by: 4)
            await fixture.pass(.milliseconds(1000 * delay - 1))
            #expect(try fixture.status().begins == begins)
            #expect(try fixture.status().health == .failed)
            await fixture.pass(.milliseconds(1))
            try await fixture.until { $0.restarts == UInt64(number) + 1 && $0.state.serial == 2 }
            #expect(try fixture.quotient() == .int(25))
            #expect(try fixture.status().health == .healthy)
            #expect(try fixture.status().begins == nil)
            let elapsed = fixture.began.duration(to: fixture.clock.now).components.seconds
            #expect(begins.seconds == 1_700_000_000 + elapsed)
        }
        // Counters go on.
        #expect(try fixture.status().loop.counters.events == 9)
        await fixture.host.stop(within: .zero)
    }

    @Test func `begins with the first delay again after a quiet period`() async throws {
        let fixture = try Fixture(Self.system("supervision: { onFault: restart, limit: 2 per 1m }")).start()
        try await fixture.breakIt()
        await fixture.pass(.seconds(1))
        try await fixture.until { $0.restarts == 1 }
        fixture.clock.advance(by: .seconds(60))
        try await fixture.breakIt()
        await fixture.pass(.seconds(1))
        try await fixture.until { $0.restarts == 2 }
        await fixture.host.stop(within: .zero)
    }

    @Test func `ends a system for good at its limit, until somebody restarts it`() async throws {
        let fixture = try Fixture(
            Self.system("supervision: { onFault: restart, delay: 0s, limit: 2 per 1h }")
                + "\n---\n" + Self.system("", name: "other")
        ).start()
        for number in 1...2 {
            try await fixture.breakIt()
            try await fixture.until { $0.restarts == UInt64(number) && $0.loop.phase == .running }
        }
        try await fixture.breakIt()
        try await fixture.until { $0.loop.phase == .stopped }
        #expect(try fixture.status().health == .failed)
        let reason = try #require(try fixture.status().healthReason)
        #expect(
            reason.hasPrefix(
                "ended for good, after 2 restarts or resets within 1h; transition from Ready on Divide"),
            "\(reason)")
        #expect(throws: HostError.self) { try fixture.divide(by: 1) }
        #expect(throws: HostError.self) { try fixture.host.reset("fragile") }
        // The other knows nothing of it.
        try fixture.divide("other", by: 10)
        try await fixture.until("other") { $0.state.serial == 2 }
        #expect(fixture.host.health == .failed)

        try await fixture.host.restart("fragile")
        #expect(try fixture.status().restarts == 3)
        try await fixture.until { $0.health != .starting }
        #expect(try fixture.status().health == .healthy)
        try await fixture.breakIt()
        try await fixture.until { $0.restarts == 4 }
        await fixture.host.stop(within: .zero)
    }

    @Test func `resets to the initial state, and keeps what waits and what goes on`() async throws {
        let fixture = try Fixture(
            Self.system(
                "supervision: { onFault: reset, limit: 2 per 1h }",
                more: """
                    feedbacks:
                      go: { onState: any, when: state.quotient == 50, strategy: continueOnNewState, work: long }
                      short: { onState: any, when: state.quotient == 50, work: short }
                    """)
        ).start()
        try fixture.divide(by: 2)
        await fixture.works.began.wait { $0.count >= 2 }
        try fixture.divide(by: 0)
        try fixture.divide(by: 5)
        try await fixture.until { $0.resets == 1 && $0.state.serial == 4 }
        #expect(try fixture.quotient() == .int(20))
        #expect(try fixture.status().restarts == 0)
        await fixture.works.ended.wait { $0 == ["short"] }
        #expect(try fixture.status().runs(of: "go").running == 1)
        // At the limit it ends.
        try fixture.divide(by: 0)
        try await fixture.until { $0.resets == 2 && $0.state.serial == 5 }
        try await fixture.breakIt()
        try await fixture.until { $0.loop.phase == .stopped }
        #expect(try fixture.status().health == .failed)
        #expect(fixture.works.ended.value.contains("long"))
        await fixture.host.stop(within: .zero)
    }

    @Test func `stops on the first fault where that is said`() async throws {
        let fixture = try Fixture(Self.system("supervision: stop")).start()
        try await fixture.breakIt()
        try await fixture.until { $0.loop.phase == .stopped }
        #expect(try fixture.status().health == .failed)
        #expect(try #require(try fixture.status().healthReason).hasPrefix("ended for good; "))
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: ["escalate", "{ onFault: restart, limit: 1 per 1h, delay: 0s, beyond: escalate }"])
    func `asks for the end of the daemon`(_ policy: String) async throws {
        let fixture = try Fixture(Self.system("supervision: \(policy)")).start()
        if policy != "escalate" {
            try await fixture.breakIt()
            try await fixture.until { $0.restarts == 1 }
        }
        try await fixture.breakIt()
        for await escalation in fixture.host.escalations {
            #expect(escalation.system == "fragile")
            #expect(escalation.reason.contains("division by zero"), "\(escalation.reason)")
            break
        }
        await fixture.host.stop(within: .zero)
    }

    @Test func `restarts a system that has not handled an event that it must handle`() async throws {
        let fixture = try Fixture(
            Self.system(
                "unhandled: fault\nsupervision: { onFault: restart, delay: 0s }"
            ).replacing("events: {", with: "events: { Other: {},").replacing(
                "fromOutside: Divide", with: "fromOutside: any")
        ).start()
        try fixture.host.emit("Other", to: "fragile", fields: [])
        try await fixture.until { $0.restarts == 1 && $0.loop.phase == .running }
        #expect(try fixture.status().health == .healthy)
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: ["", "supervision: { onFault: restart, delay: 0s }", "supervision: reset"])
    func `a mailbox that overflows where that is a fault`(_ policy: String) async throws {
        // It floods itself: each number is sent on twice.
        let fixture = try Fixture(
            """
            system: fragile
            states: { Ready: { number: int } }
            events: { Go: {} }
            fromOutside: Go
            mailbox: { limit: 100, overflow: fail }
            initialState: { Ready: { number: 0 } }
            \(policy)
            feedbacks:
              one: { onState: any, when: state.number > 0, strategy: continueOnNewState, emit: Go }
              two: { onState: any, when: state.number > 0, strategy: continueOnNewState, emit: Go }
            transitions:
              Ready:
                Go: { to: Ready, set: { number: "${state.number + 1}" } }
            """
        ).start()
        try fixture.host.emit("Go", to: "fragile", fields: [])
        try await fixture.until { $0.faults == 1 }
        let message = try #require(try fixture.status().lastFault).message
        #expect(message == "its mailbox, which holds 100 events, was sent one more")
        if policy.isEmpty {
            try await fixture.until { $0.loop.phase == .stopped }
            #expect(try fixture.status().health == .failed)
        } else {
            try await fixture.until { $0.restarts == 1 && $0.loop.phase == .running }
            #expect(try fixture.status().health == .healthy)
        }
        await fixture.host.stop(within: .zero)
    }

    // MARK: Links

    @Test func `who begins anew is shown once what buses remember, and shows its first state`() async throws {
        let fixture = try Fixture(
            """
            system: fragile
            states: { Ready: { seen: list(int) } }
            events: { See: { value: int }, Break: {} }
            fromOutside: Break
            initialState: { Ready: { seen: [] } }
            supervision: restart
            transitions:
              Ready:
                See: { to: Ready, set: { seen: "${state.seen + [event.value]}" } }
                Break: { to: Ready, set: { seen: "${[1 / (size(state.seen) - size(state.seen))]}" } }
            ---
            buses:
              level: { kind: currentValue, value: int, initial: 1, fromOutside: write }
              sizes: { kind: currentValue, value: int, initial: -1, fromOutside: read }
              calls: { kind: passthrough, value: int, fromOutside: write }
            links:
              in: { attach: fragile, to: level, emitEvent: { See: { value: "${value}" } } }
              call: { attach: fragile, to: calls, emitEvent: { See: { value: "${value}" } } }
              out: { attach: fragile, to: sizes, onState: Ready, emitValue: "${size(state.seen)}" }
            """
        ).start()
        try fixture.host.publish(.int(2), on: "level")
        try await fixture.until { $0.state.serial == 3 }
        // The link may show the state a moment later.
        try await suspend(while: fixture.host.busStatus("sizes").value != .int(2))
        try fixture.host.emit("Break", to: "fragile", fields: [])
        try await fixture.until { $0.loop.phase == .notStarted }
        // Of a bus that remembers only the last value is shown; of the other, all values of that time.
        try fixture.host.publish(.int(3), on: "level")
        try fixture.host.publish(.int(4), on: "level")
        try fixture.host.publish(.int(5), on: "calls")
        try fixture.host.publish(.int(6), on: "calls")
        await fixture.host.settled()
        fixture.clock.advance(by: .seconds(1))
        try await fixture.until { $0.restarts == 1 && $0.state.serial == 4 }
        #expect(try Set(fixture.seen()) == [4, 5, 6])
        try await suspend(while: fixture.host.busStatus("sizes").value != .int(3))
        try fixture.host.publish(.int(7), on: "level")
        try await fixture.until { $0.state.serial == 5 }
        #expect(try fixture.seen().last == 7)
        await fixture.host.stop(within: .zero)
    }
}
