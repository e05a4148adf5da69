import Synchronization

/// Holds up what is to begin while a system is paused. Who waits goes on when it is resumed, when the system ends, or when
/// their task is cancelled.
final class PauseGate: Sendable {
    private struct Machine {
        var isPaused = false
        var isClosed = false
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var next: UInt64 = 1

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }

    private let machine = Mutex(Machine())

    /// From now on nobody passes.
    func pause() {
        machine.withLock { $0.isPaused = true }
    }

    /// Everybody passes again.
    func resume() {
        let waiters = machine.withLock { machine in
            machine.isPaused = false
            return machine.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// The system ends: everybody passes, and finds that out for themselves.
    func close() {
        let waiters = machine.withLock { machine in
            machine.isClosed = true
            return machine.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns at once, or when it may go on. As many wait as there are side effects that are to begin, whose number is
    /// limited.
    func pass() async {
        guard machine.withLock({ $0.isPaused && !$0.isClosed }) else { return }
        let number = machine.withLock { machine in
            defer { machine.next += 1 }
            return machine.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayPass = machine.withLock { machine in
                    // Cancellation that comes later finds it among those who wait.
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
