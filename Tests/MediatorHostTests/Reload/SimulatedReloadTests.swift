import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A number that grows.
private final class Tally: Sendable {
    private let number = Atomic(0)
    var count: Int { number.load(ordering: .relaxed) }
    func add() { number.add(1, ordering: .relaxed) }
}

/// Fails after two seconds.
private struct Failing: EffectImplementation {
    let begun = Tally()

    var schema: EffectSchema {
        EffectSchema(
            name: "failing", parameters: [.init(name: "n", type: .int, required: true)], shortForm: "n",
            outcomes: [.init(name: "onFailure", result: StructureType(name: "result", fields: []))])
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        begun.add()
        guard (try? await context.clock.sleep(for: .seconds(2))) != nil else { return }
        context.report("onFailure", .structure(Structure(type: schema.outcomes[0].result, fields: [])))
    }
}

/// Reloads at every moment that a seed chooses.
@Suite(.timeLimit(.minutes(20))) struct `A reload at any moment` {
    private let effect = Failing()

    private func graph(_ text: String) throws -> Graph {
        let file = ConfigurationFile(path: "a.yaml", text: text)
        let result = ConfigurationCompiler.compile(files: [file], effects: EffectCatalogue([effect]).schemas)
        let graph = result.graph
        return try #require(graph, "\(result.diagnostics.map { $0.rendered() })")
    }

    private func host(_ text: String, _ simulation: Simulation) throws -> Host {
        let time = HostTime(clock: simulation.clock, now: { .epoch }, random: { 0.5 }, executor: simulation)
        return try Host(
            graph: graph(text), effects: EffectCatalogue([effect]), time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func end(_ host: Host, _ simulation: Simulation) async throws {
        _ = try await simulation.perform { await host.stop(within: .seconds(1)) }
        simulation.runToEnd()
    }

    private static func number(_ host: Host, _ system: String) throws -> Int64 {
        guard case .structure(let data) = try host.systemStatus(system).state.data,
            case .int(let number) = data.fields[0]
        else { return -1 }
        return number
    }

    /// A system that faults and is restarted. Faults, restarts and reloads come at the same times.
    private static func fragile(_ factor: Int) -> String {
        """
        system: fragile
        states: { Up: { n: int } }
        events: { Divide: { by: int } }
        fromOutside: any
        initialState: { Up: { n: 0 } }
        supervision: { onFault: restart, delay: 1s, limit: 100 per 1h }
        transitions: { Up: { Divide: { to: Up, set: { n: "${\(factor) / event.by}" } } } }
        """
    }

    @Test func `gives a system that is being restarted its new definition`() async {
        await Simulation.explore(seeds: 0..<UInt64(100 * soakFactor)) { simulation in
            let host = try host(Self.fragile(100), simulation)
            host.start()
            let graphs = try [200, 300].map { try graph(Self.fragile($0)) }
            Task(executorPreference: simulation) {
                for divisor in [0, 5, 0, 4] {
                    try? host.emit("Divide", to: "fragile", fields: [.int(Int64(divisor))])
                    try? await simulation.clock.sleep(for: .milliseconds(500))
                }
            }
            Task(executorPreference: simulation) {
                for graph in graphs {
                    try? await simulation.clock.sleep(for: .milliseconds(500))
                    _ = try? await host.apply(graph)
                }
            }
            simulation.run(for: .seconds(10))
            try host.emit("Divide", to: "fragile", fields: [.int(3)])
            simulation.run(for: .seconds(1))
            #expect(try Self.number(host, "fragile") == 100)
            try await end(host, simulation)
        }
    }

    /// Two systems. A link sends the number of each state of the first one to the second one, which adds them up.
    private static func told(_ note: String, _ more: String = "") -> String {
        """
        system: teller
        description: \(note)
        states: { At: { n: int } }
        events: { Go: {} }
        fromOutside: any
        initialState: { At: { n: 1 } }
        transitions: { At: { Go: { to: At, set: { n: "${state.n + 1}" } } } }
        ---
        system: listener
        states: { Sum: { n: int } }
        events: { Told: { n: int } }
        initialState: { Sum: { n: 0 } }
        transitions: { Sum: { Told: { to: Sum, set: { n: "${state.n + event.n}" } } } }
        ---
        links:
          direct: { attach: teller, toSystem: listener, onState: At, emitEvent: { Told: { n: "${state.n}" } } }
          \(more)
        """
    }

    @Test func `shows the initial state once to each link, and to each link that joins`() async {
        let additional =
            "late: { attach: teller, toSystem: listener, onState: At, emitEvent: { Told: { n: \"${100 * state.n}\" } } }"
        await Simulation.explore(seeds: 0..<UInt64(100 * soakFactor)) { simulation in
            let host = try host(Self.told("one"), simulation)
            let graphs = try [graph(Self.told("two", additional)), graph(Self.told("three", additional))]
            host.start()
            let watching = Task(executorPreference: simulation) {
                var seen: [Value] = []
                for await change in try host.watchSystem("teller") { seen.append(change.subject.data) }
                return seen.count
            }
            Task(executorPreference: simulation) { try? host.emit("Go", to: "teller", fields: []) }
            Task(executorPreference: simulation) { for graph in graphs { _ = try? await host.apply(graph) } }
            simulation.run(for: .seconds(5))
            #expect(try Self.number(host, "teller") == 2)
            // The first link tells both states. A joining link tells the present state and every later state.
            let sum = try Self.number(host, "listener")
            #expect(sum == 3 + 200 || sum == 3 + 300, "\(sum)")
            #expect(try host.linkStatus("direct").fired == 2)
            try await end(host, simulation)
            let seen = try await watching.value
            #expect(seen == 1 || seen == 2, "\(seen)")
        }
    }

    private static func failing(_ n: Int) -> String {
        """
        system: job
        states: { Busy: { n: int } }
        events: { Failed: {} }
        initialState: { Busy: { n: 0 } }
        feedbacks:
          work: { onState: Busy, failing: \(n), onReload: finish, retry: { times: 3, delay: 10m, maxDelay: 10m }, onFailure: Failed }
        transitions: { Busy: { Failed: { to: Busy, set: { n: 1 } } } }
        """
    }

    @Test func `leaves nothing behind when the host stops between two attempts of a run that may finish`() async {
        for seed in 0..<UInt64(20) {
            let simulation = Simulation(seed: seed)
            let before = effect.begun.count
            do {
                let host = try host(Self.failing(1), simulation)
                host.start()
                simulation.run(for: .seconds(3))
                let changed = try graph(Self.failing(2))
                _ = try await simulation.perform { try await host.apply(changed) }
                let asked = simulation.now
                let leftBehind = try await simulation.perform { await host.stop(within: .seconds(60)) }
                #expect(asked.duration(to: simulation.now) == .zero)
                #expect(effect.begun.count == before + 1)
                #expect(leftBehind.isEmpty)
                simulation.runToEnd()
                #expect(simulation.now == asked)
            } catch { Issue.record(error) }
        }
    }
}
