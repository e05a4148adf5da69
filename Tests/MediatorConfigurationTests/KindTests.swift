import CommonExpression
import MediatorConfiguration
import Testing

/// The kinds of a daemon.
private let kinds = [
    SystemKind(
        name: "speaker",
        parameters: [
            .init(field: .init(name: "target", type: .int)),
            .init(field: .init(name: "volume", type: .int), default: .int(10)),
            .init(field: .init(name: "ramp", type: .optional(.duration))),
            .init(
                field: .init(name: "place", type: .string, rule: .words(["kitchen", "bath"])), default: .string("bath")),
            .init(field: .init(name: "key", type: .string), default: .string("")),
        ],
        states: [
            .init(
                name: "Playing",
                fields: [
                    .init(name: "volume", type: .int), .init(name: "title", type: .optional(.string)),
                    .init(name: "size", type: .structure(.init(name: "", fields: [.init(name: "x", type: .int)]))),
                ]),
            .init(name: "Muted"),
        ],
        events: [
            .init(
                name: "Louder", fields: [.init(name: "by", type: .int), .init(name: "why", type: .optional(.string))]),
            .init(name: "Mute"),
            .init(name: "Source", fields: [.init(name: "from", type: .string, rule: .words(["radio", "disc"]))]),
            .init(
                name: "Resize",
                fields: [.init(name: "size", type: .structure(.init(name: "", fields: [.init(name: "x", type: .int)])))]
            ),
        ]),
    SystemKind(name: "timer", states: [.init(name: "Running")]),
    SystemKind(
        name: "server",
        parameters: [
            .init(field: .init(name: "port", type: .uint, rule: port), default: .uint(80)),
            .init(field: .init(name: "more", type: .list(.uint), rule: .each(port)), default: .list([])),
            .init(
                field: .init(name: "named", type: .map(key: .string, value: .uint), rule: .each(port)),
                default: .map([:])),
            .init(
                field: .init(name: "peers", type: .list(.structure(peer)), rule: .each(peerRule)), default: .list([])),
            .init(field: .init(name: "level", type: .int, rule: .numbers([1, 2])), default: .int(1)),
            .init(field: .init(name: "id", type: .optional(.string), rule: .uuid)),
        ],
        states: [.init(name: "Serving", fields: [.init(name: "mode", type: .string, rule: mode)])],
        events: [
            .init(
                name: "Peer",
                fields: [
                    .init(name: "peer", type: .structure(peer), rule: peerRule),
                    .init(name: "offset", type: .optional(.int), rule: .range(-128...127)),
                ])
        ]),
]

private let port = ValueRule.range(0...65_535)
private let mode = ValueRule.words(["fast", "slow"])
private let peer = StructureType(
    name: "", fields: [.init(name: "modes", type: .list(.string)), .init(name: "port", type: .uint)])
private let peerRule = ValueRule.fields(["modes": .each(mode), "port": port])

private let head = "system: kitchen\nkind: speaker\nwith: { target: 15 }\n"

private func definition(_ text: String, values: ExternalValues = .none) throws -> SystemDefinition {
    let result = ConfigurationCompiler.compile(
        files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: kinds, values: values)
    #expect(result.diagnostics.map { $0.rendered() } == [])
    return try #require(result.graph?.systems.first)
}

