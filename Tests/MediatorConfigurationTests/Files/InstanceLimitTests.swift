import MediatorConfiguration
import Testing

/// The limit of all instances of templates together. It is checked before an instance is compiled.
@Suite struct `The programs of all instances` {
    private static let limit = ConfigurationLimits.instancePrograms

    /// Instances of a template whose parts are given.
    private static func text(_ parts: String, instances: Int, wiring: String = "") -> String {
        let all = (0..<instances).map { "t@x\($0): { k: 1 }" }.joined(separator: ", ")
        return """
            system: t@
            parameters: { k: int }
            states: { S: { n: int } }
            events: { E: {} }
            fromOutside: E
            initialState: { S: { n: 0 } }
            \(parts)
            ---
            instances: { \(all) }
            \(wiring)

            """
    }

    private static func feedbacks(_ count: Int) -> String {
        let all = (0..<count).map { "f\($0): { onState: S, when: state.n == parameters.k + \($0), emit: E }" }
        return "feedbacks: { \(all.joined(separator: ", ")) }"
    }

    private func expectTooMany(_ text: String, _ sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
        let result = compile(text)
        #expect(
            result.diagnostics.map(\.code) == [.tooLarge], "\(result.diagnostics.prefix(3).map { $0.rendered() })",
            sourceLocation: sourceLocation)
        // Nothing has been compiled for an instance.
        #expect(result.parts.shared(with: result.parts).instances == 0, sourceLocation: sourceLocation)
        #expect(result.parts.shared(with: result.parts).links == 0, sourceLocation: sourceLocation)
    }

    @Test func `feedbacks times instances have a limit`() throws {
        let text = Self.text(Self.feedbacks(200), instances: 4_000)
        try expectTooMany(text)
        let error = try #require(compile(text).diagnostics.first)
        #expect(error.location?.description == "a.yaml:1:9")
        let parts = error.message.split(separator: " ").map(String.init)
        #expect(parts.prefix(6).joined(separator: " ") == "the 4000 instances of 't@' have", "\(error.message)")
        #expect(try #require(Int(parts[6])) > Self.limit)
        #expect(error.message.hasSuffix("programs together, more than the \(Self.limit) that are allowed"))
        #expect(error.hint?.contains("fewer feedbacks, rules, links or expressions") == true)
    }

    @Test func `thousands of instances of a usual template are allowed`() {
        #expect(compile(Self.text(Self.feedbacks(5), instances: 2_000)).graph?.systems.count == 2_000)
        #expect(compile(Self.text(Self.feedbacks(200), instances: 50)).graph?.systems.count == 50)
    }

    @Test func `links, buses, rules, long expressions and defaults count`() throws {
        let links = (0..<200).map { "l\($0): { attach: t@*, to: b, onState: S, emitValue: \($0) }" }
        let bus = "buses: { b: { kind: passthrough, value: int } }"
        try expectTooMany(
            Self.text("", instances: 4_000, wiring: "\(bus)\nlinks: { \(links.joined(separator: ", ")) }"))
        let buses = (0..<900).map { "b\($0)@*: { for: t@*, kind: passthrough, value: int }" }
        try expectTooMany(Self.text("", instances: 4_000, wiring: "buses: { \(buses.joined(separator: ", ")) }"))
        let rules = (0..<400).map { "{ when: state.n == parameters.k + \($0), to: stay }" }
        try expectTooMany(
            Self.text("transitions: { S: { E: [\(rules.joined(separator: ", "))] } }", instances: 4_000))
        let sum = (0..<1_000).map { "parameters.k + \($0)" }.joined(separator: " + ")
        try expectTooMany(
            Self.text("transitions: { S: { E: { when: state.n == \(sum), to: stay } } }", instances: 4_000))
        let numbers = Array(repeating: "1", count: 5_000).joined(separator: ", ")
        let text = Self.text("", instances: 4_000).replacing(
            "{ k: int }", with: "{ k: int, all: { type: list(int), default: [\(numbers)] } }")
        try expectTooMany(text)
    }

    @Test func `states and instances are refused before the states of an instance are made`() throws {
        let states = (0..<900).map { "S\($0): {}" }.joined(separator: ", ")
        let all = (0..<9_000).map { "t@x\($0): {}" }.joined(separator: ", ")
        try expectTooMany(
            "system: t@\nstates: { \(states) }\nevents: { E: {} }\ninitialState: S0\n---\ninstances: { \(all) }\n")
    }

    @Test func `of several templates the one with the largest share is named`() throws {
        let small = Self.text(Self.feedbacks(100), instances: 1_000)
        let large = Self.text(Self.feedbacks(100), instances: 3_000).replacing("t@", with: "u@")
        let result = ConfigurationCompiler.compile(files: [
            ConfigurationFile(path: "a.yaml", text: small), ConfigurationFile(path: "b.yaml", text: large),
        ])
        let error = try #require(result.diagnostics.first)
        #expect(result.diagnostics.count == 1)
        #expect(error.location?.file == "b.yaml")
        #expect(error.message.hasPrefix("all instances of templates have "), "\(error.message)")
        #expect(error.message.contains("; the 3000 instances of 'u@' have "), "\(error.message)")
    }
}
