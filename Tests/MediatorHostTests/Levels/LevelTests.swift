import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

private let backup = """
    system: backup
    inputs: { allowed: bool, load: { type: int, default: 3 } }
    states: { Waiting: { runs: int }, Running: { runs: int }, Paused: { runs: int }, Worn: { runs: int } }
    events: { Due: {}, Poke: {}, Odd: {} }
    fromOutside: any
    initialState: { Waiting: { runs: 0 } }
    feedbacks:
      copy: { onState: Running, wait: { name: "copy at ${input.load}", for: 60s } }
    transitions:
      Waiting:
        Due: { to: Running, when: input.allowed, set: { runs: "${state.runs + input.load}" } }
      Running:
        always:
          - { when: "!input.allowed", for: 30s, to: Paused }
          - { when: input.load > 90, to: Waiting, set: { runs: -1 } }
      Paused:
        always: [{ when: input.allowed, to: Waiting }]
      any:
        Poke: { to: Running }
        Odd: stay
        always: { when: state.runs > 9, to: Worn, set: { runs: 0 } }
    ---
    buses:
      allowed: { kind: currentValue, value: bool, initial: true, fromOutside: both }
      load: { kind: passthrough, value: int, fromOutside: write }
      seen: { kind: passthrough, value: string, fromOutside: read }
    links:
      allow: { attach: backup, to: allowed, setInput: allowed }
      load: { attach: backup, to: load, when: value >= 0, setInput: { load: "${value * 2}" } }
      tell: { attach: backup, to: seen, onState: any, emitValue: "${string(state.runs)}" }

    """

