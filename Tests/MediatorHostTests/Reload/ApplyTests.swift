import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(20))) struct `Applying a configuration` {
    @Test func `a state that was carried over is older than how the system is in it`() async throws {
        let fixture = try ApplyFixture(countingSystem("a", "health: { Count: failed }"))
        let host = fixture.host
        host.start()
        await fixture.settle()
        let before = try host.systemStatus("a")
        #expect(before.health == .failed && before.healthSince == before.state.since)
        fixture.clock.advance(by: .seconds(10))
        _ = try await fixture.apply(countingSystem("a", "health: { Count: degraded }"))
        await fixture.settle()
        let after = try host.systemStatus("a")
        #expect(after.health == .degraded && after.healthReason == "its state is 'Count'")
        #expect(after.state.since == before.state.since && after.healthSince != after.state.since)
        await host.stop(within: .zero)
    }

    @Test func `keeps, changes, restarts, adds and removes`() async throws {
        let fixture = try ApplyFixture(
            countingSystem("keep") + countingSystem("change") + countingSystem("restart") + countingSystem("remove"))
        let host = fixture.host
        host.start()
        for name in ["keep", "change", "restart", "remove"] { try host.emit("Add", to: name, fields: [.int(5)]) }
        await fixture.settle()
        let watched = try host.watchSystem("remove")
        let applied = try await fixture.apply(
            "# Moved.\n" + countingSystem("add") + countingSystem("keep") + countingSystem("change", "unhandled: warn")
                + countingSystem("restart", fields: "more"))
        #expect(
            applied.plan.systems.map { "\($0.name) \($0.action)" } == [
                "add add", "change change", "keep keep", "remove remove", "restart restart",
            ])
        #expect(applied.plan.summary == "1 kept, 1 changed, 1 restarted, 1 added, 1 removed")
        #expect(applied.late.isEmpty && applied.leftBehind.isEmpty)
        #expect(applied.generation == 2 && host.generation == 2)
        await fixture.settle()
        #expect(try fixture.state("keep") == "Count 5")
        #expect(try host.systemStatus("keep").loop.counters.events == 1)
        #expect(try fixture.state("change") == "Count 5")
        // It goes on counting.
        #expect(try host.systemStatus("change").loop.counters.events == 1)
        #expect(try fixture.state("restart") == "Count 0 0")
        #expect(try fixture.state("add") == "Count 0")
        #expect(throws: HostError.self) { try host.systemStatus("remove") }
        // A watcher sees its end.
        var last: SystemState?
        for await change in watched { last = change.subject }
        #expect(last?.serial == 2)
        #expect(
            try await fixture.apply(
                "# Moved.\n" + countingSystem("add") + countingSystem("keep")
                    + countingSystem("change", "unhandled: warn")
                    + countingSystem("restart", fields: "more")
            ).plan.isEmpty)
        await host.stop(within: .zero)
    }

    @Test func `the new order of states and events does not confuse the links of a kept system`() async throws {
        let links = """
            links:
              go: { attach: a, toSystem: b, onState: { Count: { n: 3 } }, emitEvent: { Add: { by: 7 } } }
            """
        let fixture = try ApplyFixture(countingSystem("a") + countingSystem("b") + links)
        fixture.host.start()
        func turned(_ name: String) -> String {
            countingSystem(name).replacing("{ Count: { n: int }, Done: {} }", with: "{ Done: {}, Count: { n: int } }")
                .replacing("{ Add: { by: int }, End: {} }", with: "{ End: {}, Add: { by: int } }")
        }
        let applied = try await fixture.apply(turned("a") + turned("b") + links.replacing("by: 7", with: "by: 9"))
        #expect(applied.plan.systems.map(\.action) == [.keep, .keep])
        #expect(applied.plan.links.map(\.action) == [.change])
        try fixture.host.emit("Add", to: "a", fields: [.int(3)])
        await fixture.settle()
        #expect(try fixture.state("b") == "Count 9")
        #expect(try fixture.host.systemStatus("b").links == ["go"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `a restarted system waits for the side effects of its predecessor`() async throws {
        let text = """
            system: job
            states: { Here: {} }
            events: { Done: {} }
            initialState: Here
            feedbacks: { works: { onState: Here, strategy: continueOnNewState, work: 20s } }
            """
        let fixture = try ApplyFixture(text)
        fixture.host.start()
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(20)))
        let other = text.replacing("Here", with: "There")
        let step = fixture.host.plan(for: try graph(other, effects: [fixture.effect.schema])).systems[0]
        #expect(step.action == .restart && step.reason == "it is in the state 'Here', which there is no more")
        #expect(step.feedbacks.ending == ["works"])
        async let applied = fixture.apply(other)
        await suspend(while: fixture.host.generation == 1)
        #expect(try fixture.host.systemStatus("job").loop.phase == .notStarted)
        // It has nothing to prove to a watchdog before it has started.
        await fixture.host.settled()
        fixture.clock.advance(by: .seconds(20))
        #expect(try await applied.late.isEmpty)
        #expect(fixture.effect.running.most.withLock { $0 } == 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a bus keeps its value where it can, and new links see it`() async throws {
        let bus = "buses: { level: { kind: currentValue, value: int, initial: 1, fromOutside: both } }\n"
        let link = "links: { down: { attach: a, to: level, emitEvent: { Add: { by: \"${value}\" } } } }\n"
        let fixture = try ApplyFixture(countingSystem("a") + bus)
        fixture.host.start()
        try fixture.host.publish(.int(40), on: "level")
        _ = try await fixture.apply(countingSystem("a") + bus + link)
        await fixture.settle()
        #expect(try fixture.state("a") == "Count 40")
        let applied = try await fixture.apply(
            countingSystem("a") + bus.replacing("fromOutside", with: "limit: 3, fromOutside") + link)
        #expect(
            applied.plan.withoutChanges.buses == [
                .init(name: "level", action: .change, value: .keep, reason: "its definition has changed")
            ])
        #expect(applied.plan.links.map(\.reason) == ["the bus 'level' is replaced"])
        await fixture.settle()
        #expect(try fixture.state("a") == "Count 80")
        #expect(try fixture.host.busStatus("level").value == .int(40))
        // The count of a link that does the same goes on.
        #expect(try fixture.host.linkStatus("down").fired == 2)
        _ = try await fixture.apply(countingSystem("a") + bus)
        try fixture.host.publish(.int(3), on: "level")
        await fixture.settle()
        #expect(try fixture.state("a") == "Count 80")
        await fixture.host.stop(within: .zero)
    }

    @Test func `what fails before the switch changes nothing`() async throws {
        let broken = countingSystem("b").replacing("n: 0", with: "n: \"${1 / (now.getFullYear() - 2023)}\"")
        let fixture = try ApplyFixture(countingSystem("a"))
        await #expect(throws: ApplyError.notStarted) { try await fixture.apply(countingSystem("b")) }
        fixture.host.start()
        try fixture.host.emit("Add", to: "a", fields: [.int(1)])
        await fixture.settle()
        let before = fixture.digest
        do {
            _ = try await fixture.apply(countingSystem("a", "unhandled: warn") + broken)
            Issue.record("it was applied")
        } catch ApplyError.initialState(let error) {
            #expect(error.system == "b")
        }
        #expect(fixture.digest == before)
        await fixture.host.stop(within: .zero)
        await #expect(throws: ApplyError.stopped) { try await fixture.apply(countingSystem("b")) }
    }

    @Test func `new systems that are not ready in time are named`() async throws {
        let fixture = try ApplyFixture(countingSystem("a"))
        fixture.host.start()
        async let applied = fixture.apply(
            countingSystem("a") + countingSystem("b", "ready: Done") + countingSystem("c"))
        await suspend(while: fixture.host.generation == 1)
        // Until the limit of the joining is over, too.
        await fixture.clock.nextDeadline(in: .seconds(30))
        // A watcher that begins now sees the first state of "c" after the watchers that wait for it.
        for await _ in try fixture.host.watchSystem("c") { break }
        fixture.clock.advance(by: .seconds(30))
        #expect(
            try await applied.lateReasons == ["b": "not ready in time: its state is 'Count', and it is ready in 'Done'"]
        )
        #expect(try await applied.late == ["b"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `systems that are failed as soon as they are ready are named at once, with the reason`() async throws {
        let fixture = try ApplyFixture(
            countingSystem("a") + countingSystem("r") + countingSystem("k", "health: { Count: failed }"))
        fixture.host.start()
        await fixture.settle()
        // A kept system is not new, whatever its health. The clock stands still, so nothing waits for a limit.
        let applied = try await fixture.apply(
            countingSystem("a", "health: { Count: failed }") + countingSystem("k", "health: { Count: failed }")
                + countingSystem("n", "health: { Count: failed, Done: degraded }")
                + countingSystem("r", "health: { Count: failed }", fields: "more")
                + countingSystem("s", "health: { Count: degraded }"))
        #expect(applied.plan.systems.map(\.action) == [.change, .keep, .add, .restart, .add])
        #expect(applied.late == ["a", "n", "r"])
        #expect(Set(applied.lateReasons.values) == ["failed: its state is 'Count'"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `a stop ends the waiting for new systems, and nothing counts as applied`() async throws {
        let fixture = try ApplyFixture(countingSystem("a"))
        fixture.host.start()
        let applied = Task { try await fixture.apply(countingSystem("a") + countingSystem("b", "ready: Done")) }
        await suspend(while: (try? fixture.host.systemStatus("b").loop.phase) != .running)
        await fixture.host.stop(within: .zero)
        await #expect(throws: ApplyError.interrupted) { try await applied.value }
        #expect(try fixture.host.systemStatus("b").loop.phase == .stopped)
    }

    @Test func `several are applied one after the other`() async throws {
        let fixture = try ApplyFixture(countingSystem("a"))
        fixture.host.start()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask { try await fixture.apply(countingSystem("a") + countingSystem("b\(number)")).generation }
            }
            var generations: [Int] = []
            for try await generation in group { generations.append(generation) }
            #expect(generations.sorted() == Array(2...9))
        }
        #expect(fixture.host.systemStatuses.count == 2)
        await fixture.host.stop(within: .zero)
    }
}
