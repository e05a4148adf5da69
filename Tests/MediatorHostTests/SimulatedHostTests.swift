import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

/// Takes as many seconds as its argument says, and fails if the number is divisible by three.
private struct Toil: EffectImplementation {
    var schema: EffectSchema {
        let result = StructureType(name: "result", fields: [.init(name: "n", type: .int)])
        return EffectSchema(
            name: "toil", parameters: [.init(name: "n", type: .int, required: true)], shortForm: "n",
            outcomes: [.init(name: "onSuccess", result: result), .init(name: "onFailure", result: result)])
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .int(let number)? = arguments["n"] else { return }
        guard (try? await context.clock.sleep(for: .seconds(number % 4))) != nil else { return }
        context.report(
            number % 3 == 0 ? "onFailure" : "onSuccess",
            .structure(Structure(type: schema.outcomes[0].result, fields: [.int(number)])))
    }
}

/// A host in a simulation, with clients that emit and publish at any time, faults, restarts and a reload.
private struct SimulatedHost {
    let simulation: Simulation
    let host: Host
    let effects = EffectCatalogue([Toil()])

    /// A system with a fault for each zero.
    private static func dividing(_ name: String) -> String {
        """
        system: \(name)
        states: { Up: { n: int } }
        events: { Level: { n: int } }
        initialState: { Up: { n: 0 } }
        supervision: { onFault: restart, delay: 1s, limit: 100 per 1h }
        transitions: { Up: { Level: { to: Up, set: { n: "${100 / event.n}" } } } }
        """
    }

    private static func text(threshold: Int, pace: String) -> String {
        """
        system: source
        states: { Waiting: { n: int }, Busy: { n: int } }
        events: { Go: { n: int }, Good: { n: int }, Bad: { n: int }, Tick: {} }
        fromOutside: [Go]
        initialState: { Waiting: { n: 0 } }
        feedbacks:
          beat: { onState: Waiting, every: 3s, emit: Tick }
          work: { onState: Busy, toil: "${state.n}", \(pace), onSuccess: { Good: { n: "${result.n}" } }, onFailure: { Bad: { n: "${result.n}" } } }
        transitions:
          any: { Go: { to: Busy, set: { n: "${event.n}" } } }
          Waiting: { Tick: { to: Waiting, set: { n: "${state.n + 1}" } } }
          Busy: { Good: { to: Waiting, set: { n: "${event.n}" } }, Bad: { to: Waiting, set: { n: "${-event.n}" } } }
        ---
        system: sink
        states: { Calm: { sum: int }, Loud: { sum: int } }
        events: { Level: { n: int }, Quiet: {} }
        initialState: { Calm: { sum: 0 } }
        feedbacks:
          settle: { onState: Loud, strategy: continueOnNewState, debounce: 2s, emit: Quiet }
          keyed: { onState: Loud, strategy: continueOnNewState, debounce: 3s, key: "${string(state.sum % 4)}", toil: "${state.sum}" }
        transitions:
          any:
            Level:
              - { when: "event.n > \(threshold)", to: Loud, set: { sum: "${state.sum + event.n}" } }
              - { to: Calm, set: { sum: "${state.sum + event.n}" } }
          Loud: { Quiet: Calm }
        ---
        \(dividing("fragile"))
        ---
        \(dividing("brittle"))
        ---
        buses:
          level: { kind: currentValue, value: int, initial: 1, fromOutside: both }
          news: { kind: passthrough, value: int }
        links:
          up: { attach: source, to: level, onState: Waiting, emitValue: "${state.n}" }
          also: { attach: source, to: news, onState: any, emitValue: "${state.n}" }
          down: { attach: sink, to: level, emitEvent: { Level: { n: "${value}" } } }
          across: { attach: fragile, to: news, emitEvent: { Level: { n: "${value}" } } }
          beyond: { attach: brittle, to: news, emitEvent: { Level: { n: "${value}" } } }
        """
    }

