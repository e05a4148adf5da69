import MediatorConfiguration
import Testing

/// The output for a feedback and a link of an instance.
@Suite struct `The summary of an instance` {
    private let text = """
        system: uplink@
        parameters:
          gateway: string
          period: { type: duration, default: 30s }
          limit: { type: int, default: 90 }
          token: { type: string, default: none }
        states: { Up: {}, Down: { host: string } }
        events: { Lost: { note: string }, Found: {} }
        fromOutside: any
        initialState: Up
        feedbacks:
          probe:
            onState: Up
            every: "${parameters.period}"
            run: [ping, "${parameters.gateway}", "-I${instance}", "${ parameters.gateway }:${parameters.token}", "$${parameters.gateway}"]
          disk:
            onState: any
            filesystem: { path: /, every: 1m, above: "${parameters.limit}" }
            onAbove: { Lost: { note: "at ${parameters.limit} %" } }
          note: { onState: Down, log: "${state.host} ${parameters.gateway + '!'}" }
        transitions: { Up: { Lost: { to: Down, set: { host: "${parameters.gateway}" } } }, Down: { Found: Up } }
        ---
        instances: { uplink@a: { gateway: 192.0.2.1, token: !env TOKEN } }
        buses: { b: { kind: passthrough, value: string, fromOutside: read } }
        links: { tell: { attach: uplink@a, to: b, onState: Down, emitValue: "${state.host}" } }

        """

    @Test func `has the values of its parameters, and not those that come from elsewhere`() throws {
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)],
            values: ExternalValues(environment: { ["TOKEN": "s3cret"][$0] }))
        let system = try #require(result.graph?.systems.first { $0.name == "uplink@a" })
        #expect(
            system.feedbacks.map(\.summary) == [
                "every 30s: run [ping, \"192.0.2.1\", \"-Ia\", \"192.0.2.1:${parameters.token}\", "
                    + "\"$${parameters.gateway}\"]",
                // A number has no quotes.
                "filesystem { path: /, every: 1m, above: 90 }",
                // More than a name stays as it is written.
                "log \"${state.host} ${parameters.gateway + '!'}\"",
            ])
    }

    @Test func `has lists, numbers and durations as one writes them, without quotes around them`() throws {
        let text = """
            system: check@
            parameters: { command: "list(string)", pause: duration, count: int }
            states: { A: {} }
            events: { E: {} }
            fromOutside: any
            initialState: A
            feedbacks:
              f:
                onState: A
                every: "${parameters.pause}"
                run: { command: "${parameters.command}", maxOutput: "${parameters.count}", timeout: 5s }
                onSuccess: E
            transitions: { A: { E: stay } }
            ---
            instances: { check@a: { command: [test, -e, x], pause: 90s, count: 100 } }

            """
        let system = try #require(compile(text).graph?.systems.first)
        #expect(
            system.feedbacks.map(\.summary) == [
                #"every 1m30s: run { command: ["test", "-e", "x"], maxOutput: 100, timeout: 5s }"#
            ])
    }
}
