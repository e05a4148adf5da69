import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `Circles of several events` {
    private func codes(_ text: String) -> [Diagnostic.Code] { compile(text).diagnostics.map(\.code) }

    private func loops(_ text: String) -> Int { codes(text).count { $0 == .loop } }

    @Test func `a lamp that turns itself off does so once, but needs a limit, since events are not counted`() {
        func text(_ limit: String) -> String {
            """
            system: lamp
            states: { Off: {}, On: {} }
            events: { Press: {} }
            fromOutside: [Press]
            initialState: Off
            transitions: { Off: { Press: On }, On: { Press: Off } }
            ---
            buses: { status: { kind: currentValue, value: string, initial: unknown } }
            links:
              tell: { attach: lamp, to: status, onState: On, emitValue: lit }
              hear: { attach: lamp, to: status, onValue: lit, emitEvent: Press\(limit) }
            """
        }
        #expect(
            messages(text("")) == """
                a.yaml:11:3: error: the links 'hear' and 'tell' may set each other off without end [loop]
                    hear: { attach: lamp, to: status, onValue: lit, emitEvent: Press }
                    ^~~~
                  note: a.yaml:11:3: the bus 'status' has a value: 'hear' sends 'Press' to 'lamp'
                  note: a.yaml:10:3: 'lamp' is 'On': 'tell' puts lit on the bus 'status'
                  hint: break the circle, or limit one link, even if the events run out: loop: { limit: 10 per 1s }
                """)
        #expect(compile(text(", loop: { limit: 10 per 1s }")).partial.isEmpty)
    }

    @Test(arguments: ["", ", loop: { limit: 10 per 1s }"])
    func `a thousand lamps that turn themselves off are searched quickly`(limit: String) {
        let lamps = (0..<1000).map { number in
            """
            system: lamp\(number)
            states: { Off: {}, On: {} }
            events: { Press: {} }
            fromOutside: [Press]
            initialState: Off
            transitions: { Off: { Press: On }, On: { Press: Off } }
            ---

            """
        }
        let links = (0..<1000).map {
            "  l\($0): { attach: lamp\($0), toSystem: lamp\($0), onState: On, emitEvent: Press\(limit) }\n"
        }
        let clock = ContinuousClock()
        var count = 0
        let duration = clock.measure { count = loops(lamps.joined() + "links:\n" + links.joined()) }
        #expect(count == (limit.isEmpty ? 1000 : 0))
        #expect(duration < .seconds(30))
    }

    @Test func `what a circle sets off beside itself may keep it going`() {
        // The link to 'latch' is not part of the circle, but without its reset the circle would end.
        func text(_ reset: String) -> String {
            """
            system: pump
            states: { A: {}, B: {} }
            events: { Toggle: {} }
            fromOutside: any
            initialState: A
            transitions: { A: { Toggle: B }, B: { Toggle: A } }
            ---
            system: latch
            states: { Open: {}, Shut: {} }
            events: { Close: {}, Reset: {} }
            fromOutside: any
            initialState: Open
            transitions: { Open: { Close: Shut }, Shut: { Reset: Open } }
            ---
            links:
              close: { attach: pump, toSystem: latch, onState: any, emitEvent: Close }
              toggle: { attach: latch, toSystem: pump, onState: Shut, emitEvent: Toggle }
              \(reset)
            """
        }
        #expect(loops(text("reset: { attach: pump, toSystem: latch, onState: any, emitEvent: Reset }")) == 1)
        #expect(loops(text("")) == 0)
    }

    /// A system that comes round after some presses, and sends itself as many presses then.
    private static func wheel(states: Int, presses: Int) -> String {
        let names = (0..<states).map { "S\($0): {}" }.joined(separator: ", ")
        let rules = (0..<states).map { "S\($0): { Press: S\(($0 + 1) % states) }" }.joined(separator: ", ")
        let links = (0..<presses).map {
            "  l\($0): { attach: wheel, toSystem: wheel, onState: S0, emitEvent: Press }\n"
        }
        return """
            system: wheel
            states: { \(names) }
            events: { Press: {} }
            fromOutside: any
            initialState: S0
            transitions: { \(rules) }
            ---
            links:
            \(links.joined())
            """
    }

    @Test(arguments: 1...6)
    func `a circle is a loop if one event goes round, and may be one if it needs several`(states: Int) {
        for presses in 1...7 {
            let text = messages(Self.wheel(states: states, presses: presses))
            #expect(text.contains("can set itself off without end [loop]") == (states == 1), "\(text)")
            #expect(text.contains("may set itself off without end [loop]") == (states > 1), "\(text)")
        }
    }

    @Test func `each circle that needs several events is named`() {
        let hint = "break the circle, or limit one link, even if the events run out: loop: { limit: 10 per 1s }"
        let reports = (0..<3).map { number in
            """
            a.yaml:\(9 + number):3: error: the link 'l\(number)' may set itself off without end [loop]
                l\(number): { attach: wheel, toSystem: wheel, onState: S0, emitEvent: Press }
                ^~
              note: a.yaml:\(9 + number):3: 'wheel' is 'S0': 'l\(number)' sends 'Press' to 'wheel'
              hint: \(hint)
            """
        }
        #expect(messages(Self.wheel(states: 3, presses: 3)) == reports.joined(separator: "\n"))
    }

    @Test func `a ring that loses events may be a loop, over however many systems`() {
        func text(_ count: Int, closing: String) -> String {
            let systems = (0..<count).map { number in
                """
                system: s\(number)
                states: { Off: {}, On: {} }
                events: { Toggle: {} }
                fromOutside: any
                initialState: Off
                transitions: { Off: { Toggle: On }, On: { Toggle: Off } }
                ---

                """
            }
            let links = (0..<count).map { number in
                let states = number == 0 ? closing : "any"
                return "  l\(number): { attach: s\(number), toSystem: s\((number + 1) % count), onState: \(states), "
                    + "emitEvent: Toggle }\n"
            }
            return systems.joined() + "links:\n" + links.joined()
        }
        for count in [1, 2, 5, 100] {
            #expect(loops(text(count, closing: "On")) == 1, "\(count)")
            #expect(messages(text(count, closing: "On")).contains(" may set "), "\(count)")
            #expect(loops(text(count, closing: "any")) == 1, "\(count)")
            #expect(messages(text(count, closing: "any")).contains(" can set "), "\(count)")
        }
    }

    @Test func `what goes round by itself may bring others back to where they were`() {
        func text(_ strategy: String) -> String {
            """
            system: wheel
            states: { A: {}, B: {} }
            events: { Turn: {} }
            initialState: A
            feedbacks: { turn: { onState: any, \(strategy)emit: Turn } }
            transitions: { A: { Turn: B }, B: { Turn: A } }
            ---
            system: relay
            states: { Up: {}, Down: {} }
            events: { Lift: {}, Drop: {} }
            initialState: Up
            transitions: { Up: { Drop: Down }, Down: { Lift: Up } }
            ---
            system: first
            states: { Open: {}, Shut: {} }
            events: { Close: {}, Reset: {} }
            fromOutside: any
            initialState: Open
            transitions: { Open: { Close: Shut }, Shut: { Reset: Open } }
            persist: none
            ---
            links:
              up: { attach: wheel, toSystem: relay, onState: A, emitEvent: Lift }
              down: { attach: wheel, toSystem: relay, onState: B, emitEvent: Drop }
              reset: { attach: relay, toSystem: first, onState: any, emitEvent: Reset }
              again: { attach: first, toSystem: first, onState: any, emitEvent: Close }
            """
        }
        #expect(loops(text("")) == 1)
        #expect(loops(text("every: 1s, ")) == 0)
        // Also if only that has changed, and the rest comes from the cache.
        func compiled(_ strategy: String, _ parts: CompiledParts) -> CompilationResult {
            let files = text(strategy).replacing(
                "feedbacks: {", with: "feedbacks: { other: { onState: A, \(strategy)emit: Turn },"
            )
            .split(separator: "---").enumerated().map { ConfigurationFile(path: "\($0).yaml", text: String($1)) }
            return ConfigurationCompiler.compile(
                files: files, effects: EffectSchema.builtin, values: .none, unreadable: [], now: nil, reusing: parts)
        }
        let calm = compiled("every: 1s, ", CompiledParts())
        #expect(calm.graph != nil)
        #expect(compiled("", calm.parts).diagnostics.map(\.code) == [.loop])
        #expect(compiled("", CompiledParts()).diagnostics.map(\.code) == [.loop])
    }

    @Test(arguments: ["any", "On"]) func `a ring of a thousand systems is searched quickly`(closing: String) {
        let systems = (0..<1000).map { number in
            """
            system: s\(number)
            states: { Off: {}, On: {} }
            events: { Toggle: {} }
            initialState: Off
            transitions: { Off: { Toggle: On }, On: { Toggle: Off } }
            ---

            """
        }
        let links = (0..<1000).map { number in
            "  l\(number): { attach: s\(number), toSystem: s\((number + 1) % 1000), "
                + "onState: \(number == 0 ? closing : "any"), emitEvent: Toggle }\n"
        }
        let clock = ContinuousClock()
        var count = 0
        let duration = clock.measure { count = loops(systems.joined() + "links:\n" + links.joined()) }
        #expect(count == 1)
        #expect(duration < .seconds(15))
    }

    @Test func `states by the hundred linked to states by the hundred do not take for ever`() {
        let states = (0..<500).map { "S\($0): {}" }.joined(separator: ", ")
        let events = (0..<200).map { "E\($0): {}" }.joined(separator: ", ")
        let rules = (0..<200).map { "    E\($0): S\($0)" }.joined(separator: "\n")
        let links = (0..<200).map { "  l\($0): { attach: a, toSystem: a, onState: any, emitEvent: E\($0) }" }
        let text = """
            system: a
            states: { \(states) }
            events: { \(events) }
            initialState: S0
            transitions:
              any:
            \(rules)
            ---
            links:
            \(links.joined(separator: "\n"))
            """
        #expect(codes(text).contains { $0 == .loop || $0 == .tooLarge })
    }
}
