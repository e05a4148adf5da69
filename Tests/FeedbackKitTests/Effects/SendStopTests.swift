import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct `A stop through the sender of a side effect` {
    private func loop(_ feedback: Feedback<Int, Int>) -> Loop<Int, Int> {
        Loop<Int, Int>(initial: 0, feedbacks: [feedback]) { state, event in
            state = event
            return .handled
        }
    }

    @Test func `takes the events before it, and lets the side effect finish`() async {
        let hasEnded = Mutex(false)
        let loop = loop(
            Feedback<Int, Int>(name: "stop", cancellation: .never) { state, _ -> Effect<Int> in
                guard state == 0 else { return .nothing }
                return .run { send in
                    send(1)
                    send.beginStop()
                    send(2)
                    hasEnded.withLock { $0 = true }
                }
            })
        loop.start()
        await loop.stopped()
        #expect(hasEnded.withLock { $0 })
        #expect(loop.state == 1)
        #expect(loop.fault == nil)
    }

    @Test func `also comes from a source, from other events and from a part of a larger state`() async {
        let senders = AsyncStream<Send<Int>>.makeStream()
        let source = Feedback<Int, Int>.source(name: "stop") { send in
            senders.continuation.yield(send)
            return Subscription {}
        }
        let loop = loop(source.pullback(state: { $0 }, embed: { $0 + 1 }, extract: { $0 }))
        loop.start()
        var iterator = senders.stream.makeAsyncIterator()
        let send = await iterator.next()
        _ = send?.callAsFunction(7)
        send?.beginStop()
        await loop.stopped()
        #expect(loop.state == 8)
    }

    @Test func `has no effect once the side effect is cancelled`() async {
        let senders = AsyncStream<Send<Int>>.makeStream()
        let ended = AsyncStream<Void>.makeStream()
        let loop = loop(
            Feedback<Int, Int>(name: "stop", cancellation: .onNewState) { state, _ -> Effect<Int> in
                guard state == 0 else { return .nothing }
                return .run { send in
                    senders.continuation.yield(send)
                    try? await ManualClock().sleep(for: .seconds(1))
                    ended.continuation.finish()
                }
            })
        loop.start()
        var iterator = senders.stream.makeAsyncIterator()
        let send = await iterator.next()
        loop.send(5)
        for await _ in ended.stream {}
        send?.beginStop()
        #expect(loop.phase == .running)
        await loop.stop()
    }

    @Test func `has no effect while the source is disabled`() async {
        let isDisabled = Mutex(false)
        let senders = AsyncStream<Send<Int>>.makeStream()
        let source = Feedback<Int, Int>.source(name: "stop") { send in
            senders.continuation.yield(send)
            return Subscription {}
        }
        let loop = loop(source.disable { isDisabled.withLock { $0 } })
        loop.start()
        var iterator = senders.stream.makeAsyncIterator()
        let send = await iterator.next()
        isDisabled.withLock { $0 = true }
        send?.beginStop()
        #expect(loop.phase == .running)
        isDisabled.withLock { $0 = false }
        send?.beginStop()
        await loop.stopped()
    }

    @Test(arguments: [true, false])
    func `is an error where another stops the loop`(isTask: Bool) async {
        let told = AsyncStream<String>.makeStream()
        let feedback = Feedback<Int, Int>(name: "stop", cancellation: .never) { state, _ -> Effect<Int> in
            guard state == 0 else { return .nothing }
            if isTask { return .run { send in send.beginStop() } }
            return .subscribe { send, finish in
                send.beginStop()
                finish()
                return Subscription {}
            }
        }
        let loop = loop(
            feedback.reportingErrors { feedback, error in
                told.continuation.yield("\(feedback): \(error)")
            })
        loop.start()
        var iterator = told.stream.makeAsyncIterator()
        let text = await iterator.next()
        #expect(
            text == "stop: a side effect cannot stop the system, only its owner can; enter a final state instead")
        #expect(loop.phase == .running)
        await loop.stop()
    }
}
