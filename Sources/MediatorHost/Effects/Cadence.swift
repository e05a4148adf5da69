package import CommonExpression
package import MediatorConfiguration

/// The next step of a schedule. Times are those of its clock.
package enum TickStep<Time: Equatable & Sendable>: Equatable, Sendable {
    /// A run is due. It counts as begun.
    case run
    /// The next step follows at this time.
    case wait(until: Time)
    /// No tick follows.
    case never
}

/// The ticks of `every`, counted by a monotonic clock.
///
/// The cadence belongs to the feedback, not to the state. When the system enters a state, the side effect runs at once if
/// the interval has passed since the begin of the previous run. Otherwise it runs as soon as the interval has passed. So a
/// system whose probe leads to a new state each time probes once an interval, not as fast as it can.
package struct IntervalCadence: Sendable {
    /// The treatment of missed ticks.
    package let missed: MissedTicks
    /// The last handled tick. With `once`, the begin of the previous run, or its due time if it was hardly late.
    private var last: Duration?
    /// The time of the first request for the side effect.
    private var first: Duration?
    /// A Boolean value that indicates whether a state without the side effect has interrupted the cadence. Ticks in such a
    /// pause do not count as missed.
    private var hasPaused = false
    private var backlog = Backlog()

    /// The tolerance for a tick that is hardly late, as a divisor of the interval.
    private static let hardlyLate = 10

    /// A cadence without any tick so far.
    package init(missed: MissedTicks) { self.missed = missed }

    /// Interrupts the cadence, because the system has entered a state that does not ask for the side effect.
    package mutating func pause() {
        hasPaused = true
        first = nil
        backlog = Backlog()
    }

    /// Returns the next step.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - interval: The time between two ticks.
    ///   - extra: The delay of the tick after its regular time.
    ///   - report: A function that receives the number of ticks that were left out.
    package mutating func step(
        at now: Duration, every interval: Duration, extra: Duration, report: (MissedCount) -> Void
    ) -> TickStep<Duration> {
        guard let last, missed != .once, !hasPaused else {
            let begin = first ?? now
            first = begin
            let due = (last.map { $0 + interval } ?? begin) + extra
            guard due <= now else { return .wait(until: due) }
            // A tick that is hardly late keeps its place, so the cadence does not creep. Feedbacks that tick together
            // stay together, which costs far less than separate ticks.
            self.last = now - due <= interval / Self.hardlyLate ? due : now
            hasPaused = false
            return .run
        }
        // The extra time is not part of the grid.
        let passed = Self.count(now - extra - last, by: interval)
        if missed == .all {
            if passed > 0 { self.last = last + interval * passed }
            backlog.add(passed, report)
            if backlog.take() { return .run }
            return .wait(until: (self.last ?? last) + interval + extra)
        }
        guard passed > 0 else { return .wait(until: last + interval + extra) }
        let tick = last + interval * passed
        self.last = tick
        let isLate = now - extra - tick > Backlog.tolerance
        if isLate || passed > 1 { report(.left(isLate ? passed : passed - 1, isLate: isLate)) }
        return isLate ? .wait(until: tick + interval + extra) : .run
    }

    /// Returns the time at which to wake for a tick, so that ticks that are due at about the same time wake the daemon once.
    ///
    /// The delay is at most a hundredth of the interval, and at most ``longestGathering``.
    package static func gathered(_ due: Duration, _ interval: Duration) -> Duration {
        let (step, whole) = (min(interval / 100, longestGathering).nanoseconds, due.nanoseconds)
        guard step >= 1_000_000, whole >= 0, whole <= Int64.max - step else { return due }
        // `whole` lacks fractions of a nanosecond. The maximum keeps the result from being before the tick.
        return max(due, .nanoseconds((whole + step - 1) / step * step))
    }

    /// The longest delay of a tick for a common wake-up with other ticks.
    package static let longestGathering = Duration.milliseconds(50)

    /// Returns the number of whole intervals in a span, at most 1,000,000,000, so that its product with the interval stays
    /// in range.
    private static func count(_ span: Duration, by interval: Duration) -> Int {
        guard span >= interval else { return 0 }
        let quotient = span / interval
        guard quotient < 1e9 else { return 1_000_000_000 }
        let count = Int(quotient)
        // The floating-point division may be off by one, but the grid is exact.
        return interval * (count + 1) <= span ? count + 1 : interval * count > span ? count - 1 : count
    }
}