@Suite struct `Instances of kinds` {
    @Test func `have the parameters, states and events of the kind`() throws {
        let system = try definition(head + "ready: Playing\nunhandled: warn\nmailbox: { limit: 5 }\n")
        let instance = try #require(system.kind)
        #expect(instance.kind == "speaker")
        #expect(
            instance.parameters.fields == [.int(15), .int(10), .optional(nil), .string("bath"), .string("")])
        #expect(system.states.map(\.name) == ["Playing", "Muted"])
        #expect(system.events.map(\.name) == ["Louder", "Mute", "Source", "Resize"])
        #expect(system.readyStates == [0])
        #expect(system.mailbox.limit == 5)
    }

    @Test func `are described as their kind is, unless they say otherwise`() throws {
        func description(_ written: String) throws -> String? {
            let result = ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: "system: a\nkind: timer\n" + written)],
                kinds: [SystemKind(name: "timer", description: "Counts seconds.", states: [.init(name: "Running")])])
            return try #require(result.graph?.systems.first).description
        }
        #expect(try description("") == "Counts seconds.")
        #expect(try description("description: Boils eggs.\n") == "Boils eggs.")
    }

    @Test func `keep to themselves what a credential is by default`() throws {
        let system = try definition(
            "system: a\nkind: speaker\nwith: { target: 15, key: !credential { name: key, default: s3cret } }\n")
        #expect(system.kind?.parameters.fields.last == .string("s3cret"))
        #expect(system.kind?.confidential == ["s3cret"])
    }

    @Test func `say in words what their events must be`() throws {
        let events = try definition("system: a\nkind: server\n").events
        #expect(events[0].expectation(of: "peer") == "modes each 'fast' or 'slow', port between 0 and 65535")
        #expect(events[0].expectation(of: "offset") == "between -128 and 127")
        #expect(events[0].expectation(of: "else") == nil)
        #expect(try definition(head).events[0].expectation(of: "by") == nil)
        #expect(ValueRule.range(5...(.max)).text == "at least 5")
        #expect(ValueRule.range(.min...5).text == "at most 5")
        #expect(ValueRule.uuid.text == "a UUID")
    }

    @Test func `take values from elsewhere, and of templates`() throws {
        let values = ExternalValues(environment: { ["RAMP": "2s", "TARGET": "7"][$0] })
        let system = try definition(
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
        #expect(try definition(template).kind?.parameters.fields[0] == .int(4))
        let wrong = compile(template.replacing("speaker@bath:", with: "speaker@hall:"), kinds: kinds)
        #expect(wrong.diagnostics.map(\.code) == [.unknownChoice])
    }

    @Test func `may be given a credential, which their states may not`() throws {
        let text = "system: kitchen\nkind: speaker\nwith: { target: 1, key: !credential { name: k, default: none } }\n"
        #expect(try definition(text).kind?.parameters.fields[4] == .string("none"))
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
                files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: kinds, values: values
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
                files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: kinds, values: values)
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
            files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: kinds,
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
            files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: kinds,
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
                files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: kinds,
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
        let written = try definition(text)
        let hidden = try definition(text.replacing("abc", with: "!env KEY"), values: values)
        #expect(written.kind?.parameters == hidden.kind?.parameters)
        #expect(written.fingerprint != hidden.fingerprint)
    }

    @Test func `are linked by templates too, whose mistakes are told once`() throws {
        func text(_ field: String) -> String {
            """
            system: speaker@
            parameters: { target: int, place: { type: string, default: kitchen } }
            kind: speaker
            with: { target: "${parameters.target}", place: "${parameters.place}" }
            feedbacks:
              tell: { onState: Playing, when: state.volume > parameters.target, log: "${instance}" }
            ---
            instances: { speaker@a: { target: 1 }, speaker@b: { target: 2 } }
            buses: { volumes: { kind: passthrough, value: int, fromOutside: both } }
            links:
              tell: { attach: speaker@*, to: volumes, onState: Playing, emitValue: "${state.\(field)}" }
              turn: { attach: speaker@*, to: volumes, when: value == parameters.target, emitEvent: { Louder: { by: 1 } }, loop: { limit: 1 per 1s } }

            """
        }
        let result = compile(text("volume"), kinds: kinds)
        #expect(result.partial.map { $0.rendered() } == [])
        #expect(result.graph?.links.map(\.name) == ["tell@a", "tell@b", "turn@a", "turn@b"])
        let wrong = compile(text("volum"), kinds: kinds)
        #expect(wrong.diagnostics.map(\.code) == [.unknownField])
    }

    @Test func `are changed by drop-ins`() throws {
        var file = ConfigurationFile(path: "a.yaml", text: head)
        file.dropIns = [
            ConfigurationFile(path: "a.yaml.d/10.yaml", text: "system: kitchen\nwith: { volume: 3 }\n")
        ]
        let result = ConfigurationCompiler.compile(files: [file], kinds: kinds)
        #expect(result.graph?.systems.first?.kind?.parameters.fields.prefix(2) == [.int(15), .int(3)])
    }

    @Test func `are linked by their fields, optional and nested ones too`() throws {
        let result = compile(
            head + """
                feedbacks:
                  tell: { onState: Playing, when: "state.title.orValue('') != ''", log: "${string(state.volume)}" }
                ---
                buses:
                  titles: { kind: currentValue, value: string, initial: none, fromOutside: both }
                links:
                  a: { attach: kitchen, to: titles, onState: Playing, when: state.title.hasValue(), emitValue: "${state.title.value()} ${state.size.x}", loop: { limit: 1 per 1s } }
                  b: { attach: kitchen, to: titles, onValue: none, emitEvent: { Louder: { by: 1 } } }
                  c: { attach: kitchen, to: titles, when: value == "x", emitEvent: { Louder: { by: 1, why: "${value}" } } }
                  d: { attach: kitchen, to: titles, onValue: y, emitEvent: { Louder: { by: 1, why: null } } }
                  e: { attach: kitchen, to: titles, onValue: z, emitEvent: { Source: { from: radio } } }
                  f: { attach: kitchen, to: titles, onValue: z, emitEvent: { Resize: { size: { x: 3 } } } }

                """, kinds: kinds)
        #expect(result.partial.map { $0.rendered() } == [])
        guard case .busToSystem(_, _, let event)? = result.graph?.links[2].form else {
            Issue.record("the link is another")
            return
        }
        let now = Value.timestamp(try #require(Timestamp(seconds: 0, nanoseconds: 0)))
        guard case .structure(let data) = try event.data.evaluate([.string("x"), now]) else { return }
        #expect(data.fields == [.int(1), .optional(.string("x"))])
    }

    @Test func `pass an optional value on as it is`() throws {
        let result = compile(
            head + """
                ---
                links:
                  a: { attach: kitchen, toSystem: kitchen, onState: Playing, loop: { limit: 1 per 1s }, emitEvent: { Louder: { by: 1, why: "${state.title}" } } }

                """, kinds: kinds)
        #expect(result.partial.map { $0.rendered() } == [])
    }

    @Test func `may go from any state to any other, as far as loops are concerned`() {
        let result = compile(
            head + "---\nlinks: { a: { attach: kitchen, toSystem: kitchen, onState: Muted, emitEvent: Mute } }\n",
            kinds: kinds)
        #expect(result.diagnostics.map(\.code) == [.loop])
    }

    @Test func `may make several events of one, as far as loops are concerned`() {
        // A lamp needs two presses for each time that it is lit.
        func codes(_ link: String) -> [Diagnostic.Code] {
            compile(
                """
                system: t
                kind: timer
                ---
                \(head)---
                system: lamp
                states: { Off: {}, On: {} }
                events: { Press: {} }
                fromOutside: any
                initialState: Off
                transitions: { Off: { Press: On }, On: { Press: Off } }
                ---
                links:
                  press: { attach: kitchen, toSystem: lamp, onState: Muted, emitEvent: Press }
                  \(link)

                """, kinds: kinds
            ).diagnostics.map(\.code)
        }
        #expect(codes("lit: { attach: lamp, toSystem: kitchen, onState: On, emitEvent: Mute }") == [.loop])
        #expect(codes("lit: { attach: lamp, toSystem: lamp, onState: On, emitEvent: Press }") == [])
        #expect(codes("timer: { attach: t, toSystem: kitchen, onState: Running, emitEvent: Mute }") == [])
    }

    @Test func `have another fingerprint when they are given something else, and only then`() throws {
        let first = try definition(head).fingerprint
        #expect(try definition(head + "description: of no matter\n").fingerprint == first)
        #expect(
            try definition("system: kitchen\nkind: speaker\nwith: { volume: 10, target: 15 }\n").fingerprint == first)
        #expect(try definition("system: kitchen\nkind: speaker\nwith: { target: 16 }\n").fingerprint != first)
        #expect(try definition("system: kitchen\nkind: timer\n").fingerprint != first)
    }

    @Test(arguments: mistakes) func `are told their mistakes`(mistake: Mistake) { mistake.check(kinds: kinds) }

    static let mistakes = [
        Mistake(
            "an unknown kind", "system: kitchen\nkind: speeker\nwith: { x: 1 }\n",
            """
            a.yaml:2:7: error: there is no kind of systems 'speeker' [unknown-kind]
              kind: speeker
                    ^~~~~~~
              hint: did you mean 'speaker'?
            """),
        Mistake(
            "unknown, missing and mistyped parameters",
            "system: a\nkind: speaker\nwith: { volume: loud, plaec: bath, ramp: 5 }\n---\nsystem: b\nkind: speaker\n",
            """
            a.yaml:3:17: error: the parameter 'volume' is of type int, but 'loud' is text [wrong-type]
              with: { volume: loud, plaec: bath, ramp: 5 }
                              ^~~~
            a.yaml:3:23: error: 'speaker' has no parameter 'plaec' [unknown-parameter]
              with: { volume: loud, plaec: bath, ramp: 5 }
                                    ^~~~~
              hint: did you mean 'place'?
            a.yaml:3:42: error: the parameter 'ramp' is of type duration, but 5 is a number [wrong-type]
              with: { volume: loud, plaec: bath, ramp: 5 }
                                                       ^
              hint: write a number and a unit, such as 5s, 200ms or 1h30m
            a.yaml:6:7: error: 'speaker' needs the parameter 'target' [missing-parameter]
              kind: speaker
                    ^~~~~~~
              hint: its parameters are { target: int, volume: int, ramp: optional(duration), place: string, key: string }
            """),
        Mistake(
            "a parameter that varies, and a word that is none",
            "system: a\nkind: speaker\nwith: { target: \"${int(now)}\", place: hall }\n",
            """
            a.yaml:3:24: error: only a fixed value can stand here, and 'now' varies [not-constant]
              with: { target: "${int(now)}", place: hall }
                                     ^~~
              hint: write the value itself
            a.yaml:3:39: error: 'place' is 'kitchen' or 'bath', not 'hall' [unknown-choice]
              with: { target: "${int(now)}", place: hall }
                                                    ^~~~
            """),
        Mistake(
            "unknown states, events, fields and words",
            head + """
                ready: Playin
                ---
                buses: { b: { kind: passthrough, value: string, fromOutside: both } }
                links:
                  a: { attach: kitchen, to: b, onState: Mutd, emitValue: x }
                  b: { attach: kitchen, to: b, onValue: x, emitEvent: Loudr }
                  c: { attach: kitchen, to: b, onState: Playing, emitValue: "${state.volum}" }
                  d: { attach: kitchen, to: b, onValue: x, emitEvent: { Source: { from: raido } } }

                """,
            """
            a.yaml:4:8: error: 'kitchen' has no state 'Playin' [unknown-state]
              ready: Playin
                     ^~~~~~
              hint: did you mean 'Playing'?
            a.yaml:8:41: error: 'kitchen' has no state 'Mutd' [unknown-state]
                a: { attach: kitchen, to: b, onState: Mutd, emitValue: x }
                                                      ^~~~
              hint: did you mean 'Muted'?
            a.yaml:9:55: error: 'kitchen' has no event 'Loudr' [unknown-event]
                b: { attach: kitchen, to: b, onValue: x, emitEvent: Loudr }
                                                                    ^~~~~
              hint: did you mean 'Louder'?
            a.yaml:10:70: error: 'state' (Playing) has no field 'volum' [unknown-field]
                c: { attach: kitchen, to: b, onState: Playing, emitValue: "${state.volum}" }
                                                                                   ^~~~~
              hint: did you mean 'volume'?
            a.yaml:11:73: error: 'from' is 'radio' or 'disc', not 'raido' [unknown-choice]
                d: { attach: kitchen, to: b, onValue: x, emitEvent: { Source: { from: raido } } }
                                                                                      ^~~~~
              hint: did you mean 'radio'?
            """),
        Mistake(
            "numbers out of range, words that are none, in structures, lists and maps",
            """
            system: a
            kind: server
            with:
              port: 70000
              more: [1, 65536]
              named: { http: 80, odd: 99999 }
              peers: [{ modes: [fast], port: 1 }, { modes: [slow, fats], port: 65536 }]
              level: 3
              id: 6f1c0a52

            """,
            """
            a.yaml:4:9: error: 'port' is between 0 and 65535, not 70000 [out-of-range]
                port: 70000
                      ^~~~~
            a.yaml:5:13: error: 'more[1]' is between 0 and 65535, not 65536 [out-of-range]
                more: [1, 65536]
                          ^~~~~
            a.yaml:6:27: error: 'named.odd' is between 0 and 65535, not 99999 [out-of-range]
                named: { http: 80, odd: 99999 }
                                        ^~~~~
            a.yaml:7:55: error: 'peers[1].modes[1]' is 'fast' or 'slow', not 'fats' [unknown-choice]
                peers: [{ modes: [fast], port: 1 }, { modes: [slow, fats], port: 65536 }]
                                                                    ^~~~
              hint: did you mean 'fast'?
            a.yaml:7:68: error: 'peers[1].port' is between 0 and 65535, not 65536 [out-of-range]
                peers: [{ modes: [fast], port: 1 }, { modes: [slow, fats], port: 65536 }]
                                                                                 ^~~~~
            a.yaml:8:10: error: 'level' is 1 or 2, not 3 [unknown-choice]
                level: 3
                       ^
            a.yaml:9:7: error: 'id' is a UUID, not '6f1c0a52' [wrong-type]
                id: 6f1c0a52
                    ^~~~~~~~
              hint: write one such as 6f1c0a52-3b1e-4c0e-9a7d-2f8e5d1b9c34
            """),
        Mistake(
            "what a link or a feedback emits, beside what is computed",
            """
            system: a
            kind: server
            feedbacks:
              f: { onState: { Serving: { mode: fsat } }, after: 1s, log: x }
              g: { onState: Serving, after: 1s, emit: { Peer: { peer: { modes: [], port: 70000 } } } }
            ---
            buses: { b: { kind: passthrough, value: uint, fromOutside: both } }
            links:
              l: { attach: a, to: b, emitEvent: { Peer: { peer: { modes: [slwo], port: "${value}" }, offset: 128 } } }

            """,
            """
            a.yaml:4:36: error: 'mode' is 'fast' or 'slow', not 'fsat' [unknown-choice]
                f: { onState: { Serving: { mode: fsat } }, after: 1s, log: x }
                                                 ^~~~
              hint: did you mean 'fast'?
            a.yaml:5:78: error: 'peer.port' is between 0 and 65535, not 70000 [out-of-range]
                g: { onState: Serving, after: 1s, emit: { Peer: { peer: { modes: [], port: 70000 } } } }
                                                                                           ^~~~~
            a.yaml:9:63: error: 'peer.modes[0]' is 'fast' or 'slow', not 'slwo' [unknown-choice]
                l: { attach: a, to: b, emitEvent: { Peer: { peer: { modes: [slwo], port: "${value}" }, offset: 128 } } }
                                                                            ^~~~
              hint: did you mean 'slow'?
            a.yaml:9:98: error: 'offset' is between -128 and 127, not 128 [out-of-range]
                l: { attach: a, to: b, emitEvent: { Peer: { peer: { modes: [slwo], port: "${value}" }, offset: 128 } } }
                                                                                                               ^~~
            """),
        Mistake(
            "a misspelt with", "system: a\nkind: speaker\nwiht: { target: 1 }\n",
            """
            a.yaml:3:1: error: a system has no key 'wiht' [unknown-key]
              wiht: { target: 1 }
              ^~~~
              hint: did you mean 'with'?
            """),
        Mistake(
            "a key like kind in a configured system",
            "system: a\nknid: speaker\nstates: { X: {} }\ninitialState: Y\n",
            """
            a.yaml:2:1: error: a system has no key 'knid' [unknown-key]
              knid: speaker
              ^~~~
              hint: did you mean 'kind'?
            a.yaml:4:15: error: 'a' has no state 'Y' [unknown-state]
              initialState: Y
                            ^
              hint: possible here: X
            """),
        Mistake(
            "what the kind says, said again", "system: a\nkind: timer\nstates: { X: {} }\ntransitions: {}\nwith: 3\n",
            """
            a.yaml:3:1: error: 'kind' and 'states' exclude each other: the kind says what is inside the system [conflicting-keys]
              states: { X: {} }
              ^~~~~~
              hint: leave 'states' out, or 'kind'
            a.yaml:4:1: error: 'kind' and 'transitions' exclude each other: the kind says what is inside the system [conflicting-keys]
              transitions: {}
              ^~~~~~~~~~~
              hint: leave 'transitions' out, or 'kind'
            a.yaml:5:7: error: 'with' must be a mapping, not a single value [wrong-shape]
              with: 3
                    ^
            """),
    ]
}

