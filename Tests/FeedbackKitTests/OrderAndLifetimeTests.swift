import FeedbackKit
import Foundation
import Synchronization
import Testing

private final class Log<T: Sendable>: Sendable {
    let values = Mutex<[T]>([])
    func add(_ value: T) { values.withLock { $0.append(value) } }
    var all: [T] { values.withLock { $0 } }
}

private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }
    func set() { value.store(true, ordering: .sequentiallyConsistent) }
}

private final class Number: Sendable {
    private let number = Atomic<Int>(0)
    var value: Int {
        get { number.load(ordering: .sequentiallyConsistent) }
        set { number.store(newValue, ordering: .sequentiallyConsistent) }
    }
}

private func eventually(_ limit: Duration = .seconds(3), _ holds: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if holds() { return true }
        await Task.yield()
    }
    return holds()
}

/// The ways of an effect to last until it is cancelled.
private func untilCancelled() async {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    for await _ in stream {}
    withExtendedLifetime(continuation) {}
}

@Suite(.serialized) struct OrderAndLifetimeTests {
    @Test func `a loop that feeds itself takes events of others`() async {
        // The state is (ticks, whether the outside event was taken).
        let loop = Loop<[Int], Int>(
            initial: [0, 0],
            feedbacks: [Feedback(name: "tick", answer: { state, _ in state[1] == 0 ? 1 : nil })]
        ) { state, event in
            if event == 1 { state[0] += 1 } else { state[1] = 1 }
            return .handled
        }
        loop.start()
        #expect(await eventually { loop.state[0] > 100 })
        #expect(loop.send(2) == .accepted)
        let at = loop.state[0]
        let taken = await eventually { loop.state[1] == 1 }
        #expect(taken, "not taken after \(loop.state[0] - at) later events")
        loop.cancel()
        await loop.stopped()
    }