/// The ticks of `at`, by a clock that may be set.
package struct CalendarCadence: Sendable {
    /// The treatment of missed ticks.
    package let missed: MissedTicks
    /// The time until which all ticks have been handled.
    private var handled: Timestamp?
    /// A Boolean value that indicates whether a state without the side effect has interrupted the cadence. Ticks in such a
    /// pause do not count as missed.
    private var hasPaused = false
    private var backlog = Backlog()

    /// A cadence without any tick so far.
    package init(missed: MissedTicks) { self.missed = missed }

    /// Interrupts the cadence, because the system has entered a state that does not ask for the side effect. Ticks in the
    /// pause do not count as missed.
    package mutating func pause() {
        hasPaused = true
        backlog = Backlog()
    }

    /// Returns the next step.
    ///
    /// - Parameters:
    ///   - time: The current calendar time.
    ///   - extra: The delay of the next run after its tick. A returned `wait` names the tick itself, without this delay.
    ///   - next: A function that returns the first tick after a point in time.
    ///   - report: A function that receives the number of ticks that were left out.
    package mutating func step(
        at time: Timestamp, extra: Duration = .zero, next: (Timestamp) -> Timestamp?, report: (MissedCount) -> Void
    ) -> TickStep<Timestamp> {
        // Ticks until this time are due.
        let now = time.advanced(by: .zero - extra) ?? time
        var after = handled ?? time
        // A tick that is due only now because of the extra time was not missed.
        if hasPaused { after = max(after, now) }
        hasPaused = false
        // If the clock was set back a little, repeated ticks do not run again. If it was set back further, they do. The
        // comparison uses the time itself, because the extra time differs after each run.
        if time < after, after.seconds - time.seconds > Backlog.toleratedSeconds { after = time }
        handled = after
        if missed == .all {
            var count = 0
            var tick = next(after)
            while let time = tick, time <= now, count < Backlog.mostCounted {
                count += 1
                after = time
                tick = next(time)
            }
            if count == Backlog.mostCounted { (after, tick) = (now, next(now)) }
            handled = after
            backlog.add(count, report)
            if backlog.take() { return .run }
            return tick.map { .wait(until: $0) } ?? .never
        }
        guard let tick = next(after) else { return .never }
        guard tick <= now else { return .wait(until: tick) }
        handled = now
        if missed == .once || now.seconds - tick.seconds <= Backlog.toleratedSeconds { return .run }
        // The last of the missed ticks may be late by no more than the tolerance.
        let recent = Timestamp(seconds: now.seconds - Backlog.toleratedSeconds, nanoseconds: now.nanoseconds)
        if let recent, let late = next(max(recent, after)), late <= now { return .run }
        report(.left(nil, isLate: true))
        return next(now).map { .wait(until: $0) } ?? .never
    }
}

/// The number of ticks that were left out.
package enum MissedCount: Equatable, Sendable {
    /// The number of ticks that were left out, if it is known. `isLate` indicates that none of them could begin in time.
    case left(Int?, isLate: Bool)
    /// A lower bound for the number of ticks beyond those that are made up for. It is reported only once until the backlog
    /// is empty again.
    case beyond(Int)
}

/// The missed ticks that the cadence makes up for, and the current one.
package struct Backlog: Sendable {
    /// The longest time from a tick to the begin of its run. A later run does not count for the tick.
    package static let tolerance = Duration.seconds(60)
    /// The value of ``tolerance`` in seconds.
    package static let toleratedSeconds: Int64 = 60
    /// The largest number of ticks that one step counts.
    package static let mostCounted = 10_000

    private var owed = 0
    private var isBeyond = false

    /// Adds ticks. Reports those beyond the limit.
    mutating func add(_ count: Int, _ report: (MissedCount) -> Void) {
        let sum = owed + count
        // The current tick, and those that are made up for.
        owed = min(sum, MissedTicks.most + 1)
        if sum > owed, !isBeyond {
            isBeyond = true
            report(.beyond(sum - owed))
        }
    }

    /// Takes one tick. Returns `false` if the backlog is empty.
    mutating func take() -> Bool {
        guard owed > 0 else {
            isBeyond = false
            return false
        }
        owed -= 1
        return true
    }
}

extension Duration {
    /// The number of whole nanoseconds, limited to the range of `Int64`, about 292 years.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isOver) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isTooLong || isOver ? (seconds < 0 ? .min : .max) : sum
    }
}
