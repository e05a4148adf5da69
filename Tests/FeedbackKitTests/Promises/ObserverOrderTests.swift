import Dispatch
import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing
import TestSupport

/// Checks the order of an observer's calls: one start before everything and one end after everything. For each effect,
/// a start, at most one cancellation, and an end follow in this order.
final class Grammar<State: Sendable, Event: Sendable>: LoopObserver {
    private enum Phase { case started, cancelled, ended }
    private struct Known {
        var complaints: [String] = []
        var hasBegun = false
        var isOver = false
        var effects: [RunID: Phase] = [:]
    }
    private let known = Mutex(Known())

    var complaints: [String] { known.withLock { $0.complaints } }
    var hasBegun: Bool { known.withLock { $0.hasBegun } }
    var isOver: Bool { known.withLock { $0.isOver } }

    private func expect(_ what: String, _ check: (inout Known) -> Bool) {
        known.withLock { known in
            if !check(&known) { known.complaints.append(what) }
        }
    }

    func loopDidStart(with state: State) {
        expect("begins once") { known in
            defer { known.hasBegun = true }
            return !known.hasBegun && !known.isOver
        }
    }
    func loopDidStartEffect(_ run: RunID, of feedback: String) {
        expect("\(run) starts in the course of the loop, once") { known in
            known.hasBegun && !known.isOver && known.effects.updateValue(.started, forKey: run) == nil
        }
    }
    func loopDidCancelEffect(_ run: RunID, of feedback: String) {
        expect("\(run) is cancelled once, while it runs") { known in
            !known.isOver && known.effects.updateValue(.cancelled, forKey: run) == .started
        }
    }
    func loopDidEndEffect(_ run: RunID, of feedback: String) {
        expect("\(run) ends once") { known in
            let before = known.effects.updateValue(.ended, forKey: run)
            return !known.isOver && (before == .started || before == .cancelled)
        }
    }
    func loopDidFault(_ fault: LoopFault) {
        expect("fails before the end") { !$0.isOver }
    }
    func loopDidTransition(from old: State, to new: State, on event: Event) {
        expect("turns in the course of the loop") { $0.hasBegun && !$0.isOver }
    }
    func loopDidStop(with state: State) {
        expect("ends once, when all effects have") { known in
            defer { known.isOver = true }
            return known.hasBegun && !known.isOver && known.effects.values.allSatisfy { $0 == .ended }
        }
    }
}

