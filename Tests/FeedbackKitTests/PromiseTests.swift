import Dispatch
import FeedbackKit
import FeedbackKitTesting
import Foundation
import Synchronization
import Testing

/// The guarantees of the engine, by their number in the page Semantics.
@Suite(.timeLimit(.minutes(5)))
struct `The promises of the loop` {
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
            let before = residentKilobytes()
            loop.send(1)
            let growth = residentKilobytes() - before
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
        let each = 20_000
        let loop = Loop<[[Int]], Sent>(
            initial: Array(repeating: [], count: senders),
            executor: inline ? .sendersThread as any LoopExecutor : .sharedPool
        ) { state, event in
            state[event.sender].append(event.number)
            return .handled
        }
        loop.start()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async {
                DispatchQueue.concurrentPerform(iterations: senders) { sender in
                    for number in 0..<each { loop.send(Sent(sender: sender, number: number)) }
                }
                continuation.resume()
            }
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

    // MARK: 5. Cancellation is exact

    @Test func `5 a new state of any type cancels the effect and withdraws its events`() async {
        let sent = Gate()
        let ended = Gate()
        let release = Gate()
        let seen = Record<String>()
        // The feedback keeps the loop's thread busy until the effect's late event waits in the mailbox.
        let loop = Loop<String, String>(
            initial: "Loading",
            feedbacks: [
                Feedback(name: "load") { state, _ in
                    guard state == "Loading" else { return .nothing }
                    return .run { send in
                        await release.opened()
                        send("leave")  // taken: leads to the next state and cancels this very effect
                        send("late")  // waits behind it, and is withdrawn
                        sent.open()
                        await withTaskCancellationHandler {
                            await ended.opened()
                        } onCancel: {
                            ended.open()
                        }
                    }
                }.execute(on: .sharedPool),
                Feedback(name: "slow", cancellation: .never) { _, event in
                    if event != nil { waitOnThread(for: sent) }
                    return .nothing
                },
            ],
            executor: .task(QueueExecutor("loop"))
        ) { state, event in
            seen.add(event)
            state = event
            return .handled
        }
        loop.start()
        release.open()
        await ended.opened()
        await settled(loop)
        #expect(seen.values == ["leave"])
        #expect(loop.counters.withdrawn == 1)
        #expect(loop.counters.effectsCancelled == 1)
        await loop.stop()
    }

