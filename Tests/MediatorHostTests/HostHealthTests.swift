import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

extension `The host` {
    @Test func `an expression that errs is a fault, changes nothing, and is shown until the state is entered again`()
        async throws
    {
        let fixture = try HostFixture(counterSystem)
        fixture.host.start()
        try fixture.host.emit("Divide", to: "counter", fields: [.int(0)])
        await fixture.settle()
        var status = try fixture.host.systemStatus("counter")
        #expect(status.health == .degraded)
        #expect(status.faults == 1)
        #expect(status.lastFault?.place.hasPrefix("transition from Count on Divide, test.yaml:10:") == true)
        #expect(fixture.host.statusText == "1 system: 1 degraded (counter: transition from Count on Divide)")
        #expect(status.loop.counters.unhandled == 0)
        #expect(try fixture.state("counter").hasPrefix("Count 1 "))
        fixture.clock.advance(by: .seconds(3600))
        try fixture.host.emit("Same", to: "counter", fields: [])
        await fixture.settle()
        #expect(try fixture.host.systemStatus("counter").health == .degraded)
        try fixture.host.emit("Add", to: "counter", fields: [.int(1)])
        await fixture.settle()
        status = try fixture.host.systemStatus("counter")
        #expect(status.health == .healthy)
        #expect(status.faults == 1)
    }

    @Test func `that a part works again is told where nobody asks`() async throws {
        let fixture = try HostFixture(counterSystem)
        fixture.host.start()
        await fixture.settle()
        var changes = fixture.host.healthChanges.makeAsyncIterator()
        try fixture.host.emit("Divide", to: "counter", fields: [.int(0)])
        await fixture.settle()
        _ = await changes.next()
        try fixture.host.emit("Divide", to: "counter", fields: [.int(1)])
        _ = await changes.next()
        #expect(fixture.host.health == .healthy)
    }

    @Test func `readiness waits for the states that mean it, up to a limit`() async throws {
        let fixture = try HostFixture(
            """
            system: slow
            states: { Booting: {}, Up: {} }
            events: { Go: {} }
            initialState: Booting
            ready: Up
            transitions: { Booting: { Go: Up } }
            ---
            system: quick
            states: { Up: {} }
            events: {}
            initialState: Up
            """)
        let host = fixture.host
        host.start()
        async let late = host.ready(within: .seconds(30))
        await fixture.clock.nextDeadline(in: .seconds(30))
        #expect(host.statusText == "2 systems: 1 starting, 1 healthy")
        #expect(host.health == .starting)
        fixture.clock.advance(by: .seconds(30))
        #expect(await late == ["slow"])
        async let ready = host.ready(within: .seconds(30))
        try host.emit("Go", to: "slow", fields: [])
        #expect(await ready == [])
        #expect(host.health == .healthy)
        await host.stop(within: .seconds(1))
    }

    @Test func `is as healthy as its state, since it is, and says why`() async throws {
        let fixture = try HostFixture(
            """
            system: uplink
            states: { Booting: {}, Up: {}, Slow: {}, Down: {} }
            events: { Go: {}, Slacken: {}, Fall: {}, Divide: { by: int } }
            initialState: Booting
            ready: [Up, Slow, Down]
            health: { Up: healthy, Slow: degraded, Down: failed }
            transitions:
              Booting: { Go: Up }
              any: { Slacken: Slow, Fall: Down, Go: Up, Divide: { when: 1 / event.by == 1, to: Up } }
            """)
        let host = fixture.host
        func status() throws -> String {
            let status = try host.systemStatus("uplink")
            return "\(status.health) \(status.healthSince == status.state.since) \(status.healthReason ?? "")"
        }
        func after(_ event: String, _ fields: Value...) async throws -> String {
            fixture.clock.advance(by: .seconds(1))
            try host.emit(event, to: "uplink", fields: fields)
            await fixture.settle()
            return try status()
        }
        host.start()
        await fixture.settle()
        #expect(try status() == "starting true its state is 'Booting', and it is ready in 'Up' or 'Slow' or 'Down'")
        #expect(try await after("Go") == "healthy true ")
        // Another state in which it is as well is no news.
        #expect(try await after("Go") == "healthy false ")
        #expect(try await after("Slacken") == "degraded true its state is 'Slow'")
        #expect(try await after("Fall") == "failed true its state is 'Down'")
        #expect(host.health == .failed && host.statusText == "1 system: 1 failed")
        // A fault does not make it better.
        #expect(try await after("Divide", .int(0)) == "failed true its state is 'Down'")
        // It ends with the state.
        #expect(try await after("Go") == "healthy true ")
        fixture.clock.advance(by: .seconds(1))
        try host.emit("Divide", to: "uplink", fields: [.int(0)])
        await fixture.settle()
        #expect(try status().hasPrefix("degraded false transition from Up on Divide"))
        await host.stop(within: .seconds(1))
        let stopped = try host.systemStatus("uplink")
        #expect(stopped.health == .stopped && stopped.healthSince == nil && stopped.healthReason == nil)
    }

