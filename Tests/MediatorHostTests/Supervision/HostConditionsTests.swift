import CommonExpression
import MediatorHost
import Testing

/// A system with a state that asks for a side effect, and one that does not.
private func system(_ feedbacks: String, _ more: String = "") -> String {
    """
    system: s
    states: { On: { n: int }, Off: {} }
    events: { Go: {}, Ok: {}, Bad: {}, Divide: { by: int }, Set: { n: int } }
    fromOutside: any
    initialState: { On: { n: 0 } }
    feedbacks:
      ask: { onState: On, \(feedbacks) }
    transitions:
      On:
        Go: Off
        Ok: stay
        Bad: stay
        Divide: { set: { n: "${10 / event.by}" } }
        Set: { set: { n: "${event.n}" } }
      Off: { Go: { to: On, set: { n: 0 } }, Ok: stay, Bad: stay }
    \(more)
    """
}

@Suite(.timeLimit(.minutes(20))) struct `A system is degraded` {
    private static let unhandled = "feedback ask, a.yaml:7:3: onFailure, exit code 3; no rule handles it"

    /// H1.
    @Test func `while the last result of a feedback is a failure that no rule handles`() async throws {
        let fixture = try ConditionFixture(system("every: 1s, act: a"))
        fixture.acts["a"] = .fails
        await fixture.start()
        #expect(try fixture.reason() == Self.unhandled)
        await fixture.pass(3_600)
        #expect(try fixture.reason() == Self.unhandled)
        let status = try fixture.host.systemStatus("s")
        #expect(status.faults == 0 && status.failures == 3_601)
        fixture.acts["a"] = .succeeds
        await fixture.pass()
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `with the time limit as the reason, and not the signal that followed it`() async throws {
        let fixture = try ConditionFixture(system("act: a"))
        fixture.acts["a"] = .isLate
        await fixture.start()
        #expect(
            try fixture.reason() == "feedback ask, a.yaml:7:3: onFailure, the time limit passed; no rule handles it")
        #expect(
            try fixture.host.systemStatus("s").progress["ask"]?.lastResult == "onFailure, the time limit passed")
    }

    @Test func `until the state of the feedback is left`() async throws {
        let fixture = try ConditionFixture(system("act: a"))
        fixture.acts["a"] = .fails
        await fixture.start()
        await fixture.pass(120)
        #expect(try fixture.reason() == Self.unhandled)
        try await fixture.emit("Go")
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `not while a rule handles the failure, but while none holds`() async throws {
        let fixture = try ConditionFixture(
            system("every: 1s, act: a, onFailure: { when: state.n == 1, emit: Bad }"))
        fixture.acts["a"] = .fails
        await fixture.start()
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: onFailure, exit code 3; no rule for it holds")
        try await fixture.emit("Set", .int(1))
        await fixture.pass()
        #expect(try fixture.reason() == "healthy")
        #expect(try fixture.host.systemStatus("s").failures == 1)
    }

    @Test func `not while a failure is of no importance`() async throws {
        let fixture = try ConditionFixture(
            system(
                "every: 1m, timeout: 5s, act: a, onFailure: [{ when: state.n == 1, emit: Bad }, log], onTimeout: log"))
        for act in [Acts.Act.fails, .hangs] {
            fixture.acts["a"] = act
            if act == .fails { await fixture.start() }
            await fixture.pass(120)
            #expect(try fixture.reason() == "healthy")
        }
        let status = try fixture.host.systemStatus("s")
        #expect(status.failures == 0 && status.faults == 0)
        // It could not even be tried.
        fixture.acts["a"] = .cannot
        await fixture.pass(60)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: no wire")
    }

    @Test func `by a run with a key until the state does not ask for that key`() async throws {
        let fixture = try ConditionFixture(
            """
            system: s
            states: { On: { n: int } }
            events: { Enter: { n: int } }
            fromOutside: any
            initialState: { On: { n: 0 } }
            feedbacks:
              ask:
                onState: On
                strategy: continueOnNewState
                when: state.n % 2 == 0
                key: "${state.n / 10}"
                timeout: 10s
                act: a
            transitions: { On: { Enter: { to: On, set: { n: "${event.n}" } } } }
            """)
        fixture.acts["a"] = .hangs
        await fixture.start()
        // The state does not ask for key 1, and key 0 is another one.
        try await fixture.emit("Enter", .int(11))
        await fixture.pass(11)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: its time was up, after 10.0 seconds (key 0)")
        try await fixture.emit("Enter", .int(1))
        #expect(try fixture.reason() == "healthy")
        // The run for key 2 goes on when the state asks for that key no more.
        try await fixture.emit("Enter", .int(20))
        await fixture.pass(5)
        try await fixture.emit("Enter", .int(21))
        await fixture.pass(11)
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `by a failure if a word says so`() async throws {
        let fixture = try ConditionFixture(system("every: 1s, act: a, onFailure: degrade"))
        fixture.acts["a"] = .fails
        await fixture.start()
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: onFailure, exit code 3")
    }

    /// H2, for a side effect that runs.
    @Test func `while a side effect cannot do its work at all`() async throws {
        let fixture = try ConditionFixture(system("every: 1s, act: a"))
        fixture.acts["a"] = .cannot
        await fixture.start()
        await fixture.pass(120)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: no wire")
        let status = try fixture.host.systemStatus("s")
        #expect(status.faults == 121 && status.failures == 0)
        fixture.acts["a"] = .isSilent
        await fixture.pass()
        #expect(try fixture.reason() == "healthy")
    }

    /// H3.
    @Test func `while the rule for an outcome has a fault`() async throws {
        let fixture = try ConditionFixture(
            system("every: 1s, act: a, onSuccess: { when: 1 / state.n == 1, emit: Ok }"))
        await fixture.start()
        await fixture.pass(120)
        #expect(try fixture.reason().hasPrefix("onSuccess of feedback ask, a.yaml:7:"))
        try await fixture.emit("Set", .int(1))
        await fixture.pass()
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `while the rule for an outcome during a run has a fault, although the run succeeds`() async throws {
        let fixture = try ConditionFixture(system("every: 1s, act: a, onPart: { when: 1 / state.n == 1, emit: Ok }"))
        await fixture.start()
        await fixture.pass(120)
        #expect(try fixture.reason().hasPrefix("onPart of feedback ask, a.yaml:7:"))
        try await fixture.emit("Set", .int(1))
        await fixture.pass()
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `while no rule makes an event of a probe that is down`() async throws {
        let fixture = try ConditionFixture(
            system(
                "every: 1s, act: { name: a, failureThreshold: 2 }, onDown: { when: 1 / state.n == 1, emit: Bad }"))
        fixture.acts["a"] = .fails
        await fixture.start()
        // One failure is no level yet.
        #expect(try fixture.reason() == "healthy")
        await fixture.pass(60)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: onFailure, exit code 3; no rule for it holds")
        let fault = try fixture.host.systemStatus("s").lastFault
        #expect(fault?.place.hasPrefix("onDown of feedback ask, a.yaml:7:") == true)
        fixture.acts["a"] = .succeeds
        await fixture.pass()
        #expect(try fixture.reason() == "healthy")
        fixture.acts["a"] = .fails
        try await fixture.emit("Set", .int(2))
        await fixture.pass(60)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: onFailure, exit code 3; no rule for it holds")
        fixture.acts["a"] = .succeeds
        try await fixture.emit("Set", .int(1))
        await fixture.pass()
        fixture.acts["a"] = .fails
        await fixture.pass(60)
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `while the last attempt of a run has failed`() async throws {
        let fixture = try ConditionFixture(system("every: 1m, retry: { times: 2, delay: 1s }, act: a"))
        fixture.acts["a"] = .fails
        await fixture.start()
        #expect(try fixture.reason() == "healthy")
        await fixture.pass(10)
        #expect(try fixture.reason() == Self.unhandled)
        #expect(try fixture.host.systemStatus("s").failures == 1)
        await fixture.pass(48)
        fixture.acts["a"] = .cannot
        await fixture.pass(3)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: no wire")
        fixture.acts["a"] = .succeeds
        await fixture.pass(60)
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `while the only run of a feedback fails, though an earlier state began it`() async throws {
        let fixture = try ConditionFixture(
            system("strategy: continueOnNewState, mode: single, timeout: 30s, act: a"))
        fixture.acts["a"] = .hangs
        await fixture.start()
        try await fixture.emit("Go")
        try await fixture.emit("Go")
        await fixture.pass(31)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: its time was up, after 30.0 seconds")
    }

    @Test func `while the time of a side effect is up and no rule handles that`() async throws {
        let fixture = try ConditionFixture(system("every: 1m, timeout: 5s, act: a"))
        fixture.acts["a"] = .hangs
        await fixture.start()
        #expect(try fixture.reason() == "healthy")
        await fixture.pass(30)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: its time was up, after 5.0 seconds")
        fixture.acts["a"] = .succeeds
        await fixture.pass(30)
        #expect(try fixture.reason() == "healthy")
    }

    /// H2.
    @Test func `while a side effect that observes cannot`() async throws {
        let fixture = try ConditionFixture(system("see: a, onSeen: Ok"))
        fixture.acts["a"] = .cannot
        await fixture.start()
        await fixture.pass(3_600)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: nothing to see")
        #expect(try fixture.host.systemStatus("s").faults == 1)
        fixture.acts["a"] = .succeeds
        await fixture.pass()
        #expect(try fixture.reason() == "healthy")
        fixture.acts["a"] = .cannot
        await fixture.pass()
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: nothing to see")
        fixture.acts["a"] = .fails
        await fixture.pass()
        #expect(try fixture.reason() == "healthy")
        fixture.acts["a"] = .isSilent
        await fixture.pass()
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: it ended, although it should go on")
        try await fixture.emit("Go")
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `while a side effect that observes cannot, also after a reset`() async throws {
        let fixture = try ConditionFixture(system("strategy: continueOnNewState, see: a, onSeen: Ok"))
        fixture.acts["a"] = .cannot
        await fixture.start()
        try fixture.host.reset("s")
        await fixture.settle()
        await fixture.pass(10)
        #expect(try fixture.reason() == "feedback ask, a.yaml:7:3: nothing to see")
    }

    /// H4.
    @Test func `while a run lasts so long that too many ticks are missed`() async throws {
        let fixture = try ConditionFixture(system("every: 5s, act: a"))
        fixture.acts["a"] = .hangs
        await fixture.start()
        await fixture.pass(54)
        #expect(try fixture.reason() == "healthy")
        await fixture.pass(2)
        #expect(try fixture.reason().hasSuffix(", more than 10 ticks missed"))
        await fixture.pass(3_600)
        #expect(try fixture.reason().hasSuffix(", more than 10 ticks missed"))
        fixture.acts["a"] = .succeeds
        // The end of the run is what counts: with `cancelOnNewState` a new state ends it.
        try await fixture.emit("Go")
        #expect(try fixture.reason() == "healthy")
    }

    @Test(arguments: ["timeout: 5s, act: a", "act: { name: a, timeout: 5s }"])
    func `while a run exceeds its time by far`(effect: String) async throws {
        let fixture = try ConditionFixture(system("every: 1s, \(effect)"))
        fixture.acts["a"] = effect.hasPrefix("timeout") ? .resists : .hangs
        await fixture.start()
        await fixture.pass(14)
        #expect(try fixture.reason() == "healthy")
        await fixture.pass(2)
        #expect(try fixture.reason().hasSuffix(", beyond its time of 5s"))
    }

    @Test func `while a transition had a fault, until the same event is taken without one`() async throws {
        let fixture = try ConditionFixture(system("act: a"))
        await fixture.start()
        try await fixture.emit("Divide", .int(0))
        await fixture.pass(3_600)
        #expect(try fixture.reason().hasPrefix("transition from On on Divide, a.yaml:13:"))
        try await fixture.emit("Set", .int(1))
        #expect(try fixture.reason().hasPrefix("transition from On on Divide, a.yaml:13:"))
        try await fixture.emit("Divide", .int(1))
        #expect(try fixture.reason() == "healthy")
        try await fixture.emit("Divide", .int(0))
        try await fixture.emit("Go")
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `while a link had a fault, until it fires without one`() async throws {
        let link = """
            ---
            buses: { b: { kind: passthrough, value: int } }
            links: { l: { attach: s, to: b, onState: On, on: change, emitValue: "${10 / state.n}" } }
            """
        let fixture = try ConditionFixture(system("act: a", link))
        await fixture.start()
        await fixture.pass(3_600)
        #expect(try fixture.reason().hasPrefix("link "))
        try await fixture.emit("Set", .int(1))
        #expect(try fixture.reason() == "healthy")
        try await fixture.emit("Set", .int(0))
        #expect(try fixture.reason().hasPrefix("link "))
        let status = try fixture.host.linkStatus("l")
        #expect(status.faults == 2 && status.lastFault == fixture.host.time.now() && status.fired == 1)
        try await fixture.apply(system("act: a"))
        #expect(try fixture.reason() == "healthy")
    }

    @Test func `for each key, and the oldest reason is told with the number of the others`() async throws {
        let fixture = try ConditionFixture(
            system(
                """
                strategy: continueOnNewState, key: "${string(state.n)}", act: "${string(state.n)}" }
                  again: { onState: On, every: 1s, act: b
                """))
        fixture.acts["0"] = .fails
        await fixture.start()
        fixture.acts["b"] = .fails
        await fixture.pass()
        #expect(try fixture.reason() == Self.unhandled + " (key \"0\"); 1 more")
        fixture.acts["b"] = .succeeds
        await fixture.pass()
        #expect(try fixture.reason() == Self.unhandled + " (key \"0\")")
    }

    @Test func `no more after a restart, a reset or a reload that changes the feedback`() async throws {
        let fixture = try ConditionFixture(system("act: a"))
        fixture.acts["a"] = .fails
        await fixture.start()
        // The reset ends the condition, and not the next run.
        fixture.acts["a"] = .hangs
        #expect(try fixture.reason() == Self.unhandled)
        try fixture.host.reset("s")
        await fixture.settle()
        #expect(try fixture.reason() == "healthy")

        fixture.acts["a"] = .fails
        try await fixture.emit("Go")
        try await fixture.emit("Go")
        #expect(try fixture.reason() == Self.unhandled)
        fixture.acts["a"] = .isSilent
        try await fixture.apply(system("act: c"))
        #expect(try fixture.reason() == "healthy")

        fixture.acts["c"] = .fails
        try await fixture.emit("Go")
        try await fixture.emit("Go")
        #expect(try fixture.reason() == Self.unhandled)
        // A reload that leaves the feedback as it is keeps the condition, at its present place.
        try await fixture.apply("# a comment\n" + system("act: c", "description: other"))
        #expect(try fixture.reason() == Self.unhandled.replacing(":7:", with: ":8:"))
        fixture.acts["c"] = .isSilent
        try await fixture.host.restart("s")
        await fixture.settle()
        #expect(try fixture.reason() == "healthy")
    }
}
