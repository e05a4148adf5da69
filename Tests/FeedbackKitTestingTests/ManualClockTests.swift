import FeedbackKitTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A manual clock` {
    @Test func `stands still until it is advanced, and wakes the due sleepers`() async throws {
        let clock = ManualClock()
        #expect(clock.now.offset == .zero)
        #expect(clock.minimumResolution == .nanoseconds(1))
        let sleeper = Task { try await clock.sleep(for: .seconds(2)) }
        await clock.nextDeadline(in: .seconds(2))
        #expect(clock.nextDeadline?.offset == .seconds(2))
        clock.advance(by: .milliseconds(1999))
        #expect(clock.nextDeadline?.offset == .seconds(2))
        clock.advance(by: .milliseconds(1))
        #expect(clock.nextDeadline == nil)
        try await sleeper.value
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
        await clock.nextDeadline(in: .seconds(1))
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(clock.deadlines.isEmpty)
        #expect(clock.nextDeadline == nil)
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
        await clock.nextDeadline(in: .seconds(1))
        clock.advance(by: .seconds(3))
        await clock.nextDeadline(in: .seconds(1))
        #expect(ticks.lines == ["3.0 seconds"])
        ticking.cancel()
        await #expect(throws: CancellationError.self) { try await ticking.value }
    }
}

/// The deadlines of a manual clock, and the waits for the next one.
@Suite(.timeLimit(.minutes(5))) struct `The deadlines of a manual clock` {
    private let clock = ManualClock()
    private let log = Log()
    private let executor = SettlingPool()

    /// Starts a task that sleeps on the clock.
    private func sleeper(_ seconds: Int) async -> Task<Void, any Error> {
        let task = Task(executorPreference: executor) { [clock] in try await clock.sleep(for: .seconds(seconds)) }
        await executor.settled()
        return task
    }

    /// Starts a task that waits for the next deadline, and then adds it to the log.
    private func waiter(_ seconds: Int) async -> Task<Void, Never> {
        let task = Task(executorPreference: executor) { [clock, log] in
            await clock.nextDeadline(in: .seconds(seconds))
            log.add("\(seconds)")
        }
        await executor.settled()
        return task
    }

    @Test func `are sorted, equal ones too, and end with their sleeps`() async throws {
        #expect(clock.deadlines.isEmpty && clock.nextDeadline == nil)
        var sleepers: [Task<Void, any Error>] = []
        for seconds in [3, 1, 2, 1] { sleepers.append(await sleeper(seconds)) }
        #expect(clock.deadlines.map(\.offset) == [.seconds(1), .seconds(1), .seconds(2), .seconds(3)])
        #expect(clock.nextDeadline?.offset == .seconds(1))
        sleepers[2].cancel()
        #expect(clock.deadlines.map(\.offset) == [.seconds(1), .seconds(1), .seconds(3)])
        clock.advance(by: .seconds(1))
        #expect(clock.deadlines.map(\.offset) == [.seconds(3)])
        clock.advance(by: .seconds(2))
        #expect(clock.deadlines.isEmpty && clock.nextDeadline == nil)
        for index in [0, 1, 3] { try await sleepers[index].value }
        await #expect(throws: CancellationError.self) { try await sleepers[2].value }
    }

    @Test func `resume each waiter when its own one is the earliest`() async throws {
        var waiters: [Task<Void, Never>] = []
        for seconds in [1, 2, 3, 2] { waiters.append(await waiter(seconds)) }
        var sleepers = [await sleeper(4)]
        #expect(log.lines.isEmpty)
        sleepers.append(await sleeper(3))
        #expect(log.lines == ["3"])
        sleepers.append(await sleeper(2))
        #expect(log.lines == ["3", "2", "2"])
        sleepers.append(await sleeper(1))
        #expect(log.lines == ["3", "2", "2", "1"])
        for waiter in waiters { await waiter.value }
        clock.advance(by: .seconds(4))
        for sleeper in sleepers { try await sleeper.value }
    }

    @Test func `resume a waiter at once if its own one is the earliest already`() async throws {
        let sleepers = [await sleeper(2), await sleeper(1)]
        let waiter = await waiter(1)
        #expect(log.lines == ["1"])
        await waiter.value
        clock.advance(by: .seconds(2))
        for sleeper in sleepers { try await sleeper.value }
    }

    @Test func `resume a waiter when an earlier sleep is cancelled`() async throws {
        let (early, late) = (await sleeper(1), await sleeper(2))
        let waiter = await waiter(2)
        #expect(log.lines.isEmpty)
        early.cancel()
        await waiter.value
        #expect(log.lines == ["2"])
        clock.advance(by: .seconds(2))
        try await late.value
        await #expect(throws: CancellationError.self) { try await early.value }
    }

    @Test func `resume a waiter when an earlier sleep is over`() async throws {
        let (early, late) = (await sleeper(1), await sleeper(3))
        let waiter = await waiter(3)
        clock.advance(by: .milliseconds(999))
        await executor.settled()
        #expect(log.lines.isEmpty)
        clock.advance(by: .milliseconds(1))
        await waiter.value
        #expect(log.lines == ["3"])
        try await early.value
        // The same deadline is now two seconds away.
        await clock.nextDeadline(in: .seconds(2))
        clock.advance(by: .seconds(2))
        try await late.value
    }

    @Test func `resume a waiter when its task is cancelled, before or while it waits`() async {
        let early = Task { [clock] in
            withUnsafeCurrentTask { $0?.cancel() }
            await clock.nextDeadline(in: .seconds(100))
        }
        await early.value
        let late = await waiter(100)
        #expect(log.lines.isEmpty)
        late.cancel()
        await late.value
        #expect(log.lines == ["100"])
    }
}
