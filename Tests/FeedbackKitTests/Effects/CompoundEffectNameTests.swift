import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing

extension `Effects made of others` {
    // MARK: Names

    @Test(arguments: ["inner", "outer"]) func `an effect with two names is cancelled under either`(name: String) {
        let simulation = Simulation(seed: 11, namesLoops: false)
        let loop = loop(simulation) { _, event in
            switch event {
            case nil: self.slow("done", 10).id("inner").id("outer")
            case "cancel": .cancel(id: name)
            default: .nothing
            }
        }
        loop.start()
        simulation.runUntilIdle()
        loop.send("cancel")
        simulation.run(for: .seconds(20))
        #expect(loop.state == ["cancel"])
        expectQuiet(loop, simulation)
    }

    @Test func `the same name within itself is one name`() {
        let simulation = Simulation(seed: 12, namesLoops: false)
        let loop = loop(simulation) { _, event in
            switch event {
            case "go":
                Effect.all([
                    .cancel(id: "x"), self.slow("a", 10).id("x"), self.slow("b", 10).id("x", replacing: false),
                ]).id("x").debounce(id: "x", for: .seconds(1))
            case "cancel": .cancel(id: "x")
            default: .nothing
            }
        }
        loop.start()
        loop.send("go")
        simulation.run(for: .seconds(12))
        #expect(loop.state == ["go", "a", "b"] || loop.state == ["go", "b", "a"])
        loop.send("go")
        simulation.run(for: .seconds(5))
        loop.send("cancel")
        simulation.run(for: .seconds(20))
        #expect(loop.state.count == 5)
        expectQuiet(loop, simulation)
    }

    @Test func `names are released, hashed and compared while the loop is open`() {
        final class Nosy: Hashable, Sendable {
            let look: @Sendable () -> Void
            init(_ look: @escaping @Sendable () -> Void) { self.look = look }
            deinit { look() }
            static func == (left: Nosy, right: Nosy) -> Bool {
                left.look()
                return true
            }
            func hash(into hasher: inout Hasher) { look() }
        }
        let looks = Counter()
        let holder = Mutex<Loop<Int, Int>?>(nil)
        let name: @Sendable () -> Nosy = {
            Nosy {
                _ = holder.withLock { $0 }?.state
                looks.add(1)
            }
        }
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { (state: Int, _: Int?) in
                    switch state {
                    case 1: Effect.subscribe { _, _ in Subscription {} }.id(name())
                    // Replaces the effect, which has ended before its event is taken.
                    case 2: Effect.just(3).id(name())
                    case 4: Effect.subscribe { _, _ in Subscription {} }.throttle(id: name(), for: .seconds(1))
                    default: .nothing
                    }
                }
            ], executor: .sendersThread
        ) { state, event in
            state = event
            return .handled
        }
        holder.withLock { $0 = loop }
        loop.start()
        for event in [1, 2, 4] { loop.send(event) }
        loop.cancelEffect(EffectID(name()))
        #expect(loop.state == 4)
        #expect(looks.value > 6)
        #expect(loop.remembered == 0)
        loop.cancel()
        holder.withLock { $0 = nil }
    }

    // MARK: Replacement

    @Test func `an effect replaced in the state in which it started is withdrawn`() {
        let kept = Record<Send<String>>()
        let simulation = Simulation(seed: 13, namesLoops: false)
        let loop = loop(simulation) { state, _ in
            guard state.isEmpty else { return .nothing }
            return .all([
                .subscribe { send, _ in
                    kept.add(send)
                    return Subscription {}
                },
                Effect.subscribe { _, _ in Subscription {} }.replacingPrevious(),
            ])
        }
        loop.start()
        simulation.runUntilIdle()
        #expect(loop.counters.effectsCancelled == 1)
        #expect(kept.values.first?("late") == .dropped(.cancelled))
        loop.cancel()
        simulation.runToEnd()
    }

    @Test func `a part that replaces its feedback's effects does not replace the whole around it`() {
        let simulation = Simulation(seed: 14, namesLoops: false)
        let loop = loop(simulation) { _, event in
            switch event {
            case nil: self.slow("old", 10)
            case "go":
                Effect.all([self.slow("sibling", 1), self.slow("new", 1).replacingPrevious(), self.slow("next", 2)])
                    .timeout(after: .seconds(5), "late")
            default: .nothing
            }
        }
        loop.start()
        simulation.run(for: .seconds(1))
        loop.send("go")
        simulation.run(for: .seconds(30))
        #expect(loop.state == ["go", "new", "next"])
        expectQuiet(loop, simulation)
    }
}
