import Dispatch
import FeedbackKit
import Synchronization
import TestSupport
import Testing

/// A property whose value travels, and one whose value does not.
private enum Order {
    @TaskLocal static var number = -1
    @TaskLocal static var customer = "nobody"
}

/// A loop whose events, transitions and effects note the number of the order that they belong to and the one that they see.
private final class Shop: Sendable {
    enum Event: Sendable {
        case ordered(Int)
        case packed(Int, by: String)
    }

    /// The wrong numbers that were seen, and where.
    let wrong = Record<String>()
    /// The numbers of the orders of which something has come.
    let packed = Record<Int>()
    let loop: Loop<Int, Event>

    init(on executor: any LoopExecutor, mailboxLimit: Int = .max, then publish: (@Sendable (Int) -> Void)? = nil) {
        let (wrong, packed) = (wrong, packed)
        @Sendable func check(_ number: Int, in place: String) {
            if Order.number != number { wrong.add("\(place): \(Order.number) instead of \(number)") }
        }
        loop = Loop(
            initial: 0,
            feedbacks: [
                Feedback(name: "packing", cancellation: .never) { _, event -> Effect<Event> in
                    guard case .ordered(let number) = event else { return .nothing }
                    check(number, in: "feedback")
                    return .all([
                        .run { send in
                            check(number, in: "task")
                            // The rest may run on another thread.
                            await Task.yield()
                            check(number, in: "task after a suspension")
                            await send.whenRoom(.packed(number, by: "task"))
                        },
                        .call {
                            check(number, in: "call")
                            return .packed(number, by: "call")
                        },
                        .after(.microseconds(10), .packed(number, by: "timer")),
                        Effect.call {
                            check(number, in: "delayed call")
                            return .packed(number, by: "delay")
                        }.debounce(id: number, for: .microseconds(10)),
                        // It ends only because its time is up.
                        Effect.run { _ in await untilCancelled() }
                            .timeout(after: .microseconds(10), .packed(number, by: "limit")),
                    ])
                }
            ],
            executor: executor, mailboxLimit: mailboxLimit, overflow: .block
        ) { state, event in
            state += 1
            switch event {
            case .ordered(let number): check(number, in: "transition")
            case .packed(let number, let packer):
                check(number, in: "transition of what the \(packer) sent")
                packed.add(number)
                publish?(number)
            }
            return .handled
        }
        loop.start()
    }

    /// Sends orders, each in a task of its own that has the number.
    func sell(_ orders: Range<Int>) async {
        await withTaskGroup(of: Void.self) { group in
            for number in orders {
                group.addTask {
                    await Order.$number.withValue(number) { _ = await self.loop.sendWhenRoom(.ordered(number)) }
                }
            }
        }
    }

    /// Returns when the loop has taken a number of events. Each order leads to six.
    func hasTaken(_ events: Int) async {
        for await state in loop.states() where state >= events { return }
    }
}

/// The way in which a loop takes its events.
enum Way: String, CaseIterable, Codable {
    case pool, sendersThread, queue, blockingMailbox
}

