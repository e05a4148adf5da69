import CommonExpression
import MediatorConfiguration
import MediatorControl
import MediatorDaemon
import MediatorHost
import Testing

/// The checks of a watch's patterns and condition before it begins.
@Suite struct `Conditions of watches` {
    private static func graph(_ text: String) throws -> Graph {
        let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)])
        return try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
    }

    private static func refusal(_ parameters: WatchParameters, _ parts: [WatchedPart] = []) -> String? {
        do throws(ControlError) {
            try WatchCondition(parameters).check(parts)
            return nil
        } catch {
            guard case .invalidValue(let path, _, let message) = error else { return "\(error)" }
            return "\(path): \(message)"
        }
    }

    @Test func `a long pattern is refused`() {
        #expect(Self.refusal(WatchParameters(patterns: [String(repeating: "a", count: 256)])) == nil)
        #expect(
            Self.refusal(WatchParameters(patterns: ["a", String(repeating: "é", count: 129)]))
                == "patterns: a pattern has 258 bytes, more than 256")
    }

    private static let bus = "buses:\n  b0: { kind: passthrough, value: string, fromOutside: both }\n"

    @Test func `a condition has few regular expressions, and small ones`() throws {
        let parts = try Self.graph(Self.bus).buses.map { WatchedPart.bus($0) }
        func refusal(_ condition: String) -> String? {
            Self.refusal(WatchParameters(patterns: [], condition: condition), parts)
        }
        let four = (1...4).map { "value.matches('^[a-z]+\($0)$')" }.joined(separator: " || ")
        #expect(refusal(four) == nil)
        #expect(refusal(four + " || name.matches('x')")?.contains("more than 4 patterns") == true)
        #expect(refusal(#"value.matches('(?i)^[^@]+@[^@]+\\.[a-z]{2,}$') && name.matches('\\pL')"#) == nil)
        #expect(refusal(#"value.matches('(\\pL{10}){10}')"#)?.contains("too large") == true)
    }

    @Test func `however many parts there are, a condition is checked once for each of their types`() throws {
        var text = "buses:\n"
        for number in 0..<40 {
            let type = number.isMultiple(of: 2) ? "{ n: int, text: string }" : "int"
            text += "  b\(number): { kind: passthrough, value: \(type), fromOutside: both }\n"
        }
        for number in 0..<20 {
            text += """
                ---
                system: s\(number)
                states: { A: { n: int, text: string }, B: { n: int, text: string }, C: {} }
                events: { E: {} }
                fromOutside: any
                initialState: { A: { n: 1, text: a } }
                transitions: { A: { E: B }, B: { E: C }, C: { E: stay } }

                """
        }
        let graph = try Self.graph(text)
        let parts = graph.systems.map { WatchedPart.system($0) } + graph.buses.map { WatchedPart.bus($0) }
        let values = try WatchCondition(WatchParameters(patterns: [], condition: "value.n > 1 && value.text != ''"))
        try values.check(parts)
        #expect(parts.count { values.filter(of: $0) != nil } == 20)
        // One of a structure, one of a number; of systems one for each state, whose types have names.
        #expect(values.checkCount <= 2 + 3)
        let states = try WatchCondition(
            WatchParameters(patterns: [], condition: "state.text.matches('^a') && stateName == 'A'"))
        try states.check(parts)
        #expect(parts.count { states.filter(of: $0) != nil } == 20)
        #expect(states.checkCount <= 2 + 3)
    }

    @Test func `a condition holds of what fits it, whatever was checked before`() throws {
        let graph = try Self.graph(
            """
            buses:
              text: { kind: passthrough, value: string, fromOutside: both }
              number: { kind: passthrough, value: int, fromOutside: both }
              both: { kind: passthrough, value: { n: int, text: string }, fromOutside: both }

            """)
        let parts = graph.buses.map { WatchedPart.bus($0) }
        let condition = try WatchCondition(WatchParameters(patterns: [], condition: "value > 2"))
        let filters = parts.map { condition.filter(of: $0) }
        #expect(zip(parts, filters).compactMap { $1 == nil ? nil : $0.name } == ["number"])
        for filter in filters.compactMap({ $0 }) {
            #expect(filter(.value(.int(3))) && !filter(.value(.int(2))))
        }
    }
}
