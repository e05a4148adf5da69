import CLinux
package import CommonExpression
import Glibc
import MediatorHost
import SideEffects
import Synchronization
import Systemd

/// Wakes tasks at calendar times. It wakes one when its time has come. It wakes all when somebody sets the system
/// clock, and once a minute, since the time zone may have changed. A task that wakes early checks the time and waits
/// again.
///
/// All tasks share one timer of the kernel (timerfd_create(2), `TFD_TIMER_CANCEL_ON_SET`) and one descriptor. The timer
/// does not wake a state that sleeps. A time that passes during sleep is noticed when the state wakes.
package final class CalendarAlarm: Sendable {
    private struct Waiter {
        var due: Timestamp
        let isDue = CancellableWaiter<Void>()
    }

    private struct State {
        var waiters: [UInt64: Waiter] = [:]
        var nextID: UInt64 = 1
        /// The time to which the timer is set.
        var armed: Timestamp?
        /// The time at which all tasks are woken.
        var review: Timestamp?
    }

    /// The longest time between two checks.
    static let longestNap = Duration.seconds(60)

    /// The time between two checks while the kernel's timer cannot be watched.
    private static let retryPause = Duration.seconds(1)

    private let state = Mutex(State())
    private let descriptor: Int32
    private let watch = Mutex<Task<Void, Never>?>(nil)

    /// Makes one, unless the system has no descriptor to give.
    package init?() {
        descriptor = linux_alarm()
        guard descriptor >= 0 else { return nil }
        let task = Task.detached(priority: .management) { [descriptor, weak self] in
            // Until the alarm is gone.
            while !Task.isCancelled {
                if (try? await Poller.shared.readable(descriptor)) == nil {
                    // The system cannot watch the descriptor for now, and reports no time when it can again.
                    try? await Task.sleep(for: Self.retryPause)
                }
                self?.wake()
            }
            close(descriptor)
        }
        watch.withLock { $0 = task }
    }

    deinit {
        watch.withLock { $0?.cancel() }
    }

    /// Returns when the calendar says so, or earlier; throws when the task is cancelled.
    package func sleep(until due: Timestamp) async throws {
        let waiter = Waiter(due: due)
        let (id, wasSet) = state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            state.waiters[id] = waiter
            if state.review == nil { state.review = Daemon.now().advanced(by: Self.longestNap) }
            return (id, arm(&state, until: due))
        }
        defer { state.withLock { _ = $0.waiters.removeValue(forKey: id) } }
        if wasSet { wake(all: true) }
        try await waiter.isDue.value()
    }

    /// The number of tasks that wait.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// Sets the timer to a time, unless it is set to an earlier one.
    ///
    /// - Returns: Whether somebody has set the clock, and no task was woken for that. The timer reports this here
    ///   rather than when it is read (timerfd_create(2), notes).
    private func arm(_ state: inout State, until due: Timestamp) -> Bool {
        let due = min(due, state.review ?? due)
        if let armed = state.armed, armed <= due { return false }
        state.armed = due
        // Zero would disarm it; what is that early has passed.
        let result = linux_alarm_set(descriptor, max(due.seconds, 1), due.seconds < 1 ? 0 : Int64(due.nanoseconds))
        return result != 0 && errno == ECANCELED
    }

    /// Wakes tasks when the timer has expired or the clock was set.
    private func wake() {
        let result = linux_alarm_take(descriptor)
        if result != 0 { wake(all: result != 1) }
    }

    /// Wakes the tasks whose time has come, or all tasks if the clock was set.
    package func wake(all: Bool) {
        let now = Daemon.now()
        let (due, wasSet) = state.withLock { state -> ([Waiter], Bool) in
            var wasSet = false
            let wakesAll = all || state.review.map { $0 <= now } ?? false
            let due = state.waiters.filter { wakesAll || $0.value.due <= now }
            for id in due.keys { state.waiters[id] = nil }
            state.armed = nil
            if wakesAll { state.review = nil }
            if let first = state.waiters.values.map(\.due).min() { wasSet = arm(&state, until: first) }
            if state.waiters.isEmpty { state.review = nil }
            return (due.values.sorted { $0.due < $1.due }, wasSet)
        }
        for waiter in due { waiter.isDue.resume(with: .success(())) }
        // No task is left to set the timer for, so the recursion ends here.
        if wasSet { wake(all: true) }
    }
}
