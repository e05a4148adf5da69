import FeedbackKit
import FeedbackKitTesting
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(20))) struct `A mailbox whose events hold bytes` {
    /// Returns a loop whose events hold as many bytes as their value; the mailbox holds ten bytes.
    private static func make(
        _ overflow: Overflow, limit: Int = 100, feedbacks: [Feedback<[Int], Int>] = []
    ) -> Loop<[Int], Int> {
        Loop(
            initial: [], feedbacks: feedbacks, executor: .sharedPool, clock: ContinuousClock(), mailboxLimit: limit,
            overflow: overflow, size: MailboxSize(limit: 10) { $0 }
        ) { state, event in
            state.append(event)
            return .handled
        }
    }

    /// Returns the state of a loop after it has taken all waiting events.
    private static func end(_ loop: Loop<[Int], Int>) async -> [Int] {
        loop.start()
        await loop.stop()
        return loop.state
    }

    @Test(arguments: [Overflow.dropNewest, .block]) func `drops what has no room`(_ overflow: Overflow) async {
        let loop = Self.make(overflow)
        let full = SendResult.dropped(.mailboxFull)
        let sent: [(Int, SendResult)] = [
            (4, .accepted), (6, .accepted), (1, full), (0, .accepted), (11, full), (0, .accepted),
        ]
        for (event, result) in sent { #expect(loop.send(event) == result) }
        #expect(loop.counters.droppedByLimit == 2 && loop.snapshot.waiting == 4)
        #expect(await Self.end(loop) == [4, 6, 0, 0])
    }

    @Test func `takes one that is larger than all its room while none holds bytes`() async {
        let loop = Self.make(.dropNewest)
        for (event, result) in [(0, SendResult.accepted), (50, .accepted), (1, .dropped(.mailboxFull))] {
            #expect(loop.send(event) == result)
        }
        #expect(await Self.end(loop) == [0, 50])
    }

    @Test func `drops as many of the oldest as it takes`() async {
        let loop = Self.make(.dropOldest)
        for event in [3, 3, 3, 0, 2] { #expect(loop.send(event) == .accepted) }
        #expect(loop.counters.droppedByLimit == 1)
        #expect(loop.send(9) == .accepted)
        // The event without bytes makes no room.
        #expect(loop.counters.droppedByLimit == 4 && loop.snapshot.waiting == 2)
        #expect(await Self.end(loop) == [0, 9])
        let small = Self.make(.dropOldest, limit: 2)
        for event in [3, 3, 3] { small.send(event) }
        #expect(await Self.end(small) == [3, 3])
    }

    @Test func `makes room of all for the latest`() async {
        let loop = Self.make(.keepLatest)
        for event in [3, 7, 1] { #expect(loop.send(event) == .accepted) }
        #expect(await Self.end(loop) == [1])
    }

    @Test func `does not fail where others hold the room that they share`() async {
        let shared = SharedBytes(limit: 10)
        shared.add(10)
        let loop = Loop<[Int], Int>(
            initial: [], feedbacks: [], executor: .sharedPool, clock: ContinuousClock(), mailboxLimit: 2,
            overflow: .fail, size: MailboxSize(limit: 10, shared: shared) { $0 }
        ) { state, event in
            state.append(event)
            return .handled
        }
        #expect(loop.send(4) == .dropped(.mailboxFull) && loop.fault == nil)
        shared.add(-10)
        #expect(loop.send(4) == .accepted)
        #expect(await Self.end(loop) == [4])
    }

    @Test(arguments: [Overflow.dropOldest, .keepLatest])
    func `drops nothing of its own in vain where others hold the room that they share`(_ overflow: Overflow) async {
        let shared = SharedBytes(limit: 10)
        let loop = Loop<[Int], Int>(
            initial: [], feedbacks: [], executor: .sharedPool, clock: ContinuousClock(), mailboxLimit: 3,
            overflow: overflow, size: MailboxSize(limit: 10, shared: shared) { $0 }
        ) { state, event in
            state.append(event)
            return .handled
        }
        for event in [1, 2] { #expect(loop.send(event) == .accepted) }
        shared.add(7)
        #expect(loop.send(4) == .dropped(.mailboxFull))
        #expect(loop.counters.droppedByLimit == 1 && loop.snapshot.waiting == 2)
        // The two events make room for three others.
        #expect(loop.send(3) == .accepted)
        shared.add(-7)
        let end = await Self.end(loop)
        #expect(end == [3])
    }

    @Test func `fails where that is a failure, and says by what`() async {
        let loop = Self.make(.fail)
        for event in [5, 6] { loop.send(event) }
        #expect(
            loop.fault?.description
                == "the loop failed: its mailbox, which holds 10 bytes of data, was sent more")
        let other = Self.make(.fail, limit: 1)
        for event in [5, 5] { other.send(event) }
        #expect(other.fault?.description == "the loop failed: its mailbox, which holds one event, was sent one more")
    }

    @Test func `has room again when an event was taken, and while it is paused when one was dropped`() async {
        let loop = Self.make(.dropOldest)
        loop.start()
        loop.pause()
        for event in [6, 6, 4] { loop.send(event) }
        // A marker causes the waiting events to be set aside.
        await confirmation { asked in
            await withCheckedContinuation { done in
                loop.afterPending {
                    asked()
                    done.resume()
                }
            }
        }
        loop.send(7)
        #expect(loop.snapshot.waiting == 1 && loop.counters.droppedByLimit == 3)
        loop.resume()
        await settled(loop)
        #expect(loop.state == [7])
        for _ in 0..<20 {
            #expect(loop.send(10) == .accepted)
            await settled(loop)
        }
        await loop.stop()
        #expect(loop.state.count == 21 && loop.counters.droppedByLimit == 3)
    }

    @Test func `lets those wait who can`() async {
        let loop = Self.make(.dropNewest)
        #expect(loop.send(9) == .accepted)
        let sender = Task { await loop.sendWhenRoom(5) }
        await suspend(while: loop.snapshot.waiting < 2)
        #expect(loop.send(1) == .dropped(.mailboxFull))
        loop.start()
        #expect(await sender.value == .accepted)
        // Both events have been taken.
        await settled(loop)
        #expect(loop.send(10) == .accepted)
        await loop.stop()
        #expect(loop.state == [9, 5, 10])
    }

    @Test func `counts right whatever is done to it`() async {
        var random = SplitMix64(seed: 11)
        for overflow in [Overflow.dropNewest, .dropOldest, .keepLatest] {
            let loop = Self.make(overflow, limit: 5)
            var waiting: [Int] = []
            var dropped: UInt64 = 0
            for _ in 0..<2_000 {
                let event = Int.random(in: 0...12, using: &random)
                func isFull() -> Bool {
                    let bytes = waiting.reduce(0, +)
                    return waiting.count >= 5 || (event > 0 && bytes > 0 && bytes + event > 10)
                }
                if isFull() {
                    switch overflow {
                    case .dropOldest:
                        while isFull() {
                            waiting.remove(at: waiting.count >= 5 ? 0 : waiting.firstIndex { $0 > 0 } ?? 0)
                            dropped += 1
                        }
                        waiting.append(event)
                    case .keepLatest:
                        dropped += UInt64(waiting.count)
                        waiting = [event]
                    default: dropped += 1
                    }
                } else {
                    waiting.append(event)
                }
                loop.send(event)
            }
            #expect(loop.counters.droppedByLimit == dropped)
            #expect(await Self.end(loop) == waiting)
        }
    }

    @Test func `shares a bound with others, and gives back what it holds`() async {
        let shared = SharedBytes(limit: 10)
        func make(_ overflow: Overflow) -> Loop<[Int], Int> {
            Loop(
                initial: [], executor: .sharedPool, clock: ContinuousClock(), mailboxLimit: 100, overflow: overflow,
                size: MailboxSize(limit: 8, shared: shared) { $0 }
            ) { state, event in
                state.append(event)
                return .handled
            }
        }
        let (first, second, third) = (make(.dropNewest), make(.dropOldest), make(.keepLatest))
        let full = SendResult.dropped(.mailboxFull)
        #expect(first.send(8) == .accepted && shared.count == 8)
        // Its own events are not dropped in vain where others hold the room.
        #expect(second.send(2) == .accepted && second.send(3) == full && shared.count == 10)
        #expect(second.send(2) == .accepted && second.counters.droppedByLimit == 2)
        #expect(second.send(0) == .accepted)
        #expect(third.send(3) == full && third.counters.droppedByLimit == 1)
        #expect(await Self.end(first) == [8])
        #expect(await Self.end(second) == [2, 0])
        #expect(shared.count == 0)
        // If the mailbox holds nothing, any event fits.
        #expect(third.send(50) == .accepted && shared.count == 50)
        third.cancel()
        await third.stop()
        #expect(shared.count == 0)
    }
}
