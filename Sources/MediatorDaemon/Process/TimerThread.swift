import CLinux
import FeedbackKit
import Glibc
import Synchronization
import Systemd

/// A thread that calls functions at times of the continuous clock, in the order of their times. A function delays those that
/// follow it, so it must be short.
package final class TimerThread: Sendable {
    private struct State {
        var queue = AlarmQueue<@Sendable () -> Void>()
        /// The time to which the timer is set.
        var armed: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let timer: Int32

    /// Starts the thread, which stays as long as the process. Returns `nil` if the system has no thread or descriptor to give.
    package init?() {
        timer = linux_timer()
        guard timer >= 0 else { return nil }
        guard DetachedThread.start({ [self] in work() }) else {
            close(timer)
            return nil
        }
    }

    /// Calls a function at a time; soon, if it has passed.
    package func call(at time: ContinuousClock.Instant, _ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.queue.add(body, at: time)
            guard state.armed.map({ time < $0 }) ?? true else { return }
            arm(&state)
        }
    }

    private func work() {
        while true {
            let code = linux_timer_wait(timer)
            precondition(code == 0, "a timer cannot be read: \(String(cString: strerror(errno)))")
            let due = state.withLock { state in
                let due = state.queue.take(until: .now)
                arm(&state)
                return due
            }
            for body in due { body() }
        }
    }

    /// Sets the timer to the first time.
    private func arm(_ state: inout State) {
        state.armed = state.queue.next
        guard let next = state.armed else { return }
        // Zero would disarm it.
        let wait = max(.nanoseconds(1), ContinuousClock.now.duration(to: next)) / .nanoseconds(1)
        _ = linux_timer_set(timer, Int64(min(wait, 1e18)))
    }
}
