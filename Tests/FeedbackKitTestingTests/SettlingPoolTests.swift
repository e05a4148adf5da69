import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A pool that settles` {
    private let executor = SettlingPool()
    private let clock = ManualClock()

    /// Returns a loop that counts its events. For each event, a task passes it on, and sends the next lower one.
    private func counter(next: Loop<Int, Int>?) -> Loop<Int, Int> {
        Loop(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { (_: Int, event: Int?) -> Effect<Int> in
                    guard let event else { return .nothing }
                    return .run { send in
                        await Task.yield()
                        next?.send(event)
                        if event > 0 { send(event - 1) }
                    }
                }
            ], executor: executor, clock: clock
        ) { state, _ in
            state += 1
            return .handled
        }
    }

    @Test func `is settled after all consequences, in several loops and their tasks`() async {
        let third = counter(next: nil)
        let second = counter(next: third)
        let first = counter(next: second)
        let loops = [first, second, third]
        for loop in loops { loop.start() }
        await executor.settled()
        first.send(9)
        await executor.settled()
        // The events 9 to 0; then as many for each of them, from that number to 0; and so once more.
        #expect(loops.map(\.state) == [10, 55, 220])
        for loop in loops {
            #expect(loop.snapshot.feedbacks[0].running == 0)
            loop.cancel()
        }
    }

    @Test func `is settled while a task sleeps, and again after an advance`() async throws {
        let log = Log()
        let task = Task(executorPreference: executor) { [clock] in
            for seconds in 1...3 {
                try await clock.sleep(for: .seconds(seconds))
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<3 { group.addTask { log.add("\(clock.now.offset)") } }
                }
            }
        }
        await executor.settled()
        #expect(log.lines.isEmpty && clock.nextDeadline?.offset == .seconds(1))
        clock.advance(by: .milliseconds(999))
        await executor.settled()
        #expect(log.lines.isEmpty && clock.nextDeadline?.offset == .seconds(1))
        var expected: [String] = []
        for next: Duration? in [.seconds(3), .seconds(6), nil] {
            guard let due = clock.nextDeadline else { break }
            clock.advance(by: clock.now.duration(to: due))
            await executor.settled()
            expected += Array(repeating: "\(due.offset)", count: 3)
            #expect(log.lines == expected)
            #expect(clock.nextDeadline?.offset == next)
        }
        #expect(log.lines.count == 9)
        try await task.value
    }

    @Test func `is settled while waits of a loop last, and again after an advance`() async {
        let loop = Loop<[Int], Int>(
            initial: [],
            feedbacks: [
                Feedback(cancellation: .never) { (_: [Int], event: Int?) -> Effect<Int> in
                    event == nil ? .all([.after(.seconds(2), 2), .after(.seconds(1), 1)]) : .nothing
                }
            ], executor: executor, clock: clock
        ) { state, event in
            state.append(event)
            return .handled
        }
        loop.start()
        await executor.settled()
        #expect(loop.state == [] && clock.nextDeadline?.offset == .seconds(1))
        clock.advance(by: .seconds(1))
        await executor.settled()
        #expect(loop.state == [1] && clock.nextDeadline?.offset == .seconds(2))
        clock.advance(by: .seconds(1))
        await executor.settled()
        #expect(loop.state == [1, 2] && clock.nextDeadline == nil)
        loop.cancel()
    }

    @Test func `is settled at once if there is nothing to run`() async {
        await executor.settled()
        executor.enqueue {}
        for _ in 0..<3 { await executor.settled() }
    }

    @Test func `lets all callers wait for the end of the last work`() async {
        let (log, mayEnd) = (Log(), ThreadSemaphore())
        executor.enqueue { [executor] in
            mayEnd.wait()
            executor.enqueue { log.add("work") }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { [executor] in
                    await executor.settled()
                    log.add("settled")
                }
            }
            mayEnd.signal()
        }
        #expect(log.lines == ["work", "settled", "settled", "settled"])
    }

    @Test func `is settled when the events of many senders have been handled`() async {
        let (threads, events) = (4, 1_000)
        let second = Loop<Int, Int>(initial: 0, executor: executor, clock: clock) { state, event in
            state += event
            return .handled
        }
        let first = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { (_: Int, event: Int?) -> Effect<Int> in
                    guard let event else { return .nothing }
                    // Half of them take the way through a task.
                    guard event.isMultiple(of: 2) else { return .run { _ in _ = second.send(1) } }
                    second.send(1)
                    return .nothing
                }
            ], executor: executor, clock: clock
        ) { state, _ in
            state += 1
            return .handled
        }
        first.start()
        second.start()
        for round in 1...5 {
            await onThreads(threads) { _ in
                for event in 0..<events { first.send(event) }
            }
            await executor.settled()
            #expect(first.state == round * threads * events && second.state == first.state)
        }
        first.cancel()
        second.cancel()
    }
}
