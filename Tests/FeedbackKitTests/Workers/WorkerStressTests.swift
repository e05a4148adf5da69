import FeedbackKit
import Synchronization
import TestSupport
import Testing

/// An event with its sender and its number.
private struct Item: Sendable, Hashable {
    let sender: Int
    let number: Int
    /// The loop that passes it on, or that takes it.
    let loop: Int
}

/// The items that a loop has taken, and whether the items of each sender came in their order.
private struct Intake: Sendable {
    var last: [Int: Int] = [:]
    var count = 0
    var isOrdered = true
    var latest: Item?

    mutating func take(_ item: Item, from source: Int) {
        count += 1
        latest = item
        if item.number <= last[source, default: -1] { isOrdered = false }
        last[source] = item.number
    }
}

@Suite(.timeLimit(.minutes(20))) struct `Loops on a pool of workers` {
    private static let senders = 8
    private static let relays = 6
    private static let sinks = 3

    /// Each relay publishes its items on a mediator, and all sinks receive them. Another task pauses the relays, asks them
    /// questions and exchanges their feedbacks at the same time.
    @Test(arguments: [1, 2, 4])
    func `lose, double and reorder nothing while they are paused, asked and exchanged`(workers: Int) async {
        let items = repetitions(2_000 * soakFactor)
        let pool = WorkerPool(workers: workers)
        let executor = OnWorkerPool(pool, eventsPerTurn: 16)
        let bus = PassthroughMediator<Item>()
        let relays = (0..<Self.relays).map { index in
            Loop<Intake, Item>(
                initial: Intake(),
                feedbacks: [.sink(name: "to bus") { intake, _ in if let item = intake.latest { bus.send(item) } }],
                executor: executor, mailboxLimit: index % 2 == 0 ? .max : 1_000_000
            ) { intake, item in
                intake.take(item, from: item.sender)
                return .handled
            }
        }
        let sinks = (0..<Self.sinks).map { _ in
            Loop<Intake, Item>(initial: Intake(), executor: executor) { intake, item in
                intake.take(item, from: item.sender * Self.relays + item.loop)
                return .handled
            }
        }
        let narrow = Loop<Int, Item>(initial: 0, executor: executor, mailboxLimit: 8, overflow: .dropOldest) {
            state, _ in
            state += 1
            return .handled
        }
        let subscriptions = sinks.map { sink in bus.subscribe { sink.send($0) } }
        for loop in sinks + relays { loop.start() }
        narrow.start()
        let isSending = Atomic(true)
        let steering = Task.detached {
            var rounds = 0
            while isSending.load(ordering: .acquiring) || rounds < 50 {
                let relay = relays[rounds % Self.relays]
                _ = relay.pause()
                relay.exchange(
                    { state in
                        LoopExchange(
                            state: state,
                            parts: [
                                .kept(
                                    slot: 0,
                                    by: .sink(name: "to bus") { intake, _ in
                                        if let item = intake.latest { bus.send(item) }
                                    })
                            ], limit: .max, overflow: .dropNewest
                        ) { _ in }
                    }, ended: {})
                // A paused loop answers, too.
                await relay.quiet()
                _ = relay.resume()
                rounds += 1
            }
        }
        await onThreads(Self.senders) { sender in
            for number in 0..<items {
                let index = (sender + number) % Self.relays
                relays[index].send(Item(sender: sender, number: number, loop: index))
                narrow.send(Item(sender: sender, number: number, loop: index))
            }
        }
        isSending.store(false, ordering: .releasing)
        await steering.value
        for loop in relays { await loop.quiet() }
        // The bus may still deliver values.
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in bus.visit { _ in done.resume() } }
        for loop in sinks { await loop.quiet() }
        await narrow.quiet()
        let total = Self.senders * items
        #expect(relays.map(\.state.count).reduce(0, +) == total)
        #expect(sinks.map(\.state.count) == Array(repeating: total, count: Self.sinks))
        #expect((relays + sinks).filter { !$0.state.isOrdered }.isEmpty)
        #expect(narrow.state + Int(narrow.counters.droppedByLimit) == total)
        for subscription in subscriptions { subscription.cancel() }
        for loop in relays + sinks { loop.cancel() }
        narrow.cancel()
        pool.close()
    }
}

extension Loop {
    /// Returns when all that was sent before has been taken.
    fileprivate func quiet() async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in afterPending { done.resume() } }
    }
}
