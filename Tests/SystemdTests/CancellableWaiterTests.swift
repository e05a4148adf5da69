import Systemd
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A waiter` {
    private struct Failure: Error, Equatable {}

    @Test func `returns the first result, whenever it arrives`() async throws {
        let waiter = CancellableWaiter<Int>()
        #expect(waiter.current == nil)
        async let value = waiter.value()
        #expect(waiter.resume(with: .success(1)))
        #expect(!waiter.resume(with: .success(2)))
        #expect(try await value == 1)
        #expect(try await waiter.value() == 1)
        #expect(waiter.current == 1)
    }

    @Test func `throws the error that arrives`() async {
        let waiter = CancellableWaiter<Int>()
        waiter.resume(with: .failure(Failure()))
        await #expect(throws: Failure()) { try await waiter.value() }
        #expect(waiter.current == nil)
    }

    @Test func `lets a cancelled task stop waiting, and still takes the value`() async throws {
        let waiter = CancellableWaiter<Int>()
        let task = Task { try await waiter.value() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(waiter.resume(with: .success(1)))
        #expect(try await waiter.value() == 1)
    }

    @Test func `loses no cancellation that comes while the task begins to wait`() async {
        for round in 0..<5_000 {
            let waiter = CancellableWaiter<Int>()
            let task = Task { try await waiter.value() }
            // Varies how far the task is when the cancellation comes. Each round ends in the same way.
            if round.isMultiple(of: 2) { await Task.yield() }
            for _ in 0..<(round % 50) { _ = waiter.current }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `can wait without regard to cancellation`() async throws {
        let waiter = CancellableWaiter<Int>()
        let task = Task { try await waiter.valueIgnoringCancellation() }
        task.cancel()
        waiter.resume(with: .success(1))
        #expect(try await task.value == 1)
    }
}
