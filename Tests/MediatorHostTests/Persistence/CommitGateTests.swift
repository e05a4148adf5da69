import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

/// Persisted systems with a journal that the test completes.
@Suite(.timeLimit(.minutes(20))) struct `A new state of a persisted system` {
    /// A system that has begun in `Count 0`.
    private func begun(_ text: String = PersistedFixture.counter) async throws -> PersistedFixture {
        let fixture = try PersistedFixture(text)
        fixture.journal.complete()
        await fixture.settle()
        return fixture
    }

    @Test func `is seen by nobody before the journal has it`() async throws {
        let log = Lines()
        let fixture = try PersistedFixture(PersistedFixture.counter, logger: log.logger)
        let journal = fixture.journal
        await fixture.settle()
        #expect(journal.waiting == ["Count 0"])
        #expect(try fixture.notes == [] && fixture.value(of: "seen") == "-1")
        #expect(log.about(.systemStarted, of: "counter").isEmpty)
        journal.complete()
        await fixture.settle()
        #expect(try fixture.notes == ["0"] && fixture.value(of: "seen") == "0")
        #expect(log.about(.systemStarted, of: "counter").count == 1)
        try fixture.add(5)
        await fixture.settle()
        #expect(journal.waiting == ["Count 5"])
        #expect(try fixture.notes == ["0"] && fixture.value(of: "seen") == "0" && fixture.state("counter") == "Count 0")
        #expect(fixture.host.state.systems["counter"]?.fields == [.int(0)])
        #expect(log.about(.stateEntered, of: "counter").isEmpty)
        journal.complete()
        await fixture.settle()
        #expect(
            try fixture.notes == ["0", "5"] && fixture.value(of: "seen") == "5" && fixture.state("counter") == "Count 5"
        )
        #expect(fixture.host.state.systems["counter"]?.fields == [.int(5)])
        #expect(log.about(.stateEntered, of: "counter").count == 1)
        #expect(journal.row("counter")?.text == "Count 5")
        await fixture.host.stop(within: .zero)
    }

    @Test func `takes effect if the journal refuses it`() async throws {
        let fixture = try await begun()
        try fixture.add(5)
        await fixture.settle()
        fixture.journal.complete(refused: true)
        await fixture.settle()
        #expect(try fixture.value(of: "seen") == "5" && fixture.notes == ["0", "5"])
        #expect(fixture.journal.row("counter")?.text == "Count 0")
        try fixture.add(6)
        await fixture.settle()
        #expect(fixture.journal.waiting == ["Count 56"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `keeps no other system from going on`() async throws {
        let other = """
            ---
            system: other
            states: { Count: { n: int } }
            events: { Add: { by: int } }
            fromOutside: any
            initialState: { Count: { n: 0 } }
            transitions: { Count: { Add: { to: Count, set: { n: "${state.n + event.by}" } } } }
            """
        let fixture = try PersistedFixture(PersistedFixture.counter + "\n" + other, persisting: ["counter", "other"])
        for _ in 0..<2 { fixture.journal.complete() }
        await fixture.settle()
        try fixture.add(1)
        try fixture.add(2, to: "other")
        await fixture.settle()
        fixture.journal.complete("other")
        await fixture.settle()
        #expect(try fixture.state("other") == "Count 2" && fixture.state("counter") == "Count 0")
        #expect(fixture.journal.waiting == ["Count 1"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `lets later events wait in their order, within the limit of the mailbox`() async throws {
        let fixture = try await begun()
        try fixture.add(1)
        await fixture.settle()
        for number in 2...4 { try fixture.add(Int64(number)) }
        #expect(throws: HostError.self) { try fixture.add(5) }
        #expect(try fixture.host.systemStatus("counter").loop.waiting == 3)
        for count in ["1", "12", "123", "1234"] {
            await fixture.settle()
            #expect(fixture.journal.waiting == ["Count \(count)"])
            fixture.journal.complete()
        }
        await fixture.settle()
        #expect(try fixture.notes == ["0", "1", "12", "123", "1234"] && fixture.value(of: "seen") == "1234")
        await fixture.host.stop(within: .zero)
    }

    @Test func `takes effect in a system that has been paused meanwhile`() async throws {
        let fixture = try await begun()
        try fixture.add(1)
        await fixture.settle()
        #expect(try fixture.host.pause("counter", by: 0, named: "root"))
        try fixture.add(2)
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 0")
        fixture.journal.complete()
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 1" && fixture.value(of: "seen") == "1")
        #expect(fixture.journal.waiting.isEmpty)
        try fixture.host.resume("counter")
        await fixture.settle()
        #expect(fixture.journal.waiting == ["Count 12"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `is awaited by a stop, with the events that wait for it`() async throws {
        let fixture = try await begun()
        try fixture.add(1)
        await fixture.settle()
        try fixture.add(2)
        async let leftBehind = fixture.host.stop(within: .seconds(60))
        await suspend(while: !fixture.host.isStopped)
        fixture.journal.complete()
        await suspend(while: fixture.journal.waiting != ["Count 12"])
        fixture.journal.complete()
        #expect(await leftBehind == [])
        #expect(fixture.host.state.systems["counter"]?.fields == [.int(12)])
        #expect(fixture.journal.row("counter")?.text == "Count 12")
    }

    @Test func `is lost with a cancelled system, and a late answer changes nothing`() async throws {
        let fixture = try await begun()
        try fixture.add(1)
        await fixture.settle()
        #expect(await fixture.host.stop(within: .zero) == [])
        #expect(fixture.journal.complete()?.text == "Count 1")
        #expect(try fixture.host.state.systems["counter"]?.fields == [.int(0)] && fixture.value(of: "seen") == "0")
        #expect(fixture.notes == ["0"])
    }

    @Test func `ends a failure only when a reset has led to it`() async throws {
        let fixture = try await begun()
        try fixture.add(7)
        await fixture.settle()
        fixture.journal.complete()
        try fixture.host.emit("Unknown", to: "counter", fields: [])
        await fixture.settle()
        #expect(try fixture.host.systemStatus("counter").health == .failed)
        try fixture.host.reset("counter")
        await fixture.settle()
        #expect(fixture.journal.waiting == ["Count 0"])
        #expect(try fixture.state("counter") == "Count 7" && fixture.host.systemStatus("counter").health == .failed)
        fixture.journal.complete()
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 0" && fixture.host.systemStatus("counter").health == .healthy)
        #expect(fixture.notes == ["0", "7", "0"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `of a restart comes after the one that waits, and wins`() async throws {
        let text = PersistedFixture.counter.replacing("onFault: continue", with: "onFault: restart, delay: 1s")
        let fixture = try await begun(text)
        try fixture.add(1)
        await fixture.settle()
        // The link divides by zero.
        try fixture.host.publish(.int(0), on: "divisor")
        await fixture.settle()
        #expect(fixture.journal.waiting == ["Count 1", "Count 1"], "the second one is in the other phase")
        #expect(fixture.journal.lastGiven("counter")?.phase == HostChange.ended)
        #expect(try fixture.host.systemStatus("counter").health == .failed)
        fixture.clock.advance(by: .seconds(1))
        await suspend(while: fixture.journal.waiting.count < 3)
        #expect(fixture.journal.waiting.last == "Count 0")
        // The first state of the restart comes first, and the earlier changes are late.
        fixture.journal.complete(at: 2)
        await fixture.settle()
        #expect(try fixture.host.systemStatus("counter").health == .healthy && fixture.notes == ["0", "0"])
        fixture.journal.complete()
        fixture.journal.complete()
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 0" && fixture.notes == ["0", "0"])
        let row = try #require(fixture.journal.row("counter"))
        #expect(row.text == "Count 0" && row.phase == HostChange.running && row.incarnation == 2)
        await fixture.host.stop(within: .zero)
    }

    @Test func `of a successor wins against a late one of its predecessor`() async throws {
        let fixture = try await begun()
        try fixture.add(1)
        await fixture.settle()
        let other = PersistedFixture.counter.replacing("{ n: int }", with: "{ n: int, more: int }")
            .replacing("{ n: 0 }", with: "{ n: 0, more: 3 }")
        let applied = try await fixture.host.apply(try fixture.graph(other), readyLimit: .zero, stopLimit: .zero)
        #expect(applied.plan.systems.map(\.action) == [.restart])
        #expect(fixture.journal.waiting == ["Count 1", "Count 0 3"])
        fixture.journal.complete(at: 1)
        fixture.journal.complete()
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 0 3")
        #expect(fixture.journal.row("counter")?.text == "Count 0 3")
        await fixture.host.stop(within: .zero)
    }

    @Test func `is not written if the journal has it`() async throws {
        let first = try await begun()
        first.journal.completeAll()
        try first.add(4)
        await first.settle()
        #expect(first.journal.given == ["Count 0", "Count 4"])
        try first.host.emit("Touch", to: "counter", fields: [])
        await first.settle()
        #expect(first.journal.given == ["Count 0", "Count 4"] && first.notes == ["0", "4"])
        let status = try first.host.systemStatus("counter").state
        await first.host.stop(within: .zero)
        first.journal.waits()
        let second = try PersistedFixture(PersistedFixture.counter, journal: first.journal, continues: true)
        await second.settle()
        #expect(try second.state("counter") == "Count 4" && second.notes == ["4"])
        #expect(second.journal.given == ["Count 0", "Count 4"])
        let restored = try second.host.systemStatus("counter").state
        #expect(restored.serial == status.serial && restored.since == status.since)
        await second.host.stop(within: .zero)
    }

    @Test func `of a system written in Swift is written, too`() async throws {
        let journal = ListedJournal()
        let text = "system: kitchen\nkind: speaker\nwith: { target: 15, volume: 13 }\n"
        let fixture = try PersistedFixture(
            text, persisting: ["kitchen"], journal: journal, kinds: [try Kinds.speaker()])
        await fixture.settle()
        #expect(journal.given == ["VolumeState 13", "VolumeState 14", "VolumeState 15"])
        await fixture.host.stop(within: .zero)
        let second = try PersistedFixture(
            text, persisting: ["kitchen"], journal: journal, continues: true, kinds: [try Kinds.speaker()])
        await second.settle()
        #expect(try second.state("kitchen") == "VolumeState 15" && journal.given.count == 3)
        await second.host.stop(within: .zero)
    }

    @Test func `is not written without persist`() async throws {
        let journal = ListedJournal()
        let fixture = try PersistedFixture(PersistedFixture.counter, persisting: [], journal: journal)
        try fixture.add(4)
        try fixture.host.publish(.int(0), on: "divisor")
        await fixture.settle()
        try await fixture.host.restart("counter")
        try fixture.host.reset("counter")
        await fixture.settle()
        await fixture.host.stop(within: .seconds(1))
        #expect(journal.given.isEmpty && fixture.notes == ["0", "4", "0", "0"])
    }

    @Test func `is written as of the reload that persists it, and its part goes with the one that no longer does`()
        async throws
    {
        let journal = ListedJournal()
        let fixture = try PersistedFixture(PersistedFixture.counter, persisting: [], journal: journal)
        try fixture.add(4)
        await fixture.settle()
        let on = try await fixture.host.apply(try fixture.graph(PersistedFixture.counter))
        #expect(on.plan.systems.map(\.action) == [.migrate] && on.plan.systems[0].changes.map(\.part) == ["persist"])
        #expect(try fixture.state("counter") == "Count 4" && journal.row("counter")?.text == "Count 4")
        try fixture.add(5)
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 45" && journal.row("counter")?.text == "Count 45")
        let kept = try await fixture.host.apply(try fixture.graph(PersistedFixture.counter))
        #expect(kept.plan.isEmpty)
        let off = try await fixture.host.apply(try fixture.graph(PersistedFixture.counter, persisting: []))
        #expect(off.plan.systems.map(\.action) == [.migrate])
        #expect(try fixture.state("counter") == "Count 45" && journal.row("counter")?.text == "removed")
        try fixture.add(6)
        await fixture.settle()
        #expect(try fixture.state("counter") == "Count 456" && journal.row("counter")?.text == "removed")
        await fixture.host.stop(within: .zero)
    }

    @Test func `goes on being written when a reload changes the definition, and is removed with the system`()
        async throws
    {
        let journal = ListedJournal()
        let fixture = try PersistedFixture(PersistedFixture.counter, journal: journal)
        try fixture.add(4)
        await fixture.settle()
        let changed = PersistedFixture.counter.replacing("limit: 3", with: "limit: 4")
        let applied = try await fixture.host.apply(try fixture.graph(changed))
        #expect(applied.plan.systems.map(\.action) == [.change])
        #expect(journal.given == ["Count 0", "Count 4"], "it goes on in a state that the journal has")
        try fixture.add(5)
        await fixture.settle()
        #expect(journal.row("counter")?.text == "Count 45")
        let without = "buses: { seen: { kind: currentValue, value: int, initial: -1, fromOutside: both } }\n"
        _ = try await fixture.host.apply(try fixture.graph(without))
        #expect(journal.row("counter")?.text == "removed" && journal.restored.state.systems.isEmpty)
        await fixture.host.stop(within: .zero)
    }

    @Test func `of a system that is ended for good is in a phase in which no next life goes on`() async throws {
        let journal = ListedJournal()
        let text = PersistedFixture.counter.replacing("onFault: continue", with: "onFault: stop")
        let fixture = try PersistedFixture(text, journal: journal)
        try fixture.add(4)
        await fixture.settle()
        #expect(journal.restored.state.systems.count == 1)
        try fixture.host.publish(.int(0), on: "divisor")
        await fixture.settle()
        #expect(journal.row("counter")?.text == "Count 4" && journal.row("counter")?.phase == HostChange.ended)
        #expect(journal.restored.state.systems.isEmpty)
        try await fixture.host.restart("counter")
        await fixture.settle()
        #expect(journal.row("counter")?.text == "Count 0" && journal.row("counter")?.phase == HostChange.running)
        await fixture.host.stop(within: .zero)
    }

    @Test func `makes the system degraded if it waits for a second, and failed after half a minute`() async throws {
        let fixture = try await begun()
        func health() throws -> (Health, String?) {
            let status = try fixture.host.systemStatus("counter")
            return (status.health, status.healthReason)
        }
        try fixture.add(1)
        await fixture.settle()
        let since = try fixture.host.systemStatus("counter").state.since
        #expect(try health() == (.healthy, nil))
        fixture.clock.advance(by: .seconds(1))
        #expect(try health() == (.degraded, "state: waits for the store since \(since)"))
        fixture.clock.advance(by: .seconds(28))
        #expect(try health().0 == .degraded)
        fixture.clock.advance(by: .seconds(1))
        #expect(try health() == (.failed, "state: waits for the store since \(since)"))
        fixture.journal.complete()
        await fixture.settle()
        #expect(try health() == (.healthy, nil))
        #expect(try fixture.value(of: "seen") == "1")
        await fixture.host.stop(within: .zero)
    }
}
