import Synchronization
import Systemd

/// Calls of the system that may block for as long as a disk or a network file system likes, each on a thread of its own.
package enum Blocking {
    /// How many may be under way at once; those that hang count.
    package static let limit = 64

    /// How long a task that is cancelled waits for a call: one that does not hang has then closed what it had open.
    package static let grace = Duration.milliseconds(250)

    private static let count = Atomic<Int>(0)

    /// What one thread hands to one task.
    private final class Handover<Result: Sendable>: Sendable {
        private struct Machine {
            var result: Result?
            var waiter: CheckedContinuation<Result?, Never>?
            var isLeft = false
        }

        private let machine = Mutex(Machine())
        private let body: Mutex<(@Sendable () -> Result)?>

        init(_ body: @escaping @Sendable () -> Result) {
            self.body = Mutex(body)
        }

        /// Calls. Of what the call had, nothing is left when its result is given.
        func perform() {
            if let result = call() { give(result) }
        }

        private func call() -> Result? {
            let body = body.withLock { body in
                defer { body = nil }
                return body
            }
            return body?()
        }

        private func give(_ result: Result) {
            let waiter = machine.withLock { machine in
                machine.result = result
                defer { machine.waiter = nil }
                return machine.waiter
            }
            waiter?.resume(returning: result)
        }

        /// Nobody wants the result any more.
        func leave() {
            let waiter = machine.withLock { machine in
                machine.isLeft = true
                defer { machine.waiter = nil }
                return machine.waiter
            }
            waiter?.resume(returning: nil)
        }

        /// The result; `nil` if nobody wants it.
        func take() async -> Result? {
            await withCheckedContinuation { continuation in
                let answer: Result?? = machine.withLock { machine in
                    if machine.isLeft { return .some(nil) }
                    if let result = machine.result { return result }
                    machine.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        }
    }

    /// Calls, and returns what it gave. A task that is cancelled waits no longer than a grace: then a call that hangs is
    /// left to itself, and what it gives is forgotten.
    package static func call<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async throws -> Result {
        guard count.add(1, ordering: .relaxed).newValue <= limit else {
            count.subtract(1, ordering: .relaxed)
            throw SensingProblem("\(limit) system calls hang; is a file system unreachable?")
        }
        let handover = Handover(body)
        let hasStarted = DetachedThread.start {
            handover.perform()
            count.subtract(1, ordering: .relaxed)
        }
        guard hasStarted else {
            count.subtract(1, ordering: .relaxed)
            throw SensingProblem("the system cannot create a thread")
        }
        let result = await withTaskCancellationHandler {
            await handover.take()
        } onCancel: {
            Task.detached {
                // By the machine's own clock, whatever the daemon's is: it is a call of the system that is waited for.
                try? await Task.sleep(for: grace)
                handover.leave()
            }
        }
        guard let result else { throw CancellationError() }
        return result
    }
}
