import Synchronization
import Systemd

/// System calls that may block without limit on a disk or a network file system, each on its own thread.
package enum Blocking {
    /// The most concurrent calls, including those that hang.
    package static let limit = 64

    /// The time that a cancelled task waits for a call. A call that does not hang has then closed its files.
    package static let grace = Duration.milliseconds(250)

    private static let count = Atomic<Int>(0)

    /// Makes a call and returns its result. A cancelled task waits only for the grace period. A call that hangs then
    /// continues alone, and its result is discarded.
    package static func call<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async throws -> Result {
        guard count.add(1, ordering: .relaxed).newValue <= limit else {
            count.subtract(1, ordering: .relaxed)
            throw SensingProblem("\(limit) system calls hang; is a file system unreachable?")
        }
        let body = Mutex<(@Sendable () -> Result)?>(body)
        let waiter = CancellableWaiter<Result>()
        let hasStarted = DetachedThread.start {
            // Everything that the call captured is released before the result is given.
            if let result = take(body) { waiter.resume(with: .success(result)) }
            count.subtract(1, ordering: .relaxed)
        }
        guard hasStarted else {
            count.subtract(1, ordering: .relaxed)
            throw SensingProblem.noThread
        }
        return try await withTaskCancellationHandler {
            try await waiter.valueIgnoringCancellation()
        } onCancel: {
            Task.detached {
                // The system clock applies even if the daemon has another clock, because this is a wait for a system
                // call.
                try? await Task.sleep(for: grace)
                waiter.resume(with: .failure(CancellationError()))
            }
        }
    }

    /// Makes the call that a box holds, and empties the box.
    private static func take<Result>(_ box: borrowing Mutex<(@Sendable () -> Result)?>) -> Result? {
        let body = box.withLock { body in
            defer { body = nil }
            return body
        }
        return body?()
    }
}
