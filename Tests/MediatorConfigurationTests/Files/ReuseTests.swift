import CommonExpression
import MediatorConfiguration
import Testing
import TestSupport

@Suite struct `What was compiled before` {
    /// By path, the variants of a file: sound ones, and broken ones that concern only it or other files, too.
    private static let variants: [(path: String, texts: [String])] = [
        (
            "a-buses.yaml",
            [
                """
                buses:
                  level: { kind: currentValue, value: int, initial: 0, fromOutside: both, persist: false }
                  "word@*": { for: pump@*, kind: passthrough, value: string, fromOutside: both }
                """,
                "buses: { level: { kind: currentValue, value: int, initial: !env LEVEL, fromOutside: both } }",
                """
                buses:
                  added: { kind: passthrough, value: string, fromOutside: both }
                  level: { kind: currentValue, value: string, initial: none, fromOutside: both }
                """,
                "buses: [level]",
            ]
        ),
        (
            "b-lamp.yaml",
            [
                """
                system: lamp
                states: { Off: {}, On: { times: int } }
                events: { Switch: { reason: string } }
                initialState: Off
                fromOutside: any
                persist: none
                transitions:
                  Off: { Switch: { to: On, set: { times: 1 } } }
                  On: { Switch: Off }
                """,
                """
                system: lamp
                states: { On: { times: int }, Off: {} }
                events: { Switch: { reason: string } }
                initialState: Off
                fromOutside: any
                transitions: { Off: { Switch: { to: On, set: { times: !env TIMES } } }, On: { Switch: Off } }
                """,
                """
                system: lamp
                states: { Off: {}, On: { times: double } }
                events: { Toggle: {} }
                initialState: Off
                transitions: { Off: { Toggle: { to: On, set: { times: many } } } }
                """,
                "system: lamp\nstates: [\n",
            ]
        ),
        (
            "c-pump.yaml",
            [
                """
                system: pump@
                parameters: { most: { type: int, default: 5 } }
                states: { Idle: {}, Busy: { load: int } }
                events: { Begin: {}, End: {} }
                initialState: Idle
                fromOutside: any
                persist: none
                transitions:
                  Idle: { Begin: { to: Busy, set: { load: "${parameters.most}" } } }
                  Busy: { End: Idle }
                """,
                """
                system: pump@
                parameters: { most: { type: int, default: !env MOST } }
                states: { Idle: {}, Busy: { load: int } }
                events: { Begin: {}, End: {} }
                initialState: Idle
                fromOutside: any
                transitions: { Idle: { Begin: { to: Busy, set: { load: "${parameters.most + 1}" } } }, Busy: { End: Idle } }
                """,
                """
                system: pump@
                states: { Idle: {}, Busy: {} }
                events: { Begin: {} }
                initialState: Idel
                transitions: { Idle: { Begin: Busy } }
                """,
            ]
        ),
        (
            "d-instances.yaml",
            [
                "instances: { pump@one: {}, pump@two: { most: 2 } }",
                "instances: { pump@one: { most: !env MOST }, pump@three: { most: x } }",
                "instances: { pump@two: {}, pump@three: {}, pmp@one: {} }",
                "instances: { pump@two: { most: 2 } }",
            ]
        ),
        (
            "e-links.yaml",
            [
                """
                links:
                  light: { attach: lamp, to: level, onState: { On: {} }, emitValue: "${state.times}" }
                  start: { attach: pump@*, to: level, when: value > 3, emitEvent: Begin }
                  stop: { attach: pump@*, toSystem: lamp, onState: Idle, emitEvent: { Switch: { reason: "${instance}" } } }
                """,
                """
                links:
                  light: { attach: lamp, to: level, onState: On, emitValue: !env LEVEL }
                  start: { attach: pump@one, to: level, onValue: !env LEVEL, emitEvent: Begin }
                  word: { attach: pump@*, to: word@*, onState: any, emitValue: "${instance}" }
                """,
                """
                links:
                  light: { attach: lamp, to: level, onState: On, when: "true", emitValue: 1 }
                  start: { attach: pump@*, to: levl, onValue: 1, emitEvent: Begn }
                """,
            ]
        ),
        (
            "f-again.yaml",
            [
                "# nothing\n",
                "system: other\nstates: { A: { n: int } }\nevents: {}\ninitialState: { A: { n: !env TIMES } }\n",
                "system: lamp\nstates: { A: {}, B: {} }\nevents: {}\ninitialState: A\n",
                """
                links:
                  round: { attach: lamp, toSystem: lamp, onState: any, emitEvent: { Switch: { reason: again } } }
                  light: { attach: lamp, to: level, onState: Off, emitValue: 0 }
                """,
                "a: &a [*a]\n",
            ]
        ),
    ]

