import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

/// A side effect that waits for the clock, then says so; it counts how many of it run.
private struct WorkEffect: EffectImplementation {
    let running = Counter()
    var schema: EffectSchema {
        EffectSchema(
            name: "work", parameters: [.init(name: "for", type: .duration, required: true)], shortForm: "for",
            outcomes: [.init(name: "onDone", result: StructureType(name: "result", fields: []))])
    }

    final class Counter: Sendable {
        let now = Atomic(0)
        let most = Mutex(0)
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        let number = running.now.add(1, ordering: .relaxed).newValue
        running.most.withLock { $0 = max($0, number) }
        if case .duration(let span)? = arguments["for"] { try? await context.clock.sleep(for: span.swiftDuration) }
        running.now.subtract(1, ordering: .relaxed)
        context.report("onDone", .structure(Structure(type: schema.outcomes[0].result, fields: [])))
    }
}

/// A host whose configuration changes, with a clock that is moved by hand.
private final class Fixture: Sendable {
    let clock = ManualClock()
    let host: Host
    let effect = WorkEffect()

    init(_ text: String) throws {
        let time = HostTime.manual(clock)
        let catalogue = EffectCatalogue([effect])
        host = try Host(
            graph: try graph(text, effects: catalogue.schemas), effects: catalogue, time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    func apply(_ text: String) async throws -> Applied {
        try await host.apply(try graph(text, effects: EffectCatalogue([effect]).schemas), stopLimit: .seconds(60))
    }

    func state(_ name: String) throws -> String {
        let status = try host.systemStatus(name)
        guard case .structure(let data) = status.state.data else { return "" }
        return ([status.definition.states[status.state.index].name] + data.fields.map(\.description))
            .joined(separator: " ")
    }

    func settle() async {
        for _ in 0..<4 { #expect(await host.stuckSystems(within: .seconds(1_000_000)).isEmpty) }
    }

    var digest: String { host.digest }
}

extension Host {
    /// Everything that can be seen of it.
    var digest: String {
        let systems = systemStatuses.map {
            "\($0.definition.name) \($0.definition.fingerprint) \($0.definition.source) \($0.health) \($0.state) "
                + "\($0.loop.counters) \($0.faults) \($0.links)"
        }
        let buses = busStatuses.map {
            "\($0.definition.fingerprint) \($0.value as Any) \($0.since as Any) \($0.mediator)"
        }
        let links = linkStatuses.map { "\($0.definition.fingerprint) \($0.fired) \($0.lastFired as Any)" }
        return (systems + buses + links + ["\(generation) \(statusText)"]).joined(separator: "\n")
    }
}

private func counter(_ name: String, _ more: String = "", fields: String = "") -> String {
    """
    system: \(name)
    states: { Count: { n: int\(fields.isEmpty ? "" : ", \(fields): int") }, Done: {} }
    events: { Add: { by: int }, End: {} }
    fromOutside: any
    initialState: { Count: { n: 0\(fields.isEmpty ? "" : ", \(fields): 0") } }
    transitions:
      Count:
        Add: { to: Count, set: { n: "${state.n + event.by}" } }
        End: Done
    \(more)
    ---

    """
}

@Suite(.timeLimit(.minutes(5))) struct `Applying a configuration` {
    @Test func `a state that was carried over is older than how the system is in it`() async throws {
        let fixture = try Fixture(counter("a", "health: { Count: failed }"))
        let host = fixture.host
        host.start()
        await fixture.settle()
        let before = try host.systemStatus("a")
        #expect(before.health == .failed && before.healthSince == before.state.since)
        fixture.clock.advance(by: .seconds(10))
        _ = try await fixture.apply(counter("a", "health: { Count: degraded }"))
        await fixture.settle()
        let after = try host.systemStatus("a")
        #expect(after.health == .degraded && after.healthReason == "its state is 'Count'")
        #expect(after.state.since == before.state.since && after.healthSince != after.state.since)
        await host.stop(within: .zero)
    }

    @Test func `keeps, migrates, restarts, adds and removes`() async throws {
        let fixture = try Fixture(counter("keep") + counter("migrate") + counter("restart") + counter("remove"))
        let host = fixture.host
        host.start()
        for name in ["keep", "migrate", "restart", "remove"] { try host.emit("Add", to: name, fields: [.int(5)]) }
        await fixture.settle()
        let watched = try host.watchSystem("remove")
        let applied = try await fixture.apply(
            "# Moved.\n" + counter("add") + counter("keep") + counter("migrate", "unhandled: warn")
                + counter("restart", fields: "more"))
        #expect(
            applied.plan.systems.map { "\($0.name) \($0.fate)" } == [
                "add add", "keep keep", "migrate migrate", "remove remove", "restart restart",
            ])
        #expect(applied.plan.summary == "1 kept, 1 migrated, 1 restarted, 1 added, 1 removed")
        #expect(applied.late.isEmpty && applied.leftBehind.isEmpty)
        #expect(applied.generation == 2 && host.generation == 2)
        await fixture.settle()
        #expect(try fixture.state("keep") == "Count 5")
        #expect(try host.systemStatus("keep").loop.counters.events == 1)
        #expect(try fixture.state("migrate") == "Count 5")
        // It goes on counting.
        #expect(try host.systemStatus("migrate").loop.counters.events == 1)
        #expect(try fixture.state("restart") == "Count 0 0")
        #expect(try fixture.state("add") == "Count 0")
        #expect(throws: HostError.self) { try host.systemStatus("remove") }
        // A watcher sees its end.
        var last: SystemState?
        for await change in watched { last = change.subject }
        #expect(last?.serial == 2)
        #expect(
            try await fixture.apply(
                "# Moved.\n" + counter("add") + counter("keep") + counter("migrate", "unhandled: warn")
                    + counter("restart", fields: "more")
            ).plan.isEmpty)
        await host.stop(within: .zero)
    }

    @Test func `the new order of states and events does not confuse the links of a kept system`() async throws {
        let links = """
            links:
              go: { attach: a, toSystem: b, onState: { Count: { n: 3 } }, emitEvent: { Add: { by: 7 } } }
            """
        let fixture = try Fixture(counter("a") + counter("b") + links)
        fixture.host.start()
        func turned(_ name: String) -> String {
            counter(name).replacing("{ Count: { n: int }, Done: {} }", with: "{ Done: {}, Count: { n: int } }")
                .replacing("{ Add: { by: int }, End: {} }", with: "{ End: {}, Add: { by: int } }")
        }
        let applied = try await fixture.apply(turned("a") + turned("b") + links.replacing("by: 7", with: "by: 9"))
        #expect(applied.plan.systems.map(\.fate) == [.keep, .keep])
        #expect(applied.plan.links.map(\.fate) == [.change])
        try fixture.host.emit("Add", to: "a", fields: [.int(3)])
        await fixture.settle()
        #expect(try fixture.state("b") == "Count 9")
        #expect(try fixture.host.systemStatus("b").links == ["go"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `what goes on is told where it is written now`() async throws {
        let before = """
            system: share
            states: { Idle: { n: int }, Much: {} }
            events: { Divide: { by: int }, Rest: {} }
            fromOutside: any
            initialState: { Idle: { n: 0 } }
            feedbacks:
              look: { onState: Idle, when: 10 / state.n > 3, work: 1s, onDone: Rest }
              rest: { onState: Much, work: 1s, onDone: Rest }
              tell: { onState: Idle, publish: { to: shares, value: "${10 / state.n}" } }
            transitions:
              Idle:
                Divide: { when: event.by < 100, to: Idle, set: { n: "${10 / event.by}" } }
              Much:
                Rest: { to: Idle, set: { n: 1 } }
            ---
            buses:
              parts: { kind: currentValue, value: int, initial: 5, fromOutside: both }
              seed: { kind: currentValue, value: int, initial: 2 }
              shares: { kind: passthrough, value: int }
            ---
            links:
              begin: { attach: share, to: seed, emitEvent: { Divide: { by: "${value}" } } }
              ask: { attach: share, to: parts, when: 10 / value > 3, emitEvent: { Divide: { by: "${value}" } } }
            """
        let after = """
            # Much has been written about this.
            system: share
            states:
              Much: {}
              Idle: { n: int }
            events: { Rest: {}, Divide: { by: int } }
            fromOutside: any
            initialState: { Idle: { n: 0 } }
            transitions:
              Much:
                Rest:
                  to: Idle
                  set: { n: 1 }
              Idle:
                # Less than a hundred.
                Divide: { when: event.by < 100, to: Idle, set: { n: "${10 / event.by}" } }
            feedbacks:
              # The first.
              look: { onState: Idle, when: 10 / state.n > 3, work: 1s, onDone: Rest }
              rest: { onState: Much, work: 1s, onDone: Rest }
              tell: { onState: Idle, publish: { to: shares, value: "${10 / state.n}" } }
            ---
            links:
              ask: { attach: share, to: parts, when: 10 / value > 3, emitEvent: { Divide: { by: "${value}" } } }
              begin: { attach: share, to: seed, emitEvent: { Divide: { by: "${value}" } } }
            ---
            # Changed by hand.
            buses:
              seed: { kind: currentValue, value: int, initial: 2 }
              shares: { kind: passthrough, value: int }
              parts: { kind: currentValue, value: int, initial: 5, fromOutside: both }
            """
        let fixture = try Fixture(before)
        let host = fixture.host
        func place(of part: String, in text: String) throws -> String {
            for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                if line.contains(part) { return "test0.yaml:\(number + 1):" }
            }
            throw HostError.noSuchLink(part, nearest: nil)
        }
        func check(_ text: String) throws {
            let (rule, look) = (try place(of: "Divide: { when", in: text), try place(of: "look: {", in: text))
            let (link, tell) = (try place(of: "ask: {", in: text), try place(of: "tell: {", in: text))
            let trace = try host.trace("share")
            // Of each fault that there was.
            let faults = trace.filter { $0.kind == .fault }.compactMap(\.reason)
            for expected in [
                "feedback look, \(look)", "feedback tell, \(tell)", "transition from Idle on Divide, \(rule)",
                "link ask, \(link)",
            ] {
                #expect(faults.contains { $0.hasPrefix(expected) }, "\(expected) \(faults)")
            }
            #expect(faults.allSatisfy { $0.contains(": divide by zero") || $0.contains("division") }, "\(faults)")
            let status = try host.systemStatus("share")
            #expect(status.lastFault?.place.hasPrefix("link ask, \(link)") == true)
            #expect(status.healthReason?.hasPrefix("link ask, \(link)") == true)
            #expect(trace.flatMap(\.guards).allSatisfy { "\($0.source)".hasPrefix(rule) })
            #expect(trace.contains { !$0.guards.isEmpty })
            let answer = try host.whyNot("share", event: "Divide", fields: [.int(1)])
            #expect(answer.transitions.map { "\($0.source)".hasPrefix(rule) } == [true])
            #expect(answer.senders.first { $0.name == "ask" }.map { "\($0.source)".hasPrefix(link) } == true)
            let rest = try host.whyNot("share", event: "Rest").senders.first { $0.name == "look" }
            #expect(try "\(#require(rest).source)".hasPrefix(look))
            let seed = try place(of: "seed: {", in: text)
            #expect(try "\(host.busStatus("seed").definition.source)".hasPrefix(seed))
            let origin = try host.why("share").hops.last
            #expect(
                origin?.text.hasPrefix("the first value of the bus, \(seed)") == true, "\(String(describing: origin))")
        }
        host.start()
        await fixture.settle()
        try host.emit("Divide", to: "share", fields: [.int(0)])
        await fixture.settle()
        try host.publish(.int(0), on: "parts")
        await fixture.settle()
        try check(before)
        // This also holds with another link and bus in the place of the old ones.
        let other = after.replacing("initial: 2 }", with: "initial: 2, limit: 9 }").replacing(
            "10 / value > 3", with: "10 / value > 4")
        for text in [after, "#\n" + after, other, "#\n" + other, before] {
            #expect(try await fixture.apply(text).plan.systems.map(\.fate) == [.keep])
            try check(text)
            // A failure after that counts, too.
            try host.emit("Divide", to: "share", fields: [.int(0)])
            await fixture.settle()
            let place = try place(of: "Divide: { when", in: text)
            let fault = try host.systemStatus("share").lastFault
            #expect(
                fault?.place.hasPrefix("transition from Idle on Divide, \(place)") == true,
                "\(String(describing: fault))")
            try host.publish(.int(0), on: "parts")
            await fixture.settle()
        }
        await host.stop(within: .zero)
    }

    @Test func `what was written once for several rules is told where each is written now`() async throws {
        let head = """
            system: share
            states: { Ready: { n: int }, Other: { n: int } }
            events: { Divide: { by: int } }
            fromOutside: any
            initialState: { Ready: { n: 0 } }
            transitions:

            """
        let rule = #"{ Divide: { to: Ready, set: { n: "${10 / event.by}" } } }"#
        let fixture = try Fixture(head + "  Ready: &rule \(rule)\n  Other: *rule\n")
        fixture.host.start()
        #expect(try await fixture.apply(head + "  Ready: \(rule)\n  Other: \(rule)\n").plan.isEmpty)
        try fixture.host.emit("Divide", to: "share", fields: [.int(0)])
        await fixture.settle()
        #expect(try fixture.host.systemStatus("share").lastFault?.place.contains("test0.yaml:7:") == true)
        #expect(try fixture.host.whyNot("share", event: "Divide").transitions.map(\.source.line) == [7])
        await fixture.host.stop(within: .zero)
    }

    @Test func `a replaced system waits for the side effects of its predecessor`() async throws {
        let text = """
            system: job
            states: { Here: {} }
            events: { Done: {} }
            initialState: Here
            feedbacks: { works: { onState: Here, strategy: continueOnNewState, work: 20s } }
            """
        let fixture = try Fixture(text)
        fixture.host.start()
        await fixture.clock.sleepers(atLeast: 1)
        let plan = fixture.host.plan(
            for: try graph(text.replacing("20s", with: "30s"), effects: [fixture.effect.schema]))
        #expect(
            plan.withoutChanges.systems == [
                .init(name: "job", fate: .migrate, reason: "its state 'Here' is carried over", ending: ["works"])
            ])
        async let applied = fixture.apply(text.replacing("20s", with: "30s"))
        while !Task.isCancelled, fixture.host.generation == 1 { await Task.yield() }
        #expect(try fixture.host.systemStatus("job").loop.phase == .notStarted)
        // It has nothing to prove to a watchdog before it has started.
        #expect(await fixture.host.stuckSystems(within: .seconds(1_000_000)).isEmpty)
        fixture.clock.advance(by: .seconds(20))
        #expect(try await applied.late.isEmpty)
        #expect(fixture.effect.running.most.withLock { $0 } == 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `a replaced system shows the state that it will carry over until it starts`() async throws {
        let text = """
            system: job
            states: { There: {}, Here: { n: int } }
            events: { Done: {}, Go: { n: int } }
            fromOutside: Go
            initialState: There
            feedbacks: { works: { onState: Here, strategy: continueOnNewState, work: 20s } }
            transitions: { any: { Go: { to: Here, set: { n: "${event.n}" } } } }
            """
        let fixture = try Fixture(text)
        fixture.host.start()
        try fixture.host.emit("Go", to: "job", fields: [.int(5)])
        await fixture.clock.sleepers(atLeast: 1)
        async let applied = fixture.apply(text.replacing("20s", with: "30s"))
        while !Task.isCancelled, fixture.host.generation == 1 { await Task.yield() }
        #expect(try fixture.state("job") == "Here 5")
        #expect(try fixture.host.systemStatus("job").loop.phase == .notStarted)
        try fixture.host.emit("Go", to: "job", fields: [.int(6)])
        #expect(try fixture.state("job") == "Here 5")
        // Every look shows it so, and the next daemon begins in it, if this one ends now.
        #expect(try fixture.host.whyNot("job", event: "Go").state.index == 1)
        #expect(fixture.host.state.systems["job"]?.fields == [.int(5)])
        fixture.clock.advance(by: .seconds(20))
        #expect(try await applied.late.isEmpty)
        await fixture.settle()
        #expect(try fixture.state("job") == "Here 6")
        await fixture.host.stop(within: .zero)
    }

    @Test func `what a replaced system was to carry over is kept where the host stops before it starts`() async throws {
        let text = """
            system: job
            states: { There: {}, Here: { n: int } }
            events: { Done: {} }
            initialState: { Here: { n: 5 } }
            feedbacks: { works: { onState: Here, strategy: continueOnNewState, work: 20s } }
            """
        let fixture = try Fixture(text)
        fixture.host.start()
        await fixture.clock.sleepers(atLeast: 1)
        let next = text.replacing("20s", with: "30s").replacing("{ Here: { n: 5 } }", with: "There")
        async let applied = fixture.apply(next)
        while !Task.isCancelled, fixture.host.generation == 1 { await Task.yield() }
        await fixture.host.stop(within: .zero)
        _ = try? await applied
        #expect(fixture.host.state.systems["job"]?.fields == [.int(5)])
    }

    @Test func `a bus keeps its value where it can, and new links see it`() async throws {
        let bus = "buses: { level: { kind: currentValue, value: int, initial: 1, fromOutside: both } }\n"
        let link = "links: { down: { attach: a, to: level, emitEvent: { Add: { by: \"${value}\" } } } }\n"
        let fixture = try Fixture(counter("a") + bus)
        fixture.host.start()
        try fixture.host.publish(.int(40), on: "level")
        _ = try await fixture.apply(counter("a") + bus + link)
        await fixture.settle()
        #expect(try fixture.state("a") == "Count 40")
        let applied = try await fixture.apply(
            counter("a") + bus.replacing("fromOutside", with: "limit: 3, fromOutside") + link)
        #expect(
            applied.plan.withoutChanges.buses == [
                .init(name: "level", fate: .change, value: .keep, reason: "its definition has changed")
            ])
        #expect(applied.plan.links.map(\.reason) == ["the bus 'level' is replaced"])
        await fixture.settle()
        #expect(try fixture.state("a") == "Count 80")
        #expect(try fixture.host.busStatus("level").value == .int(40))
        // The count of a link that does the same goes on.
        #expect(try fixture.host.linkStatus("down").fired == 2)
        _ = try await fixture.apply(counter("a") + bus)
        try fixture.host.publish(.int(3), on: "level")
        await fixture.settle()
        #expect(try fixture.state("a") == "Count 80")
        await fixture.host.stop(within: .zero)
    }

    @Test func `what fails before the switch changes nothing`() async throws {
        let broken = counter("b").replacing("n: 0", with: "n: \"${1 / (now.getFullYear() - 2023)}\"")
        let fixture = try Fixture(counter("a"))
        await #expect(throws: ApplyError.notStarted) { try await fixture.apply(counter("b")) }
        fixture.host.start()
        try fixture.host.emit("Add", to: "a", fields: [.int(1)])
        await fixture.settle()
        let before = fixture.digest
        do {
            _ = try await fixture.apply(counter("a", "unhandled: warn") + broken)
            Issue.record("it was applied")
        } catch ApplyError.initialState(let error) {
            #expect(error.system == "b")
        }
        #expect(fixture.digest == before)
        await fixture.host.stop(within: .zero)
        await #expect(throws: ApplyError.stopped) { try await fixture.apply(counter("b")) }
    }

    @Test func `new systems that are not ready in time are named`() async throws {
        let fixture = try Fixture(counter("a"))
        fixture.host.start()
        async let applied = fixture.apply(counter("a") + counter("b", "ready: Done") + counter("c"))
        while !Task.isCancelled, fixture.host.generation == 1 { await Task.yield() }
        // Until the limit of the joining is over, too.
        while true {
            await fixture.clock.sleepers(atLeast: 1)
            if (fixture.clock.nextDeadline?.offset ?? .zero) >= .seconds(30) { break }
            await Task.yield()
        }
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
        let fixture = try Fixture(counter("a") + counter("r") + counter("k", "health: { Count: failed }"))
        fixture.host.start()
        await fixture.settle()
        // A kept system is not new, whatever its health. The clock stands still, so nothing waits for a limit.
        let applied = try await fixture.apply(
            counter("a", "health: { Count: failed }") + counter("k", "health: { Count: failed }")
                + counter("n", "health: { Count: failed, Done: degraded }")
                + counter("r", "health: { Count: failed }", fields: "more")
                + counter("s", "health: { Count: degraded }"))
        #expect(applied.plan.systems.map(\.fate) == [.migrate, .keep, .add, .restart, .add])
        #expect(applied.late == ["a", "n", "r"])
        #expect(Set(applied.lateReasons.values) == ["failed: its state is 'Count'"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `a stop ends the waiting for new systems, and nothing counts as applied`() async throws {
        let fixture = try Fixture(counter("a"))
        fixture.host.start()
        let applied = Task { try await fixture.apply(counter("a") + counter("b", "ready: Done")) }
        while !Task.isCancelled, (try? fixture.host.systemStatus("b").loop.phase) != .running { await Task.yield() }
        await fixture.host.stop(within: .zero)
        await #expect(throws: ApplyError.interrupted) { try await applied.value }
        #expect(try fixture.host.systemStatus("b").loop.phase == .stopped)
    }

    @Test func `several are applied one after the other`() async throws {
        let fixture = try Fixture(counter("a"))
        fixture.host.start()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask { try await fixture.apply(counter("a") + counter("b\(number)")).generation }
            }
            var generations: [Int] = []
            for try await generation in group { generations.append(generation) }
            #expect(generations.sorted() == Array(2...9))
        }
        #expect(fixture.host.systemStatuses.count == 2)
        await fixture.host.stop(within: .zero)
    }
}
