import FeedbackKit
import FeedbackKitTesting
import Testing
import TestSupport

private struct Broken: Error, Equatable { let try_: Int }

/// Subscriptions, combined effects, mapped effects, and effects that fail.
@Suite(.timeLimit(.minutes(20))) struct `Kinds of effects` {
    /// Returns a loop whose state is the last event, and which answers each event with an effect.
    private func loop(
        clock: any Clock<Duration> = ManualClock(), seen: Record<String>,
        observer: (any LoopObserver<String, String>)? = nil,
        cancellation: CancellationRule<String> = .never,
        _ effect: @escaping @Sendable (String) -> Effect<String>
    ) -> Loop<String, String> {
        Loop(
            initial: "",
            feedbacks: [
                Feedback(name: "work", cancellation: cancellation) { (_: String, event: String?) in
                    event.map(effect) ?? .nothing
                }
            ],
            executor: .sendersThread,
            clock: clock,
            observer: observer
        ) { state, event in
            seen.add(event)
            state = event
            return .handled
        }
    }

    // MARK: Subscriptions

    @Test func `a subscription begins on the loop's executor, and its synchronous events are queued in order`() {
        let seen = Record<String>()
        let loop = loop(seen: seen) { event in
            guard event == "go" else { return .nothing }
            return .all([
                .just("before"),
                .subscribe { send, finish in
                    send("one")
                    send("two")
                    finish()
                    return Subscription {}
                },
                .just("after"),
            ])
        }
        loop.start()
        loop.send("go")
        #expect(seen.values == ["go", "before", "one", "two", "after"])
        #expect(loop.snapshot.feedbacks[0].running == 0)
    }

    @Test func `cancelling a subscription ends it at once, and finishing it again does nothing`() {
        let (seen, ended) = (Record<String>(), Record<String>())
        let finishes = Record<@Sendable () -> Void>()
        let loop = loop(seen: seen) { event in
            switch event {
            case "go":
                .subscribe { _, finish in
                    finishes.add(finish)
                    return Subscription { ended.add("ended") }
                }.id("subscription")
            case "cancel": .cancel(id: "subscription")
            default: .nothing
            }
        }
        loop.start()
        loop.send("go")
        #expect(loop.snapshot.feedbacks[0].running == 1)
        loop.send("cancel")
        #expect(ended.values == ["ended"])
        #expect(loop.snapshot.feedbacks[0].running == 0)
        for finish in finishes.values { finish() }
        #expect(loop.counters.effectsCancelled == 1)
    }

    @Test func `a graceful stop waits for a subscription unless it ends with the loop`() async {
        for endsAtStop in [true, false] {
            let (seen, ended) = (Record<String>(), Record<String>())
            let clock = ManualClock()
            let loop = loop(clock: clock, seen: seen) { event in
                let effect = Effect<String>.subscribe { _, _ in Subscription { ended.add("ended") } }
                return event == "go" ? (endsAtStop ? effect.untilStop() : effect) : .nothing
            }
            loop.start()
            loop.send("go")
            loop.beginStop()
            #expect(ended.values == (endsAtStop ? ["ended"] : []))
            loop.cancel()
            await loop.stopped()
            #expect(ended.values == ["ended"])
        }
    }

    @Test func `within another effect a subscription ends with it`() async {
        let (clock, seen, ended) = (ManualClock(), Record<String>(), Gate())
        let loop = loop(clock: clock, seen: seen) { event in
            guard event == "go" else { return .nothing }
            return Effect<String>.subscribe { send, _ in
                send("begun")
                return Subscription { ended.open() }
            }.timeout(after: .seconds(3), "too late")
        }
        loop.start()
        loop.send("go")
        await clock.nextDeadline(in: .seconds(3))
        clock.advance(by: .seconds(3))
        await ended.opened()
        for await state in loop.states() where state == "too late" { break }
        #expect(seen.values.last == "too late")
        await loop.stop(within: .zero)
    }

    // MARK: Combined

    @Test func `an effect that replaces the previous ones cancels them and withdraws their events`() {
        let seen = Record<String>()
        let sends = Record<Send<String>>()
        let loop = loop(seen: seen) { event in
            guard event.hasPrefix("go") else { return .nothing }
            return Effect<String>.subscribe { send, _ in
                sends.add(send)
                return Subscription {}
            }.replacingPrevious()
        }
        loop.start()
        loop.send("go 1")
        loop.send("go 2")
        #expect(sends.values[0]("from 1") == .dropped(.cancelled))
        #expect(sends.values[1]("from 2") == .accepted)
        #expect(seen.values == ["go 1", "go 2", "from 2"])
        #expect(loop.counters.effectsCancelled == 1)
    }

    @Test func `a feedback can cancel its effects without starting any`() {
        let (seen, ended) = (Record<String>(), Record<String>())
        let loop = loop(seen: seen) { event in
            switch event {
            case "go": .subscribe { _, _ in Subscription { ended.add("ended") } }
            case "end": .cancelPrevious
            default: .nothing
            }
        }
        loop.start()
        loop.send("go")
        loop.send("go")
        loop.send("else")
        #expect(ended.values.isEmpty)
        loop.send("end")
        #expect(ended.values == ["ended", "ended"])
        #expect(loop.snapshot.feedbacks[0].running == 0)
    }

    @Test func `a timeout withdraws the effect's events that the loop has not taken`() async {
        let (clock, seen, sends) = (ManualClock(), Record<String>(), Record<Send<String>>())
        let (began, done) = (Gate(), Gate())
        let loops = Record<Loop<String, String>>()
        let loop = Loop<String, String>(
            initial: "",
            feedbacks: [
                Feedback(cancellation: .never) { (_: String, event: String?) in
                    guard event == "go" else { return Effect.nothing }
                    return Effect.run { send in
                        sends.add(send)
                        began.open()
                        try? await send.clock.sleep(for: .seconds(100))
                    }.timeout(after: .seconds(1), "too late")
                }.execute(on: .sharedPool)
            ],
            executor: .serial(SerialQueueExecutor("loop")), clock: clock
        ) { state, event in
            seen.add(event)
            if event == "block" {
                // The effect emits while the loop is active, and then its time limit passes.
                _ = sends.values.first?("result")
                clock.advance(by: .seconds(1))
                blockThread(until: loops.values[0].counters.effectsCancelled > 0)
                _ = sends.values.first?("result of a cancelled effect")
            }
            if event == "too late" { done.open() }
            state = event
            return .handled
        }
        loops.add(loop)
        loop.start()
        loop.send("go")
        await began.opened()
        await clock.nextDeadline(in: .seconds(1))
        loop.send("block")
        await done.opened()
        #expect(seen.values == ["go", "block", "too late"])
        #expect(loop.counters.withdrawn == 2)
        loop.cancel()
        await loop.stopped()
    }

    // MARK: Mapped

    @Test func `every kind of effect can be mapped`() async {
        let clock = ManualClock()
        let seen = Record<String>()
        let effects: [Effect<Int>] = [
            .just(1), .just([2, 3]), .call { 4 }, .task { 5 }, .after(.seconds(1), 6),
            .subscribe { send, finish in
                send(7)
                finish()
                return Subscription {}
            },
            .all([.just(8), .just(9)]), .just(10).id("ten"), .nothing, .cancel(id: "none"),
            .attempt { send in await send.whenRoom(11) },
            Effect<Int>.run { send in try? await send.clock.sleep(for: .seconds(9)) }.timeout(after: .seconds(1), 12),
        ]
        let loop = loop(clock: clock, seen: seen) { event in
            event == "go" ? .all(effects.map { $0.map(String.init) }) : .nothing
        }
        loop.start()
        loop.send("go")
        await clock.nextDeadline(in: .seconds(1))
        clock.advance(by: .seconds(1))
        for await _ in loop.states() where seen.values.count >= 13 { break }
        #expect(seen.values.compactMap(Int.init).sorted() == Array(1...12))
        // The others come from tasks and timers.
        let atOnce = ["go", "1", "2", "3", "4", "7", "8", "9", "10"]
        #expect(seen.values.filter(atOnce.contains) == atOnce)
        await loop.stop(within: .zero)
    }

    // MARK: Failing

    private final class Faults: LoopObserver {
        typealias State = String
        typealias Event = String
        let seen = Record<String>()
        func loopDidFault(_ fault: LoopFault) { seen.add(fault.description) }
        func loopDidStop(with state: String) { seen.add("stopped") }
    }

    @Test func `an error that a rule converts to an event is that event`() async {
        let seen = Record<String>()
        let loop = loop(seen: seen) { event in
            guard event == "go" else { return .nothing }
            return .attempt({ _ in throw Broken(try_: 1) }, recover: { "failed: \(($0 as? Broken)?.try_ ?? 0)" })
        }
        loop.start()
        loop.send("go")
        for await state in loop.states() where state == "failed: 1" { break }
        #expect(loop.fault == nil)
        #expect(loop.counters.faults == 0)
        await loop.stop()
    }

    @Test func `an error without a rule is a fault that ends the loop with a reason`() async {
        let (seen, observer) = (Record<String>(), Faults())
        let loop = loop(seen: seen, observer: observer) { event in
            event == "go" ? .attempt { _ in throw Broken(try_: 7) } : .nothing
        }
        loop.start()
        loop.send("go")
        await loop.stopped()
        #expect(loop.fault?.feedback == "work")
        #expect(loop.fault?.error as? Broken == Broken(try_: 7))
        #expect(loop.counters.faults == 1)
        #expect(observer.seen.values == ["a side effect of 'work' failed: Broken(try_: 7)", "stopped"])
        #expect(loop.send("more") == .dropped(.stopped))
    }

    @Test func `an error of a cancelled effect is no fault`() async {
        let (clock, seen) = (ManualClock(), Record<String>())
        let loop = loop(clock: clock, seen: seen, cancellation: .onNewState) { event in
            event == "go" ? .attempt { send in try await send.clock.sleep(for: .seconds(1)) } : .nothing
        }
        loop.start()
        loop.send("go")
        await clock.nextDeadline(in: .seconds(1))
        loop.send("next")
        await suspend(while: loop.snapshot.feedbacks[0].running > 0)
        #expect(loop.fault == nil)
        await loop.stop()
    }

    @Test func `an effect that fails is tried again after growing pauses, then its error counts`() async {
        let (clock, seen, tries) = (ManualClock(), Record<String>(), Record<Duration>())
        let loop = loop(clock: clock, seen: seen) { event in
            guard event == "go" else { return .nothing }
            return .attempt(
                retry: .exponential(first: .seconds(1), cap: .seconds(3), limit: 3),
                { _ in
                    tries.add(clock.now.offset)
                    throw Broken(try_: tries.values.count)
                },
                recover: { "gave up: \(($0 as? Broken)?.try_ ?? 0)" })
        }
        loop.start()
        loop.send("go")
        for pause in [1, 2, 3] {
            await clock.nextDeadline(in: .seconds(pause))
            clock.advance(by: .seconds(pause))
        }
        for await state in loop.states() where state.hasPrefix("gave up") { break }
        #expect(seen.values == ["go", "gave up: 4"])
        #expect(tries.values == [.zero, .seconds(1), .seconds(3), .seconds(6)])
        await loop.stop()
    }

    @Test func `pauses grow by the factor up to the cap`() {
        let policy = RetryPolicy.exponential(first: .seconds(2), factor: 3, cap: .seconds(60), limit: 5)
        #expect(
            (1...6).map { policy.delay(beforeRetry: $0) } == [2, 6, 18, 54, 60, nil].map { $0.map(Duration.seconds) })
        #expect(RetryPolicy.constant(.seconds(1)).delay(beforeRetry: .max) == .seconds(1))
        #expect(RetryPolicy.exponential(first: .seconds(90)).delay(beforeRetry: 1) == .seconds(60))
        #expect(RetryPolicy.exponential(first: .seconds(1), factor: 1e30).delay(beforeRetry: 9) == .seconds(60))
    }
}

