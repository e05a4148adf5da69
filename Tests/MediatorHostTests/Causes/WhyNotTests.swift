import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

private let waiting = """
    system: backup
    states: { Waiting: {}, Paused: { retries: int }, Held: {} }
    events: { Start: {}, Pause: {}, Hold: { long: bool }, Never: {} }
    fromOutside: any
    initialState: { Paused: { retries: 3 } }
    feedbacks:
      retry: { onState: Paused, when: state.retries < 3, after: 5m, emit: Start }
      hurry: { onState: Waiting, emit: Start }
    transitions:
      Paused:
        Start: { when: state.retries < 3, to: Waiting }
        Hold:
          - { when: "event.long && state.retries > 2", to: Held }
          - { when: "event.long && state.retries > 5", to: Waiting }
          - to: stay
      Held: { Start: Waiting }
      any: { Pause: { to: Paused, set: { retries: 0 } } }
    ---
    system: uplink
    states: { Up: { speed: int }, Down: {} }
    events: { Change: {} }
    fromOutside: any
    initialState: { Up: { speed: 1 } }
    transitions: { Up: { Change: Down } }
    ---
    buses:
      status: { kind: currentValue, value: string, initial: down, fromOutside: write }
      calls: { kind: passthrough, value: int, fromOutside: write }
    links:
      by-status: { attach: backup, to: status, when: value == "up", emitEvent: Start }
      by-value: { attach: backup, to: status, onValue: idle, emitEvent: Start }
      by-call: { attach: backup, to: calls, when: value > 3, emitEvent: Start }
      by-speed: { attach: uplink, toSystem: backup, onState: Up, when: state.speed > 5, emitEvent: Start }
      by-down: { attach: uplink, toSystem: backup, onState: Down, emitEvent: Start }
      other: { attach: backup, to: calls, emitEvent: Pause }

    """

