import Dispatch
import FeedbackKit
import FeedbackKitTesting
import Testing
import TestSupport

/// Large states, slow reducers and uncooperative effects.
@Suite(.timeLimit(.minutes(20))) struct `Loops under strain` {
    init() { Traveller.departIfWanted() }

    private struct Large: Sendable {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
    }

    @Test func `states and events of a megabyte are shared, not copied, and released`() async {
        await #expect(processExitsWith: .success) {
            let loop = Loop<Large, Large>(
                initial: Large(), feedbacks: [.sink { _, _ in }], executor: .sendersThread
            ) { state, event in
                state = event
                return .handled
            }
            loop.start()
            let before = Memory.anonymous
            for number in 0..<2000 {
                var large = Large()
                large.bytes[0] = UInt8(number % 256)
                loop.send(large)
            }
            precondition(loop.state.bytes[0] == UInt8(1999 % 256))
            // Two thousand copies would take two million kilobytes.
            let growth = Memory.anonymous - before
            precondition(growth < 64 * 1024, "grew by \(growth) KiB")
            await loop.stop()
        }
    }

    @Test func `a million events wait, in order, and leave nothing behind`() async {
        let loop = Loop<Int, Int>(initial: 0) { state, event in
            if event == state + 1 { state = event }  // else the last state is not the last event
            return .handled
        }
        for event in 1...1_000_000 { loop.send(event) }
        #expect(loop.snapshot.waiting == 1_000_000)
        loop.start()
        await settled(loop)
        #expect(loop.state == 1_000_000)
        #expect(loop.snapshot.waiting == 0)
        await loop.stop()
    }

    @Test func `while a reducer works, senders and readers are not held up, and the end waits for it`() async {
        let (entered, mayGoOn) = (Gate(), ThreadSemaphore())
        let loop = Loop<Int, Int>(initial: 0, executor: .task(QueueExecutor("slow"))) { state, event in
            if event == 1 {
                entered.open()
                mayGoOn.wait()
            }
            state = event
            return .handled
        }
        loop.start()
        loop.send(1)
        await entered.opened()
        for event in 2...1000 { #expect(loop.send(event) == .accepted) }
        #expect(loop.state == 0)
        #expect(loop.snapshot.waiting == 999)
        loop.cancel()
        #expect(loop.phase == .cancelling)
        #expect(loop.send(2) == .dropped(.stopped))
        mayGoOn.signal()
        await loop.stopped()
        // The event in the reducer was finished; the waiting ones were not taken.
        #expect(loop.state == 1)
        #expect(loop.counters.refused == 1000)
    }

    @Test func `an effect that ignores its cancellation delays the end, and its events are withdrawn`() async {
        let (began, mayEnd, results) = (Gate(), Gate(), Record<SendResult>())
        let clock = ManualClock()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .onNewState) { (state: Int, _: Int?) in
                    guard state == 0 else { return .nothing }
                    return Effect.run { send in
                        began.open()
                        await mayEnd.opened()
                        results.add(send(10))
                    }
                }
            ],
            clock: clock
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        await began.opened()
        loop.send(1)
        await settled(loop)
        #expect(loop.snapshot.feedbacks[0].running == 1)
        let stopping = Task { await loop.stop(within: .seconds(1)) }
        await clock.nextDeadline(in: .seconds(1))
        clock.advance(by: .seconds(1))
        await suspend(while: loop.phase != .cancelling)
        mayEnd.open()
        await stopping.value
        #expect(loop.phase == .stopped)
        #expect(loop.state == 1)
        #expect(results.values == [.dropped(.stopped)])
    }

    @Test func `each of ten thousand states ends the effect of the one before, and leaves none behind`() async {
        let ended = Counter()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .onNewState) { (_: Int, _: Int?) in
                    Effect.subscribe { _, _ in Subscription { ended.add(1) } }
                }
            ],
            executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        for _ in 0..<10_000 { loop.send(1) }
        #expect(ended.value == 10_000)
        #expect(loop.snapshot.feedbacks[0].running == 1)
        loop.cancel()
        await loop.stopped()
    }
}
