import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A side effect that fails at once, never ends, or succeeds, by its name.
private struct Work: EffectImplementation {
    let schema = EffectSchema(
        name: "work", parameters: [.init(name: "name", type: .string, required: true)], shortForm: "name",
        outcomes: ["onSuccess", "onFailure"].map {
            .init(name: $0, result: StructureType(name: "result", fields: [.init(name: "name", type: .string)]))
        })

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .string(let name)? = arguments["name"] else { return }
        if name == "endless" { try? await context.clock.sleep(for: .seconds(1_000_000)) }
        context.report(
            name == "failing" ? "onFailure" : "onSuccess",
            .structure(Structure(type: schema.outcomes[0].result, fields: [.string(name)])))
    }
}

/// A calendar that begins on 14 November 2023 at 22:13:20, goes with a clock, and can be set.
private final class Calendar: Sendable {
    private let clock: ManualClock
    private let shift = Mutex(Duration.zero)

    init(_ clock: ManualClock) { self.clock = clock }

    var now: Timestamp {
        guard let begin = Timestamp(seconds: 1_700_000_000, nanoseconds: 0),
            let now = begin.advanced(by: clock.now.offset + shift.withLock { $0 })
        else { preconditionFailure("the test is in 2023") }
        return now
    }

    func set(by span: Duration) { shift.withLock { $0 += span } }
}