@Suite(.timeLimit(.minutes(20))) struct `Why an event does nothing, or does not come` {
    @Test func `is told of the transition, and of each that would send it`() async throws {
        let fixture = try CauseFixture(waiting)
        fixture.host.start()
        await fixture.settle()
        let answer = try fixture.host.whyNot("backup", event: "Start")
        #expect(answer.obstacle == nil && !answer.isOpaque)
        #expect(answer.otherStates == ["Held"])
        #expect(answer.transitions.map(\.to) == ["Waiting"])
        #expect(answer.transitions.map(\.holds) == [false])
        #expect(answer.transitions.map(\.reason) == ["state.retries < 3 — false, state.retries is 3"])
        #expect(answer.transitions.map { "\($0.source)" } == ["test0.yaml:11:12"])
        let reasons = Dictionary(uniqueKeysWithValues: answer.senders.map { ($0.name, $0.reasons) })
        #expect(
            reasons == [
                "by-status": [#"value == "up" — false, value is "down""#],
                "by-value": [#"it wants the value "idle", and the bus has "down""#],
                "by-call": [],
                "by-speed": ["state.speed > 5 — false, state.speed is 1"],
                "by-down": ["it acts only in Down, and uplink is in Up"],
                "retry": ["state.retries < 3 — false, state.retries is 3"],
                "hurry": ["it acts only in Waiting, and backup is in Paused"],
            ])
        let call = try #require(answer.senders.first { $0.name == "by-call" })
        #expect(call.waits.hasPrefix("it waits for a value of the bus calls for which "))
        #expect(call.waits.hasSuffix("on which none has come yet; it has not fired yet"))
        let waits = Dictionary(uniqueKeysWithValues: answer.senders.map { ($0.name, $0.waits) })
        let status = "it fires at each value of the bus status"
        #expect(waits["by-status"] == status + #" for which value == "up"; it has not fired yet"#)
        #expect(waits["by-value"] == status + " equal to idle; it has not fired yet")
        #expect(answer.senders.first { $0.name == "hurry" }?.waits == "it emits Start")
        // Nothing has been sent.
        #expect(try fixture.host.systemStatus("backup").loop.counters.events == 0)
    }

    @Test func `is that the last run has failed, in this stay and otherwise than the event needs`() async throws {
        let fixture = try ConditionFixture(
            """
            system: s
            states: { Idle: {}, Dumping: {} }
            events: { Start: {}, Done: {}, Bad: {} }
            fromOutside: any
            initialState: Idle
            feedbacks:
              dump: { onState: Dumping, act: a, onSuccess: Done }
              check: { onState: Dumping, act: b, onFailure: Bad }
            transitions: { Idle: { Start: Dumping, Done: stay, Bad: stay }, Dumping: { Done: Idle, Bad: stay } }
            """)
        func reasons(_ event: String) throws -> [String] {
            try fixture.host.whyNot("s", event: event).senders.flatMap(\.reasons)
        }
        for act in ["a", "b"] { fixture.acts[act] = .fails }
        await fixture.start()
        try await fixture.emit("Start")
        let since = try fixture.host.systemStatus("s").state.since
        #expect(try reasons("Done") == ["it ended with onFailure, exit code 3, at \(since)"])
        #expect(try reasons("Bad") == [], "it has sent that")
        fixture.acts["a"] = .isLate
        try await fixture.emit("Done")
        try await fixture.emit("Start")
        #expect(try reasons("Done").map { $0.prefix(45) } == ["it ended with onFailure, the time limit passe"])
        fixture.acts["a"] = .hangs
        fixture.clock.advance(by: .seconds(1))
        try await fixture.emit("Done")
        #expect(try reasons("Done") == ["it acts only in Dumping, and s is in Idle"])
        try await fixture.emit("Start")
        #expect(try reasons("Done") == [], "it runs, and the failure is from an earlier stay")
    }

    @Test func `tells of a value that went by only what is known of it`() async throws {
        let fixture = try CauseFixture(waiting)
        fixture.host.start()
        await fixture.settle()
        func waits(_ value: Int64) async throws -> String {
            try fixture.host.publish(.int(value), on: "calls")
            await fixture.settle()
            fixture.clock.advance(by: .seconds(1))
            return try #require(
                try fixture.host.whyNot("backup", event: "Start").senders.first { $0.name == "by-call" }
            ).waits
        }
        let first = try await waits(2)
        #expect(first.contains(" for which value > 3; the last value came at "))
        #expect(first.hasSuffix("Z, and it did not fire at that; it has not fired yet"))
        let second = try await waits(5)
        #expect(second.contains("; the last value came at ") && !second.contains("did not fire"))
        #expect(try await waits(1).contains("Z, and it did not fire at that; it fired last at "))
    }

    @Test func `says that a condition fails, and that nothing behind it is tried`() async throws {
        let fixture = try CauseFixture(
            """
            system: share
            states: { Idle: {}, Much: {}, Little: {} }
            events: { Divide: { by: int } }
            fromOutside: any
            initialState: Idle
            transitions: { Idle: { Divide: [{ when: 100 / event.by > 5, to: Much }, { to: Little }] } }
            """)
        fixture.host.start()
        await fixture.settle()
        let answer = try fixture.host.whyNot("share", event: "Divide", fields: [.int(0)]).transitions
        #expect(answer.map(\.fails) == [true, false] && answer.map(\.holds) == [false, nil])
        #expect(answer[1].reason == "not tried, since one before it fails")
        // As it is when it is sent.
        try fixture.host.emit("Divide", to: "share", fields: [.int(0)])
        await fixture.settle()
        #expect(try fixture.host.trace("share").last?.kind == .fault)
        let fine = try fixture.host.whyNot("share", event: "Divide", fields: [.int(50)]).transitions
        #expect(fine.map(\.fails) == [false, false] && fine.map(\.holds) == [false, true])
    }

    @Test func `says of which field the set fails, and with what`() async throws {
        let fixture = try CauseFixture(
            """
            system: share
            states: { Idle: { rest: int }, Part: { name: string, of: list(int) } }
            events: { Divide: { by: int, who: string } }
            fromOutside: any
            initialState: { Idle: { rest: 100 } }
            transitions:
              Idle:
                Divide:
                  - { when: event.who == "me", to: Idle, set: { rest: "${state.rest / event.by}" } }
                  - to: Part
                    set: { name: "${event.who}", of: ["${state.rest}", "${state.rest % event.by}"] }
            """)
        fixture.host.start()
        await fixture.settle()
        func ask(_ by: Int64?, _ who: String?) throws -> [WhyNot.Candidate] {
            try fixture.host.whyNot(
                "share", event: "Divide", fields: [by.map { .int($0) }, who.map { .string($0) }]
            ).transitions
        }
        let mine = try ask(0, "me")
        #expect(mine.map(\.fails) == [true, false] && mine.map(\.holds) == [true, nil])
        #expect(mine[0].field == "rest")
        #expect(
            mine[0].fieldReason
                == "state.rest / event.by — error: 100 / 0: division by zero, state.rest is 100, event.by is 0")
        let yours = try ask(0, "you")
        #expect(yours.map(\.fails) == [false, true] && yours[1].field == "of")
        #expect(yours[1].fieldReason?.hasPrefix("state.rest % event.by — error: ") == true)
        // As it is when it is sent.
        try fixture.host.emit("Divide", to: "share", fields: [.int(0), .string("you")])
        await fixture.settle()
        #expect(try fixture.host.trace("share").last?.kind == .fault)
        #expect(try ask(7, "me").map(\.fails) == [false, false])
        #expect(try ask(7, "me")[0].field == nil)
        // An unknown value is reported where it matters: a field that is only handed on cannot fail.
        let half = try ask(nil, "you")
        #expect(half.map(\.holds) == [false, true] && half.map(\.fails) == [false, false])
        #expect(half[1].field == "of" && half[1].fieldReason == "it depends on event.by")
        let other = try ask(0, nil)
        #expect(other.map(\.holds) == [nil, true] && other[0].reason == "it depends on event.who")
        #expect(other[1].fails && other[1].field == "of")
        #expect(throws: HostError.self) { try fixture.host.whyNot("share", event: "Divide", fields: [nil]) }
    }

    @Test func `leaves open what depends on data that is not given`() async throws {
        let fixture = try CauseFixture(waiting)
        fixture.host.start()
        await fixture.settle()
        let open = try fixture.host.whyNot("backup", event: "Hold").transitions
        #expect(open.map(\.holds) == [nil, false, true])
        #expect(open[0].reason == "it depends on event.long")
        let long = try fixture.host.whyNot("backup", event: "Hold", fields: [.bool(true)]).transitions
        #expect(long.map(\.holds) == [true, nil, nil])
        // The first one is known to hold, so the others are not reported as possible.
        #expect(long.dropFirst().map(\.reason) == Array(repeating: "not tried, since one before it holds", count: 2))
        let short = try fixture.host.whyNot("backup", event: "Hold", fields: [.bool(false)]).transitions
        #expect(short.map(\.holds) == [false, false, true])
        #expect(throws: HostError.self) { try fixture.host.whyNot("backup", event: "Hold", fields: [.int(1)]) }
        #expect(throws: HostError.self) { try fixture.host.whyNot("backup", event: "Holt") }
        let never = try fixture.host.whyNot("backup", event: "Never")
        #expect(never.transitions.isEmpty && never.otherStates.isEmpty && never.senders.isEmpty)
    }

    @Test func `names a breaker that is open, and a system that does not run`() async throws {
        let fixture = try CauseFixture(
            waiting.replacing(
                "by-down: { attach: uplink, toSystem: backup, onState: Down, emitEvent: Start }",
                with:
                    "by-down: { attach: uplink, toSystem: backup, onState: any, emitEvent: Start, loop: { limit: 1 per 1h } }"
            ))
        fixture.host.start()
        await fixture.settle()
        try fixture.host.emit("Change", to: "uplink", fields: [])
        await fixture.settle()
        var sender = try #require(
            try fixture.host.whyNot("backup", event: "Start").senders.first { $0.name == "by-down" })
        #expect(sender.reasons == ["it is held back, since it would fire more often than 1 per 1h"])
        await fixture.host.stop(within: .seconds(1))
        sender = try #require(try fixture.host.whyNot("backup", event: "Start").senders.first { $0.name == "by-down" })
        #expect(sender.reasons.first == "uplink does not run: it is stopping")
        #expect(try fixture.host.whyNot("backup", event: "Start").obstacle == "it is stopping")
    }
}
