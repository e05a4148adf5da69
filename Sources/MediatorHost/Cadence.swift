package import CommonExpression
package import MediatorConfiguration

/// What is to be done about a schedule's next tick. Times are as its clock has them.
package enum TickStep<Time: Equatable & Sendable>: Equatable, Sendable {
    /// A run is due, and counts as begun.
    case run
    /// There is nothing to do until then.
    case wait(until: Time)
    /// There will be no tick any more.
    case never
}

/// The ticks of `every`, counted by a clock that only goes on.
///
/// The cadence belongs to the feedback, not to the state: entering a state runs the side effect at once if the interval
/// has passed since the run before began, else when it has. So a system whose probe leads to a new state each time
/// probes once an interval, not as fast as it can.
package struct IntervalCadence: Sendable {
    /// What becomes of missed ticks.
    package let missed: MissedTicks
    /// The last tick that was dealt with; with `once`, when the run before began, or was due if it was hardly late.
    private var last: Duration?
    /// When the side effect was first asked for.
    private var first: Duration?
    /// Whether the side effect was not asked for since: what passed meanwhile was not missed.
    private var hasPaused = false
    private var backlog = Backlog()

    /// A tick that is later than its time by no more than this part of the interval is not late.
    private static let hardlyLate = 10

    /// No tick has been yet.
    package init(missed: MissedTicks) { self.missed = missed }

    /// The system has entered a state that does not ask for the side effect.
    package mutating func pause() {
        hasPaused = true
        first = nil
        backlog = Backlog()
    }

    /// What is to be done now.
    ///
    /// - Parameters:
    ///   - extra: how much later the tick is to be.
    ///   - report: is told how many ticks were left out.
    package mutating func step(
        at now: Duration, every interval: Duration, extra: Duration, report: (MissedCount) -> Void
    ) -> TickStep<Duration> {
        guard let last, missed != .once, !hasPaused else {
            let begin = first ?? now
            first = begin
            let due = (last.map { $0 + interval } ?? begin) + extra
            guard due <= now else { return .wait(until: due) }
            // What is hardly late keeps its place, so that the cadence does not creep, and feedbacks that tick together go
            // on to do so, which costs far less than as many ticks each by itself.
            self.last = now - due <= interval / Self.hardlyLate ? due : now
            hasPaused = false
            return .run
        }
        // How many intervals have passed. The extra time is no part of the grid.
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

    /// When to wake for a tick: up to a hundredth of its interval later, at most ``longestGathering``, so that ticks that are
    /// due at about the same time wake the daemon once.
    package static func gathered(_ due: Duration, _ interval: Duration) -> Duration {
        let (step, whole) = (min(interval / 100, longestGathering).nanoseconds, due.nanoseconds)
        guard step >= 1_000_000, whole >= 0, whole <= Int64.max - step else { return due }
        // What is less than a nanosecond is rounded up too.
        return max(due, .nanoseconds((whole + step - 1) / step * step))
    }

    /// How much later than it is due a tick may be for the sake of others.
    package static let longestGathering = Duration.milliseconds(50)

    /// How often an interval has passed. Bounded, so that a product with the interval stays in range.
    private static func count(_ span: Duration, by interval: Duration) -> Int {
        guard span >= interval else { return 0 }
        let quotient = span / interval
        guard quotient < 1e9 else { return 1_000_000_000 }
        let count = Int(quotient)
        // The division is by floating point; the grid is not.
        return interval * (count + 1) <= span ? count + 1 : interval * count > span ? count - 1 : count
    }
}

/// The ticks of `at`, by a clock that may be set.
package struct CalendarCadence: Sendable {
    /// What becomes of missed ticks.
    package let missed: MissedTicks
    /// All ticks until then have been dealt with.
    private var handled: Timestamp?
    /// Whether the side effect was not asked for since: what passed meanwhile was not missed.
    private var hasPaused = false
    private var backlog = Backlog()

    /// No tick has been yet.
    package init(missed: MissedTicks) { self.missed = missed }

    /// The system has entered a state that does not ask for the side effect: what passes meanwhile is not missed.
    package mutating func pause() {
        hasPaused = true
        backlog = Backlog()
    }

    /// What is to be done now.
    ///
    /// - Parameters:
    ///   - time: what the calendar says.
    ///   - extra: how much later than the calendar says the next run is to be. What is told to be waited for is the tick
    ///     itself.
    ///   - next: the first tick after a point in time.
    ///   - report: is told how many ticks were left out.
    package mutating func step(
        at time: Timestamp, extra: Duration = .zero, next: (Timestamp) -> Timestamp?, report: (MissedCount) -> Void
    ) -> TickStep<Timestamp> {
        // Until then ticks are due.
        let now = time.advanced(by: .zero - extra) ?? time
        var after = handled ?? time
        // What has not been handled, and is due only now on account of the extra time, was not missed.
        if hasPaused { after = max(after, now) }
        hasPaused = false
        // What comes again because the clock was set back a little is not done again; further back, it is another time.
        // That is seen by the time itself: the extra time, which is another after each run, is no part of it.
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
        // Of those that were missed the last may be one that is hardly late.
        let recent = Timestamp(seconds: now.seconds - Backlog.toleratedSeconds, nanoseconds: now.nanoseconds)
        if let recent, let late = next(max(recent, after)), late <= now { return .run }
        report(.left(nil, isLate: true))
        return next(now).map { .wait(until: $0) } ?? .never
    }
}

/// How many ticks were left out.
package enum MissedCount: Equatable, Sendable {
    /// So many, where that is known; `isLate`: because none of them could begin in time.
    case left(Int?, isLate: Bool)
    /// So many, or more, beyond those that are made up for. It is told once until there are none again.
    case beyond(Int)
}

/// Ticks that are to be made up for.
package struct Backlog: Sendable {
    /// How late a run may begin that still is that tick's.
    package static let tolerance = Duration.seconds(60)
    /// The same, in seconds.
    package static let toleratedSeconds: Int64 = 60
    /// How many ticks are counted.
    package static let mostCounted = 10_000

    private var owed = 0
    private var isBeyond = false

    /// So many more ticks have come.
    mutating func add(_ count: Int, _ report: (MissedCount) -> Void) {
        let sum = owed + count
        // The present tick, and those that are made up for.
        owed = min(sum, MissedTicks.most + 1)
        if sum > owed, !isBeyond {
            isBeyond = true
            report(.beyond(sum - owed))
        }
    }

    /// Takes one; `false` if there is none.
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
    /// As whole nanoseconds, which is exact for some 292 years.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isOver) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isTooLong || isOver ? (seconds < 0 ? .min : .max) : sum
    }
}
