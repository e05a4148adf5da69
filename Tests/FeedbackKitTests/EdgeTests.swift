import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing
import TestSupport

/// Interleavings between two steps of the engine.
@Suite(.timeLimit(.minutes(20))) struct `At the edges` {
    /// Holds a value until it is taken.
    private final class Held<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)
        func put(_ new: Value) { value.withLock { $0 = new } }
        func take() -> Value? { value.withLock { $0.take() } }
    }

    /// Reads the mediator when it is released.
    private final class Nosy: Sendable {
        let number: Int
        private let look: @Sendable () -> Void
        init(_ number: Int, _ look: @escaping @Sendable () -> Void) {
            self.number = number
            self.look = look
        }
        deinit { look() }
    }

    @Test func `a value that looks at its mediator when it is released finds it open`() {
        let looks = Counter()
        let own = Held<Subscription>()
        let passthrough = PassthroughMediator<Nosy>()
        let look: @Sendable () -> Void = { [weak passthrough] in
            _ = passthrough?.snapshot
            looks.add(1)
        }
        let subscription = passthrough.subscribe { [weak passthrough] value in
            guard value.number == 1 else { return }
            passthrough?.send(Nosy(2, look))
            passthrough?.send(Nosy(3, look))
            own.take()?.cancel()
        }
        own.put(subscription)
        passthrough.send(Nosy(1, look))
        #expect(looks.value == 3)

        let current = CurrentValueMediator<Nosy?>(nil)
        for number in 1...3 {
            current.send(
                Nosy(number) { [weak current] in
                    _ = current?.snapshot
                    looks.add(1)
                })
        }
        current.send(nil)
        #expect(looks.value == 6)
    }

    private struct Broken: Error {}

    /// Blocks the loop in the report of a cancellation until the effect has failed.
    private final class Slow: LoopObserver {
        typealias State = Int
        typealias Event = Int
        let isCancelling = Atomic(false)
        let hasThrown = Atomic(false)
        func loopDidCancelEffect(_ run: RunID, of feedback: String) {
            isCancelling.store(true, ordering: .sequentiallyConsistent)
            blockThread(until: hasThrown.load(ordering: .sequentiallyConsistent))
            // The task has not been notified yet; give its error time to arrive.
            for _ in 0..<1000 { _ = hasThrown.load(ordering: .sequentiallyConsistent) }
        }
    }

    @Test func `an error that an effect throws during its cancellation is no fault`() async {
        let observer = Slow()
        let began = Gate()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .onNewState) { (state: Int, _: Int?) in
                    guard state == 0 else { return .nothing }
                    return Effect.attempt { _ in
                        began.open()
                        blockThread(until: observer.isCancelling.load(ordering: .sequentiallyConsistent))
                        defer { observer.hasThrown.store(true, ordering: .sequentiallyConsistent) }
                        throw Broken()
                    }
                }.execute(on: .task(QueueExecutor("effect")))
            ],
            executor: .task(QueueExecutor("loop")), observer: observer
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        await began.opened()
        loop.send(1)
        await settled(loop)
        await suspend(while: loop.snapshot.feedbacks[0].running > 0)
        #expect(loop.fault == nil)
        #expect(loop.phase == .running)
        await loop.stop()
    }

    @Test func `a sender that waits for room learns the outcome of its event`() async {
        for (overflow, expected) in [
            (Overflow.keepLatest, [SendResult.dropped(.mailboxFull), .accepted]),
            (.dropOldest, [.accepted, .accepted]), (.block, [.accepted, .accepted]),
        ] {
            let loop = Loop<[Int], Int>(initial: [], mailboxLimit: 1, overflow: overflow) { state, event in
                state.append(event)
                return .handled
            }
            loop.send(1)
            let first = Task { await loop.sendWhenRoom(2) }
            await suspend(while: loop.snapshot.waiting < 2)
            // Under keepLatest the event replaces all others, under dropOldest event 1, and under block it is dropped.
            loop.send(3)
            let left = overflow == .keepLatest ? 1 : 2
            #expect(loop.snapshot.waiting == left)
            let second = Task { await loop.sendWhenRoom(4) }
            await suspend(while: loop.snapshot.waiting < left + 1)
            loop.start()
            #expect(await [first.value, second.value] == expected)
            await settled(loop)
            #expect(loop.state == [.keepLatest: [3, 4], .dropOldest: [2, 3, 4], .block: [1, 2, 4]][overflow])
            await loop.stop()
        }
    }

    @Test func `a sender that waits when the loop is cancelled learns that its event was dropped`() async {
        let loop = Loop<Int, Int>(initial: 0, mailboxLimit: 1, overflow: .block) { _, _ in .handled }
        loop.send(1)
        let sender = Task { await loop.sendWhenRoom(2) }
        await suspend(while: loop.snapshot.waiting < 2)
        loop.cancel()
        #expect(await sender.value == .dropped(.stopped))
        #expect(loop.counters.refused == 2)
    }

    @Test func `a quick function that was cancelled before it began, or whose loop is gone, is not called`() {
        for release in [true, false] {
            let (later, calls) = (Later(), Counter())
            var loop: Loop<Int, Int>? = Loop(
                initial: 0,
                feedbacks: [
                    Feedback(cancellation: .onNewState) { (state: Int, _: Int?) in
                        guard state == 0 else { return .nothing }
                        return Effect.call {
                            calls.add(1)
                            return nil
                        }
                    }.execute(on: later)
                ],
                executor: .sendersThread
            ) { state, event in
                state += event
                return .handled
            }
            loop?.start()
            #expect(later.kept.values.count == 1)
            if release { loop = nil } else { loop?.send(1) }
            for body in later.kept.values { body() }
            #expect(calls.value == 0)
            #expect(loop?.snapshot.feedbacks[0].running ?? 0 == 0)
        }
    }

    @Test func `several effects under one name are one, and nothing under a name takes its place`() {
        let ended = Record<String>()
        let loop = Loop<String, String>(
            initial: "",
            feedbacks: [
                Feedback(cancellation: .never) { (_: String, event: String?) in
                    switch event {
                    case "go": Effect.subscribe { _, _ in Subscription { ended.add("ended") } }.id("name")
                    case "nothing": Effect.nothing.id("name")
                    default: .nothing
                    }
                }
            ],
            executor: .sendersThread
        ) { state, event in
            state = event
            return .handled
        }
        loop.start()
        loop.send("go")
        loop.send("nothing")
        #expect(ended.values == ["ended"])
    }

    @Test func `a name over several effects cancels them all`() async {
        let (clock, executor) = (ManualClock(), SettlingPool())
        let loop = Loop<String, String>(
            initial: "",
            feedbacks: [
                Feedback(cancellation: .never) { (_: String, event: String?) in
                    switch event {
                    case "go": Effect.all([.after(.seconds(1), "a"), .after(.seconds(2), "b")]).id("name")
                    case "cancel": .cancel(id: "name")
                    default: .nothing
                    }
                }
            ], executor: executor, clock: clock
        ) { state, event in
            state = event
            return .handled
        }
        loop.start()
        loop.send("go")
        await executor.settled()
        #expect(clock.nextDeadline?.offset == .seconds(1))
        loop.send("cancel")
        await executor.settled()
        #expect(clock.nextDeadline == nil && loop.snapshot.feedbacks[0].running == 0)
        #expect(loop.counters.effectsCancelled == 1)
        await loop.stop()
    }

    /// Counts its live instances.
    private final class Living: Sendable {
        let counter: Counter
        init(_ counter: Counter) {
            self.counter = counter
            counter.add(1)
        }
        deinit { counter.add(-1) }
    }

    @Test func `no state is kept for a custom feedback that has returned`() async {
        let living = Counter()
        let loop = Loop<Living, Int>(
            initial: Living(living), feedbacks: [.custom { _, _ in }], executor: .sendersThread
        ) { state, _ in
            state = Living(living)
            return .handled
        }
        loop.start()
        await suspend(while: loop.snapshot.feedbacks[0].running > 0)
        for _ in 0..<1000 { loop.send(1) }
        #expect(living.value == 1)
        loop.cancel()
    }

    private struct Holder: FeedbackKit.State {
        let held: Living
        let number: Int
    }
    private struct Next: FeedbackKit.Event {}

    @Test func `no state is kept for a stream of states that nobody reads any more`() async {
        let living = Counter()
        let system = System {
            InitialState { Holder(held: Living(living), number: 0) }
            Feedbacks {
                Feedback(on: Holder.self, perform: { _ in AsyncStream<any FeedbackKit.Event> { $0.finish() } })
            }
            Transitions {
                From(Holder.self) { state in
                    On(Next.self, transitionTo: Holder(held: Living(living), number: state.number + 1))
                }
            }
        }
        system.execute(on: .sendersThread)
        system.start()
        await suspend(while: system.snapshot.feedbacks[0].running > 0)
        for _ in 0..<1000 { system.send(Next()) }
        #expect((system.state as? Holder)?.number == 1000)
        // The current state, and the one that the system still holds from the last step.
        #expect(living.value <= 3)
        system.cancel()
    }

    @Test func `a snapshot is bounded`() {
        let loop = Loop<[String], Int>(
            initial: Array(repeating: "a long state 🏳️‍🌈", count: 100_000), executor: .sendersThread
        ) { _, _ in .handled }
        let text = loop.snapshot.state
        #expect(text.utf8.count <= LoopSnapshot.stateLimit + 3)
        #expect(text.hasPrefix("[\"a long state 🏳️‍🌈\", ") && text.hasSuffix("…"))
    }

    @Test func `a sender that waits for room within a loop does not keep it alive`() async {
        let (over, began) = (Gate(), Gate())
        let executor = FirstTurnOnly()
        weak var weakLoop: Loop<Int, Int>?
        let results = Record<SendResult>()
        do {
            let loop = Loop<Int, Int>(
                initial: 0,
                feedbacks: [
                    Feedback { _, _ in
                        .run { [hasTurned = executor.hasTurned] send in
                            await hasTurned.opened()
                            send(1)
                            began.open()
                            results.add(await send.whenRoom(2))
                            over.open()
                        }
                    }
                ], executor: executor, mailboxLimit: 1
            ) { _, _ in .handled }
            loop.start()
            weakLoop = loop
            await began.opened()
            await suspend(while: loop.snapshot.waiting < 2)
        }
        await over.opened()
        #expect(results.values == [.dropped(.stopped)])
        await suspend(while: weakLoop != nil)
    }

    /// Runs one activation and never another.
    private final class FirstTurnOnly: LoopExecutor {
        private let turns = Atomic(false)
        /// The end of the activation.
        let hasTurned = Gate()
        var eventsPerTurn: Int { 256 }
        func enqueue(_ turn: @escaping @Sendable () -> Void) {
            guard !turns.exchange(true, ordering: .relaxed) else { return }
            turn()
            hasTurned.open()
        }
    }

    @Test(arguments: [true, false]) func `an event that a feedback sends comes before its answer`(isPool: Bool)
        async
    {
        let holder = Held<Loop<[Int], Int>>()
        let feedback = Feedback<[Int], Int>(
            cancellation: .never,
            answer: { state, _ in
                guard state.count < 50, state.count % 2 == 0 else { return nil }
                let loop = holder.take()
                loop?.send(state.count)
                if let loop { holder.put(loop) }
                return state.count + 1
            })
        let simulation = Simulation(seed: 1)
        let executor: any LoopExecutor = isPool ? SharedPool() : simulation
        let loop = Loop<[Int], Int>(initial: [], feedbacks: [feedback], executor: executor) { state, event in
            state.append(event)
            return .handled
        }
        holder.put(loop)
        loop.start()
        if isPool {
            for await state in loop.states() where state.count >= 50 { break }
        } else {
            simulation.runUntilIdle()
        }
        #expect(loop.state == Array(0..<50))
        _ = holder.take()
        loop.cancel()
    }

    @Test(arguments: ["not started", "sender's thread", "pool"]) func `a released loop releases its contents`(
        kind: String
    ) async {
        let (living, mediator) = (Counter(), PassthroughMediator<Int>())
        do {
            let held = Living(living)
            let wait: @Sendable (Send<Int>) async -> Void = { send in try? await send.clock.sleep(for: .seconds(1000)) }
            let loop = Loop<Int, Int>(
                initial: 0,
                feedbacks: [
                    .source { send in mediator.subscribe { send($0) } },
                    Feedback(cancellation: .never) { _, _ in
                        withExtendedLifetime(held) {}
                        return .all([
                            .run(wait), Effect.run(wait).id("named"), .after(.seconds(1000), 1),
                            .subscribe { _, _ in Subscription { withExtendedLifetime(held) {} } },
                            Effect.run(wait).timeout(after: .seconds(1000), 2).debounce(id: "d", for: .seconds(1000)),
                            Effect.all([.run(wait), .run(wait)]).timeout(after: .seconds(1000), 3),
                            Effect.run(wait).throttle(id: "t", for: .seconds(1000)),
                        ])
                    },
                    .custom { states, _ in for await _ in states {} },
                ], executor: kind == "pool" ? SharedPool() as any LoopExecutor : SendersThread()
            ) { state, event in
                withExtendedLifetime(held) {}
                state += event
                return .handled
            }
            let states = loop.states()
            if kind != "not started" {
                loop.start()
                loop.send(1)
                for await state in states where state == 1 { break }
                await settled(loop)
            }
            withExtendedLifetime(states) {}
        }
        // Tasks end by themselves.
        for _ in 0..<1_000_000 where living.value > 0 { await Task.yield() }
        #expect(living.value == 0)
        #expect(mediator.snapshot.subscribers == 0)
    }
}
