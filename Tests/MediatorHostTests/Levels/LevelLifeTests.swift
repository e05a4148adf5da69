import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

/// Inputs and rules of `always` beside reloads, restarts, faults and other links.
@Suite(.timeLimit(.minutes(20))) struct `Levels over time` {
    private func start(_ text: String) async throws -> HostFixture {
        let fixture = try HostFixture(text)
        fixture.host.start()
        await fixture.settle()
        return fixture
    }

    private func put(_ value: Value, on bus: String, _ fixture: HostFixture) async throws {
        // The values of several buses have an order.
        fixture.clock.advance(by: .milliseconds(1))
        try fixture.host.publish(value, on: bus)
        await fixture.settle()
    }

    private func wait(_ seconds: Int, _ fixture: HostFixture) async {
        fixture.clock.advance(by: .seconds(seconds))
        await fixture.settle()
    }

    private func apply(_ text: String, _ fixture: HostFixture) async throws {
        _ = try await fixture.host.apply(fixture.graph(text))
        await fixture.settle()
    }

    private static let two = """
        system: one
        inputs: { x: { type: int, default: 0 } }
        states: { A: {}, B: {} }
        events: { Poke: {} }
        fromOutside: any
        initialState: A
        unhandled: ignore
        transitions:
          A: { always: { when: input.x > 3, to: B } }
          B: { always: { when: input.x < 2, to: A } }
        ---
        buses:
          m1: { kind: currentValue, value: int, initial: 0, fromOutside: write }
          m2: { kind: currentValue, value: int, initial: 0, fromOutside: write }
          m3: { kind: passthrough, value: int, fromOutside: write }
        links:
          l1: { attach: one, to: m1, setInput: x }
          l2: { attach: one, to: m2, setInput: x }
          l3: { attach: one, to: m3, setInput: x }

        """

    @Test func `of several links the last one counts, also over a reload and a restart`() async throws {
        let fixture = try await start(Self.two)
        try await put(.int(0), on: "m1", fixture)
        try await put(.int(5), on: "m2", fixture)
        #expect(try fixture.state("one") == "B")
        let transitions = try fixture.host.systemStatus("one").loop.counters.transitions
        try await apply(Self.two.replacing("unhandled: ignore", with: "unhandled: warn"), fixture)
        #expect(try fixture.state("one") == "B")
        #expect(try fixture.host.systemStatus("one").loop.counters.transitions == transitions)
        try await fixture.host.restart("one")
        await fixture.settle()
        #expect(try fixture.state("one") == "B")
        // It began there, and no older value came after.
        #expect(try fixture.host.systemStatus("one").loop.counters.transitions == transitions)
        try await put(.int(4), on: "m1", fixture)
        try await put(.int(9), on: "m3", fixture)
        try await apply(Self.two.replacing("unhandled: ignore", with: "mailbox: { limit: 50 }"), fixture)
        #expect(try fixture.host.systemStatus("one").inputs.map(\.value) == [.int(9)])
        await fixture.host.stop(within: .zero)
    }

    private static let failing = """
        system: one
        inputs: { x: { type: int, default: 1 }, on: { type: bool, default: false } }
        states: { A: { n: int }, Paused: { n: int }, Z: { n: int } }
        events: { Poke: {} }
        fromOutside: any
        initialState: { A: { n: 0 } }
        transitions:
          A:
            always:
              - { when: input.on, for: 4s, to: Paused, set: { n: "${10 / input.x}" } }
              - { when: 10 / input.x > 100, to: Z }
          any: { Poke: { set: { n: 7 } } }
        ---
        buses:
          x: { kind: currentValue, value: int, initial: 1, fromOutside: write }
          on: { kind: currentValue, value: bool, initial: false, fromOutside: write }
        links: { x: { attach: one, to: x, setInput: x }, on: { attach: one, to: on, setInput: on } }

        """

    @Test func `a rule that fails ends no wait of an earlier one, and no break is lost`() async throws {
        let fixture = try await start(Self.failing)
        try await put(.int(0), on: "x", fixture)
        #expect(try fixture.host.systemStatus("one").faults == 1)
        try await put(.bool(true), on: "on", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .milliseconds(4_002)))
        await wait(3, fixture)
        try await put(.bool(false), on: "on", fixture)
        await wait(2, fixture)
        try await put(.bool(true), on: "on", fixture)
        try await put(.int(1), on: "x", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .milliseconds(9_004)))
        await wait(3, fixture)
        #expect(try fixture.state("one") == "A 0")
        await wait(1, fixture)
        #expect(try fixture.state("one") == "Paused 10")
        await fixture.host.stop(within: .zero)
    }

    @Test func `a rule whose data fail at its time is tried again with the next change`() async throws {
        let fixture = try await start(Self.failing)
        try await put(.bool(true), on: "on", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .milliseconds(4_001)))
        try await put(.int(0), on: "x", fixture)
        await wait(4, fixture)
        #expect(try fixture.state("one") == "A 0")
        var answer = try fixture.host.whyNot("one", event: "always").transitions
        #expect(answer.map(\.fails) == [true, false] && answer[0].field == "n")
        #expect(answer[1].reason == "not tried, since one before it fails")
        try await put(.int(2), on: "x", fixture)
        #expect(try fixture.state("one") == "Paused 5")
        answer = try fixture.host.whyNot("one", event: "always").transitions
        #expect(answer.isEmpty)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a rule that updates in place applies once for each time its condition holds`() async throws {
        let text = """
            system: one
            inputs: { on: { type: bool, default: false } }
            states: { A: { n: int } }
            events: {}
            initialState: { A: { n: 0 } }
            unhandled: ignore
            transitions: { A: { always: { when: input.on, for: 2s, set: { n: "${state.n + 1}" } } } }
            ---
            buses: { on: { kind: currentValue, value: bool, initial: true, fromOutside: write } }
            links: { on: { attach: one, to: on, setInput: on } }

            """
        let fixture = try await start(text)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        await wait(2, fixture)
        #expect(try fixture.state("one") == "A 1")
        await wait(9, fixture)
        try await apply(text.replacing("unhandled: ignore", with: "unhandled: warn"), fixture)
        await wait(9, fixture)
        #expect(try fixture.state("one") == "A 1")
        let rule = try fixture.host.whyNot("one", event: "always").transitions[0]
        #expect(rule.holds == false && rule.due == nil && rule.reason?.contains("it has applied") == true)
        try await put(.bool(false), on: "on", fixture)
        try await put(.bool(true), on: "on", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .milliseconds(22_002)))
        await wait(2, fixture)
        #expect(try fixture.state("one") == "A 2")
        await fixture.host.stop(within: .zero)
    }

    @Test func `a parameter of a time that changes begins the wait anew`() async throws {
        let text = """
            system: one@
            parameters: { wait: duration }
            states: { A: {}, B: {} }
            events: {}
            initialState: A
            transitions: { A: { always: { for: "${parameters.wait}", to: B } } }
            ---
            instances: { one@a: { wait: 1h } }

            """
        let fixture = try await start(text)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(3_600)))
        try await apply(text.replacing("wait: 1h", with: "wait: 2s"), fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        await wait(2, fixture)
        #expect(try fixture.state("one@a") == "B")
        await fixture.host.stop(within: .zero)
    }

    @Test func `a rule with a time sets a new beginning for a loop`() async throws {
        func system(_ name: String, _ own: String, _ other: String) -> String {
            """
            system: \(name)
            inputs: { n: { type: int, default: 0 } }
            states: { Waiting: { n: int }, Done: { n: int } }
            events: {}
            initialState: { \(name == "a" ? "Done" : "Waiting"): { n: 0 } }
            transitions:
              Waiting: { always: { when: input.n > state.n, for: 1s, to: Done, set: { n: "${input.n + 1}" } } }
              Done: { always: { when: input.n > state.n, to: Waiting, set: { n: "${state.n}" } } }
            ---
            buses: { \(own): { kind: currentValue, value: int, initial: 0, fromOutside: read } }
            links:
              \(name)-out: { attach: \(name), to: \(own), onState: Done, emitValue: "${state.n + 1}", loop: { limit: 100 per 1s, hops: 4 } }
              \(name)-in: { attach: \(name), to: \(other), setInput: n }
            """
        }
        let fixture = try await start(system("a", "to-b", "to-a") + "\n---\n" + system("b", "to-a", "to-b"))
        for _ in 0..<20 { await wait(1, fixture) }
        #expect(try fixture.host.linkStatus("b-out").fired > 5)
        #expect(try fixture.host.linkStatus("b-out").dropped == 0)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a restart takes the level that another system's state sets`() async throws {
        let text = """
            system: target
            inputs: { on: { type: bool, default: false } }
            states: { Off: {}, On: {} }
            events: {}
            initialState: Off
            transitions: { Off: { always: { when: input.on, to: On } }, On: { always: { when: "!input.on", to: Off } } }
            ---
            system: source
            states: { Idle: {}, Busy: {} }
            events: { Go: {}, End: {} }
            fromOutside: any
            initialState: Idle
            transitions: { Idle: { Go: Busy }, Busy: { End: Idle } }
            ---
            links:
              busy: { attach: source, toSystem: target, onState: Busy, setInput: { on: true } }
              idle: { attach: source, toSystem: target, onState: Idle, setInput: { on: false } }

            """
        let fixture = try await start(text)
        try fixture.host.emit("Go", to: "source", fields: [])
        await fixture.settle()
        #expect(try fixture.state("target") == "On")
        try await fixture.host.restart("target")
        await fixture.settle()
        #expect(try fixture.state("target") == "On")
        await fixture.host.stop(within: .zero)
    }
}
