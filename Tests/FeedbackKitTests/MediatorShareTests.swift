import FeedbackKit
import Synchronization
import TestSupport
import Testing

/// The task of the caller.
private var presentTask: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }

@Suite(.timeLimit(.minutes(20))) struct `What a sender delivers for others` {
    /// Each value makes another task send the next one during its delivery. Without a bound, the first sender would
    /// deliver all of them.
    @Test(arguments: [false, true])
    func `is bounded, and the rest is delivered all the same, in one order`(remembers: Bool) async {
        let last = 2_000
        let mediator: any Mediator<Int> = remembers ? CurrentValueMediator(-1) : PassthroughMediator()
        let others = QueueExecutor("others")
        let seen = [Record<Int>(), Record<Int>()]
        let deliverers = Record<Int>()
        let (ends, end) = AsyncStream<Void>.makeStream()
        let first = mediator.subscribe { value in
            seen[0].add(value)
            if value >= 0 { deliverers.add(presentTask) }
            guard 0..<last ~= value else { return }
            // During this delivery the other task only queues. It has a queue of its own, so the delivery may wait for it on
            // a thread of the pool.
            let sent = ThreadSemaphore()
            Task(executorPreference: others) {
                mediator.send(value + 1)
                sent.signal()
            }
            guard sent.waitHoldingPoolThread(seconds: 60) else { return }
        }
        let second = mediator.subscribe { value in
            seen[1].add(value)
            if value == last { end.finish() }
        }
        mediator.send(0)
        for await _ in ends {}
        let own = deliverers.values.filter { $0 == presentTask }.count
        #expect(own <= 257, "the first sender delivered \(own) values")
        #expect(seen[0].values == Array((remembers ? -1 : 0)...last))
        #expect(seen[1].values == seen[0].values)
        withExtendedLifetime([first, second]) {}
    }

    /// A sender delivers everything that its value causes: all of it is done when `send` returns.
    @Test func `does not count what it has set off itself`() {
        let mediator = PassthroughMediator<Int>()
        let deliverers = Record<Int>()
        let subscription = mediator.subscribe { value in
            deliverers.add(presentTask)
            if value < 10_000 { mediator.send(value + 1) }
        }
        mediator.send(0)
        #expect(deliverers.values == Array(repeating: presentTask, count: 10_001))
        withExtendedLifetime(subscription) {}
    }

    @Test func `is neither lost nor doubled nor put into another order, with many at once`() async {
        let (senders, count) = (4, 5_000)
        let mediator = CurrentValueMediator(-1)
        let seen = [Record<Int>(), Record<Int>()]
        let (ends, end) = AsyncStream<Void>.makeStream()
        let last = Mutex<Subscription?>(nil)
        let late = Mutex<[(record: Record<Int>, subscription: Subscription)]>([])
        let first = mediator.subscribe { value in
            seen[0].add(value)
            guard value >= 0, value.isMultiple(of: 500) else { return }
            let record = Record<Int>()
            let subscription = mediator.subscribe { record.add($0) }
            late.withLock { $0.append((record, subscription)) }
        }
        let second = mediator.subscribe { value in
            seen[1].add(value)
            guard value == senders * count else { return }
            // A subscriber that joins now receives the value after all others.
            let subscription = mediator.subscribe { _ in end.finish() }
            last.withLock { $0 = subscription }
        }
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask { for number in 0..<count { mediator.send(sender * count + number) } }
            }
        }
        // The last value, for late subscribers.
        mediator.send(senders * count)
        for await _ in ends {}
        #expect(seen[0].values == seen[1].values)
        for sender in 0..<senders {
            let own = Array(sender * count..<(sender + 1) * count)
            #expect(seen[0].values.filter { own[0]..<own[0] + count ~= $0 } == own)
        }
        for (record, _) in late.withLock({ $0 }) {
            #expect(record.values == Array(seen[0].values.suffix(record.values.count)))
        }
        #expect(mediator.snapshot.dropped == 0 && mediator.snapshot.waiting == 0)
        withExtendedLifetime([first, second]) {}
    }
}