@Suite(.timeLimit(.minutes(5))) struct `The list of pending waits` {
    private struct Fixture {
        let clock: ManualClock
        let calendar: Calendar
        let host: Host

        init(_ texts: String...) throws {
            let catalogue = EffectCatalogue([Work()])
            let files = texts.enumerated().map { ConfigurationFile(path: "\($0).yaml", text: $1) }
            let result = ConfigurationCompiler.compile(files: files, effects: catalogue.schemas)
            let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
            let clock = ManualClock()
            let calendar = Calendar(clock)
            (self.clock, self.calendar) = (clock, calendar)
            host = try Host(
                graph: graph, effects: catalogue, time: HostTime.settling(clock) { calendar.now },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            host.start()
        }

        func emit(_ event: String, _ fields: Value..., to system: String = "job") async throws {
            try host.emit(event, to: system, fields: fields)
            await host.settled()
        }

        /// The waits, with the seconds until then.
        var waits: [String] {
            let now = calendar.now
            return host.pendingWaits.map { wait in
                let names = [wait.system, wait.feedback, wait.key.map { "\($0)" }, wait.kind.rawValue]
                let left = wait.due.span(since: now) / .seconds(1)
                return "\(names.compactMap(\.self).joined(separator: " ")) \(left)"
            }
        }

        func end() async {
            await host.stop(within: .zero)
            #expect(host.pendingWaits.isEmpty)
        }
    }

    private static func system(_ feedbacks: String, more: String = "", on rules: String = "") -> String {
        """
        system: job
        states: { Off: {}, On: { n: int }, Late: {} }
        events: { Go: { n: int }, Back: {}, Boom: {} }
        fromOutside: any
        initialState: Off
        \(more)
        feedbacks: { \(feedbacks) }
        transitions:
          Off: { Go: { to: On, set: { n: "${event.n}" } } }
          On:
            Go: { to: On, set: { n: "${event.n}" } }
            Back: Off
            Boom: { to: On, set: { n: "${1 / (state.n - state.n)}" } }
            \(rules)

        """
    }

    private static let goesOn = "strategy: continueOnNewState"

    @Test(arguments: [
        ("after: 2s", ["job tell after 2.0"]), ("every: 5s", ["job tell every 4.0"]),
        ("after: 2s, \(goesOn), key: \"${state.n}\"", ["job tell 1 after 1.0", "job tell 2 after 2.0"]),
        ("debounce: 3s, maxWait: 3500ms, \(goesOn)", ["job tell debounce 2.5"]),
        ("throttle: 1m, \(goesOn)", ["job tell throttle 59.0"]),
        ("at: \"22:14\"", ["job tell at 39.0"]),
    ])
    func `has those of each schedule, until their state is left`(keys: String, expected: [String]) async throws {
        let fixture = try Fixture(Self.system("tell: { onState: On, \(keys), work: x }"))
        try await fixture.emit("Go", .int(1))
        fixture.clock.advance(by: .seconds(1))
        try await fixture.emit("Go", .int(2))
        #expect(fixture.waits == expected)
        #expect(try fixture.host.pendingWaits(of: "job") == fixture.host.pendingWaits)
        let summary = try fixture.host.systemStatus("job").definition.feedbacks[0].summary
        #expect(fixture.host.pendingWaits.allSatisfy { $0.action == summary })
        try await fixture.emit("Back")
        #expect(fixture.waits.isEmpty)
        await fixture.end()
    }

    @Test func `has the next attempt of a run, and the end of its time`() async throws {
        let retry = "retry: { times: 3, delay: 4s, jitter: 0 }"
        let failing = "failing: { onState: On, work: failing, onFailure: log, onSuccess: Back, \(retry) }"
        let endless = "endless: { onState: On, work: endless, timeout: 7s, onFailure: log, onTimeout: log }"
        let fixture = try Fixture(Self.system("\(failing), \(endless)"))
        try await fixture.emit("Go", .int(1))
        #expect(fixture.waits == ["job failing retry 4.0", "job endless timeout 7.0"])
        #expect(fixture.host.pendingWaits[1].action.hasPrefix("end what runs too long: "))
        let last = try #require(try fixture.host.systemStatus("job").progress["failing"]?.lastResult)
        #expect(last.hasPrefix("onFailure") && last.hasSuffix("; it is tried again, 2 left"), "\(last)")
        let sender = try #require(try fixture.host.whyNot("job", event: "Back").senders.first)
        let told = "it emits Back on onSuccess; it failed, and its next attempt is at 2023-11-14T22:13:24Z"
        #expect(sender.waits == told)
        fixture.clock.advance(by: .seconds(4))
        await fixture.host.settled()
        #expect(fixture.waits == ["job endless timeout 3.0", "job failing retry 8.0"])
        fixture.clock.advance(by: .seconds(3))
        await fixture.host.settled()
        #expect(fixture.waits == ["job failing retry 5.0"])
        await fixture.end()
    }

    @Test func `has the rules of always, the time to be ready, and a restart`() async throws {
        let rule = "always: [{ when: state.n > 1, for: 6s, to: Late }]"
        let fixture = try Fixture(
            Self.system(
                "",
                more: """
                    ready: { in: Late, within: 20s, otherwise: restart }
                    supervision: { onFault: restart, delay: 9s }
                    """, on: rule))
        await fixture.host.settled()
        #expect(fixture.waits == ["job ready 20.0"])
        #expect(fixture.host.pendingWaits[0].action == "if it is not ready: restart")
        try await fixture.emit("Go", .int(2))
        #expect(fixture.waits == ["job for 6.0", "job ready 20.0"])
        #expect(fixture.host.pendingWaits[0].action == "apply the rule 'state.n > 1 for 6s'")
        fixture.clock.advance(by: .seconds(2))
        try await fixture.emit("Boom")
        #expect(fixture.waits == ["job restart 9.0"])
        fixture.clock.advance(by: .seconds(9))
        try await suspend(while: fixture.host.systemStatus("job").restarts == 0)
        await fixture.host.settled()
        #expect(fixture.waits == ["job ready 20.0"])
        await fixture.end()
    }

    @Test func `has the side effects for which a stop waits`() async throws {
        let fixture = try Fixture(Self.system("endless: { onState: On, work: endless }"))
        try await fixture.emit("Go", .int(1))
        let stop = Task { await fixture.host.stop(within: .seconds(20)) }
        await fixture.clock.nextDeadline(in: .seconds(20))
        #expect(fixture.waits == ["job endless stop 20.0"])
        #expect(fixture.host.stopWaits == fixture.host.pendingWaits)
        #expect(fixture.host.stopWaits[0].action.hasPrefix("cancel it: "))
        fixture.clock.advance(by: .seconds(20))
        #expect(await stop.value.isEmpty)
        #expect(fixture.waits.isEmpty)
    }

    @Test func `is sorted over all systems, and right after the calendar was set`() async throws {
        let daily = "daily: { onState: On, at: \"22:14\", work: y }"
        let job = Self.system("tell: { onState: On, after: 30s, work: x }, \(daily)")
        let other = job.replacing("system: job", with: "system: other").replacing("30s", with: "10s")
        let fixture = try Fixture(job, other)
        try await fixture.emit("Go", .int(1))
        try await fixture.emit("Go", .int(1), to: "other")
        let first = ["other tell after 10.0", "job tell after 30.0", "job daily at 40.0", "other daily at 40.0"]
        #expect(fixture.waits == first)
        let before = fixture.host.pendingWaits[0].due
        fixture.calendar.set(by: .seconds(20))
        // The ends of durations stay, and times of the calendar are nearer now.
        let then = ["other tell after 10.0", "job daily at 20.0", "other daily at 20.0", "job tell after 30.0"]
        #expect(fixture.waits == then)
        #expect(fixture.host.pendingWaits[0].due.span(since: before) == .seconds(20))
        await fixture.end()
    }

    @Test func `of an unknown system is an error`() async throws {
        let fixture = try Fixture(Self.system(""))
        #expect(throws: HostError.self) { try fixture.host.pendingWaits(of: "nobody") }
        await fixture.end()
    }
}