    @Test func `each reason says since when it holds, though it was as unwell before for another`() async throws {
        let fixture = try HostFixture(
            """
            system: valve
            states: { Auto: {}, Stuck: {}, Manual: {} }
            events: { Jam: {}, Take: {}, Free: {}, Divide: { by: int } }
            fromOutside: any
            initialState: Auto
            health: { Stuck: degraded, Manual: degraded }
            transitions: { any: { Jam: Stuck, Take: Manual, Free: Auto, Divide: { when: 1 / event.by == 1, to: Auto } } }
            """)
        let host = fixture.host
        /// The seconds since the start at which its health, and the reason for that, began.
        func times() throws -> [Int64?] {
            let status = try host.systemStatus("valve")
            return [status.healthSince, status.healthReasonSince].map { $0.map { $0.seconds - 1_700_000_000 } }
        }
        func after(_ seconds: Int, _ event: String, _ fields: Value...) async throws -> [Int64?] {
            fixture.clock.advance(by: .seconds(seconds))
            try host.emit(event, to: "valve", fields: fields)
            await fixture.settle()
            return try times()
        }
        host.start()
        await fixture.settle()
        #expect(try await after(31, "Jam") == [31, 31])
        #expect(try await after(5, "Take") == [31, 36])
        #expect(try host.systemStatus("valve").healthReason == "its state is 'Manual'")
        // A pause is another reason, and so is a fault.
        fixture.clock.advance(by: .seconds(4))
        try host.pause("valve", by: 0, named: "alice")
        #expect(try times() == [31, 40])
        fixture.clock.advance(by: .seconds(1))
        try host.resume("valve", by: 0, named: "alice")
        #expect(try times() == [31, 36])
        #expect(try await after(4, "Free") == [45, nil])
        #expect(try await after(5, "Divide", .int(0)) == [50, 50])
        // The same condition goes on.
        #expect(try await after(5, "Divide", .int(0)) == [50, 50])
        await host.stop(within: .seconds(1))
    }

    @Test func `what has failed for good says why, whatever goes wrong later`() async throws {
        let fixture = try HostFixture(
            """
            system: strict
            states: { Here: {} }
            events: { Boom: {}, Divide: { by: int } }
            initialState: Here
            unhandled: fault
            fromOutside: any
            transitions: { Here: { Divide: { when: 1 / event.by == 1, to: Here } } }
            """)
        let host = fixture.host
        host.start()
        try host.emit("Boom", to: "strict", fields: [])
        await fixture.settle()
        let reason = try host.systemStatus("strict").healthReason
        #expect(reason?.hasSuffix("the event 'Boom' is not handled") == true)
        try host.emit("Divide", to: "strict", fields: [.int(0)])
        await fixture.settle()
        let status = try host.systemStatus("strict")
        #expect(status.health == .failed && status.healthReason == reason && status.faults == 2)
        #expect(status.lastFault?.message.contains("zero") == true)
        await host.stop(within: .seconds(1))
    }
}
