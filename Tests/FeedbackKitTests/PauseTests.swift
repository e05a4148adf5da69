import FeedbackKit
import FeedbackKitTesting
import Testing
import TestSupport

/// A paused loop takes no event and loses none.
@Suite struct `A loop that is paused` {
    init() { Traveller.departIfWanted() }

    private static func loop(
        _ record: Record<Int>, executor: any LoopExecutor = .sendersThread, limit: Int = .max,
        overflow: Overflow = .dropNewest, feedbacks: [Feedback<Int, Int>] = []
    ) -> Loop<Int, Int> {
        Loop(initial: 0, feedbacks: feedbacks, executor: executor, mailboxLimit: limit, overflow: overflow) {
            state, event in
            record.add(event)
            state = event
            return .handled
        }
    }

    @Test func `takes nothing until it is resumed, and then all in order`() async {
        let record = Record<Int>()
        let loop = Self.loop(record)
        #expect(!loop.pause(), "it does not run")
        loop.start()
        loop.send(1)
        #expect(loop.pause() && loop.isPaused)
        #expect(!loop.pause(), "it is paused already")
        for event in 2...5 { #expect(loop.send(event) == .accepted) }
        #expect(record.values == [1] && loop.state == 1 && loop.snapshot.waiting == 4)
        #expect(loop.resume() && !loop.isPaused)
        #expect(record.values == [1, 2, 3, 4, 5] && loop.snapshot.waiting == 0)
        #expect(!loop.resume(), "it is not paused")
        await loop.stop()
    }

    @Test func `begins so, shows its first state, and takes what waited for its start when it is resumed`() async {
        let (record, shown) = (Record<Int>(), Record<Int>())
        let loop = Self.loop(record)
        let watch = loop.watch { shown.add($0) }
        loop.send(1)
        #expect(loop.startPaused() && loop.isPaused && !loop.start())
        loop.send(2)
        #expect(record.values.isEmpty && shown.values == [0])
        #expect(loop.resume())
        #expect(record.values == [1, 2] && shown.values == [0, 1, 2])
        watch.cancel()
        await loop.stop()
    }

    @Test func `shows who looks the present state, and calls back`() async {
        let record = Record<Int>()
        let loop = Self.loop(record)
        loop.start()
        loop.send(1)
        loop.pause()
        loop.send(2)
        let seen = Record<Int>()
        let watch = loop.watch { seen.add($0) }
        loop.afterPending { seen.add(-1) }
        #expect(seen.values == [1, -1])
        loop.send(3)
        loop.resume()
        #expect(seen.values == [1, -1, 2, 3])
        watch.cancel()
        await loop.stop()
    }

    @Test(arguments: [
        (Overflow.dropNewest, [2, 3]), (.dropOldest, [3, 4]), (.keepLatest, [4]), (.block, [2, 3]),
    ])
    func `keeps to the limit of its mailbox`(overflow: Overflow, expected: [Int]) async {
        let record = Record<Int>()
        let loop = Self.loop(record, limit: 2, overflow: overflow)
        loop.start()
        loop.pause()
        for event in 2...4 { loop.send(event) }
        #expect(loop.snapshot.waiting <= 2)
        #expect(loop.counters.droppedByLimit == UInt64(3 - expected.count))
        loop.resume()
        #expect(record.values == expected)
        await loop.stop()
    }

    @Test func `an event that goes before the others still does`() async {
        let record = Record<Int>()
        let loop = Self.loop(record)
        loop.start()
        loop.pause()
        loop.send(1)
        loop.sendFirst(2)
        loop.afterPending {}
        loop.sendFirst(3)
        #expect(record.values.isEmpty)
        loop.resume()
        #expect(record.values == [3, 2, 1])
        await loop.stop()
    }

    @Test func `what a side effect reports waits, and is withdrawn if its state is left`() async {
        let record = Record<Int>()
        let gate = Gate()
        let sent = Gate()
        let loop = Self.loop(
            record,
            feedbacks: [
                Feedback(name: "work", cancellation: .onNewState) { state, _ in
                    guard state == 1 else { return .nothing }
                    return .run { send in
                        await gate.opened()
                        send(7)
                        sent.open()
                        // This effect continues until it is cancelled.
                        try? await ContinuousClock().sleep(for: .seconds(3_600))
                    }
                }
            ])
        loop.start()
        loop.send(1)
        loop.pause()
        loop.send(2)
        gate.open()
        await sent.opened()
        #expect(record.values == [1] && loop.snapshot.waiting == 2)
        loop.resume()
        #expect(record.values == [1, 2])
        #expect(loop.counters.withdrawn == 1)
        await loop.stop()
    }

    @Test(arguments: [false, true])
    func `ends when it is stopped, without taking what waits`(isHard: Bool) async {
        let record = Record<Int>()
        let loop = Self.loop(record)
        loop.start()
        loop.pause()
        loop.send(1)
        let called = Record<Int>()
        loop.send(2)
        if isHard { loop.cancel() } else { loop.beginStop() }
        await loop.stopped()
        loop.afterPending { called.add(1) }
        #expect(record.values.isEmpty && called.values == [1])
        #expect(loop.counters.refused == 2 && loop.snapshot.waiting == 0)
        #expect(!loop.resume() && !loop.pause())
    }

    @Test func `who waits for room is told in the end`() async {
        let record = Record<Int>()
        let loop = Self.loop(record, executor: .sharedPool, limit: 1, overflow: .dropNewest)
        loop.start()
        loop.pause()
        loop.send(1)
        async let result = loop.sendWhenRoom(2)
        await suspend(while: loop.snapshot.waiting < 2)
        loop.resume()
        #expect(await result == .accepted)
        loop.pause()
        loop.send(3)
        async let other = loop.sendWhenRoom(4)
        await suspend(while: loop.snapshot.waiting < 2)
        await loop.stop()
        #expect(await other == .dropped(.stopped))
        #expect(record.values == [1, 2])
    }

    @Test func `nothing is lost or turned round when it is paused again and again under load`() async {
        let record = Record<Int>()
        let loop = Self.loop(record, executor: .sharedPool)
        loop.start()
        let senders = 4
        let count = repetitions(5_000)
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask {
                    for number in 0..<count {
                        loop.send(sender * count + number)
                        if number % 64 == 0 { await Task.yield() }
                    }
                }
            }
            group.addTask {
                for _ in 0..<500 {
                    loop.pause()
                    await Task.yield()
                    loop.resume()
                    await Task.yield()
                }
            }
        }
        await withCheckedContinuation { continuation in loop.afterPending { continuation.resume() } }
        let values = record.values
        #expect(values.count == senders * count)
        for sender in 0..<senders {
            let own = values.filter { $0 / count == sender }
            #expect(own == own.sorted())
        }
        await loop.stop()
    }
}
