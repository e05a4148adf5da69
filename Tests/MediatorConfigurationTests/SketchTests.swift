import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `The format's sketch` {
    static let uplink = #"""
        system: uplink
        description: Is the internet reachable, and since when not?
        states:
          Unknown: {}
          Online: {}
          Degraded: { failures: int }
          Offline: { since: timestamp }
        events:
          ProbeSucceeded: {}
          ProbeFailed: { reason: string }
        initialState: Unknown

        feedbacks:
          probe:
            onState: any
            strategy: cancelOnNewState
            every: 5s
            run: { command: [nc, -z, 192.0.2.1, "443"], timeout: 1s }
            onSuccess: ProbeSucceeded
            onFailure: { ProbeFailed: { reason: "${result.error}" } }
          switch-to-backup-link:
            onState: Offline
            strategy: continueOnNewState
            run: [/usr/lib/mediatord/failover, up, "--since=${state.since}"]

        transitions:                                   # from: on: to
          any:
            ProbeSucceeded: Online
            ProbeFailed: { to: Degraded, set: { failures: 1 } }
          Degraded:
            ProbeFailed:
              - { when: state.failures < 3, to: Degraded, set: { failures: "${state.failures + 1}" } }
              - { to: Offline, set: { since: "${now}" } }
          Offline:
            ProbeFailed: stay
        """#

    static let wiring = #"""
        buses:
          uplink.status: { kind: currentValue, value: string, initial: unknown }
          alarms:        { kind: passthrough,  value: { text: string, severity: int }, limit: 1024, overflow: dropOldest }
        links:
          tell-status-down: { attach: uplink, to: uplink.status, onState: Offline, emitValue: offline }
          tell-status-up:   { attach: uplink, to: uplink.status, onState: Online,  emitValue: online }
          pause-backup:     { attach: backup, to: uplink.status, onValue: offline, emitEvent: Pause }
          pause-on-alarm:   { attach: backup, to: alarms, when: value.severity >= 3, emitEvent: Pause }
          page:
            attach: uplink
            toSystem: pager
            onState: Offline
            emitEvent: { Page: { text: "uplink down since ${state.since}" } }
        """#

    static let others = #"""
        system: backup
        states: { Running: {}, Paused: {} }
        events: { Pause: {} }
        initialState: Running
        transitions: { Running: { Pause: Paused } }
        ---
        system: pager
        states: { Idle: {} }
        events: { Page: { text: string } }
        initialState: Idle
        """#

    @Test func `the sketch compiles in one file`() throws {
        let graph = try graph([Self.uplink, Self.wiring, Self.others].joined(separator: "\n---\n"))
        #expect(graph.systems.map(\.name) == ["backup", "pager", "uplink"])
        #expect(graph.buses.map(\.name) == ["alarms", "uplink.status"])
        #expect(
            graph.links.map(\.name)
                == ["page", "pause-backup", "pause-on-alarm", "tell-status-down", "tell-status-up"])
    }

    @Test func `the sketch compiles in several files in any order`() throws {
        let files = [
            ConfigurationFile(path: "z.yaml", text: Self.uplink), ConfigurationFile(path: "a.yaml", text: Self.wiring),
            ConfigurationFile(path: "m.yaml", text: Self.others),
        ]
        for files in [files, files.reversed()] {
            let result = ConfigurationCompiler.compile(files: files)
            #expect(result.partial.isEmpty)
            #expect(result.files == ["a.yaml", "m.yaml", "z.yaml"])
            let graph = try #require(result.graph)
            #expect(graph.systems.count == 3)
            #expect(graph.links.count == 5)
            #expect(graph.systems[2].source == SourceLocation(file: "z.yaml", line: 1, column: 9))
        }
    }

    @Test func `a side effect that is not in the catalogue is one error`() {
        let text = Self.uplink.replacing(
            #"run: { command: [nc, -z, 192.0.2.1, "443"], timeout: 1s }"#,
            with: "knock: { host: 192.0.2.1, port: 443, timeout: 1s }")
        #expect(
            messages(text) == """
                a.yaml:18:5: error: there is no side effect 'knock' [unknown-effect]
                      knock: { host: 192.0.2.1, port: 443, timeout: 1s }
                      ^~~~~
                  hint: possible here: run, emit, publish, log, socket, path, filesystem, interface, …; mediatorctl knows those of a daemon of one's own by --kinds
                """)
    }

    @Test func `a catalogue may have more side effects`() throws {
        let knock = EffectSchema(
            name: "knock",
            parameters: [
                EffectSchema.Parameter(name: "host", type: .string, required: true),
                EffectSchema.Parameter(name: "port", type: .int, required: true),
                EffectSchema.Parameter(name: "timeout", type: .duration),
            ],
            outcomes: [
                EffectSchema.Outcome(name: "onSuccess", result: StructureType(name: "result", fields: [])),
                EffectSchema.Outcome(
                    name: "onFailure",
                    result: StructureType(
                        name: "result", fields: [StructureType.Field(name: "error", type: .string)])),
            ])
        let text = Self.uplink.replacing(
            #"run: { command: [nc, -z, 192.0.2.1, "443"], timeout: 1s }"#,
            with: "knock: { host: 192.0.2.1, port: 443, timeout: 1s }")
        let result = compile(text, effects: EffectSchema.builtin + [knock])
        #expect(result.partial.isEmpty)
        let feedback = try #require(result.graph?.systems.first?.feedbacks.first)
        #expect(feedback.effect == "knock")
        #expect(try feedback.arguments[0]?["port"]?.evaluate([]) == .int(443))
    }
}
