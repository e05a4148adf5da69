import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

private let backup = """
    system: backup
    states: { Waiting: {}, Paused: { reason: string } }
    events: { Pause: { reason: string }, Start: {} }
    fromOutside: any
    initialState: Waiting
    transitions: { any: { Pause: { to: Paused, set: { reason: "${event.reason}" } }, Start: Waiting } }

    """

private let uplink = """
    ---
    system: uplink
    states: { Up: {}, Down: { why: string } }
    events: { Lost: { why: string }, Back: {} }
    fromOutside: any
    initialState: Up
    feedbacks:
      probe: { onState: Up, look: 3s, onLost: { Lost: { why: "${result.why}" } } }
    transitions:
      Up: { Lost: { to: Down, set: { why: "${event.why}" } } }
      Down: { Back: Up }

    """

private let simple =
    backup + """
        ---
        buses: { status: { kind: passthrough, value: string, fromOutside: write } }
        links: { pause: { attach: backup, to: status, emitEvent: { Pause: { reason: "${value}" } } } }
        """

private let bus = """
    ---
    buses:
      uplink.status: { kind: currentValue, value: string, initial: up, fromOutside: write }
    links:
      tell: { attach: uplink, to: uplink.status, onState: Down, emitValue: "${'down: ' + state.why}" }
      pause: { attach: backup, to: uplink.status, when: value != "up", emitEvent: { Pause: { reason: "${value}" } } }
    """

