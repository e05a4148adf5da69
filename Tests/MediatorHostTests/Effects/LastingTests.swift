import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// An effect that goes on until it is cancelled, and reports once at its beginning.
private struct SenseEffect: EffectImplementation {
    /// The number of times that it has begun and ended.
    final class Counts: Sendable {
        let begun = Mutex(0)
        let ended = Mutex(0)
        let remembered = Mutex<[Int]>([])
        let change = AsyncStream<Void>.makeStream()
    }

    let counts: Counts

    var schema: EffectSchema {
        EffectSchema(
            name: "sense",
            parameters: [
                .init(name: "path", type: .string, required: true, constraint: .absolutePath),
                .init(name: "above", type: .int, constraint: .whole(1...99)),
                .init(name: "below", type: .int, constraint: .whole(1...99), upperBound: "above"),
            ],
            shortForm: "path",
            outcomes: [.init(name: "onSense", result: StructureType(name: "result", fields: []))],
            isLasting: true)
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        counts.begun.withLock { $0 += 1 }
        let times = (context.memory.value(Int.self) ?? 0) + 1
        context.memory.keep(times)
        counts.remembered.withLock { $0.append(times) }
        context.report("onSense", .structure(Structure(type: schema.outcomes[0].result, fields: [])))
        counts.change.continuation.yield()
        // Until it is cancelled.
        let (never, open) = AsyncStream<Void>.makeStream()
        for await _ in never {}
        open.finish()
        counts.ended.withLock { $0 += 1 }
        counts.change.continuation.yield()
    }
}

private final class Fixture: HostedFixture, Sendable {
    let clock = ManualClock()
    let host: Host
    let counts = SenseEffect.Counts()

    init(_ text: String) throws {
        let catalogue = EffectCatalogue([SenseEffect(counts: counts)])
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "test.yaml", text: text)], effects: catalogue.schemas)
        for found in result.diagnostics where found.severity == .error { Issue.record("\(found.rendered())") }
        let now = try #require(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
        host = try Host(
            graph: try #require(result.graph), effects: catalogue, time: HostTime.settling(clock) { now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    var begun: Int { counts.begun.withLock { $0 } }
    var ended: Int { counts.ended.withLock { $0 } }

    /// Returns when a condition holds; it is looked at each time an effect begins or ends.
    func until(_ condition: () -> Bool) async {
        if condition() { return }
        for await _ in counts.change.stream where condition() { return }
    }
}

private func system(_ strategy: String, path: String = "/a") -> String {
    """
    system: watch
    states: { Off: { path: string }, On: { path: string } }
    events: { Sensed: {}, Go: { path: string } }
    initialState: { Off: { path: "\(path)" } }
    feedbacks:
      sense: { onState: any, strategy: \(strategy), sense: "${state.path}", onSense: Sensed }
    transitions:
      any: { Sensed: On, Go: { to: Off, set: { path: "${event.path}" } } }
    """
}

@Suite(.timeLimit(.minutes(20))) struct `A side effect that lasts` {
    @Test func `goes on through new states, one at a time, and ends as soon as the system is to stop`() async throws {
        let fixture = try Fixture(system("continueOnNewState"))
        fixture.host.start()
        await fixture.until { fixture.begun == 1 }
        for _ in 0..<200 {
            try fixture.host.emit("Go", to: "watch", fields: [.string("/b")])
            await fixture.settle()
        }
        #expect(fixture.begun == 1 && fixture.ended == 0)
        #expect(try fixture.host.systemStatus("watch").faults == 0)
        await fixture.host.stop(within: .seconds(1_000_000))
        #expect(fixture.ended == 1)
    }

    @Test func `that leads to a new state each time begins again after a pause, and remembers`() async throws {
        let fixture = try Fixture(system("cancelOnNewState"))
        fixture.host.start()
        await fixture.until { fixture.begun == 1 }
        for round in 2...5 {
            await fixture.settle()
            #expect(fixture.clock.nextDeadline == fixture.clock.now.advanced(by: .milliseconds(100)))
            #expect(fixture.begun == round - 1)
            fixture.clock.advance(by: .milliseconds(99))
            await fixture.settle()
            #expect(fixture.begun == round - 1)
            fixture.clock.advance(by: .milliseconds(1))
            await fixture.until { fixture.begun == round }
        }
        #expect(fixture.counts.remembered.withLock { $0 } == [1, 2, 3, 4, 5])
        await fixture.host.stop(within: .seconds(1_000_000))
        #expect(fixture.ended == fixture.begun)
    }

    @Test func `does not begin with a computed argument that cannot be`() async throws {
        let fixture = try Fixture(system("continueOnNewState", path: "relative"))
        fixture.host.start()
        try await suspend(while: fixture.host.systemStatus("watch").faults == 0)
        #expect(fixture.begun == 0)
        let last = try fixture.host.systemStatus("watch").lastFault
        #expect(last?.message.contains("'path' must be a path from the root") == true)
        // A later state may have one that can.
        try fixture.host.emit("Go", to: "watch", fields: [.string("/b")])
        await fixture.until { fixture.begun == 1 }
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    @Test(arguments: [
        ("sense: a", "unsuitable-text"), ("sense: \"/\\0\"", "unsuitable-text"),
        ("sense: { path: /a, above: 0 }", "out-of-range"), ("sense: { path: /a, above: 100 }", "out-of-range"),
        ("sense: { path: /a, above: 5, below: 6 }", "out-of-range"),
        ("sense: { path: /a, below: 6 }", "missing-parameter"), ("{ sense: /a, every: 5s }", "conflicting-keys"),
    ])
    func `is checked before the start`(written: String, code: String) {
        let isWhole = written.hasPrefix("{")
        let text = """
            system: watch
            states: { Off: {} }
            initialState: Off
            feedbacks:
              sense: { onState: any, \(isWhole ? String(written.dropFirst().dropLast()) : written) }
            """
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "test.yaml", text: text)],
            effects: [SenseEffect(counts: SenseEffect.Counts()).schema])
        #expect(result.diagnostics.filter { $0.severity == .error }.map(\.code.rawValue) == [code])
        #expect(result.graph == nil)
    }

    @Test func `tells of what is outside, where the links of a circle begin to be counted`() async throws {
        let fixture = try Fixture(
            """
            system: watch
            states: { Off: {}, On: {} }
            events: { Sensed: {}, Go: {} }
            initialState: Off
            feedbacks:
              sense: { onState: Off, strategy: cancelOnNewState, sense: /a, onSense: Sensed }
            transitions: { Off: { Sensed: On }, On: { Go: Off } }
            ---
            system: other
            states: { Asked: {}, Idle: {} }
            events: { Ask: {} }
            initialState: Idle
            transitions: { any: { Ask: Asked } }
            ---
            links:
              there: { attach: watch, toSystem: other, onState: On, emitEvent: Ask }
              back: { attach: other, toSystem: watch, onState: Asked, emitEvent: Go, loop: { limit: 100 per 1s, hops: 4 } }
            """)
        fixture.host.start()
        for round in 1...6 {
            // It begins again after a pause.
            for _ in 0..<100 where fixture.begun < round {
                fixture.clock.advance(by: .seconds(60))
                await fixture.settle()
            }
            if try fixture.host.linkStatus("back").dropped > 0 { break }
            await fixture.until { fixture.begun >= round }
        }
        let back = try fixture.host.linkStatus("back")
        #expect(back.fired >= 5 && back.dropped == 0)
        await fixture.host.stop(within: .zero)
    }
}
