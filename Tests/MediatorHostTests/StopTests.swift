import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A side effect that takes a time by the clock, then says that it is done; it counts how often it has begun.
private final class WorkEffect: EffectImplementation {
    let begun = Atomic<Int>(0)
    /// A stream that keeps it from ending when it is cancelled; nil: nothing does.
    let hold: AsyncStream<Void>?
    let schema = EffectSchema(
        name: "work", parameters: [.init(name: "for", type: .duration, required: true)], shortForm: "for",
        outcomes: [.init(name: "onDone", result: StructureType(name: "result", fields: []))])

    init(hold: AsyncStream<Void>? = nil) { self.hold = hold }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        begun.add(1, ordering: .relaxed)
        guard case .duration(let span)? = arguments["for"] else { return }
        if (try? await context.clock.sleep(for: span.swiftDuration)) == nil {
            guard let hold else { return }
            // In a task that nobody cancels.
            await Task.detached { for await _ in hold {} }.value
        }
        context.report("onDone", .structure(Structure(type: schema.outcomes[0].result, fields: [])))
    }
}

/// The lines of a log, with their metadata.
private final class LinesOfLog: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }
    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

    private struct Handler: LogHandler {
        let lines: LinesOfLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted().joined(separator: " ")
            lines.lines.withLock { $0.append("\(event.message) \(fields)") }
        }
    }
}

/// A host whose clock is moved by hand.
private struct Fixture: HostedFixture {
    let clock: ManualClock
    let host: Host
    let work: WorkEffect

    init(
        _ text: String, work: WorkEffect = WorkEffect(), clock: ManualClock = ManualClock(),
        continuing state: HostState = HostState(),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) throws {
        let effects = EffectCatalogue([work])
        self.work = work
        self.clock = clock
        host = try Host(
            graph: try graph(text, effects: effects.schemas), effects: effects, continuing: state,
            time: .manual(clock), logger: logger)
        host.start()
    }

    /// The host after a restart of the daemon.
    func next(_ text: String) throws -> Fixture { try Fixture(text, continuing: host.state) }

    /// Stops the host, and does something while it stops.
    func stop(within limit: Duration = .seconds(10), _ meanwhile: () async throws -> Void) async rethrows -> [String] {
        async let stopped = host.stop(within: limit)
        await suspend(while: host.health != .stopped)
        try await meanwhile()
        return await stopped
    }
}

/// A system that works as long as it is busy, and counts how often it has.
private let worker = """
    system: worker
    states: { Idle: { n: int }, Busy: { n: int } }
    events: { Go: {}, Done: {} }
    fromOutside: Go
    initialState: { Idle: { n: 0 } }
    feedbacks:
      work: { onState: Busy, work: 5s, onDone: Done }
    transitions:
      Idle: { Go: { to: Busy, set: { n: "${state.n}" } } }
      Busy: { Done: { to: Idle, set: { n: "${state.n + 1}" } } }
    ---

    """

/// A system that counts its events.
private let counter = """
    system: counter
    states: { Count: { n: int } }
    events: { Add: {} }
    fromOutside: Add
    initialState: { Count: { n: 0 } }
    transitions: { Count: { Add: { to: Count, set: { n: "${state.n + 1}" } } } }
    ---

    """

