import FeedbackKit
import Foundation
import Synchronization
import TestSupport
import Testing
import TestSupport

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
        // An event from outside may come between those of the initial state.
        await settled(loop)
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
    private static func teller() -> (loop: Loop<Int, Int>, hasTaken: ThreadSemaphore) {
        let hasTaken = ThreadSemaphore()
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
                answers.add(hasTaken.wait(seconds: 60))
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
                            answers.add(hasTaken.wait(seconds: 60))
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
                    answers.add(hasTaken.wait(seconds: 60))
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
}