@Suite struct `A file of kinds` {
    @Test func `says everything there is to know of them`() throws {
        #expect(try KindFile(json: Array(KindFile(kinds).json().utf8)) == KindFile(kinds))
    }

    @Test func `keeps times and lengths of time`() throws {
        let time = try #require(Timestamp(rfc3339: "2026-11-21T10:00:00Z"))
        let span = try #require(TimeSpan(text: "1.5s"))
        let inner = StructureType(
            name: "", fields: [.init(name: "at", type: .timestamp), .init(name: "n", type: .double)])
        let kind = SystemKind(
            name: "k",
            parameters: [
                .init(field: .init(name: "a", type: .duration), default: .duration(span)),
                .init(field: .init(name: "b", type: .optional(.int)), default: .optional(nil)),
                .init(
                    field: .init(name: "c", type: .list(.structure(inner))),
                    default: .list([.structure(Structure(type: inner, fields: [.timestamp(time), .double(2)]))])),
                .init(
                    field: .init(name: "d", type: .map(key: .string, value: .uint)),
                    default: .map([.string("x"): .uint(3)])),
            ], states: [.init(name: "S")])
        #expect(try KindFile(json: Array(KindFile([kind]).json().utf8)).kinds == [kind])
    }

    @Test func `has side effects as they are`() throws {
        let effects = EffectSchema.builtin.filter { !$0.emitsDirectly && !$0.publishesDirectly }.map {
            $0.renamed("own")
        }
        let range = EffectSchema.Parameter(name: "share", type: .double, constraint: .number(0.5...2))
        let file = KindFile(kinds, effects: effects + [EffectSchema(name: "last", parameters: [range])])
        let text = try file.json()
        let read = try KindFile(json: Array(text.utf8))
        #expect(read == file)
        #expect(read.effects.count > 15)
        // And once more the same text.
        #expect(try read.json() == text)
    }

