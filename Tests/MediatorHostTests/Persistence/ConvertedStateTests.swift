import CommonExpression
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

/// States that go on in a later definition, whose names and fields are others.
@Suite(.timeLimit(.minutes(5))) struct `A state in a later definition` {
    /// The counter with another name of its field, and one more field.
    private static let later = PersistedFixture.counter
        .replacing(
            "Count: { n: int }",
            with: "Sum: { was: Count, number: { type: int, was: n }, step: { type: int, default: 10 } }"
        )
        .replacing("Count: { n: 0 }", with: "Sum: { number: 0, step: 1 }")
        .replacing("onState: Count", with: "onState: Sum").replacing("  Count:", with: "  Sum:")
        .replacing("to: Count, set: { n:", with: "to: Sum, set: { number:")
        .replacing("Touch: { set: { n:", with: "Touch: { set: { number:").replacing("state.n", with: "state.number")

    /// A host that has counted to 12, and its journal after the end of the process.
    private static func counted() async throws -> ListedJournal {
        let first = try PersistedFixture(PersistedFixture.counter)
        first.journal.completeAll()
        await first.settle()
        try first.add(1)
        try first.add(2)
        await first.settle()
        #expect(try first.state("counter") == "Count 12")
        let journal = first.journal.cut(after: 0)
        await first.host.stop(within: .zero)
        return journal
    }

    @Test func `is stored in its new form before anything acts on it`() async throws {
        let journal = try await Self.counted()
        let second = try PersistedFixture(Self.later, journal: journal, continues: true)
        await second.settle()
        let conversions = second.host.continuation.conversions
        #expect(conversions.map(\.name) == ["counter"])
        #expect(
            conversions.map(\.changes) == [
                "its state 'Count' is 'Sum' now, 'n' is 'number' now, 'step' has its default"
            ])
        #expect(journal.waiting == ["Sum 12 10"] && second.notes.isEmpty)
        journal.completeAll()
        await second.settle()
        #expect(try second.state("counter") == "Sum 12 10" && second.notes == ["12"])
        try second.add(3)
        await second.settle()
        #expect(try second.state("counter") == "Sum 123 10")
        #expect(try second.host.why("counter").hops.map(\.kind).last != .start)
        await second.host.stop(within: .zero)
    }

    @Test func `is not written again where it is the same`() async throws {
        let journal = try await Self.counted()
        let second = try PersistedFixture(PersistedFixture.counter, journal: journal, continues: true)
        await second.settle()
        #expect(second.host.continuation.conversions.isEmpty && journal.waiting.isEmpty)
        #expect(second.notes == ["12"])
        await second.host.stop(within: .zero)
    }

    @Test func `is carried over by a reload, and side effects begin again`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter)
        fixture.journal.completeAll()
        await fixture.settle()
        try fixture.add(4)
        await fixture.settle()
        let plan = fixture.host.plan(for: try fixture.graph(Self.later))
        #expect(
            plan.systems[0].reason
                == "its state 'Count' is carried over: its state 'Count' is 'Sum' now, 'n' is 'number' now, 'step' has its default"
        )
        #expect(plan.systems[0].action == .migrate && plan.systems[0].feedbacks.beginning == ["note"])
        let applied = try await fixture.host.apply(try fixture.graph(Self.later), stopLimit: .seconds(60))
        await fixture.settle()
        #expect(applied.plan.systems[0].action == .migrate)
        #expect(try fixture.state("counter") == "Sum 4 10" && fixture.notes == ["0", "4", "4"])
        #expect(fixture.journal.row("counter")?.text == "Sum 4 10")
        await fixture.host.stop(within: .zero)
    }

    @Test func `is carried over, too, if the system enters it while the reload goes on`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter)
        fixture.journal.completeAll()
        await fixture.settle()
        try fixture.add(4)
        await fixture.settle()
        let later = try #require(try fixture.graph(Self.later).systems.first { $0.name == "counter" })
        let state = try fixture.host.systemStatus("counter").state.exchanged(for: later, at: fixture.host.time.now())
        #expect(state.record.isCarriedOver && later.states[state.index].name == "Sum")
        #expect(
            state.data == .structure(Structure(type: later.states[state.index].type, fields: [.int(4), .int(10)])))
        await fixture.host.stop(within: .zero)
    }

    @Test func `goes on under a new name of its system`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter)
        fixture.journal.completeAll()
        await fixture.settle()
        try fixture.add(4)
        await fixture.settle()
        let text = Self.later.replacing("system: counter\n", with: "system: tally\nwas: counter\n")
            .replacing("attach: counter", with: "attach: tally")
        let graph = try fixture.graph(text, persisting: ["tally"])
        let plan = fixture.host.plan(for: graph)
        #expect(plan.systems.map { "\($0.name) \($0.action)" } == ["counter remove", "tally add"])
        #expect(plan.systems[0].reason == "it is 'tally' now")
        #expect(
            plan.systems[1].reason?.hasPrefix("it goes on in the state 'Count' of 'counter', its earlier name") == true)
        let applied = try await fixture.host.apply(graph, stopLimit: .seconds(60))
        await fixture.settle()
        #expect(applied.late.isEmpty)
        #expect(try fixture.state("tally") == "Sum 4 10")
        // The new row may not be on the disk yet, so the old one stays.
        #expect(fixture.journal.row("tally")?.text == "Sum 4 10" && fixture.journal.row("counter")?.text == "Count 4")
        try fixture.add(2, to: "tally")
        await fixture.settle()
        #expect(try fixture.state("tally") == "Sum 42 10")
        await fixture.host.stop(within: .zero)
    }

    @Test func `begins anew under a new name that has no such state`() async throws {
        let fixture = try PersistedFixture(PersistedFixture.counter)
        fixture.journal.completeAll()
        await fixture.settle()
        try fixture.add(4)
        await fixture.settle()
        let text = Self.later.replacing("system: counter\n", with: "system: tally\nwas: counter\n")
            .replacing("attach: counter", with: "attach: tally").replacing("was: Count, ", with: "")
        let graph = try fixture.graph(text, persisting: ["tally"])
        let reason = fixture.host.plan(for: graph).systems[1].reason
        #expect(reason?.hasSuffix("is not carried over: it is in the state 'Count', which there is no more") == true)
        _ = try await fixture.host.apply(graph, stopLimit: .seconds(60))
        await fixture.settle()
        #expect(try fixture.state("tally") == "Sum 0 1")
        #expect(fixture.journal.row("tally")?.text == "Sum 0 1" && fixture.journal.row("counter")?.text == "removed")
        await fixture.host.stop(within: .zero)
    }

    @Test func `of a system that has ended begins anew under a new name`() async throws {
        let fragile = PersistedFixture.counter.replacing("onFault: continue", with: "onFault: stop")
        let fixture = try PersistedFixture(fragile)
        fixture.journal.completeAll()
        await fixture.settle()
        try fixture.add(4)
        try fixture.host.emit("Unknown", to: "counter", fields: [])
        await fixture.settle()
        let text = fragile.replacing("system: counter\n", with: "system: tally\nwas: counter\n")
            .replacing("attach: counter", with: "attach: tally")
        let graph = try fixture.graph(text, persisting: ["tally"])
        let reason = fixture.host.plan(for: graph).systems[1].reason
        #expect(reason?.hasSuffix("is not carried over: it does not run, on account of a fault") == true)
        _ = try await fixture.host.apply(graph, stopLimit: .seconds(60))
        await fixture.settle()
        #expect(try fixture.state("tally") == "Count 0" && fixture.journal.row("tally")?.text == "Count 0")
        await fixture.host.stop(within: .zero)
    }
}
