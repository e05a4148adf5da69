import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

/// Random machines with compound states, history, inputs, updates, rules of `always` and feedbacks that wait, beside an
/// interpreter of their meaning.
@Suite(.timeLimit(.minutes(60))) struct `Random machines with levels` {
    private static func host(_ model: RandomMachine, _ simulation: Simulation) throws -> Host? {
        let file = ConfigurationFile(path: "machine.yaml", text: model.text)
        let result = ConfigurationCompiler.compile(files: [file])
        let errors = result.diagnostics.filter { $0.severity == .error }
        // Rules that certainly lead round are refused.
        guard errors.allSatisfy({ $0.code == .alwaysLoop }) else {
            Issue.record("\(errors.map { $0.rendered() }.joined())\n\(model.text)")
            return nil
        }
        let compiled = result.graph
        guard let graph = compiled else { return nil }
        let time = HostTime(
            clock: simulation.clock,
            now: {
                let (seconds, attoseconds) = simulation.now.offset.components
                return Timestamp(seconds: seconds, nanoseconds: Int32(attoseconds / 1_000_000_000)) ?? .epoch
            }, random: { 0.25 }, executor: simulation)
        return try Host(
            graph: graph, effects: EffectCatalogue([]), time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func described(_ host: Host) throws -> String {
        let status = try host.systemStatus("machine")
        guard case .structure(let data) = status.state.data else { return "" }
        let since = status.state.since.span(since: .epoch) / .milliseconds(100)
        let values = status.inputs.map { ", \($0.value.description)" }.joined()
        let name = status.definition.states[status.state.index].name
        let fields = data.fields.map { "\($0)" }.joined(separator: " ")
        return "\(name) \(fields)\(values), since \(Int(since.rounded()))"
    }

    /// Runs one machine. Returns the number of compared states.
    private static func run(_ seed: UInt64) async throws -> Int {
        var dice = Dice(state: seed &* 0x2545_f491_4f6c_dd1d)
        var model = RandomMachine(&dice)
        let simulation = Simulation(seed: seed)
        guard let host = try host(model, simulation) else { return 0 }
        var compared = 0
        var log: [String] = []
        do {
            try model.begin()
            host.start()
            for _ in 0..<20 {
                let number = Int64.random(in: 0...5, using: &dice)
                switch Int.random(in: model.tree.hasInputs ? 0..<4 : 2..<4, using: &dice) {
                case 0:
                    log.append("a = \(number)")
                    try host.publish(.int(number), on: "a")
                    simulation.runUntilIdle()
                    try model.set(level: number)
                case 1:
                    log.append("b = \(number > 2)")
                    try host.publish(.bool(number > 2), on: "b")
                    simulation.runUntilIdle()
                    try model.set(flag: number > 2)
                case let event:
                    log.append("E\(event - 2) \(number)")
                    try host.emit("E\(event - 2)", to: "machine", fields: [.int(number)])
                    simulation.runUntilIdle()
                    try model.take(event - 2, number)
                }
                let time = Int.random(in: 0...40, using: &dice)
                simulation.run(for: .milliseconds(100 * time))
                try model.pass(time)
                log.append("at \(model.now): \(model.described)")
                let found = try described(host)
                guard found == model.described else {
                    Issue.record("seed \(seed): \(found)\n\(log.joined(separator: "\n"))\n\(model.text)")
                    break
                }
                compared += 1
            }
        } catch is RandomMachine.Endless {}
        _ = try await simulation.perform { await host.stop(within: .zero) }
        return compared
    }

    @Test func `are in the states of the interpreter at the same times`() async throws {
        var compared = 0
        let count = repetitions(300 * soakFactor)
        for seed in 0..<UInt64(count) { compared += try await Self.run(seed) }
        // Most machines run to their end.
        #expect(compared > count * 8, "\(compared)")
    }
}