    @Test func `says of a result without words only that there is one`() throws {
        let point = StructureType(
            name: "point", fields: [.init(name: "x", type: .int), .init(name: "of", type: .bytes)])
        let odd = StructureType(name: "odd", fields: [.init(name: "content-type", type: .string)])
        let deep = (0..<12).reduce(ValueType.int) { type, _ in .list(type) }
        let result = StructureType(
            name: "result",
            fields: [
                .init(name: "raw", type: .bytes), .init(name: "points", type: .list(.structure(point))),
                .init(name: "odd", type: .structure(odd)), .init(name: "deep", type: deep),
            ])
        let effect = EffectSchema(name: "e", outcomes: [.init(name: "onDone", result: result)])
        let read = try #require(try KindFile(json: Array(KindFile([], effects: [effect]).json().utf8)).effects.first)
        #expect(
            read.outcomes.first?.result.fields.map { "\($0.name): \($0.type)" } == [
                "raw: bytes", "points: list({ x: int, of: bytes })", "odd: dyn", "deep: dyn",
            ])
    }

    @Test(arguments: [
        ValueType.dyn, .bytes, .map(key: .int, value: .string), .list(.bytes),
        .structure(StructureType(name: "", fields: [.init(name: "content-type", type: .string)])),
    ])
    func `a parameter is of a type that a configuration has words for`(type: ValueType) {
        let effect = EffectSchema(name: "e", parameters: [.init(name: "p", type: type)])
        #expect(effect.flaws.contains { $0.contains("'p' is of a type for which a configuration has no words") })
    }

    @Test(
        arguments: [
            (
                [.init(name: "p", type: .string, constraint: .whole(1...2))],
                "'p' has a constraint that says nothing of its type, string"
            ),
            (
                [.init(name: "p", type: .list(.string), constraint: .host)],
                "'p' has a constraint that says nothing of its type, list(string)"
            ),
            ([.init(name: "p", type: .uint, default: .uint(9), constraint: .whole(1...2))], "9u: must be from 1 to 2"),
            ([.init(name: "p", type: .double, default: .double(.nan))], ": must be a finite number"),
            ([.init(name: "p", type: .string, default: .string(""), allowsEmpty: false)], "must not be empty"),
            ([.init(name: "p", type: .string, default: .string("c"), choices: ["a", "b"])], "must be one of 'a', 'b'"),
            ([.init(name: "p", type: .string, upperBound: "p")], "has a bound, 'p', that it cannot be compared with"),
            (
                [.init(name: "p", type: .int, upperBound: "q"), .init(name: "q", type: .double)],
                "has a bound, 'q', that it cannot be compared with"
            ),
            (
                [
                    .init(name: "p", type: .int, default: .int(5), upperBound: "q"),
                    .init(name: "q", type: .int, default: .int(4)),
                ], "its defaults do not go together: the parameter 'p' must not exceed 'q'"
            ),
        ] as [([EffectSchema.Parameter], String)])
    func `what a parameter cannot be is said when it is declared`(parameters: [EffectSchema.Parameter], flaw: String) {
        let effect = EffectSchema(name: "e", parameters: parameters)
        #expect(effect.flaws.count == 1 && effect.flaws.allSatisfy { $0.contains(flaw) }, "\(effect.flaws)")
    }

    @Test func `a short form is not written as the parameters are`() {
        let type = ValueType.structure(StructureType(name: "", fields: [.init(name: "a", type: .int)]))
        let effect = EffectSchema(name: "e", parameters: [.init(name: "p", type: type)], shortForm: "p")
        #expect(effect.flaws == ["its short form, 'p', is written as a mapping, as its parameters are"])
    }

    @Test func `side effects and outcomes do not share a name`() {
        let result = StructureType(name: "result", fields: [])
        func clashes(_ name: String, _ outcome: String) -> [String] {
            let effect = EffectSchema(name: name, outcomes: [.init(name: outcome, result: result)])
            return EffectSchema.clashes(of: [effect], with: EffectSchema.builtin)
        }
        #expect(clashes("e", "onDone") == [])
        #expect(clashes("e", "run") == ["the side effect 'e': the outcome 'run' has the name of a side effect"])
        #expect(clashes("onSuccess", "onDone") == ["the side effect 'onSuccess' has the name of an outcome"])
        let file = #"{"kinds":[],"effects":[{"name":"e","outcomes":[{"name":"run"}]}]}"#
        #expect {
            try KindFile(json: Array(file.utf8))
        } throws: {
            "\($0)".contains("the outcome 'run' has the name of a side effect")
        }
    }

    @Test(arguments: [
        (#""whole""#, "'whole' is without its limits"),
        (#"{"whole":[1,2],"text":3}"#, "only one thing can be asked of a parameter"),
        (#"{"whole":[1,1e30]}"#, "a number that is out of range"),
    ])
    func `a demand that is half written is none that a newer daemon has`(constraint: String, problem: String) {
        let text =
            #"{"kinds":[],"effects":[{"name":"e","parameters":[{"name":"p","type":"int","constraint":"# + constraint
            + "}]}]}"
        #expect {
            try KindFile(json: Array(text.utf8))
        } throws: {
            "\($0)".contains(problem)
        }
    }

    @Test(
        arguments: [
            ("{ q: 1 }", "a.yaml:5:39", "must not exceed 'q'", "'p' is 5 where it is not written"),
            ("{ p: 7, q: 6 }", "a.yaml:5:39", "must not exceed 'q'", nil), ("{ q: 5 }", nil, "", nil),
            ("{ p: 1, q: 1 }", nil, "", nil),
        ] as [(String, String?, String, String?)])
    func `a default that does not go with what is written is told there`(
        arguments: String, place: String?, message: String, hint: String?
    ) {
        let effect = EffectSchema(
            name: "e",
            parameters: [
                .init(name: "p", type: .int, default: .int(5), upperBound: "q"), .init(name: "q", type: .int),
            ])
        let text = """
            system: s
            states: { A: {} }
            initialState: A
            feedbacks:
              f: { onState: A, every: 1s, e: \(arguments) }
            """
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], effects: EffectSchema.builtin + [effect])
        #expect((result.graph?.systems.count == 1) == (place == nil), "\(result.diagnostics)")
        let errors = result.diagnostics.filter { $0.severity == .error }
        #expect(errors.count == (place == nil ? 0 : 1))
        for error in errors {
            #expect(error.rendered().contains(place ?? ""), "\(error.rendered())")
            #expect(error.message.contains(message))
            #expect(error.hint == hint)
        }
    }

    @Test func `no time at all is out of a range as any other is`() {
        let effect = EffectSchema(
            name: "e",
            parameters: [.init(name: "wait", type: .duration, constraint: .time(.seconds(2)...(.seconds(60))))])
        for (wait, message) in [("0s", "from 2s to 1m"), ("1s", "from 2s to 1m"), ("2s", nil)] {
            let text =
                "system: s\nstates: { A: {} }\ninitialState: A\nfeedbacks: { f: { onState: A, e: { wait: \(wait) } } }\n"
            let result = ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)], effects: EffectSchema.builtin + [effect])
            let errors = result.diagnostics.filter { $0.severity == .error }
            #expect(errors.count == (message == nil ? 0 : 1), "\(errors)")
            #expect(errors.allSatisfy { $0.rendered().contains(message ?? "") }, "\(errors.map { $0.rendered() })")
        }
    }

    @Test func `what is optional may be null for an editor, also where it has a range`() {
        func schema(_ type: ValueType) -> String {
            let effect = EffectSchema(
                name: "e", parameters: [.init(name: "strokes", type: type, constraint: .whole(1...12))])
            let text = ConfigurationSchema(effects: EffectSchema.builtin + [effect]).text
            return String(text.split(separator: "\"strokes\"", maxSplits: 1).last?.prefix(300) ?? "")
        }
        #expect(schema(.int).contains("12") && !schema(.int).contains("null"), "\(schema(.int))")
        #expect(schema(.optional(.int)).contains("12") && schema(.optional(.int)).contains("null"))
    }

    @Test func `an editor is told how much a parameter may be, in words where a schema has none`() {
        func schema(_ parameter: EffectSchema.Parameter) -> String {
            let effect = EffectSchema(name: "e", parameters: [parameter])
            let text = ConfigurationSchema(effects: EffectSchema.builtin + [effect]).text
            return String(text.split(separator: "\"effect-e\"", maxSplits: 1).last?.prefix(500) ?? "")
        }
        let share = schema(.init(name: "p", type: .double, constraint: .number(0.25...2)))
        #expect(share.contains(#"{ "type": "number", "minimum": 0.25, "maximum": 2 }"#), "\(share)")
        let most = schema(.init(name: "p", type: .double, constraint: .number((-.infinity)...2)))
        #expect(most.contains(#"{ "type": "number", "maximum": 2 }"#), "\(most)")
        let wait = EffectSchema.Parameter(
            name: "p", summary: "how long it waits", type: .duration,
            constraint: .time(.milliseconds(1_500)...(.seconds(60))))
        #expect(schema(wait).contains("How long it waits. From 1.5s to 1m."), "\(schema(wait))")
        let text = EffectSchema.Parameter(name: "p", type: .string, constraint: .text(limit: 5))
        #expect(schema(text).contains(#""description": "At most 5 bytes long.""#), "\(schema(text))")
    }

    @Test(
        arguments: [
            (.whole(2...(.max)), .int(1), "must be at least 2"), (.whole(.min...2), .int(3), "must be at most 2"),
            (.number(0...(.infinity)), .double(-1), "must be at least 0.0"),
            (.time(.seconds(1)...(.seconds(Int64.max))), TimeSpan(.zero).map { .duration($0) }, "must be at least 1s"),
            (
                .time(.milliseconds(1_500)...(.seconds(90))), TimeSpan(.zero).map { .duration($0) },
                "must be from 1.5s to 1m30s"
            ),
        ] as [(EffectSchema.Parameter.Constraint, Value?, String)])
    func `a range with one end is told as such`(
        constraint: EffectSchema.Parameter.Constraint, value: Value?, message: String
    ) throws {
        #expect(constraint.problem(with: try #require(value)) == message)
    }

    @Test func `bounds that are none stay none`() throws {
        let parameters: [EffectSchema.Parameter] = [
            .init(name: "a", type: .double, constraint: .number(0...(.infinity))),
            .init(name: "b", type: .duration, constraint: .time(.seconds(1)...(.seconds(Int64.max)))),
            .init(name: "c", type: .duration, constraint: .time(.nanoseconds(1)...(.milliseconds(1_500)))),
        ]
        let file = KindFile([], effects: [EffectSchema(name: "e", parameters: parameters)])
        #expect(try KindFile(json: Array(file.json().utf8)) == file)
    }

    @Test func `what a newer daemon demands of a parameter is not looked at here`() throws {
        for constraint in [#""odd""#, #"{"odd":[1,2]}"#] {
            let text =
                #"{"kinds":[],"effects":[{"name":"e","parameters":[{"name":"p","type":"int","constraint":"#
                + constraint + "}]}]}"
            let read = try KindFile(json: Array(text.utf8))
            #expect(read.effects.first?.parameters.first?.constraint == nil)
        }
    }

    @Test func `a side effect that goes on and tells is for nothing without a rule, wherever it is told`() throws {
        let text = #"{"kinds":[],"effects":[{"name":"e","isLasting":true,"outcomes":[{"name":"onSeen"}]}]}"#
        #expect(try KindFile(json: Array(text.utf8)).effects.first?.onlyTells == true)
    }

    @Test func `a daemon has not more side effects of its own than a schema can tell`() throws {
        func text(_ count: Int) -> String {
            #"{"kinds":[],"effects":["# + (0..<count).map { #"{"name":"e\#($0)"}"# }.joined(separator: ",") + "]}"
        }
        #expect(try KindFile(json: Array(text(128).utf8)).effects.count == 128)
        let error = #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(text(129).utf8)) }
        #expect(error?.description == "it has more than 128 side effects")
    }

    @Test func `any text and any depth make a schema, soon`() throws {
        let effect = EffectSchema(
            name: "e", summary: "rings\tonce\u{1}, \"so\"",
            parameters: [.init(name: "p", type: (0..<6).reduce(ValueType.int) { type, _ in .list(type) })])
        let text = ConfigurationSchema(effects: EffectSchema.builtin + [effect]).text
        #expect(text.contains(#""Rings\u0009once\u0001, \"so\".""#))
    }

    @Test(arguments: [
        (#"{"name":"run"}"#, "every daemon has a side effect 'run'"),
        (#"{"name":"a b"}"#, "the side effect 'a b': 'a b' cannot name a side effect"),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"number"}]}"#,
            "effects[0].parameters[0].type: there is no type 'number'"
        ),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"int","default":"x"}]}"#,
            "effects[0].parameters[0].default: it is not of type int"
        ),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"dyn"}]}"#,
            "effects[0].parameters[0].type: there is no type 'dyn'"
        ),
        (#"{"name":"a","isProbe":true}"#, "it counts successes and failures, and has not what withThresholds() adds"),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"int","companion":"q"}]}"#,
            "has a companion, 'q', that is no parameter"
        ),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"int","constraint":{"whole":[2,1]}}]}"#,
            "of a range the lesser bound comes first"
        ),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"duration","constraint":{"time":["1h","x"]}}]}"#,
            "'x' is no length of time"
        ),
        (#"{"name":"a","shortForm":"p"}"#, "it speaks of the parameter 'p', which there is not"),
        (
            #"{"name":"a","outcomes":[{"name":"onDone","result":[{"name":"x"}]}]}"#,
            "effects[0].outcomes[0].result[0].type is missing"
        ),
    ])
    func `is refused where a side effect is wrong`(effect: String, message: String) {
        let text = #"{"kinds":[],"effects":["# + effect + "]}"
        let error = #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(text.utf8)) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ("", "it is not valid JSON, at line 1, column 1"), ("{}", "kinds is missing"),
        (
            #"{"version":2,"systems":[]}"#,
            "it is of version 2, and only version 1 is known here; take the mediatorctl of"
        ),
        (#"{"version":"x","kinds":[]}"#, "version: a number is expected"),
        (#"{"version":1.5,"kinds":[]}"#, "it is of version 1.5, and only"),
        (#"{"version":99999999999999999999,"kinds":[]}"#, "it is of version 1e+20, and only"),
        (#"{"kinds":{}}"#, "kinds: a list is expected"), (#"{"kinds":["a"]}"#, "kinds[0]: an object is expected"),
        (#"{"kinds":[{"name":1,"states":[]}]}"#, "kinds[0].name: a text is expected"),
        (#"{"kinds":[{"name":null,"states":[]}]}"#, "kinds[0].name: a text is expected"),
        ("[]", "the file: an object is expected"),
        (
            #"{"kinds":[],"effects":[{"name":"e","isLasting":"yes"}]}"#,
            "effects[0].isLasting: true or false is expected"
        ),
        (#"{"kinds":[{"name":"a"}]}"#, "kinds[0].states is missing"),
        (#"{"kinds":[{"name":"a","states":[]}]}"#, "the kind 'a': it has no state"),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"number"}]}]}]}"#,
            "kinds[0].states[0].fields[0].type: there is no type 'number'"
        ),
        (#"{"kinds":[{"name":"a","states":[{"name":"any"}]}]}"#, "'any' cannot name a state"),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S"},{"name":"S"}]}]}"#, "two states have the name 'S'"
        ),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S"}]},{"name":"a","states":[{"name":"S"}]}]}"#,
            "two kinds have the name 'a'"
        ),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"int","choices":["a"]}]}]}]}"#,
            "what the field 'x' must be does not fit its type int"
        ),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"int","minimum":2,"maximum":1}]}]}]}"#,
            "kinds[0].states[0].fields[0].maximum: it is less than the minimum"
        ),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"string","format":"url"}]}]}]}"#,
            "kinds[0].states[0].fields[0].format: there is no format 'url'"
        ),
        (
            #"{"kinds":[{"name":"a","parameters":[{"name":"p","type":"int","default":"x"}],"states":[{"name":"S"}]}]}"#,
            "kinds[0].parameters[0].default: it is not of type int"
        ),
    ])
    func `is refused where it is wrong`(text: String, message: String) {
        let error = #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(text.utf8)) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ("", 1, 1), ("{", 1, 2), ("{\n \"kinds\": [1,, 2]\n}", 2, 14), ("{\"kinds\": []\n}}", 2, 2),
        ("{\"kinds\": [[], {}, \"a\\\"b\", -1.5e+3, true, nul]}", 1, 46), ("{\"kinds\" []}", 1, 10), ("[1 2]", 1, 4),
        ("[[] 2]", 1, 5),
        (String(repeating: "[", count: 1_000), 1, 514),
    ])
    func `is told where it is no JSON`(text: String, line: Int, column: Int) {
        let error = #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(text.utf8)) }
        #expect(error?.description == "it is not valid JSON, at line \(line), column \(column)")
    }

    @Test(arguments: ["{ a: int", "list(", "list(int", "optional()", "map(int, int)", "{ a: int, a: int }", "int int"])
    func `has no other types than those of configurations`(text: String) {
        let json = #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"\#(text)"}]}]}]}"#
        #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(json.utf8)) }
    }

    @Test func `makes a schema for editors`() {
        let text = ConfigurationSchema(kinds: kinds).text
        #expect(text.contains(#""enum": ["speaker", "timer", "server"]"#))
        #expect(text.contains(#""maximum": 65535"#))
        #expect(text.contains(#""enum": [1, 2]"#))
        #expect(text.contains(#""enum": ["fast", "slow"]"#))
        #expect(text.contains(#""required": ["target"]"#))
        #expect(text.contains(#""enum": ["kitchen", "bath"]"#))
        #expect(!text.contains(": true"), "\(text.split(separator: "\n").filter { $0.contains(": true") })")
    }
}

extension EffectSchema {
    /// The same by another name.
    fileprivate func renamed(_ prefix: String) -> EffectSchema {
        EffectSchema(
            name: prefix + name, summary: summary, parameters: parameters, shortForm: shortForm,
            exactlyOneOf: exactlyOneOf,
            outcomes: outcomes, emitsDirectly: emitsDirectly, isLasting: isLasting, isProbe: isProbe,
            onlyTells: onlyTells)
    }
}