@Suite(.timeLimit(.minutes(20))) struct `A stop of the host` {
    @Test func `names the side effects that it cancels at its limit`() async throws {
        let lines = LinesOfLog()
        let fixture = try Fixture(worker, logger: lines.logger)
        try fixture.host.emit("Go", to: "worker", fields: [])
        await fixture.settle()
        let left = await fixture.stop(within: .seconds(2)) {
            await fixture.clock.nextDeadline(in: .seconds(2))
            fixture.clock.advance(by: .seconds(2))
        }
        #expect(left.isEmpty)
        #expect(lines.all.filter { $0.hasPrefix("side effects did not end within the limit") }.count == 1)
        #expect(lines.all.contains { $0.contains("feedbacks=work") && $0.contains("limit=2.0 seconds") })
    }

    @Test func `refuses events, and counts none as dropped`() async throws {
        let fixture = try Fixture(worker + counter)
        try fixture.host.emit("Go", to: "worker", fields: [])
        await fixture.settle()
        #expect(!fixture.host.isStopped)
        _ = await fixture.stop {
            #expect(fixture.host.isStopped)
            // A client asks again and again until the next daemon answers.
            for name in ["worker", "counter", "worker", "worker"] {
                #expect(throws: HostError.self) {
                    try fixture.host.emit(name == "worker" ? "Go" : "Add", to: name, fields: [])
                }
            }
            fixture.clock.advance(by: .seconds(5))
        }
        for name in ["worker", "counter"] {
            #expect(try fixture.host.systemStatus(name).loop.counters.refused == 0)
        }
    }

    @Test func `takes the outcome of what is under way, which does not begin again`() async throws {
        let first = try Fixture(worker)
        try first.host.emit("Go", to: "worker", fields: [])
        await first.settle()
        #expect(await first.stop { first.clock.advance(by: .seconds(5)) }.isEmpty)
        #expect(try first.state("worker") == "Idle 1")
        let second = try first.next(worker)
        await second.settle()
        #expect(try second.state("worker") == "Idle 1")
        #expect(second.work.begun.load(ordering: .relaxed) == 0)
        await second.host.stop(within: .zero)
    }

    @Test func `begins nothing that the new state asks for, and the next host does`() async throws {
        let text = worker.replacing("onState: Busy, work", with: "onState: [Busy, Idle], work")
            .replacing("transitions:\n", with: "transitions:\n  any: { Done: stay }\n")
        let first = try Fixture(text)
        await first.settle()
        try first.host.emit("Go", to: "worker", fields: [])
        await first.settle()
        #expect(first.work.begun.load(ordering: .relaxed) == 2)
        #expect(await first.stop { first.clock.advance(by: .seconds(5)) }.isEmpty)
        #expect(try first.state("worker") == "Idle 1")
        #expect(first.work.begun.load(ordering: .relaxed) == 2)
        let second = try first.next(text)
        await second.settle()
        #expect(second.clock.nextDeadline == .init(offset: .seconds(5)))
        #expect(second.work.begun.load(ordering: .relaxed) == 1)
        await second.host.stop(within: .zero)
    }

    @Test func `past its limit ends what is under way, which begins again`() async throws {
        let first = try Fixture(worker)
        try first.host.emit("Go", to: "worker", fields: [])
        await first.settle()
        #expect(
            await first.stop(within: .seconds(2)) {
                await first.clock.nextDeadline(in: .seconds(2))
                first.clock.advance(by: .seconds(2))
            }.isEmpty)
        #expect(try first.state("worker") == "Busy 0")
        let second = try first.next(worker)
        await second.settle()
        #expect(second.clock.nextDeadline == .init(offset: .seconds(5)))
        second.clock.advance(by: .seconds(5))
        try await suspend(while: second.state("worker") != "Idle 1")
        await second.host.stop(within: .zero)
    }

    @Test func `ends though a side effect does not, and names its system`() async throws {
        let (hold, release) = AsyncStream<Void>.makeStream()
        let fixture = try Fixture(worker, work: WorkEffect(hold: hold))
        try fixture.host.emit("Go", to: "worker", fields: [])
        await fixture.settle()
        let leftBehind = await fixture.stop(within: .seconds(2)) {
            await fixture.clock.nextDeadline(in: .seconds(2))
            fixture.clock.advance(by: .seconds(2))
            // A cancelled side effect has a time to end, too.
            await fixture.clock.nextDeadline(in: .seconds(8))
            fixture.clock.advance(by: .seconds(8))
        }
        #expect(leftBehind == ["worker"])
        #expect(fixture.clock.nextDeadline == nil)
        #expect(try fixture.state("worker") == "Busy 0")
        release.finish()
    }

    @Test func `takes the outcome for a system that is paused, and no event from outside`() async throws {
        let first = try Fixture(worker + counter)
        try first.host.emit("Go", to: "worker", fields: [])
        await first.settle()
        for name in ["worker", "counter"] { #expect(try first.host.pause(name, by: 0, named: nil)) }
        try first.host.emit("Add", to: "counter", fields: [])
        try first.host.emit("Go", to: "worker", fields: [])
        first.clock.advance(by: .seconds(5))
        try await suspend(while: first.host.systemStatus("worker").loop.waiting < 2)
        #expect(try first.state("worker") == "Busy 0")
        #expect(await first.host.stop(within: .seconds(10)).isEmpty)
        #expect(try first.state("worker") == "Idle 1")
        #expect(try first.state("counter") == "Count 0")
        for name in ["worker", "counter"] {
            #expect(try first.host.systemStatus(name).loop.counters.refused == 1)
        }
    }

    @Test func `refuses events and values from outside`() async throws {
        let first = try Fixture(worker + counter + "buses: { level: { kind: currentValue, value: int, initial: 1 } }")
        try first.host.emit("Go", to: "worker", fields: [])
        await first.settle()
        let leftBehind = await first.stop {
            for (event, system) in [("Go", "worker"), ("Add", "counter")] {
                #expect {
                    try first.host.emit(event, to: system, fields: [])
                } throws: { error in
                    if case .notAccepted(system, .stopping, _)? = error as? HostError { true } else { false }
                }
            }
            #expect(throws: HostError.busStopped("level")) { try first.host.publish(.int(2), on: "level") }
            first.clock.advance(by: .seconds(5))
        }
        #expect(leftBehind.isEmpty)
        #expect(first.host.state.buses["level"]?.value == .int(1))
        #expect(try first.state("worker") == "Idle 1")
    }

    @Test func `keeps what an outcome tells others for the next host`() async throws {
        let text =
            worker + counter + """
                buses: { level: { kind: currentValue, value: int, initial: -1, fromOutside: read } }
                links:
                  tell: { attach: worker, toSystem: counter, onState: Idle, when: state.n > 0, emitEvent: Add }
                  show: { attach: worker, to: level, onState: Idle, emitValue: "${state.n}" }
                """
        let first = try Fixture(text)
        try first.host.emit("Go", to: "worker", fields: [])
        await first.settle()
        #expect(await first.stop { first.clock.advance(by: .seconds(5)) }.isEmpty)
        #expect(try first.state("worker") == "Idle 1")
        // The bus holds what the state that is kept says; the system that stops takes no event any more.
        #expect(first.host.state.buses["level"]?.value == .int(1))
        #expect(try first.state("counter") == "Count 0")
        #expect(try first.host.systemStatus("counter").loop.counters.refused == 1)
        let second = try first.next(text)
        await second.settle()
        #expect(try second.state("counter") == "Count 1")
        #expect(try second.host.busStatus("level").value == .int(1))
        await second.host.stop(within: .zero)
    }

    @Test func `takes outcomes of several side effects, each in the state to which the one before led`() async throws {
        let text = """
            system: worker
            states: { Busy: { n: int } }
            events: { Done: {} }
            initialState: { Busy: { n: 0 } }
            feedbacks:
              short: { onState: { Busy: { n: 0 } }, strategy: continueOnNewState, work: 2s, onDone: Done }
              long: { onState: { Busy: { n: 0 } }, strategy: continueOnNewState, work: 4s, onDone: Done }
              more: { onState: { Busy: { n: 1 } }, strategy: continueOnNewState, work: 6s, onDone: Done }
            transitions:
              Busy: { Done: { to: Busy, set: { n: "${state.n + 1}" } } }
            """
        let first = try Fixture(text)
        await first.settle()
        let leftBehind = try await first.stop {
            first.clock.advance(by: .seconds(2))
            try await suspend(while: first.state("worker") != "Busy 1")
            first.clock.advance(by: .seconds(2))
        }
        #expect(leftBehind.isEmpty)
        #expect(try first.state("worker") == "Busy 2")
        #expect(first.work.begun.load(ordering: .relaxed) == 2)
    }

    @Test func `restarts nothing that fails meanwhile`() async throws {
        let text = worker.replacing("system: worker", with: "system: worker\nsupervision: restart")
            .replacing("n: \"${state.n + 1}\"", with: "n: \"${state.n / state.n}\"")
        let first = try Fixture(text)
        try first.host.emit("Go", to: "worker", fields: [])
        await first.settle()
        #expect(await first.stop { first.clock.advance(by: .seconds(5)) }.isEmpty)
        #expect(try first.state("worker") == "Busy 0")
        let status = try first.host.systemStatus("worker")
        #expect(status.faults == 1 && status.restarts == 0 && status.health == .stopped)
        #expect(first.work.begun.load(ordering: .relaxed) == 1)
    }
}
