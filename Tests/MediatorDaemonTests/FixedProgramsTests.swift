import MediatorConfiguration
import MediatorDaemon
import Testing

@Suite struct `Fixed programs` {
    private static func missing(_ runs: [String], path: String = "/a:/b", there: Set<String>) throws -> [String] {
        let feedbacks = runs.enumerated().map { "  f\($0): { onState: On, run: \($1), onFailure: Lost }\n" }.joined()
        let text = """
            system: s
            states: { On: { name: string } }
            events: { Lost: {} }
            initialState: { On: { name: x } }
            feedbacks:
            \(feedbacks)transitions: { On: { Lost: stay } }
            """
        let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)])
        let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
        return FixedPrograms(of: graph, path: path) { there.contains($0) }.missing.map {
            "\($0.program) \($0.feedback) \($0.source)"
        }
    }

    @Test func `are found by the path, or are missing once`() throws {
        let missing = try Self.missing(
            [
                "[grep, x]", "[grpe, x]", "[grpe, y]", "[/usr/bin/no, x]", "[/usr/bin/yes, x]",
                #"[df, "${state.name}"]"#,
            ],
            there: ["/b/grep", "/usr/bin/yes"])
        #expect(missing == ["grpe f1 a.yaml:7:3", "/usr/bin/no f3 a.yaml:9:3", "df f5 a.yaml:11:3"])
    }

    @Test func `are left out where the state, the folder or the environment decides`() throws {
        let missing = try Self.missing(
            [
                #"["${state.name}", x]"#, "[./here, x]", #"{ command: [tool], environment: { PATH: /opt } }"#,
                #"{ command: [other], environment: { LANG: "${state.name}" } }"#,
                "{ command: [third], environment: { LANG: C } }",
            ], there: [])
        #expect(missing == ["third f4 a.yaml:10:3"])
    }
}
