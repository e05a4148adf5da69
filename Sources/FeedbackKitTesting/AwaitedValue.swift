import Synchronization

/// A value shared by several threads that a test can await without polling. Many tasks may wait, each for its own
/// condition.
package final class AwaitedValue<Value: Sendable>: Sendable {
    private struct Waiter {
        let id: UInt64
        let holds: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var value: Value
        var nextID: UInt64 = 1
        var waiters: [Waiter] = []
    }

    private let state: Mutex<State>

    /// Creates a shared value.
    package init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    /// A copy of the value.
    package var value: Value { state.withLock { $0.value } }

    /// Changes the value under the lock, and resumes the waiters whose condition now holds.
    @discardableResult
    package func change<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        let (result, satisfied) = state.withLock { state in
            let result = change(&state.value)
            let value = state.value
            var left: [Waiter] = []
            var satisfied: [Waiter] = []
            for waiter in state.waiters {
                if waiter.holds(value) { satisfied.append(waiter) } else { left.append(waiter) }
            }
            state.waiters = left
            return (result, satisfied)
        }
        for waiter in satisfied { waiter.continuation.resume() }
        return result
    }

    /// Returns when a condition holds, or when the calling task is cancelled, for example by a time limit.
    ///
    /// - Parameter holds: The condition. It runs under the lock and must not call other code.
    package func wait(until holds: @escaping @Sendable (Value) -> Bool) async {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = state.withLock { state in
                    if holds(state.value) || Task.isCancelled { return true }
                    state.waiters.append(Waiter(id: id, holds: holds, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter: Waiter? = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
    }
}
