import FeedbackKit
import Foundation
import Testing

extension `The promises of the loop` {
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
