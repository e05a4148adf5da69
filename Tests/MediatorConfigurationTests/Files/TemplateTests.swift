import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `Templates` {
    private static let uplink = """
        system: uplink@
        description: Is the way out open?
        parameters:
          interface: { type: string, default: "${instance}" }
          target: { type: string, default: 192.0.2.1, description: Whom to ask. }
          limit: int
          period: { type: duration, default: 5s }
        states: { Online: {}, Degraded: { failures: int, on: string }, Offline: {} }
        events: { Up: {}, Down: {} }
        initialState: Online
        ready: Online
        feedbacks:
          probe:
            onState: any
            every: "${parameters.period}"
            run: { command: [ping, -c1, -I, "${parameters.interface}", "${parameters.target}"], timeout: 5s }
            onSuccess: Up
            onFailure: Down
        transitions:
          Online: { Down: { to: Degraded, set: { failures: 1, on: "${instance}" } } }
          Degraded:
            Down:
              - { when: state.failures < parameters.limit, to: Degraded, set: { failures: "${state.failures + 1}" } }
              - { to: Offline }
          any: { Up: Online }

        """

    private static let instances = """
        ---
        instances:
          uplink@eth0: { limit: 3 }
          uplink@wwan0: { limit: 5, interface: ppp0, period: 1m }

        """

    /// All of it in one file.
    static let sample = uplink + instances + wiring

    @Test func `an instance is a system with its parameters put in`() throws {
        let graph = try graph(Self.uplink + Self.instances)
        #expect(graph.systems.map(\.name) == ["uplink@eth0", "uplink@wwan0"])
        #expect(graph.systems.map(\.source.line) == [28, 29])
        let commands = graph.systems.map { system -> Value? in
            guard case .constant(let command)? = system.feedbacks[0].arguments[0]?["command"] else { return nil }
            return command
        }
        #expect(commands[0] == .list(["ping", "-c1", "-I", "eth0", "192.0.2.1"].map { .string($0) }))
        #expect(commands[1] == .list(["ping", "-c1", "-I", "ppp0", "192.0.2.1"].map { .string($0) }))
        let system = graph.systems[0]
        let now = try #require(Timestamp(rfc3339: "2026-11-21T10:00:00Z"))
        let degraded = try system.value("Degraded", .int(2), .string("eth0"))
        #expect(try system.next(degraded, on: "Down", now: now)?.fields == [.int(3), .string("eth0")])
        let last = try system.value("Degraded", .int(3), .string("eth0"))
        #expect(try system.next(last, on: "Down", now: now)?.type.name == "Offline")
        #expect(try graph.systems[1].next(last, on: "Down", now: now)?.type.name == "Degraded")
    }

    @Test func `a template alone is checked, and is no system`() throws {
        #expect(try graph(Self.uplink).systems.isEmpty)
        let broken = Self.uplink.replacing("parameters.limit", with: "parameters.limt")
        #expect(messages(broken).contains("has no field 'limt' [unknown-field]"))
    }

    @Test func `a mistake in the body is told once, however many instances there are`() {
        let broken = Self.uplink.replacing("parameters.limit", with: "parameters.limt")
        let more = (0..<20).map { "  uplink@x\($0): { limit: \($0) }\n" }.joined()
        #expect(
            messages(broken + Self.instances + more) == """
                a.yaml:23:45: error: 'parameters' has no field 'limt' [unknown-field]
                        - { when: state.failures < parameters.limt, to: Degraded, set: { failures: "${state.failures + 1}" } }
                                                              ^~~~
                  hint: did you mean 'limit'?
                """)
    }

    @Test func `a value that does not fit is told with the instance, and alike ones once`() {
        let text =
            Self.uplink + "---\ninstances:\n"
            + "  uplink@a: { limit: 1, period: 0s }\n  uplink@b: { limit: 1 }\n  uplink@c: { limit: 2, period: 0s }"
        #expect(
            messages(text) == """
                a.yaml:15:12: error: 'every' must be at least 1ms (for 'uplink@a') [out-of-range]
                      every: "${parameters.period}"
                             ^~~~~~~~~~~~~~~~~~~~~~
                """)
    }

    @Test func `a link of each instance fires when the written one does`() throws {
        let text = """
            system: t@
            states: { A: { n: int } }
            events: { E: {} }
            initialState: { A: { n: 0 } }
            transitions: { A: { E: { set: { n: "${state.n + 1}" } } } }
            ---
            instances: { t@x: {} }
            buses: { b: { kind: passthrough, value: int } }
            links: { l: { attach: t@*, to: b, onState: A, on: change, emitValue: "${state.n}" } }
            """
        #expect(try graph(text).links.map(\.firesOnChange) == [true])
    }

    @Test func `a condition that an instance decides is nothing to warn of`() throws {
        let text = """
            system: t@
            parameters: { wanted: bool }
            states: { A: {}, B: {} }
            events: { E: {} }
            initialState: A
            transitions: { A: { E: { when: parameters.wanted, to: B } } }
            ---
            instances: { t@x: { wanted: true }, t@y: { wanted: false } }
            """
        #expect(try graph(text).systems.count == 2)
    }

    @Test func `a state, an event or a value that one instance uses is nothing to warn of`() {
        let text = """
            system: t@
            parameters: { needs: list(string), word: string }
            states: { A: {}, Waiting: {}, B: {} }
            events: { E: {}, Ok: {}, Heard: {} }
            initialState: A
            feedbacks:
              wait: { onState: A, when: parameters.needs.size() > 0, emit: E }
              go: { onState: A, when: parameters.needs.size() == 0, emit: Ok }
            transitions:
              A: { E: { when: parameters.needs.size() > 0, to: Waiting }, Ok: B }
              Waiting: { Ok: B }
              B: { Ok: A }
              any: { Heard: stay }
            ---
            buses:
              words: { kind: passthrough, value: string }
            links:
              say: { attach: "t@*", to: words, onState: B, emitValue: "${parameters.word}" }
              hear: { attach: "t@*", to: words, onValue: known, emitEvent: Heard }
            ---
            instances:
              t@x: { needs: [], word: known }
              t@y: { needs: [a], word: NEW }
            """
        #expect(messages(text.replacing("NEW", with: "known")) == "")
        #expect(messages(text.replacing("NEW", with: "other")) == "")
        // A warning that holds for each instance is shown once.
        let same = messages(
            text.replacing("NEW", with: "other").replacing("needs: [a]", with: "needs: []")
                .replacing("word: known", with: "word: strange"))
        #expect(same.contains("the state 'Waiting' is never reached"))
        #expect(same.contains("no reader of the bus 'words' lets this value through"))
    }

    @Test func `names in fixed places may depend on the instance`() throws {
        let text = """
            system: t@
            parameters: { from: { type: int, default: 7 } }
            states: { A: { n: int, who: string } }
            events: { E: {} }
            initialState: { A: { n: "${parameters.from}", who: "${instance}" } }
            feedbacks: { f: { onState: { A: { who: "${instance}" } }, log: "${instance}: ${state.n}" } }
            ---
            instances: { t@x: , t@y: { from: !env { name: FROM, default: 8 } } }
            """
        let graph = try graph(text)
        let equals = graph.systems.map { $0.feedbacks[0].selector.equals.map(\.value) }
        #expect(equals == [[.string("x")], [.string("y")]])
        guard case .data(.constant(let number)) = graph.systems[1].initialState.fields[0] else {
            Issue.record("not fixed")
            return
        }
        #expect(number == .int(8))
    }

    @Test func `the names of values from elsewhere may depend on the instance`() {
        let text = """
            system: t@
            states: { A: {} }
            events: { E: {} }
            initialState: A
            feedbacks:
              f: { onState: A, run: { command: [a], environment: { N: !env "NAME_${instance}" } }, onSuccess: E }
            ---
            instances: { t@x: {}, t@y: {} }
            """
        let values = ExternalValues(environment: { $0 == "NAME_x" ? "1" : nil })
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], values: values)
        #expect(result.diagnostics.map(\.message) == ["there is no environment variable 'NAME_y' (for 't@y')"])
    }

    private static let wiring = """
        buses:
          status: { kind: passthrough, value: { who: string, text: string } }
          orders: { kind: passthrough, value: string }
        links:
          tell: { attach: uplink@*, to: status, onState: Offline, emitValue: { who: "${instance}", text: off } }
          hear: { attach: uplink@*, to: orders, when: value == instance, emitEvent: Down }

        """

    @Test func `a link over instances exists once for each`() throws {
        let graph = try graph(Self.uplink + Self.instances + Self.wiring)
        #expect(graph.links.map(\.name) == ["hear@eth0", "hear@wwan0", "tell@eth0", "tell@wwan0"])
        #expect(graph.links.map(\.system) == [0, 1, 0, 1])
        #expect(graph.links[2].summary == "uplink@eth0: Offline → bus status")
        guard case .systemToBus(_, _, let values) = graph.links[3].form, case .constant(let value)? = values[2],
            case .structure(let structure) = value
        else {
            Issue.record("not fixed")
            return
        }
        #expect(structure.fields == [.string("wwan0"), .string("off")])
        guard case .busToSystem(_, .condition(let condition), _) = graph.links[0].form else {
            Issue.record("no condition")
            return
        }
        let now = Value.timestamp(try #require(Timestamp(rfc3339: "2026-11-21T10:00:00Z")))
        #expect(try condition.evaluateBool([.string("eth0"), now]))
        #expect(try !condition.evaluateBool([.string("wwan0"), now]))
    }

    @Test func `a link to one instance is like any other`() throws {
        let text = "links: { one: { attach: uplink@eth0, toSystem: uplink@wwan0, onState: Offline, emitEvent: Up } }"
        #expect(try graph(Self.uplink + Self.instances + text).links.map(\.name) == ["one"])
    }

    @Test func `a star stands for the same instance wherever it is`() throws {
        let text = """
            buses: { level@*: { for: uplink@*, kind: currentValue, value: string, initial: "${instance}" } }
            links:
              out: { attach: uplink@*, to: level@*, onState: Offline, emitValue: low }
              in: { attach: uplink@*, to: level@*, onValue: low, emitEvent: Up }
              over: { attach: uplink@*, toSystem: uplink@*, onState: Offline, emitEvent: Up }
              all: { attach: uplink@eth0, toSystem: uplink@*, onState: Offline, emitEvent: Up }
            """
        let graph = try graph(Self.uplink + Self.instances + text)
        #expect(graph.buses.map(\.name) == ["level@eth0", "level@wwan0"])
        #expect(graph.buses.map(\.initial) == [.string("eth0"), .string("wwan0")])
        let ends = graph.links.map { link -> String in
            switch link.form {
            case .systemToBus(let bus, _, _): "\(link.name): \(link.system) → \(graph.buses[bus].name)"
            case .busToSystem(let bus, _, _): "\(link.name): \(graph.buses[bus].name) → \(link.system)"
            case .systemToSystem(let target, _, _): "\(link.name): \(link.system) → \(target)"
            }
        }
        #expect(
            ends == [
                "all@eth0: 0 → 0", "all@wwan0: 0 → 1", "in@eth0: level@eth0 → 0", "in@wwan0: level@wwan0 → 1",
                "out@eth0: 0 → level@eth0", "out@wwan0: 1 → level@wwan0", "over@eth0: 0 → 0", "over@wwan0: 1 → 1",
            ])
    }

    @Test func `a mistake in a link over instances is told once`() {
        let printed = messages(Self.uplink + Self.instances + Self.wiring.replacing("Offline", with: "Ofline"))
        #expect(
            printed == """
                a.yaml:34:50: error: 'uplink@' has no state 'Ofline' [unknown-state]
                    tell: { attach: uplink@*, to: status, onState: Ofline, emitValue: { who: "${instance}", text: off } }
                                                                   ^~~~~~
                  hint: did you mean 'Offline'?
                """)
    }

    /// Links whose buses exist for each instance too.
    private static func paired(_ condition: String) -> String {
        """
        system: t@
        parameters: { wanted: bool }
        states: { A: {} }
        events: { E: {} }
        initialState: A
        ---
        instances: { t@x: { wanted: true }, t@y: { wanted: false } }
        ---
        buses: { b@*: { for: t@*, kind: passthrough, value: int, fromOutside: both } }
        links: { l: { attach: t@*, to: b@*, when: "\(condition)", emitEvent: E } }
        """
    }

    @Test func `a condition that is always the same is told once of links that lead to different ends`() {
        func compiled(_ text: String, _ parts: CompiledParts) -> CompilationResult {
            ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)], effects: EffectSchema.builtin, values: .none,
                unreadable: [], now: nil, reusing: parts)
        }
        let first = compiled(Self.paired("1 == 1"), CompiledParts())
        #expect(
            first.partial.map { $0.rendered() } == [
                """
                a.yaml:10:43: warning: this condition is always true [constant-condition]
                  links: { l: { attach: t@*, to: b@*, when: "1 == 1", emitEvent: E } }
                                                            ^~~~~~~~
                  hint: leave it out
                """
            ])
        #expect(compiled(Self.paired("1 == 1"), first.parts).diagnostics == first.diagnostics)
        // Without the first instance it is the other that tells it.
        let without = Self.paired("1 == 1").replacing("t@x: { wanted: true }, ", with: "")
        #expect(compiled(without, first.parts).diagnostics == compiled(without, CompiledParts()).diagnostics)
        #expect(compiled(without, CompiledParts()).partial.map(\.code) == [.constantCondition])
        for condition in ["parameters.wanted", "instance == 'x'", "value > 1 || parameters.wanted"] {
            #expect(compiled(Self.paired(condition), CompiledParts()).partial == [], "\(condition)")
        }
    }

    @Test func `what is computed of a value from elsewhere shows it to nobody`() {
        let text = """
            system: t@
            parameters: { e: string }
            states: { A: {} }
            initialState: A
            ---
            instances: { t@x: { e: !env E } }
            ---
            buses: { b@*: { for: t@*, kind: currentValue, value: int, initial: "${int(parameters.e)}", fromOutside: both } }
            """
        func compiled(_ values: ExternalValues) -> [Diagnostic] {
            ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)], values: values)
                .partial
        }
        let wrong = compiled(ExternalValues(environment: { _ in "hidden" }))
        #expect(wrong.map(\.code) == [.invalidExpression])
        #expect(
            wrong.map(\.message) == [
                "'initial' cannot be computed from values that are not in the files: invalidConversion (for 't@x')"
            ])
        #expect(wrong.allSatisfy { !$0.rendered().contains("hidden") })
        #expect(compiled(ExternalValues(environment: { _ in "7" })) == [])
        // A check alone does not know the value.
        #expect(compiled(ExternalValues(environment: { _ in nil }, mayBeMissing: true)) == [])
    }

    @Test func `an instance may be changed by a drop-in`() throws {
        var file = ConfigurationFile(path: "a.yaml", text: Self.uplink + Self.instances)
        file.dropIns = [
            ConfigurationFile(
                path: "1.yaml", text: "instances: { uplink@eth0: { target: 198.51.100.1 }, uplink@wwan0: null }"),
            ConfigurationFile(
                path: "2.yaml", text: "system: uplink@\nparameters: { limit: { type: int, default: 4 } }"),
        ]
        let result = ConfigurationCompiler.compile(files: [file])
        #expect(result.diagnostics == [])
        #expect(result.graph?.systems.map(\.name) == ["uplink@eth0"])
    }

    @Test(.timeLimit(.minutes(5))) func `a thousand instances are compiled soon`() throws {
        let more = (0..<1000).map { "  uplink@x\($0): { limit: \($0) }\n" }.joined()
        var result: CompilationResult?
        let text = Self.uplink + Self.instances + more + "---\n" + Self.wiring
        let duration = ContinuousClock().measure { result = compile(text) }
        #expect(result?.graph?.systems.count == 1002)
        #expect(result?.graph?.links.count == 2004)
        // A debug build on a busy machine needs about five seconds; anything quadratic needs minutes.
        #expect(duration < .seconds(60))
    }

    @Test func `that buses exist for each instance makes no other name one`() {
        let text = """
            system: lamp
            states: { Off: {} }
            events: {}
            initialState: Off
            ---
            buses:
              status: { kind: currentValue, value: string, initial: unknown, fromOutside: both }
              q@*: { for: t@*, kind: passthrough, value: string, fromOutside: both }
            links:
              tell: { attach: lamp, to: statsu, onState: Off, emitValue: lit }
              each: { attach: t@*, to: qq@*, onState: A, emitValue: lit }
              one: { attach: lamp, to: q@b, onState: Off, emitValue: lit }
            ---
            system: t@
            states: { A: {} }
            initialState: A
            ---
            instances: { t@a: {} }
            """
        func codes(_ text: String) -> [Diagnostic.Code] {
            ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)]).diagnostics
                .filter { $0.severity == .error }.map(\.code)
        }
        #expect(codes(text) == [.unknownBus, .unknownBus, .unknownBus])
        // The instances of a template that does not exist are unknown, so there are no further messages.
        #expect(codes(text.replacing("for: t@*", with: "for: u@*")).filter { $0 == .unknownBus } == [])
    }
}
