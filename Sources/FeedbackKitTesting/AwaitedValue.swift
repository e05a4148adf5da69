import Synchronization

/// A value shared by several threads that a test can await without polling.
package final class AwaitedValue<Value: Sendable>: Sendable {
    private struct Waiter {
        let id: UInt64
        let holds: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct Machine {
        var value: Value
        var nextID: UInt64 = 1
        var waiters: [Waiter] = []
    }

    private let machine: Mutex<Machine>

    /// Creates a shared value.
    package init(_ value: Value) {
        machine = Mutex(Machine(value: value))
    }

    /// A copy of the value.
    package var value: Value { machine.withLock { $0.value } }

    /// Changes the value under the lock, and resumes the waiters whose condition now holds.
    @discardableResult
    package func change<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        let (result, satisfied) = machine.withLock { machine in
            let result = change(&machine.value)
            let value = machine.value
            var left: [Waiter] = []
            var satisfied: [Waiter] = []
            for waiter in machine.waiters {
                if waiter.holds(value) { satisfied.append(waiter) } else { left.append(waiter) }
            }
            machine.waiters = left
            return (result, satisfied)
        }
        for waiter in satisfied { waiter.continuation.resume() }
        return result
    }

    /// Returns when a condition holds, or when the calling task is cancelled, for example by a time limit.
    ///
    /// - Parameter holds: The condition. It runs under the lock and must not call other code.
    package func wait(until holds: @escaping @Sendable (Value) -> Bool) async {
        let id = machine.withLock { machine in
            defer { machine.nextID += 1 }
            return machine.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = machine.withLock { machine in
                    if holds(machine.value) || Task.isCancelled { return true }
                    machine.waiters.append(Waiter(id: id, holds: holds, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter: Waiter? = machine.withLock { machine in
                machine.waiters.firstIndex { $0.id == id }.map { machine.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
    }
}
