import Synchronization

/// Keeps the cadence of a feedback with `every`.
///
/// The cadence belongs to the feedback, not to the state: entering a state runs the side effect at once if the interval
/// has passed since the run before began, else when it has. So a system whose probe leads to a new state each time
/// probes once an interval, not as fast as it can.
///
/// Waiting ends when the system enters another state, whatever the strategy; the strategy decides about a run that is
/// under way.
final class Ticker: Sendable {
    private struct Machine {
        var lastBegin: Duration?
        var generation: UInt64 = 0
        var waiting: Waits.Ticket?
    }

    private enum Step {
        case leave
        case run
        case wait(Waits.Ticket)
    }

    private let machine = Mutex(Machine())
    private let time: HostTime
    private let waits: Waits

    init(time: HostTime, waits: Waits) {
        self.time = time
        self.waits = waits
    }

    /// The system has entered a state: whoever waited for the old one gives up. Answers the number of the new wait.
    func enter() -> UInt64 {
        let (generation, old) = machine.withLock { machine in
            machine.generation += 1
            defer { machine.waiting = nil }
            return (machine.generation, machine.waiting)
        }
        if let old { waits.interrupt(old) }
        return generation
    }

    /// Calls `run` each time the interval has passed since the last one began, until the state is left, the system
    /// stops, or the task is cancelled.
    ///
    /// - Parameter jitter: how much later each may be, at random.
    func tick(
        _ generation: UInt64, every interval: Duration, jitter: Duration = .zero, run: () async -> Void
    ) async {
        while await wait(generation, interval, jitter > .zero ? jitter * time.random() : .zero) {
            await run()
        }
    }

    /// Waits for the next run; `false` if there is none.
    private func wait(_ generation: UInt64, _ interval: Duration, _ extra: Duration) async -> Bool {
        let elapsed = time.elapsed()
        let step: Step = machine.withLock { machine in
            guard machine.generation == generation else { return .leave }
            let due = (machine.lastBegin.map { $0 + interval } ?? elapsed) + extra
            guard due > elapsed else { return .run }
            guard let ticket = waits.begin({ [time] in try await time.sleep(due) }) else { return .leave }
            machine.waiting = ticket
            return .wait(ticket)
        }
        switch step {
        case .leave: return false
        case .run: if Task.isCancelled { return false }
        case .wait(let ticket): guard await waits.finish(ticket) else { return false }
        }
        let begin = time.elapsed()
        return machine.withLock { machine in
            guard machine.generation == generation else { return false }
            machine.lastBegin = begin
            return true
        }
    }
}
