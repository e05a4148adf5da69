import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `Loops through links` {
    /// Two lamps with a switch each.
    private static let lamps = ["left", "right"].map { name in
        """
        system: \(name)
        states: { Off: {}, On: {} }
        events: { TurnOn: {}, TurnOff: {} }
        fromOutside: any
        initialState: Off
        transitions:
          Off: { TurnOn: On }
          On: { TurnOff: Off }
        ---

        """
    }.joined()

    /// The codes of the diagnostics but those about what survives a crash.
    private func codes(_ text: String) -> [Diagnostic.Code] {
        compile(text).diagnostics.map(\.code).filter { $0 != .undecidedPersistence }
    }

    private func loops(_ text: String) -> Int { codes(text).count { $0 == .loop } }

    @Test func `a lamp that follows another is in a circle, but the circle ends when both are on`() {
        let links = """
            links:
              there: { attach: left, toSystem: right, onState: On, emitEvent: TurnOn }
              back: { attach: right, toSystem: left, onState: On, emitEvent: TurnOn }
            """
        #expect(codes(Self.lamps + links) == [])
    }

    /// Two tanks that send each other their measurements, and stay in their state.
    private static func tanks(_ moment: String) -> String {
        ["left", "right"].map { name in
            """
            system: \(name)
            states: { Filling: { used: int } }
            events: { Measured: { used: int } }
            fromOutside: any
            initialState: { Filling: { used: 0 } }
            feedbacks: { again: { onState: Filling, when: state.used > 99, emit: { Measured: { used: 1 } } } }
            transitions: { Filling: { Measured: { set: { used: "${event.used + 1}" } } } }
            ---

            """
        }.joined() + """
            links:
              there: { attach: left, toSystem: right, onState: Filling, \(moment)emitEvent: { Measured: { used: "${state.used}" } } }
              back: { attach: right, toSystem: left, onState: Filling, \(moment)emitEvent: { Measured: { used: "${state.used}" } } }
            """
    }

    @Test func `an update in place goes round by links that follow updates, and by no others`() {
        #expect(codes(Self.tanks("")) == [], "\(messages(Self.tanks("")))")
        #expect(codes(Self.tanks("on: entry, ")) == [])
        let text = messages(Self.tanks("on: change, "))
        #expect(text.contains("[loop]"), "\(text)")
    }

    @Test func `an update in place starts no feedback, so that none keeps its system going`() {
        func system(_ rule: String) -> String {
            """
            system: tank
            states: { Filling: { used: int } }
            events: { Measured: {} }
            initialState: { Filling: { used: 0 } }
            feedbacks: { again: { onState: Filling, emit: Measured } }
            transitions: { Filling: { Measured: { \(rule) } } }
            """
        }
        #expect(codes(system("set: { used: 1 }")) == [])
        #expect(codes(system("to: Filling, set: { used: 1 }")) == [.feedbackLoop])
    }

    /// A system that publishes its state as a feedback says, and what of it comes back.
    private static func echo(_ feedback: String, back: String = "") -> String {
        """
        system: echo
        states: { Low: {}, High: {} }
        events: { Up: {}, Down: {} }
        fromOutside: any
        initialState: Low
        feedbacks:
          tell: { onState: any\(feedback), publish: { to: level, value: "${'x'}" } }
        transitions:
          Low: { Up: High, Down: stay }
          High: { Up: stay, Down: Low }
        ---
        buses: { level: { kind: passthrough, value: string } }
        links:
          up: { attach: echo, to: level, when: size(value) < 9, emitEvent: Up\(back) }
          down: { attach: echo, to: level, when: size(value) < 8, emitEvent: Down }

        """
    }

    @Test func `what a feedback publishes may come back to it without end`() {
        let text = messages(Self.echo(""))
        #expect(text.contains("[loop]"), "\(text)")
        #expect(text.contains("its feedback 'tell' puts \"${'x'}\" on the bus 'level'"), "\(text)")
    }

    @Test func `a limit of what reads it breaks the loop, and is no needless one`() {
        let limited = Self.echo("", back: ", loop: { limit: 5 per 1s }")
            .replacing("emitEvent: Down }", with: "emitEvent: Down, loop: { limit: 5 per 1s } }")
        #expect(codes(limited) == [], "\(messages(limited))")
        let waiting = Self.echo(", every: 1s", back: ", loop: { limit: 5 per 1s }")
        #expect(codes(waiting) == [], "\(messages(waiting))")
    }

    @Test(arguments: [
        ", every: 1s", ", after: 1s", ", strategy: continueOnNewState, debounce: 1s",
        ", throttle: 1s, strategy: continueOnNewState",
    ])
    func `what is published by the clock goes on by the clock`(schedule: String) {
        #expect(codes(Self.echo(schedule)) == [], "\(messages(Self.echo(schedule)))")
    }

    @Test func `a throttle for each key lets through as much as there are keys`() {
        let text = """
            system: counter
            states: { On: { count: int } }
            events: { Go: { count: int } }
            fromOutside: any
            initialState: { On: { count: 0 } }
            feedbacks:
              tell:
                onState: On
                strategy: continueOnNewState
                throttle: 1ms
                key: "${state.count}"
                publish: { to: level, value: "${state.count}" }
            transitions: { On: { Go: { to: On, set: { count: "${event.count + 1}" } } } }
            ---
            buses: { level: { kind: passthrough, value: int } }
            links: { back: { attach: counter, to: level, emitEvent: { Go: { count: "${value}" } } } }

            """
        #expect(messages(text).contains("[loop]"), "\(messages(text))")
        let same = text.replacing("    key: \"${state.count}\"\n", with: "")
        #expect(codes(same) == [], "\(messages(same))")
    }

    private static let blinker = """
        system: blinker
        states: { On: {}, Off: {} }
        events: { Go: {} }
        initialState: Off
        feedbacks:
          up: { onState: Off, emit: Go }
          down: { onState: On, emit: Go }
        transitions: { Off: { Go: On }, On: { Go: Off } }

        """

    @Test func `feedbacks that emit at once may not go round without end`() {
        #expect(
            messages(Self.blinker) == """
                a.yaml:6:3: error: the feedbacks 'up' and 'down' of 'blinker' set each other off without end [feedback-loop]
                    up: { onState: Off, emit: Go }
                    ^~
                  hint: it goes 'On' → 'Off' → 'On'; let one of them wait, such as after: 1s
                """)
        let alone = Self.blinker.replacing("down: { onState: On, emit: Go }", with: "down: { onState: On, log: on }")
            .replacing("On: { Go: Off }", with: "On: { Go: stay }").replacing(
                "Off: { Go: On }", with: "Off: { Go: Off }")
        #expect(messages(alone).contains("the feedback 'up' of 'blinker' sets itself off without end [feedback-loop]"))
    }

    @Test(arguments: [
        ("down: { onState: On, emit: Go }", "down: { onState: On, after: 1s, emit: Go }"),
        (
            "down: { onState: On, emit: Go }",
            "down: { onState: On, when: now > timestamp('2030-01-01T00:00:00Z'), emit: Go }"
        ),
        ("On: { Go: Off }", "On: { Go: stay }"),
        ("On: { Go: Off }", "On: { Go: { when: now > timestamp('2030-01-01T00:00:00Z'), to: Off } }"),
        ("initialState: Off", "initialState: End"),
    ])
    func `feedbacks that wait, or may come to an end, are no loop`(old: String, new: String) {
        let text = Self.blinker.replacing("On: {}, Off: {}", with: "On: {}, Off: {}, End: {}").replacing(old, with: new)
        #expect(!codes(text).contains(.feedbackLoop), "\(messages(text))")
    }

    @Test func `lamps that follow each other both ways can blink for ever`() throws {
        let links = """
            links:
              on-there: { attach: left, toSystem: right, onState: On, emitEvent: TurnOn }
              on-back: { attach: right, toSystem: left, onState: On, emitEvent: TurnOn }
              off-there: { attach: left, toSystem: right, onState: Off, emitEvent: TurnOff }
              off-back: { attach: right, toSystem: left, onState: Off, emitEvent: TurnOff }
            """
        #expect(loops(Self.lamps + links) == 1)
    }

    @Test(arguments: ["loop: { limit: 0 per 1s }", "loop: { limit: often }", "loop: {}"])
    func `a loop whose limit cannot be read is no loop without one`(loop: String) {
        let links = """
            links:
              on-there: { attach: left, toSystem: right, onState: On, emitEvent: TurnOn, LOOP }
              on-back: { attach: right, toSystem: left, onState: On, emitEvent: TurnOn }
              off-there: { attach: left, toSystem: right, onState: Off, emitEvent: TurnOff }
              off-back: { attach: right, toSystem: left, onState: Off, emitEvent: TurnOff }
            """
        let onLink = compile(Self.lamps + links.replacing("LOOP", with: loop)).diagnostics.map { $0.rendered() }
        #expect(onLink.count == 1 && onLink[0].hasPrefix("a.yaml:20:"), "\(onLink)")
        let onAll = compile(Self.lamps + loop + "\n" + links.replacing(", LOOP", with: "")).diagnostics
        #expect(onAll.count == 1 && onAll[0].code != .loop, "\(onAll.map { $0.rendered() })")
    }

    private static let blinking = """
        links:
          on-there: { attach: left, toSystem: right, onState: On, emitEvent: TurnOn }
          off-back: { attach: right, toSystem: left, onState: On, emitEvent: TurnOff }
          off-there: { attach: left, toSystem: right, onState: Off, emitEvent: TurnOff }
          on-back: { attach: right, toSystem: left, onState: Off, emitEvent: TurnOn }
        """

    @Test func `every hop of a loop is named`() {
        #expect(
            messages(Self.lamps + Self.blinking) == """
                a.yaml:21:3: error: the links 'off-back', 'off-there', 'on-back' and 'on-there' can set each other off without end [loop]
                    off-back: { attach: right, toSystem: left, onState: On, emitEvent: TurnOff }
                    ^~~~~~~~
                  note: a.yaml:21:3: 'right' is 'On': 'off-back' sends 'TurnOff' to 'left'
                  note: a.yaml:22:3: 'left' is 'Off': 'off-there' sends 'TurnOff' to 'right'
                  note: a.yaml:23:3: 'right' is 'Off': 'on-back' sends 'TurnOn' to 'left'
                  note: a.yaml:20:3: 'left' is 'On': 'on-there' sends 'TurnOn' to 'right'
                  hint: break the circle, or say on one link how often it may fire: loop: { limit: 10 per 1s }
                """)
    }

    @Test func `a limit on one link or on the document allows it`() throws {
        let limited = Self.blinking.replacing(
            "TurnOff }\n  on-back", with: "TurnOff, loop: { limit: 10 per 1s } }\n  on-back")
        let result = compile(Self.lamps + limited)
        #expect(codes(Self.lamps + limited) == [])
        let link = try #require(result.graph?.links.first { $0.name == "off-there" })
        #expect(link.loop?.rate.count == 10)
        #expect(link.loop?.rate.period.seconds == 1)
        #expect(link.loop?.hops == nil)
        let whole = compile(Self.lamps + "loop: { limit: 3 per 500ms, hops: 20 }\n" + Self.blinking)
        #expect(codes(Self.lamps + "loop: { limit: 3 per 500ms, hops: 20 }\n" + Self.blinking) == [])
        #expect(whole.graph?.links.allSatisfy { $0.loop?.rate.count == 3 && $0.loop?.hops == 20 } == true)
    }

    @Test func `a limit outside of every loop is needless`() {
        let links = """
            links:
              there: { attach: left, toSystem: right, onState: On, emitEvent: TurnOn, loop: { limit: 10 per 1s } }
            """
        #expect(codes(Self.lamps + links) == [.needlessLoop])
    }

    /// Two systems: one asks over a bus, the other answers.
    private static func conversation(answer: String, ask: String = "Answer: Asking") -> String {
        """
        system: asker
        states: { Asking: {}, Silent: {} }
        events: { Answer: {} }
        initialState: Asking
        transitions: { any: { \(ask) }, Silent: { Answer: Asking } }
        ---
        system: replier
        states: { Idle: {}, Asked: { number: int } }
        events: { Question: { number: int } }
        initialState: Idle
        transitions: { any: { Question: { to: Asked, set: { number: "${event.number}" } } } }
        ---
        buses:
          questions: { kind: passthrough, value: int }
          answers: { kind: passthrough, value: string, fromOutside: both }
        links:
          ask: { attach: asker, to: questions, onState: Asking, emitValue: 1 }
          hear: { attach: replier, to: questions, emitEvent: { Question: { number: "${value}" } } }
          reply: { attach: replier, to: answers, onState: Asked, emitValue: yes }
          take: { attach: asker, to: answers, \(answer), emitEvent: Answer }
        """
    }

    @Test func `a loop over two buses is found`() {
        #expect(
            codes(Self.conversation(answer: "onValue: yes"))
                == [.unreachableState, .loop].sorted { $0.rawValue > $1.rawValue })
    }

    @Test func `values that do not fit cut a loop`() {
        #expect(loops(Self.conversation(answer: "onValue: no")) == 0)
        #expect(loops(Self.conversation(answer: "when: value.startsWith('n')")) == 0)
        #expect(loops(Self.conversation(answer: "when: value.startsWith('y')")) == 1)
        #expect(loops(Self.conversation(answer: "when: value == string(now)")) == 1)
    }

    @Test func `a rule that says stay cuts a loop`() {
        #expect(loops(Self.conversation(answer: "onValue: yes", ask: "Answer: stay")) == 0)
    }

    @Test func `fixed data of an event that fits no condition cuts a loop`() {
        func text(_ level: Int) -> String {
            """
            system: a
            states: { Low: {}, High: {} }
            events: { Level: { value: int } }
            fromOutside: any
            initialState: Low
            transitions:
              any:
                Level:
                  - { when: event.value > 5, to: High }
                  - { when: event.value < 3, to: Low }
            ---
            links:
              again: { attach: a, toSystem: a, onState: High, emitEvent: { Level: { value: \(level) } } }
            """
        }
        #expect(loops(text(9)) == 1)
        #expect(loops(text(4)) == 0)
        #expect(loops(text(1)) == 0)
    }

    @Test func `a feedback that emits at once is a hop, one that waits is not`() {
        func text(_ schedule: String) -> String {
            """
            system: a
            states: { Idle: {}, Busy: {} }
            events: { Start: {}, Done: {} }
            initialState: Idle
            feedbacks: { finish: { onState: Busy, \(schedule)emit: Done } }
            transitions: { Idle: { Start: Busy }, Busy: { Done: Idle } }
            ---
            links: { again: { attach: a, toSystem: a, onState: Idle, emitEvent: Start } }
            """
        }
        #expect(loops(text("")) == 1)
        #expect(loops(text("after: 1s, ")) == 0)
    }

    @Test func `a limit in a circle that waits is no needless one`() {
        func text(_ feedback: String, _ limit: String) -> String {
            """
            system: a
            states: { Idle: {}, Busy: {} }
            events: { Start: {}, Done: {} }
            initialState: Idle
            feedbacks: { finish: { onState: Busy, \(feedback) } }
            transitions: { Idle: { Start: Busy }, Busy: { Done: Idle } }
            ---
            links:
              again: { attach: a, toSystem: a, onState: Idle, emitEvent: Start\(limit) }
            """
        }
        for feedback in [
            "after: 1s, emit: Done", "every: 1s, emit: Done", "run: [\"true\"], onSuccess: Done, onFailure: Done",
        ] {
            #expect(codes(text(feedback, "")) == [])
            #expect(codes(text(feedback, ", loop: { limit: 1 per 1s }")) == [])
        }
        let needless = text("log: done", ", loop: { limit: 1 per 1s }").replacing(", Busy: { Done: Idle }", with: "")
        #expect(codes(needless).contains(.needlessLoop))
    }

    @Test func `a loop is told beside other mistakes`() {
        let text = Self.lamps + Self.blinking + "\n---\nsystem: other\nstates: { A: {} }\ninitialState: B\n"
        #expect(codes(text) == [.loop, .unknownState])
    }
}
