import Dispatch
import FeedbackKit
import FeedbackKitTesting
import Synchronization
import TestSupport
import Testing
import TestSupport

/// The guarantees of the engine, by their number in the page Semantics.
@Suite(.timeLimit(.minutes(20)))
struct `The promises of the loop` {
    init() { Traveller.departIfWanted() }

    // MARK: 1. One event at a time, in order

    @Test(arguments: [true, false])
    func `1 every feedback sees every state once and in order while several emit at once`(inline: Bool) async {
        // In the original library the loop is recursion: later feedbacks see states backwards, and miss some.
        let seen = (0..<3).map { _ in Record<Int>() }
        let done = Gate()
        let feedbacks = seen.map { record in
            Feedback<Int, Int>(cancellation: .never) { state, _ in
                record.add(state)
                return state < 100 ? .just([1, 1]) : .nothing
            }
        }
        let last = Feedback<Int, Int>.sink { state, _ in if state >= 600 { done.open() } }
        let loop = Loop(
            initial: 0, feedbacks: feedbacks + [last],
            executor: inline ? .sendersThread as any LoopExecutor : .sharedPool
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        await done.opened()
        await settled(loop)
        let expected = Array(0...600)
        for record in seen { #expect(record.values == expected) }
        await loop.stop()
    }

    @Test func `1 the events of several feedbacks for one state come in the order of the feedbacks`() async {
        let taken = Record<String>()
        let loop = Loop<Int, String>(
            initial: 0,
            feedbacks: ["a", "b", "c"].map { name in
                Feedback(cancellation: .never) { state, _ in state == 0 ? .just([name, name.uppercased()]) : .nothing }
            },
            executor: .sendersThread
        ) { state, event in
            taken.add(event)
            state += 1
            return .handled
        }
        loop.start()
        #expect(taken.values == ["a", "A", "b", "B", "c", "C"])
    }

    @Test func `1 an event sent from within the loop is only queued`() {
        let order = Record<String>()
        let box = Mutex<Loop<Int, Int>?>(nil)
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                .sink { state, _ in
                    order.add("enter \(state)")
                    if state < 3 { box.withLock { $0 }?.send(1) }
                    order.add("leave \(state)")
                }
            ],
            executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        box.withLock { $0 = loop }
        loop.start()
        #expect(
            order.values == [
                "enter 0", "leave 0", "enter 1", "leave 1", "enter 2", "leave 2", "enter 3", "leave 3",
            ])
        box.withLock { $0 = nil }
    }

