import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing
import TestSupport

extension OrderAndLifetimeTests {
    /// Replaces and ends effects from several threads; every event that they sent is accounted for.
    @Test(.timeLimit(.minutes(20)), arguments: [false, true])
    func `every event of an effect is taken, withdrawn or refused`(isNamed: Bool) async {
        for _ in 0..<repetitions(30) {
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
            for await state in loop.states() where state >= 300 { break }
            await suspend(while: loop.snapshot.feedbacks[0].running > 0)
            #expect(loop.snapshot.feedbacks[0].running == 0)
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
        #expect(await eventually { loop.snapshot.feedbacks[0].running == 0 })
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
        #expect(await eventually { loop.snapshot.feedbacks[0].running == 0 })
        loop.cancel()
        await loop.stopped()
    }

    @Test func `a request's effect ends at a stop`() async {
        let work = Effect<Int>.run { _ in await untilCancelled() }
        let feedback: Feedback<Int, Int> = .react(
            requests: { (state: Int) -> Set<Int> in state == 1 ? [1] : [] },
            effects: { (_: Int) -> Effect<Int> in Effect<Int>.all([work, work]).untilStop() })
        let clock = ManualClock()
        let loop = Loop<Int, Int>(initial: 0, feedbacks: [feedback], clock: clock) { state, event in
            state = event; return .handled
        }
        loop.start()
        loop.send(1)
        await settled(loop)
        #expect(loop.counters.effectsStarted > 0)
        await loop.stop(within: .seconds(2))
        #expect(clock.now.offset == .zero)
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
