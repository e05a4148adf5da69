import MediatorConfiguration
import Testing

@Suite struct `Limits` {
    private func first(_ text: String) throws -> Diagnostic {
        let result = compile(text)
        #expect(result.graph == nil)
        return try #require(result.diagnostics.first)
    }

    @Test(arguments: [("[", "]"), ("{a: ", "}"), ("[{a: ", "}]")])
    func `deep nesting is refused`(open: String, close: String) throws {
        for depth in [65, 1000, 100_000] {
            let text = "system: " + String(repeating: open, count: depth) + String(repeating: close, count: depth)
            let diagnostic = try first(text)
            #expect(diagnostic.code == .tooDeep)
            #expect(diagnostic.message == "lists and mappings lie more than 64 deep in each other")
        }
    }

    @Test func `nesting within the limit is not`() throws {
        let depth = ConfigurationLimits.nesting - 1
        let text = "system: " + String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        #expect(compile(text).diagnostics.map(\.code).contains(.wrongShape))
        #expect(!compile(text).diagnostics.map(\.code).contains(.tooDeep))
    }

    @Test func `deep blocks are refused`() throws {
        let lists = "system:\n " + String(repeating: "- ", count: 500) + "x"
        #expect(try first(lists).code == .tooDeep)
        let mappings = (0..<200).map { String(repeating: " ", count: $0) + "a:" }.joined(separator: "\n")
        #expect(try first(mappings).code == .tooDeep)
    }

    @Test func `an alias cannot hide depth`() throws {
        let half = ConfigurationLimits.nesting / 2 + 1
        let open = String(repeating: "[", count: half)
        let close = String(repeating: "]", count: half)
        let text = "a: &deep \(open)\(close)\nb: \(open)*deep\(close)"
        #expect(try first(text).code == .tooDeep)
    }

