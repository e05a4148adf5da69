import TestSupport
import Testing

/// The helpers of the tests themselves.
@Suite struct `Waits of tests` {
    @Test func `may not block a thread of the concurrency pool`() async {
        await #expect(processExitsWith: .failure) {
            // It would be admitted at once, but a test that blocks there may hang another time.
            await Task.detached { ThreadSemaphore(value: 1).wait() }.value
        }
        await #expect(processExitsWith: .failure) { await Task.detached { blockThread(until: true) }.value }
    }

    @Test func `may block threads of their own`() async {
        let semaphore = ThreadSemaphore()
        await onThreads(2) { number in
            if number == 0 { semaphore.wait() } else { semaphore.signal() }
            blockThread(until: true)
        }
    }
}
