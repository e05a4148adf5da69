import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A side effect that fails a given number of times, then succeeds; or runs until it is cancelled.
private final class Work: EffectImplementation, Sendable {
    private struct State {
        var failures = 0
        var isEndless = false
        var lingers = false
        /// The runs, with their times.
        var began: [(name: String, at: Duration)] = []
        var cancelled = 0
    }

    private let state = Mutex(State())
    private let clock: ManualClock
    private let start: ManualClock.Instant

    init(_ clock: ManualClock) {
        self.clock = clock
        start = clock.now
    }

    var failures: Int {
        get { state.withLock { $0.failures } }
        set { state.withLock { $0.failures = newValue } }
    }
    var isEndless: Bool {
        get { state.withLock { $0.isEndless } }
        set { state.withLock { $0.isEndless = newValue } }
    }
    /// Whether it takes a minute to end after it has told how it went.
    var lingers: Bool {
        get { state.withLock { $0.lingers } }
        set { state.withLock { $0.lingers = newValue } }
    }
    var began: [String] { state.withLock { $0.began.map(\.name) } }
    var times: [Duration] { state.withLock { $0.began.map(\.at) } }
    var cancelled: Int { state.withLock { $0.cancelled } }

    let schema = EffectSchema(
        name: "work", parameters: [.init(name: "name", type: .string, required: true)], shortForm: "name",
        outcomes: ["onSuccess", "onFailure"].map {
            .init(name: $0, result: StructureType(name: "result", fields: [.init(name: "name", type: .string)]))
        })

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .string(let name)? = arguments["name"] else { return }
        let (fails, isEndless) = state.withLock { state in
            state.began.append((name, start.duration(to: clock.now)))
            defer { state.failures = max(state.failures - 1, 0) }
            return (state.failures > 0, state.isEndless)
        }
        if isEndless {
            try? await context.clock.sleep(for: .seconds(1_000_000))
            state.withLock { $0.cancelled += 1 }
        }
        context.report(
            fails ? "onFailure" : "onSuccess",
            .structure(Structure(type: schema.outcomes[0].result, fields: [.string(name)])))
        if lingers { try? await context.clock.sleep(for: .seconds(60)) }
    }
}

