import Synchronization

/// Calls functions at times of the continuous clock. One task sleeps for all of them.
///
/// When the task wakes, it calls the due functions in the order of their times. Before that, it starts the task for the next
/// time, so a blocking function delays the other functions of its own call only.
@usableFromInline
package final class Alarms: Sendable {
    /// The alarms of all loops.
    @usableFromInline package static let shared = Alarms()

    /// A function to be called at a time.
    @usableFromInline
    package final class Alarm: Sendable {
        private let body: Mutex<(@Sendable () -> Void)?>
        private unowned let alarms: Alarms

        fileprivate init(_ body: @escaping @Sendable () -> Void, of alarms: Alarms) {
            self.body = Mutex(body)
            self.alarms = alarms
        }

        fileprivate func take() -> (@Sendable () -> Void)? { body.withLock { $0.take() } }

        /// Keeps the function from being called, unless that has begun.
        @usableFromInline
        package func cancel() {
            if take() != nil { alarms.noteCancellation() }
        }
    }

    private struct State {
        var queue = AlarmQueue<Alarm>()
        /// The number of cancelled entries of the queue.
        var cancelled = 0
        /// The time at which the sleeping task wakes; `nil` without such a task.
        var wakes: ContinuousClock.Instant?
        var sleeper: Task<Void, Never>?
        /// The number of the latest sleeping task.
        var sleeps: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Calls a function after a delay.
    ///
    /// - Complexity: O(log *n*) for *n* alarms.
    @usableFromInline
    package func set(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> Alarm {
        set(at: ContinuousClock.now + delay, body)
    }

    /// Calls a function at a time. Functions of the same time are called together.
    ///
    /// - Complexity: O(log *n*) for *n* alarms.
    @usableFromInline
    package func set(at time: ContinuousClock.Instant, _ body: @escaping @Sendable () -> Void) -> Alarm {
        let alarm = Alarm(body, of: self)
        let sleep = state.withLock { state -> Sleep? in
            state.queue.add(alarm, at: time)
            guard state.wakes.map({ time < $0 }) ?? true else { return nil }
            return Self.beginSleep(until: time, &state)
        }
        if let sleep { carryOut(sleep) }
        return alarm
    }

    /// The number of entries, with cancelled ones that are not removed yet.
    package var entries: Int { state.withLock { $0.queue.count } }

    /// A sleep to begin, and the one to end.
    private struct Sleep {
        let number: UInt64
        let time: ContinuousClock.Instant
        let previous: Task<Void, Never>?
    }

    private static func beginSleep(until time: ContinuousClock.Instant, _ state: inout State) -> Sleep {
        state.wakes = time
        state.sleeps += 1
        return Sleep(number: state.sleeps, time: time, previous: state.sleeper.take())
    }

    private func carryOut(_ sleep: Sleep) {
        sleep.previous?.cancel()
        let task = Task.detached { [self] in
            // It throws only when it is cancelled: then a sleep to an earlier time has taken its place.
            guard (try? await Task.sleep(until: sleep.time, clock: .continuous)) != nil else { return }
            wake(sleep.number)
        }
        let isOutdated = state.withLock { state in
            guard state.sleeps == sleep.number else { return true }
            state.sleeper = task
            return false
        }
        if isOutdated { task.cancel() }
    }

    /// Calls the functions whose time has come, and begins the next sleep.
    private func wake(_ number: UInt64) {
        let now = ContinuousClock.now
        let (due, sleep) = state.withLock { state -> ([Alarm], Sleep?) in
            guard state.sleeps == number else { return ([], nil) }
            let due = state.queue.take(until: now)
            state.sleeper = nil
            state.wakes = nil
            return (due, state.queue.next.map { Self.beginSleep(until: $0, &state) })
        }
        if let sleep { carryOut(sleep) }
        for alarm in due {
            if let body = alarm.take() { body() } else { state.withLock { $0.cancelled = max(0, $0.cancelled - 1) } }
        }
    }

    /// Removes the cancelled entries if they are most of the queue, so that it stays in proportion to the alarms.
    private func noteCancellation() {
        // The old entries are released after the lock.
        let old = state.withLock { state -> AlarmQueue<Alarm>? in
            state.cancelled += 1
            guard state.cancelled > 64, state.cancelled > state.queue.count / 2 else { return nil }
            let old = state.queue
            state.queue.keep(where: \.isSet)
            state.cancelled = 0
            return old
        }
        withExtendedLifetime(old) {}
    }
}

extension Alarms.Alarm {
    /// A Boolean value that indicates whether the function is neither called nor cancelled.
    fileprivate var isSet: Bool { body.withLock { $0 != nil } }
}