@Suite(.timeLimit(.minutes(20))) struct `Why a system is in its state` {
    @Test func `goes over event, link, bus, link and side effect to the start`() async throws {
        let fixture = try CauseFixture(backup + uplink + bus)
        fixture.host.start()
        await fixture.pass(.seconds(3))
        try await fixture.reach("Paused", in: "backup")
        let chain = try fixture.host.why("backup")
        #expect(
            chain.hops.map(\.text) == [
                #"backup is in Paused { reason: "down: no answer" }"#,
                #"by the event Pause { reason: "down: no answer" }"#,
                "which the link pause made of a value of the bus uplink.status",
                #"the bus uplink.status got "down: no answer""#,
                "put there by the link tell",
                #"uplink was in Down { why: "no answer" }"#,
                #"by the event Lost { why: "no answer" }"#,
                #"since the feedback probe came after 3000 ms to onLost { why: "no answer" }"#,
                "uplink was in Up",
                "as it began at the start",
            ])
        #expect(!chain.isCut)
        #expect(chain.hops.map { $0.time?.seconds ?? 0 }.map { $0 - 1_700_000_000 } == [3, 3, 3, 3, 3, 3, 3, 3, 0, 0])
        #expect(
            chain.hops.map(\.kind) == [
                .state, .event, .link, .value, .link, .state, .event, .feedback, .state, .start,
            ])
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `says when an event was sent that had to wait`() async throws {
        let fixture = try CauseFixture(simple)
        fixture.host.start()
        await fixture.settle()
        let client = HostClient(userID: 1000, processID: 4711)
        try fixture.host.pause("backup", by: 0, named: nil)
        let begin = try fixture.host.systemStatus("backup").pause?.since.seconds ?? 0
        fixture.clock.advance(by: .seconds(2))
        try fixture.host.emit("Pause", to: "backup", fields: [.string("by hand")], by: client)
        fixture.clock.advance(by: .seconds(90))
        try fixture.host.resume("backup")
        await fixture.settle()
        var hops = try fixture.host.why("backup").hops
        #expect(hops[1].text == #"by the event Pause { reason: "by hand" } (it had waited for 1m30s)"#)
        #expect(hops[1].sent?.seconds == begin + 2)
        #expect(hops[2].time?.seconds == begin + 2 && hops[0].time?.seconds == begin + 92)
        // An event over a bus was sent when the bus got the value.
        try fixture.host.pause("backup", by: 0, named: nil)
        try fixture.host.publish(.string("odd"), on: "status", by: client)
        fixture.clock.advance(by: .seconds(5))
        try fixture.host.resume("backup")
        await fixture.settle()
        hops = try fixture.host.why("backup").hops
        #expect(hops[1].text == #"by the event Pause { reason: "odd" } (it had waited for 5000 ms)"#)
        // An event that is handled soon needs no time of its own.
        try fixture.host.emit("Start", to: "backup", fields: [], by: client)
        await fixture.settle()
        hops = try fixture.host.why("backup").hops
        #expect(hops.map(\.text).prefix(2) == ["backup is in Waiting", "by the event Start"] && hops[1].sent == nil)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `tells long values whole, up to a bound`() async throws {
        let fixture = try CauseFixture(simple)
        fixture.host.start()
        let long = String(repeating: "x", count: 1_500)
        try fixture.host.emit("Pause", to: "backup", fields: [.string(long)])
        await fixture.settle()
        #expect(try fixture.why("backup")[0] == "backup is in Paused { reason: \"\(long)\" }")
        try fixture.host.emit("Pause", to: "backup", fields: [.string(long + long)])
        await fixture.settle()
        let text = try fixture.why("backup")[0]
        #expect(text.hasSuffix("… }") && text.count < 2_100)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `names the client, and the program where there is none`() async throws {
        let fixture = try CauseFixture(backup + uplink + bus)
        fixture.host.start()
        let client = HostClient(userID: 1000, processID: 4711)
        try fixture.host.emit("Pause", to: "backup", fields: [.string("by hand")], by: client)
        await fixture.settle()
        #expect(try fixture.why("backup").last == "emitted by a client (user 1000, process 4711)")
        #expect(try fixture.host.why("backup").hops.last?.client == client)
        try fixture.host.publish(.string("odd"), on: "uplink.status", by: client)
        await fixture.settle()
        #expect(
            try fixture.why("backup").suffix(2) == [
                #"the bus uplink.status got "odd""#, "published by a client (user 1000, process 4711)",
            ])
        try fixture.host.emit("Start", to: "backup", fields: [])
        await fixture.settle()
        #expect(
            try fixture.why("backup") == ["backup is in Waiting", "by the event Start", "emitted by the program"])
        try fixture.host.reset("backup", by: client)
        await fixture.settle()
        #expect(
            try fixture.why("backup") == ["backup is in Waiting", "reset by a client (user 1000, process 4711)"])
    }

    @Test func `ends with the clock, where that brought it about`() async throws {
        let fixture = try CauseFixture(
            """
            system: watch
            states: { Idle: { ticks: int }, Alarmed: {} }
            events: { Tick: {}, Late: {} }
            initialState: { Idle: { ticks: 0 } }
            feedbacks:
              tick: { onState: Idle, every: 10s, emit: Tick }
              late: { onState: Idle, when: state.ticks == 2, after: 4s, emit: Late }
            transitions: { Idle: { Tick: { to: Idle, set: { ticks: "${state.ticks + 1}" } }, Late: Alarmed } }
            """)
        fixture.host.start()
        await fixture.settle()
        await fixture.pass(.seconds(10))
        #expect(
            try fixture.why("watch") == [
                "watch is in Idle { ticks: 2 }", "by the event Tick", "emitted by the feedback tick",
                "by the clock, while watch was in Idle { ticks: 1 } (every 10s: emit Tick)",
            ])
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(14)))
        await fixture.pass(.seconds(4))
        // A wait leads back to the state that asked for it.
        #expect(
            try fixture.why("watch") == [
                "watch is in Alarmed", "by the event Late", "emitted by the feedback late",
                "watch was in Idle { ticks: 2 }", "by the event Tick", "emitted by the feedback tick",
                "by the clock, while watch was in Idle { ticks: 1 } (every 10s: emit Tick)",
            ])
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `ends with a fault, where that made it begin anew`() async throws {
        func system(_ action: String) -> String {
            """
            system: divider
            states: { Ready: { n: int } }
            events: { Divide: { by: int } }
            fromOutside: any
            initialState: { Ready: { n: 1 } }
            supervision: { onFault: \(action)\(action == "restart" ? ", delay: 1s" : "") }
            transitions: { Ready: { Divide: { to: Ready, set: { n: "${state.n / event.by}" } } } }
            """
        }
        for action in ["reset", "restart"] {
            let fixture = try CauseFixture(system(action))
            fixture.host.start()
            try fixture.host.emit("Divide", to: "divider", fields: [.int(0)])
            await fixture.settle()
            if action == "restart" {
                let changes = fixture.host.healthChanges
                await fixture.pass(.seconds(1))
                for await _ in changes where try fixture.host.systemStatus("divider").restarts == 1 { break }
                await fixture.settle()
            }
            let hops = try fixture.host.why("divider").hops
            #expect(hops.map(\.kind) == [.state, .fault])
            #expect(
                hops.last?.text.hasPrefix(
                    "\(action) on account of a fault of divider: transition from Ready on Divide, test0.yaml:7:")
                    == true)
            try await fixture.host.restart("divider")
            #expect(try fixture.why("divider") == ["divider is in Ready { n: 1 }", "restarted by the program"])
            await fixture.host.stop(within: .seconds(1))
        }
    }

    @Test func `outlives a reload, which a changed system goes on from, and marks what a link is shown anew`()
        async throws
    {
        let fixture = try CauseFixture(backup + uplink + bus)
        fixture.host.start()
        await fixture.pass(.seconds(3))
        try await fixture.reach("Paused", in: "backup")
        let before = try fixture.why("backup")
        fixture.clock.advance(by: .seconds(100))
        try await fixture.apply(
            backup + uplink + bus
                + "\n  other: { attach: backup, to: uplink.status, when: \"false\", emitEvent: Start }")
        #expect(try fixture.why("backup") == before)
        // The system itself changes, and its links go on.
        let changed = (backup + uplink).replacing("system: uplink\n", with: "system: uplink\nmailbox: { limit: 77 }\n")
        try await fixture.apply(changed + bus)
        await fixture.settle()
        let carried = [
            #"in Down { why: "no answer" }"#, "carried over by a reload, which changed the system",
            #"uplink was in Down { why: "no answer" }"#, #"by the event Lost { why: "no answer" }"#,
        ]
        #expect(try fixture.why("uplink").prefix(4) == ["uplink is " + carried[0]] + carried[1...])
        // Its links have told nobody of the state once more.
        #expect(try fixture.why("backup") == before)
        let again = changed.replacing("states: { Waiting: {},", with: "states: { Waiting: { n: int },").replacing(
            "initialState: Waiting", with: "initialState: { Waiting: { n: 1 } }"
        ).replacing("Start: Waiting", with: "Start: { to: Waiting, set: { n: 2 } }").replacing(
            "Paused: { reason: string }", with: "Paused: { reason: string, more: int }"
        ).replacing("set: { reason: \"${event.reason}\" }", with: "set: { reason: \"${event.reason}\", more: 1 }")
        try await fixture.apply(again + bus)
        try await fixture.reach("Paused", in: "backup")
        let story = try fixture.host.why("backup").hops
        #expect(story.contains { $0.kind == .value && $0.isReplay })
        #expect(story[3].text == #"when the link was joined, the bus uplink.status had "down: no answer" already"#)
        try await fixture.apply(again + bus + "\n---\nsystem: extra\nstates: { On: {} }\ninitialState: On\n")
        #expect(
            try fixture.why("extra") == ["extra is in On", "as it began on account of a reload"])
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `of a system written in Swift names its own feedback`() async throws {
        let fixture = try KindFixture("system: kitchen\nkind: speaker\nwith: { target: 12 }\n")
        fixture.host.start()
        _ = try await fixture.states(of: "kitchen", until: "VolumeState 12")
        await fixture.settle()
        #expect(
            try fixture.host.why("kitchen").hops.map(\.text) == [
                "kitchen is in VolumeState { value: 12 }", "by the event IncreaseEvent",
                "emitted by the feedback on VolumeState", "kitchen was in VolumeState { value: 11 }",
                "by the event IncreaseEvent", "emitted by the feedback on VolumeState",
                "kitchen was in VolumeState { value: 10 }", "as it began at the start",
            ])
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `knows times before 1970, with their fractions`() async throws {
        let clock = ManualClock()
        let times = Mutex(Int64(0))
        let time = HostTime.settling(clock) {
            let number = times.withLock { times in
                times += 1
                return times
            }
            guard let time = Timestamp(seconds: -1_000 + number, nanoseconds: 999_999_999) else {
                preconditionFailure("there is such a time")
            }
            return time
        }
        let host = try Host(
            graph: try graph(
                """
                system: a
                states: { Off: {}, On: {} }
                events: { Go: {} }
                fromOutside: any
                initialState: Off
                transitions: { Off: { Go: On }, On: { Go: stay } }
                ---
                system: b
                states: { Off: {}, On: {} }
                events: { Go: {} }
                initialState: Off
                transitions: { Off: { Go: On }, On: { Go: stay } }
                ---
                buses: { news: { kind: passthrough, value: int } }
                links:
                  tell: { attach: a, to: news, onState: On, emitValue: 1 }
                  hear: { attach: b, to: news, emitEvent: Go }
                """), effects: EffectCatalogue([]), time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        try host.emit("Go", to: "a", fields: [])
        await host.settled()
        let hops = try host.why("b").hops
        // Of a value on a bus it is noted when it was put there.
        let value = try #require(hops.first { $0.kind == .value })
        #expect(value.time?.seconds ?? 0 < 0 && value.time?.nanoseconds == 999_999_999, "\(hops)")
        let found = hops.compactMap(\.time)
        #expect(found.count >= 5 && found.allSatisfy { $0.seconds < 0 && $0.nanoseconds == 999_999_999 }, "\(found)")
        #expect(found == found.sorted(by: >), "\(found)")
        await host.stop(within: .seconds(1))
    }
}
