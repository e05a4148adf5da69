import DequeModule
import Synchronization

/// Threads that run the turns of loops, one for each processor.
///
/// Each worker has its own queue. It also has a slot for the latest request of the running activation. That request runs
/// next, on the same thread. A worker without work takes half of the queue of another worker. If an activation takes more
/// than two milliseconds, the monitor gives the activations behind it to other workers, or to a spare one if all are busy.
///
/// Sources: R. D. Blumofe and C. E. Leiserson, "Scheduling Multithreaded Computations by Work Stealing", 1994; the
/// schedulers of Tokio (the slot, the count of searching workers) and of Go (the monitor).
@usableFromInline
package final class WorkerPool: Sendable {
    /// The common pool of all loops.
    @usableFromInline package static let shared = WorkerPool(workers: usualWorkers)

    /// The number of workers for the processors of this machine.
    package static var usualWorkers: Int { min(WorkerThread.processors, mostWorkers) }

    /// The maximum number of workers of a pool, without the spare ones.
    static let mostWorkers = 32
    /// The maximum number of arrivals that a worker takes at once.
    private static let largestBatch = 32
    /// The time without work after which a spare worker gives its thread back, in milliseconds.
    package static let usualSpareRest = 10_000

    private struct Guarded {
        /// Activations from other threads, and from behind an activation that does not end.
        var arrivals = Deque<Activation>()
        /// The workers with a thread, one bit each.
        var started: UInt64 = 0
        var hasMonitor = false
    }

    let workers: [Worker]
    /// The workers without the spare ones, one bit each.
    let regulars: UInt64
    let monitor = WorkerMonitor()
    private let guarded = Mutex(Guarded())
    private let arrivalCount = Atomic<Int>(0)
    private let rosterWord: Atomic<UInt64>
    private let isClosed = Atomic<Bool>(false)
    private let spareRest: Int

    /// A pool with 1 to 32 workers, and spare ones. A thread begins with its first work, or with ``start()``.
    ///
    /// - Parameter spareRest: The time without work after which a spare worker gives its thread back, in milliseconds.
    package init(workers count: Int, spareRest: Int = usualSpareRest) {
        precondition((1...Self.mostWorkers).contains(count), "a pool has 1 to 32 workers, not \(count)")
        workers = (0..<Roster.limit).map { Worker($0) }
        self.spareRest = spareRest
        regulars = Roster(idle: count).idle
        rosterWord = Atomic(Roster(idle: Roster.limit).word)
    }

    // MARK: Asking

    /// Runs an activation soon. The request of a worker of this pool runs next on the same thread, or on another one if the
    /// running activation takes long.
    @usableFromInline
    package func enqueue(_ activation: Activation) {
        guard let seat = WorkerThread.seat, seat.pool === self else { return arrive(CollectionOfOne(activation)) }
        if seat.worker.follow(activation) { wake() }
    }

    /// Runs an activation after the others that wait.
    @usableFromInline
    package func enqueueBehind(_ activation: Activation) {
        guard let seat = WorkerThread.seat, seat.pool === self else { return arrive(CollectionOfOne(activation)) }
        seat.worker.queue(CollectionOfOne(activation))
        wake()
    }

    /// Queues activations for any worker.
    func arrive(_ activations: some Collection<Activation>) {
        guarded.withLock { guarded in
            guarded.arrivals.append(contentsOf: activations)
            arrivalCount.store(guarded.arrivals.count, ordering: .releasing)
        }
        wake()
    }

    /// The number of threads that ``start()`` creates.
    package var threads: Int { regulars.nonzeroBitCount + 1 }

    /// The number of workers that have a thread now, the spare ones included.
    package var startedWorkers: Int { guarded.withLock { $0.started.nonzeroBitCount } }

    /// Starts the threads of the workers, without the spare ones, and that of the monitor. Returns `false` if the system cannot
    /// create all of them.
    package func start() -> Bool {
        var isComplete = true
        for worker in workers where regulars & (1 << UInt64(worker.index)) != 0 {
            // A worker that is not idle has a thread already, or is about to get it.
            guard change({ $0.reclaim(worker.index) }) else { continue }
            if !rouse(worker) { isComplete = false }
        }
        return isComplete && guarded.withLock { $0.hasMonitor }
    }

    /// Ends the threads of a pool without work.
    package func close() {
        isClosed.store(true, ordering: .sequentiallyConsistent)
        monitor.parker.call()
        for worker in workers { worker.parker.call() }
    }

    // MARK: The roster

    var roster: Roster { Roster(word: rosterWord.load(ordering: .sequentiallyConsistent)) }

    /// Changes the roster as one step.
    private func change<Result>(_ body: (inout Roster) -> Result) -> Result {
        var word = rosterWord.load(ordering: .relaxed)
        while true {
            var roster = Roster(word: word)
            let result = body(&roster)
            let (exchanged, original) = rosterWord.compareExchange(
                expected: word, desired: roster.word, ordering: .sequentiallyConsistent)
            if exchanged { return result }
            word = original
        }
    }

    /// Wakes an idle worker for added work, unless a worker searches already.
    ///
    /// - Parameter mayTakeSpare: A Boolean value that indicates whether a spare worker is woken if no other one is idle.
    func wake(mayTakeSpare: Bool = false) {
        // A worker that becomes idle after this sees the added work.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let these = mayTakeSpare ? .max : regulars
        let seen = Roster(word: rosterWord.load(ordering: .relaxed))
        guard seen.searches == 0, seen.idle & these != 0, let index = change({ $0.wake(these) }) else { return }
        if rouse(workers[index]) { return }
        // The system has no more threads: the others do the work.
        precondition(guarded.withLock { $0.started } != 0, "the system has no thread for a worker")
    }

    /// Calls a worker that the roster counts among the searching ones, or starts its thread. Returns `false` if the system
    /// cannot create the thread; the worker is idle again then.
    private func rouse(_ worker: Worker) -> Bool {
        let (isNew, needsMonitor) = guarded.withLock { guarded in
            defer {
                guarded.started |= 1 << UInt64(worker.index)
                guarded.hasMonitor = true
            }
            return (guarded.started & (1 << UInt64(worker.index)) == 0, !guarded.hasMonitor)
        }
        let hasThread = isNew ? start(worker) : true
        if !isNew { worker.parker.call() }
        if needsMonitor { startMonitor() } else { monitor.noteWork() }
        return hasThread
    }

    private func start(_ worker: Worker) -> Bool {
        if WorkerThread.start(at: WorkerThread.Seat(worker, of: self), { [self] in work(worker) }) { return true }
        guarded.withLock { $0.started &= ~(1 << UInt64(worker.index)) }
        change { $0.park(worker.index, wasSearching: true) }
        return false
    }

    /// Without a monitor, activations wait behind one that blocks.
    private func startMonitor() {
        let isStarted = WorkerThread.start { [self] in
            while !isClosed.load(ordering: .acquiring) { monitor.look(at: self) }
        }
        if !isStarted { guarded.withLock { $0.hasMonitor = false } }
    }

    // MARK: Working

    /// Runs the activations of a worker until the pool is closed. The worker begins as a searching one.
    private func work(_ worker: Worker) {
        var isSearching = true
        while true {
            if let activation = next(for: worker) {
                if isSearching {
                    isSearching = false
                    // A sender that added work in the meantime has woken no other worker.
                    if change({ $0.endSearch() }), hasWork { wake() }
                }
                worker.run(activation)
                continue
            }
            if isClosed.load(ordering: .sequentiallyConsistent) { return }
            let wasSearching = isSearching
            change { $0.park(worker.index, wasSearching: wasSearching) }
            if hasWork, change({ $0.reclaim(worker.index) }) {
                // The monitor may have fallen asleep in between.
                monitor.noteWork()
            } else if !isCalled(worker) {
                return
            }
            isSearching = true
        }
    }

    /// Waits until an idle worker is called. Returns `false` if it is a spare one that nobody has called for long: then its thread
    /// must end, so that the system has it for other work.
    private func isCalled(_ worker: Worker) -> Bool {
        let isRegular = regulars & (1 << UInt64(worker.index)) != 0
        if !isRegular, worker.parker.wait(milliseconds: spareRest) { return true }
        // A regular worker waits as long as it takes, and so does one that another thread is about to call.
        guard !isRegular, change({ $0.reclaim(worker.index) }) else {
            worker.parker.wait()
            return true
        }
        if hasWork { return true }
        guarded.withLock { $0.started &= ~(1 << UInt64(worker.index)) }
        change { $0.park(worker.index, wasSearching: true) }
        // A sender that saw this search has woken no other worker.
        if hasWork { wake() }
        return false
    }

    /// A Boolean value that indicates whether any worker can take something.
    var hasWork: Bool {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return hasArrivals || workers.contains { $0.hasQueue }
    }

    /// A Boolean value that indicates whether there are arrivals.
    var hasArrivals: Bool { arrivalCount.load(ordering: .acquiring) > 0 }

    private func next(for worker: Worker) -> Activation? {
        if hasArrivals, worker.looksOutside(), let activation = takeArrivals(for: worker) { return activation }
        return worker.next() ?? takeArrivals(for: worker) ?? steal(for: worker)
    }

    /// Takes a share of the arrivals. Returns the first and queues the others.
    private func takeArrivals(for worker: Worker) -> Activation? {
        guard hasArrivals else { return nil }
        let taken = guarded.withLock { guarded -> [Activation] in
            let count = min(guarded.arrivals.count, Self.largestBatch)
            // The rest is for the other workers.
            let share = (count + regulars.nonzeroBitCount - 1) / regulars.nonzeroBitCount
            let taken = Array(guarded.arrivals.prefix(share))
            guarded.arrivals.removeFirst(taken.count)
            arrivalCount.store(guarded.arrivals.count, ordering: .releasing)
            return taken
        }
        worker.queue(taken.dropFirst())
        return taken.first
    }

    /// Takes half of the queue of another worker. Returns the first and queues the others.
    private func steal(for worker: Worker) -> Activation? {
        for step in 1..<workers.count {
            let taken = workers[(worker.index + step) % workers.count].giveHalf()
            if let first = taken.first {
                worker.queue(taken.dropFirst())
                return first
            }
        }
        return nil
    }
}