    @Test(arguments: 0..<8 * soakFactor)
    func `changes nothing of what comes out`(seed: Int) {
        var random = Random(state: UInt64(seed))
        var chosen = Self.variants.map { _ in 0 }
        var environment = ["LEVEL": "1", "TIMES": "1", "MOST": "4"]
        var values = ExternalValues(environment: { [environment] in environment[$0] }).remembering()
        var parts = CompiledParts()
        var graphs = 0
        for _ in 0..<40 {
            for _ in 0...Int.random(in: 0...1, using: &random) {
                let file = Int.random(in: chosen.indices, using: &random)
                // Sound variants are more frequent than broken ones. Sometimes there is no file.
                chosen[file] = Int.random(in: 0..<3, using: &random) > 0 ? 0 : Int.random(in: -1..<5, using: &random)
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                environment[["LEVEL", "TIMES", "MOST"].randomElement(using: &random) ?? ""] =
                    ["1", "2", "x", nil].randomElement(using: &random) ?? nil
                values = ExternalValues(environment: { [environment] in environment[$0] }).remembering()
            } else if Bool.random(using: &random) {
                values = values.branch()
            }
            let files = zip(Self.variants, chosen).compactMap { file, index -> ConfigurationFile? in
                index < 0 ? nil : ConfigurationFile(path: file.path, text: file.texts[index % file.texts.count])
            }
            func compiled(_ parts: CompiledParts) -> CompilationResult {
                ConfigurationCompiler.compile(
                    files: files, effects: EffectSchema.builtin, values: values, unreadable: [], now: nil,
                    reusing: parts)
            }
            let anew = compiled(CompiledParts())
            let again = compiled(parts)
            #expect(again.diagnostics == anew.diagnostics, "\(chosen) \(environment)")
            #expect(digest(of: again.graph) == digest(of: anew.graph), "\(chosen) \(environment)")
            #expect(again.unavailable == anew.unavailable)
            if anew.graph != nil { graphs += 1 }
            parts = again.parts
        }
        #expect(graphs > 0)
    }

    @Test func `is used for files that have not changed and for links between their systems`() {
        var files = zip(Self.variants, [0, 0, 0, 0, 0]).map { ConfigurationFile(path: $0.path, text: $0.texts[$1]) }
        func compiled(_ parts: CompiledParts) -> CompilationResult {
            ConfigurationCompiler.compile(
                files: files, effects: EffectSchema.builtin, values: .none, unreadable: [], now: nil, reusing: parts)
        }
        let first = compiled(CompiledParts())
        #expect(first.diagnostics.isEmpty)
        #expect(first.parts.shared(with: compiled(first.parts).parts) == .init(files: 5, instances: 2, links: 5))
        files[1].contents += Array("# another comment\n".utf8)
        // The links at the lamp are compiled again.
        #expect(first.parts.shared(with: compiled(first.parts).parts) == .init(files: 4, instances: 2, links: 2))
        files[2].contents += Array("# another comment\n".utf8)
        #expect(first.parts.shared(with: compiled(first.parts).parts) == .init(files: 3, instances: 0, links: 0))
    }

    @Test func `is forgotten when most of it is of types that there are no more`() {
        var parts = CompiledParts()
        var anew = 0
        for number in 0..<1_300 {
            let files = [
                ConfigurationFile(path: "a.yaml", text: Self.variants[1].texts[0]),
                ConfigurationFile(
                    path: "b.yaml",
                    text:
                        "system: b\nstates: { A: { f\(number): int } }\nevents: {}\ninitialState: { A: { f\(number): 1 } }\n"
                ),
            ]
            let result = ConfigurationCompiler.compile(
                files: files, effects: EffectSchema.builtin, values: .none, unreadable: [], now: nil, reusing: parts)
            #expect(result.graph != nil)
            if result.parts.shared(with: parts).files == 0 { anew += 1 }
            parts = result.parts
        }
        // Once at first, and once after the cache was dropped.
        #expect(anew == 2)
    }

    @Test func `is not used for a link of which there was more to be said than is shown`() {
        let count = ConfigurationLimits.diagnostics + 2
        let links = (0..<count).map { "  l\($0): { attach: s, to: b, when: 1 == 1, emitEvent: E }\n" }.joined()
        let file = ConfigurationFile(
            path: "a.yaml",
            text: """
                system: s
                states: { A: {} }
                events: { E: {} }
                initialState: A
                transitions: { A: { E: stay } }
                ---
                buses: { b: { kind: passthrough, value: int, fromOutside: write } }
                links:
                \(links)
                """)
        func compiled(_ parts: CompiledParts) -> CompilationResult {
            ConfigurationCompiler.compile(
                files: [file], effects: EffectSchema.builtin, values: .none, unreadable: [], now: nil, reusing: parts)
        }
        let first = compiled(CompiledParts())
        #expect(first.diagnostics.count == ConfigurationLimits.diagnostics + 1)
        let second = compiled(first.parts)
        #expect(first.parts.shared(with: second.parts).links == 0)
        #expect(second.diagnostics == first.diagnostics)
    }

    @Test func `is not used where a side effect or a kind is another`() {
        let file = ConfigurationFile(path: "a.yaml", text: Self.variants[1].texts[0])
        func compiled(_ kinds: [SystemKind], _ parts: CompiledParts) -> CompilationResult {
            ConfigurationCompiler.compile(
                files: [file], effects: EffectSchema.builtin, kinds: kinds, values: .none, unreadable: [], now: nil,
                reusing: parts)
        }
        let first = compiled([], CompiledParts())
        let kind = SystemKind(name: "speaker", states: [SystemKind.Record(name: "Idle")])
        #expect(first.parts.shared(with: compiled([], first.parts).parts).files == 1)
        #expect(first.parts.shared(with: compiled([kind], first.parts).parts).files == 0)
    }
}
