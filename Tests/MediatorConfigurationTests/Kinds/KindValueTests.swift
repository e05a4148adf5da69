import CommonExpression
import MediatorConfiguration
import Testing

extension `Instances of kinds` {
    @Test func `keep to themselves what a credential is by default`() throws {
        let system = try sampleDefinition(
            "system: a\nkind: speaker\nwith: { target: 15, key: !credential { name: key, default: s3cret } }\n")
        #expect(system.kind?.parameters.fields.last == .string("s3cret"))
        #expect(system.kind?.confidential == ["s3cret"])
    }

    @Test func `take values from elsewhere, and of templates`() throws {
        let values = ExternalValues(environment: { ["RAMP": "2s", "TARGET": "7"][$0] })
        let system = try sampleDefinition(
            "system: kitchen\nkind: speaker\nwith: { target: !env TARGET, ramp: !env RAMP, place: kitchen }\n",
            values: values)
        let fields = try #require(system.kind?.parameters.fields)
        #expect(fields[0] == .int(7))
        #expect(fields[2] == TimeSpan(text: "2s").map { .optional(.duration($0)) })
        let template = """
            system: speaker@
            parameters: { target: int, place: { type: string, default: "${instance}" } }
            kind: speaker
            with: { target: "${parameters.target + 1}", place: "${parameters.place}" }
            ---
            instances: { speaker@bath: { target: 3 } }

            """
        #expect(try sampleDefinition(template).kind?.parameters.fields[0] == .int(4))
        let wrong = compile(template.replacing("speaker@bath:", with: "speaker@hall:"), kinds: sampleKinds)
        #expect(wrong.diagnostics.map(\.code) == [.unknownChoice])
    }

    @Test func `may be given a credential, which their states may not`() throws {
        let text = "system: kitchen\nkind: speaker\nwith: { target: 1, key: !credential { name: k, default: none } }\n"
        #expect(try sampleDefinition(text).kind?.parameters.fields[4] == .string("none"))
    }

