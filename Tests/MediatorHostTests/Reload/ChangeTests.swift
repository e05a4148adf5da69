import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct `A system that a reload changes` {
    /// A job with a side effect of 20 seconds, a timer of 30 seconds, and counters of their ends.
    private static let job = """
        system: job
        states: { Idle: {}, Busy: { done: int, late: int } }
        events: { Start: {}, Done: {}, Late: {} }
        fromOutside: any
        initialState: { Busy: { done: 0, late: 0 } }
        feedbacks:
          works: { onState: Busy, strategy: continueOnNewState, mode: single, work: 20s, onDone: Done }
          timer: { onState: Busy, strategy: continueOnNewState, after: 30s, emit: Late }
          other: { onState: Idle, after: 30m, emit: Start }
        transitions:
          Idle: { Start: { to: Busy, set: { done: 0, late: 0 } } }
          Busy:
            Done: { to: Busy, set: { done: "${state.done + 1}" } }
            Late: { to: Busy, set: { late: "${state.late + 1}" } }
        """

    /// Returns a host with a system that has begun. Its next wait ends so many seconds after the start.
    private static func started(_ text: String, next: Int = 20) async throws -> ApplyFixture {
        let fixture = try ApplyFixture(text)
        fixture.host.start()
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(next)))
        return fixture
    }

    private static func plan(_ fixture: ApplyFixture, _ text: String) throws -> Plan.SystemStep {
        let graph = try graph(text, effects: EffectCatalogue([fixture.effect]).schemas)
        return try #require(fixture.host.plan(for: graph).systems.first)
    }

    @Test func `keeps the side effects and waits of a feedback that means the same`() async throws {
        let fixture = try await Self.started(Self.job)
        let changed = Self.job.replacing("30m", with: "31m")
        fixture.clock.advance(by: .seconds(10))
        let step = try Self.plan(fixture, changed)
        #expect(step.action == .change && step.reason == "it goes on in its state 'Busy'")
        var expected = FeedbackSteps()
        expected.goingOn = ["timer", "works"]
        #expect(step.feedbacks == expected)
        let before = try fixture.host.systemStatus("job")
        let applied = try await fixture.apply(changed)
        #expect(applied.plan.systems.map(\.action) == [.change] && applied.late.isEmpty)
        let after = try fixture.host.systemStatus("job")
        #expect(after.state.since == before.state.since && after.loop.counters.events == before.loop.counters.events)
        #expect(after.definition.feedbacks.last?.summary.contains("31m") == true)
        fixture.clock.advance(by: .seconds(10))
        try await suspend(while: fixture.state("job") != "Busy 1 0")
        #expect(fixture.effect.running.most.withLock { $0 } == 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `keeps a timer of the state`() async throws {
        let text = Self.job.replacing("work: 20s", with: "work: 1000s")
        let fixture = try await Self.started(text, next: 30)
        fixture.clock.advance(by: .seconds(29))
        _ = try await fixture.apply(text.replacing("30m", with: "31m"))
        #expect(try fixture.state("job") == "Busy 0 0")
        fixture.clock.advance(by: .seconds(1))
        try await suspend(while: fixture.state("job") != "Busy 0 1")
        #expect(fixture.begun == 1 && fixture.atWork == 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `ends a running side effect of a feedback that is changed, and begins it anew`() async throws {
        let fixture = try await Self.started(Self.job)
        let changed = Self.job.replacing("work: 20s", with: "work: 40s")
        fixture.clock.advance(by: .seconds(10))
        let step = try Self.plan(fixture, changed)
        #expect(step.feedbacks.ending == ["works"] && step.feedbacks.beginning == ["works"])
        #expect(step.feedbacks.goingOn == ["timer"])
        _ = try await fixture.apply(changed)
        await suspend(while: fixture.begun < 2)
        // A side effect begins before it sleeps on the clock.
        await fixture.settle()
        #expect(fixture.effect.running.most.withLock { $0 } == 1)
        // The cancelled side effect has no outcome.
        fixture.clock.advance(by: .seconds(10))
        await fixture.settle()
        #expect(try fixture.state("job") == "Busy 0 0")
        await fixture.host.stop(within: .zero)
    }

    @Test func `ends the side effect of a feedback that is removed`() async throws {
        let fixture = try await Self.started(Self.job)
        let works = "  works: { onState: Busy, strategy: continueOnNewState, mode: single, work: 20s, onDone: Done }\n"
        _ = try await fixture.apply(Self.job.replacing(works, with: ""))
        await suspend(while: fixture.atWork > 0)
        #expect(try fixture.host.systemStatus("job").loop.feedbacks.map(\.name) == ["timer", "other", "links"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `lets a running side effect finish, where its feedback says so`() async throws {
        let text = Self.job.replacing("mode: single,", with: "mode: single, onReload: finish,")
        let fixture = try await Self.started(text)
        let changed = text.replacing("work: 20s", with: "work: 40s")
        fixture.clock.advance(by: .seconds(10))
        let step = try Self.plan(fixture, changed)
        #expect(step.feedbacks.finishing == ["works"] && step.feedbacks.beginning.isEmpty)
        _ = try await fixture.apply(changed)
        #expect(fixture.begun == 1)
        fixture.clock.advance(by: .seconds(10))
        // Its outcome counts, and the new definition begins with the state that it leads to.
        try await suspend(while: fixture.state("job") != "Busy 1 0")
        await suspend(while: fixture.begun < 2)
        // A side effect begins before it sleeps on the clock.
        await fixture.settle()
        #expect(fixture.effect.running.most.withLock { $0 } == 1)
        // The wait of the state before may still be there for a moment.
        await suspend(while: fixture.clock.nextDeadline?.offset != .seconds(50))
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: [
        (from: "work: 20s", to: "work: 40s"), (from: "Idle: {}, Busy", to: "Idle: {}, Working"),
        (from: "system: job", to: "system: another"),
    ])
    func `is not reloaded while a side effect runs that refuses it`(from: String, to: String) async throws {
        let text = Self.job.replacing("mode: single,", with: "mode: single, onReload: refuse,")
        let fixture = try await Self.started(text)
        let changed = text.replacing(from, with: to).replacing(
            "Busy", with: to.contains("Working") ? "Working" : "Busy")
        let before = fixture.digest
        await #expect(throws: ApplyError.refused(["job: works"])) { try await fixture.apply(changed) }
        #expect(fixture.digest == before && fixture.atWork == 1)
        #expect(
            "\(ApplyError.refused(["job: works"]))"
                == "a side effect runs that a reload must not end (onReload: refuse): job: works; "
                + "try again when it has ended, or restart its system")
        // A change of another feedback is applied.
        _ = try await fixture.apply(text.replacing("30m", with: "31m"))
        #expect(fixture.begun == 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `goes on with other indices of its states and events`() async throws {
        let link = """

            ---
            system: sink
            states: { At: { n: int } }
            events: { Got: { n: int } }
            initialState: { At: { n: 0 } }
            transitions: { At: { Got: { to: At, set: { n: "${state.n + event.n}" } } } }
            ---
            links:
              tell: { attach: job, toSystem: sink, onState: Busy, emitEvent: { Got: { n: "${state.done + 10}" } } }
            """
        let fixture = try await Self.started(Self.job + link)
        await fixture.settle()
        #expect(try fixture.state("sink") == "At 10")
        try fixture.host.pause("job", by: 0, named: "root")
        try fixture.host.emit("Late", to: "job", fields: [])
        let changed = (Self.job + link).replacing("states: { Idle: {},", with: "states: { First: {}, Idle: {},")
            .replacing("events: { Start: {},", with: "events: { Before: {}, Start: {},")
        let applied = try await fixture.apply(changed)
        #expect(applied.plan.systems.map(\.action) == [.change, .keep] && applied.plan.links.map(\.action) == [.keep])
        #expect(try fixture.state("job") == "Busy 0 0" && fixture.begun == 1)
        try fixture.host.emit("Done", to: "job", fields: [])
        #expect(try fixture.host.systemStatus("job").loop.waiting == 2)
        try fixture.host.resume("job")
        try await suspend(while: fixture.state("job") != "Busy 1 1")
        await fixture.settle()
        // The link has fired once before, and once for each of the two states; the reload has shown it nothing again.
        #expect(try fixture.state("sink") == "At 31")
        #expect(try fixture.host.linkStatus("tell").fired == 3)
        // An outcome of the run of before has the rules of now.
        fixture.clock.advance(by: .seconds(20))
        try await suspend(while: fixture.state("job") != "Busy 2 1")
        await fixture.host.stop(within: .zero)
    }

    @Test func `shows that it goes on in its trace, and why`() async throws {
        let fixture = try await Self.started(Self.job)
        let since = try fixture.host.systemStatus("job").state.since
        fixture.clock.advance(by: .seconds(5))
        _ = try await fixture.apply(Self.job.replacing("30m", with: "31m"))
        let step = try #require(try fixture.host.trace("job").last)
        #expect(step.text == "went on after a reload in Busy { done: 0, late: 0 }")
        #expect(step.time > since)
        #expect(try fixture.host.systemStatus("job").state.since == since)
        // Later steps change neither its words nor its place.
        try fixture.host.pause("job", by: 0, named: "root")
        try fixture.host.resume("job")
        let steps = try fixture.host.trace("job")
        #expect(steps.map(\.text).suffix(3).first == step.text)
        #expect(steps.suffix(3).first?.time == step.time)
        #expect(steps.map(\.time) == steps.map(\.time).sorted())
        #expect(try fixture.host.why("job").hops.count > 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `is watched on, in its new words`() async throws {
        let fixture = try await Self.started(Self.job)
        let seen = Mutex<[String]>([])
        let watched = fixture.host.watch { part in
            guard case .system(let definition) = part else { return nil }
            return { change in
                if case .state(let state) = change { seen.withLock { $0.append(definition.states[state.index].name) } }
                return true
            }
        }
        let reader = Task {
            var changes: [String] = []
            while let happening = await watched.next() {
                switch happening.happening {
                case .state: changes.append("state")
                case .began: changes.append("began")
                case .ended: changes.append("ended")
                default: break
                }
            }
            return changes
        }
        await suspend(while: seen.withLock { $0.isEmpty })
        _ = try await fixture.apply(Self.job.replacing("states: { Idle: {},", with: "states: { First: {}, Idle: {},"))
        try fixture.host.emit("Done", to: "job", fields: [])
        await suspend(while: seen.withLock { $0.count < 2 })
        await fixture.host.stop(within: .zero)
        #expect(seen.withLock { $0 } == ["Busy", "Busy"])
        #expect(await reader.value.filter { $0 != "ended" } == ["state", "state"])
    }

    @Test func `lets the run of a schedule finish, and keeps the new schedule from then on`() async throws {
        let text = Self.job.replacing("mode: single,", with: "mode: single, onReload: finish, every: 1h,")
        let fixture = try await Self.started(text)
        fixture.clock.advance(by: .seconds(10))
        let changed = text.replacing("every: 1h", with: "every: 10m")
        #expect(try Self.plan(fixture, changed).feedbacks.finishing == ["works"])
        _ = try await fixture.apply(changed)
        fixture.clock.advance(by: .seconds(10))
        // The outcome of the old run counts. The new schedule has had no run, so the next state begins one at once.
        try await suspend(while: fixture.state("job") != "Busy 1 0")
        await suspend(while: fixture.begun < 2)
        // A side effect begins before it sleeps on the clock.
        await fixture.settle()
        fixture.clock.advance(by: .seconds(20))
        try await suspend(while: fixture.state("job") != "Busy 2 0")
        #expect(fixture.effect.running.most.withLock { $0 } == 1)
        // A change during the wait for a tick ends only the wait.
        #expect(try Self.plan(fixture, text).feedbacks.finishing.isEmpty)
        let due = try fixture.host.systemStatus("job").nextRuns["works"]
        #expect(due?.span(since: fixture.host.time.now()) == .seconds(580))
        await fixture.host.stop(within: .zero)
    }

    @Test func `never runs a command twice at a time, though a reload follows another one`() async throws {
        let text = Self.job.replacing("mode: single,", with: "mode: single, onReload: finish,")
        let fixture = try await Self.started(text)
        fixture.clock.advance(by: .seconds(10))
        _ = try await fixture.apply(text.replacing("work: 20s", with: "work: 40s"))
        let again = text.replacing("work: 20s", with: "work: 30s")
        #expect(try Self.plan(fixture, again).feedbacks.finishing == ["works"])
        _ = try await fixture.apply(again)
        #expect(fixture.begun == 1 && fixture.atWork == 1)
        // A removed feedback finishes, too, and can be seen.
        let removed = again.replacing(
            "  works: { onState: Busy, strategy: continueOnNewState, mode: single, onReload: finish, work: 30s, onDone: Done }\n",
            with: "")
        _ = try await fixture.apply(removed)
        #expect(try fixture.host.systemStatus("job").runs(of: "works").running == 1)
        _ = try await fixture.apply(again)
        #expect(fixture.begun == 1 && fixture.atWork == 1)
        fixture.clock.advance(by: .seconds(10))
        await suspend(while: fixture.begun < 2)
        // A side effect begins before it sleeps on the clock.
        await fixture.settle()
        #expect(fixture.effect.running.most.withLock { $0 } == 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `is not late to become ready while it is paused`() async throws {
        let text = countingSystem("a", "ready: { in: Done, within: 30s, otherwise: stop }")
        let fixture = try ApplyFixture(text)
        fixture.host.start()
        try fixture.host.pause("a", by: 0, named: "root")
        let changed = countingSystem("a", "ready: { in: Done, within: 30s, otherwise: stop }\nunhandled: warn")
        let applying = Task { try await fixture.host.apply(try graph(changed)) }
        // The reload waits as long as the system may take. The limit of the system itself does not run.
        await suspend(while: fixture.clock.nextDeadline?.offset != .seconds(30))
        fixture.clock.advance(by: .seconds(60))
        #expect(try await applying.value.late == ["a"])
        await fixture.settle()
        #expect(try fixture.host.systemStatus("a").pause != nil && fixture.host.systemStatus("a").faults == 0)
        await fixture.host.stop(within: .zero)
    }

    @Test func `is no longer failed when its missing transition is there`() async throws {
        let text = """
            system: a
            states: { One: {}, Two: {} }
            events: { Go: {} }
            fromOutside: any
            initialState: One
            unhandled: fault
            """
        let fixture = try ApplyFixture(text)
        fixture.host.start()
        try fixture.host.emit("Go", to: "a", fields: [])
        try await suspend(while: fixture.host.systemStatus("a").health != .failed)
        let applied = try await fixture.apply(text + "\ntransitions: { One: { Go: Two } }\n")
        #expect(applied.late.isEmpty)
        #expect(try fixture.host.systemStatus("a").health != .failed)
        await fixture.host.stop(within: .zero)
    }

    @Test func `of another configuration is told in the words of that`() async throws {
        let fixture = try await Self.started(Self.job)
        let before = fixture.host.snapshot
        let changed = Self.job.replacing("states: { Idle: {},", with: "states: { First: {}, Second: {}, Idle: {},")
        _ = try await fixture.apply(changed)
        let status = try before.systemStatus("job")
        #expect(status.definition.states[status.state.index].name == "Busy")
        let step = before.plan(for: try graph(changed, effects: EffectCatalogue([fixture.effect]).schemas)).systems[0]
        #expect(step.action == .change && step.reason == "it goes on in its state 'Busy'")
        await fixture.host.stop(within: .zero)
    }

    @Test func `begins in its initial state where the new definition does not have its own`() async throws {
        let text = countingSystem("a")
        let (old, new) = (try graph(text), try graph(countingSystem("a", fields: "more")))
        let fixture = try ApplyFixture(text)
        fixture.host.start()
        try fixture.host.emit("Add", to: "a", fields: [.int(3)])
        await fixture.settle()
        let state = try fixture.host.systemStatus("a").state
        let now = fixture.host.time.now()
        #expect(state.exchanged(for: old.systems[0], at: now).record.isCarriedOver)
        let begun = state.exchanged(for: new.systems[0], at: now)
        #expect(begun.index == 0 && begun.data == new.systems[0].initialValue && !begun.record.isCarriedOver)
        await fixture.host.stop(within: .zero)
    }
}

extension SystemDefinition {
    /// The data of the initial state of the counting system.
    fileprivate var initialValue: Value {
        .structure(Structure(type: states[0].type, fields: [.int(0), .int(0)]))
    }
}
