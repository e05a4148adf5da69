import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import TestSupport
import Testing

private let job = """
    system: job
    states:
      Idle: { runs: int }
      Running: { runs: int }
      Running.Copying: { file: string }
      Running.Checking: {}
      Running.Checking.Fast: {}
      Running.Checking.Slow: { level: int }
      Running.Paused: {}
      Running.Done: {}
      Broken: { runs: int }
    final: Running.Done
    events: { Start: {}, Copied: {}, Slow: {}, Pause: {}, Resume: {}, Back: {}, Good: {}, Again: {}, Stop: {}, Late: {} }
    fromOutside: any
    initialState: { Idle: { runs: 0 } }
    ready: [Running, Broken]
    health: { Running: degraded, Running.Checking: healthy, Running.Checking.Slow: failed }
    feedbacks:
      whole: { onState: Running, wait: { name: "whole ${state.runs}", for: 60s } }
      limit: { onState: Running, after: 20s, emit: Late }
      ticks: { onState: Running, every: 6s, wait: { name: "tick in ${state.runs}", for: 1s } }
      inner: { onState: Running.Checking, wait: { name: inner, for: 60s } }
      leaf: { onState: Running.Copying, wait: { name: "leaf ${state.file}", for: 60s } }
    transitions:
      [Idle, Broken]:
        Start: { to: Running, set: { runs: "${state.runs + 1}", file: a } }
        Back: [{ to: Running.history }, { to: Broken }]
      Running:
        Pause: Running.Paused
        Stop: Idle
        Again: { to: Running, set: { file: b } }
        Late: Broken
        done.Running: Idle
      Running.Copying: { Copied: Running.Checking }
      Running.Checking:
        Good: Running.Done
        Slow: { to: Running.Checking.Slow, set: { level: 7, runs: "${state.runs + 10}" } }
      Running.Paused:
        Resume: Running.history
        Back: Running.history*
    ---
    buses:
      seen: { kind: passthrough, value: string, fromOutside: read }
      changes: { kind: passthrough, value: int, fromOutside: read }
    links:
      up: { attach: job, to: seen, onState: Running, emitValue: "up ${state.runs}" }
      leaf: { attach: job, to: seen, onState: [Running.Copying, Running.Paused], emitValue: "leaf" }
      many: { attach: job, to: seen, onState: Running, when: state.runs > 5, emitValue: "many" }
      runs: { attach: job, to: changes, onState: Running, on: change, emitValue: "${state.runs}" }

    """

