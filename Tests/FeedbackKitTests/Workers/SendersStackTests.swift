import FeedbackKit
import Foundation
import Synchronization
import Testing

/// Chains of loops on the sender's thread.
@Suite(.timeLimit(.minutes(20))) struct `A chain on the sender's thread` {
    /// Loops of which each hands its events on to the next one.
    private func chain(_ count: Int, isObserved: Bool = false) -> [Loop<Int, Int>] {
        var loops: [Loop<Int, Int>] = []
        for _ in 0..<count {
            let next = loops.last
            loops.append(
                Loop(
                    initial: 0,
                    feedbacks: [.sink(name: "next") { state, event in if event != nil { next?.send(state) } }],
                    executor: .sendersThread, observer: isObserved ? Idle() : nil
                ) { state, event in
                    state = event
                    return .handled
                })
        }
        for loop in loops { loop.start() }
        return loops.reversed()
    }

    private struct Idle: LoopObserver {
        typealias State = Int
        typealias Event = Int
    }

    /// Without a limit each loop would need some hundred bytes of the stack, and the thread has half a megabyte.
    @Test(arguments: [false, true]) func `needs a constant stack`(isObserved: Bool) async {
        let loops = chain(20_000, isObserved: isObserved)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let thread = Thread {
                for number in 1...3 { loops[0].send(number) }
                continuation.resume()
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
        #expect(loops.allSatisfy { $0.state == 3 && $0.counters.transitions == 3 })
        for loop in loops { loop.cancel() }
    }

    @Test func `is quiet when the sender goes on, also beyond the limit`() {
        let loops = chain(200)
        loops[0].send(7)
        #expect(loops.allSatisfy { $0.state == 7 })
        for loop in loops { loop.cancel() }
    }

    /// A ring that sends each number round once.
    @Test func `keeps the order of events in a ring`() {
        let seen = Mutex<[Int]>([])
        let first = Mutex<Loop<Int, Int>?>(nil)
        var loops = chain(150)
        let last = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                .sink(name: "round") { state, event in
                    guard event != nil else { return }
                    seen.withLock { $0.append(state) }
                    if state % 10 != 9 { first.withLock { $0 }?.send(state + 1) }
                }
            ], executor: .sendersThread
        ) { state, event in
            state = event
            return .handled
        }
        last.start()
        let tail = loops.removeLast()
        let subscription = tail.watch { if $0 > 0 { last.send($0) } }
        first.withLock { $0 = loops[0] }
        // The end of the chain is replaced by the watch.
        tail.send(0)
        for start in [10, 20, 30] { loops[0].send(start) }
        #expect(seen.withLock { $0 } == Array(10...19) + Array(20...29) + Array(30...39))
        subscription.cancel()
        first.withLock { $0 = nil }
        for loop in loops + [tail, last] { loop.cancel() }
    }
}
