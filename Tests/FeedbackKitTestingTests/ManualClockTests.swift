import FeedbackKitTesting
import Testing

@Suite struct `A manual clock` {
    @Test func `stands still until it is advanced, and wakes the due sleepers`() async throws {
        let clock = ManualClock()
        #expect(clock.now.offset == .zero)
        #expect(clock.minimumResolution == .nanoseconds(1))
        let sleeper = Task { try await clock.sleep(for: .seconds(2)) }
        await clock.sleepers(atLeast: 1)
        #expect(clock.nextDeadline?.offset == .seconds(2))
        clock.advance(by: .milliseconds(1999))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .milliseconds(1))
        #expect(clock.sleeperCount == 0)
        try await sleeper.value
        #expect(clock.nextDeadline == nil)
        #expect(clock.now.duration(to: .init(offset: .seconds(3))) == .seconds(1))
    }

    @Test func `wakes in the order of the deadlines`() async {
        let clock = ManualClock()
        let log = Log()
        let simulation = Simulation()
        for seconds in [3, 1, 2] {
            // On a simulation driven in order of arrival, the tasks continue in the order in which they were woken.
            Task(executorPreference: simulation) {
                try? await clock.sleep(for: .seconds(seconds))
                log.add("\(seconds)")
            }
        }
        simulation.runUntilIdle()
        for _ in 0..<3 {
            clock.advance(by: .seconds(1))
            simulation.runUntilIdle()
        }
        #expect(log.lines == ["1", "2", "3"])
    }

    @Test func `does not go back, and lets nobody sleep until the past`() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(2))
        clock.advance(by: .seconds(-1))
        #expect(clock.now.offset == .seconds(2))
        try await clock.sleep(until: .init(offset: .seconds(1)))
        try await clock.sleep(for: .zero)
    }

    @Test func `ends a sleep when its task is cancelled, before or while it lasts`() async {
        let clock = ManualClock()
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        let late = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.sleepers(atLeast: 1)
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(clock.sleeperCount == 0)
        #expect(clock.nextDeadline == nil)
    }

    @Test func `waits for sleepers until there are enough, or until that is cancelled`() async throws {
        let clock = ManualClock()
        await clock.sleepers(atLeast: 0)
        let waiting = Task {
            await clock.sleepers(atLeast: 2)
            return clock.sleeperCount
        }
        let sleepers = (0..<2).map { _ in Task { try await clock.sleep(for: .seconds(1)) } }
        #expect(await waiting.value == 2)
        let forever = Task { await clock.sleepers(atLeast: 100) }
        forever.cancel()
        await forever.value
        clock.advance(by: .seconds(1))
        for sleeper in sleepers { try await sleeper.value }
    }

    @Test func `wakes a repeated sleeper once, however far it jumps`() async throws {
        let clock = ManualClock()
        let ticks = Log()
        let ticking = Task {
            while true {
                try await clock.sleep(for: .seconds(1))
                ticks.add("\(clock.now.offset)")
            }
        }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(3))
        await clock.sleepers(atLeast: 1)
        #expect(ticks.lines == ["3.0 seconds"])
        ticking.cancel()
        await #expect(throws: CancellationError.self) { try await ticking.value }
    }
}
