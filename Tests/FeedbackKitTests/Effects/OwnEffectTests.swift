import FeedbackKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct `A stop from a side effect of the same loop` {
    private func loop(_ effect: @escaping @Sendable (Loop<Int, Int>) async -> Void) -> Loop<Int, Int> {
        let own = Mutex<Loop<Int, Int>?>(nil)
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(name: "stop", cancellation: .never) { state, event -> Effect<Int> in
                    guard event != nil else { return .nothing }
                    return .attempt { _ in
                        guard let loop = own.withLock({ $0.take() }) else { return }
                        await effect(loop)
                    }
                }
            ]
        ) { state, event in
            state = event
            return .handled
        }
        own.withLock { $0 = loop }
        return loop
    }

    @Test func `begins the stop and returns at once`() async {
        let returned = Mutex(false)
        let loop = loop { loop in
            await loop.stop(within: .seconds(1_000_000))
            #expect(loop.phase == .stopping)
            returned.withLock { $0 = true }
        }
        loop.start()
        loop.send(1)
        await loop.stopped()
        #expect(returned.withLock { $0 })
    }

    @Test func `waits in a task that the side effect has started`() async {
        let phases = AsyncStream<LoopPhase>.makeStream()
        let loop = loop { loop in
            Task {
                await loop.stop()
                phases.continuation.yield(loop.phase)
            }
        }
        loop.start()
        loop.send(1)
        var iterator = phases.stream.makeAsyncIterator()
        let phase = await iterator.next()
        #expect(phase == .stopped)
    }
}
