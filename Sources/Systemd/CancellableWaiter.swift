import Synchronization

/// A value that arrives once, and that one task may wait for.
package final class CancellableWaiter<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var continuation: CheckedContinuation<Value, any Error>?
    }

    private let state = Mutex(State())

    /// Creates a waiter without a value.
    package init() {}

    /// The value, if it has arrived.
    package var current: Value? { state.withLock { try? $0.result?.get() } }

    /// Gives the value or an error to the waiting task. Only the first result counts.
    ///
    /// - Returns: Whether this was the first result.
    @discardableResult
    package func resume(with result: Result<Value, any Error>) -> Bool {
        let (isFirst, continuation) = state.withLock { state in
            guard state.result == nil else { return (false, nil as CheckedContinuation<Value, any Error>?) }
            state.result = result
            defer { state.continuation = nil }
            return (true, state.continuation)
        }
        continuation?.resume(with: result)
        return isFirst
    }

    /// Waits for the value. Only one task may wait at a time.
    ///
    /// A cancelled task stops waiting at once. The value may still arrive afterwards.
    ///
    /// - Throws: The error given instead of a value, or `CancellationError`.
    package func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait($0, heedsCancellation: true) }
        } onCancel: {
            let continuation = state.withLock { state in
                defer { state.continuation = nil }
                return state.continuation
            }
            continuation?.resume(throwing: CancellationError())
        }
    }

    /// Waits for the value like ``value()``, but does not respond to cancellation.
    package func valueIgnoringCancellation() async throws -> Value {
        try await withCheckedThrowingContinuation { wait($0, heedsCancellation: false) }
    }

    private func wait(_ continuation: CheckedContinuation<Value, any Error>, heedsCancellation: Bool) {
        let result: Result<Value, any Error>? = state.withLock { state in
            if let result = state.result { return result }
            // Read under the lock: a cancellation that comes later finds the continuation.
            if heedsCancellation, Task.isCancelled { return .failure(CancellationError()) }
            state.continuation = continuation
            return nil
        }
        if let result { continuation.resume(with: result) }
    }
}
