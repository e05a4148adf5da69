import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

/// A probe whose outcomes are set beforehand: `true` is a success.
private final class ToldProbe: EffectImplementation {
    let answers = Mutex<[Bool]>([])
    let runs = Atomic(0)
    let ended = AwaitedValue(0)
    /// Whether it does not come to an end by itself.
    let hangs = Atomic(false)
    /// The time that a run takes, in seconds.
    let lasts = Atomic(0)

    let schema = EffectSchema(
        name: "probe", parameters: [.init(name: "number", type: .int, default: .int(0))],
        outcomes: ["onSuccess", "onFailure"].map {
            .init(name: $0, result: StructureType(name: "result", fields: [.init(name: "run", type: .int)]))
        }
    ).withThresholds()

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        defer { ended.change { $0 += 1 } }
        if hangs.load(ordering: .relaxed) {
            try? await context.clock.sleep(for: .seconds(1_000_000))
            return
        }
        let seconds = lasts.load(ordering: .relaxed)
        if seconds > 0 { try? await context.clock.sleep(for: .seconds(seconds)) }
        let succeeds = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        let number = runs.add(1, ordering: .relaxed).newValue
        guard let succeeds else { return }
        let result = Structure(type: schema.outcomes[0].result, fields: [.int(Int64(number))])
        context.report(succeeds ? "onSuccess" : "onFailure", .structure(result))
    }
}

private struct Fixture {
    let clock = ManualClock()
    let probe = ToldProbe()
    let host: Host