/// An observer receives its calls in order, from whatever thread.
@Suite(.timeLimit(.minutes(20))) struct `What an observer is told` {
    init() { Traveller.departIfWanted() }

    @Test func `when stopped returns, the observer knows`() async {
        final class Slow: LoopObserver {
            typealias State = Int
            typealias Event = Int
            let (entered, may, knows) = (Gate(), ThreadSemaphore(), Counter())
            func loopDidStop(with state: Int) {
                entered.open()
                may.wait()
                knows.add(1)
            }
        }
        let observer = Slow()
        let loop = Loop<Int, Int>(initial: 0, executor: .sendersThread, observer: observer) { _, _ in .handled }
        loop.start()
        DispatchQueue(label: "stopper").async { loop.cancel() }
        await observer.entered.opened()
        #expect(loop.phase == .stopped)
        async let known: Int = {
            await loop.stopped()
            return observer.knows.value
        }()
        // Gives a wrong answer time to arrive.
        for _ in 0..<100 { await Task.yield() }
        observer.may.signal()
        #expect(await known == 1)
    }

    @Test func `the end of an effect is reported before the end of the loop`() async {
        final class Watching: LoopObserver {
            typealias State = Int
            typealias Event = Int
            let (log, entered, may) = (Record<String>(), Gate(), ThreadSemaphore())
            func loopDidEndEffect(_ run: RunID, of feedback: String) {
                if run.rawValue == 1 {
                    entered.open()
                    may.wait()
                }
                log.add("end \(run.rawValue)")
            }
            func loopDidStop(with state: Int) { log.add("stop") }
        }
        let observer = Watching()
        let finishes = Record<@Sendable () -> Void>()
        let effect: @Sendable (Int, Int?) -> Effect<Int> = { _, _ in
            .subscribe { _, finish in
                finishes.add(finish)
                return Subscription {}
            }
        }
        let loop = Loop<Int, Int>(
            initial: 0, feedbacks: [Feedback(effect: effect), Feedback(effect: effect)], executor: .sendersThread,
            observer: observer
        ) { _, _ in .handled }
        loop.start()
        loop.beginStop()
        let queue = DispatchQueue(label: "other")
        queue.async { finishes.values[0]() }
        await observer.entered.opened()
        finishes.values[1]()
        observer.may.signal()
        await loop.stopped()
        #expect(observer.log.values == ["end 2", "end 1", "stop"])
    }

    @Test func `a loop that is cancelled before it turned has neither a beginning nor an end`() {
        let (later, observer, finished) = (Later(), Grammar<Int, Int>(), Counter())
        let loop = Loop<Int, Int>(initial: 0, executor: later, observer: observer) { _, _ in .handled }
        let watching = loop.watch({ _ in }, finish: { finished.add(1) })
        loop.start()
        loop.cancel()
        for turn in later.kept.values { turn() }
        #expect(loop.phase == .stopped)
        #expect(finished.value == 1)
        #expect(observer.complaints == [] && !observer.isOver)
        watching.cancel()
    }

    @Test func `events of a disabled source are counted and reported`() async {
        final class Watching: LoopObserver {
            typealias State = Int
            typealias Event = Int
            let dropped = Record<DropReason>()
            func loopDidDrop(_ event: Int, because reason: DropReason) { dropped.add(reason) }
        }
        let (observer, results) = (Watching(), Record<SendResult>())
        let source = Feedback<Int, Int>.source { send in
            results.add(send(1))
            let task = Task { results.add(await send.whenRoom(2)) }
            return Subscription { task.cancel() }
        }
        let loop = Loop<Int, Int>(
            initial: 0, feedbacks: [source.disable { true }], executor: .sendersThread, observer: observer
        ) { _, _ in .handled }
        loop.start()
        await suspend(while: results.values.count < 2)
        #expect(results.values == [.dropped(.disabled), .dropped(.disabled)])
        #expect(observer.dropped.values == [.disabled, .disabled])
        #expect(loop.counters.refused == 2)
        loop.cancel()
    }

    /// Effects that end by themselves, by new states, by name from other threads, and with the loop, all at once.
    @Test(arguments: 0..<(60 * soakFactor)) func `an order at any interleaving`(round: Int) async {
        let observer = Grammar<Int, Int>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(name: "states") { _, _ in .run { _ in await Task.yield() } },
                Feedback(name: "names", cancellation: .never) { state, _ in
                    Effect.run { _ in await Task.yield() }.id(state % 3)
                },
                Feedback(name: "wholes", cancellation: .never) { state, _ in
                    Effect.all([.run { _ in await Task.yield() }, .just(-1)]).timeout(after: .milliseconds(1), -2)
                },
                Feedback(name: "failing", cancellation: .never) { state, _ in
                    state == 200 && round % 2 == 0 ? .attempt { _ in throw CancellationError() } : .nothing
                },
            ], observer: observer
        ) { state, event in
            guard event > 0 else { return .stay }
            state = event
            return .handled
        }
        loop.start()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 1...300 {
                    loop.send(number)
                    if number % 10 == 0 { await Task.yield() }
                }
            }
            group.addTask {
                for number in 0..<300 {
                    loop.cancelEffect(EffectID(number % 3))
                    if number % 10 == 0 { await Task.yield() }
                }
            }
        }
        if round % 3 == 0 { loop.cancel() } else { await loop.stop() }
        await loop.stopped()
        #expect(observer.complaints == [])
        // A loop that is cancelled before its first activation reports neither start nor end.
        #expect(observer.isOver == observer.hasBegun)
        #expect(observer.hasBegun || round % 3 == 0)
        #expect(loop.remembered == 0)
    }
}
