import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import SideEffects
import Synchronization
import Testing

/// Records the lines that the feedbacks of a system log.
private struct LineHandler: LogHandler {
    let write: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if metadata["feedback"] != nil { write("\(event.message)") }
    }
}

/// A host with a system that leaves a state as soon as it has entered it.
private final class Fixture: Sendable {
    let clock = ManualClock()
    let lines = Mutex<[String]>([])
    let host: Host

    init(_ say: String) throws {
        let text = """
            system: a
            states: { Idle: { n: int }, Told: { n: int } }
            events: { Go: {}, Next: {} }
            fromOutside: Go
            initialState: { Idle: { n: 0 } }
            feedbacks:
              say: { onState: Told, \(say) }
              put: { onState: Told, publish: { to: b, value: "${state.n}" } }
              on:  { onState: Told, emit: Next }
            transitions:
              Idle: { Go: { to: Told, set: { n: "${state.n + 1}" } } }
              Told: { Next: { to: Idle, set: { n: "${state.n}" } }, Go: stay }
            ---
            buses: { b: { kind: passthrough, value: int, fromOutside: read } }

            """
        let effects = EffectCatalogue([LogEffect()])
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], effects: effects.schemas)
        let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
        let write = Mutex<@Sendable (String) -> Void>({ _ in })
        let handler = LineHandler { line in write.withLock { $0 }(line) }
        host = try Host(
            graph: graph, effects: effects, time: .init(clock: clock, now: { .epoch }, executor: SettlingPool()),
            logger: Logger(label: "test") { _ in handler })
        write.withLock { $0 = { [weak self] line in self?.lines.withLock { $0.append(line) } } }
        host.start()
    }

    /// Sends an event to the system and waits for its consequences.
    func go() async throws {
        try host.emit("Go", to: "a", fields: [])
        await host.settled()
    }
}

extension Timestamp {
    fileprivate static var epoch: Timestamp {
        guard let time = Timestamp(seconds: 0, nanoseconds: 0) else { preconditionFailure("1970 is in range") }
        return time
    }
}

@Suite(.timeLimit(.minutes(5))) struct `A line that a feedback logs` {
    @Test func `is in the log even if its state is left at once`() async throws {
        let fixture = try Fixture("log: \"said ${state.n}\"")
        for _ in 1...25 { try await fixture.go() }
        #expect(fixture.lines.withLock { $0 } == (1...25).map { "said \($0)" })
        #expect(try fixture.host.linkStatus("a/put").fired == 25)
        let runs = try fixture.host.trace("a").filter { $0.feedback == "say" }
        #expect(runs.last?.text.hasPrefix("the feedback say in Told { n: 25 } ended without an outcome") == true)
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: ["after: 1s", "every: 1s", "throttle: 1s, strategy: continueOnNewState"])
    func `waits like other side effects, but not beyond its state`(keys: String) async throws {
        let fixture = try Fixture("\(keys), log: \"said ${state.n}\"")
        for _ in 1...3 { try await fixture.go() }
        fixture.clock.advance(by: .seconds(1))
        await fixture.host.settled()
        #expect(fixture.lines.withLock { $0 } == (keys.hasPrefix("throttle") ? ["said 1"] : []))
        await fixture.host.stop(within: .zero)
    }

    @Test func `that cannot be computed is a fault`() async throws {
        let fixture = try Fixture("log: \"said ${10 / (state.n - 1)}\"")
        try await fixture.go()
        #expect(try fixture.host.systemStatus("a").faults == 1)
        #expect(fixture.lines.withLock { $0 }.isEmpty)
        await fixture.host.stop(within: .zero)
    }
}
