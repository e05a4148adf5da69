import FeedbackKit
import FeedbackKitTesting
import Testing

@Suite struct `A simulation` {
    @Test(arguments: [0, 1, 7, 123_456_789, UInt64.max])
    func `reproduces a run from its seed, byte for byte`(seed: UInt64) {
        let first = busyRun(seed: seed)
        #expect(first.description.utf8.elementsEqual(busyRun(seed: seed).description.utf8))
        #expect(first.lines.contains { $0 == "note group" })
        #expect(first.lines.contains { $0 == "note timeout" })
        #expect(first.lines.contains { $0.hasPrefix("note quiet since") })
        #expect(first.count > 50)
    }

    @Test func `gives other interleavings for other seeds`() {
        let orders = Set((0..<50).map { seed in busyRun(seed: seed).lines.filter { $0.hasPrefix("note") } })
        #expect(orders.count > 5)
        #expect(Set((0..<50).map { busyRun(seed: $0).digest }).count == 50)
    }

    @Test func `runs everything on the thread that drives it, and nothing before`() {
        let simulation = Simulation()
        let log = Log()
        let task = Task(executorPreference: simulation) {
            log.add("a")
            await Task.yield()
            log.add("b")
            await withTaskGroup(of: Void.self) { $0.addTask { log.add("c") } }
        }
        #expect(log.lines.isEmpty)
        #expect(simulation.runnableCount == 1)
        #expect(simulation.step())
        #expect(log.lines == ["a"])
        simulation.runUntilIdle()
        #expect(log.lines == ["a", "b", "c"])
        #expect(!simulation.step())
        task.cancel()
    }

    @Test func `lets time pass only when nothing is runnable, to the next deadline`() {
        let simulation = Simulation()
        let log = Log()
        for delay in [3, 1, 2] {
            Task(executorPreference: simulation) {
                try await simulation.clock.sleep(for: .seconds(delay))
                log.add("\(delay) at \(simulation.now.offset)")
            }
        }
        simulation.runUntilIdle()
        #expect(simulation.now.offset == .zero)
        #expect(simulation.deadlines.map(\.offset) == [.seconds(1), .seconds(2), .seconds(3)])
        #expect(simulation.nextDeadline?.offset == .seconds(1))
        simulation.run(for: .milliseconds(999))
        #expect(log.lines.isEmpty)
        simulation.run(for: .milliseconds(1))
        #expect(log.lines == ["1 at 1.0 seconds"])
        simulation.run(for: .milliseconds(500))
        #expect(simulation.now.offset == .milliseconds(1500))
        simulation.runToEnd()
        #expect(log.lines == ["1 at 1.0 seconds", "2 at 2.0 seconds", "3 at 3.0 seconds"])
        #expect(simulation.now.offset == .seconds(3))
        simulation.run(for: .seconds(-5))
        #expect(simulation.now.offset == .seconds(3))
    }

    @Test func `ends a sleep whose task is cancelled, before it begins or while it lasts`() {
        let simulation = Simulation()
        let log = Log()
        let tasks = (0..<3).map { number in
            Task(executorPreference: simulation) {
                do {
                    try await simulation.clock.sleep(for: .seconds(number == 2 ? 0 : 60))
                    log.add("\(number) slept")
                } catch {
                    log.add("\(number) \(type(of: error))")
                }
            }
        }
        tasks[0].cancel()
        simulation.runUntilIdle()
        #expect(log.lines.sorted() == ["0 CancellationError", "2 slept"])
        tasks[1].cancel()
        simulation.runUntilIdle()
        #expect(log.lines.sorted() == ["0 CancellationError", "1 CancellationError", "2 slept"])
        #expect(simulation.nextDeadline == nil)
        #expect(simulation.now.offset == .zero)
    }

    /// Descriptions that a trace must not have, because they may differ between runs.
    private enum Described: CustomStringConvertible {
        case one, two(Int)
        var description: String { "described" }
    }
    private enum Debugged: CustomDebugStringConvertible {
        case one
        var debugDescription: String { "debugged" }
    }
    private enum Plain { case one, two(number: Int) }

