import MediatorDaemon
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A thread of timers` {
    @Test func `calls functions in the order of their times, and at once if the time has passed`() async throws {
        let thread = try #require(TimerThread())
        let start = ContinuousClock.now
        // It holds the thread until all are added.
        let areAdded = ThreadSemaphore()
        thread.call(at: start) { areAdded.wait() }
        let (calls, continuation) = AsyncStream<(Int, ContinuousClock.Instant)>.makeStream()
        for (number, delay) in [(3, 40), (1, 10), (2, 20), (0, -5)] {
            thread.call(at: start + .milliseconds(delay)) { continuation.yield((number, .now)) }
        }
        areAdded.signal()
        var found: [Int] = []
        for await (number, time) in calls.prefix(4) {
            found.append(number)
            #expect(time >= start + .milliseconds([-5, 10, 20, 40][number]))
        }
        #expect(found == [0, 1, 2, 3])
    }

    @Test func `keeps the order of functions of the same time`() async throws {
        let thread = try #require(TimerThread())
        let time = ContinuousClock.now
        let (calls, continuation) = AsyncStream<Int>.makeStream()
        for number in 0..<1_000 { thread.call(at: time) { continuation.yield(number) } }
        var found: [Int] = []
        for await number in calls.prefix(1_000) { found.append(number) }
        #expect(found == Array(0..<1_000))
    }
}