/// States with states inside, in a configured system.
@Suite(.timeLimit(.minutes(20))) struct `Compound states` {
    private func start(_ text: String = job) async throws -> HostFixture {
        let fixture = try HostFixture(text)
        fixture.host.start()
        await fixture.settle()
        return fixture
    }

    private func send(_ events: [String], _ fixture: HostFixture) async throws {
        for event in events {
            try fixture.host.emit(event, to: "job", fields: [])
            await fixture.settle()
        }
    }

    private func wait(_ seconds: Int, _ fixture: HostFixture) async {
        fixture.clock.advance(by: .seconds(seconds))
        await fixture.settle()
    }

    private func fired(_ fixture: HostFixture) -> [String: UInt64] {
        Dictionary(uniqueKeysWithValues: fixture.host.linkStatuses.map { ($0.definition.name, $0.fired) })
    }

    @Test func `the rules inside come first, and a rule of a compound state holds in all states inside`() async throws {
        let fixture = try await start()
        try await send(["Start"], fixture)
        #expect(try fixture.state("job") == #"Running.Copying 1 "a""#)
        try await send(["Copied"], fixture)
        #expect(try fixture.state("job") == "Running.Checking.Fast 1")
        try await send(["Good"], fixture)
        // A final state leads on in the same step.
        #expect(try fixture.state("job") == "Idle 1")
        try await send(["Start", "Stop"], fixture)
        #expect(try fixture.state("job") == "Idle 2")
        let why = try fixture.host.why("job").hops.map(\.text)
        #expect(why[1] == "by the event Stop, by a rule of Running")
        let next = try fixture.host.whyNot("job", event: "Start").transitions
        #expect(next.map(\.from) == ["Broken, Idle"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `a side effect of a compound state goes on between the states inside`() async throws {
        let fixture = try await start()
        try await send(["Start", "Copied", "Pause", "Resume"], fixture)
        await fixture.began.wait { $0.contains("inner") }
        let names = fixture.began.value
        #expect(names.filter { $0 == "whole 1" }.count == 1)
        #expect(names.filter { $0 == "inner" }.count == 2)
        #expect(names.filter { $0.hasPrefix("leaf") } == ["leaf a"])
        let feedbacks = try fixture.host.systemStatus("job").loop.feedbacks
        #expect(feedbacks.first { $0.name == "whole" }?.running == 1)
        #expect(feedbacks.first { $0.name == "leaf" }?.running == 0)
        try await send(["Again"], fixture)
        // The rule names the compound state, so it ends this stay and begins another.
        await fixture.began.wait { names in names.filter { $0 == "whole 1" }.count == 2 }
        try await send(["Stop"], fixture)
        #expect(try fixture.host.systemStatus("job").loop.feedbacks.allSatisfy { $0.running == 0 })
        await fixture.host.stop(within: .zero)
    }

    @Test func `a wait counts from the entry of the compound state`() async throws {
        let fixture = try await start()
        try await send(["Start"], fixture)
        await wait(12, fixture)
        try await send(["Copied", "Pause"], fixture)
        await wait(7, fixture)
        #expect(try fixture.state("job") == "Running.Paused 1")
        await wait(1, fixture)
        try await suspend(while: fixture.state("job") != "Broken 1")
        await fixture.host.stop(within: .zero)
    }

    @Test func `a run that is due later sees the present state inside`() async throws {
        let fixture = try await start()
        try await send(["Start", "Copied"], fixture)
        await fixture.began.wait { $0.contains("tick in 1") }
        try await send(["Slow"], fixture)
        // The end of the first tick, then the second tick.
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(1)))
        await wait(1, fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(6)))
        await wait(6, fixture)
        await fixture.began.wait { $0.contains("tick in 11") }
        await fixture.host.stop(within: .zero)
    }

    @Test func `a link from a compound state fires once for each stay`() async throws {
        let fixture = try await start()
        try await send(["Start", "Copied", "Pause", "Resume"], fixture)
        #expect(fired(fixture) == ["up": 1, "leaf": 2, "many": 0, "runs": 1])
        // The condition holds from here on, and so it fires within the stay; a change of the value counts.
        try await send(["Slow", "Pause"], fixture)
        #expect(fired(fixture) == ["up": 1, "leaf": 3, "many": 1, "runs": 2])
        try await send(["Again"], fixture)
        #expect(fired(fixture) == ["up": 2, "leaf": 4, "many": 2, "runs": 3])
        try await send(["Stop", "Start"], fixture)
        #expect(fired(fixture) == ["up": 3, "leaf": 5, "many": 3, "runs": 4])
        await fixture.host.stop(within: .zero)
    }

    @Test func `history leads to the state inside that was left last, with its data`() async throws {
        let fixture = try await start()
        // Nothing is remembered, and the initial state needs data: the next rule counts.
        let answer = try fixture.host.whyNot("job", event: "Back").transitions
        #expect(answer.map(\.to) == ["Running.history", "Broken"] && answer.map(\.holds) == [false, true])
        #expect(answer[0].reason?.hasPrefix("no state in Running has been left yet") == true)
        try await send(["Back"], fixture)
        #expect(try fixture.state("job") == "Broken 0")
        try await send(["Start", "Copied", "Slow", "Pause"], fixture)
        #expect(try fixture.state("job") == "Running.Paused 11")
        try await send(["Resume"], fixture)
        #expect(try fixture.state("job") == "Running.Checking.Fast 11")
        try await send(["Slow", "Pause", "Back"], fixture)
        #expect(try fixture.state("job") == "Running.Checking.Slow 21 7")
        try await send(["Stop", "Back"], fixture)
        #expect(try fixture.state("job") == "Running.Checking.Fast 21")
        // A reset forgets.
        try fixture.host.reset("job")
        await fixture.settle()
        try await send(["Back"], fixture)
        #expect(try fixture.state("job") == "Broken 0")
        await fixture.host.stop(within: .zero)
    }

    @Test func `readiness and health may name compound states, and the innermost counts`() async throws {
        let fixture = try await start()
        #expect(try fixture.host.systemStatus("job").health == .starting)
        let reason = try fixture.host.systemStatus("job").healthReason
        #expect(reason == "its state is 'Idle', and it is ready in 'Running' or 'Broken'")
        try await send(["Start"], fixture)
        #expect(try fixture.host.systemStatus("job").health == .degraded)
        try await send(["Copied"], fixture)
        #expect(try fixture.host.systemStatus("job").health == .healthy)
        try await send(["Slow"], fixture)
        #expect(try fixture.host.systemStatus("job").health == .failed)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a reload keeps the stay, its side effects and what is remembered`() async throws {
        let fixture = try await start()
        try await send(["Start", "Copied", "Slow", "Pause"], fixture)
        await fixture.began.wait { $0.contains("whole 1") }
        let changed = job.replacing("Running.Paused: {}", with: "Running.Paused: {}\n  Running.Extra: {}")
            .replacing("  Idle: { runs: int }\n", with: "").replacing(
                "  Broken: { runs: int }\n", with: "  Broken: { runs: int }\n  Idle: { runs: int }\n")
        _ = try await fixture.host.apply(fixture.graph(changed))
        await fixture.settle()
        #expect(try fixture.state("job") == "Running.Paused 11")
        let feedbacks = try fixture.host.systemStatus("job").loop.feedbacks
        #expect(feedbacks.first { $0.name == "whole" }?.running == 1)
        try await send(["Back"], fixture)
        #expect(try fixture.state("job") == "Running.Checking.Slow 11 7")
        #expect(fixture.began.value.filter { $0.hasPrefix("whole") }.count == 1)
        #expect(fired(fixture)["up"] == 1)
        // A restart is a new stay.
        try await fixture.host.restart("job")
        await fixture.settle()
        try await send(["Start"], fixture)
        #expect(fired(fixture)["up"] == 2)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a reload follows another initial state, and a state that becomes a compound one`() async throws {
        let text = """
            system: job
            states: { Idle: {}, Running: {}, Running.A: {}, Running.B: {}, Busy: {} }
            initial: { Running: A }
            events: { Start: {}, Work: {}, Next: {} }
            fromOutside: any
            initialState: Idle
            feedbacks: { work: { onState: Busy, wait: { name: work, for: 60s } } }
            transitions:
              any: { Start: Running, Work: Busy }

            """
        let fixture = try await start(text)
        _ = try await fixture.host.apply(fixture.graph(text.replacing("Running: A", with: "Running: B")))
        try await send(["Start"], fixture)
        #expect(try fixture.state("job") == "Running.B")
        let reordered = text.replacing("initial: { Running: A }\n", with: "")
        _ = try await fixture.host.apply(fixture.graph(reordered))
        try await send(["Start"], fixture)
        #expect(try fixture.state("job") == "Running.A")
        let swapped = reordered.replacing("Running.A: {}, Running.B: {}", with: "Running.B: {}, Running.A: {}")
        _ = try await fixture.host.apply(fixture.graph(swapped))
        try await send(["Start"], fixture)
        #expect(try fixture.state("job") == "Running.B")
        let deeper = swapped.replacing("Busy: {} }", with: "Busy: {}, Busy.A: {}, Busy.B: {} }")
            .replacing("Work: Busy }", with: "Work: Busy }\n  Busy.A: { Next: Busy.B }")
        _ = try await fixture.host.apply(fixture.graph(deeper))
        try await send(["Work"], fixture)
        await fixture.began.wait { $0 == ["work"] }
        try await send(["Next"], fixture)
        #expect(try fixture.state("job") == "Busy.B")
        #expect(try fixture.host.systemStatus("job").loop.feedbacks.first?.running == 1)
        try await send(["Start"], fixture)
        #expect(try fixture.host.systemStatus("job").loop.feedbacks.first?.running == 0)
        await fixture.host.stop(within: .zero)
    }

    private static let inward = """
        system: job
        states: { I: {}, P: {}, P.A: {}, R: { n: int }, R.A: {}, R.B: {} }
        initial: { R: A, P: A }
        events: { Go: { n: int }, Next: { n: int }, Leave: {} }
        fromOutside: any
        initialState: I
        transitions:
          I: { Go: { to: R, set: { n: "${event.n}" } } }
          R: { Leave: I }
          R.A: { Next: { to: R.B, set: { n: "${event.n}" } } }
          R.B: { Next: { to: R.A, set: { n: "${event.n}" } } }
        ---
        buses: { seen: { kind: passthrough, value: int, fromOutside: read } }
        links: { tell: { attach: job, to: seen, onState: R, emitValue: "${10 / state.n}" } }

        """

    private func next(_ event: String, _ numbers: [Int64], _ fixture: HostFixture) async throws {
        for number in numbers {
            try fixture.host.emit(event, to: "job", fields: [.int(number)])
            await fixture.settle()
        }
    }

    @Test func `a changed link goes on in the stay, whatever the order of the states is`() async throws {
        let fixture = try await start(Self.inward)
        try await next("Go", [1], fixture)
        try await next("Next", [2, 3], fixture)
        #expect(fired(fixture) == ["tell": 1])
        let swapped = Self.inward.replacing("P: {}, P.A: {}, R: { n: int }", with: "R: { n: int }, P: {}, P.A: {}")
            .replacing("10 /", with: "20 /")
        _ = try await fixture.host.apply(fixture.graph(swapped))
        await fixture.settle()
        let before = fired(fixture)["tell"] ?? 0
        try await next("Next", [4, 5, 6], fixture)
        #expect(fired(fixture)["tell"] == before)
        try await send(["Leave"], fixture)
        try await next("Go", [1], fixture)
        #expect(fired(fixture)["tell"] == before + 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a link that fails at the entry tries again in the next state inside`() async throws {
        let fixture = try await start(Self.inward)
        try await next("Go", [0], fixture)
        #expect(fired(fixture) == ["tell": 0])
        try await next("Next", [0, 2, 5], fixture)
        #expect(fired(fixture) == ["tell": 1])
        #expect(try fixture.host.systemStatus("job").faults == 2)
        await fixture.host.stop(within: .zero)
    }

    @Test func `rules of always and done compute with the data of a system without inputs`() async throws {
        let text = """
            system: job
            states: { Idle: { n: int }, Busy: { n: int }, Busy.Work: {}, Busy.Done: {}, Late: { n: int } }
            final: Busy.Done
            events: { Start: {}, Finish: {} }
            fromOutside: any
            initialState: { Idle: { n: 0 } }
            transitions:
              Idle:
                Start: Busy
                always: [{ when: state.n > 1, for: "${duration(string(state.n) + 's')}", to: Late, set: { n: "${state.n * 10}" } }]
              Busy: { done.Busy: { when: state.n < 9, to: Idle, set: { n: "${state.n + 1}" } } }
              Busy.Work: { Finish: Busy.Done }

            """
        let fixture = try await start(text)
        try await send(["Start", "Finish"], fixture)
        #expect(try fixture.state("job") == "Idle 1")
        try await send(["Start", "Finish"], fixture)
        #expect(try fixture.state("job") == "Idle 2")
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        await wait(2, fixture)
        try await suspend(while: fixture.state("job") != "Late 20")
        #expect(try fixture.host.systemStatus("job").faults == 0)
        await fixture.host.stop(within: .zero)
    }
}
