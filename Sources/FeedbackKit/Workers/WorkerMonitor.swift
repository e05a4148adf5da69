import Synchronization

/// Finds activations that do not end, and gives the activations behind them to other workers. It looks every two
/// milliseconds while a worker is awake, so an activation waits at most four milliseconds for another loop.
final class WorkerMonitor: Sendable {
    /// The time between two looks, in milliseconds.
    private static let period = 2

    let parker = Parker()
    private let isAsleep = Atomic<Bool>(false)
    /// The steps of each worker at the last look. Used by its thread only.
    private let seen = Mutex([UInt64](repeating: 0, count: Roster.limit))

    /// Tells the monitor of a woken worker.
    func noteWork() {
        guard isAsleep.load(ordering: .sequentiallyConsistent) else { return }
        parker.call()
    }

    /// Sleeps, and then looks at the workers. If all are idle, it waits for a woken one.
    func look(at pool: WorkerPool) {
        // No event says that an activation does not end, so the monitor's own thread looks from time to time. It does so only
        // while a worker is awake.
        WorkerThread.sleep(milliseconds: Self.period)
        let held = look(at: pool.workers)
        let isHeld = !held.isEmpty
        for worker in held {
            let waiting = worker.giveAll()
            if !waiting.isEmpty { pool.arrive(waiting) }
        }
        if pool.hasArrivals, isHeld, held.count > sparesAtWork(of: pool) { pool.wake(mayTakeSpare: true) }
        guard pool.roster.idle == Roster(idle: Roster.limit).idle else { return }
        isAsleep.store(true, ordering: .sequentiallyConsistent)
        if pool.roster.idle == Roster(idle: Roster.limit).idle { parker.wait() }
        isAsleep.store(false, ordering: .sequentiallyConsistent)
    }

    /// Returns the workers that have run the same activation since the last look.
    private func look(at workers: [Worker]) -> [Worker] {
        seen.withLock { seen in
            workers.filter { worker in
                let steps = worker.steps
                defer { seen[worker.index] = steps }
                return steps % 2 == 1 && steps == seen[worker.index]
            }
        }
    }

    private func sparesAtWork(of pool: WorkerPool) -> Int {
        (~pool.roster.idle & ~pool.regulars & Roster(idle: Roster.limit).idle).nonzeroBitCount
    }
}
