import Dispatch
import Glibc
import FeedbackKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Mediators` {
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

    @Test func `many senders at once: every subscriber sees one and the same order`() {
        let mediator = PassthroughMediator<Int>()
        let seen = [Record<Int>(), Record<Int>()]
        let subscriptions = seen.map { record in mediator.subscribe { record.add($0) } }
        DispatchQueue.concurrentPerform(iterations: 8) { sender in
            for number in 0..<2_000 { mediator.send(sender * 10_000 + number) }
        }
        // The last sender may have left its values to a delivery that is still under way on another thread.
        while mediator.snapshot.waiting > 0 || seen[1].values.count < 16_000 { sched_yield() }
        #expect(seen[0].values == seen[1].values)
        for sender in 0..<8 {
            let own = seen[0].values.filter { $0 / 10_000 == sender }
            #expect(own == (0..<2_000).map { sender * 10_000 + $0 })
        }
        withExtendedLifetime(subscriptions) {}
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
