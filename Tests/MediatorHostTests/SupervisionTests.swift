import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

/// A side effect that goes on until it is cancelled, and then, if it is stubborn, for a minute more.
private final class Works: EffectImplementation, Sendable {
    let began = AwaitedValue<[String]>([])
    let ended = AwaitedValue<[String]>([])

    let schema = EffectSchema(
        name: "work",
        parameters: [.init(name: "name", type: .string, required: true), .init(name: "stubborn", type: .bool)],
        shortForm: "name")

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .string(let name)? = arguments["name"] else { return }
        let isStubborn = arguments["stubborn"] == .bool(true)
        began.change { $0.append(name) }
        let (endless, end) = AsyncStream<Void>.makeStream()
        await withTaskCancellationHandler {
            for await _ in endless {}
        } onCancel: {
            end.finish()
        }
        if isStubborn { await Task.detached { try? await context.clock.sleep(for: .seconds(60)) }.value }
        ended.change { $0.append(name) }
    }
}

@Suite(.timeLimit(.minutes(5))) struct `Supervision` {
    private struct Fixture {
        let clock = ManualClock()
        let works = Works()
        let began: ManualClock.Instant
        let catalogue: EffectCatalogue
        let host: Host

        init(
            _ text: String, logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) throws {
            catalogue = EffectCatalogue([works])
            let clock = clock
            let began = clock.now
            self.began = began
            let time = HostTime(clock: clock) {
                let elapsed = began.duration(to: clock.now).components.seconds
                guard let now = Timestamp(seconds: 1_700_000_000 + elapsed, nanoseconds: 0) else {
                    preconditionFailure()
                }
                return now
            }
            host = try Host(graph: Self.graph(text, catalogue), effects: catalogue, time: time, logger: logger)
        }

        static func graph(_ text: String, _ catalogue: EffectCatalogue) throws -> Graph {
            let file = ConfigurationFile(path: "a.yaml", text: text)
            let result = ConfigurationCompiler.compile(files: [file], effects: catalogue.schemas)
            return try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
        }

        func start() -> Fixture {
            host.start()
            return self
        }

        func status(_ name: String = "fragile") throws -> SystemStatus { try host.systemStatus(name) }

        func divide(_ name: String = "fragile", by number: Int64) throws {
            try host.emit("Divide", to: name, fields: [.int(number)])
        }

        /// Returns when something holds.
        func until(_ name: String = "fragile", _ holds: (SystemStatus) -> Bool) async throws {
            while !Task.isCancelled, try !holds(status(name)) { await Task.yield() }
        }

        /// Breaks a system, and returns when it is known.
        func breakIt(_ name: String = "fragile") async throws {
            let faults = try status(name).faults
            try divide(name, by: 0)
            try await until(name) { $0.faults > faults }
        }

        /// Lets a time pass as soon as somebody waits for it.
        func pass(_ duration: Duration) async {
            await clock.sleepers(atLeast: 1)
            clock.advance(by: duration)
        }

        /// The list in the state of a system.
        func seen(_ name: String = "fragile") throws -> [Int64] {
            guard case .structure(let data) = try status(name).state.data, case .list(let values)? = data.fields.first
            else { return [] }
            return values.compactMap { if case .int(let value) = $0 { value } else { nil } }
        }

        /// The quotient in the state of a system.
        func quotient(_ name: String = "fragile") throws -> Value? {
            guard case .structure(let data) = try status(name).state.data else { return nil }
            return data.fields.first
        }
    }

    /// A system that divides, and fails when it divides by zero.
    private static func system(_ keys: String, name: String = "fragile", more: String = "") -> String {
        """
        system: \(name)
        states: { Ready: { quotient: int } }
        events: { Divide: { by: int } }
        fromOutside: Divide
        initialState: { Ready: { quotient: 100 } }
        \(keys)
        transitions:
          Ready:
            Divide: { to: Ready, set: { quotient: "${state.quotient / event.by}" } }
        \(more)
        """
    }

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
        for _ in 0..<8 { #expect(await fixture.host.stuckSystems(within: .seconds(1_000_000)).isEmpty) }
        fixture.clock.advance(by: .seconds(1))
        try fixture.host.emit("Boom", to: "a", fields: [])
        func attempts() -> Int { lines.about(.systemRestarting, of: "a").count }
        // It cannot be made at once, nor at 3 and 7 s, but at 15.
        for (number, delay) in [(2, 2), (3, 4), (4, 8)] {
            while !Task.isCancelled, attempts() < number { await Task.yield() }
            // Others would follow at once.
            for _ in 0..<100 { await Task.yield() }
            #expect(attempts() == number)
            #expect(try fixture.host.systemStatus("a").restarts == 0)
            fixture.clock.advance(by: .seconds(delay))
        }
        while !Task.isCancelled, try fixture.host.systemStatus("a").restarts == 0 { await Task.yield() }
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

    @Test func `a fault is forgotten after a minute, also where nothing happens any more`() async throws {
        let fixture = try Fixture(Self.system("")).start()
        try await fixture.breakIt()
        fixture.clock.advance(by: .seconds(59))
        #expect(try fixture.status().health == .degraded)
        fixture.clock.advance(by: .seconds(30))
        #expect(fixture.host.health == .healthy)
        let status = try fixture.status()
        #expect(status.health == .healthy && status.healthReason == nil && status.lastFault != nil)
        // Since the minute was over, not since somebody looked.
        #expect(status.healthSince?.seconds == 1_700_000_060)
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
            #expect(try fixture.status().health == .degraded)
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
        #expect(try fixture.status().health == .degraded)
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
            #expect(try fixture.status().health == .degraded)
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
        #expect(try fixture.host.busStatus("sizes").value == .int(2))
        try fixture.host.emit("Break", to: "fragile", fields: [])
        try await fixture.until { $0.loop.phase == .notStarted }
        // Of a bus that remembers only the last value is shown; of the other, all values of that time.
        try fixture.host.publish(.int(3), on: "level")
        try fixture.host.publish(.int(4), on: "level")
        try fixture.host.publish(.int(5), on: "calls")
        try fixture.host.publish(.int(6), on: "calls")
        fixture.clock.advance(by: .seconds(1))
        try await fixture.until { $0.restarts == 1 && $0.state.serial == 4 }
        #expect(try Set(fixture.seen()) == [4, 5, 6])
        #expect(try fixture.host.busStatus("sizes").value == .int(3))
        try fixture.host.publish(.int(7), on: "level")
        try await fixture.until { $0.state.serial == 5 }
        #expect(try fixture.seen().last == 7)
        await fixture.host.stop(within: .zero)
    }

    // MARK: Groups

    private static func group(_ strategy: String, _ policy: String) -> String {
        let systems = ["a", "b", "c"].map {
            system(
                "supervision: \(policy)", name: $0,
                more: "feedbacks: { go: { onState: any, strategy: continueOnNewState, mode: single, work: \($0) } }")
        }
        return systems.joined(separator: "\n---\n") + "\n---\n" + """
            groups:
              letters: { strategy: \(strategy), systems: [a, b, c] }
            """
    }

    @Test(arguments: [("one", ["b"]), ("all", ["a", "b", "c"]), ("rest", ["b", "c"])])
    func `restarts those of its group that its strategy names, in their order`(
        _ strategy: String, _ concerned: [String]
    ) async throws {
        let fixture = try Fixture(Self.group(strategy, "{ onFault: restart, delay: 2s }")).start()
        await fixture.works.began.wait { $0.count >= 3 }
        try await fixture.breakIt("b")
        for name in concerned { try await fixture.until(name) { $0.health == .failed } }
        await fixture.works.ended.wait { $0.count >= concerned.count }
        await fixture.clock.sleepers(atLeast: 1)
        for name in ["a", "b", "c"] where !concerned.contains(name) {
            #expect(try fixture.status(name).health == .healthy)
        }
        for name in concerned where name != "b" {
            #expect(try fixture.status(name).healthReason == "being restarted with 'b'")
        }
        fixture.clock.advance(by: .seconds(2))
        await fixture.works.began.wait { $0.count >= 3 + concerned.count }
        for name in ["a", "b", "c"] {
            try await fixture.until(name) { $0.restarts == (concerned.contains(name) ? 1 : 0) }
            #expect(try fixture.status(name).health == (name == "b" ? .degraded : .healthy))
        }
        await fixture.host.stop(within: .zero)
    }

    @Test func `ends and resets those of its group too`() async throws {
        let fixture = try Fixture(Self.group("rest", "stop")).start()
        try await fixture.breakIt("b")
        for name in ["b", "c"] { try await fixture.until(name) { $0.loop.phase == .stopped } }
        #expect(try fixture.status("c").healthReason == "ended with 'b'")
        #expect(try fixture.status("a").health == .healthy)
        await fixture.host.stop(within: .zero)

        let other = try Fixture(Self.group("all", "reset")).start()
        try other.divide("c", by: 2)
        try await other.until("c") { $0.state.serial == 2 }
        try await other.breakIt("b")
        try await other.until("c") { $0.resets == 1 && $0.state.serial == 3 }
        #expect(try other.quotient("c") == .int(100))
        await other.host.stop(within: .zero)
    }

    // MARK: Ends, and other configurations

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
        // The stubborn one, and the tasks that wait for its end.
        await fixture.clock.sleepers(atLeast: 2)
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
        await fixture.clock.sleepers(atLeast: 1)
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
        await fixture.clock.sleepers(atLeast: 1)
        let applied = try await fixture.host.apply(try Fixture.graph(new, fixture.catalogue))
        #expect(applied.plan.systems.map(\.fate) == [.restart, .restart, .keep])
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
        #expect(try fixture.status().health == .degraded)
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

    // MARK: Readiness

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
        try await fixture.until("slow") { $0.health == .degraded }
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
        async let late = fixture.host.ready(within: .seconds(30))
        // Of those with a time, one for the system and one for the whole.
        await fixture.clock.sleepers(atLeast: 5)
        fixture.clock.advance(by: .seconds(30))
        #expect(try fixture.status("short").health == .starting)
        try fixture.host.emit("Go", to: "long", fields: [])
        #expect(await late == ["short", "usual"])
        #expect(try fixture.status("long").health == .healthy)
        await fixture.host.stop(within: .zero)
    }
}
