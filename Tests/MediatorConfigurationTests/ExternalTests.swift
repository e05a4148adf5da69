import CommonExpression
import Glibc
import MediatorConfiguration
import Synchronization
import Testing
import TestSupport

@Suite struct `Values from elsewhere` {
    private let credentials: TemporaryDirectory

    init() throws { credentials = TemporaryDirectory() }

    private func compile(_ text: String, _ environment: [String: String] = [:], mayBeMissing: Bool = false)
        -> CompilationResult
    {
        let values = ExternalValues(
            environment: { environment[$0] }, credentialsDirectory: credentials.path, mayBeMissing: mayBeMissing)
        return ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)], values: values)
    }

    /// The first value of a bus of a type.
    private func initial(_ type: String, _ reference: String, _ environment: [String: String] = [:])
        -> (value: Value?, printed: String)
    {
        let result = compile("buses: { b: { kind: currentValue, value: \(type), initial: \(reference) } }", environment)
        return (
            result.graph?.buses.first?.initial, result.partial.map { $0.rendered() }.joined(separator: "\n")
        )
    }

    /// References with defaults, so that nothing must be there.
    static let sample = """
        system: s
        states: { A: { n: int } }
        events: { E: {} }
        initialState: { A: { n: !env { name: FIRST, default: 1 } } }
        feedbacks:
          f:
            onState: A
            every: !env { name: PERIOD, default: 5s }
            run: { command: [a, !env { name: WORD, default: b }], environment: { K: !credential { name: k, default: d } } }
            onSuccess: E
        ---
        buses: { b: { kind: currentValue, value: "list(string)", initial: [!env { name: WORD, default: w }] } }
        """

    @Test(arguments: [
        ("string", "15", Value.string("15")), ("string", "${now}", .string("${now}")), ("string", "", .string("")),
        ("int", "-15", .int(-15)), ("uint", "15", .uint(15)), ("double", "1.5", .double(1.5)),
        ("bool", "true", .bool(true)),
        ("duration", "1m", TimeSpan(text: "1m").map { .duration($0) } ?? .null),
    ])
    func `a variable's text becomes a value of the type that is wanted`(type: String, text: String, value: Value) {
        let (initial, printed) = initial(type, "!env SETTING", ["SETTING": text])
        #expect(initial == value)
        #expect(printed == "")
    }

    @Test func `what does not fit is told without being shown`() {
        let (value, printed) = initial("int", "!env SETTING", ["SETTING": "s3cret"])
        #expect(value == nil)
        #expect(printed.hasPrefix("a.yaml:1:56: error: 'initial' is of type int, which the value of the"))
        #expect(!printed.contains("s3cret"))
        #expect(self.initial("list(string)", "!env A", ["A": "a"]).printed.contains("[wrong-type]"))
    }

    @Test func `a default takes the place of what is missing, and of nothing else`() {
        let reference = "!env { name: SETTING, default: 7 }"
        #expect(initial("int", reference).value == .int(7))
        #expect(initial("int", reference, ["SETTING": "8"]).value == .int(8))
        #expect(initial("int", reference, ["SETTING": ""]).value == nil)
    }

    @Test func `a schedule may be a variable's`() throws {
        let text = """
            system: s
            states: { A: {} }
            events: { E: {} }
            initialState: A
            feedbacks: { f: { onState: A, every: !env PERIOD, emit: E } }
            """
        let result = compile(text, ["PERIOD": "2s"])
        guard case .every(let periods)? = result.graph?.systems.first?.feedbacks.first?.schedule,
            case .constant(let period)? = periods[0]
        else {
            Issue.record("no period")
            return
        }
        #expect(period == .duration(try #require(TimeSpan(text: "2s"))))
        #expect(compile(text, ["PERIOD": "0s"]).diagnostics.map(\.code) == [.outOfRange])
    }

    private static let login = """
        system: vpn
        states: { Down: {} }
        events: { Up: {} }
        initialState: Down
        feedbacks:
          login: { onState: Down, run: { command: [login], environment: { KEY: !credential vpn.key, A: b } }, onSuccess: Up }
        """

    private func environment(_ result: CompilationResult) -> Value? {
        guard case .constant(let value)? = result.graph?.systems.first?.feedbacks.first?.arguments[0]?["environment"]
        else { return nil }
        return value
    }

    @Test(arguments: [("s3cret\n", "s3cret"), ("s3cret", "s3cret"), ("a\nb\r\n", "a\nb"), ("\n\n", "\n"), ("", "")])
    func `a credential is its file's text without the last line break`(contents: String, value: String) throws {
        try credentials.write("vpn.key", contents)
        let result = compile(Self.login)
        #expect(environment(result) == .map([.string("KEY"): .string(value), .string("A"): .string("b")]))
        #expect(result.graph?.systems.first?.feedbacks.first?.secretArguments == ["environment"])
    }

    @Test func `a credential that cannot be used is told without being shown`() throws {
        try credentials.write("vpn.key", "s3c\u{1}ret")
        #expect(compile(Self.login).graph != nil)
        let file = try #require(fopen("\(credentials.path)/vpn.key", "w"))
        fputc(0xFF, file)
        fclose(file)
        #expect(compile(Self.login).diagnostics.map(\.message) == ["the credential 'vpn.key' is not text"])
        try credentials.write("vpn.key", String(repeating: "x", count: ConfigurationLimits.fileSize + 1))
        #expect(
            compile(Self.login).diagnostics.map(\.message) == [
                "the credential 'vpn.key' cannot be read: this file has more than the 1048576 bytes that are allowed"
            ])
        remove("\(credentials.path)/vpn.key")
        mkdir("\(credentials.path)/vpn.key", 0o700)
        #expect(compile(Self.login).diagnostics.map(\.message) == ["the credential 'vpn.key' is a directory"])
    }

    /// Side effects with credentials, and the parameters that hold some.
    static let secretive: [(effect: String, secrets: Set<String>)] = [
        ("http: !credential hook", ["url"]), ("http: { url: !credential hook }", ["url"]),
        ("notify: { url: !credential hook, text: hello }", ["url"]),
        (
            "http: { url: \"http://a\", body: !credential hook, headers: { A: !credential hook, B: c } }",
            ["body", "headers"]
        ),
    ]

    @Test(arguments: secretive)
    func `an address, a header and a body may be credentials`(effect: String, secrets: Set<String>) throws {
        try credentials.write("hook", "https://hooks.example/s3cret")
        func compiled() -> CompilationResult {
            compile(
                "system: s\nstates: { A: {} }\ninitialState: A\nfeedbacks: { f: { onState: A, every: 1s, \(effect) } }")
        }
        let graph = try #require(compiled().graph, "\(compiled().diagnostics.map { $0.rendered() })")
        #expect(graph.systems.first?.feedbacks.first?.secretArguments == secrets)
        // A name that cannot be one is not shown either.
        for content in ["hooks.example/s3cret\u{1}", "https://me:s3cret@hooks.example", "https://s3cret\u{7f}"] {
            try credentials.write("hook", content)
            #expect(!compiled().partial.contains { $0.rendered().contains("s3cret") })
            #expect(secrets.contains("body") || compiled().graph == nil)
        }
    }

    @Test func `no diagnostic, wherever it is, shows a credential`() throws {
        try credentials.write("key", "s3cret")
        for place in [
            "initialState: { A: { f: !credential key } }", "initialState: !credential key", "system: !credential key",
            "ready: [!credential key]", "feedbacks: { f: { onState: A, log: !credential key } }",
            "feedbacks: { f: { onState: A, every: !credential key, emit: E } }",
            "feedbacks: { f: { onState: A, run: { command: [a], timeout: !credential key } } }",
            "feedbacks: { f: { onState: A, when: !credential key, emit: E } }", "description: !credential key",
            "transitions: { A: { E: { when: true, to: A, set: { f: !credential key } } } }",
        ] {
            let key = place.prefix { $0 != ":" }
            let lines = [
                "system: s", "states: { A: { f: string } }", "events: { E: {} }", "initialState: { A: { f: x } }",
            ]
            let result = compile((lines.filter { !$0.hasPrefix(key) } + [place]).joined(separator: "\n"))
            #expect(result.graph == nil, "\(place)")
            #expect(!result.partial.contains { $0.rendered().contains("s3cret") }, "\(place)")
        }
    }

    @Test func `elsewhere than where it is to run, what is missing is noted`() {
        let result = compile(
            Self.login + "\n---\nbuses: { b: { kind: currentValue, value: int, initial: !env N } }",
            mayBeMissing: true)
        #expect(result.partial == [])
        #expect(result.graph != nil)
        #expect(
            result.unavailable.map { "\($0.source) \($0.kind.rawValue) \($0.name)" } == [
                "a.yaml:6:72 credential vpn.key", "a.yaml:8:56 env N",
            ])
        #expect(compile(Self.login).unavailable.isEmpty)
    }

    @Test func `what an instance names elsewhere makes its fingerprint another when it is another`() throws {
        let text = """
            system: t@
            states: { A: {} }
            events: { E: {} }
            initialState: A
            fromOutside: any
            feedbacks:
              f: { onState: A, run: { command: [a], environment: { K: !credential "pw-${instance}" } }, onSuccess: E }
            ---
            instances: { t@one: {}, t@two: {} }
            ---
            buses: { b@*: { for: t@*, kind: currentValue, value: string, initial: !env "B_${instance}", fromOutside: both } }
            links: { l: { attach: t@*, to: b@*, onState: A, emitValue: !env "L_${instance}" } }
            """
        func fingerprints(_ environment: [String: String]) throws -> [String] {
            let result = compile(
                text, ["B_one": "1", "B_two": "1", "L_one": "1", "L_two": "1"].merging(environment) { $1 })
            let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
            return graph.systems.map(\.fingerprint) + graph.buses.map(\.fingerprint) + graph.links.map(\.fingerprint)
        }
        func changed(_ one: [String], _ other: [String]) -> [Int] { one.indices.filter { one[$0] != other[$0] } }
        try credentials.write("pw-one", "first")
        try credentials.write("pw-two", "first")
        let first = try fingerprints([:])
        #expect(try fingerprints([:]) == first)
        try credentials.write("pw-two", "second")
        #expect(changed(first, try fingerprints([:])) == [1])
        #expect(changed(first, try fingerprints(["B_one": "2", "L_two": "2"])) == [1, 2, 5])
    }

    @Test func `what an instance has of its own makes another only what names it`() throws {
        func fingerprints(_ limit: Int, _ mark: String, value: String, when: String) throws -> [String] {
            let result = compile(
                """
                system: t@
                parameters: { limit: { type: int }, mark: { type: string, default: m } }
                states: { A: {} }
                events: { E: {} }
                initialState: A
                fromOutside: any
                transitions: { A: { E: { when: parameters.limit > 1, to: A } } }
                ---
                system: other
                states: { A: {} }
                events: { E: {} }
                initialState: A
                transitions: { A: { E: stay } }
                ---
                instances: { t@one: { limit: \(limit), mark: \(mark) } }
                ---
                buses:
                  b@*: { for: t@*, kind: currentValue, value: string, initial: "\(value)", fromOutside: both }
                links:
                  l: { attach: t@*, to: b@*, onState: A, when: "\(when)", emitValue: x }
                  m: { attach: other, to: b@one, emitEvent: E }
                """)
            let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
            return graph.systems.map(\.fingerprint) + graph.buses.map(\.fingerprint) + graph.links.map(\.fingerprint)
        }
        /// The parts that differ with one parameter, and with both: other, t@one, b@one, l@one, m.
        func changed(_ value: String, _ when: String) throws -> [[Int]] {
            let first = try fingerprints(3, "m", value: value, when: when)
            return try [(4, "m"), (3, "n"), (4, "n")].map { limit, mark in
                let then = try fingerprints(limit, mark, value: value, when: when)
                return first.indices.filter { first[$0] != then[$0] }
            }
        }
        #expect(try changed("good", "true") == [[1], [1], [1]])
        #expect(try changed("limit mark ${instance}", "instance != ''") == [[1], [1], [1]])
        #expect(try changed("${parameters.mark}", "parameters . limit > 2") == [[1, 3], [1, 2], [1, 2, 3]])
        #expect(try changed("good", "parameters == parameters") == [[1, 3], [1, 3], [1, 3]])
    }

    @Test func `for a template without instances nothing is looked up`() {
        let asked = Mutex<[String]>([])
        let values = ExternalValues(environment: { name in
            asked.withLock { $0.append(name) }
            return nil
        })
        let text = """
            system: t@
            states: { A: {} }
            initialState: A
            feedbacks: { f: { onState: A, run: { command: [a], environment: { K: !env "K_${instance}", L: !env L } } } }
            """
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], values: values)
        #expect(result.partial == [])
        #expect(asked.withLock { $0 } == [])
    }

    @Test func `a link shows that a value is from elsewhere`() throws {
        let text = """
            system: s
            states: { A: {} }
            initialState: A
            ---
            buses: { b: { kind: passthrough, value: string } }
            links: { l: { attach: s, to: b, onState: A, emitValue: !env WORD } }
            """
        #expect(try #require(compile(text, ["WORD": "w"]).graph?.links.first).emits == "!env WORD")
    }

    /// The errors of a feedback with a calendar time from the variable `WHEN`.
    private func diagnostics(at time: String, _ value: String, isTemplate: Bool = false) -> [Diagnostic] {
        let text = """
            system: s\(isTemplate ? "@\nparameters: { plan: string }" : "")
            states: { A: {} }
            events: { E: {} }
            initialState: A
            feedbacks: { f: { onState: A, at: \(time), emit: E } }
            transitions: { A: { E: stay } }
            \(isTemplate ? "---\ninstances: { s@one: { plan: !env WHEN } }" : "")
            """
        return compile(text, ["WHEN": value]).partial
    }

    @Test(arguments: [
        ("08:60", "the minute is from 0 to 59"), ("Mom 07:31", "a word stands where a day of the week is expected"),
        ("secretly", "it is neither a date, nor a time of day, nor a word such as 'daily'"),
        ("07:31x", "something else stands where ':' or the end is expected"),
        ("07:31 Europe/Berli", "there is no time zone of its name"), ("@s3cret", "it is a word of cron"),
    ])
    func `a wrong calendar time is told with its variable and the mistake, and not shown`(
        text: String, reason: String
    ) throws {
        let direct = try #require(diagnostics(at: "!env WHEN", text).first)
        #expect(direct.message == "the environment variable 'WHEN' gives no calendar time: \(reason)")
        let parameter = try #require(diagnostics(at: "\"${parameters.plan}\"", text, isTemplate: true).first)
        #expect(parameter.message == "the parameter 'plan' gives no calendar time: \(reason) (for 's@one')")
        for diagnostic in [direct, parameter] {
            #expect(diagnostic.code == .invalidCalendarTime && !diagnostic.rendered().contains(text))
        }
    }

    @Test func `what is not to be had here is not held against what a side effect asks for`() {
        let text = """
            system: watch
            states: { Here: {} }
            events: { Changed: {} }
            initialState: Here
            feedbacks: { look: { onState: Here, path: { path: !env DIRECTORY }, onChange: Changed } }
            transitions: { Here: { Changed: stay } }
            """
        let missing = compile(text, mayBeMissing: true)
        #expect(missing.diagnostics.isEmpty && missing.unavailable.map(\.name) == ["DIRECTORY"])
        #expect(
            compile(text, ["DIRECTORY": "relative"], mayBeMissing: true).diagnostics.map(\.code) == [.unsuitableText])
        #expect(compile(text, ["DIRECTORY": "/srv"], mayBeMissing: true).diagnostics.isEmpty)
    }

    @Test func `an initial state that cannot be computed of it does not show it`() {
        let text = """
            system: t@
            parameters: { e: string }
            states: { A: { n: int } }
            events: {}
            initialState: { A: { n: "${int(parameters.e + string(now)) }" } }
            ---
            instances: { t@one: { e: !env NUMBER } }
            """
        func printed(_ environment: [String: String], mayBeMissing: Bool) -> String {
            let values = ExternalValues(environment: { environment[$0] }, mayBeMissing: mayBeMissing)
            return ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)], values: values,
                now: Timestamp(rfc3339: "2026-11-21T10:00:00Z")
            ).diagnostics.map { $0.rendered() }.joined()
        }
        let refused = printed(["NUMBER": "hidden"], mayBeMissing: false)
        #expect(refused.contains("cannot be computed from values that are not in the files [initial-state]"))
        #expect(!refused.contains("hidden"))
        #expect(printed([:], mayBeMissing: true) == "")
    }
}
