import Synchronization

/// A gate at which side effects wait while their system is paused. They go on when the system is resumed or ends, or
/// when their task is cancelled.
final class PauseGate: Sendable {
    private struct Machine {
        var isPaused = false
        var isClosed = false
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var next: UInt64 = 1

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            defer { waiters = [:] }
            // In their order, so that one seed gives one simulation.
            return waiters.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private let machine = Mutex(Machine())

    /// Makes later callers of ``pass()`` wait.
    func pause() {
        machine.withLock { $0.isPaused = true }
    }

    /// Lets all callers pass again.
    func resume() {
        let waiters = machine.withLock { machine in
            machine.isPaused = false
            return machine.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Lets all callers pass for good, because the system ends. The callers check for that themselves.
    func close() {
        let waiters = machine.withLock { machine in
            machine.isClosed = true
            return machine.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits during a pause. One caller waits for each pending side effect, and their number is limited.
    func pass() async {
        guard machine.withLock({ $0.isPaused && !$0.isClosed }) else { return }
        let number = machine.withLock { machine in
            defer { machine.next += 1 }
            return machine.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayPass = machine.withLock { machine in
                    // A later cancellation finds the continuation among the waiters.
                    guard machine.isPaused, !machine.isClosed, !Task.isCancelled else { return true }
                    machine.waiters[number] = continuation
                    return false
                }
                if mayPass { continuation.resume() }
            }
        } onCancel: {
            let waiter = machine.withLock { $0.waiters.removeValue(forKey: number) }
            waiter?.resume()
        }
    }
}
