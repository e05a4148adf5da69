import FeedbackKit
import TestSupport
import Testing

extension `The promises of the loop` {
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
}
