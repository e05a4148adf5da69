public import FeedbackKit
import Synchronization

/// An executor that runs everything on the threads of the library, and knows when nothing is left to run.
///
/// Give it to a loop or a host on a ``ManualClock``. Then ``settled()`` returns when all that was sent has been handled,
/// with all consequences, and the rest waits for the clock or for something outside. A test needs no pause and no count of
/// activations:
///
/// ```swift
/// let executor = SettlingPool()
/// let loop = Loop(initial: 0, executor: executor, clock: clock) { … }
/// loop.start()
/// await executor.settled()
/// ```
///
/// Work on other executors, for example an unstructured task without a preference, is not seen.
public final class SettlingPool: LoopExecutor, TaskExecutor, SettlingExecutor {
    private struct State {
        /// The number of turns and jobs that wait or run.
        var outstanding = 0
        var activity: UInt64 = 0
        var waiters: [CheckedContinuation<Void, Never>] = []

        mutating func begin() {
            outstanding += 1
            activity &+= 1
        }

        mutating func end() -> [CheckedContinuation<Void, Never>] {
            outstanding -= 1
            guard outstanding == 0 else { return [] }
            defer { waiters = [] }
            return waiters
        }
    }

    private let state = Mutex(State())
    private let pool = SharedPool()

    /// The maximum number of events in one turn, as for the systems of a host.
    public var eventsPerTurn: Int { 16 }

    /// This executor.
    public var taskExecutor: (any TaskExecutor)? { self }

    /// The number of turns and jobs so far.
    package var activity: UInt64 { state.withLock { $0.activity } }

    /// Creates an executor with nothing to run.
    public init() {}

    /// Runs the turn of a loop on one of the pool's threads.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        state.withLock { $0.begin() }
        pool.enqueue { [self] in
            turn()
            end()
        }
    }

    /// Runs a part of a task on one of the pool's threads.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.begin() }
        pool.enqueue { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
            end()
        }
    }

    /// Returns when no turn and no job waits or runs. The caller must not run on this executor.
    public func settled() async {
        await withCheckedContinuation { continuation in
            let isSettled = state.withLock { state in
                if state.outstanding > 0 { state.waiters.append(continuation) }
                return state.outstanding == 0
            }
            if isSettled { continuation.resume() }
        }
    }

    private func end() {
        for waiter in state.withLock({ $0.end() }) { waiter.resume() }
    }
}
