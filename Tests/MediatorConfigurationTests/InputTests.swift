import CommonExpression
import MediatorConfiguration
import Testing

/// Inputs and rules of `always` as definitions.
@Suite struct `Inputs and always as definitions` {
    private static let pump = """
        system: pump
        inputs: { power: bool, level: { type: int, default: 3 } }
        states: { Off: { n: int }, On: { n: int }, Dry: { n: int } }
        events: { Go: {} }
        fromOutside: any
        initialState: { Off: { n: 0 } }
        transitions:
          Off: { Go: { to: On, when: input.power } }
          On:
            Go: Off
            always:
              - { when: "!input.power", for: "${duration(string(state.n) + 's')}", to: Off }
              - { when: input.level < 1, to: Dry }
          Dry: { always: { for: 1h, to: Off } }
          any: { always: { when: state.n > 9, set: { n: 0 } }, any: stay }
        persist: none
        ---
        buses:
          power: { kind: currentValue, value: bool, initial: true, fromOutside: write, persist: false }
          level: { kind: passthrough, value: { n: int }, fromOutside: write }
        links:
          power: { attach: pump, to: power, setInput: power }
          level: { attach: pump, to: level, when: value.n > 0, setInput: { level: "${value.n}" } }

        """

    @Test func `an input has an event of its own behind the others, which no rule sees`() throws {
        let graph = try graph(Self.pump)
        let pump = graph.systems[0]
        #expect(pump.ownEvents == 1 && pump.events.map(\.name) == ["Go", "input.power", "input.level"])
        #expect(pump.inputs.map(\.event) == [1, 2] && pump.inputs.map(\.initial) == [nil, .int(3)])
        // `any` event is no input.
        for state in pump.states.indices {
            for event in 1...2 {
                guard case .input(event - 1)? = pump.rules[state][event].first?.outcome else {
                    Issue.record("\(pump.rules[state][event])")
                    continue
                }
                #expect(pump.rules[state][event].count == 1)
            }
        }
        #expect(graph.links.map(\.summary) == ["bus level → pump: input.level", "bus power → pump: input.power"])
    }

    @Test func `rules of a state come before those of any state, and all states are reached`() throws {
        let result = compile(Self.pump)
        #expect(result.diagnostics == [])
        let pump = try #require(result.graph?.systems.first)
        #expect(
            pump.always.map { $0.map(\.condition) } == [
                ["state.n > 9"],
                ["!input.power for ${duration(string(state.n) + 's')}", "input.level < 1", "state.n > 9"],
                ["for 1h", "state.n > 9"],
            ])
        #expect(pump.transitions.filter { $0.event == "always" }.map(\.to) == ["Off", "Dry", "Off", "in place"])
        let unreached = messages(
            Self.pump.replacing("when: input.level < 1, to: Dry", with: "when: input.level < 1, to: Off"))
        #expect(unreached.contains("the state 'Dry' is never reached [unreachable-state]"))
    }

    @Test func `drop-ins change and remove them`() throws {
        func compiled(_ dropIn: String) -> CompilationResult {
            var file = ConfigurationFile(path: "/lib/a.yaml", text: Self.pump)
            file.dropIns = [ConfigurationFile(path: "/etc/a.yaml.d/1.yaml", text: dropIn)]
            return ConfigurationCompiler.compile(files: [file])
        }
        let changed = compiled("system: pump\ninputs: { level: { default: 8 } }\n").graph
        #expect(changed?.systems[0].inputs[1].initial == .int(8))
        let added = compiled("system: pump\ntransitions: { Off: { always: { when: input.level > 70, to: Dry } } }\n")
            .graph
        #expect(added?.systems[0].always[0].map(\.condition) == ["input.level > 70", "state.n > 9"])
        let removed = compiled("system: pump\ninputs: { level: null }\n").diagnostics.map { $0.rendered() }
        #expect(removed.contains { $0.contains("'pump' has no input 'level' [unknown-input]") }, "\(removed)")
    }

    @Test func `instances of a template have them, with defaults from parameters`() throws {
        let text = """
            system: pump@
            parameters: { least: int }
            inputs: { level: { type: int, default: "${parameters.least}" } }
            states: { Off: {}, On: {} }
            events: {}
            initialState: Off
            transitions:
              Off: { always: { when: input.level > parameters.least, to: On } }
              On: { always: { when: input.level < parameters.least, to: Off } }
            ---
            buses: { level@*: { for: pump@*, kind: currentValue, value: int, initial: 0, fromOutside: write } }
            instances: { pump@a: { least: 4 }, pump@b: { least: 7 } }
            links: { level: { attach: pump@*, to: level@*, setInput: level } }

            """
        let graph = try graph(text)
        #expect(graph.systems.map(\.name) == ["pump@a", "pump@b"])
        #expect(graph.systems.map { $0.inputs[0].initial } == [.int(4), .int(7)])
        #expect(graph.links.count == 2)
    }

    @Test func `the fingerprint depends on what they mean, not on their order`() throws {
        let first = try system(Self.pump).fingerprint
        func fingerprint(_ old: String, _ new: String) throws -> String {
            #expect(Self.pump.contains(old))
            return try system(Self.pump.replacing(old, with: new)).fingerprint
        }
        let inputs = "{ power: bool, level: { type: int, default: 3 } }"
        #expect(try fingerprint(inputs, "{ level: { default: 3, type: int }, power: bool }") == first)
        #expect(try fingerprint(inputs, "{ power: bool, level: { type: int, default: 4 } }") != first)
        #expect(try fingerprint("for: 1h", "for: 2h") != first)
        #expect(try fingerprint("input.level < 1", "input.level < 2") != first)
    }

    @Test func `loops go through links that follow an input`() {
        let text = """
            system: lamp
            inputs: { x: int }
            states: { On: {} }
            events: {}
            initialState: On
            ---
            buses: { level: { kind: currentValue, value: int, initial: 0, fromOutside: both, persist: false } }
            links:
              out: { attach: lamp, to: level, onState: On, on: change, emitValue: "${input.x + 1}" }
              in: { attach: lamp, to: level, setInput: x }

            """
        #expect(messages(text).contains("the links 'in' and 'out' can set each other off without end [loop]"))
        #expect(compile(text.replacing("${input.x + 1}", with: "${1 + 1}")).diagnostics == [])
    }

    @Test func `a rule of always may end what feedbacks would keep going`() {
        let text = """
            system: lamp
            inputs: { on: bool }
            states: { A: {}, B: {}, C: {} }
            events: { E1: {}, E2: {} }
            initialState: A
            feedbacks: { one: { onState: A, emit: E1 }, two: { onState: B, emit: E2 } }
            transitions:
              A: { E1: B, E2: stay }
              B: { E1: stay, E2: A, always: { when: input.on, to: C } }
              C: { E1: stay, E2: C }
            ---
            buses: { on: { kind: currentValue, value: bool, initial: true, fromOutside: write, persist: false } }
            links: { on: { attach: lamp, to: on, setInput: on } }

            """
        #expect(messages(text) == "")
        #expect(messages(text.replacing(", to: C }", with: ", for: 1s, to: C }")).contains("[feedback-loop]"))
    }

    @Test func `a value that may fail is none at the start`() {
        let text = Self.pump.replacing(
            "setInput: power }", with: "setInput: { power: \"${1 / size(string(value)) > 0}\" } }")
        #expect(messages(text).contains("the input 'power' may have no value at the start [missing-key]"))
    }
}
