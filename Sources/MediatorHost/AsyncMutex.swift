import Synchronization

/// A mutual-exclusion lock for tasks, which enter one at a time in the order of their arrival. A task that is cancelled
/// while it waits leaves the queue at once.
package final class AsyncMutex: Sendable {
    /// The result of an attempt to enter.
    package enum Entry: Sendable, Hashable {
        /// The task has entered, and must call ``leave()``.
        case entered
        /// The task was cancelled before it could enter.
        case cancelled
        /// The maximum number of tasks waits already.
        case full
    }

    private let machine = Mutex(AsyncMutexStateMachine<CheckedContinuation<Entry, Never>>())
    private let limit: Int

    /// Creates a mutex that no task has entered.
    ///
    /// - Parameter limit: The maximum number of waiting tasks.
    package init(limit: Int = .max) {
        self.limit = limit
    }

    /// The number of waiting tasks.
    package var waiting: Int { machine.withLock { $0.waiting } }

    /// Waits until the task may enter. Returns early if the task is cancelled, and at once if the queue is full.
    ///
    /// - Parameter isLimited: A Boolean value that indicates whether the limit on waiting tasks applies.
    package func enter(isLimited: Bool = true) async -> Entry {
        guard !Task.isCancelled else { return .cancelled }
        let arrival = machine.withLock { $0.arrive(limit: isLimited ? limit : .max) }
        guard case .waits(let place) = arrival else { return arrival == .enters ? .entered : .full }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Entry, Never>) in
                switch machine.withLock({ $0.wait(place, with: continuation) }) {
                case .enters: continuation.resume(returning: .entered)
                case .goes: continuation.resume(returning: .cancelled)
                case .waits: break
                }
            }
        } onCancel: {
            let continuation = machine.withLock { $0.cancel(place) }
            continuation?.resume(returning: .cancelled)
        }
    }

    /// Leaves the mutex, and lets the next task enter.
    package func leave() {
        let next = machine.withLock { $0.leave() }
        next?.resume(returning: .entered)
    }
}