@Suite(.timeLimit(.minutes(20))) struct `How runs are handled` {
    private struct Fixture {
        let clock = ManualClock()
        let work: Work
        let host: Host

        init(_ keys: String, random: Double = 0.5) throws {
            let work = Work(clock)
            self.work = work
            let catalogue = EffectCatalogue([work])
            let text = """
                system: worker
                states: { Here: { asked: string, log: list(string) } }
                events: { Ask: { name: string }, Good: { name: string }, Bad: { name: string }, Late: { after: duration } }
                fromOutside: Ask
                initialState: { Here: { asked: "", log: [] } }
                feedbacks:
                  work:
                    onState: Here
                    when: state.asked != ""
                    \(keys.replacing("\n", with: "\n    "))
                    onSuccess: { Good: { name: "${result.name}" } }
                    onFailure: { Bad: { name: "${result.name}" } }
                transitions:
                  Here:
                    Ask: { to: Here, set: { asked: "${event.name}" } }
                    Good: { to: Here, set: { asked: "", log: "${state.log + ['good ' + event.name]}" } }
                    Bad: { to: Here, set: { asked: "", log: "${state.log + ['bad ' + event.name]}" } }
                    Late: { to: Here, set: { asked: "", log: "${state.log + ['late ' + string(event.after)]}" } }
                """
            let file = ConfigurationFile(path: "a.yaml", text: text)
            let result = ConfigurationCompiler.compile(files: [file], effects: catalogue.schemas)
            let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let now = try #require(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
            let time = HostTime(clock: clock, now: { now }, random: { random }, executor: SettlingPool())
            host = try Host(graph: graph, effects: catalogue, time: time, logger: logger)
            host.start()
        }

        func status() throws -> SystemStatus { try host.systemStatus("worker") }

        /// Asks for runs. The feedbacks have seen each request when this returns.
        func ask(_ names: String...) async throws {
            for name in names {
                try host.emit("Ask", to: "worker", fields: [.string(name)])
                await host.settled()
            }
        }

        /// Lets a time pass when every wait has begun.
        func pass(_ duration: Duration) async {
            await host.settled()
            #expect(clock.nextDeadline != nil)
            clock.advance(by: duration)
        }

        /// Goes to a time as soon as it is the next one that is waited for, and so many runs have begun.
        func go(to time: Duration, after runs: Int) async {
            await suspend(while: work.began.count < runs || clock.nextDeadline?.offset != time)
            clock.advance(by: time - clock.now.offset)
        }

        func log() throws -> [String] {
            guard case .structure(let data) = try status().state.data, case .list(let lines) = data.fields[1] else {
                return []
            }
            return lines.compactMap { if case .string(let text) = $0 { text } else { nil } }
        }

        /// Returns when so much has come of the runs.
        func until(_ expected: [String]) async throws {
            try await suspend(while: log().count < expected.count)
            #expect(try log() == expected)
        }

        /// Returns when runs have begun: some in order, then others in any.
        func begin(_ first: [String], _ others: Set<String>) async {
            await suspend(while: work.began.count < first.count + others.count)
            #expect(Array(work.began.prefix(first.count)) == first)
            #expect(Set(work.began.dropFirst(first.count)) == others)
        }
    }

    private static let continuing = "strategy: continueOnNewState\nwork: \"${state.asked}\"\n"

    // MARK: Retry

    @Test func `one that fails is made again after a delay that doubles, and only its end is told`() async throws {
        let fixture = try Fixture(Self.continuing + "retry: { times: 4, delay: 1s, maxDelay: 3s }")
        fixture.work.failures = 4
        try await fixture.ask("a")
        for seconds in [1, 2, 3, 3] { await fixture.pass(.seconds(seconds)) }
        try await fixture.until(["good a"])
        #expect(fixture.work.times == [0, 1, 3, 6, 9].map { .seconds($0) })
        await fixture.host.stop(within: .zero)
    }

    @Test func `its attempts are in the trace`() async throws {
        let fixture = try Fixture(
            Self.continuing + "timeout: 5s\nonTimeout: { Late: { after: \"${result.after}\" } }\nretry: 2")
        fixture.work.failures = 1
        try await fixture.ask("a")
        // The first attempt fails at once, and the second one takes too long.
        await suspend(while: fixture.work.began.isEmpty)
        fixture.work.isEndless = true
        await fixture.go(to: .seconds(1), after: 1)
        await fixture.go(to: .seconds(6), after: 2)
        await suspend(while: fixture.work.cancelled == 0)
        fixture.work.isEndless = false
        await fixture.go(to: .seconds(8), after: 2)
        try await fixture.until(["good a"])
        await fixture.host.stop(within: .seconds(1))
        let run = try #require(try fixture.host.trace("worker").first { $0.kind == .run })
        #expect(run.outcomes.map(\.name) == ["onFailure", "onTimeout", "onSuccess"])
        #expect(run.outcomes.map(\.isRetried) == [true, true, false])
        #expect(
            run.text == "the feedback work in Here { asked: \"a\", log: [] } came after 0 ms to "
                + "onFailure { name: \"a\" } and was made again, onTimeout { after: duration(\"5s\") } and was made again, "
                + "onSuccess { name: \"a\" }")
    }

    @Test func `one that fails each time is a failure in the end`() async throws {
        let fixture = try Fixture(Self.continuing + "retry: 2")
        fixture.work.failures = 3
        try await fixture.ask("a")
        for seconds in [1, 2] { await fixture.pass(.seconds(seconds)) }
        try await fixture.until(["bad a"])
        #expect(fixture.work.began.count == 3)
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: [(0.0, 900), (0.5, 1000), (0.75, 1050)])
    func `the delay differs by a part of it`(_ random: Double, _ milliseconds: Int) async throws {
        let fixture = try Fixture(Self.continuing + "retry: { times: 1, delay: 1s, jitter: 0.1 }", random: random)
        fixture.work.failures = 1
        try await fixture.ask("a")
        await fixture.pass(.seconds(2))
        try await fixture.until(["good a"])
        #expect(fixture.work.times.count == 2)
        await fixture.host.stop(within: .zero)
        // By hand, so that the very moment shows.
        let exact = try Fixture(Self.continuing + "retry: { times: 1, delay: 1s, jitter: 0.1 }", random: random)
        exact.work.failures = 1
        try await exact.ask("a")
        await exact.pass(.milliseconds(milliseconds - 1))
        #expect(exact.work.began == ["a"])
        await exact.pass(.milliseconds(1))
        try await exact.until(["good a"])
        await exact.host.stop(within: .zero)
    }

    @Test func `a new state ends the waiting for another attempt`() async throws {
        let fixture = try Fixture("work: \"${state.asked}\"\nretry: 5")
        fixture.work.failures = 1
        try await fixture.ask("a")
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(1)))
        try await fixture.ask("b")
        try await fixture.until(["good b"])
        #expect(fixture.work.began == ["a", "b"])
        await fixture.host.stop(within: .zero)
    }

    // MARK: Time limit

    @Test func `one whose time is up is ended, and told`() async throws {
        let fixture = try Fixture(
            Self.continuing + "timeout: 5s\nonTimeout: { Late: { after: \"${result.after}\" } }")
        fixture.work.isEndless = true
        try await fixture.ask("a")
        await fixture.pass(.seconds(5))
        try await fixture.until(["late 5s"])
        #expect(fixture.work.cancelled == 1)
        fixture.work.isEndless = false
        try await fixture.ask("b")
        try await fixture.until(["late 5s", "good b"])
        #expect(try fixture.status().faults == 0)
        await fixture.host.stop(within: .zero)
    }

    @Test func `one whose time is up and of which nobody is told is a fault`() async throws {
        let fixture = try Fixture(Self.continuing + "timeout: 5s")
        fixture.work.isEndless = true
        try await fixture.ask("a")
        await fixture.pass(.seconds(5))
        try await suspend(while: fixture.status().faults == 0)
        #expect(try fixture.status().lastFault?.message == "its time was up, after 5.0 seconds")
        await fixture.host.stop(within: .zero)
    }

    @Test func `one whose time is up is made again`() async throws {
        let fixture = try Fixture(
            Self.continuing + "timeout: 5s\nretry: 1\nonTimeout: { Late: { after: \"${result.after}\" } }")
        fixture.work.isEndless = true
        try await fixture.ask("a")
        await fixture.pass(.seconds(5))
        await suspend(while: fixture.work.cancelled == 0)
        fixture.work.isEndless = false
        await fixture.pass(.seconds(1))
        try await fixture.until(["good a"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `one that has told how it went is in time, however long it takes to end`() async throws {
        let fixture = try Fixture(
            Self.continuing + "mode: queued\ntimeout: 5s\nretry: 1\nonTimeout: { Late: { after: \"${result.after}\" } }"
        )
        fixture.work.lingers = true
        try await fixture.ask("a")
        try await fixture.until(["good a"])
        // The time limit of a run that has not ended yet.
        await fixture.pass(.seconds(5))
        try await fixture.ask("b")
        await fixture.pass(.seconds(55))
        try await fixture.until(["good a", "good b"])
        #expect(fixture.work.began == ["a", "b"])
        #expect(try fixture.status().faults == 0)
        await fixture.host.stop(within: .zero)
    }

    // MARK: Pace and key

    @Test func `of those that come close together the last is made, when it is quiet`() async throws {
        let fixture = try Fixture(Self.continuing + "debounce: 1s")
        try await fixture.ask("a", "b")
        fixture.clock.advance(by: .milliseconds(600))
        try await fixture.ask("c")
        fixture.clock.advance(by: .milliseconds(600))
        #expect(fixture.work.began.isEmpty)
        await fixture.pass(.milliseconds(400))
        try await fixture.until(["good c"])
        #expect(fixture.work.began == ["c"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `there is one at most within a time, the last that was asked for meanwhile at its end`() async throws {
        let fixture = try Fixture(Self.continuing + "throttle: 10s")
        try await fixture.ask("a")
        try await fixture.until(["good a"])
        try await fixture.ask("b", "c", "d")
        fixture.clock.advance(by: .milliseconds(9_999))
        #expect(fixture.work.began == ["a"])
        await fixture.pass(.milliseconds(1))
        try await fixture.until(["good a", "good d"])
        fixture.clock.advance(by: .seconds(10))
        try await fixture.ask("e")
        try await fixture.until(["good a", "good d", "good e"])
        #expect(fixture.work.times == [0, 10, 20].map { .seconds($0) })
        await fixture.host.stop(within: .zero)
    }

    @Test func `each key is for itself`() async throws {
        let fixture = try Fixture(Self.continuing + "throttle: 10s\nkey: \"${state.asked.substring(0, 1)}\"")
        try await fixture.ask("a1")
        try await fixture.until(["good a1"])
        try await fixture.ask("b1")
        try await fixture.until(["good a1", "good b1"])
        // The end of either would lead to a state that does not ask, where the other waits no more.
        fixture.work.isEndless = true
        try await fixture.ask("a2", "a3", "b2")
        await fixture.pass(.seconds(10))
        await fixture.begin(["a1", "b1"], ["a3", "b2"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `one key has one run at a time, and others theirs`() async throws {
        let fixture = try Fixture(Self.continuing + "mode: single\nkey: \"${state.asked.substring(0, 1)}\"")
        fixture.work.isEndless = true
        try await fixture.ask("a1", "b1", "a2", "b2", "c1")
        await suspend(while: fixture.work.began.count < 3)
        #expect(Set(fixture.work.began) == ["a1", "b1", "c1"])
        #expect(try fixture.status().runs(of: "work") == FeedbackRuns(feedback: "work", running: 3))
        await fixture.host.stop(within: .zero)
    }

    // MARK: Counting

    @Test func `what waits for its turn is not at work`() async throws {
        let fixture = try Fixture(Self.continuing + "mode: queued")
        fixture.work.isEndless = true
        try await fixture.ask("a", "b", "c")
        await suspend(while: fixture.work.began.isEmpty)
        #expect(try fixture.status().runs(of: "work") == FeedbackRuns(feedback: "work", running: 1, waiting: 2))
        await fixture.host.stop(within: .zero)
        #expect(try fixture.status().runs(of: "work") == FeedbackRuns(feedback: "work"))
    }

    @Test func `what waits for its time is not at work, and a plan says that it ends, too`() async throws {
        let fixture = try Fixture("work: \"${state.asked}\"\nafter: 10s")
        fixture.work.isEndless = true
        let other = try Fixture("work: \"${state.asked}\"\nafter: 20s\nstrategy: continueOnNewState")
        try await fixture.ask("a")
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(10)))
        #expect(try fixture.status().runs(of: "work") == FeedbackRuns(feedback: "work", waiting: 1))
        func steps() -> FeedbackSteps? {
            fixture.host.snapshot.plan(for: other.host.snapshot.graph).systems.first?.feedbacks
        }
        #expect(steps()?.ending == ["work"] && steps()?.beginning == ["work"])
        fixture.clock.advance(by: .seconds(10))
        await suspend(while: fixture.work.began.isEmpty)
        #expect(try fixture.status().runs(of: "work") == FeedbackRuns(feedback: "work", running: 1))
        #expect(steps()?.ending == ["work"])
        await fixture.host.stop(within: .zero)
        await other.host.stop(within: .zero)
    }

    // MARK: Jitter

    @Test func `a schedule may be late by so much`() async throws {
        let fixture = try Fixture("work: \"${state.asked}\"\nevery: 10s\njitter: 4s", random: 0.25)
        fixture.work.isEndless = false
        try fixture.host.emit("Ask", to: "worker", fields: [.string("a")])
        await fixture.pass(.milliseconds(999))
        #expect(fixture.work.began.isEmpty)
        await fixture.pass(.milliseconds(1))
        try await fixture.until(["good a"])
        try fixture.host.emit("Ask", to: "worker", fields: [.string("b")])
        await fixture.pass(.milliseconds(10_999))
        #expect(fixture.work.began == ["a"])
        await fixture.pass(.milliseconds(1))
        try await fixture.until(["good a", "good b"])
        await fixture.host.stop(within: .zero)
    }
}