    @Test func `names the events of its loops by their cases and types, and no loop if that is not wanted`() {
        func takes<E: Sendable>(_ events: [E], namesLoops: Bool = true) -> [String] {
            let simulation = Simulation(seed: 1, namesLoops: namesLoops)
            let loop = Loop<Int, E>(initial: 0, executor: simulation, clock: simulation.clock) { _, _ in .unhandled }
            loop.start()
            for event in events { loop.send(event) }
            simulation.runUntilIdle()
            loop.cancel()
            return simulation.trace.lines.filter { $0.contains("loop 1 takes") }
        }
        #expect(takes([Plain.one, .two(number: 1)]) == ["loop 1 takes one in Int", "loop 1 takes two in Int"])
        #expect(takes([Described.one, .two(1)]) == ["loop 1 takes Described in Int", "loop 1 takes two in Int"])
        #expect(takes([Debugged.one]) == ["loop 1 takes Debugged in Int"])
        #expect(takes(["text"]) == ["loop 1 takes String in Int"])
        #expect(takes([Plain.one], namesLoops: false).isEmpty)
    }

    @Test func `is a failure when it does not come to rest`() {
        let simulation = Simulation(seed: 3, maximumSteps: 20)
        let loop = Loop<Int, Int>(
            initial: 0, feedbacks: [Feedback(name: "again") { .just($0 + ($1 ?? 1)) }], executor: simulation,
            clock: simulation.clock
        ) { state, event in
            state = event
            return .handled
        }
        loop.start()
        let messages = failures { simulation.runToEnd() }
        #expect(
            messages == [
                """
                the simulation with seed 3 did not come to rest within 20 steps: some work restarts itself \
                without end, or maximumSteps is too low; the last lines of the trace:
                  19 0.0 seconds turn 19 by 18
                  loop 1 takes Int in Int
                  loop 1 enters Int
                  20 0.0 seconds turn 20 by 19
                  loop 1 takes Int in Int
                  loop 1 enters Int
                """
            ])
        loop.cancel()
    }

    @Test func `comes to rest in exactly as many steps as are allowed`() {
        let simulation = Simulation(maximumSteps: 3)
        for _ in 0..<3 { simulation.enqueue { simulation.note("turn") } }
        #expect(failures { simulation.runUntilIdle() } == [])
        #expect(simulation.steps == 3)
    }

    @Test func `cannot be driven from within itself`() {
        let simulation = Simulation()
        simulation.enqueue { simulation.runUntilIdle() }
        let messages = failures { simulation.runUntilIdle() }
        #expect(
            messages == [
                "the simulation is being driven already: its work must not drive it, nor may two threads; "
                    + "await what the work needs instead"
            ])
    }

    @Test func `performs an async function to its end, and time passes for it`() async throws {
        let simulation = Simulation()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(name: "slow", cancellation: .never) { _, _ in
                    .run { send in try? await send.clock.sleep(for: .seconds(2)) }
                }
            ],
            executor: simulation, clock: simulation.clock
        ) { state, event in
            state = event
            return .handled
        }
        loop.start()
        loop.send(42)
        simulation.runUntilIdle()
        let answer = try await simulation.perform {
            await loop.stop(within: .seconds(60))
            return "stopped in \(loop.state)"
        }
        #expect(answer == "stopped in 42")
        #expect(simulation.now.offset == .seconds(2))
        #expect(simulation.nextDeadline == nil)
    }

    @Test func `ends the performed function when the test is cancelled`() async {
        let simulation = Simulation()
        let log = Log()
        let test = Task {
            try await simulation.perform(within: .seconds(60)) {
                _ = await AsyncStream<Int> { _ in }.first { _ in true }
                log.add("ended")
            }
        }
        test.cancel()
        _ = await test.result
        #expect(log.lines == ["ended"])
    }

    @Test func `runs actors and calls on them`() async throws {
        actor Account {
            var balance = 0
            func add(_ amount: Int) async {
                let before = balance
                await Task.yield()
                balance = before + amount
            }
        }
        var balances: Set<Int> = []
        for seed in 0..<200 {
            let simulation = Simulation(seed: UInt64(seed))
            let account = Account()
            for _ in 0..<2 { Task(executorPreference: simulation) { await account.add(1) } }
            simulation.runToEnd()
            balances.insert(try await simulation.perform { await account.balance })
        }
        #expect(balances == [1, 2], "both outcomes of the race in a re-entrant actor are found")
    }

    @Test func `is driven from the main actor, too`() async throws {
        try await drivenOnMainActor()
    }

    @MainActor private func drivenOnMainActor() async throws {
        let simulation = Simulation()
        let log = Log()
        Task(executorPreference: simulation) { @Sendable in
            try await simulation.clock.sleep(for: .seconds(1))
            log.add("slept")
        }
        simulation.runToEnd()
        #expect(log.lines == ["slept"])
        MainActor.assertIsolated()
        #expect(try await simulation.perform { await withTaskGroup(of: Int.self) { _ in 3 } } == 3)
        MainActor.assertIsolated()
    }

    @Test func `performs a function that throws, and one that never ends`() async {
        struct Refused: Error {}
        let simulation = Simulation()
        await #expect(throws: Refused.self) { try await simulation.perform { throw Refused() } }
        let error = await #expect(throws: SimulationError.self) {
            try await simulation.perform(within: .milliseconds(1)) {
                _ = await AsyncStream<Int> { _ in }.first { _ in true }
            }
        }
        #expect(error?.code == .stalled)
        #expect(
            error?.message
                == "the function waits for an event that never arrives: nothing is runnable, no task sleeps on the "
                + "clock, and nothing came from outside the simulation within 0.001 seconds")
        let busy = Simulation(maximumSteps: 10)
        let other = await #expect(throws: SimulationError.self) {
            try await busy.perform { while !Task.isCancelled { await Task.yield() } }
        }
        #expect(other?.code == .exhausted)
        busy.runUntilIdle()
        #expect(busy.runnableCount == 0)
    }

    @Test func `accepts work from other threads`() async throws {
        let simulation = Simulation()
        let sum = try await simulation.perform(within: .seconds(60)) {
            await withTaskGroup(of: Int.self) { group in
                for number in 1...100 {
                    group.addTask { await Task.detached { number }.value }
                }
                return await group.reduce(0, +)
            }
        }
        #expect(sum == 5050)
        let loop = Loop<Int, Int>(initial: 0, executor: simulation, clock: simulation.clock) { state, event in
            state += event
            return .handled
        }
        loop.start()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<500 { loop.send(1) } }
            }
        }
        simulation.runUntilIdle()
        #expect(loop.state == 2000)
        loop.cancel()
    }

    @Test func `keeps the order of one sender under every seed`() {
        Simulation.explore(seeds: 0..<100) { simulation in
            let loop = Loop<[Int], Int>(
                initial: [],
                feedbacks: [
                    Feedback(cancellation: .never) { _, event in
                        event != nil
                            ? .nothing
                            : .all([
                                .run { for number in 0..<5 { $0(number); await Task.yield() } },
                                .run { for number in 100..<105 { $0(number); await Task.yield() } },
                            ])
                    }
                ], executor: simulation, clock: simulation.clock
            ) { state, event in
                state.append(event)
                return .handled
            }
            loop.start()
            simulation.runToEnd()
            #expect(loop.state.filter { $0 < 100 } == Array(0..<5))
            #expect(loop.state.filter { $0 >= 100 } == Array(100..<105))
            loop.cancel()
        }
    }

    @Test func `has a generator that gives the published sequence`() {
        // The first outputs for seed 1234567, as listed at rosettacode.org, "Pseudo-random numbers/Splitmix64".
        var generator = SplitMix64(seed: 1_234_567)
        #expect(
            (0..<5).map { _ in generator.next() } == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
                4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
            ])
    }
}
