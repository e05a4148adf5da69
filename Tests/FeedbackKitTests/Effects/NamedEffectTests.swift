import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

/// Effects with names: replace, keep, cancel, debounce, throttle, timeout.
@Suite(.timeLimit(.minutes(20))) struct `Named effects` {
    /// Returns a loop whose state counts events, and which answers each event with an effect.
    private func loop(
        clock: ManualClock, executor: any LoopExecutor = .sendersThread, seen: Record<String>,
        _ effect: @escaping @Sendable (String) -> Effect<String>
    ) -> Loop<Int, String> {
        Loop(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { _, event in event.map(effect) ?? .nothing }
            ],
            executor: executor,
            clock: clock
        ) { state, event in
            seen.add(event)
            state += 1
            return .handled
        }
    }

    private func wait(_ name: String, _ seconds: Int) -> Effect<String> {
        .run { send in
            guard (try? await send.clock.sleep(for: .seconds(seconds))) != nil else { return }
            send(name)
        }
    }

    @Test func `a new one replaces the one that runs`() async {
        let (clock, seen) = (ManualClock(), Record<String>())
        let loop = loop(clock: clock, seen: seen) { event in
            event.hasPrefix("start") ? self.wait("end of \(event)", 10).id("work") : .nothing
        }
        loop.start()
        loop.send("start 1")
        await clock.nextDeadline(in: .seconds(10))
        loop.send("start 2")
        await suspend(while: loop.snapshot.feedbacks[0].running > 1)
        await clock.nextDeadline(in: .seconds(10))
        clock.advance(by: .seconds(10))
        for await _ in loop.states() where seen.values.contains("end of start 2") { break }
        #expect(seen.values == ["start 1", "start 2", "end of start 2"])
        #expect(loop.counters.effectsCancelled == 1)
        await loop.stop()
    }

    @Test func `one that does not replace is not started while the other runs`() async {
        let (clock, seen) = (ManualClock(), Record<String>())
        let loop = loop(clock: clock, seen: seen) { event in
            event.hasPrefix("start") ? self.wait("end of \(event)", 10).id("work", replacing: false) : .nothing
        }
        loop.start()
        loop.send("start 1")
        loop.send("start 2")
        #expect(loop.counters.effectsStarted == 1)
        await clock.nextDeadline(in: .seconds(10))
        clock.advance(by: .seconds(10))
        for await _ in loop.states() where seen.values.contains("end of start 1") { break }
        #expect(seen.values == ["start 1", "start 2", "end of start 1"])
        await suspend(while: loop.snapshot.feedbacks[0].running > 0)
        loop.send("start 3")
        #expect(loop.counters.effectsStarted == 2)
        await loop.stop(within: .zero)
    }

    @Test func `cancelling by name withdraws emitted events that were not taken`() {
        let seen = Record<String>()
        let loop = loop(clock: ManualClock(), seen: seen) { event in
            switch event {
            case "start":
                .all([.just(["a", "b"]).id("work"), .just("c"), .cancel(id: "work"), .cancel(id: "nothing")])
            default: .nothing
            }
        }
        loop.start()
        loop.send("start")
        #expect(seen.values == ["start", "c"])
        #expect(loop.counters.withdrawn == 2)
        loop.cancelEffect(EffectID("work"))
        #expect(loop.snapshot.feedbacks[0].running == 0)
    }

    @Test func `names of different types are different names`() {
        #expect(EffectID(1) == EffectID(1))
        #expect(EffectID(1) != EffectID("1"))
        #expect(Set([EffectID("a"), EffectID("a"), EffectID("b")]).count == 2)
    }

    @Test func `debounce lets only the last of a flurry through`() async {
        let (clock, seen) = (ManualClock(), Record<String>())
        let loop = loop(clock: clock, seen: seen) { event in
            event.hasPrefix("key") ? Effect.just("search \(event)").debounce(id: "search", for: .seconds(1)) : .nothing
        }
        loop.start()
        for number in 1...3 {
            loop.send("key \(number)")
            // The earlier wait has ended and the new one has begun.
            await clock.nextDeadline(in: .seconds(1))
            clock.advance(by: .milliseconds(500))
        }
        clock.advance(by: .milliseconds(500))
        for await _ in loop.states() where seen.values.count == 4 { break }
        #expect(seen.values == ["key 1", "key 2", "key 3", "search key 3"])
        await loop.stop()
    }

    @Test func `throttle lets the first through and drops the rest of the interval`() async {
        let (clock, seen) = (ManualClock(), Record<String>())
        let loop = loop(clock: clock, seen: seen) { event in
            event.hasPrefix("go") ? Effect.just("done \(event)").throttle(id: "go", for: .seconds(1)) : .nothing
        }
        loop.start()
        loop.send("go 1")
        for await _ in loop.states() where seen.values.contains("done go 1") { break }
        await suspend(while: loop.snapshot.feedbacks[0].running > 0)
        loop.send("go 2")
        // No task sleeps through the interval.
        #expect(clock.nextDeadline == nil && loop.snapshot.feedbacks[0].running == 0)
        clock.advance(by: .milliseconds(999))
        loop.send("go 2")
        clock.advance(by: .milliseconds(1))
        loop.send("go 3")
        for await _ in loop.states() where seen.values.contains("done go 3") { break }
        #expect(seen.values == ["go 1", "done go 1", "go 2", "go 2", "go 3", "done go 3"])
        await loop.stop(within: .zero)
    }

    @Test(arguments: [(5, "answer"), (20, "too late")])
    func `a timeout cancels a slow effect`(seconds: Int, expected: String) async {
        let (clock, seen) = (ManualClock(), Record<String>())
        let executor = SettlingPool()
        let loop = loop(clock: clock, executor: executor, seen: seen) { event in
            event == "ask" ? self.wait("answer", seconds).timeout(after: .seconds(10), "too late") : .nothing
        }
        loop.start()
        loop.send("ask")
        // Both the effect and its limit wait.
        await executor.settled()
        #expect(clock.nextDeadline?.offset == .seconds(min(seconds, 10)))
        clock.advance(by: .seconds(min(seconds, 10)))
        await executor.settled()
        #expect(seen.values == ["ask", expected])
        #expect(loop.snapshot.feedbacks[0].running == 0)
        #expect(clock.nextDeadline == nil)
        await loop.stop()
    }
}
