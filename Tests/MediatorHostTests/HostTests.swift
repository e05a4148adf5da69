import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

@Suite(.timeLimit(.minutes(20))) struct `The host` {
    @Test func `transitions choose by condition, set and keep fields, and fall through to the wildcard`() async throws {
        let fixture = try HostFixture(counterSystem)
        fixture.host.start()
        await fixture.settle()
        #expect(try fixture.state("counter") == #"Count 1 "since 2023-11-14T22:13:20Z""#)
        try fixture.host.emit("Add", to: "counter", fields: [.int(41)])
        try fixture.host.emit("Same", to: "counter", fields: [])
        try fixture.host.emit("Unknown", to: "counter", fields: [])
        await fixture.settle()
        #expect(try fixture.state("counter") == #"Count 42 "since 2023-11-14T22:13:20Z""#)
        var status = try fixture.host.systemStatus("counter")
        #expect(status.loop.counters.events == 3)
        #expect(status.loop.counters.transitions == 1)
        #expect(status.loop.counters.unhandled == 1)
        // No rule of Count holds for a negative number: the rule for any state does.
        try fixture.host.emit("Add", to: "counter", fields: [.int(-1)])
        await fixture.settle()
        #expect(try fixture.state("counter") == "Done -1")
        status = try fixture.host.systemStatus("counter")
        #expect(status.state.previous == 0)
        #expect(status.state.event?.index == 0)
        await fixture.host.stop(within: .seconds(1))
        #expect(fixture.host.health == .stopped)
    }

    @Test(arguments: [("ignore", Health.healthy), ("warn", .healthy), ("fault", .failed)])
    func `what becomes of an event that is not handled is the system's policy`(policy: String, health: Health)
        async throws
    {
        let fixture = try HostFixture(
            """
            system: door
            states: { Shut: {}, Open: {} }
            events: { Open: {}, Slam: {} }
            fromOutside: any
            unhandled: \(policy)
            initialState: Shut
            transitions: { Shut: { Open: Open }, Open: { Slam: Shut } }
            """)
        fixture.host.start()
        try fixture.host.emit("Slam", to: "door", fields: [])
        await fixture.settle()
        let status = try fixture.host.systemStatus("door")
        #expect(status.loop.counters.unhandled == 1)
        #expect(status.health == health)
        #expect(status.lastFault?.message == (policy == "fault" ? "the event 'Slam' is not handled" : nil))
        try fixture.host.emit("Open", to: "door", fields: [])
        fixture.clock.advance(by: .seconds(61))
        await fixture.settle()
        #expect(try fixture.state("door").hasPrefix("Open"))
        #expect(fixture.host.health == health)
    }

    @Test func `what is asked wrongly changes nothing and says what would be right`() throws {
        let fixture = try HostFixture(counterSystem)
        fixture.host.start()
        #expect(throws: HostError.noSuchSystem("conter", nearest: "counter")) {
            try fixture.host.emit("Add", to: "conter", fields: [])
        }
        #expect(throws: HostError.noSuchEvent(system: "counter", event: "Ad", nearest: "Add")) {
            try fixture.host.emit("Ad", to: "counter", fields: [])
        }
        #expect(throws: HostError.wrongType(path: "Add.by", expected: "int", found: "string")) {
            try fixture.host.emit("Add", to: "counter", fields: [.string("1")])
        }
        #expect(throws: HostError.noSuchBus("x", nearest: nil)) { try fixture.host.publish(.int(1), on: "x") }
        #expect(try fixture.host.systemStatus("counter").loop.counters.events == 0)
    }

    @Test func `links of all forms, joined before anything starts`() async throws {
        let fixture = try HostFixture(
            """
            system: source
            states: { Low: { level: int }, High: { level: int } }
            events: { Set: { level: int } }
            initialState: { High: { level: 9 } }
            transitions:
              any:
                Set:
                  - { when: event.level > 5, to: High, set: { level: "${event.level}" } }
                  - { to: Low, set: { level: "${event.level}" } }
            ---
            system: target
            states: { Seen: { text: string } }
            events: { Note: { text: string } }
            initialState: { Seen: { text: "" } }
            transitions: { any: { Note: { to: Seen, set: { text: "${state.text + event.text + ' '}" } } } }
            ---
            buses:
              level: { kind: currentValue, value: int, initial: 0 }
              alarm: { kind: passthrough, value: { text: string, level: int } }
            links:
              a-level: { attach: source, to: level, onState: any, emitValue: "${state.level}" }
              b-alarm: { attach: source, to: alarm, onState: High, when: state.level > 7, emitValue: { text: high, level: "${state.level}" } }
              c-direct: { attach: source, toSystem: target, onState: { High: { level: 8 } }, emitEvent: { Note: { text: direct } } }
              d-value: { attach: target, to: level, onValue: 9, emitEvent: { Note: { text: nine } } }
              e-condition: { attach: target, to: alarm, when: value.level == 8, emitEvent: { Note: { text: "${value.text}" } } }
            """)
        let host = fixture.host
        #expect(try host.busStatus("level").value == .int(0))
        host.start()
        await fixture.settle()
        #expect(try fixture.state("target") == #"Seen "nine ""#)
        #expect(try host.busStatus("level").value == .int(9))
        #expect(try host.linkStatus("b-alarm").fired == 1)
        #expect(try host.linkStatus("e-condition").fired == 0)
        try host.emit("Set", to: "source", fields: [.int(8)])
        await fixture.settle()
        // The links of one system fire in the order of their names.
        #expect(try fixture.state("target") == #"Seen "nine high direct ""#)
        try host.emit("Set", to: "source", fields: [.int(3)])
        await fixture.settle()
        #expect(try host.busStatus("level").value == .int(3))
        #expect(try host.linkStatus("a-level").fired == 3)
        #expect(try host.busStatus("alarm").mediator.sent == 2)
        #expect(try host.busStatus("level").readers == ["d-value"])
        #expect(try host.busStatus("level").writers == ["a-level"])
        #expect(try host.systemStatus("target").links == ["c-direct", "d-value", "e-condition"])
        try host.publish(.int(9), on: "level")
        await fixture.settle()
        #expect(try fixture.state("target") == #"Seen "nine high direct nine ""#)
        await host.stop(within: .seconds(1))
    }

    @Test func `a watcher of a bus gets a current value first, marked as such, then each change`() async throws {
        let fixture = try HostFixture(
            """
            buses:
              level: { kind: currentValue, value: int, initial: 7 }
              news: { kind: passthrough, value: string }
            """)
        var level = try fixture.host.watchBus("level").makeAsyncIterator()
        var news = try fixture.host.watchBus("news").makeAsyncIterator()
        try fixture.host.publish(.int(8), on: "level")
        try fixture.host.publish(.string("hello"), on: "news")
        let first = await level.next()
        #expect(first?.subject == .int(7))
        #expect(first?.isReplayed == true)
        let second = await level.next()
        #expect(second?.subject == .int(8))
        #expect(second?.isReplayed == false)
        let item = await news.next()
        #expect(item?.subject == .string("hello"))
        #expect(item?.isReplayed == false)
        await fixture.host.stop(within: .zero)
        #expect(await level.next()?.subject == nil)
        var late = try fixture.host.watchBus("level").makeAsyncIterator()
        #expect(await late.next()?.subject == nil)
    }

    @Test func `a watcher that does not read is told how much it missed, and keeps the newest`() async throws {
        let fixture = try HostFixture("buses: { level: { kind: currentValue, value: int, initial: 0 } }")
        var iterator = try fixture.host.watchBus("level").makeAsyncIterator()
        let count = Host.watchBuffer + 100
        for value in 1...count { try fixture.host.publish(.int(Int64(value)), on: "level") }
        let first = await iterator.next()
        #expect(first?.dropped == 101)
        #expect(first?.subject == .int(101))
        var last = first
        for _ in 1..<Host.watchBuffer { last = await iterator.next() }
        #expect(last?.subject == .int(Int64(count)))
        #expect(last?.dropped == 0)
    }

    @Test func `a full mailbox refuses what is emitted, and says so`() async throws {
        let fixture = try HostFixture(counterSystem.replacingOccurrences("states:", "mailbox: { limit: 2 }\nstates:"))
        for _ in 0..<2 { try fixture.host.emit("Same", to: "counter", fields: []) }
        #expect(
            throws: HostError.notAccepted(system: "counter", obstacle: .full, reason: "its mailbox is full (2 events)")
        ) {
            try fixture.host.emit("Same", to: "counter", fields: [])
        }
        #expect(try fixture.host.systemStatus("counter").loop.counters.droppedByLimit == 1)
    }
}

extension String {
    fileprivate func replacingOccurrences(_ old: String, _ new: String) -> String {
        split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
    }
}
