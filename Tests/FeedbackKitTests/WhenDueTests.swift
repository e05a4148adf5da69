import FeedbackKit
import FeedbackKitTesting
import Testing

/// Decisions on the loop's executor, behind the events sent before.
@Suite struct `Something that may be due` {
    init() { Traveller.departIfWanted() }

    private static func loop(
        _ record: Record<Int>, limit: Int = .max, feedbacks: [Feedback<Int, Int>] = []
    ) -> Loop<Int, Int> {
        Loop(initial: 0, feedbacks: feedbacks, executor: .sendersThread, mailboxLimit: limit) { state, event in
            record.add(event)
            state = event
            return .handled
        }
    }

    @Test func `is decided behind the events sent before, and its event is taken before those sent later`() async {
        let record = Record<Int>()
        let loop = Self.loop(record)
        loop.start()
        loop.pause()
        loop.send(1)
        loop.whenDue({ [weak loop] in loop.map { $0.state * 10 + 2 } }, ended: { record.add(-1) })
        loop.send(3)
        loop.whenDue({ nil }, ended: { record.add(-1) })
        #expect(record.values.isEmpty)
        loop.resume()
        #expect(record.values == [1, 12, 3])
        #expect(loop.counters.events == 3)
        await loop.stop()
        #expect(record.values == [1, 12, 3])
    }

    @Test func `is decided at once where nothing waits`() async {
        let record = Record<Int>()
        let loop = Self.loop(record)
        loop.start()
        loop.whenDue({ 7 }, ended: {})
        #expect(record.values == [7] && loop.state == 7)
        await loop.stop()
    }

    @Test func `takes no room in the mailbox`() async {
        let record = Record<Int>()
        let loop = Self.loop(record, limit: 1)
        loop.start()
        loop.pause()
        loop.whenDue({ 1 }, ended: {})
        loop.whenDue({ 2 }, ended: {})
        #expect(loop.send(3) == .accepted)
        #expect(loop.send(4) == .dropped(.mailboxFull))
        loop.resume()
        #expect(record.values == [1, 2, 3])
        await loop.stop()
    }

    @Test func `is shown to feedbacks as the cause of its state`() async {
        let record = Record<Int>()
        let causes = Record<Int>()
        let loop = Self.loop(
            record,
            feedbacks: [
                .sink { _, event in
                    if let event { causes.add(event) }
                }
            ])
        loop.start()
        loop.whenDue({ 5 }, ended: {})
        #expect(causes.values == [5])
        await loop.stop()
    }

    @Test(arguments: [true, false])
    func `is told of the end of a loop that ends before`(isGentle: Bool) async {
        let record = Record<Int>()
        let loop = Self.loop(record)
        loop.start()
        loop.pause()
        loop.whenDue({ 1 }, ended: { record.add(-1) })
        if isGentle { loop.beginStop() } else { loop.cancel() }
        #expect(record.values == [-1])
        await loop.stopped()
        loop.whenDue({ 1 }, ended: { record.add(-2) })
        #expect(record.values == [-1, -2])
    }

    @Test func `waits for a loop that has not been started`() async {
        let record = Record<Int>()
        let loop = Self.loop(record)
        loop.whenDue({ 1 }, ended: { record.add(-1) })
        #expect(record.values.isEmpty)
        loop.start()
        #expect(record.values == [1])
        await loop.stop()
    }
}
