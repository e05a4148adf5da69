import FeedbackKit
import Synchronization
import Testing

/// Real time. No test depends on how late an alarm is.
@Suite(.timeLimit(.minutes(20))) struct `Waits on the continuous clock` {
    private func loop(_ delays: [Duration], executor: any LoopExecutor = .sharedPool) -> Loop<[Int], Int> {
        Loop(
            initial: [],
            feedbacks: delays.indices.map { index in
                Feedback(name: "\(index)", cancellation: .never) { (state: [Int], event: Int?) -> Effect<Int> in
                    event == nil ? .after(delays[index], index) : .nothing
                }
            }, executor: executor
        ) { state, event in
            state.append(event)
            return .handled
        }
    }

    @Test func `are due in the order of their times`() {
        let begin = ContinuousClock.now
        var queue = AlarmQueue<Int>()
        for (element, delay) in [60, 20, 40, 0, 20].enumerated() {
            queue.add(element, at: begin + .milliseconds(delay))
        }
        #expect(queue.next == begin)
        #expect(queue.take(until: begin - .nanoseconds(1)) == [])
        #expect(queue.take(until: begin + .milliseconds(59)) == [3, 1, 4, 2])
        #expect(queue.next == begin + .milliseconds(60))
        #expect(queue.take(until: begin + .milliseconds(60)) == [0])
        #expect(queue.count == 0 && queue.next == nil)
    }

    @Test func `do not end before their times`() async {
        let delays: [Duration] = [.milliseconds(60), .milliseconds(20), .milliseconds(40), .zero]
        let begin = ContinuousClock.now
        let loop = loop(delays)
        let states = loop.states()
        loop.start()
        for await state in states {
            let passed = ContinuousClock.now - begin
            for delay in state { #expect(passed >= delays[delay]) }
            if state.count == delays.count { break }
        }
        await loop.stop()
    }

    @Test func `end with a gentle stop, and emit nothing`() async {
        let loop = loop([.seconds(3600), .seconds(7200)], executor: .sendersThread)
        loop.start()
        await loop.stop(within: .seconds(3600))
        #expect(loop.state == [])
        #expect(loop.counters.effectsStarted == 2)
    }

    @Test func `are set anew many times`() async {
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(name: "wait", cancellation: .onNewState) { (_: Int, _: Int?) -> Effect<Int> in
                    .after(.seconds(3600), -1)
                }
            ], executor: .sendersThread
        ) { state, event in
            state = event
            return .handled
        }
        loop.start()
        for number in 1...10_000 { loop.send(number) }
        #expect(loop.counters.effectsCancelled == 10_000)
        #expect(loop.snapshot.feedbacks.map(\.running) == [1])
        await loop.stop()
    }

    @Test func `that are cancelled leave no entries`() {
        let alarms = Alarms()
        let kept = (0..<100).map { _ in alarms.set(after: .seconds(3600)) {} }
        for _ in 0..<10_000 { alarms.set(after: .seconds(1800)) {}.cancel() }
        #expect(alarms.entries <= 2 * kept.count + 64)
        for alarm in kept { alarm.cancel() }
        #expect(alarms.entries <= 64)
    }

    @Test func `hundreds at about one time all end`() async {
        let count = 300
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: (0..<count).map { number in
                Feedback(name: "\(number)", cancellation: .never) { (state: Int, event: Int?) -> Effect<Int> in
                    event == nil ? .after(.milliseconds(number % 50), 1) : .nothing
                }
            }
        ) { state, event in
            state += event
            return .handled
        }
        let states = loop.states(buffering: .bufferingNewest(1))
        loop.start()
        for await state in states where state == count { break }
        await loop.stop()
        #expect(loop.state == count)
    }
}
