import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `Instances of kinds` {
    @Test func `have the parameters, states and events of the kind`() throws {
        let system = try sampleDefinition(kitchenHead + "ready: Playing\nunhandled: warn\nmailbox: { limit: 5 }\n")
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

    @Test func `say in words what their events must be`() throws {
        let events = try sampleDefinition("system: a\nkind: server\n").events
        #expect(events[0].expectation(of: "peer") == "modes each 'fast' or 'slow', port between 0 and 65535")
        #expect(events[0].expectation(of: "offset") == "between -128 and 127")
        #expect(events[0].expectation(of: "else") == nil)
        #expect(try sampleDefinition(kitchenHead).events[0].expectation(of: "by") == nil)
        #expect(ValueRule.range(5...(.max)).text == "at least 5")
        #expect(ValueRule.range(.min...5).text == "at most 5")
        #expect(ValueRule.uuid.text == "a UUID")
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
        let result = compile(text("volume"), kinds: sampleKinds)
        #expect(result.partial.map { $0.rendered() } == [])
        #expect(result.graph?.links.map(\.name) == ["tell@a", "tell@b", "turn@a", "turn@b"])
        let wrong = compile(text("volum"), kinds: sampleKinds)
        #expect(wrong.diagnostics.map(\.code) == [.unknownField])
    }

    @Test func `are changed by drop-ins`() throws {
        var file = ConfigurationFile(path: "a.yaml", text: kitchenHead)
        file.dropIns = [
            ConfigurationFile(path: "a.yaml.d/10.yaml", text: "system: kitchen\nwith: { volume: 3 }\n")
        ]
        let result = ConfigurationCompiler.compile(files: [file], kinds: sampleKinds)
        #expect(result.graph?.systems.first?.kind?.parameters.fields.prefix(2) == [.int(15), .int(3)])
    }

    @Test func `are linked by their fields, optional and nested ones too`() throws {
        let result = compile(
            kitchenHead + """
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

                """, kinds: sampleKinds)
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
            kitchenHead + """
                ---
                links:
                  a: { attach: kitchen, toSystem: kitchen, onState: Playing, loop: { limit: 1 per 1s }, emitEvent: { Louder: { by: 1, why: "${state.title}" } } }

                """, kinds: sampleKinds)
        #expect(result.partial.map { $0.rendered() } == [])
    }

    @Test func `may go from any state to any other, as far as loops are concerned`() {
        let result = compile(
            kitchenHead
                + "---\nlinks: { a: { attach: kitchen, toSystem: kitchen, onState: Muted, emitEvent: Mute } }\n",
            kinds: sampleKinds)
        #expect(result.diagnostics.map(\.code) == [.loop])
    }

    @Test func `may be part of a circle of several systems`() {
        func codes(_ link: String) -> [Diagnostic.Code] {
            compile(
                """
                system: t
                kind: timer
                ---
                \(kitchenHead)---
                system: lamp
                states: { Off: {}, On: {} }
                events: { Press: {} }
                fromOutside: any
                initialState: Off
                transitions: { Off: { Press: On }, On: { Press: Off } }
                persist: none
                ---
                links:
                  press: { attach: kitchen, toSystem: lamp, onState: Muted, emitEvent: Press }
                  \(link)

                """, kinds: sampleKinds
            ).diagnostics.map(\.code)
        }
        #expect(codes("lit: { attach: lamp, toSystem: kitchen, onState: On, emitEvent: Mute }") == [.loop])
        #expect(codes("timer: { attach: t, toSystem: kitchen, onState: Running, emitEvent: Mute }") == [])
    }

    @Test func `have another fingerprint when they are given something else, and only then`() throws {
        let first = try sampleDefinition(kitchenHead).fingerprint
        #expect(try sampleDefinition(kitchenHead + "description: of no matter\n").fingerprint == first)
        #expect(
            try sampleDefinition("system: kitchen\nkind: speaker\nwith: { volume: 10, target: 15 }\n").fingerprint
                == first)
        #expect(try sampleDefinition("system: kitchen\nkind: speaker\nwith: { target: 16 }\n").fingerprint != first)
        #expect(try sampleDefinition("system: kitchen\nkind: timer\n").fingerprint != first)
    }
}