    init(_ text: String) throws {
        let catalogue = EffectCatalogue([probe])
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], effects: catalogue.schemas)
        let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
        let now = try #require(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
        host = try Host(
            graph: graph, effects: catalogue, time: HostTime.settling(clock) { now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// The reports so far: the events that the system has noted, in order.
    func told() async throws -> String {
        await host.settled()
        return try host.systemStatus("watch").state.text("told")
    }

    /// Runs the probe once for each mark, `+` a success and `-` a failure, a second apart; returns the reports after
    /// that.
    func probe(_ marks: String) async throws -> String {
        for mark in marks {
            let before = probe.ended.value
            probe.answers.withLock { $0.append(mark == "+") }
            if before == 0 {
                host.start()
            } else {
                await host.settled()
                clock.advance(by: .seconds(1))
            }
            await probe.ended.wait { $0 > before }
            _ = try await told()
        }
        return try await told()
    }
}

extension SystemState {
    fileprivate func text(_ field: String) -> String {
        guard case .structure(let structure) = data else { return "" }
        return structure[field]?.text ?? ""
    }
}

private func system(_ strategy: String, _ probe: String, onState: String = "any") -> String {
    """
    system: watch
    states: { One: { told: string }, Two: { told: string } }
    events: { Up: {}, Down: {}, Turn: {} }
    fromOutside: Turn
    initialState: { One: { told: "" } }
    feedbacks:
      ask: { onState: \(onState), strategy: \(strategy), every: 1s, probe: \(probe), onUp: Up, onDown: Down }
    transitions:
      any:
        Up: { to: One, set: { told: "${state.told}u" } }
        Down: { to: One, set: { told: "${state.told}d" } }
      One:
        Turn: { to: Two, set: { told: "${state.told}" } }
      Two:
        Turn: { to: One, set: { told: "${state.told}" } }
    """
}

@Suite(.timeLimit(.minutes(20))) struct `A probe` {
    @Test(arguments: [
        ("{ number: 1 }", "++--+-", "udud"),
        ("{ failureThreshold: 3 }", "--+--+---+", "udu"),
        ("{ failureThreshold: 3, successThreshold: 2 }", "+-++---+-++", "udu"),
        ("{ failureThreshold: 2, failureWindow: 3 }", "+-+-", "ud"),
        ("{ failureThreshold: 2, failureWindow: 3 }", "-++-++-", "u"),
        ("{ failureThreshold: 3 }", "--", ""),
    ])
    func `tells its level once when a threshold is reached`(probe: String, outcomes: String, told: String) async throws
    {
        let fixture = try Fixture(system("continueOnNewState", probe))
        // The transitions that this causes enter the same state again, which is no news for it.
        #expect(try await fixture.probe(outcomes) == told)
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    @Test func `tells its level again after the entry of a state, unless it led there itself`() async throws {
        let fixture = try Fixture(system("continueOnNewState, report: entries", "{ failureThreshold: 2 }"))
        #expect(try await fixture.probe("---") == "d")
        // It led to that state itself.
        #expect(try await fixture.probe("-") == "d")
        try fixture.host.emit("Turn", to: "watch", fields: [])
        #expect(try await fixture.probe("-") == "dd")
        #expect(try await fixture.probe("--") == "dd")
        try fixture.host.emit("Turn", to: "watch", fields: [])
        #expect(try await fixture.probe("+") == "ddu")
        #expect(try await fixture.probe("+-") == "ddu")
        try fixture.host.emit("Turn", to: "watch", fields: [])
        #expect(try await fixture.probe("-") == "ddud")
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    @Test func `keeps its count and its level over a reload that does not change it`() async throws {
        let text = system("continueOnNewState", "{ failureThreshold: 3 }")
        let fixture = try Fixture(text)
        #expect(try await fixture.probe("+--") == "u")
        let changed = try graph(text + "\nunhandled: warn\n", effects: EffectCatalogue([fixture.probe]).schemas)
        #expect(try await fixture.host.apply(changed).plan.systems.map(\.action) == [.change])
        // The third failure in a row, though another definition saw the first two.
        #expect(try await fixture.probe("-") == "ud")
        #expect(try await fixture.probe("-") == "ud")
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    @Test func `is no sender of a level that it has told already`() async throws {
        let fixture = try Fixture(system("continueOnNewState", "{ number: 1 }"))
        func reasons(_ event: String) throws -> [String] {
            try fixture.host.whyNot("watch", event: event).senders.flatMap(\.reasons)
        }
        #expect(try await fixture.probe("-") == "d")
        #expect(
            try reasons("Down") == [
                "it has reported onDown already, and reports it again only after onUp, or after a state that does not ask for it"
            ])
        #expect(try reasons("Up") == [])
        #expect(try await fixture.probe("+") == "du")
        #expect(try reasons("Down") == [])
        #expect(try reasons("Up").map { $0.prefix(23) } == ["it has reported onUp al"])
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    @Test func `its outcomes are in the trace and in the metrics`() async throws {
        let fixture = try Fixture(system("continueOnNewState", "{ failureThreshold: 2 }"))
        #expect(try await fixture.probe("+---") == "ud")
        let runs = try fixture.host.trace("watch").filter { $0.kind == .run }
        #expect(
            runs.map { $0.outcomes.map(\.name) } == [
                ["onSuccess", "onUp"], ["onFailure"], ["onFailure", "onDown"], ["onFailure"],
            ])
        let lines = fixture.host.snapshot.metrics.prometheusText.split(separator: "\n")
            .filter { $0.hasPrefix("mediatord_feedback_outcomes_total") }
        #expect(lines.contains { $0.contains("outcome=\"onDown\"") && $0.hasSuffix(" 1") }, "\(lines)")
        #expect(lines.contains { $0.contains("outcome=\"onFailure\"") && $0.hasSuffix(" 3") }, "\(lines)")
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    @Test(arguments: ["continueOnNewState", "cancelOnNewState"])
    func `tells each change once, whatever states follow`(strategy: String) async throws {
        let fixture = try Fixture(system(strategy, "{ failureThreshold: 2, successThreshold: 2 }"))
        #expect(try await fixture.probe("++") == "u")
        // It told so itself, which led to a new state: there, nothing has changed.
        #expect(try await fixture.probe("+++") == "u")
        try fixture.host.emit("Turn", to: "watch", fields: [])
        #expect(try await fixture.probe("+") == "u")
        // The count goes on from state to state.
        #expect(try await fixture.probe("-") == "u")
        try fixture.host.emit("Turn", to: "watch", fields: [])
        #expect(try await fixture.told() == "u")
        #expect(try await fixture.probe("-") == "ud")
        #expect(try await fixture.probe("---") == "ud")
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    /// A new state withdraws what a run has told and the system has not taken, but the level is not of one run.
    @Test(arguments: [("any", "u"), ("One", "")])
    func `tells a change though a new state comes before it, where that asks for the probe, too`(
        states: String, told: String
    ) async throws {
        let fixture = try Fixture(system("cancelOnNewState", "{}", onState: states))
        fixture.probe.lasts.store(5, ordering: .relaxed)
        fixture.probe.answers.withLock { $0.append(true) }
        fixture.host.start()
        await fixture.host.settled()
        try fixture.host.pause("watch", by: 0, named: nil)
        try fixture.host.emit("Turn", to: "watch", fields: [])
        fixture.probe.lasts.store(0, ordering: .relaxed)
        fixture.clock.advance(by: .seconds(5))
        await fixture.probe.ended.wait { $0 >= 1 }
        try fixture.host.resume("watch")
        #expect(try await fixture.told() == told)
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    @Test(arguments: ["continueOnNewState", "cancelOnNewState"])
    func `begins anew after a state that does not ask for it`(strategy: String) async throws {
        let text = system(strategy, "{ failureThreshold: 2, successThreshold: 2 }", onState: "One")
        let fixture = try Fixture(
            text.replacing(
                "to: One, set: { told: \"${state.told}u\" }", with: "to: Two, set: { told: \"${state.told}u\" }"))
        // Its report leads to the state that does not ask for it.
        #expect(try await fixture.probe("++") == "u")
        try fixture.host.emit("Turn", to: "watch", fields: [])
        // It is up still, but that must be found out again.
        #expect(try await fixture.probe("+") == "u")
        #expect(try await fixture.probe("+") == "uu")
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    @Test func `counts how a run ends, not each attempt`() async throws {
        let text = system("continueOnNewState", "{ failureThreshold: 2 }")
            .replacing("every: 1s", with: "every: 1s, retry: { times: 1, delay: 1s, jitter: 0 }")
        let fixture = try Fixture(text)
        // Each run has two attempts, a second apart; the next run is then due at once.
        #expect(try await fixture.probe("--") == "")
        #expect(try await fixture.probe("--") == "d")
        #expect(try await fixture.probe("-+") == "du")
        await fixture.host.stop(within: .seconds(1_000_000))
    }

    @Test func `counts a run whose time is up as a failure`() async throws {
        let text = system("continueOnNewState", "{ failureThreshold: 2 }")
            .replacing("every: 1s", with: "every: 10s, timeout: 5s")
        let fixture = try Fixture(text)
        fixture.probe.hangs.store(true, ordering: .relaxed)
        fixture.host.start()
        for (number, told) in [(1, ""), (2, "d")] {
            await fixture.host.settled()
            #expect(fixture.clock.nextDeadline == .init(offset: .seconds(10 * number - 5)))
            fixture.clock.advance(by: .seconds(5))
            await fixture.probe.ended.wait { $0 >= number }
            #expect(try await fixture.told() == told)
            #expect(fixture.clock.nextDeadline == .init(offset: .seconds(10 * number)))
            fixture.clock.advance(by: .seconds(5))
        }
        #expect(try fixture.host.systemStatus("watch").faults == 0)
        await fixture.host.stop(within: .zero)
    }

    @Test func `counts as one would by hand`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let failures = Int.random(in: 1...EffectSchema.longestThreshold, using: &random)
            let window = Int.random(in: failures...EffectSchema.longestThreshold, using: &random)
            let successes = Int.random(in: 1...8, using: &random)
            let thresholds = Thresholds(failures: failures, window: window, successes: successes)
            var counter = LevelCounter()
            var (outcomes, row, level): ([Bool], Int, LevelCounter.Level?) = ([], 0, nil)
            let share = Double.random(in: 0...1, using: &random)
            for _ in 0..<300 {
                let hasFailed = Double.random(in: 0...1, using: &random) < share
                outcomes.append(hasFailed)
                row = hasFailed ? 0 : row + 1
                var next = level
                if hasFailed, outcomes.suffix(window).count(where: { $0 }) >= failures { next = .down }
                if !hasFailed, row >= successes { next = .up }
                let isNew = counter.count(hasFailed: hasFailed, thresholds)
                #expect(isNew == (next != level) && counter.level == next)
                if next != level { outcomes = [] }
                level = next
            }
        }
    }

    @Test(arguments: [
        ("{ failureThreshold: 0 }", "out-of-range"), ("{ failureThreshold: 65 }", "out-of-range"),
        ("{ successThreshold: 65 }", "out-of-range"), ("{ failureThreshold: 3, failureWindow: 2 }", "out-of-range"),
        ("{ failureWindow: 0 }", "out-of-range"),
    ])
    func `has thresholds that can be reached`(probe: String, code: String) {
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: system("continueOnNewState", probe))],
            effects: [ToldProbe().schema])
        #expect(result.diagnostics.filter { $0.severity == .error }.map(\.code.rawValue) == [code])
    }
}
