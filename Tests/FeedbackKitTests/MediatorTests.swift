import FeedbackKit
import Synchronization
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(20))) struct `Mediators` {
    init() { Traveller.departIfWanted() }

    @Test func `3 deliver to subscribers in the order in which they subscribed`() {
        let mediator = PassthroughMediator<Int>()
        let order = Record<String>()
        let subscriptions = (0..<50).map { index in mediator.subscribe { order.add("\(index):\($0)") } }
        mediator.send(1)
        mediator.send(2)
        #expect(order.values == [1, 2].flatMap { value in (0..<50).map { "\($0):\(value)" } })
        withExtendedLifetime(subscriptions) {}
    }

    @Test func `3 a value sent from within a delivery comes after it, for everybody`() {
        let mediator = PassthroughMediator<Int>()
        let seen = [Record<Int>(), Record<Int>()]
        let first = mediator.subscribe { value in
            if value < 1_000 { mediator.send(value + 1) }
            seen[0].add(value)
        }
        let second = mediator.subscribe { seen[1].add($0) }
        mediator.send(0)
        #expect(seen[0].values == Array(0...1_000))
        #expect(seen[1].values == Array(0...1_000))
        withExtendedLifetime([first, second]) {}
    }

    @Test func `a passthrough mediator has nothing for those who come late`() {
        let mediator = PassthroughMediator<Int>()
        let seen = Record<Int>()
        mediator.send(1)
        let subscription = mediator.subscribe { seen.add($0) }
        mediator.send(2)
        subscription.cancel()
        mediator.send(3)
        #expect(seen.values == [2])
        #expect(mediator.snapshot == MediatorSnapshot(subscribers: 0, waiting: 0, sent: 3, dropped: 0))
    }

    @Test func `a current value mediator gives its value first`() {
        let mediator = CurrentValueMediator(1)
        let seen = Record<Int>()
        #expect(mediator.value == 1)
        mediator.send(2)
        let subscription = mediator.subscribe { seen.add($0) }
        mediator.value = 3
        #expect(seen.values == [2, 3])
        #expect(mediator.value == 3)
        withExtendedLifetime(subscription) {}
    }

    @Test func `who subscribes while values are being delivered misses none and gets none twice`() {
        let mediator = CurrentValueMediator(0)
        let inner = Record<Int>()
        let held = Mutex<[Subscription]>([])
        let outer = mediator.subscribe { value in
            if value == 1 {
                mediator.send(2)
                let subscription = mediator.subscribe { inner.add($0) }
                held.withLock { $0.append(subscription) }
                mediator.send(3)
            }
        }
        mediator.send(1)
        #expect(inner.values == [2, 3])
        withExtendedLifetime(outer) {}
    }

    @Test func `who leaves during a delivery gets nothing more`() {
        let mediator = PassthroughMediator<Int>()
        let seen = Record<Int>()
        let held = Mutex<Subscription?>(nil)
        let first = mediator.subscribe { _ in held.withLock { $0 }?.cancel() }
        let second = mediator.subscribe { seen.add($0) }
        held.withLock { $0 = second }
        mediator.send(1)
        #expect(seen.values.isEmpty)
        withExtendedLifetime(first) {}
    }

    @Test func `leaving may release another subscription of the same mediator`() {
        let mediator = PassthroughMediator<Int>()
        var inner: Subscription? = mediator.subscribe { _ in }
        let outer = mediator.subscribe { [inner] _ in withExtendedLifetime(inner) {} }
        inner = nil
        outer.cancel()
        #expect(mediator.snapshot.subscribers == 0)
    }

    @Test func `many senders at once: every subscriber sees one and the same order`() async {
        let mediator = PassthroughMediator<Int>()
        let seen = [Record<Int>(), Record<Int>()]
        let subscriptions = seen.map { record in mediator.subscribe { record.add($0) } }
        let send: @Sendable (Int) -> Void = { sender in
            for number in 0..<2_000 { mediator.send(sender * 10_000 + number) }
        }
        // Threads outside of tasks count as one sender, so one of the senders is a task.
        async let own: Void = send(0)
        await onThreads(7) { send($0 + 1) }
        await own
        // The last sender may have left its values to a delivery that still runs on another thread.
        await suspend(while: mediator.snapshot.waiting > 0 || seen[1].values.count < 16_000)
        #expect(seen[0].values == seen[1].values)
        for sender in 0..<8 {
            let own = seen[0].values.filter { $0 / 10_000 == sender }
            #expect(own == (0..<2_000).map { sender * 10_000 + $0 })
        }
        withExtendedLifetime(subscriptions) {}
    }

    @Test func `many senders at once while others come and go: everybody sees a part of one order without a gap`() async
    {
        let mediator = CurrentValueMediator(-1)
        let all = Record<Int>()
        let watching = mediator.subscribe { all.add($0) }
        let stayed = Mutex<[(record: Record<Int>, subscription: Subscription)]>([])
        let left = Mutex<[Record<Int>]>([])
        let send: @Sendable (Int) -> Void = { sender in
            for number in 0..<2_000 { mediator.send(sender * 10_000 + number) }
        }
        async let own: Void = send(0)
        await onThreads(5) { part in
            guard part < 3 else {
                for number in 0..<200 {
                    let record = Record<Int>()
                    let subscription = mediator.subscribe { record.add($0) }
                    if number.isMultiple(of: 2) {
                        subscription.cancel()
                        left.withLock { $0.append(record) }
                    } else {
                        stayed.withLock { $0.append((record, subscription)) }
                    }
                }
                return
            }
            send(part + 1)
        }
        await own
        await suspend(while: mediator.snapshot.waiting > 0 || all.values.count < 8_001)
        let order = all.values
        #expect(order.count == 8_001 && Set(order).count == 8_001)
        #expect(mediator.snapshot.sent == 8_000 && mediator.snapshot.dropped == 0)
        let last = order.last
        for (record, _) in stayed.withLock(\.self) {
            // The last value may still be on its way to the last subscriber.
            await suspend(while: record.values.last != last)
            #expect(record.values == Array(order.suffix(record.values.count)))
        }
        for record in left.withLock(\.self) {
            let seen = record.values
            guard let first = seen.first.flatMap(order.firstIndex(of:)) else { continue }
            #expect(seen == Array(order[first..<min(first + seen.count, order.count)]))
        }
        #expect(mediator.snapshot.subscribers == 201)
        withExtendedLifetime(watching) {}
    }

    @Test func `who subscribes within the last delivery there is gets the next value`() {
        let mediator = PassthroughMediator<Int>()
        let seen = Record<Int>()
        let held = Mutex<Subscription?>(nil)
        let first = mediator.subscribe { value in
            guard value == 1 else { return }
            let subscription = mediator.subscribe { seen.add($0) }
            held.withLock { $0 = subscription }
        }
        mediator.send(1)
        #expect(seen.values.isEmpty)
        #expect(mediator.snapshot == MediatorSnapshot(subscribers: 2, waiting: 0, sent: 1, dropped: 0))
        mediator.send(2)
        #expect(seen.values == [2])
        withExtendedLifetime(first) {}
    }

    @Test func `who subscribes and leaves within a delivery leaves the mediator as it was`() {
        let mediator = CurrentValueMediator(0)
        let (outer, inner) = (Record<Int>(), Record<Int>())
        let subscription = mediator.subscribe { value in
            outer.add(value)
            if value == 1 { mediator.subscribe { inner.add($0) }.cancel() }
        }
        for value in 1...3 { mediator.send(value) }
        #expect(outer.values == [0, 1, 2, 3] && inner.values.isEmpty)
        #expect(mediator.snapshot == MediatorSnapshot(subscribers: 1, waiting: 0, sent: 3, dropped: 0))
        withExtendedLifetime(subscription) {}
    }

    @Test(arguments: [(Overflow.dropOldest, [0, 3, 4]), (.dropNewest, [0, 1, 2])])
    func `a bounded mediator that remembers drops by its policy, and remembers what was sent last`(
        overflow: Overflow, expected: [Int]
    ) {
        let mediator = CurrentValueMediator(-1, limit: 2, overflow: overflow)
        let seen = Record<Int>()
        let subscription = mediator.subscribe { value in
            seen.add(value)
            if value == 0 { for next in 1...4 { mediator.send(next) } }
        }
        mediator.send(0)
        #expect(seen.values == [-1] + expected)
        #expect(mediator.snapshot.dropped == 2 && mediator.value == expected.last)
        withExtendedLifetime(subscription) {}
    }

    @Test(arguments: [(Overflow.dropOldest, [0, 3, 4]), (.dropNewest, [0, 1, 2])])
    func `a bounded mediator drops by its policy and counts it`(overflow: Overflow, expected: [Int]) {
        let mediator = PassthroughMediator<Int>(limit: 2, overflow: overflow)
        let seen = Record<Int>()
        let subscription = mediator.subscribe { value in
            seen.add(value)
            if value == 0 { for next in 1...4 { mediator.send(next) } }
        }
        mediator.send(0)
        #expect(seen.values == expected)
        #expect(mediator.snapshot.dropped == 2)
        withExtendedLifetime(subscription) {}
    }

    @Test func `the values as a sequence`() async {
        let mediator = CurrentValueMediator("a")
        var iterator = mediator.values().makeAsyncIterator()
        mediator.send("b")
        #expect(await iterator.next() == "a")
        #expect(await iterator.next() == "b")
    }
}