    @Test func `5 events bound to a state are withdrawn after it, even if their effect has ended`() {
        let seen = Record<String>()
        let loop = Loop<Int, String>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .boundToState) { state, _ in state == 0 ? .just("a") : .nothing },
                Feedback(cancellation: .boundToState) { state, _ in state == 0 ? .just("b") : .nothing },
                Feedback(cancellation: .onNewState) { state, _ in state == 0 ? .just("c") : .nothing },
            ],
            executor: .sendersThread
        ) { state, event in
            seen.add(event)
            state += 1
            return .handled
        }
        loop.start()
        #expect(seen.values == ["a", "c"])
        #expect(loop.counters.withdrawn == 1)
    }

    @Test func `5 continueOnNewState lets the effect finish`() async {
        let release = Gate()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { state, _ in
                    guard state == 0 else { return .nothing }
                    return .task {
                        await release.opened()
                        return Task.isCancelled ? -1 : 10
                    }
                }
            ]
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        loop.send(1)
        await settled(loop)
        release.open()
        for await state in loop.states() where state == 11 { break }
        #expect(loop.state == 11)
        await loop.stop()
    }

    @Test func `5 cancel(when:) cancels on the states it names only`() async {
        let ended = Gate()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .when { $0 == 2 }) { state, _ in
                    guard state == 0 else { return .nothing }
                    return .run { _ in
                        await withTaskCancellationHandler {
                            await ended.opened()
                        } onCancel: {
                            ended.open()
                        }
                    }
                }
            ]
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        loop.send(1)
        await settled(loop)
        #expect(loop.snapshot.feedbacks[0].running == 1)
        loop.send(1)
        await ended.opened()
        await settled(loop)
        #expect(loop.counters.effectsCancelled == 1)
        await loop.stop()
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
            await clock.sleepers(atLeast: 1)
            #expect(clock.nextDeadline == .init(offset: .seconds(3600 * (expected + 1))))
            clock.advance(by: .seconds(3600))
        }
        #expect(await states.next() == 3)
        await loop.stop()
    }

    // MARK: 7. Lifetime is explicit

    @Test func `7 a graceful stop takes waiting events, refuses new ones, and lets effects finish`() async {
        let release = Gate()
        let finished = Record<String>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { state, _ in
                    guard state == 0 else { return .nothing }
                    return .run { send in
                        await release.opened()
                        finished.add(Task.isCancelled ? "cancelled" : "whole")
                        #expect(send(5) == .dropped(.stopped))
                    }
                }
            ],
            executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        loop.send(1)
        loop.beginStop()
        #expect(loop.phase == .stopping)
        #expect(loop.send(1) == .dropped(.stopped))
        release.open()
        await loop.stopped()
        #expect(loop.state == 1)
        #expect(finished.values == ["whole"])
        #expect(loop.counters.refused == 2)
    }

    @Test func `7 a graceful stop does not wait for timers`() async {
        let clock = ManualClock()
        let loop = Loop<Int, Int>(
            initial: 0, feedbacks: [Feedback { _, _ in .after(.seconds(3600), 1) }], clock: clock
        ) { _, _ in .unhandled }
        loop.start()
        await clock.sleepers(atLeast: 1)
        loop.beginStop()
        await loop.stopped()
        #expect(clock.sleeperCount == 0)
    }

    @Test func `7 past the limit of a graceful stop effects are cancelled`() async {
        let clock = ManualClock()
        let ended = Record<Bool>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback { _, _ in
                    .run { send in
                        try? await send.clock.sleep(for: .seconds(1_000_000))
                        ended.add(Task.isCancelled)
                    }
                }
            ],
            clock: clock
        ) { _, _ in .unhandled }
        loop.start()
        await clock.sleepers(atLeast: 1)
        async let stop: Void = loop.stop(within: .seconds(5))
        await clock.sleepers(atLeast: 2)
        #expect(loop.phase == .stopping)
        clock.advance(by: .seconds(5))
        await stop
        #expect(ended.values == [true])
        #expect(loop.phase == .stopped)
    }

    @Test func `7 cancelling run() ends everything before it returns`() async throws {
        let started = Gate()
        let alive = Mutex(0)
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: (0..<5).map { _ in
                Feedback { _, _ in
                    .run { send in
                        let count = alive.withLock { alive in
                            alive += 1
                            return alive
                        }
                        if count == 5 { started.open() }
                        try? await send.clock.sleep(for: .seconds(3600))
                        alive.withLock { $0 -= 1 }
                    }
                }
            }
        ) { _, _ in .unhandled }
        let task = Task { try await loop.run() }
        await started.opened()
        #expect(alive.withLock { $0 } == 5)
        task.cancel()
        try await task.value
        #expect(alive.withLock { $0 } == 0)
        #expect(loop.phase == .stopped)
    }

    @Test func `7 a loop that is let go ends its effects and its sources`() async {
        let ended = Gate()
        let mediator = PassthroughMediator<Int>()
        var loop: Loop<Int, Int>? = Loop(
            initial: 0,
            feedbacks: [
                Feedback { _, _ in
                    .run { _ in
                        await withTaskCancellationHandler {
                            await ended.opened()
                        } onCancel: {
                            ended.open()
                        }
                    }
                },
                .source { send in mediator.subscribe { send($0) } },
            ],
            executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        loop?.start()
        mediator.send(3)
        #expect(loop?.state == 3)
        #expect(mediator.snapshot.subscribers == 1)
        weak let watched = loop
        loop = nil
        await ended.opened()
        #expect(watched == nil)
        #expect(mediator.snapshot.subscribers == 0)
    }

    @Test func `7 events before the start wait, or are dropped if the sender requests it`() async {
        let loop = Loop<Int, Int>(initial: 0, executor: .sendersThread) { state, event in
            state += event
            return .handled
        }
        #expect(loop.send(1) == .accepted)
        #expect(loop.send(10, holdBeforeStart: false) == .dropped(.notStarted))
        #expect(loop.state == 0)
        loop.start()
        #expect(loop.state == 1)
        #expect(loop.counters.refused == 1)
        #expect(loop.start() == false)
        await loop.stop()
        await loop.stop()
        #expect(loop.send(1) == .dropped(.stopped))
    }

    @Test func `7 a watcher that leaves sees nothing more, and may release another watcher`() {
        let seen = Record<Int>()
        let loop = Loop<Int, Int>(initial: 0, executor: .sendersThread) { state, event in
            state += event
            return .handled
        }
        let second = Mutex<Subscription?>(nil)
        let first = loop.watch { state in if state == 1 { second.withLock { $0 }?.cancel() } }
        second.withLock { $0 = loop.watch { seen.add($0) } }
        loop.start()
        loop.send(1)
        #expect(seen.values == [0])
        var inner: Subscription? = loop.watch { _ in }
        let outer = loop.watch { [inner] _ in withExtendedLifetime(inner) {} }
        inner = nil
        outer.cancel()
        first.cancel()
        loop.send(1)
        #expect(loop.state == 2)
    }

    // MARK: 8. Bounded

    @Test func `8 an event of a cancelled effect takes no place in the mailbox`() async {
        let (left, sent) = (Gate(), Gate())
        let results = Record<SendResult>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback { state, _ in
                    guard state == 0 else { return .nothing }
                    return .run { send in
                        await left.opened()
                        for _ in 0..<100 { results.add(send(1)) }
                        sent.open()
                    }
                }
            ], mailboxLimit: 10
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        loop.send(1)
        await settled(loop)
        left.open()
        await sent.opened()
        #expect(Set(results.values) == [.dropped(.cancelled)])
        #expect(loop.counters.withdrawn == 100)
        #expect(loop.counters.droppedByLimit == 0)
        await loop.stop()
    }

    @Test(arguments: [(Overflow.dropNewest, [1, 2, 3], 2), (.dropOldest, [3, 4, 5], 2), (.keepLatest, [4, 5], 3)])
    func `8 a full mailbox drops by its policy and counts it`(overflow: Overflow, kept: [Int], dropped: Int) {
        let taken = Record<Int>()
        let loop = Loop<Int, Int>(initial: 0, executor: .sendersThread, mailboxLimit: 3, overflow: overflow) {
            _, event in
            taken.add(event)
            return .handled
        }
        for event in 1...5 { loop.send(event) }
        loop.start()
        #expect(taken.values == kept)
        #expect(loop.counters.droppedByLimit == UInt64(dropped))
    }

    @Test func `8 a mailbox that may not overflow ends the loop when it does`() async {
        let loop = Loop<Int, Int>(initial: 0, executor: .sendersThread, mailboxLimit: 2, overflow: .fail) { _, _ in
            .handled
        }
        #expect(loop.send(1) == .accepted)
        #expect(loop.send(2) == .accepted)
        #expect(loop.send(3) == .dropped(.mailboxFull))
        #expect(loop.phase == .stopped)
        #expect(loop.counters.refused == 2)
        await loop.stopped()
    }

    // MARK: 9. Observable

    private struct Watching: LoopObserver {
        let lines: Record<String>
        func loopDidStart(with state: Int) { lines.add("start \(state)") }
        func loopWillReduce(_ event: Int, in state: Int) { lines.add("reduce \(event) in \(state)") }
        func loopDidTransition(from old: Int, to new: Int, on event: Int) { lines.add("\(old) -> \(new)") }
        func loopDidNotHandle(_ event: Int, in state: Int) { lines.add("unhandled \(event) in \(state)") }
        func loopDidWithdraw(_ event: Int) { lines.add("withdrew \(event)") }
        func loopDidDrop(_ event: Int, because reason: DropReason) { lines.add("dropped \(event): \(reason)") }
        func loopDidStartEffect(_ run: RunID, of feedback: String) { lines.add("effect of \(feedback) started") }
        func loopDidCancelEffect(_ run: RunID, of feedback: String) { lines.add("effect of \(feedback) cancelled") }
        func loopDidEndEffect(_ run: RunID, of feedback: String) { lines.add("effect of \(feedback) ended") }
        func loopDidStop(with state: Int) { lines.add("stop \(state)") }
    }

    @Test func `9 an observer sees everything in the order in which it happens`() async {
        let lines = Record<String>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(name: "once", cancellation: .boundToState) { state, _ in state == 0 ? .just([1, 2]) : .nothing
                },
                Feedback(name: "wait") { state, _ in
                    state == 0 ? .run { send in try? await send.clock.sleep(for: .seconds(3600)) } : .nothing
                },
            ],
            executor: .sendersThread,
            observer: Watching(lines: lines)
        ) { state, event in
            guard event > 0 else { return .unhandled }
            state += event
            return .handled
        }
        loop.start()
        loop.send(-1)
        await loop.stop()
        loop.send(9)
        let ended = "effect of wait ended"
        #expect(
            lines.values.filter { $0 != ended } == [
                "start 0", "effect of wait started", "reduce 1 in 0", "0 -> 1", "effect of wait cancelled",
                "withdrew 2",
                "reduce -1 in 1", "unhandled -1 in 1", "stop 1", "dropped 9: stopped",
            ])
        #expect(lines.values.filter { $0 == ended }.count == 1)
    }

    @Test func `9 a snapshot is Codable and true`() async throws {
        let loop = Loop<Int, Int>(
            initial: 4,
            feedbacks: [
                Feedback(name: "wait") { _, _ in .run { send in try? await send.clock.sleep(for: .seconds(3600)) } }
            ],
            executor: .sendersThread
        ) { _, _ in .unhandled }
        loop.send(1)
        #expect(loop.snapshot.waiting == 1)
        #expect(loop.snapshot.phase == .notStarted)
        loop.start()
        let snapshot = loop.snapshot
        #expect(snapshot.state == "4")
        #expect(snapshot.feedbacks == [.init(name: "wait", running: 1)])
        #expect(snapshot.counters.unhandled == 1)
        let copy = try JSONDecoder().decode(LoopSnapshot.self, from: JSONEncoder().encode(snapshot))
        #expect(copy == snapshot)
        await loop.stop(within: .zero)
    }
}

/// Blocks the thread; only for a loop with a thread of its own.
private func waitOnThread(for gate: Gate) {
    let semaphore = DispatchSemaphore(value: 0)
    Task.detached {
        await gate.opened()
        semaphore.signal()
    }
    semaphore.wait()
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