    @Test func `may be given one of several words from elsewhere, which is not told if it is wrong`() throws {
        let with = "with: { target: 1, place: !env PLACE }\n"
        let link = """
            ---
            buses: { b: { kind: passthrough, value: string, fromOutside: both } }
            links: { l: { attach: kitchen, to: b, emitEvent: { Source: { from: !env FROM } } } }

            """
        let text = "system: kitchen\nkind: speaker\n" + with + link
        func diagnostics(_ values: ExternalValues) -> [Diagnostic] {
            ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: sampleKinds, values: values
            ).diagnostics
        }
        #expect(diagnostics(ExternalValues(environment: { ["PLACE": "bath", "FROM": "disc"][$0] })).isEmpty)
        let wrong = diagnostics(ExternalValues(environment: { _ in "s3cret" }))
        #expect(wrong.map(\.code) == [.unknownChoice, .unknownChoice])
        #expect(wrong.allSatisfy { !$0.rendered().contains("s3cret") })
        #expect(wrong.first?.message == "'place' is 'kitchen' or 'bath', not that")
        let late = diagnostics(ExternalValues(environment: { ["PLACE": "bath", "FROM": "s3cret"][$0] }))
        #expect(late.map(\.message) == ["'from' is 'radio' or 'disc', not that"])
        // A check alone does not know the value.
        #expect(diagnostics(ExternalValues(environment: { _ in nil }, mayBeMissing: true)).isEmpty)
    }

    @Test func `are not shown what came from elsewhere by way of a template`() {
        let text = """
            system: s@
            parameters: { mode: string, port: uint }
            kind: server
            with: { peers: [{ modes: ["${parameters.mode}"], port: "${parameters.port}" }] }
            ---
            instances: { s@a: { mode: !env MODE, port: !env PORT } }

            """
        func result(_ values: ExternalValues) -> CompilationResult {
            ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: sampleKinds, values: values)
        }
        let wrong = result(ExternalValues(environment: { ["MODE": "hidden", "PORT": "70123"][$0] })).diagnostics
        #expect(wrong.map(\.code) == [.unknownChoice, .outOfRange])
        #expect(wrong.allSatisfy { !$0.rendered().contains("hidden") && !$0.rendered().contains("70123") })
        let right = result(ExternalValues(environment: { ["MODE": "fast", "PORT": "8080"][$0] }))
        #expect(right.graph?.systems.first?.kind?.confidential == ["fast", "8080"])
        // A check alone does not know the value.
        #expect(result(ExternalValues(environment: { _ in nil }, mayBeMissing: true)).diagnostics.isEmpty)
    }

    @Test(arguments: [false, true])
    func `are checked wherever a value was found`(mayBeMissing: Bool) {
        let text = """
            system: plain
            kind: server
            with: { port: !env PORT, more: [80, !env MISSING, !env PORT] }
            ---
            system: s@
            parameters: { mode: string, port: { type: uint, default: !env PORT } }
            kind: server
            with: { peers: [{ modes: ["${parameters.mode}"], port: "${parameters.port}" }] }
            ---
            instances: { s@a: { mode: !env MISSING } }

            """
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: sampleKinds,
            values: ExternalValues(
                environment: { ["PORT": "70123", "MISSING": mayBeMissing ? nil : "fast"][$0] ?? nil },
                mayBeMissing: mayBeMissing))
        // Among them, when it is not a number, what is missing.
        let ranges = result.diagnostics.filter { $0.code == .outOfRange }
        #expect(
            ranges.map { "\($0.location?.line ?? 0) \($0.message)" }
                == [
                    "3 'port' is between 0 and 65535, not that", "3 'more[2]' is between 0 and 65535, not that",
                    "8 'peers[0].port' is between 0 and 65535, not that (for 's@a')",
                ].filter { mayBeMissing || !$0.contains("more") })
        #expect(result.diagnostics.allSatisfy { !$0.rendered().contains("70123") })
        #expect(result.diagnostics.filter { $0.code == .unknownChoice } == [])
    }

    @Test func `are shown what is written, and nothing that is made of what comes from elsewhere`() throws {
        let text = """
            system: s@
            parameters: { mode: string, one: { type: uint, default: !env ONE } }
            kind: server
            with:
              port: "${70000u + 123u}"
              more: ["${parameters.one + 70000u}"]
              peers: [{ modes: ["${parameters.mode}", "${parameters.mode.substring(0, 4)}x"], port: 1 }]
            ---
            instances: { s@a: { mode: !env MODE }, s@b: { mode: fastt } }

            """
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: sampleKinds,
            values: ExternalValues(environment: { ["MODE": "hidden and fast", "ONE": "1"][$0] }))
        #expect(
            result.diagnostics.map(\.message) == [
                "'port' is between 0 and 65535, not 70123 (for 's@a')",
                "'more[0]' is between 0 and 65535, not that (for 's@a')",
                "'peers[0].modes[0]' is 'fast' or 'slow', not 'fastt' (for 's@b')",
                "'peers[0].modes[0]' is 'fast' or 'slow', not that (for 's@a')",
                "'peers[0].modes[1]' is 'fast' or 'slow', not 'fastx' (for 's@b')",
                "'peers[0].modes[1]' is 'fast' or 'slow', not that (for 's@a')",
            ])
        #expect(result.diagnostics.allSatisfy { !$0.rendered().contains("hidd") })
        let given = """
            system: speaker@
            parameters: { key: string, note: string }
            kind: speaker
            with: { target: 1, place: kitchen, key: "${parameters.key}" }
            ---
            instances:
              speaker@a: { key: !env KEY, note: kitchen }
              speaker@b: { key: hidden, note: !env KEY }

            """
        func confidential(_ text: String) -> [Set<String>]? {
            ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: sampleKinds,
                values: ExternalValues(environment: { ["KEY": "hidden"][$0] })
            ).graph?.systems.compactMap { $0.kind?.confidential }
        }
        #expect(confidential(given) == [["hidden"], []])
        let part = given.replacing("parameters.key}", with: "parameters.key.substring(0, 3)}")
        #expect(confidential(part) == [["hid"], []])
        // Of the whole nobody knows which part is meant.
        let whole = given.replacing("parameters.key}", with: "[parameters].map(p, p.key)[0]}")
        #expect(confidential(whole) == [["hidden"], ["hidden"]])
    }

    @Test func `have another fingerprint when the same is to be hidden`() throws {
        let text = "system: kitchen\nkind: speaker\nwith: { target: 1, key: abc }\n"
        let values = ExternalValues(environment: { ["KEY": "abc"][$0] })
        let written = try sampleDefinition(text)
        let hidden = try sampleDefinition(text.replacing("abc", with: "!env KEY"), values: values)
        #expect(written.kind?.parameters == hidden.kind?.parameters)
        #expect(written.fingerprint != hidden.fingerprint)
    }
}