// Each test has a process of its own, because a property that travels does so in the whole process. One at a time, because
// they would take the processors from other tests.
@Suite(.serialized, .timeLimit(.minutes(20))) struct `A task-local value that travels with events` {
    @Test(arguments: Way.allCases) func `is that of the sender, all the way`(way: Way) async {
        await #expect(processExitsWith: .success) { [way] in
            Order.$number.travelWithEvents()
            Order.$number.travelWithEvents()
            let queue = SerialQueueExecutor("shop")
            let shop =
                switch way {
                case .pool: Shop(on: .sharedPool)
                case .sendersThread: Shop(on: .sendersThread)
                case .queue: Shop(on: .serial(queue))
                case .blockingMailbox: Shop(on: .sharedPool, mailboxLimit: 2)
                }
            await shop.sell(0..<100)
            // A call has no sender that could wait, so a full mailbox drops the events of both calls.
            await shop.hasTaken(100 * (way == .blockingMailbox ? 4 : 6))
            precondition(shop.wrong.values.isEmpty, "\(shop.wrong.values.prefix(5))")
            precondition(way == .blockingMailbox || Set(shop.packed.values) == Set(0..<100))
            await shop.loop.stop()
        }
    }

    @Test func `goes over mediators into other loops`() async {
        await #expect(processExitsWith: .success) {
            Order.$number.travelWithEvents()
            let mediator = PassthroughMediator<Int>()
            let memory = CurrentValueMediator<Int>(-1)
            let target = Shop(on: .sharedPool)
            let subscriptions = [
                mediator.subscribe { memory.send($0) },
                memory.subscribe { if $0 >= 0 { target.loop.send(.ordered($0)) } },
            ]
            // Several threads publish at a time, so one delivers the values of others.
            await withTaskGroup(of: Void.self) { group in
                for sender in 0..<8 {
                    group.addTask {
                        for number in (sender * 13)..<(sender * 13 + 13) {
                            Order.$number.withValue(number) { mediator.send(number) }
                        }
                    }
                }
            }
            await target.hasTaken(104 * 6)
            precondition(target.wrong.values.isEmpty, "\(target.wrong.values.prefix(5))")
            for subscription in subscriptions { subscription.cancel() }
        }
    }

    @Test func `does not come from the thread that happens to take the event`() async {
        await #expect(processExitsWith: .success) {
            Order.$number.travelWithEvents()
            // The first sender takes the event of the second one, who has no order.
            let seen = Record<Int>()
            let (isWithin, maySend) = (ThreadSemaphore(), ThreadSemaphore())
            let loop = Loop<Int, Int>(initial: 0, executor: .sendersThread) { state, event in
                seen.add(Order.number)
                if event == 1 {
                    isWithin.signal()
                    // This process has no other test, and the other sender has a thread of its own.
                    precondition(maySend.waitHoldingPoolThread(seconds: 60))
                }
                return .handled
            }
            loop.start()
            Thread.detach {
                isWithin.wait()
                loop.send(2)
                maySend.signal()
            }
            Order.$number.withValue(7) { _ = loop.send(1) }
            precondition(seen.values == [7, -1], "\(seen.values)")
        }
    }

    @Test func `of another property stays behind`() async {
        await #expect(processExitsWith: .success) {
            Order.$number.travelWithEvents()
            let (seen, sees) = AsyncStream<String>.makeStream()
            let loop = Loop<Int, Int>(
                initial: 0,
                feedbacks: [
                    Feedback { _, event in
                        event == nil ? .nothing : .run { _ in sees.yield("\(Order.customer) \(Order.number)") }
                    }
                ]
            ) { _, _ in .handled }
            loop.start()
            Order.$customer.withValue("Ada") { Order.$number.withValue(3) { _ = loop.send(1) } }
            var first = seen.makeAsyncIterator()
            let what = await first.next()
            precondition(what == "nobody 3", "\(what ?? "nothing")")
            await loop.stop()
        }
    }

    @Test func `goes with decisions, events that go first, and deep nesting`() async {
        await #expect(processExitsWith: .success) {
            Order.$number.travelWithEvents()
            let seen = Record<String>()
            let loop = Loop<Int, String>(initial: 0) { state, event in
                seen.add("\(event) \(Order.number)")
                return .handled
            }
            loop.start()
            Order.$number.withValue(1) { _ = loop.sendFirst("first") }
            await settled(loop)
            Order.$number.withValue(2) {
                loop.whenDue({ "due in \(Order.number)" }, ended: {})
                loop.afterPending { seen.add("marker \(Order.number)") }
            }
            await settled(loop)
            precondition(seen.values == ["first 1", "due in 2 2", "marker 2"], "\(seen.values)")
            // A chain of loops on the thread of the sender, of which most is put off.
            let numbers = Record<Int>()
            let buses = (0..<500).map { _ in PassthroughMediator<Int>() }
            let chain = (0..<500).map { index in
                Loop<Int, Int>(
                    initial: 0,
                    feedbacks: [
                        .sink { _, event in
                            numbers.add(Order.number)
                            if let event, index + 1 < 500 { buses[index + 1].send(event) }
                        }
                    ], executor: .sendersThread
                ) { state, event in
                    state += event
                    return .handled
                }
            }
            let links = zip(buses, chain).map { bus, loop in bus.subscribe { _ = loop.send($0) } }
            for loop in chain { _ = loop.start() }
            Order.$number.withValue(3) { buses[0].send(1) }
            precondition(numbers.values.suffix(500).allSatisfy { $0 == 3 } && numbers.values.count == 1_000)
            for link in links { link.cancel() }
        }
    }

    @Test func `of a collecting dispatch is that of its caller, wherever its last part ends`() async {
        await #expect(processExitsWith: .success) {
            Order.$number.travelWithEvents()
            let seen = Record<Int>()
            let store = BaseStore<Int, Int, Int>(
                state: 0,
                reducer: Reducer<Int, Int> { state, action in
                    state += action
                    seen.add(Order.number)
                },
                thunk: Thunk { (_, _, _) -> ThunkOutput<Int, Int> in
                    .subscribe { send, finish in
                        DispatchQueue(label: "callback").async {
                            send(.sync(1))
                            finish()
                        }
                        return Subscription {}
                    }
                })
            _ = await Order.$number.withValue(5) { await store.dispatch(collect: true, async: 0).value }
            precondition(seen.values == [5], "\(seen.values)")
            await store.stop()
        }
    }

    /// A value whose release looks at a loop.
    final class Witness: Sendable {
        @TaskLocal static var present: Witness?
        let look: @Sendable () -> Void
        init(_ look: @escaping @Sendable () -> Void) { self.look = look }
        deinit { look() }
    }

    @Test(arguments: [true, false]) func `is never released under a lock`(isOldest: Bool) async {
        await #expect(processExitsWith: .success) { [isOldest] in
            Witness.$present.travelWithEvents()
            let looks = Counter()
            let loop = Loop<Int, Int>(
                initial: 0, mailboxLimit: 4, overflow: isOldest ? .dropOldest : .keepLatest
            ) { state, event in
                state += event
                return .handled
            }
            func send() {
                let witness = Witness {
                    _ = loop.state
                    looks.add(1)
                }
                Witness.$present.withValue(witness) { _ = loop.send(1) }
            }
            // It is not started, so events wait; later ones displace earlier ones, and the rest ends with the loop.
            for _ in 0..<10 { send() }
            precondition(looks.value == (isOldest ? 6 : 8), "\(looks.value)")
            loop.cancel()
            await loop.stopped()
            precondition(looks.value == 10, "\(looks.value)")
            // The same on a mediator, whose subscriber publishes to it.
            let mediator = PassthroughMediator<Int>(limit: 4, overflow: isOldest ? .dropOldest : .keepLatest)
            let subscription = mediator.subscribe { value in
                guard value == 0 else { return }
                for number in 1...10 {
                    let witness = Witness {
                        _ = mediator.snapshot
                        looks.add(1)
                    }
                    Witness.$present.withValue(witness) { mediator.send(number) }
                }
            }
            mediator.send(0)
            precondition(looks.value == 20, "\(looks.value)")
            subscription.cancel()
        }
    }
}

/// A thread that runs a function once.
private enum Thread {
    static func detach(_ body: @escaping @Sendable () -> Void) { DispatchQueue(label: "other").async(execute: body) }
}
