import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing
import TestSupport

/// Compound effects: delays, timeouts, groups, names within names.
@Suite(.timeLimit(.minutes(20))) struct `Effects made of others` {
    typealias Made = @Sendable ([String], String?) -> Effect<String>

    private struct Broken: Error {}

    /// A loop in a simulation that keeps its events.
    func loop(
        _ simulation: Simulation, _ rule: CancellationRule<[String]> = .never, executor: (any LoopExecutor)? = nil,
        mailboxLimit: Int = .max, overflow: Overflow = .dropNewest, _ made: @escaping Made
    ) -> Loop<[String], String> {
        var feedback = Feedback(name: "made", cancellation: rule, effect: made)
        if let executor { feedback = feedback.execute(on: AnyPlace(base: executor)) }
        return Loop(
            initial: [], feedbacks: [feedback], executor: simulation, clock: simulation.clock,
            mailboxLimit: mailboxLimit, overflow: overflow
        ) { state, event in
            state.append(event)
            return .handled
        }
    }

    private struct AnyPlace: LoopExecutor {
        let base: any LoopExecutor
        var eventsPerTurn: Int { base.eventsPerTurn }
        var taskExecutor: (any TaskExecutor)? { base.taskExecutor }
        func enqueue(_ turn: @escaping @Sendable () -> Void) { base.enqueue(turn) }
    }

    /// Returns an effect that emits after a delay.
    func slow(_ event: String, _ seconds: Int) -> Effect<String> {
        .run { send in
            guard (try? await send.clock.sleep(for: .seconds(seconds))) != nil else { return }
            send(event)
        }
    }

    /// Asserts that no effect is left.
    func expectQuiet(_ loop: Loop<[String], String>, _ simulation: Simulation) {
        simulation.runToEnd()
        #expect(loop.snapshot.feedbacks[0].running == 0)
        #expect(loop.remembered == 0)
    }

    // MARK: Timeouts

    @Test func `a time limit within a delay replaces the effect after it, once`() {
        let simulation = Simulation(seed: 1, namesLoops: false)
        let loop = loop(simulation) { state, _ in
            guard state.isEmpty else { return .nothing }
            return self.slow("done", 10).timeout(after: .seconds(1), "late").debounce(id: "d", for: .seconds(2))
        }
        loop.start()
        simulation.run(for: .milliseconds(2_900))
        #expect(loop.state == [])
        simulation.run(for: .seconds(20))
        #expect(loop.state == ["late"])
        expectQuiet(loop, simulation)
    }

    @Test func `a limit over several ends them all, and its own watch with them`() {
        let simulation = Simulation(seed: 2, namesLoops: false)
        let loop = loop(simulation) { state, _ in
            guard state.isEmpty else { return .nothing }
            return Effect.all([self.slow("first", 1), self.slow("second", 5), .just("at once")])
                .timeout(after: .seconds(3), "late")
        }
        loop.start()
        simulation.run(for: .seconds(10))
        #expect(loop.state == ["at once", "first", "late"])
        #expect(loop.counters.effectsStarted == 1)
        expectQuiet(loop, simulation)
    }

    @Test func `the timer of a time limit ends with its effect`() {
        let simulation = Simulation(seed: 3, namesLoops: false)
        let loop = loop(simulation) { state, _ in
            state.isEmpty ? self.slow("done", 1).timeout(after: .seconds(60), "late") : .nothing
        }
        loop.start()
        simulation.run(for: .seconds(2))
        #expect(loop.state == ["done"])
        #expect(loop.snapshot.feedbacks[0].running == 0)
        #expect(simulation.now.offset < .seconds(3))
        expectQuiet(loop, simulation)
    }

    @Test func `the event of a time limit is not lost when senders wait for room`() {
        let simulation = Simulation(seed: 4, namesLoops: false)
        let loop = loop(simulation, mailboxLimit: 1, overflow: .block) { state, _ in
            state.isEmpty ? self.slow("done", 10).timeout(after: .seconds(1), "late") : .nothing
        }
        loop.start()
        simulation.runUntilIdle()
        // Fills the mailbox at the moment of the timeout.
        Task(executorPreference: simulation.taskExecutor) {
            try? await simulation.clock.sleep(for: .milliseconds(999))
            for _ in 0..<50 {
                loop.send("other")
                await Task.yield()
            }
        }
        simulation.run(for: .seconds(2))
        #expect(loop.state.contains("late"))
        loop.cancel()
        simulation.runToEnd()
    }

    // MARK: Delays

    @Test func `a delayed effect of any form starts on the loop's executor`() {
        let simulation = Simulation(seed: 5, namesLoops: false)
        let ended = Record<String>()
        let loop = loop(simulation) { _, event in
            switch event {
            case nil: Effect.subscribe { _, _ in Subscription { ended.add("work") } }.id("work")
            case "cancel": Effect.cancel(id: "work").debounce(id: "d", for: .seconds(1))
            case "several":
                Effect.all([.just("a"), .call { "b" }, self.slow("c", 1).id("c")]).debounce(id: "d", for: .seconds(1))
            default: .nothing
            }
        }
        loop.start()
        simulation.runUntilIdle()
        loop.send("cancel")
        simulation.run(for: .milliseconds(900))
        #expect(ended.values.isEmpty)
        simulation.run(for: .milliseconds(200))
        #expect(ended.values == ["work"])
        loop.send("several")
        simulation.run(for: .seconds(3))
        #expect(loop.state == ["cancel", "several", "a", "b", "c"])
        expectQuiet(loop, simulation)
    }

    @Test func `a new effect of the same name ends the one that the delay before it started`() {
        let simulation = Simulation(seed: 6, namesLoops: false)
        let loop = loop(simulation) { _, event in
            event == "key" ? self.slow("found", 10).debounce(id: "d", for: .seconds(1)) : .nothing
        }
        loop.start()
        loop.send("key")
        simulation.run(for: .seconds(5))
        loop.send("key")
        simulation.run(for: .seconds(30))
        #expect(loop.state == ["key", "key", "found"])
        #expect(loop.counters.effectsCancelled == 1)
        expectQuiet(loop, simulation)
    }

    @Test func `a new state ends the delay, and the delayed effect does not start`() {
        let simulation = Simulation(seed: 7, namesLoops: false)
        let loop = loop(simulation, .onNewState) { _, event in
            event == "key" ? Effect.just("found").debounce(id: "d", for: .seconds(1)) : .nothing
        }
        loop.start()
        loop.send("key")
        simulation.run(for: .milliseconds(500))
        loop.send("other")
        simulation.run(for: .seconds(5))
        #expect(loop.state == ["key", "other"])
        expectQuiet(loop, simulation)
    }

    @Test func `a graceful stop waits neither for a delay nor for the rest of an interval`() {
        let simulation = Simulation(seed: 8, namesLoops: false)
        let loop = loop(simulation) { _, event in
            event == "go"
                ? Effect.all([
                    Effect.just("delayed").debounce(id: "d", for: .seconds(60)),
                    Effect.just("throttled").throttle(id: "t", for: .seconds(60)),
                ]) : .nothing
        }
        loop.start()
        loop.send("go")
        simulation.runUntilIdle()
        #expect(loop.state == ["go", "throttled"])
        loop.beginStop()
        simulation.runUntilIdle()
        #expect(loop.phase == .stopped)
        #expect(loop.remembered == 0)
    }

    @Test func `a delayed effect keeps to the executor of its feedback`() {
        let simulation = Simulation(seed: 9, namesLoops: false)
        let (queue, other) = (Later(simulation.taskExecutor), Counter())
        let loop = loop(simulation, executor: queue) { state, _ in
            guard state.isEmpty else { return .nothing }
            return Effect.call {
                other.add(1)
                return "called"
            }.debounce(id: "d", for: .seconds(1))
        }
        loop.start()
        simulation.run(for: .seconds(2))
        #expect(queue.kept.values.count == 1)
        #expect(other.value == 0)
        for body in queue.kept.values { body() }
        simulation.runUntilIdle()
        #expect(loop.state == ["called"])
        expectQuiet(loop, simulation)
    }

    /// An executor that keeps its jobs until a test runs them.
    private final class Later: LoopExecutor {
        let kept = Record<@Sendable () -> Void>()
        let taskExecutor: (any TaskExecutor)?
        var eventsPerTurn: Int { 1 }
        init(_ taskExecutor: (any TaskExecutor)?) { self.taskExecutor = taskExecutor }
        func enqueue(_ turn: @escaping @Sendable () -> Void) { kept.add(turn) }
    }

    // MARK: Intervals

    @Test func `an interval continues after a new state or its name has ended its effect`() {
        for rule in [CancellationRule<[String]>.onNewState, .never] {
            let simulation = Simulation(seed: 10, namesLoops: false)
            let started = Counter()
            let loop = loop(simulation, rule) { _, event in
                if event == "cancel" { return .cancel(id: "t") }
                return Effect.run { _ in started.add(1) }.throttle(id: "t", for: .seconds(1))
            }
            loop.start()
            for number in 1...10 {
                simulation.run(for: .milliseconds(10))
                loop.send(number == 5 ? "cancel" : "again")
            }
            simulation.run(for: .milliseconds(10))
            #expect(started.value == 1)
            simulation.run(for: .seconds(1))
            loop.send("again")
            simulation.run(for: .milliseconds(10))
            #expect(started.value == 2)
            loop.cancel()
            simulation.runToEnd()
        }
    }

    @Test func `names whose interval is over are forgotten`() {
        let clock = ManualClock()
        let throttles = Throttles()
        for number in 0..<10_000 {
            #expect(throttles.mayStart(EffectID(number), after: .seconds(1)))
            throttles.noteStart(EffectID(number), .seconds(1), by: clock)
            #expect(!throttles.mayStart(EffectID(number), after: .seconds(1)))
            clock.advance(by: .milliseconds(100))
        }
        #expect(throttles.count <= 64)
    }

    // MARK: Events and faults

    @Test func `an event is reported when it is emitted, not when it is planned`() {
        let simulation = Simulation(seed: 15, namesLoops: false)
        let emitted = Record<String>()
        let loop = Loop<[String], String>(
            initial: [],
            feedbacks: [
                Feedback(cancellation: .never) { (state: [String], _: String?) in
                    guard state.isEmpty else { return .nothing }
                    return .all([
                        .after(.seconds(2), "timer"), Effect.just("delayed").debounce(id: "d", for: .seconds(1)),
                        self.slow("done", 1).timeout(after: .seconds(9), "late"),
                        Effect.just("throttled").throttle(id: "t", for: .seconds(1)),
                    ])
                }.onEventEmitted { emitted.add($0) }
            ], executor: simulation, clock: simulation.clock
        ) { state, event in
            state.append(event)
            return .handled
        }
        loop.start()
        simulation.runUntilIdle()
        #expect(emitted.values == ["throttled"])
        simulation.run(for: .milliseconds(1_500))
        #expect(emitted.values.sorted() == ["delayed", "done", "throttled"])
        loop.cancel()
        simulation.runToEnd()
        #expect(!emitted.values.contains("timer") && !emitted.values.contains("late"))
    }

    @Test func `a part that fails is a fault of the loop`() {
        let simulation = Simulation(seed: 16, namesLoops: false)
        let loop = loop(simulation) { _, _ in
            Effect.all([self.slow("a", 10), .attempt { _ in throw Broken() }]).id("whole")
                .debounce(id: "d", for: .seconds(1))
        }
        loop.start()
        simulation.run(for: .seconds(2))
        #expect(loop.fault?.error is Broken)
        #expect(loop.fault?.feedback == "made")
        simulation.runToEnd()
        #expect(loop.phase == .stopped)
        #expect(loop.remembered == 0)
    }

    /// Random effects of every shape: when all have ended, no effect is left and the mailbox is empty.
    @Test(arguments: 0..<(200 * soakFactor)) func `nothing is left of any effect`(seed: Int) {
        final class Maker: Sendable {
            private let numbers: Mutex<SplitMix64>
            init(seed: UInt64) { numbers = Mutex(SplitMix64(seed: seed)) }
            func below(_ bound: Int) -> Int { numbers.withLock { Int($0.next() % UInt64(bound)) } }
            func effect(_ depth: Int) -> Effect<String> {
                let name = below(4)
                switch below(depth > 0 ? 13 : 6) {
                case 0: return .just(below(10) == 0 ? "go" : "x")
                case 1: return .after(.seconds(below(5)), "x")
                case 2:
                    let seconds = below(5)
                    return .run { send in
                        guard (try? await send.clock.sleep(for: .seconds(seconds))) != nil else { return }
                        send("x")
                    }
                case 3:
                    return .subscribe { send, finish in
                        send("x")
                        if self.below(2) == 0 { finish() }
                        return Subscription {}
                    }
                case 4: return .cancel(id: name)
                case 5: return .call { "x" }
                case 6: return .all((0..<below(4)).map { _ in effect(depth - 1) })
                case 7: return effect(depth - 1).id(name)
                case 8: return effect(depth - 1).id(name, replacing: false)
                case 9: return effect(depth - 1).debounce(id: name, for: .seconds(below(4)))
                case 10: return effect(depth - 1).throttle(id: name, for: .seconds(below(4)))
                case 11: return effect(depth - 1).timeout(after: .seconds(below(4)), "x")
                default: return effect(depth - 1).replacingPrevious()
                }
            }
        }
        let simulation = Simulation(seed: UInt64(seed), namesLoops: seed.isMultiple(of: 2))
        let maker = Maker(seed: UInt64(seed))
        let observer = Grammar<[String], String>()
        let rules: [CancellationRule<[String]>] = [.onNewState, .never, .when { $0.count % 5 == 0 }]
        let loop = Loop<[String], String>(
            initial: [],
            feedbacks: rules.map { rule in
                Feedback(cancellation: rule) { _, event in event == "go" ? maker.effect(4) : .nothing }
            }, executor: simulation, clock: simulation.clock, observer: observer
        ) { state, event in
            state.append(event)
            return .handled
        }
        loop.start()
        for _ in 0..<20 {
            loop.send("go")
            simulation.run(for: .milliseconds(700))
        }
        if seed % 3 == 0 { loop.beginStop() }
        if seed % 3 == 1 { loop.cancel() }
        simulation.run(for: .seconds(60))
        // The test ends the effects that never end by themselves.
        loop.cancel()
        simulation.runToEnd()
        #expect(loop.phase == .stopped)
        #expect(loop.remembered == 0)
        #expect(loop.snapshot.feedbacks.allSatisfy { $0.running == 0 })
        #expect(observer.complaints == [])
        #expect(observer.isOver)
    }
}