/// Inputs and rules of `always`, in a configured system.
@Suite(.timeLimit(.minutes(20))) struct `Inputs and always` {
    private func start(_ text: String = backup) async throws -> HostFixture {
        let fixture = try HostFixture(text)
        fixture.host.start()
        await fixture.settle()
        return fixture
    }

    private func send(_ event: String, _ fixture: HostFixture) async throws {
        try fixture.host.emit(event, to: "backup", fields: [])
        await fixture.settle()
    }

    private func put(_ value: Value, on bus: String, _ fixture: HostFixture) async throws {
        try fixture.host.publish(value, on: bus)
        await fixture.settle()
    }

    private func inputs(_ fixture: HostFixture) throws -> [Value] {
        try fixture.host.systemStatus("backup").inputs.map(\.value)
    }

    @Test func `an input has its value before the first event, and is read by conditions and data`() async throws {
        let fixture = try HostFixture(backup)
        #expect(try inputs(fixture) == [.bool(false), .int(3)])
        fixture.host.start()
        try fixture.host.emit("Due", to: "backup", fields: [])
        await fixture.settle()
        #expect(try fixture.state("backup") == "Running 3")
        #expect(try inputs(fixture) == [.bool(true), .int(3)])
        #expect(fixture.began.value == ["copy at 3"])
        try await put(.int(-1), on: "load", fixture)
        try await put(.int(4), on: "load", fixture)
        #expect(try inputs(fixture) == [.bool(true), .int(8)])
        let status = try fixture.host.systemStatus("backup")
        #expect(status.inputs.map(\.links) == [["allow"], ["load"]])
        #expect(status.inputs.map { "\($0.name) \($0.type)" } == ["allowed bool", "load int"])
        // The state was updated, and is the same one.
        #expect(status.state.isUpdated && status.loop.counters.transitions == 1)
        #expect(fixture.began.value == ["copy at 3"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `a rule of always applies when an input changes, and when a state is entered`() async throws {
        let fixture = try await start()
        try await send("Due", fixture)
        try await put(.int(46), on: "load", fixture)
        #expect(try fixture.state("backup") == "Waiting -1")
        // The rule applies as the state is entered: no side effect and no link sees Running.
        let values = try fixture.host.watchBus("seen")
        try await send("Poke", fixture)
        #expect(try fixture.state("backup") == "Waiting -1")
        #expect(fixture.began.value == ["copy at 3"])
        #expect(await values.next()?.subject == .string("-1"))
        let hops = try fixture.host.why("backup").hops
        #expect(hops.map(\.kind).prefix(4) == [.state, .always, .state, .event])
        #expect(hops[1].text == "by a rule of always: input.load > 90" && hops[2].state == "Running")
        await fixture.host.stop(within: .zero)
    }

    @Test func `rules follow each other until none holds, those of the state before those of any state`() async throws {
        let fixture = try await start()
        try await put(.int(5), on: "load", fixture)
        try await send("Due", fixture)
        // 0 + 10 is more than 9.
        #expect(try fixture.state("backup") == "Worn 0")
        #expect(fixture.began.value.isEmpty)
        await fixture.host.stop(within: .zero)
    }

    @Test func `with a time the condition must hold without a break`() async throws {
        let fixture = try await start()
        try await send("Due", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(60)))
        func wait(_ seconds: Int) async {
            fixture.clock.advance(by: .seconds(seconds))
            await fixture.settle()
        }
        try await put(.bool(false), on: "allowed", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(30)))
        await wait(29)
        // Neither another event, nor another input, nor the same value again is a break.
        try await send("Odd", fixture)
        try await put(.bool(false), on: "allowed", fixture)
        try await put(.int(7), on: "load", fixture)
        var answer = try fixture.host.whyNot("backup", event: "always")
        #expect(answer.transitions.map(\.to) == ["Paused", "Waiting", "Worn"])
        #expect(answer.transitions.map(\.holds) == [nil, false, false])
        let state = try fixture.host.systemStatus("backup").state
        #expect(answer.transitions[0].due == state.since.advanced(by: .seconds(30)))
        #expect(answer.senders.map(\.name) == ["allow", "load"])
        try await put(.bool(true), on: "allowed", fixture)
        answer = try fixture.host.whyNot("backup", event: "always")
        #expect(answer.transitions.map(\.due) == [nil, nil, nil])
        await wait(31)
        #expect(try fixture.state("backup") == "Running 3")
        try await put(.bool(false), on: "allowed", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(90)))
        await wait(29)
        #expect(try fixture.state("backup") == "Running 3")
        await wait(1)
        #expect(try fixture.state("backup") == "Paused 3")
        try await put(.bool(true), on: "allowed", fixture)
        #expect(try fixture.state("backup") == "Waiting 3")
        await fixture.host.stop(within: .zero)
    }

    @Test func `a time belongs to one stay in its state`() async throws {
        let fixture = try await start()
        try await send("Due", fixture)
        try await put(.bool(false), on: "allowed", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(30)))
        fixture.clock.advance(by: .seconds(20))
        // Running is entered again.
        try await send("Poke", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(50)))
        fixture.clock.advance(by: .seconds(20))
        await fixture.settle()
        #expect(try fixture.state("backup") == "Running 3")
        fixture.clock.advance(by: .seconds(10))
        await fixture.settle()
        #expect(try fixture.state("backup") == "Paused 3")
        await fixture.host.stop(within: .zero)
    }

    @Test func `inputs and waits survive a reload, and a restart begins with the present values`() async throws {
        let fixture = try await start()
        try await send("Due", fixture)
        try await put(.int(2), on: "load", fixture)
        try await put(.bool(false), on: "allowed", fixture)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(30)))
        fixture.clock.advance(by: .seconds(20))
        let changed = backup.replacing("Odd: stay", with: "Odd: { to: Waiting }").replacing(
            "load: { type: int, default: 3 } }",
            with: "load: { type: int, default: 3 }, more: { type: string, default: x } }")
        _ = try await fixture.host.apply(fixture.graph(changed))
        await fixture.settle()
        #expect(try fixture.state("backup") == "Running 3")
        #expect(try inputs(fixture) == [.bool(false), .int(4), .string("x")])
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(30)))
        fixture.clock.advance(by: .seconds(10))
        await fixture.settle()
        #expect(try fixture.state("backup") == "Paused 3")
        // A new rule that holds already applies at once.
        let hasty = changed.replacing("Paused:\n", with: "Paused:\n    Due: stay\n")
            .replacing("[{ when: input.allowed, to: Waiting }]", with: "[{ when: \"!input.allowed\", to: Running }]")
        _ = try await fixture.host.apply(fixture.graph(hasty))
        await fixture.settle()
        #expect(try fixture.state("backup") == "Running 3")
        try await fixture.host.restart("backup")
        await fixture.settle()
        #expect(try fixture.state("backup") == "Waiting 0")
        #expect(try inputs(fixture) == [.bool(false), .int(3), .string("x")])
        try await send("Due", fixture)
        #expect(try fixture.state("backup") == "Waiting 0")
        await fixture.host.stop(within: .zero)
    }

    @Test func `a reset keeps the inputs, and the rules of the initial state apply`() async throws {
        let text = """
            system: backup
            inputs: { level: { type: int, default: 1 } }
            states: { Low: {}, High: {} }
            events: { Poke: {} }
            fromOutside: any
            initialState: Low
            transitions:
              Low: { Poke: stay, always: { when: input.level > 5, to: High } }
              High: { Poke: { to: Low }, always: [{ when: input.level < 3, to: Low }] }
            ---
            buses: { level: { kind: currentValue, value: int, initial: 8, fromOutside: write } }
            links: { level: { attach: backup, to: level, setInput: level } }

            """
        let fixture = try await start(text)
        // It never was in Low for anybody to see.
        #expect(try fixture.state("backup") == "High")
        #expect(try fixture.host.systemStatus("backup").loop.counters.transitions == 0)
        try await put(.int(4), on: "level", fixture)
        #expect(try fixture.state("backup") == "High")
        try fixture.host.reset("backup")
        await fixture.settle()
        #expect(try fixture.state("backup") == "Low")
        #expect(try inputs(fixture) == [.int(4)])
        try await put(.int(6), on: "level", fixture)
        try fixture.host.reset("backup")
        await fixture.settle()
        #expect(try fixture.state("backup") == "High")
        await fixture.host.stop(within: .zero)
    }

    @Test func `rules that go round are a fault, and the event counts without them`() async throws {
        let text = """
            system: backup
            inputs: { level: { type: int, default: 1 } }
            states: { A: { n: int }, B: { n: int } }
            events: { Poke: {}, Bad: {} }
            fromOutside: any
            initialState: { A: { n: 0 } }
            transitions:
              A:
                Poke: { to: B, set: { n: 7 } }
                Bad: { to: B, set: { n: 0 } }
                always: { when: input.level > 5, to: B }
              B: { always: [{ when: 10 / state.n > 0 && input.level > 4, to: A }] }
            ---
            buses: { level: { kind: currentValue, value: int, initial: 1, fromOutside: write } }
            links: { level: { attach: backup, to: level, setInput: level } }

            """
        let fixture = try await start(text)
        try await send("Poke", fixture)
        #expect(try fixture.state("backup") == "B 7")
        try await put(.int(6), on: "level", fixture)
        var status = try fixture.host.systemStatus("backup")
        #expect(try fixture.state("backup") == "B 7" && inputs(fixture) == [.int(6)])
        #expect(status.faults == 1)
        #expect(
            status.lastFault?.message == "more than 100 rules of 'always' apply one after the other; none was applied")
        // The rule of B applies once, and that of A does not hold any more.
        try await put(.int(5), on: "level", fixture)
        #expect(try fixture.state("backup") == "A 7")
        // A condition that fails is a fault of its rule.
        try await send("Bad", fixture)
        status = try fixture.host.systemStatus("backup")
        #expect(try fixture.state("backup") == "B 0")
        #expect(status.faults == 2 && status.lastFault?.place.hasPrefix("always of B, test.yaml:12:") == true)
        await fixture.host.stop(within: .zero)
    }

    @Test func `another system sets an input by its states`() async throws {
        let text = """
            system: backup
            inputs: { power: { type: string, default: mains } }
            states: { On: {}, Off: {} }
            events: {}
            initialState: On
            transitions:
              On: { always: { when: input.power == "battery", to: Off } }
              Off: { always: { when: input.power == "mains", to: On } }
            ---
            system: ups
            states: { Mains: {}, Battery: {} }
            events: { Fail: {}, Return: {} }
            fromOutside: any
            initialState: Mains
            transitions: { Mains: { Fail: Battery }, Battery: { Return: Mains } }
            ---
            links:
              fail: { attach: ups, toSystem: backup, onState: Battery, setInput: { power: battery } }
              return: { attach: ups, toSystem: backup, onState: Mains, setInput: { power: mains } }

            """
        let fixture = try await start(text)
        try fixture.host.emit("Fail", to: "ups", fields: [])
        await fixture.settle()
        #expect(try fixture.state("backup") == "Off")
        try fixture.host.emit("Return", to: "ups", fields: [])
        await fixture.settle()
        #expect(try fixture.state("backup") == "On")
        #expect(throws: HostError.self) { try fixture.host.emit("input.power", to: "backup", fields: [.string("x")]) }
        await fixture.host.stop(within: .zero)
    }
}