    private func graph(_ text: String) throws -> Graph {
        let file = ConfigurationFile(path: "a.yaml", text: text)
        let result = ConfigurationCompiler.compile(files: [file], effects: effects.schemas)
        let graph = result.graph
        return try #require(graph, "\(result.diagnostics.map { $0.rendered() })")
    }

    init(seed: UInt64) throws {
        let simulation = Simulation(seed: seed)
        self.simulation = simulation
        let time = HostTime(
            clock: simulation.clock,
            now: {
                let (seconds, attoseconds) = simulation.now.offset.components
                guard let now = Timestamp(seconds: seconds, nanoseconds: Int32(attoseconds / 1_000_000_000))
                else { preconditionFailure("the test runs for thousands of years") }
                return now
            }, random: { 0.25 }, executor: simulation)
        let file = ConfigurationFile(
            path: "a.yaml",
            text: Self.text(threshold: 50, pace: "strategy: continueOnNewState, mode: restart, retry: 1"))
        let result = ConfigurationCompiler.compile(files: [file], effects: effects.schemas)
        let compiled = result.graph
        let graph = try #require(compiled, "\(result.diagnostics.map { $0.rendered() })")
        host = try Host(
            graph: graph, effects: effects, time: time, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs everything. Returns the trace of the simulation, and what the host tells in the end.
    func run() async throws -> [String] {
        host.start()
        for client in 0..<4 {
            Task(executorPreference: simulation) { [host, simulation] in
                for round in 1...8 {
                    try? await simulation.clock.sleep(for: .seconds((client + round) % 3))
                    do {
                        if client < 3 {
                            try host.emit("Go", to: "source", fields: [.int(Int64(client * 10 + round))])
                        } else {
                            try host.publish(.int(Int64(round * 20)), on: "level")
                        }
                    } catch { simulation.note("client \(client): \(error)") }
                }
            }
        }
        simulation.run(for: .seconds(7))
        let other = try graph(
            Self.text(
                threshold: 80,
                pace: "strategy: continueOnNewState, mode: queued, limit: 3, timeout: 2s, onTimeout: { Bad: { n: 2 } }")
        )
        _ = try await simulation.perform { [host] in try await host.apply(other, stopLimit: .seconds(3)) }
        simulation.run(for: .seconds(60))
        var lines: [String] = []
        for system in ["source", "sink", "fragile", "brittle"] {
            let status = try host.systemStatus(system)
            lines.append("\(system) \(status.definition.states[status.state.index].name) \(status.state.data)")
            lines.append("\(status.loop.counters) \(status.faults) \(status.restarts)")
            lines += try host.trace(system).map { "\($0.text)" }
            lines += try host.why(system).hops.map(\.text)
        }
        _ = try await simulation.perform { [host] in await host.stop(within: .seconds(5)) }
        simulation.runToEnd()
        return [simulation.trace.description] + lines
    }
}

@Suite(.timeLimit(.minutes(20))) struct `A host in a simulation` {
    @Test(arguments: 0..<UInt64(20 * soakFactor)) func `runs alike with the same seed, to the byte`(seed: UInt64)
        async throws
    {
        let first = try await SimulatedHost(seed: seed).run()
        let second = try await SimulatedHost(seed: seed).run()
        try #require(first.count == second.count)
        for (one, other) in zip(first, second) where one != other {
            let lines = zip(one.split(separator: "\n"), other.split(separator: "\n"))
            let difference = lines.first { $0 != $1 }
            Issue.record("seed \(seed): \(difference.map { "\($0.0)\n\($0.1)" } ?? "one is longer")")
        }
        let trace = first[0]
        for part in ["takes Go in source.", "takes Level in sink.", "enters sink.Loud", "of work", "fragile.Up"] {
            #expect(trace.contains(part), "\(part)")
        }
        #expect(!trace.contains("note client"))
    }

    @Test func `differs between seeds`() async throws {
        var digests: Set<String> = []
        for seed in 0..<UInt64(10) {
            let trace = try await SimulatedHost(seed: seed).run()[0]
            digests.insert(String(trace.suffix(20)))
        }
        #expect(digests.count == 10)
    }
}