    @Test func `an alias bomb is refused`() throws {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...20 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }
        let diagnostic = try first(text)
        #expect(diagnostic.code == .tooLarge)
        #expect(
            diagnostic.rendered().hasPrefix(
                "a.yaml:6:10: error: this file has more than 200000 nodes, with the nodes behind each alias counted "
                    + "[too-large]"))
    }

    @Test func `a file that is too large is refused`() throws {
        let text = "system: a\n" + String(repeating: "#", count: ConfigurationLimits.fileSize)
        #expect(
            try first(text).rendered()
                == "a.yaml:1:1: error: this file has 1048586 bytes, more than the 1048576 that are allowed [too-large]")
    }

    @Test func `a large file is compiled`() throws {
        let states = (0..<900).map { "  S\($0): {}" }.joined(separator: "\n")
        let padding = String(repeating: "# \(String(repeating: "x", count: 98))\n", count: 10_000)
        let system = try system("system: a\nstates:\n\(states)\ninitialState: S7\n\(padding)")
        #expect(system.states.count == 900)
    }

    /// Texts of about a megabyte, by name. Arguments are logged, so the tests pass the names.
    private static let megabytes: [String: @Sendable () -> String] = {
        let repeated: [String: (String, Int)] = [
            "open brackets": ("[", 1_000_000), "open braces": ("{", 1_000_000), "dashes": ("- ", 500_000),
            "marks of keys": ("? ", 500_000), "keys": ("a: ", 300_000),
            "documents with a reserved character": ("---\n@\n", 150_000),
            "documents with a bracket": ("---\n[\n", 150_000), "anchors": ("&a ", 300_000), "tags": ("!a ", 300_000),
            "aliases": ("*a ", 300_000), "quotes": ("'", 1_000_000), "escapes": ("\"\\", 500_000),
            "directives": ("%TAG ! x\n", 100_000), "the same key": ("a: b\n", 200_000), "blocks": ("| \n", 300_000),
            "tabs": ("\t", 1_000_000), "two bytes": ("é", 500_000), "lines": ("a\n", 500_000),
            "lists as keys": ("[a,]: ", 150_000), "mappings in lists": ("- [a: b]\n", 110_000),
        ]
        var texts = repeated.mapValues { text, count -> @Sendable () -> String in
            { String(repeating: text, count: count) }
        }
        texts["words"] = { "states: " + String(repeating: "x ", count: 500_000) }
        texts["buses"] = { "buses: {" + String(repeating: "a: {}, ", count: 140_000) + "}" }
        texts["different keys"] = { (0..<100_000).map { "k\($0): " }.joined(separator: "\n") }
        return texts
    }()

    @Test(arguments: megabytes.keys.sorted())
    func `a megabyte of anything is refused in little time`(name: String) throws {
        let make = try #require(Self.megabytes[name])
        let text = make()
        let clock = ContinuousClock()
        var result: CompilationResult?
        let duration = clock.measure { result = compile(text) }
        let diagnostics = try #require(result?.diagnostics)
        #expect(!diagnostics.isEmpty)
        #expect(diagnostics.count <= ConfigurationLimits.diagnostics + 1)
        #expect(diagnostics.allSatisfy { ($0.excerpt?.utf8.count ?? 0) < 2_000 })
        #expect(duration < .seconds(30))
    }

    @Test func `diagnostics have a limit`() throws {
        let keys = (0..<1500).map { "k\($0): 1" }.joined(separator: "\n")
        let result = compile("system: a\nstates: { A: {} }\ninitialState: A\n" + keys)
        #expect(result.diagnostics.count == ConfigurationLimits.diagnostics + 1)
        #expect(
            result.diagnostics.last?.rendered()
                == "a.yaml:1504:1: error: more than 1000 diagnostics in this file; the others are not shown "
                + "[too-many-diagnostics]")
    }

    @Test func `broken documents have a limit`() throws {
        let result = compile(String(repeating: "a: [\n---\n", count: 30))
        #expect(result.diagnostics.count == ConfigurationLimits.brokenDocuments + 1)
        #expect(result.diagnostics.last?.code == .tooManyDiagnostics)
    }

    @Test(arguments: [
        ("too many states", 1001, 1, "has more than 1000 states"),
        ("too many events", 1, 1001, "has more than 1000 events"),
        ("too many pairs", 1000, 1000, "has more than 200000 pairs of state and event"),
    ])
    func `a system has its limits`(name: String, states: Int, events: Int, message: String) throws {
        let states = (0..<states).map { "S\($0): {}" }.joined(separator: ", ")
        let events = (0..<events).map { "E\($0): {}" }.joined(separator: ", ")
        let diagnostic = try first("system: a\nstates: { \(states) }\nevents: { \(events) }\ninitialState: S0")
        #expect(diagnostic.message == "'a' \(message)")
        #expect(diagnostic.code == .tooLarge)
    }

    @Test func `fields have a limit`() throws {
        let fields = (0...ConfigurationLimits.fields).map { "f\($0): int" }.joined(separator: ", ")
        let state = try first("system: a\nstates: { A: { \(fields) } }\ninitialState: A")
        #expect(state.message == "the fields of 'A' are more than the 256 that are allowed")
        #expect(state.code == .tooLarge)
        let bus = try first("buses: { b: { kind: passthrough, value: { \(fields) } } }")
        #expect(bus.message == "the fields of 'b' are more than the 256 that are allowed")
    }

    @Test func `rules written out for every pair have a limit`() throws {
        let states = (0..<400).map { "S\($0): {}" }.joined(separator: ", ")
        let events = (0..<400).map { "E\($0): {}" }.joined(separator: ", ")
        let rules = (0..<3).map { "{ when: now > timestamp('200\($0)-01-01T00:00:00Z'), to: stay }" }
        let text =
            "system: a\nstates: { \(states) }\nevents: { \(events) }\ninitialState: S0\n"
            + "transitions: { any: { any: [\(rules.joined(separator: ", "))] } }"
        #expect(try first(text).message == "'a' has more than 200000 rules once 'any' is written out")
    }

    @Test func `programs for every state have a limit`() throws {
        let states = (0..<1000).map { "S\($0): { n: int }" }.joined(separator: ", ")
        let rules = (0..<201).map { "{ when: state.n > \($0), to: stay }" }
        let text =
            "system: a\nstates: { \(states) }\nevents: { E: {} }\ninitialState: { S0: { n: 1 } }\n"
            + "transitions: { any: { E: [\(rules.joined(separator: ", "))] } }"
        #expect(try first(text).code == .tooLarge)
    }

    /// Of a template, each of whose states counts for each instance.
    @Test func `the product of states and instances has a limit`() {
        let (states, events) = (400, 499)
        func found(instances: Int) -> [Diagnostic] {
            let names = (0..<states).map { "S\($0): {}" }.joined(separator: ", ")
            let causes = (0..<events).map { "E\($0): {}" }.joined(separator: ", ")
            let targets = (0..<states).map { "S\($0): { E0: S\(($0 + 1) % states) }" }.joined(separator: ", ")
            let others = (1..<events).map { "E\($0): stay" }.joined(separator: ", ")
            let all = (0..<instances).map { "a@\($0): {}" }.joined(separator: ", ")
            return compile(
                """
                system: a@
                states: { \(names) }
                events: { \(causes) }
                fromOutside: any
                persist: none
                initialState: S0
                transitions: { \(targets), any: { \(others) } }
                ---
                instances: { \(all) }

                """
            ).diagnostics
        }
        let most = ConfigurationLimits.instancePairs / (states * (events + 1))
        #expect(found(instances: 2).isEmpty)
        let beyond = found(instances: most + 3)
        #expect(beyond.map(\.code) == [.tooLarge], "\(beyond.prefix(3).map { $0.rendered() })")
        let count = (most + 3) * states * (events + 1)
        #expect(
            beyond.first?.message
                == "the \(most + 3) instances of 'a@' have \(count) pairs of state and event together, more than the "
                + "\(ConfigurationLimits.instancePairs) that are allowed")
    }
}
