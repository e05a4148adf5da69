import SideEffects
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct `A call that may block` {
    @Test func `returns its result`() async throws {
        #expect(try await Blocking.call { 42 } == 42)
    }

    @Test func `does not delay a cancelled task, although it hangs`() async throws {
        let (begun, end) = (AsyncStream<Void>.makeStream(), ThreadSemaphore())
        let task = Task {
            try await Blocking.call {
                begun.continuation.finish()
                end.wait()
                return 42
            }
        }
        for await _ in begun.stream {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        end.signal()
    }
}
