import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

/// Persisted buses with a journal that the test completes.
@Suite(.timeLimit(.minutes(20))) struct `A value of a persisted bus` {
    /// A listener that appends each value as a digit.
    private static let listener = """
        system: listener
        states: { At: { n: int } }
        events: { Hear: { n: int } }
        initialState: { At: { n: 7 } }
        transitions: { At: { Hear: { to: At, set: { n: "${state.n * 10 + event.n}" } } } }
        ---
        buses: { level: { kind: currentValue, value: int, initial: 0, limit: 2, overflow: dropOldest, fromOutside: both } }
        links: { hear: { attach: listener, to: level, when: "true", emitEvent: { Hear: { n: "${value}" } } } }
        """

    private func begun(_ systems: Set<String> = []) async throws -> PersistedFixture {
        let fixture = try PersistedFixture(Self.listener, persisting: systems, ["level"])
        while fixture.journal.complete() != nil { await fixture.settle() }
        await fixture.settle()
        return fixture
    }

    private func publish(_ value: Int64, in fixture: PersistedFixture) throws {
        try fixture.host.publish(.int(value), on: "level")
    }

    @Test func `is on the bus when the journal has it`() async throws {
        let fixture = try PersistedFixture(Self.listener, persisting: [], ["level"])
        await fixture.settle()
        #expect(fixture.journal.waiting == ["0"])
        try publish(5, in: fixture)
        fixture.journal.complete()
        await fixture.settle()
        #expect(fixture.journal.waiting == ["5"])
        #expect(try fixture.value(of: "level") == "0" && fixture.state("listener") == "At 70")
        fixture.journal.complete()
        await fixture.settle()
        #expect(try fixture.value(of: "level") == "5" && fixture.state("listener") == "At 705")
        #expect(fixture.journal.row(.bus, "level")?.text == "5")
        await fixture.host.stop(within: .zero)
    }

    @Test func `keeps its order, and shares a commit within the limit of the bus`() async throws {
        let fixture = try await begun()
        for number in 1...4 { try publish(Int64(number), in: fixture) }
        #expect(fixture.journal.waiting == ["1"])
        #expect(try fixture.host.busStatus("level").mediator.dropped == 1)
        fixture.journal.complete()
        await fixture.settle()
        #expect(try fixture.state("listener") == "At 701" && fixture.journal.waiting == ["4"])
        fixture.journal.complete(refused: true)
        await fixture.settle()
        #expect(try fixture.state("listener") == "At 70134" && fixture.value(of: "level") == "4")
        await fixture.host.stop(within: .zero)
    }

    @Test func `that waits at a stop is written, and the next life has it`() async throws {
        let fixture = try await begun()
        for number in 1...2 { try publish(Int64(number), in: fixture) }
        await fixture.host.stop(within: .zero)
        #expect(fixture.journal.waiting == ["1", "2"])
        let second = try PersistedFixture(
            Self.listener, persisting: [], ["level"], journal: fixture.journal.cut(after: 2), continues: true)
        await second.settle()
        #expect(try second.value(of: "level") == "2" && second.state("listener") == "At 72")
        #expect(second.journal.given.isEmpty)
        try publish(3, in: second)
        #expect(second.journal.waiting == ["3"])
        await second.host.stop(within: .zero)
    }

    @Test func `passes without a commit when a reload no longer persists the bus, and its row is removed`() async throws
    {
        let fixture = try await begun()
        try publish(1, in: fixture)
        let applied = try await fixture.host.apply(try fixture.graph(Self.listener, persisting: []))
        #expect(
            applied.plan.buses.map(\.action) == [.change] && applied.plan.buses[0].changes.map(\.part) == ["persist"])
        try publish(2, in: fixture)
        #expect(try fixture.value(of: "level") == "0", "it waits behind the one before it")
        fixture.journal.complete()
        fixture.journal.complete()
        await fixture.settle()
        #expect(try fixture.value(of: "level") == "2")
        try publish(3, in: fixture)
        #expect(try fixture.value(of: "level") == "3" && fixture.journal.row(.bus, "level")?.text == "removed")
        _ = try await fixture.host.apply(try fixture.graph(Self.listener, persisting: [], ["level"]))
        #expect(fixture.journal.waiting == ["3"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `is not shown again to a system that has heard it`() async throws {
        let first = try await begun(["listener"])
        first.journal.completeAll()
        try publish(5, in: first)
        await first.settle()
        #expect(try first.state("listener") == "At 705")
        let second = try PersistedFixture(
            Self.listener, persisting: ["listener"], ["level"], journal: first.journal.cut(after: 0), continues: true)
        await second.settle()
        #expect(try second.state("listener") == "At 705" && second.journal.given.isEmpty)
        second.journal.completeAll()
        try publish(5, in: second)
        await second.settle()
        #expect(try second.state("listener") == "At 7055", "the same value again is another one")
        for fixture in [first, second] { await fixture.host.stop(within: .zero) }
    }

    @Test func `is not overwritten by an old state that is restored`() async throws {
        let text = PersistedFixture.counter.replacing("fromOutside: read", with: "fromOutside: both")
        let first = try PersistedFixture(text, persisting: ["counter"], ["seen"])
        first.journal.completeAll()
        await first.settle()
        try first.add(4)
        await first.settle()
        try first.host.publish(.int(99), on: "seen")
        await first.settle()
        let second = try PersistedFixture(
            text, persisting: ["counter"], ["seen"], journal: first.journal.cut(after: 0), continues: true)
        second.journal.completeAll()
        await second.settle()
        #expect(try second.state("counter") == "Count 4" && second.value(of: "seen") == "99")
        try second.add(5)
        await second.settle()
        #expect(try second.value(of: "seen") == "45")
        for fixture in [first, second] { await fixture.host.stop(within: .zero) }
    }

    @Test func `of a link that fires on changes comes again only with another output`() async throws {
        let text = """
            system: sender
            states: { At: { n: int, other: int } }
            events: { Set: { n: int }, More: {} }
            fromOutside: any
            initialState: { At: { n: 0, other: 0 } }
            transitions: { At: { Set: { set: { n: "${event.n}" } }, More: { set: { other: "${state.other + 1}" } } } }
            ---
            system: listener
            states: { At: { n: int } }
            events: { Hear: { n: int } }
            initialState: { At: { n: 7 } }
            transitions: { At: { Hear: { to: At, set: { n: "${state.n * 10 + event.n}" } } } }
            ---
            links:
              tell: { attach: sender, toSystem: listener, onState: At, on: change, emitEvent: { Hear: { n: "${state.n}" } } }
            """
        var fixture = try PersistedFixture(text, persisting: ["sender", "listener"], journal: ListedJournal())
        func send(_ event: String, _ fields: [Value] = []) async throws {
            try fixture.host.emit(event, to: "sender", fields: fields)
            await fixture.settle()
        }
        func cut() async throws {
            let journal = fixture.journal.cut(after: 0)
            await fixture.host.stop(within: .zero)
            fixture = try PersistedFixture(text, persisting: ["sender", "listener"], journal: journal, continues: true)
            journal.completeAll()
            await fixture.settle()
        }
        try await send("Set", [.int(5)])
        try await send("More")
        #expect(try fixture.state("listener") == "At 705")
        try await cut()
        #expect(try fixture.state("sender") == "At 5 1" && fixture.state("listener") == "At 705")
        try await send("More")
        #expect(try fixture.state("listener") == "At 705")
        try await send("Set", [.int(6)])
        #expect(try fixture.state("listener") == "At 7056")
        try await cut()
        #expect(try fixture.state("listener") == "At 7056")
        await fixture.host.stop(within: .zero)
    }
}
