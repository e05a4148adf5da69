import Synchronization

/// Lets one through at a time, in the order in which they came. Who is cancelled while waiting goes away at once.
package final class AsyncMutex: Sendable {
    /// What came of an attempt to enter.
    package enum Entry: Sendable, Hashable {
        /// It is one's turn: ``leave()`` must follow.
        case entered
        /// The task was cancelled while it waited.
        case cancelled
        /// As many wait already as may wait.
        case full
    }

    private let machine = Mutex(AsyncMutexStateMachine<CheckedContinuation<Entry, Never>>())
    private let limit: Int

    /// - Parameter limit: how many may wait at a time.
    package init(limit: Int = .max) {
        self.limit = limit
    }

    /// How many wait.
    package var waiting: Int { machine.withLock { $0.waiting } }

    /// Returns when it is one's turn, or it is not going to be.
    ///
    /// - Parameter isLimited: whether not to wait where as many wait as may wait.
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

    /// The next one may come.
    package func leave() {
        let next = machine.withLock { $0.leave() }
        next?.resume(returning: .entered)
    }
}
