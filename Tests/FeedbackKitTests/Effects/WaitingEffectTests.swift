import FeedbackKit
import FeedbackKitTesting
import Testing
import TestSupport

/// Effects that wait and then go on, as the schedules of a host do.
@Suite(.timeLimit(.minutes(20))) struct `An effect that waits and goes on` {
    init() { Traveller.departIfWanted() }

    private typealias Next = Effect<Int>.Continuation

    /// A loop in a simulation that adds up its events and records them. Its feedback starts an effect in state 0.
    private static func loop(
        _ simulation: Simulation, _ record: Record<Int>, _ rule: CancellationRule<Int> = .never,
        _ effect: @escaping @Sendable () -> Effect<Int>
    ) -> Loop<Int, Int> {
        Loop(
            initial: 0,
            feedbacks: [Feedback(name: "waiting", cancellation: rule) { state, _ in state == 0 ? effect() : .nothing }],
            executor: simulation, clock: simulation.clock
        ) { state, event in
            record.add(event)
            state += event
            return .handled
        }
    }

    /// Returns an effect that waits a second, again and again.
    private static func ticking(_ record: Record<Int>) -> Effect<Int> {
        .waiting(.delay(.seconds(1))) {
            record.add(-1)
            return Next(effect: ticking(record))
        }
    }

    /// A loop on the sender's thread and the continuous clock, where an alarm waits instead of a task. Its feedback starts an
    /// effect with the first state.
    private static func alarmed(
        executor: any LoopExecutor = .sendersThread, _ effect: @escaping @Sendable () -> Effect<Int>
    ) -> Loop<Int, Int> {
        Loop(
            initial: 0, feedbacks: [Feedback(cancellation: .never) { _, event in event == nil ? effect() : .nothing }],
            executor: executor
        ) { state, event in
            state += event
            return .handled
        }
    }

    @Test func `is one effect, however often it waits`() async {
        let (simulation, record, ticks) = (Simulation(seed: 1), Record<Int>(), Record<Int>())
        let loop = Self.loop(simulation, record) { Self.ticking(ticks) }
        loop.start()
        simulation.run(for: .milliseconds(1_500))
        let remembered = loop.remembered
        simulation.run(for: .seconds(1_000))
        #expect(ticks.values.count == 1_001)
        #expect(loop.counters.effectsStarted == 1)
        #expect(loop.snapshot.feedbacks[0].running == 1)
        #expect(loop.remembered == remembered)
        loop.beginStop()
        simulation.runToEnd()
        #expect(loop.phase == .stopped)
        #expect(loop.remembered == 0)
    }

    @Test func `decides behind the events that were sent before, and its event comes before later ones`() async {
        let (simulation, record) = (Simulation(seed: 1), Record<Int>())
        let loop = Self.loop(simulation, record) {
            .waiting(.delay(.seconds(1))) { Next(event: 100, effect: .just(200)) }
        }
        loop.start()
        simulation.run(for: .milliseconds(500))
        loop.pause()
        loop.send(1)
        simulation.run(for: .seconds(1))
        // The wait is over, and the decision has its place between the two events.
        loop.send(2)
        simulation.run(for: .seconds(1))
        #expect(record.values.isEmpty)
        loop.resume()
        simulation.runToEnd()
        #expect(record.values == [1, 100, 2, 200])
        #expect(loop.remembered == 0)
        loop.cancel()
        simulation.runToEnd()
    }

    @Test(arguments: [true, false])
    func `decides behind the events that later feedbacks send for the same state`(endsWithState: Bool) async {
        let (simulation, record) = (Simulation(seed: 1), Record<Int>())
        let loop = Self.loop(simulation, record, endsWithState ? .onNewState : .never) {
            .waiting(.none) { Next(event: 100) }
        }
        loop.add(Feedback(name: "later", cancellation: .never) { state, _ in state == 0 ? .just(1) : .nothing })
        loop.start()
        simulation.runToEnd()
        #expect(record.values == (endsWithState ? [1] : [1, 100]))
        loop.cancel()
        simulation.runToEnd()
    }

    @Test(arguments: [CancellationRule<Int>.onNewState, .boundToState])
    func `is over when its feedback cancels it, even if its time has come`(rule: CancellationRule<Int>) async {
        let (simulation, record, ticks) = (Simulation(seed: 1), Record<Int>(), Record<Int>())
        let loop = Self.loop(simulation, record, rule) { Self.ticking(ticks) }
        loop.start()
        simulation.run(for: .milliseconds(500))
        loop.pause()
        loop.send(1)
        simulation.run(for: .seconds(1))
        loop.resume()
        simulation.runToEnd()
        #expect(ticks.values.isEmpty && record.values == [1])
        #expect(loop.remembered == 0)
        loop.cancel()
        simulation.runToEnd()
    }

    /// The moment of an interruption.
    enum Moment: CaseIterable, Sendable {
        case before, during, after
    }

    @Test(arguments: Moment.allCases)
    func `is over when its wait is interrupted before it ends`(moment: Moment) async {
        let (simulation, record, ticks) = (Simulation(seed: 1), Record<Int>(), Record<Int>())
        let interruption = Interruption()
        let loop = Self.loop(simulation, record) {
            .waiting(.delay(.seconds(1), interruption)) {
                ticks.add(-1)
                return Next(event: 5)
            }
        }
        if moment == .before { interruption.interrupt() }
        loop.start()
        simulation.run(for: .milliseconds(500))
        if moment == .during { interruption.interrupt() }
        simulation.run(for: .seconds(1))
        if moment == .after { interruption.interrupt() }
        simulation.runToEnd()
        #expect(record.values == (moment == .after ? [5] : []))
        #expect(ticks.values.count == record.values.count)
        #expect(loop.remembered == 0)
        loop.cancel()
        simulation.runToEnd()
    }

    @Test(arguments: [true, false])
    func `goes on after an async function, which a gentle stop ends or not`(endsAtStop: Bool) async {
        let (simulation, record, ticks) = (Simulation(seed: 1), Record<Int>(), Record<Int>())
        let loop = Self.loop(simulation, record) {
            .waiting(
                .task(endsAtStop: endsAtStop) { send in
                    try? await send.clock.sleep(for: .seconds(1))
                    if !Task.isCancelled { ticks.add(1) }
                }
            ) {
                ticks.add(2)
                return Next(event: 7)
            }
        }
        loop.start()
        simulation.run(for: .milliseconds(500))
        let begun = simulation.clock.now
        loop.beginStop()
        simulation.runToEnd()
        #expect(loop.phase == .stopped)
        #expect(begun.duration(to: simulation.clock.now) == (endsAtStop ? .zero : .milliseconds(500)))
        // A loop that stops takes nothing new.
        #expect(ticks.values == (endsAtStop ? [] : [1]))
        #expect(record.values.isEmpty)
        #expect(loop.remembered == 0)
    }

    @Test func `waits by an alarm on the continuous clock, which an interruption ends`() async {
        weak var released: Interruption?
        let loop: Loop<Int, Int>
        do {
            let interruption = Interruption()
            released = interruption
            loop = Self.alarmed { [weak interruption] in
                .waiting(.delay(.seconds(3_600), interruption)) { Next(event: 5) }
            }
            loop.start()
            #expect(loop.snapshot.feedbacks[0].running == 1)
            interruption.interrupt()
            #expect(loop.snapshot.feedbacks[0].running == 0)
            #expect(loop.remembered == 0)
        }
        #expect(released == nil)
        #expect(loop.state == 0)
        await loop.stop()
    }

    @Test(arguments: [0, 20, 100])
    func `is over in any race of its alarm with an interruption`(microseconds: Int64) async {
        for _ in 0..<100 {
            let interruption = Interruption()
            let loop = Self.alarmed(executor: .sharedPool) {
                .waiting(.delay(.microseconds(microseconds), interruption)) { Next(event: 5) }
            }
            loop.start()
            await settled(loop)
            interruption.interrupt()
            // The end of a loop waits for its effects.
            await loop.stop()
            #expect(loop.state == 0 || loop.state == 5)
            #expect(loop.remembered == 0)
        }
    }

    @Test func `is released outside of the lock, if its loop ends before it goes on`() async {
        let executor = Later()
        let known = Record<Loop<Int, Int>>()
        let looks = Counter()
        let loop = Self.alarmed(executor: executor) {
            let witness = Witness {
                _ = known.values.first?.state
                looks.add(1)
            }
            return .waiting(.none) {
                withExtendedLifetime(witness) {}
                return Next()
            }
        }
        known.add(loop)
        loop.start()
        // The first activation shows the initial state, the second one begins the wait. The decision is for the third one.
        for index in 0..<2 { executor.kept.values[index]() }
        #expect(loop.snapshot.feedbacks[0].running == 1)
        loop.cancel()
        #expect(looks.value == 1)
        for activation in executor.kept.values.dropFirst(2) { activation() }
        await loop.stopped()
    }

    @Test func `does not keep its loop alive`() async {
        weak var released: Witness?
        let interruption = Interruption()
        do {
            let witness = Witness {}
            released = witness
            let loop = Self.alarmed {
                .waiting(.delay(.seconds(3_600), interruption)) {
                    withExtendedLifetime(witness) {}
                    return Next()
                }
            }
            loop.start()
            #expect(loop.snapshot.feedbacks[0].running == 1)
        }
        #expect(released == nil)
        interruption.interrupt()
    }

    /// Calls a function when it is released.
    private final class Witness: Sendable {
        let look: @Sendable () -> Void

        init(_ look: @escaping @Sendable () -> Void) { self.look = look }

        deinit { look() }
    }
}