/// A mailbox that makes senders wait.
@Suite(.timeLimit(.minutes(20))) struct `Back-pressure` {
    @Test func `a sender that waits for room returns when its event has been taken, in order`() async {
        let (gate, seen) = (Gate(), Record<Int>())
        let loop = Loop<Int, Int>(initial: 0, mailboxLimit: 2, overflow: .block) { state, event in
            seen.add(event)
            state = event
            return .handled
        }
        loop.send(1)
        loop.send(2)
        #expect(loop.send(3) == .dropped(.mailboxFull))
        let sender = Task {
            for event in 4...9 { #expect(await loop.sendWhenRoom(event) == .accepted) }
            gate.open()
        }
        await suspend(while: loop.snapshot.waiting < 3)
        #expect(loop.snapshot.waiting == 3)
        loop.start()
        await gate.opened()
        await sender.value
        await settled(loop)
        #expect(seen.values == [1, 2, 4, 5, 6, 7, 8, 9])
        #expect(loop.counters.droppedByLimit == 1)
        await loop.stop()
    }

    @Test func `an effect's sequence goes no faster than the loop`() async {
        let most = Record<Int>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { (state: Int, event: Int?) in
                    guard event == nil else { return Effect.nothing }
                    return Effect.sequence(Counting(to: 2000))
                }
            ],
            mailboxLimit: 8, overflow: .block
        ) { state, event in
            if event == state + 1 { state = event }
            return .handled
        }
        let watching = Task { [weak loop] in
            while let loop, loop.state < 2000 {
                most.add(loop.snapshot.waiting)
                await Task.yield()
            }
        }
        loop.start()
        for await state in loop.states(buffering: .bufferingNewest(1)) where state == 2000 { break }
        await watching.value
        #expect(most.values.max() ?? 0 <= 9)
        #expect(loop.counters.droppedByLimit == 0)
        await loop.stop()
    }

    /// Counts from 1.
    private struct Counting: AsyncSequence, Sendable {
        typealias Element = Int
        typealias Failure = Never
        let to: Int
        struct Iterator: AsyncIteratorProtocol {
            var next = 1
            let to: Int
            mutating func next() async -> Int? { await next(isolation: #isolation) }
            mutating func next(isolation: isolated (any Actor)?) async -> Int? {
                defer { next += 1 }
                return next <= to ? next : nil
            }
        }
        func makeAsyncIterator() -> Iterator { Iterator(to: to) }
    }
}
