import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

/// Persisted systems that start, end or begin again while the journal works.
@Suite(.timeLimit(.minutes(20))) struct `A persisted system` {
    /// A system that appends each number that it hears as a digit.
    private static let listener = """
        system: listener
        states: { At: { n: int } }
        events: { Hear: { n: int } }
        initialState: { At: { n: 7 } }
        transitions: { At: { Hear: { to: At, set: { n: "${state.n * 10 + event.n}" } } } }
        ---

        """

    @Test func `can be paused and resumed while its start waits for the journal`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter)
        await fixture.settle()
        #expect(try fixture.host.pause("counter", by: 0, named: "root"))
        #expect(try !fixture.host.pause("counter", by: 0, named: "root"), "it is paused already")
        try fixture.add(1)
        #expect(try fixture.host.systemStatus("counter").healthReason == "paused by root")
        fixture.journal.complete()
        await fixture.settle()
        let status = try fixture.host.systemStatus("counter")
        #expect(status.healthReason == "paused by root" && status.loop.waiting == 1)
        #expect(try fixture.value(of: "seen") == "0" && fixture.journal.waiting.isEmpty)
        #expect(try fixture.host.resume("counter"))
        await fixture.settle()
        #expect(fixture.journal.waiting == ["Count 1"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `tells that its state comes from the store`() async throws {
        let first = try PersistedFixture(PersistedFixture.counter, journal: ListedJournal())
        try first.add(1)
        await first.settle()
        await first.host.stop(within: .zero)
        let second = try PersistedFixture(
            PersistedFixture.counter, journal: first.journal.cut(after: 0), continues: true)
        await second.settle()
        #expect(try second.state("counter") == "Count 1")
        #expect(try second.host.why("counter").hops.last?.text == "restored from the store")
        await second.host.stop(within: .zero)
    }

    @Test func `tells that its stored state was not used`() async throws {
        let first = try PersistedFixture(PersistedFixture.counter, journal: ListedJournal())
        try first.add(1)
        await first.settle()
        await first.host.stop(within: .zero)
        let renamed = PersistedFixture.counter.replacing("Count", with: "Tally")
        let second = try PersistedFixture(renamed, journal: first.journal.cut(after: 0), continues: true)
        await second.settle()
        let text =
            "as it began at the start; its stored state was not used: it was in the state 'Count', "
            + "which there is no more"
        #expect(try second.host.why("counter").hops.last?.text == text)
        second.journal.completeAll()
        await second.settle()
        #expect(try second.state("counter") == "Tally 0")
        await second.host.stop(within: .zero)
    }

    @Test func `starts without a pause that has ended before the journal answers`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter)
        await fixture.settle()
        #expect(try fixture.host.pause("counter", by: 0, named: "root"))
        #expect(try fixture.host.resume("counter"))
        #expect(try !fixture.host.resume("counter"), "it is not paused")
        #expect(fixture.notes.isEmpty)
        try fixture.add(1)
        fixture.journal.complete()
        await fixture.settle()
        #expect(fixture.journal.waiting == ["Count 1"] && fixture.notes == ["0"])
        #expect(try fixture.host.systemStatus("counter").health == .healthy)
        await fixture.host.stop(within: .zero)
    }

    @Test func `can be restarted and stopped while its start waits, and late answers start nothing`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter)
        await fixture.settle()
        try await fixture.host.restart("counter")
        #expect(fixture.journal.waiting == ["Count 0", "Count 0", "Count 0"])
        fixture.journal.complete()
        await fixture.settle()
        #expect(fixture.notes.isEmpty, "the first incarnation does not start any more")
        // The clock stands still, so this waits for no limit.
        #expect(await fixture.host.stop(within: .seconds(60)) == [])
        fixture.journal.completeAll()
        #expect(try fixture.notes.isEmpty && fixture.value(of: "seen") == "-1")
        let row = try #require(fixture.journal.row("counter"))
        #expect(row.phase == HostChange.running && row.incarnation == 2)
    }

    @Test func `hears the value of an input that a reload links while its start waits`() async throws {
        func text(_ links: String) -> String {
            """
            system: one
            inputs: { x: { type: int, default: 1 } }
            states: { A: { n: int } }
            events: { Poke: {} }
            fromOutside: any
            initialState: { A: { n: 0 } }
            transitions:
              A:
                always: [{ when: input.x > state.n, to: A, set: { n: "${input.x}" } }]
                Poke: stay
            ---
            buses: { x: { kind: currentValue, value: int, initial: 5, fromOutside: write } }
            \(links)
            """
        }
        let fixture = try PersistedFixture(text(""), persisting: ["one"])
        await fixture.settle()
        #expect(fixture.journal.waiting == ["A 1"])
        let linked = try fixture.graph(text("links: { x: { attach: one, to: x, setInput: x } }"), persisting: ["one"])
        #expect(try await fixture.host.apply(linked).plan.systems.map(\.action) == [.keep])
        fixture.journal.complete()
        await fixture.settle()
        #expect(fixture.journal.waiting == ["A 5"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `is noted by the look at the loops if the journal keeps it waiting`() async throws {
        let log = Lines()
        let fixture = try PersistedFixture(PersistedFixture.counter, logger: log.logger)
        fixture.journal.complete()
        await fixture.settle()
        try fixture.add(1)
        await fixture.settle()
        func told() -> Int { log.all.count { $0.message == "a new state waits for the store" } }
        #expect(fixture.host.lookAtLoops(deadline: .seconds(30)).isEmpty && told() == 0)
        fixture.clock.advance(by: .seconds(1))
        #expect(fixture.host.lookAtLoops(deadline: .seconds(30)).isEmpty && told() == 1)
        fixture.clock.advance(by: .seconds(60))
        #expect(fixture.host.lookAtLoops(deadline: .seconds(30)).isEmpty && told() == 1)
        fixture.journal.complete()
        await fixture.settle()
        #expect(fixture.host.health == .healthy)
        await fixture.host.stop(within: .zero)
    }

    @Test func `has not heard an event whose transition waits for the journal`() async throws {
        let text =
            Self.listener + """
                system: sender
                states: { At: { n: int } }
                events: { Go: {} }
                fromOutside: any
                initialState: { At: { n: 5 } }
                transitions: { At: { Go: stay } }
                ---
                links: { tell: { attach: sender, toSystem: listener, onState: At, emitEvent: { Hear: { n: "${state.n}" } } } }
                """
        let fixture = try PersistedFixture(text, persisting: ["sender", "listener"])
        fixture.journal.complete("listener")
        fixture.journal.complete("sender")
        await fixture.settle()
        #expect(fixture.journal.waiting == ["At 75"])
        let waiting = try #require(fixture.host.state.systemDetails["listener"])
        #expect(waiting.heard.isEmpty)
        fixture.journal.complete()
        await fixture.settle()
        #expect(fixture.host.state.systemDetails["listener"]?.heard.keys.sorted() == ["tell"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `has put nothing on a bus whose value waits for the journal`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter, persisting: ["counter"], ["seen"])
        fixture.journal.complete("seen")
        fixture.journal.complete("counter")
        await fixture.settle()
        #expect(fixture.journal.waiting == ["0"])
        #expect(fixture.host.state.buses["seen"]?.value == .int(-1))
        #expect(fixture.host.state.busDetails["seen"] == SavedDetails(serial: 1))
        fixture.journal.complete()
        await fixture.settle()
        let details = try #require(fixture.host.state.busDetails["seen"])
        #expect(details.serial == 2 && details.heard.keys.sorted() == ["tell"])
        await fixture.host.stop(within: .zero)
    }

    /// Begins again with another configuration from what the journal of a fixture has.
    private func next(_ fixture: PersistedFixture, _ text: String) async throws -> PersistedFixture {
        let journal = fixture.journal.cut(after: 0)
        await fixture.host.stop(within: .zero)
        let next = try PersistedFixture(
            text, persisting: ["sender", "listener"], journal: journal, continues: true)
        journal.completeAll()
        await next.settle()
        return next
    }

    @Test func `tells of a restored state that a new rule of always changes at once`() async throws {
        func text(_ rule: String) -> String {
            Self.listener + """
                system: sender
                states: { At: { n: int } }
                events: { Set: { n: int } }
                fromOutside: any
                initialState: { At: { n: 0 } }
                transitions: { At: { Set: { set: { n: "${event.n}" } }\(rule) } }
                ---
                links:
                  tell: { attach: sender, toSystem: listener, onState: At, on: change, emitEvent: { Hear: { n: "${state.n}" } } }
                """
        }
        var fixture = try PersistedFixture(
            text(""), persisting: ["sender", "listener"], journal: ListedJournal())
        try fixture.host.emit("Set", to: "sender", fields: [.int(5)])
        await fixture.settle()
        #expect(try fixture.state("listener") == "At 705")
        fixture = try await next(fixture, text(#", always: [{ when: state.n == 5, set: { n: "${state.n + 1}" } }]"#))
        #expect(try fixture.state("sender") == "At 6" && fixture.state("listener") == "At 7056")
        await fixture.host.stop(within: .zero)
    }

    @Test func `does not tell again of a restored compound state in which it goes on`() async throws {
        let text =
            Self.listener + """
                system: sender
                states:
                  Out: { n: int }
                  In: { n: int }
                  In.A: {}
                  In.B: {}
                events: { Enter: {}, Go: {}, Leave: {} }
                fromOutside: any
                initialState: { Out: { n: 5 } }
                transitions:
                  Out: { Enter: In.A }
                  In: { Leave: Out }
                  In.A: { Go: In.B }
                ---
                links: { tell: { attach: sender, toSystem: listener, onState: In, emitEvent: { Hear: { n: "${state.n}" } } } }
                """
        var fixture = try PersistedFixture(text, persisting: ["sender", "listener"], journal: ListedJournal())
        func send(_ events: String...) async throws {
            for event in events { try fixture.host.emit(event, to: "sender", fields: []) }
            await fixture.settle()
        }
        try await send("Enter")
        #expect(try fixture.state("listener") == "At 75")
        fixture = try await next(fixture, text)
        #expect(try fixture.state("sender") == "In.A 5" && fixture.state("listener") == "At 75")
        try await send("Go")
        #expect(try fixture.state("sender") == "In.B 5" && fixture.state("listener") == "At 75")
        try await send("Leave", "Enter")
        #expect(try fixture.state("listener") == "At 755")
        await fixture.host.stop(within: .zero)
    }
}
