import CLinux
package import CommonExpression
import Dispatch
import Glibc
import Synchronization

/// Wakes tasks at calendar times. It wakes one when its time has come. It wakes all when somebody sets the system
/// clock, and once a minute, since the time zone may have changed. A task that wakes early checks the time and waits
/// again.
///
/// All tasks share one timer of the kernel (timerfd_create(2), `TFD_TIMER_CANCEL_ON_SET`) and one descriptor. The timer
/// does not wake a machine that sleeps. A time that passes during sleep is noticed when the machine wakes.
package final class CalendarAlarm: Sendable {
    private struct Waiter {
        var due: Timestamp
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct Machine {
        var waiters: [UInt64: Waiter] = [:]
        /// The tasks that were cancelled before they began to wait.
        var cancelled: Set<UInt64> = []
        var nextID: UInt64 = 1
        /// When the timer tells.
        var armed: Timestamp?
        /// When everybody is woken.
        var review: Timestamp?
    }

    /// The longest time between two checks.
    static let longestNap = Duration.seconds(60)

    private let machine = Mutex(Machine())
    private let descriptor: Int32
    private let source: Mutex<any DispatchSourceRead>

    /// Makes one, unless the system has no descriptor to give.
    package init?() {
        descriptor = linux_alarm()
        guard descriptor >= 0 else { return nil }
        let queue = DispatchQueue(label: "calendar", qos: .userInitiated)
        source = Mutex(DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue))
        source.withLock { source in
            source.setEventHandler { [weak self] in self?.wake() }
            source.setCancelHandler { [descriptor] in _ = close(descriptor) }
            source.activate()
        }
    }

    deinit {
        source.withLock { $0.cancel() }
    }

    /// Returns when the calendar says so, or earlier; throws when the task is cancelled.
    package func sleep(until due: Timestamp) async throws {
        let id = machine.withLock { machine in
            defer { machine.nextID += 1 }
            return machine.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (waits, wasSet) = machine.withLock { machine in
                    guard machine.cancelled.remove(id) == nil else { return (false, false) }
                    machine.waiters[id] = Waiter(due: due, continuation: continuation)
                    if machine.review == nil { machine.review = Daemon.now().advanced(by: Self.longestNap) }
                    return (true, arm(&machine, until: due))
                }
                if wasSet { wake(all: true) }
                if !waits { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let waiter = machine.withLock { machine in
                let waiter = machine.waiters.removeValue(forKey: id)
                if waiter == nil { machine.cancelled.insert(id) }
                return waiter
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
        machine.withLock { _ = $0.cancelled.remove(id) }
    }

    /// The number of tasks that wait.
    package var waiting: Int { machine.withLock { $0.waiters.count } }

    /// Has the timer tell at a time, unless it tells earlier anyhow.
    ///
    /// - Returns: whether somebody has set the clock, and no task was woken for that. The timer reports this here
    ///   rather than when it is read (timerfd_create(2), notes).
    private func arm(_ machine: inout Machine, until due: Timestamp) -> Bool {
        let due = min(due, machine.review ?? due)
        if let armed = machine.armed, armed <= due { return false }
        machine.armed = due
        // Zero would disarm it; what is that early has passed.
        let result = linux_alarm_set(descriptor, max(due.seconds, 1), due.seconds < 1 ? 0 : Int64(due.nanoseconds))
        return result != 0 && errno == ECANCELED
    }

    /// The timer has told.
    private func wake() {
        let told = linux_alarm_take(descriptor)
        if told != 0 { wake(all: told != 1) }
    }

    /// Wakes those whose time has come, or all: the clock has been set.
    package func wake(all: Bool) {
        let now = Daemon.now()
        let (due, wasSet) = machine.withLock { machine -> ([Waiter], Bool) in
            var wasSet = false
            let wakesAll = all || machine.review.map { $0 <= now } ?? false
            let due = machine.waiters.filter { wakesAll || $0.value.due <= now }
            for id in due.keys { machine.waiters[id] = nil }
            machine.armed = nil
            if wakesAll { machine.review = nil }
            if let first = machine.waiters.values.map(\.due).min() { wasSet = arm(&machine, until: first) }
            if machine.waiters.isEmpty { machine.review = nil }
            return (due.values.sorted { $0.due < $1.due }, wasSet)
        }
        for waiter in due { waiter.continuation.resume() }
        // Then nobody is left to arm it for, so this ends.
        if wasSet { wake(all: true) }
    }
}
