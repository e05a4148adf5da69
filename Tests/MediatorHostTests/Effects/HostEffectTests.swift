import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

extension `The host` {
    @Test func `every seconds keeps its cadence though each run leads to a new state`() async throws {
        let fixture = try HostFixture(
            """
            system: probe
            states: { Up: { runs: int } }
            events: { Ran: {} }
            initialState: { Up: { runs: 0 } }
            feedbacks:
              look: { onState: any, every: 10s, wait: "${'run ' + string(state.runs)}", onDone: Ran }
            transitions: { Up: { Ran: { to: Up, set: { runs: "${state.runs + 1}" } } } }
            """)
        fixture.host.start()
        #expect(try await fixture.states(of: "probe", until: "Up 1").last == "Up 1")
        for runs in 2...5 {
            await fixture.settle()
            #expect(fixture.clock.nextDeadline == .init(offset: .seconds((runs - 1) * 10)))
            fixture.clock.advance(by: .seconds(10))
            #expect(try await fixture.states(of: "probe", until: "Up \(runs)").last == "Up \(runs)")
        }
        #expect(fixture.began.value == (0..<5).map { "run \($0)" })
        await fixture.host.stop(within: .zero)
    }

    @Test func `after waits, and a new state ends the waiting`() async throws {
        let fixture = try HostFixture(
            """
            system: lamp
            states: { Off: {}, On: { left: int } }
            events: { Press: {}, Expire: {} }
            initialState: Off
            feedbacks:
              expire: { onState: On, after: "${duration(string(state.left) + 's')}", emit: Expire }
            transitions:
              Off: { Press: { to: On, set: { left: 30 } } }
              On: { Expire: Off, Press: { to: On, set: { left: 60 } } }
            """)
        fixture.host.start()
        try fixture.host.emit("Press", to: "lamp", fields: [])
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(30)))
        fixture.clock.advance(by: .seconds(20))
        try fixture.host.emit("Press", to: "lamp", fields: [])
        _ = try await fixture.states(of: "lamp", until: "On 60")
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(80)))
        #expect(try fixture.state("lamp") == "On 60")
        fixture.clock.advance(by: .seconds(60))
        #expect(try await fixture.states(of: "lamp", until: "Off").last == "Off")
        await fixture.host.stop(within: .zero)
    }

    @Test func `stopping waits for what is under way, not for a timer`() async throws {
        let fixture = try HostFixture(
            """
            system: waits
            states: { Here: {} }
            events: { Tick: {} }
            initialState: Here
            feedbacks:
              later: { onState: Here, after: 3600s, emit: Tick }
              often: { onState: Here, strategy: continueOnNewState, every: 3600s, wait: x }
              works: { onState: Here, wait: { name: y, for: 2s } }
            """)
        fixture.host.start()
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        async let stopped = fixture.host.stop(within: .seconds(60))
        // The last wait is for the limit of the stop, because the timers have ended.
        let limit = ManualClock.Instant(offset: .seconds(60))
        await suspend(while: fixture.clock.deadlines.last != limit || fixture.host.health != .stopped)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        #expect(try fixture.host.systemStatus("waits").runs(of: "works").running == 1)
        fixture.clock.advance(by: .seconds(2))
        #expect(await stopped.isEmpty)
        #expect(try fixture.host.systemStatus("waits").loop.phase == .stopped)
    }

    @Test(arguments: ["cancelOnNewState", "continueOnNewState"])
    func `the strategy decides what a new state does to a run`(strategy: String) async throws {
        let fixture = try HostFixture(
            """
            system: job
            states: { Working: {}, Waiting: { got: string } }
            events: { Leave: {}, Finished: { name: string } }
            initialState: Working
            feedbacks:
              work:
                onState: Working
                strategy: \(strategy)
                wait: { name: it, for: 60s }
                onDone: { Finished: { name: "${result.name}" } }
            transitions:
              Working: { Leave: { to: Waiting, set: { got: nothing } } }
              Waiting: { Finished: { to: Waiting, set: { got: "${event.name}" } } }
            """)
        fixture.host.start()
        await fixture.settle()
        #expect(try fixture.host.systemStatus("job").runs(of: "work").running == 1)
        try fixture.host.emit("Leave", to: "job", fields: [])
        _ = try await fixture.states(of: "job", until: #"Waiting "nothing""#)
        if strategy == "continueOnNewState" {
            fixture.clock.advance(by: .seconds(60))
            #expect(try await fixture.states(of: "job", until: #"Waiting "it""#).last == #"Waiting "it""#)
        }
        await fixture.settle()
        #expect(try fixture.host.systemStatus("job").runs(of: "work") == FeedbackRuns(feedback: "work"))
        #expect(fixture.clock.nextDeadline == nil)
        await fixture.host.stop(within: .zero)
    }

    @Test func `the run before has ended when the next one begins`() async throws {
        let fixture = try HostFixture(
            """
            system: stubborn
            states: { On: { number: int } }
            events: { Again: {} }
            initialState: { On: { number: 0 } }
            feedbacks: { work: { onState: On, stubborn: "${string(state.number)}" } }
            transitions: { On: { Again: { to: On, set: { number: "${state.number + 1}" } } } }
            """)
        fixture.host.start()
        await fixture.clock.nextDeadline(in: .seconds(60))
        for _ in 1...3 { try fixture.host.emit("Again", to: "stubborn", fields: []) }
        await fixture.settle()
        #expect(fixture.began.value == ["0"])
        fixture.clock.advance(by: .seconds(60))
        // Those in between were cancelled while they waited; the last one begins when the first has ended.
        await fixture.began.wait { $0 == ["0", "3"] }
        await fixture.clock.nextDeadline(in: .seconds(60))
        fixture.clock.advance(by: .seconds(60))
        await fixture.host.stop(within: .zero)
    }

    @Test func `more runs than the limit are a fault, not a flood`() async throws {
        let fixture = try HostFixture(
            """
            system: busy
            states: { Again: {} }
            events: { Go: {} }
            initialState: Again
            feedbacks:
              pile: { onState: Again, strategy: continueOnNewState, wait: { name: x, for: 60s } }
            transitions: { Again: { Go: Again } }
            """)
        fixture.host.start()
        for _ in 0..<100 { try fixture.host.emit("Go", to: "busy", fields: []) }
        await fixture.settle()
        let status = try fixture.host.systemStatus("busy")
        #expect(status.runs(of: "pile").running == 64)
        #expect(status.faults == 37)
        #expect(status.lastFault?.message.contains("64 of its side effects run or wait already") == true)
        await fixture.host.stop(within: .zero)
    }
}