    @Test(arguments: [false, true]) func `the events of a source come before the answers of feedbacks`(pool: Bool) async
    {
        let log = Log<Int>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                .source(name: "s") { send in
                    send(1)
                    return Subscription {}
                },
                Feedback(name: "answer", cancellation: .never, answer: { state, event in event == nil ? 2 : nil }),
            ],
            executor: pool ? SharedPool() as any LoopExecutor : SendersThread()
        ) { state, event in
            log.add(event)
            state = event
            return .handled
        }
        loop.start()
        #expect(await eventually { log.all.count == 2 })
        #expect(log.all == [1, 2])
        loop.cancel()
    }

    @Test func `events sent within an activation come before those of later feedbacks`() async {
        // A reader reads the state all the time, so the lock is sometimes taken.
        let wrong = Number()
        let last = Number()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(name: "subscribe", cancellation: .never) { (state: Int, event: Int?) -> Effect<Int> in
                    guard event == nil || event! == 0 else { return .nothing }
                    return .subscribe { send, finish in
                        send(1)
                        finish()
                        return Subscription {}
                    }
                },
                Feedback(
                    name: "answer", cancellation: .never, answer: { _, event in event == nil || event! == 0 ? 2 : nil }),
            ]
        ) { state, event in
            if event == 2, last.value != 1 { wrong.value += 1 }
            last.value = event
            state += 1
            return .handled
        }
        loop.start()
        let isOver = Flag()
        // Runs on a thread of its own, because the pool's threads must not block.
        Thread.detachNewThread { while !isOver.isSet { _ = loop.counters } }
        for _ in 0..<20_000 where wrong.value == 0 {
            loop.send(0)
            await settled(loop)
        }
        isOver.set()
        let count = wrong.value
        #expect(count == 0)
        loop.cancel()
    }

    /// A loop on the pool that reports each taken event. Waiting for such a report blocks a thread, so the waiting test
    /// runs on a queue of its own. If all blocking tests were on the pool, it might have no thread left.
    private static func teller() -> (loop: Loop<Int, Int>, hasTaken: DispatchSemaphore) {
        let hasTaken = DispatchSemaphore(value: 0)
        let loop = Loop<Int, Int>(initial: 0) { state, event in
            state = event
            hasTaken.signal()
            return .handled
        }
        loop.start()
        return (loop, hasTaken)
    }

    @Test func `a slow reducer holds up its own loop only`() async {
        let (b, hasTaken) = Self.teller()
        let isSlow = Gate()
        let answers = Log<Bool>()
        let a = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                .sink { state, _ in
                    guard state == 1 else { return }
                    // A task that an activation started and that sends later.
                    Task {
                        await isSlow.opened()
                        b.send(7)
                    }
                }
            ],
            executor: .task(QueueExecutor("slow"))
        ) { state, event in
            if event == 2 {
                isSlow.open()
                answers.add(hasTaken.wait(timeout: .now() + 60) == .success)
            }
            state = event
            return .handled
        }
        a.start()
        a.send(1)
        a.send(2)
        await a.stop(within: .seconds(60))
        #expect(answers.all == [true], "b turned only when a's reducer was done")
        await b.stop()
    }

    @Test func `a quick function that sends and works on holds up nobody`() async {
        let (b, hasTaken) = Self.teller()
        let answers = Log<Bool>()
        let a = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback<Int, Int>(name: "work", cancellation: .never) { (_: Int, event: Int?) -> Effect<Int> in
                    event != 1
                        ? .nothing
                        : .call {
                            b.send(1)
                            answers.add(hasTaken.wait(timeout: .now() + 60) == .success)
                            return nil
                        }
                }.execute(on: .task(QueueExecutor("call")))
            ]
        ) { state, event in
            state = event; return .handled
        }
        a.start()
        a.send(1)
        await settled(a)
        await a.stop(within: .seconds(60))
        #expect(answers.all == [true], "b turned only when the call was done")
        await b.stop()
    }

    @Test func `an activation may wait for another loop`() async {
        let (b, hasTaken) = Self.teller()
        let answers = Log<Bool>()
        let a = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                .sink { state, _ in
                    guard state == 1 else { return }
                    b.send(7)
                    answers.add(hasTaken.wait(timeout: .now() + 60) == .success)
                }
            ],
            executor: .task(QueueExecutor("waits"))
        ) { state, event in
            state = event; return .handled
        }
        a.start()
        a.send(1)
        await a.stop(within: .seconds(60))
        #expect(answers.all == [true])
        await b.stop()
    }

    @Test func `one event takes the place of one, though others wait`() async {
        let loop = Loop<Int, Int>(initial: 0, mailboxLimit: 2, overflow: .dropOldest) { state, event in
            state = event; return .handled
        }
        loop.send(1)
        loop.send(2)
        let tasks = (3...6).map { number in Task { await loop.sendWhenRoom(number) } }
        #expect(await eventually { loop.snapshot.waiting == 6 })
        loop.send(7)
        #expect(loop.counters.droppedByLimit == 1)
        #expect(loop.snapshot.waiting == 6)
        loop.cancel()
        for task in tasks { #expect(await task.value == .dropped(.stopped)) }
    }

    /// Replaces and ends effects from several threads; every event that they sent is accounted for.
    @Test(arguments: [false, true]) func `every event of an effect is taken, withdrawn or refused`(isNamed: Bool) async
    {
        for _ in 0..<30 {
            let accepted = Counter()
            let loop = Loop<Int, Int>(
                initial: 0,
                feedbacks: [
                    Feedback(name: "f", cancellation: isNamed ? .never : .onNewState) { state, _ in
                        guard state < 300 else { return .nothing }
                        let work = Effect<Int>.run { send in
                            await withTaskGroup(of: Void.self) { group in
                                for _ in 0..<4 {
                                    group.addTask {
                                        for _ in 0..<10 where send(1) == .accepted {
                                            accepted.add(1)
                                        }
                                    }
                                }
                            }
                        }
                        return isNamed ? work.id("x") : work
                    }
                ]
            ) { state, event in
                state += event; return .handled
            }
            loop.start()
            #expect(await eventually(.seconds(10)) { loop.state >= 300 })
            #expect(await eventually(.seconds(5)) { loop.snapshot.feedbacks[0].running == 0 })
            await loop.stop()
            let counters = loop.counters
            let count = UInt64(accepted.value)
            #expect(counters.events <= count && count <= counters.events + counters.withdrawn)
            #expect(loop.remembered == 0)
        }
    }

    @Test(arguments: [false, true]) func `a time limit emits even if a part replaced the running effect`(replaces: Bool)
        async
    {
        let log = Log<Int>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(name: "f", cancellation: .never) { (_: Int, event: Int?) -> Effect<Int> in
                    guard event == 1 else { return .nothing }
                    let work = Effect<Int>.run { _ in await untilCancelled() }
                    return Effect.all([.nothing, replaces ? work.replacingPrevious() : work])
                        .timeout(after: .milliseconds(50), 9)
                }
            ]
        ) { state, event in
            log.add(event); state = event; return .handled
        }
        loop.start()
        loop.send(1)
        let isTold = await eventually { log.all == [1, 9] }
        #expect(isTold, "\(log.all) \(loop.snapshot)")
        loop.cancel()
        await loop.stopped()
    }

    @Test func `a cancellation with a name takes the place of that name`() async {
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(name: "f", cancellation: .never) { (_: Int, event: Int?) -> Effect<Int> in
                    switch event {
                    case 1: Effect<Int>.run { _ in await untilCancelled() }.id("b")
                    case 2: Effect<Int>.cancel(id: "a").id("b")
                    default: .nothing
                    }
                }
            ]
        ) { state, event in
            state = event; return .handled
        }
        loop.start()
        loop.send(1)
        #expect(await eventually { loop.snapshot.feedbacks[0].running == 1 })
        loop.send(2)
        #expect(await eventually(.seconds(1)) { loop.snapshot.feedbacks[0].running == 0 })
        loop.cancel()
        await loop.stopped()
    }

    /// The name of a compound effect that is used within the effects of requests.
    @Test(arguments: [false, true]) func `a request's effect keeps the name of the whole`(byRequests: Bool) async {
        let work = Effect<Int>.run { _ in await untilCancelled() }
        let whole = Effect<Int>.all([work, work]).id("whole")
        let feedback: Feedback<Int, Int> =
            byRequests
            ? .react(
                requests: { (state: Int) -> Set<Int> in state == 1 ? [1] : [] },
                effects: { (_: Int) -> Effect<Int> in whole })
            : .react(
                request: { (state: Int) -> Int? in state == 1 ? 1 : nil }, effects: { (_: Int) -> Effect<Int> in whole }
            )
        let loop = Loop<Int, Int>(initial: 0, feedbacks: [feedback]) { state, event in
            state = event; return .handled
        }
        loop.start()
        loop.send(1)
        await settled(loop)
        #expect(loop.counters.effectsStarted > 0)
        loop.cancelEffect(EffectID("whole"))
        #expect(await eventually(.seconds(1)) { loop.snapshot.feedbacks[0].running == 0 })
        loop.cancel()
        await loop.stopped()
    }

    @Test func `a request's effect ends at a stop`() async {
        let work = Effect<Int>.run { _ in await untilCancelled() }
        let feedback: Feedback<Int, Int> = .react(
            requests: { (state: Int) -> Set<Int> in state == 1 ? [1] : [] },
            effects: { (_: Int) -> Effect<Int> in Effect<Int>.all([work, work]).untilStop() })
        let loop = Loop<Int, Int>(initial: 0, feedbacks: [feedback]) { state, event in
            state = event; return .handled
        }
        loop.start()
        loop.send(1)
        await settled(loop)
        #expect(loop.counters.effectsStarted > 0)
        let begin = ContinuousClock.now
        await loop.stop(within: .seconds(2))
        #expect(ContinuousClock.now - begin < .seconds(1))
    }

    /// Releases a loop on its own executor: in the reducer, in a feedback, in a watcher, while others send.
    @Test(arguments: [0, 1, 2], [false, true]) func `a loop may be released within its own activation`(
        place: Int, pool: Bool
    )
        async
    {
        for _ in 0..<100 {
            let holder = Holder()
            let send = Self.make(holder, place, pool)
            let core = WeakLoop(holder.loop.withLock { $0 }!)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { for n in 0..<20 { _ = send(n) } } }
            }
            #expect(await eventually { holder.loop.withLock { $0 == nil } })
            #expect(await eventually { place == 2 || core.isGone })
        }
    }

    private final class Holder: Sendable {
        let loop = Mutex<Loop<Int, Int>?>(nil)
        func drop() { let old = loop.withLock { $0.take() }; withExtendedLifetime(old) {} }
    }

    private final class WeakLoop: Sendable {
        private let ask: @Sendable () -> Bool
        var isGone: Bool { ask() }
        init(_ loop: Loop<Int, Int>) { ask = { [weak loop] in loop == nil } }
    }

    private static func make(_ holder: Holder, _ place: Int, _ pool: Bool) -> @Sendable (Int) -> Bool {
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                .sink { state, _ in if place == 1, state > 3 { holder.drop() } },
                Feedback(name: "w", cancellation: .never) { (_: Int, _: Int?) -> Effect<Int> in
                    Effect<Int>.run { _ in await untilCancelled() }.id("x")
                        .timeout(after: .seconds(30), 0).debounce(id: "d", for: .milliseconds(1))
                },
            ], executor: pool ? SharedPool() as any LoopExecutor : SendersThread()
        ) { state, _ in
            if place == 0, state > 3 { holder.drop() }
            state += 1
            return .handled
        }
        if place == 2 {
            let watch = loop.watch({ state in if state > 3 { holder.drop() } })
            watches.withLock { $0 = watch }
        }
        holder.loop.withLock { $0 = loop }
        loop.start()
        return { n in
            guard let loop = holder.loop.withLock({ $0 }) else { return false }
            return loop.send(n) == .accepted
        }
    }
    private static let watches = Mutex<Subscription?>(nil)
}
