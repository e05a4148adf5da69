import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing

private struct Broken: Error {}

@Suite struct `The parts of a loop` {
    @Test func `make another loop that does the same`() async {
        let feedback = Feedback<Int, Int>(name: "double", cancellation: .onNewState) { state, _ -> Int? in
            state < 8 ? state * 2 : nil
        }
        let seen = Mutex<[Int]>([])
        let loop = Loop<Int, Int>(
            initial: 1, feedbacks: [feedback, .sink(name: "see") { state, _ in seen.withLock { $0.append(state) } }]
        ) { state, event in
            state = event
            return .handled
        }
        let parts = loop.parts
        #expect(parts?.initial == 1)
        #expect(parts?.feedbacks.map(\.name) == ["double", "see"])
        #expect(parts?.feedbacks.map(\.endsOnNewState) == [true, false])
        #expect(parts?.executor is SharedPool)
        #expect(Loop<Int, Int>(initial: 1, executor: .sendersThread) { _, _ in .stay }.parts?.executor is SendersThread)
        guard let parts else { return }
        let other = Loop(
            initial: parts.initial, feedbacks: parts.feedbacks, executor: .sendersThread, reduce: parts.reduce)
        other.start()
        #expect(other.state == 8)
        #expect(seen.withLock { $0 } == [1, 2, 4, 8])
        #expect(loop.state == 1)
        await other.stop()
    }

    @Test func `are not to be had once it has been started`() async {
        let loop = Loop<Int, Int>(initial: 1, executor: .sendersThread) { _, _ in .stay }
        loop.start()
        #expect(loop.parts == nil)
        await loop.stop()
    }

    @Test(arguments: [0, 1, 2, 3])
    func `have side effects whose errors end no loop when they are told`(wrapping: Int) async {
        let clock = ManualClock()
        let told = AsyncStream<String>.makeStream()
        let feedback = Feedback<Int, Int>(name: "fails", cancellation: .never) { state, _ -> Effect<Int> in
            guard state == 1 else { return .nothing }
            let effect = Effect<Int>.attempt { _ in throw Broken() }
            return switch wrapping {
            case 0: effect
            case 1: .all([effect, .just(2)])
            case 2: effect.timeout(after: .seconds(60), 2)
            default: effect.id("name")
            }
        }.reportingErrors { feedback, error in told.continuation.yield("\(feedback): \(error)") }
        let loop = Loop<Int, Int>(initial: 0, feedbacks: [feedback], executor: .sendersThread, clock: clock) {
            $0 = $1
            return .handled
        }
        loop.start()
        loop.send(1)
        for await text in told.stream {
            #expect(text == "fails: Broken()")
            break
        }
        #expect(loop.phase == .running)
        #expect(loop.fault == nil)
        loop.send(5)
        #expect(loop.state == 5)
        await loop.stop()
    }

    @Test func `are silent about errors of what has been cancelled`() async {
        let began = AsyncStream<Void>.makeStream()
        let told = Atomic(0)
        let feedback = Feedback<Int, Int>(name: "waits", cancellation: .onNewState) { state, _ -> Effect<Int> in
            guard state == 1 else { return .nothing }
            return .attempt { send in
                began.continuation.finish()
                try await ManualClock().sleep(for: .seconds(1))
            }
        }
        let loop = Loop<Int, Int>(
            initial: 0, feedbacks: [feedback.reportingErrors { _, _ in told.add(1, ordering: .relaxed) }],
            executor: .sendersThread
        ) {
            $0 = $1
            return .handled
        }
        loop.start()
        loop.send(1)
        for await _ in began.stream {}
        loop.send(2)
        await loop.stop()
        #expect(told.load(ordering: .relaxed) == 0)
    }
}
