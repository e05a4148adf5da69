import FeedbackKit
import TestSupport
import Testing
import TestSupport

extension `The promises of the loop` {
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
}

/// Blocks the thread; only for a loop with a thread of its own.
private func waitOnThread(for gate: Gate) {
    let semaphore = ThreadSemaphore()
    Task.detached {
        await gate.opened()
        semaphore.signal()
    }
    semaphore.wait()
}
