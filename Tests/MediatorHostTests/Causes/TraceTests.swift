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

@Suite(.timeLimit(.minutes(20))) struct `What a system did of late` {
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
        let fault = try #require(try fixture.host.trace("store").first { $0.kind == .fault })
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
        // Steps that are left out have numbers, too.
        #expect(try fixture.host.trace("store").map(\.number) == [1, 2, 3, 4, 203])
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
        #expect(try fixture.host.trace("store").last?.number == 603)
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