    @Test func `1 two million self-fed events keep no memory`() async {
        // Runs in a process of its own, because other tests need memory too.
        await #expect(processExitsWith: .success) {
            let loop = Loop<Int, Int>(
                initial: 0,
                feedbacks: [
                    Feedback(cancellation: .never) { state, _ in state % 1_000_000 == 0 ? .nothing : .just(1) }
                ],
                executor: .sendersThread
            ) { state, event in
                state += event
                return .handled
            }
            loop.start()
            loop.send(1)
            let before = Memory.anonymous
            loop.send(1)
            let growth = Memory.anonymous - before
            precondition(loop.state == 2_000_000 && growth < 4_096, "grew by \(growth) KiB over a million events")
        }
    }

    @Test func `1 ten million self-fed events in constant stack, on the sender's thread`() async {
        // Runs in a process of its own, so that other tests keep the pool's few threads.
        await #expect(processExitsWith: .success) { await feedTenMillion(on: .sendersThread) }
    }

    @Test func `1 ten million self-fed events in constant stack, on the shared pool`() async {
        await #expect(processExitsWith: .success) { await feedTenMillion(on: .sharedPool) }
    }

    @Test(arguments: [true, false])
    func `1 eight threads at once: nothing lost, doubled or reordered per sender`(inline: Bool) async {
        struct Sent: Sendable, Equatable {
            let sender: Int
            let number: Int
        }
        let senders = 8
        let each = repetitions(20_000)
        let loop = Loop<[[Int]], Sent>(
            initial: Array(repeating: [], count: senders),
            executor: inline ? .sendersThread as any LoopExecutor : .sharedPool
        ) { state, event in
            state[event.sender].append(event.number)
            return .handled
        }
        loop.start()
        await onThreads(senders) { sender in
            for number in 0..<each { loop.send(Sent(sender: sender, number: number)) }
        }
        await settled(loop)
        let expected = Array(0..<each)
        for received in loop.state { #expect(received == expected) }
        #expect(loop.counters.events == UInt64(senders * each))
        await loop.stop()
    }

    // MARK: 2. Every observer sees the initial state

    private struct Beginning: State {}
    private struct Seen: State { let count: Int }
    private struct Saw: Event {}

    @Test func `2 no initial state is missed in ten thousand starts on different executors`() async {
        // In the original library, about four of ten starts miss it.
        let queues = [QueueExecutor("a"), QueueExecutor("b")]
        for _ in 0..<10_000 {
            let saw = Mutex(0)
            let gate = Gate()
            let note: @Sendable (Beginning) -> (any Event)? = { _ in
                let count = saw.withLock { count in
                    count += 1
                    return count
                }
                if count == 3 { gate.open() }
                return nil
            }
            let system = System {
                InitialState { Beginning() }
                Feedbacks {
                    Feedback(on: Beginning.self, strategy: .continueOnNewState, perform: note).execute(
                        on: .task(queues[0]))
                    Feedback(on: Beginning.self, strategy: .continueOnNewState, perform: note).execute(
                        on: .task(queues[1]))
                    Feedback(on: Beginning.self, strategy: .continueOnNewState, perform: note).execute(on: .sharedPool)
                    // This feedback changes the state at once, before the others have seen the first one.
                    Feedback(on: Beginning.self, strategy: .continueOnNewState) { _ in Saw() }
                }
                Transitions {
                    From(Beginning.self) { On(Saw.self, transitionTo: Seen(count: 1)) }
                }
            }
            system.start()
            await gate.opened()
            await system.stop()
            #expect(saw.withLock { $0 } == 3)
        }
    }

    @Test func `2 a stream taken before the start begins with the initial state`() async {
        let loop = Loop<Int, Int>(initial: 7, feedbacks: [Feedback { state, _ in state < 10 ? .just(1) : .nothing }]) {
            state, event in
            state += event
            return .handled
        }
        var iterator = loop.states().makeAsyncIterator()
        loop.start()
        for expected in 7...10 { #expect(await iterator.next() == expected) }
        await loop.stop()
        #expect(await iterator.next() == nil)
    }

    // MARK: 4. An unhandled event changes nothing

    @Test func `4 an unhandled event gives no state, restarts no effect and is counted`() async {
        let shown = Record<Int>()
        let started = Record<Int>()
        let loop = Loop<Int, String>(
            initial: 1,
            feedbacks: [
                .sink { state, _ in shown.add(state) },
                Feedback { state, _ in
                    started.add(state)
                    return .run { send in try? await send.clock.sleep(for: .seconds(3600)) }
                },
            ]
        ) { state, event in
            state = 99  // a reducer that scribbles before it gives up
            return event == "known" ? .handled : .unhandled
        }
        loop.start()
        loop.send("unknown")
        loop.send("unknown")
        await settled(loop)
        #expect(loop.state == 1)
        #expect(shown.values == [1])
        #expect(started.values == [1])
        #expect(loop.counters.unhandled == 2)
        #expect(loop.counters.transitions == 0)
        #expect(loop.snapshot.feedbacks[1].running == 1)
        await loop.stop(within: .zero)
    }

    @Test func `4 a rule to stay changes nothing either, but counts as handled`() {
        let shown = Record<Int>()
        let loop = Loop<Int, Int>(
            initial: 1, feedbacks: [.sink { state, _ in shown.add(state) }], executor: .sendersThread
        ) { state, _ in
            state = 99
            return .stay
        }
        loop.start()
        loop.send(0)
        #expect(loop.state == 1)
        #expect(shown.values == [1])
        #expect(loop.counters.unhandled == 0)
        #expect(loop.counters.events == 1)
    }

    // MARK: 6. Execution is a parameter

    @Test func `6 on the sender's thread everything is done when send returns`() {
        let thread = Record<Bool>()
        let here = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "sender")
        queue.setSpecific(key: here, value: true)
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [.sink { _, _ in thread.add(DispatchQueue.getSpecific(key: here) == true) }],
            executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        queue.sync {
            loop.start()
            loop.send(1)
            loop.send(2)
        }
        #expect(loop.state == 3)
        #expect(thread.values == [true, true, true])
    }

    @Test func `6 the clock defines the time`() async {
        let clock = ManualClock()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [Feedback { state, _ in state < 3 ? .after(.seconds(3600), 1) : .nothing }],
            clock: clock
        ) { state, event in
            state += event
            return .handled
        }
        var states = loop.states().makeAsyncIterator()
        loop.start()
        for expected in 0..<3 {
            #expect(await states.next() == expected)
            await clock.nextDeadline(in: .seconds(3600))
            #expect(clock.nextDeadline == .init(offset: .seconds(3600 * (expected + 1))))
            clock.advance(by: .seconds(3600))
        }
        #expect(await states.next() == 3)
        await loop.stop()
    }
}

/// Runs a loop that feeds itself ten million events.
private func feedTenMillion(on executor: some LoopExecutor) async {
    let count = 10_000_000
    let done = Gate()
    let loop = Loop<Int, Int>(
        initial: 0,
        feedbacks: [
            Feedback(cancellation: .never) { (state: Int, _: Int?) in
                if state < count { return .just(1) }
                done.open()
                return .nothing
            }
        ],
        executor: executor
    ) { state, event in
        state += event
        return .handled
    }
    loop.start()
    await done.opened()
    precondition(loop.state == count)
    await loop.stop()
}
