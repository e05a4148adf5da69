import CommonExpression
import MediatorConfiguration
import Synchronization

/// Decides which runs of a feedback there are, and when each begins, by its mode and limit.
///
/// Runs are ordered by when they are asked for, on the system's turn; their tasks may begin in any order.
final class RunGate: Sendable {
    /// Why a run is not begun.
    enum Refusal: Error {
        /// One runs, and there is to be only one.
        case busy
        /// There are as many as there may be.
        case full
    }

    /// The runs of one key.
    private struct Lane {
        var count = 0
        /// The run that was asked for last, while it lasts.
        var last: RunTurn.Link?
    }

    private struct Machine {
        var count = 0
        /// Those in which there is a run.
        var lanes: [Value?: Lane] = [:]
    }

    private let machine = Mutex(Machine())
    private let mode: RunMode
    private let limit: Int

    init(mode: RunMode, limit: Int) {
        self.mode = mode
        self.limit = mode == .single ? 1 : mode == .restart ? FeedbackDefinition.mostRuns : limit
    }

    /// Asks for a run. It counts until its turn is let go.
    ///
    /// - Parameter key: of what it is a run; those of one key have the mode and limit among themselves. Of all keys
    ///   together there are at most ``/MediatorConfiguration/FeedbackDefinition/mostRuns``.
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

    fileprivate func leave(_ link: RunTurn.Link, _ key: Value?) {
        let last = machine.withLock { machine -> RunTurn.Link? in
            machine.count -= 1
            guard var lane = machine.lanes[key] else { return nil }
            lane.count -= 1
            let last = lane.last
            if last === link { lane.last = nil }
            machine.lanes[key] = lane.count > 0 ? lane : nil
            return last
        }
        withExtendedLifetime(last) {}
    }
}

/// One run's place among those of its feedback. When it is let go, run or not, the next one may begin.
final class RunTurn: Sendable {
    /// What others know of a run: that it is to end, and when it has.
    final class Link: Sendable {
        private struct Machine {
            var isCancelled = false
            var hasEnded = false
            var task: Task<Void, Never>?
            var waiter: CheckedContinuation<Void, Never>?
        }

        private let machine = Mutex(Machine())

        /// Whether another has taken its place.
        var isCancelled: Bool { machine.withLock { $0.isCancelled } }

        func cancel() {
            let task = machine.withLock { machine in
                machine.isCancelled = true
                return machine.task
            }
            task?.cancel()
        }

        /// Runs something that is cancelled with the run, or when another takes its place.
        fileprivate func perform(_ body: @escaping @Sendable () async -> Void) async {
            let task = Task { await body() }
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

        /// Returns when it has ended. Only the one after it waits, and is not cancelled meanwhile: there are never two at
        /// work, and one that is to end does so soon.
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
    private let key: Value?
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

    /// Makes room for the next run. A second call does nothing.
    private func leave() {
        guard !isLeft.exchange(true, ordering: .acquiringAndReleasing) else { return }
        gate.leave(link, key)
        link.end()
    }

    /// Whether another has taken its place, so that nothing of it is wanted any more.
    var isReplaced: Bool { link.isCancelled }

    /// Runs something when it is its turn, once. The place is free when this returns.
    func perform(_ body: @escaping @Sendable () async -> Void) async {
        defer { leave() }
        if let previous { await previous.ended() }
        guard mayBeReplaced else { return await body() }
        if !link.isCancelled { await link.perform(body) }
    }
}
