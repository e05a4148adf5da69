import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

private let guarded = """
    system: store
    states: { Filling: { used: int }, Full: {} }
    events: { Add: { by: int }, Empty: {}, Odd: {}, Divide: { by: int }, Nudge: {} }
    fromOutside: any
    initialState: { Filling: { used: 80 } }
    mailbox: { limit: 3 }
    transitions:
      Filling:
        Add:
          - { when: state.used + event.by < 90, to: Filling, set: { used: "${state.used + event.by}" } }
          - { when: "state.used < 83 && event.by > 5", to: Full }
        Divide: { to: Filling, set: { used: "${state.used / event.by}" } }
        Nudge: stay
      Full:
        Empty: { to: Filling, set: { used: 0 } }

    """

@Suite(.timeLimit(.minutes(5))) struct `What a system did of late` {
    private func emit(_ fixture: CauseFixture, _ event: String, _ number: Int64? = nil) async throws {
        try fixture.host.emit(event, to: "store", fields: number.map { [.int($0)] } ?? [])
        await fixture.settle()
    }

    @Test func `is told with conditions and what they read`() async throws {
        let fixture = try CauseFixture(guarded)
        fixture.host.start()
        await fixture.settle()
        try await emit(fixture, "Add", 2)
        try await emit(fixture, "Add", 5)
        try await emit(fixture, "Nudge")
        try await emit(fixture, "Divide", 0)
        try await emit(fixture, "Empty")
        try await emit(fixture, "Add", 50)
        let steps = try fixture.host.trace("store")
        let place = "transition from Filling on Divide, test0.yaml:12:13"
        #expect(
            steps.map(\.text) == [
                "began in Filling { used: 80 }",
                "Filling { used: 80 } → Filling { used: 82 } on Add { by: 2 }",
                "Filling { used: 82 } → Filling { used: 87 } on Add { by: 5 }",
                "stayed in Filling { used: 87 } on Nudge",
                "failed on Divide { by: 0 } in Filling { used: 87 }: \(place): 87 / 0: division by zero",
                "did not handle Empty in Filling { used: 87 }",
                "did not handle Add { by: 50 } in Filling { used: 87 }",
            ])
        #expect(steps.map(\.kind) == [.began, .transition, .transition, .stay, .fault, .unhandled, .unhandled])
        #expect(
            steps[1].guards.map(\.reason) == ["state.used + event.by < 90 — true, state.used is 80, event.by is 2"])
        let guards = try #require(steps.last).guards
        #expect(guards.map(\.holds) == [false, false])
        #expect(
            guards.map(\.reason) == [
                "state.used + event.by < 90 — false, state.used is 87, event.by is 50",
                "state.used < 83 — false, state.used is 87",
            ])
        #expect(guards.map { "\($0.source)" } == ["test0.yaml:10:9", "test0.yaml:11:9"])
    }

    @Test func `names the rule of an outcome that failed`() async throws {
        let fixture = try CauseFixture(
            """
            system: store
            states: { A: { n: int } }
            events: { Lost: { n: int } }
            fromOutside: any
            initialState: { A: { n: 0 } }
            feedbacks:
              probe:
                onState: A
                look: 1s
                onLost:
                  - { when: "size(result.why) > 100", emit: { Lost: { n: 1 } } }
                  - when: result.why != ""
                    emit: { Lost: { n: "${1 / state.n}" } }
            transitions: { A: { Lost: stay } }

            """)
        fixture.host.start()
        await fixture.settle()
        await fixture.pass(.seconds(1))
        // It ends by itself, some time after the clock has told it to.
        var found: TraceStep?
        while found == nil {
            await Task.yield()
            found = try fixture.host.trace("store").first { $0.kind == .fault }
        }
        let fault = try #require(found)
        #expect(fault.text.contains("onLost of feedback probe, test0.yaml:12:9: "), "\(fault.text)")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `tells of all that it did in turns, and once of what it did again at once`() async throws {
        let fixture = try CauseFixture(
            """
            system: store
            states: { A: { n: int }, B: {} }
            events: { S: {}, T: {}, U: {}, V: {}, X: { by: int }, Y: { of: string }, Go: {}, Back: {} }
            fromOutside: any
            initialState: { A: { n: 1 } }
            transitions:
              A:
                S: stay
                T: stay
                X: { to: A, set: { n: "${1 / event.by}" } }
                Y: { to: A, set: { n: "${int(event.of)}" } }
                Go: B
              B: { Back: { to: A, set: { n: 1 } } }

            """)
        fixture.host.start()
        await fixture.settle()
        for _ in 0..<2 {
            for event in ["U", "V", "U", "V", "S", "T", "S", "T", "T", "T"] { try await emit(fixture, event) }
            for _ in 0..<2 {
                try fixture.host.emit("X", to: "store", fields: [.int(0)])
                try fixture.host.emit("Y", to: "store", fields: [.string("?")])
                await fixture.settle()
            }
        }
        for _ in 0..<3 {
            try await emit(fixture, "Go")
            try await emit(fixture, "Back")
        }
        let steps = try fixture.host.trace("store")
        let events = steps.map { step in step.event?.name ?? "began" }
        // Of the last three there is only the last.
        let round = ["U", "V", "U", "V", "S", "T", "S", "T", "X", "Y", "X", "Y"]
        #expect(events == ["began"] + round + round + ["Go", "Back", "Go", "Back", "Go", "Back"])
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `tells of side effects when they began, ended, and what they came to`() async throws {
        let fixture = try CauseFixture(
            """
            system: uplink
            states: { Up: {}, Down: { why: string } }
            events: { Lost: { why: string } }
            initialState: Up
            feedbacks:
              probe: { onState: Up, look: 3s, onLost: { Lost: { why: "${result.why}" } } }
            transitions: { Up: { Lost: { to: Down, set: { why: "${event.why}" } } } }
            """)
        fixture.host.start()
        await fixture.pass(.seconds(3))
        try await fixture.reach("Down", in: "uplink")
        // The run ends by itself after it has told.
        while try fixture.host.trace("uplink").count < 3 { await fixture.settle() }
        let steps = try fixture.host.trace("uplink")
        let run = try #require(steps.first { $0.kind == .run })
        #expect(run.text == #"the feedback probe in Up came after 3000 ms to onLost { why: "no answer" }"#)
        // It stands before its effects, though it ended only after them.
        #expect(steps.map(\.kind) == [.began, .run, .transition])
        #expect(run.ended?.seconds == run.time.seconds + 3)
        #expect(run.outcomes.map(\.name) == ["onLost"])
        #expect(run.outcomes.map(\.time) == [steps[2].time])
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `says who paused it, and let it go on`() async throws {
        let fixture = try CauseFixture(guarded)
        fixture.host.start()
        await fixture.settle()
        try fixture.host.pause("store", by: 1_000, named: "alice")
        try await emit(fixture, "Add", 2)
        fixture.clock.advance(by: .seconds(63))
        try fixture.host.resume("store", by: 1_001)
        await fixture.settle()
        let steps = try fixture.host.trace("store")
        #expect(steps.map(\.kind) == [.began, .paused, .resumed, .transition])
        #expect(steps[1...2].map(\.text) == ["paused by alice", "resumed by user 1001 after 1m3s"])
        #expect(steps[2].time.seconds - steps[1].time.seconds == 63)
        // A system that is not paused does not note it.
        try fixture.host.resume("store")
        #expect(try fixture.host.trace("store").count == 4)
    }

    @Test func `forgets mere repetitions first, and keeps no more than so many`() async throws {
        let fixture = try CauseFixture(guarded)
        fixture.host.start()
        await fixture.settle()
        try await emit(fixture, "Odd")
        try await emit(fixture, "Add", 9)
        for _ in 0..<200 { try await emit(fixture, "Nudge") }
        var kinds = try fixture.host.trace("store").map(\.kind)
        // The first of those that stayed was no repetition, and of these the last is kept.
        #expect(kinds == [.began, .unhandled, .transition, .stay, .stay])
        for _ in 0..<200 {
            try await emit(fixture, "Odd")
            try await emit(fixture, "Divide", 0)
        }
        kinds = try fixture.host.trace("store").map(\.kind)
        // Two that take turns are repetitions, too: what was before them is still there.
        #expect(Array(kinds.prefix(4)) == [.began, .unhandled, .transition, .stay])
        #expect(kinds.count < 2 * Trace.capacity && Set(kinds.suffix(Trace.capacity)) == [.unhandled, .fault])
    }

    @Test func `merges nothing over a restart or a reset`() async throws {
        let fixture = try CauseFixture(
            """
            system: up
            states: { V: { n: int } }
            events: { Inc: {} }
            initialState: { V: { n: 0 } }
            feedbacks: { more: { onState: V, when: state.n < 5, emit: Inc } }
            transitions: { V: { Inc: { to: V, set: { n: "${state.n + 1}" } } } }
            """)
        let (first, last) = ("V { n: 0 } → V { n: 1 } on Inc", "V { n: 4 } → V { n: 5 } on Inc")
        fixture.host.start()
        await fixture.settle()
        #expect(try fixture.host.trace("up").map(\.text) == ["began in V { n: 0 }", first, last])
        try await fixture.host.restart("up")
        await fixture.settle()
        try fixture.host.reset("up")
        await fixture.settle()
        let steps = try fixture.host.trace("up")
        let anew = ["began in V { n: 0 }", first, last]
        #expect(steps.prefix(6).map(\.text) == anew + anew)
        #expect(steps.dropFirst(6).first?.text.contains("→ V { n: 0 }") == true)
        #expect(steps.dropFirst(7).map(\.text) == [first, last])
        // The steps before a row of restarts are still there when the restarts have pushed each other out.
        try fixture.host.pause("up", by: 1_000, named: "alice")
        try fixture.host.resume("up", by: 1_000)
        for _ in 0..<20 {
            try await fixture.host.restart("up")
            await fixture.settle()
        }
        #expect(try fixture.host.trace("up").contains { $0.kind == .paused })
        #expect(try fixture.host.trace("up").suffix(Trace.capacity).count { $0.kind == .began } > 9)
    }
}

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

@Suite(.timeLimit(.minutes(5))) struct `Why an event does nothing, or does not come` {
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
        #expect(answer.senders.first { $0.name == "hurry" }?.waits == "it emits Start")
        // Nothing has been sent.
        #expect(try fixture.host.systemStatus("backup").loop.counters.events == 0)
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

/// The kept part of long and of secret results.
struct ExcerptTests {
    @Test func `What is short is kept whole`() {
        let value = Value.list([.string("a"), .int(1), .map([.string("k"): .bytes([1, 2])])])
        #expect(Excerpt.of(value) == value)
        let text = String(repeating: "ö", count: Excerpt.longest / 2)
        #expect(Excerpt.of(.string(text)) == .string(text))
    }

    @Test func `Of what is long the beginning is kept, in all its parts together`() {
        let long = Value.string(String(repeating: "é", count: 1_000_000))
        guard case .list(let list) = Excerpt.of(.list([.string("a"), long, long])) else {
            Issue.record("no list")
            return
        }
        #expect(list[0] == .string("a"))
        // One byte is left over, which is not enough for a letter of two.
        #expect(list[1] == .string(String(repeating: "é", count: (Excerpt.longest - 1) / 2) + "…"))
        #expect(list[2] == .string("…"))
        #expect(Excerpt.of(.bytes(Array(repeating: 7, count: 10_000))) == .bytes(Array(repeating: 7, count: 2048)))
        let deep = Value.list((0..<100).map { .list([.int($0), .int($0)]) })
        guard case .list(let kept) = Excerpt.of(deep) else { return }
        #expect(kept.count < Excerpt.mostElements && kept.count > 20)
    }
}
