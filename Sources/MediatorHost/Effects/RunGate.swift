import CommonExpression
import MediatorConfiguration
import Synchronization

/// Limits the concurrency of the runs of a feedback. Its mode and limit decide which runs begin, and when.
///
/// The order of runs is the order of their requests, which come in the activation of the system. Their tasks may begin in
/// any order.
final class RunGate: Sendable {
    /// The reason for the refusal of a run.
    enum Refusal: Error {
        /// Another run is active, and the mode allows only one.
        case busy
        /// The number of runs has reached its limit.
        case full
    }

    /// The runs of one key.
    private struct Lane {
        var count = 0
        /// The run that was requested last, until it ends.
        var last: RunTurn.Link?
    }

    private struct Machine {
        var count = 0
        /// The lanes with a run.
        var lanes: [Value?: Lane] = [:]
        /// The callers of ``emptied()`` that wait.
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 1
    }

    private let machine = Mutex(Machine())
    private let mode: RunMode
    private let limit: Int
    /// The executor of runs that another run may replace.
    fileprivate let executor: (any TaskExecutor)?

    init(mode: RunMode, limit: Int, executor: (any TaskExecutor)? = nil) {
        self.executor = executor
        self.mode = mode
        self.limit = mode == .single ? 1 : mode == .restart ? FeedbackDefinition.mostRuns : limit
    }

    /// Asks for a run. It counts until its turn is released.
    ///
    /// - Parameter key: The key of the run. Mode and limit apply to the runs of one key. All keys together have at most
    ///   ``/MediatorConfiguration/FeedbackDefinition/mostRuns`` runs.
    func enter(_ key: Value? = nil) throws(Refusal) -> RunTurn {
        let link = RunTurn.Link()
        let (refusal, previous) = machine.withLock { machine -> (Refusal?, RunTurn.Link?) in
            var lane = machine.lanes[key] ?? Lane()
            guard lane.count < limit else { return (mode == .single ? .busy : .full, nil) }
            guard machine.count < FeedbackDefinition.mostRuns else { return (.full, nil) }
            machine.count += 1
            lane.count += 1
            let previous = mode == .queued || mode == .restart ? lane.last : nil
            if mode == .queued || mode == .restart { lane.last = link }
            machine.lanes[key] = lane
            return (nil, previous)
        }
        if let refusal { throw refusal }
        if mode == .restart { previous?.cancel() }
        return RunTurn(self, link, key, after: previous, mayBeReplaced: mode == .restart)
    }

    /// A Boolean value that indicates whether a run is active or queued.
    var isInUse: Bool { machine.withLock { $0.count > 0 } }

    /// Returns when there is no run, or when the task is cancelled.
    func emptied() async {
        let id = machine.withLock { machine in
            defer { machine.nextWaiter += 1 }
            return machine.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = machine.withLock { machine in
                    // A cancellation before this finds no waiter, and is seen here.
                    guard machine.count > 0, !Task.isCancelled else { return true }
                    machine.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            machine.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }

    fileprivate func leave(_ link: RunTurn.Link, _ key: Value?) {
        let (last, waiters) = machine.withLock { machine in
            machine.count -= 1
            var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
            if machine.count == 0 { swap(&waiters, &machine.waiters) }
            guard var lane = machine.lanes[key] else { return (nil as RunTurn.Link?, waiters) }
            lane.count -= 1
            let last = lane.last
            if last === link { lane.last = nil }
            machine.lanes[key] = lane.count > 0 ? lane : nil
            return (last, waiters)
        }
        withExtendedLifetime(last) {}
        // In their order, so that one seed gives one simulation.
        for waiter in waiters.sorted(by: { $0.key < $1.key }) { waiter.value.resume() }
    }
}

/// The place of one run among the runs of its feedback. The next run may begin when this place is released, whether its run
/// took place or not.
final class RunTurn: Sendable {
    /// The cancellation and the end of a run, as shared with the next run.
    final class Link: Sendable {
        private struct Machine {
            var isCancelled = false
            var hasEnded = false
            var task: Task<Void, Never>?
            var waiter: CheckedContinuation<Void, Never>?
        }

        private let machine = Mutex(Machine())

        /// A Boolean value that indicates whether another run has replaced this one.
        var isCancelled: Bool { machine.withLock { $0.isCancelled } }

        func cancel() {
            let task = machine.withLock { machine in
                machine.isCancelled = true
                return machine.task
            }
            task?.cancel()
        }

        /// Runs the body. Cancels it when the caller is cancelled or another run replaces this one.
        fileprivate func perform(
            on executor: (any TaskExecutor)?, _ body: @escaping @Sendable () async -> Void
        ) async {
            let task = Task(executorPreference: executor) { await body() }
            let isCancelled = machine.withLock { machine in
                machine.task = task
                return machine.isCancelled
            }
            if isCancelled { task.cancel() }
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            machine.withLock { $0.task = nil }
        }

        fileprivate func end() {
            let waiter = machine.withLock { machine in
                machine.hasEnded = true
                defer { machine.waiter = nil }
                return machine.waiter
            }
            waiter?.resume()
        }

        /// Returns when the run has ended. Only the next run waits for this. A cancellation does not shorten its wait: two
        /// runs are never active together, and a cancelled run ends soon.
        fileprivate func ended() async {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let hasEnded = machine.withLock { machine in
                    if !machine.hasEnded { machine.waiter = continuation }
                    return machine.hasEnded
                }
                if hasEnded { continuation.resume() }
            }
        }
    }

    private let gate: RunGate
    private let link: Link
    /// The key of the run.
    let key: Value?
    private let previous: Link?
    private let mayBeReplaced: Bool
    private let isLeft = Atomic(false)

    fileprivate init(_ gate: RunGate, _ link: Link, _ key: Value?, after previous: Link?, mayBeReplaced: Bool) {
        self.key = key
        self.mayBeReplaced = mayBeReplaced
        self.gate = gate
        self.link = link
        self.previous = previous
    }

    deinit { leave() }

    /// Releases the place for the next run. A second call does nothing.
    private func leave() {
        guard !isLeft.exchange(true, ordering: .acquiringAndReleasing) else { return }
        gate.leave(link, key)
        link.end()
    }

    /// A Boolean value that indicates whether another run has replaced this one, so that its events are dropped.
    var isReplaced: Bool { link.isCancelled }

    /// Runs the body once, when its turn comes, unless another run has replaced this one. Releases the place before it
    /// returns.
    func perform(_ body: @escaping @Sendable () async -> Void) async {
        defer { leave() }
        if let previous { await previous.ended() }
        guard mayBeReplaced else { return await body() }
        if !link.isCancelled { await link.perform(on: gate.executor, body) }
    }
}
