import Dispatch
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A thread of a test's own, for a loop that blocks: the pool has few.
private final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "a loop of its own")
    /// The number of jobs so far.
    let jobs = Atomic(0)

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.add(1, ordering: .relaxed)
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// The gate of a reducer.
private final class Gate: Sendable {
    private let semaphore = ThreadSemaphore()
    private let (arrivals, arrived) = AsyncStream<Void>.makeStream()

    func wait() {
        arrived.yield()
        semaphore.wait()
    }

    func open() { semaphore.signal() }

    /// Returns when one waits.
    func someoneWaits() async {
        for await _ in arrivals { return }
    }
}

private enum Work: String, Codable, CaseIterable {
    case block, count
}

@Suite(.timeLimit(.minutes(20))) struct `The watch over loops` {
    private let gate = Gate()

    /// A kind whose loop waits at the gate on each `block`.
    private func blocker(_ executor: any LoopExecutor) throws -> any SystemImplementation {
        struct Counted: Codable { var count = 0 }
        struct None: Codable {}
        let gate = gate
        return try TypedKind<Counted, Work, None>.loop(
            "blocker", description: nil, parameters: None.self, defaults: nil
        ) { _ in
            Loop(
                initial: Counted(), feedbacks: [Feedback<Counted, Work>](), executor: executor,
                reduce: { counted, work in
                    if work == .block { gate.wait() }
                    counted.count += 1
                    return .handled
                })
        }
    }

    private static let text = """
        system: blocked
        kind: blocker
        ---
        system: patient
        kind: blocker
        watchdog: 1m
        ---
        system: other
        states: { Here: {} }
        events: { Poke: {} }
        fromOutside: Poke
        initialState: Here
        transitions: { Here: { Poke: stay } }
        """

    /// Looks until every loop has answered, and once more.
    private func settle(_ fixture: KindFixture, _ deadline: Duration = .seconds(2)) async {
        await fixture.settle()
        #expect(fixture.host.lookAtLoops(deadline: deadline).isEmpty)
        await fixture.settle()
    }

    private func send(_ word: String, to system: String, of fixture: KindFixture) throws {
        try fixture.host.emit(word, to: system, fields: [])
    }

    /// Looks, and returns when the system that is not of the kind has answered.
    @discardableResult private func look(_ fixture: KindFixture) async throws -> [LateLoop] {
        let late = fixture.host.lookAtLoops(deadline: .seconds(2))
        let before = try fixture.host.systemStatus("other").loop.counters.events
        try send("Poke", to: "other", of: fixture)
        // Its question is before the event.
        try await suspend(while: fixture.host.systemStatus("other").loop.counters.events == before)
        return late
    }

    /// Looks after each half second, until a time has passed; what the last look has found.
    private func pass(_ time: Duration, _ fixture: KindFixture) async throws -> [LateLoop] {
        var late: [LateLoop] = []
        for _ in 0..<Int(time / .milliseconds(500)) {
            fixture.clock.advance(by: .milliseconds(500))
            late = try await look(fixture)
        }
        return late
    }

    @Test func `names a loop that blocks, and no other, until it turns again`() async throws {
        let fixture = try KindFixture(Self.text, also: [try blocker(.task(OwnThread()))])
        let host = fixture.host
        host.start()
        await settle(fixture)
        #expect(host.health == .healthy)
        try send("block", to: "blocked", of: fixture)
        await gate.someoneWaits()
        // It is asked now, and has until then.
        #expect(try await look(fixture).isEmpty)
        #expect(try await pass(.milliseconds(1_500), fixture).isEmpty)
        #expect(try host.systemStatus("blocked").health == .healthy)
        let late = try await pass(.milliseconds(500), fixture)
        #expect(late == [LateLoop(system: "blocked", silence: .seconds(2), deadline: .seconds(2), isBlocked: true)])
        let status = try host.systemStatus("blocked")
        #expect(status.health == .failed)
        #expect(
            status.healthReason
                == "its loop is blocked: what it does has not come to an end for 2s, where 2s are allowed")
        #expect(try host.systemStatus("other").health == .healthy)
        #expect(status.faults == 0)
        // It stays so as long as it is silent, however long that is.
        #expect(try await pass(.seconds(100), fixture).map(\.system) == ["blocked"])
        gate.open()
        try await suspend(while: host.systemStatus("blocked").health != .healthy)
        #expect(try await look(fixture).isEmpty)
        await host.stop(within: .seconds(1))
    }

    @Test func `does not hold the time against a loop in which the machine slept`() async throws {
        let fixture = try KindFixture(Self.text, also: [try blocker(.task(OwnThread()))])
        let host = fixture.host
        host.start()
        await settle(fixture)
        try send("block", to: "blocked", of: fixture)
        await gate.someoneWaits()
        try await look(fixture)
        fixture.clock.advance(by: .seconds(36_000))
        #expect(try await look(fixture).isEmpty)
        gate.open()
        await settle(fixture)
        await host.stop(within: .seconds(1))
    }

    @Test func `gives each system the deadline of its file`() async throws {
        let fixture = try KindFixture(Self.text, also: [try blocker(.task(OwnThread()))])
        let host = fixture.host
        host.start()
        await settle(fixture)
        try send("block", to: "patient", of: fixture)
        await gate.someoneWaits()
        try await look(fixture)
        // The other instance of the kind waits for the same thread.
        #expect(try await pass(.milliseconds(59_500), fixture).isEmpty)
        #expect(try await pass(.milliseconds(500), fixture).map(\.system) == ["patient"])
        #expect(host.watchPeriod(deadline: .seconds(2)) == .milliseconds(500))
        #expect(host.watchPeriod(deadline: .seconds(3_600)) == .seconds(10))
        gate.open()
        await settle(fixture)
        await host.stop(within: .seconds(1))
    }

    @Test func `takes one that has much to do for no late one`() async throws {
        let fixture = try KindFixture(Self.text, also: [try blocker(.task(OwnThread()))])
        let host = fixture.host
        host.start()
        await settle(fixture)
        for _ in 0..<3 { try send("block", to: "blocked", of: fixture) }
        await gate.someoneWaits()
        try await look(fixture)
        for _ in 0..<2 {
            #expect(try await pass(.seconds(1), fixture).isEmpty)
            gate.open()
            await gate.someoneWaits()
            // An event has been taken, though the question waits behind the next one.
            #expect(try await look(fixture).isEmpty)
        }
        #expect(try await pass(.seconds(2), fixture).map(\.system) == ["blocked"])
        gate.open()
        await settle(fixture)
        await host.stop(within: .seconds(1))
    }

    @Test func `names who blocks, and not who waits for the thread that is blocked`() async throws {
        // Both loops share a thread.
        let fixture = try KindFixture(Self.text, also: [try blocker(.task(OwnThread()))])
        let host = fixture.host
        host.start()
        await settle(fixture)
        try send("block", to: "blocked", of: fixture)
        await gate.someoneWaits()
        try send("count", to: "patient", of: fixture)
        try await look(fixture)
        #expect(try await pass(.seconds(70), fixture).map(\.system) == ["blocked"])
        #expect(try host.systemStatus("patient").health == .healthy)
        gate.open()
        await settle(fixture)
        await host.stop(within: .seconds(1))
    }

    @Test func `names those that wait where none is seen to block`() async throws {
        // Something else has the thread, such as a side effect.
        let thread = OwnThread()
        let fixture = try KindFixture(Self.text, also: [try blocker(.task(thread))])
        let (host, gate) = (fixture.host, gate)
        host.start()
        await settle(fixture)
        Task.detached(executorPreference: thread) { gate.wait() }
        await gate.someoneWaits()
        try send("count", to: "blocked", of: fixture)
        try await look(fixture)
        let late = try await pass(.seconds(2), fixture)
        #expect(late.map(\.system) == ["blocked"])
        #expect(late.first?.isBlocked == false)
        #expect(late.first?.reason.contains("no thread has been free") == true)
        gate.open()
        await settle(fixture)
        await host.stop(within: .seconds(1))
    }

    @Test func `asks no loop that has nothing to do`() async throws {
        let thread = OwnThread()
        let fixture = try KindFixture(Self.text, also: [try blocker(.task(thread))])
        fixture.host.start()
        await settle(fixture)
        for _ in 0..<5 {
            await suspend(while: !fixture.host.isIdle)
            fixture.clock.advance(by: .milliseconds(500))
            let jobs = thread.jobs.load(ordering: .relaxed)
            #expect(fixture.host.lookAtLoops(deadline: .seconds(2)).isEmpty)
            #expect(fixture.host.isIdle && thread.jobs.load(ordering: .relaxed) == jobs)
        }
        await fixture.host.stop(within: .seconds(1))
    }

    /// The question that a program asks at a time of its own, instead of the watch.
    @Test func `a loop that does not turn within a limit is named, and only that one`() async throws {
        let text = """
            system: blocked
            kind: blocker
            ---
            system: other
            states: { Here: {} }
            events: {}
            initialState: Here

            """
        let fixture = try KindFixture(text, also: [try blocker(.task(OwnThread()))])
        let host = fixture.host
        func events() throws -> UInt64 { try host.systemStatus("blocked").loop.counters.events }
        host.start()
        await fixture.settle()
        let first = try events()
        try send("block", to: "blocked", of: fixture)
        await gate.someoneWaits()
        for _ in 0..<2 {
            // The second time the proof of the first is still outstanding, and no other is asked for.
            let stuck = Task { await host.stuckSystems(within: .seconds(3)) }
            await fixture.clock.nextDeadline(in: .seconds(3))
            fixture.clock.advance(by: .seconds(3))
            #expect(await stuck.value.contains("blocked"))
        }
        // One that has much to do is not taken for one that does not turn: it takes an event within the limit, and is
        // not at its end.
        for _ in 0..<2 { try send("block", to: "blocked", of: fixture) }
        let taken = try events()
        let stuck = Task { await host.stuckSystems(within: .seconds(3)) }
        await fixture.clock.nextDeadline(in: .seconds(3))
        gate.open()
        try await suspend(while: events() == taken)
        fixture.clock.advance(by: .seconds(3))
        #expect(await !stuck.value.contains("blocked"))
        for _ in 0..<2 { gate.open() }
        await fixture.settle()
        #expect(try events() == first + 3)
        #expect(await host.stuckSystems(within: .seconds(3)).isEmpty)
        await host.stop(within: .seconds(1))
    }

    @Test func `expects nothing of what has been restarted or has ended`() async throws {
        let fixture = try KindFixture(Self.text, also: [try blocker(.task(OwnThread()))])
        let (host, clock) = (fixture.host, fixture.clock)
        #expect(host.lookAtLoops(deadline: .seconds(2)).isEmpty)
        clock.advance(by: .seconds(60))
        #expect(host.lookAtLoops(deadline: .seconds(2)).isEmpty, "it has not begun")
        host.start()
        await settle(fixture)
        let applied = try await fixture.apply("system: other\nstates: { Here: {} }\nevents: {}\ninitialState: Here\n")
        #expect(applied.late.isEmpty)
        clock.advance(by: .seconds(60))
        #expect(host.lookAtLoops(deadline: .seconds(2)).isEmpty)
        await host.stop(within: .seconds(1))
        clock.advance(by: .seconds(60))
        #expect(host.lookAtLoops(deadline: .seconds(2)).isEmpty)
    }
}
