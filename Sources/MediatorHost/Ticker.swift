import FeedbackKit
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
        var waiting: Task<Void, any Error>?
    }

    private let machine = Mutex(Machine())
    private let time: HostTime

    init(time: HostTime) {
        self.time = time
    }

    /// The system has entered a state: whoever waited for the old one gives up. Answers the number of the new wait.
    func enter() -> UInt64 {
        let (generation, old) = machine.withLock { machine in
            machine.generation += 1
            defer { machine.waiting = nil }
            return (machine.generation, machine.waiting)
        }
        old?.cancel()
        return generation
    }

    /// Calls `run` each time the interval has passed since the last one began, until the state is left or the task is
    /// cancelled.
    func tick(_ generation: UInt64, every interval: Duration, run: () async -> Void) async {
        while await wait(generation, interval) {
            await run()
        }
    }

    /// Waits for the next run; `false` if there is none.
    private func wait(_ generation: UInt64, _ interval: Duration) async -> Bool {
        let elapsed = time.elapsed()
        let clock = time.clock
        let (isCurrent, task): (Bool, Task<Void, any Error>?) = machine.withLock { machine in
            guard machine.generation == generation else { return (false, nil) }
            guard let last = machine.lastBegin, last + interval > elapsed else { return (true, nil) }
            let delay = last + interval - elapsed
            let task = Task { try await clock.sleep(for: delay) }
            machine.waiting = task
            return (true, task)
        }
        guard isCurrent, !Task.isCancelled else { return false }
        if let task {
            let slept = await withTaskCancellationHandler {
                await task.result
            } onCancel: {
                task.cancel()
            }
            guard case .success = slept, !Task.isCancelled else { return false }
        }
        let begin = time.elapsed()
        return machine.withLock { machine in
            guard machine.generation == generation else { return false }
            machine.lastBegin = begin
            return true
        }
    }
}
