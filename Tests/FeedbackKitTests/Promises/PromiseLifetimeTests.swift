import FeedbackKit
import FeedbackKitTesting
import Synchronization
import TestSupport
import Testing

extension `The promises of the loop` {
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
        await clock.nextDeadline(in: .seconds(3600))
        loop.beginStop()
        await loop.stopped()
        #expect(clock.nextDeadline == nil)
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
        await clock.nextDeadline(in: .seconds(1_000_000))
        async let stop: Void = loop.stop(within: .seconds(5))
        await clock.nextDeadline(in: .seconds(5))
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
}
