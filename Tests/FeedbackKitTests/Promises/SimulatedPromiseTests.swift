import FeedbackKit
import FeedbackKitTesting
import Synchronization
import TestSupport
import Testing

/// The same promises in simulations. The seed of a simulation chooses the order of all work.
extension `The promises of the loop` {
    private static let seeds = UInt64(0)..<40

    private struct Watcher: LoopObserver {
        let states = Record<Int>()
        let dropped = Record<Sent>()
        func loopDidTransition(from old: Int, to new: Int, on event: Sent) { states.add(new) }
        func loopDidDrop(_ event: Sent, because reason: DropReason) { dropped.add(event) }
    }

    private struct Sent: Sendable, Hashable {
        let sender: Int
        let number: Int
    }

    /// Returns an effect that sends numbered events, and lets others run in between.
    private func numbers(of sender: Int, _ count: Int) -> Effect<Sent> {
        .run { send in
            for number in 0..<count {
                send(Sent(sender: sender, number: number))
                // In a simulation, this adds the rest of the task to the list from which the seed chooses.
                await Task.yield()
            }
        }
    }

    @Test(arguments: seeds) func `1 and 2 in a simulation all see all states in order, from the first one`(seed: UInt64)
    {
        let simulation = Simulation(seed: seed)
        let seen = (0..<3).map { _ in Record<[Sent]>() }
        var feedbacks = seen.map { record in Feedback<[Sent], Sent>.sink { state, _ in record.add(state) } }
        for sender in 0..<3 {
            feedbacks.append(
                Feedback(cancellation: .never) { _, event in event == nil ? self.numbers(of: sender, 10) : .nothing })
        }
        // One that goes on before the others have seen the beginning.
        feedbacks.insert(
            Feedback(cancellation: .never) { _, event in event == nil ? .just(Sent(sender: 3, number: 0)) : .nothing },
            at: 0)
        let loop = Loop<[Sent], Sent>(
            initial: [], feedbacks: feedbacks, executor: simulation, clock: simulation.clock
        ) { state, event in
            state.append(event)
            return .handled
        }
        loop.start()
        simulation.runToEnd()
        #expect(loop.state.count == 31)
        for sender in 0..<3 {
            #expect(loop.state.filter { $0.sender == sender }.map(\.number) == Array(0..<10))
        }
        let expected = (0...31).map { Array(loop.state.prefix($0)) }
        for record in seen { #expect(record.values == expected) }
    }

    @Test(arguments: seeds) func `3 in a simulation all subscribers see one order, and one that joins sees the rest`(
        seed: UInt64
    ) {
        let simulation = Simulation(seed: seed)
        let mediator = PassthroughMediator<Sent>()
        let seen = (0..<3).map { _ in Record<Sent>() }
        let subscriptions = Mutex(seen.prefix(2).map { record in mediator.subscribe { record.add($0) } })
        let loops = (0..<3).map { sender in
            Loop<Int, Sent>(
                initial: 0,
                feedbacks: [
                    Feedback(cancellation: .never) { _, event in event == nil ? self.numbers(of: sender, 10) : .nothing
                    },
                    .sink { state, event in
                        if let event { mediator.send(event) }
                        guard sender == 0, state == 5 else { return }
                        subscriptions.withLock { $0.append(mediator.subscribe { seen[2].add($0) }) }
                    },
                ], executor: simulation, clock: simulation.clock
            ) { state, _ in
                state += 1
                return .handled
            }
        }
        for loop in loops { loop.start() }
        simulation.runToEnd()
        #expect(seen[0].values.count == 30 && seen[0].values == seen[1].values)
        #expect(seen[2].values.count >= 5 && seen[2].values == Array(seen[0].values.suffix(seen[2].values.count)))
        for subscription in subscriptions.withLock({ $0 }) { subscription.cancel() }
    }

    /// Effects of state n send n, and a number that is taken leads to the next state. Every third state is left by others.
    private func generations(_ simulation: Simulation, _ taken: Record<[Int]>) -> Loop<Int, Int> {
        Loop(
            initial: 0,
            feedbacks: [
                Feedback(name: "effect", cancellation: .boundToState) { (state: Int, _: Int?) -> Effect<Int> in
                    guard state < 30 else { return .nothing }
                    return .run { send in
                        try? await send.clock.sleep(for: .seconds(1))
                        for _ in 0..<3 { send(state) }
                    }
                },
                Feedback(name: "others", cancellation: .never) { (state: Int, _: Int?) -> Effect<Int> in
                    state % 3 == 1 ? .after(.seconds(1), -1) : .nothing
                },
                Feedback(name: "unknown", cancellation: .never) { (state: Int, event: Int?) -> Effect<Int> in
                    event == nil ? .just([-2, -2]) : .nothing
                },
            ], executor: simulation, clock: simulation.clock
        ) { state, event in
            taken.add([state, event])
            if event == -2 {
                state = 99
                return .unhandled
            }
            state += 1
            return .handled
        }
    }

    @Test(arguments: seeds) func `4, 5 and 6 in a simulation only the effect of a state is heard, and a seed is a run`(
        seed: UInt64
    ) {
        func run() -> (taken: [[Int]], loop: LoopCounters, trace: String) {
            let simulation = Simulation(seed: seed)
            let taken = Record<[Int]>()
            let loop = generations(simulation, taken)
            loop.start()
            simulation.runToEnd()
            return (taken.values, loop.counters, "\(simulation.trace)")
        }
        let (taken, counters, trace) = run()
        for pair in taken where pair[1] >= 0 { #expect(pair[0] == pair[1]) }
        // The order of feedbacks decides, whatever the seed.
        #expect(taken.prefix(2) == [[0, -2], [0, -2]])
        #expect(counters.unhandled == 2 && counters.transitions == counters.events - 2)
        #expect(counters.withdrawn > 0)
        let again = run()
        #expect(again.taken == taken && again.loop == counters && again.trace == trace)
    }

    @Test(arguments: seeds, [false, true]) func `7 in a simulation a stop returns when nothing runs any more`(
        seed: UInt64, gentle: Bool
    ) async throws {
        let simulation = Simulation(seed: seed)
        let (running, ended) = (Record<Int>(), Record<Bool>())
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: (0..<3).map { index in
                Feedback(cancellation: .never) { (_: Int, event: Int?) -> Effect<Int> in
                    guard event == nil else { return .after(.seconds(3_600), 1) }
                    return .run { send in
                        running.add(1)
                        try? await send.clock.sleep(for: .seconds(index + 1))
                        ended.add(Task.isCancelled)
                        running.add(-1)
                    }
                }
            }, executor: simulation, clock: simulation.clock
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        loop.send(1)
        simulation.run(for: .milliseconds(500))
        loop.send(1)
        let isQuiet = try await simulation.perform(within: .seconds(60)) {
            await loop.stop(within: gentle ? .seconds(10) : .zero)
            return running.values.reduce(0, +) == 0 && loop.phase == .stopped && loop.send(1) == .dropped(.stopped)
        }
        #expect(isQuiet)
        #expect(ended.values == [!gentle, !gentle, !gentle])
        // A gentle stop takes the waiting events and lets effects finish. It ends the timer.
        #expect(simulation.now.offset == (gentle ? .seconds(3) : .milliseconds(500)))
        #expect(loop.state == (gentle ? 2 : loop.state) && simulation.nextDeadline == nil)
    }

    @Test(arguments: seeds, [Overflow.dropNewest, .dropOldest, .keepLatest])
    func `8 and 9 in a simulation each event is taken or counted, and observed`(seed: UInt64, overflow: Overflow) {
        let simulation = Simulation(seed: seed)
        let observer = Watcher()
        let loop = Loop<Int, Sent>(
            initial: 0,
            feedbacks: (0..<3).map { sender in
                Feedback(cancellation: .never) { _, event in event == nil ? self.numbers(of: sender, 10) : .nothing }
            }, executor: simulation, clock: simulation.clock, mailboxLimit: 2, overflow: overflow,
            observer: observer
        ) { state, _ in
            state += 1
            return .handled
        }
        loop.start()
        simulation.runToEnd()
        let counters = loop.counters
        #expect(counters.events + counters.droppedByLimit == 30)
        #expect(loop.state == Int(counters.events))
        #expect(observer.states.values == Array(1...loop.state))
        #expect(observer.dropped.values.count == Int(counters.droppedByLimit))
        #expect(Set(observer.dropped.values).count == observer.dropped.values.count)
    }
}
