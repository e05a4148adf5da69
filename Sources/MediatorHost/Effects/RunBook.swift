package import CommonExpression
import MediatorConfiguration
import Synchronization

/// The runs of a feedback that are at work, and the times that they may take. A value without clock and lock.
package struct RunBook: Sendable {
    /// The time that a run may take.
    package enum Limit: Sendable, Hashable {
        /// A declared time limit.
        case declared(Duration)
        /// The time in which more ticks come than may be missed.
        ///
        /// - Parameter count: The number of ticks that may be missed.
        case ticks(Duration, count: Int)

        /// The time after which the run takes too long. It is at least ``RunBook/grace``, so that short intervals on a busy
        /// machine mean nothing.
        package var allowed: Duration {
            switch self {
            case .declared(let limit): limit + RunBook.grace
            case .ticks(let span, _): max(span, RunBook.grace)
            }
        }
    }

    /// A run at work.
    package struct Run: Sendable {
        /// The number of the run.
        package let number: UInt64
        /// The beginning of the run.
        package let begun: Timestamp
        /// The time that the run may take; `nil` without a limit.
        package let limit: Limit?
        /// The mean time between two ticks, if the schedule has ticks.
        fileprivate let tick: Duration?
        fileprivate var spent = Duration.zero
        fileprivate var lastLook: Duration
    }

    /// A wait of a run.
    package struct Wait: Sendable, Hashable {
        /// The key of the run.
        package let key: Value?
        /// The end of the wait, from the start of the host.
        package let due: Duration
        /// A Boolean value that indicates whether the next attempt begins then. Otherwise the time of the present one is up.
        package let isRetry: Bool

        /// Creates a wait.
        package init(key: Value?, due: Duration, isRetry: Bool) {
            self.key = key
            self.due = due
            self.isRetry = isRetry
        }
    }

    /// The time by which a run may exceed a declared limit, and the time that each run may take.
    package static let grace = Duration.seconds(10)
    /// Of the time between two looks, at most this counts, because the machine may have slept.
    package static let longestStep = Duration.seconds(10)

    private var runs: [UInt64: Run] = [:]
    /// The waits for the next attempts, and for the ends of the present ones with a limit.
    private var waiting: [UInt64: Wait] = [:]
    private var next: UInt64 = 1

    /// An empty book.
    package init() {}

    /// Begins a run, and returns its number.
    ///
    /// - Parameters:
    ///   - tick: The mean time between two ticks, if the schedule has ticks.
    ///   - end: The wait for the end of its time, if it has a limit that ends it.
    ///   - elapsed: The present time, from the start of the host.
    ///   - now: The present time by the calendar.
    package mutating func begin(
        _ limit: Limit?, tick: Duration? = nil, until end: Wait? = nil, at elapsed: Duration, _ now: Timestamp
    ) -> UInt64 {
        defer { next += 1 }
        waiting[next] = end
        runs[next] = Run(number: next, begun: now, limit: limit, tick: tick, lastLook: elapsed)
        return next
    }

    /// Ends a run or a wait.
    package mutating func end(_ number: UInt64) { (runs[number], waiting[number]) = (nil, nil) }

    /// Begins a wait, and returns its number. The number of an attempt ends its wait, too.
    package mutating func wait(_ wait: Wait) -> UInt64 {
        defer { next += 1 }
        waiting[next] = wait
        return next
    }

    /// The waits of the runs, in the order of their beginnings.
    package var waits: [Wait] { waiting.sorted { $0.key < $1.key }.map(\.value) }

    /// Returns a Boolean value that indicates whether a run is at work.
    package func contains(_ number: UInt64) -> Bool { runs[number] != nil }

    /// Returns the beginning of the run that has been at work longest, and the number of ticks since then.
    package func oldest(at now: Timestamp) -> (begun: Timestamp, missed: Int)? {
        guard let run = runs.values.min(by: { $0.number < $1.number }) else { return nil }
        let span = now.span(since: run.begun)
        guard let tick = run.tick, tick > .zero, span > .zero else { return (run.begun, 0) }
        return (run.begun, Int(clamping: Int64(span / tick)))
    }

    /// Counts the time since the last look, and returns the runs that take too long.
    package mutating func overdue(at elapsed: Duration) -> [Run] {
        for (number, run) in runs {
            runs[number]?.spent += min(max(elapsed - run.lastLook, .zero), Self.longestStep)
            runs[number]?.lastLook = elapsed
        }
        return runs.values.filter { run in run.limit.map { run.spent > $0.allowed } ?? false }
            .sorted { $0.number < $1.number }
    }
}

// The runs of a feedback that take too long.
extension EffectRunner {
    /// Notes the beginning of an attempt, and returns its number.
    ///
    /// - Parameters:
    ///   - limit: The time limit of the feedback.
    ///   - arguments: The arguments of the side effect, which may have a time limit of its own.
    ///   - key: The key of the run.
    func beginAttempt(
        _ limit: Duration?, _ arguments: [String: Value], _ asked: Asked, key: Value? = nil
    ) -> UInt64 {
        var allowed = limit.map { RunBook.Limit.declared($0) }
        let own = arguments["timeout"] ?? schema?.parameters.first { $0.name == "timeout" }?.default
        if allowed == nil, case .duration(let span)? = own { allowed = .declared(span.swiftDuration) }
        let most = asked.program.feedback.maxMissed
        let span = asked.plan.flatMap { ticker?.span(of: most + 1, $0) }
        if allowed == nil { allowed = span.map { .ticks($0, count: most) } }
        let (elapsed, now) = (time.elapsed(), time.now())
        let end = limit.map { RunBook.Wait(key: key, due: elapsed + $0, isRetry: false) }
        return book.withLock { $0.begin(allowed, tick: span.map { $0 / (most + 1) }, until: end, at: elapsed, now) }
    }

    /// Notes the end of an attempt.
    func endAttempt(_ number: UInt64, _ asked: Asked) {
        book.withLock { $0.end(number) }
        if standing.isMarked { report(.ended(.ended(feedback: definition.name, run: number)), asked.stretch) }
    }

    /// The runs that take too long now.
    func overdueRuns(at elapsed: Duration) -> [RunBook.Run] { book.withLock { $0.overdue(at: elapsed) } }

    /// The last result and the present run.
    var progress: FeedbackProgress {
        let (last, oldest) = (last.withLock { $0 }, book.withLock { $0.oldest(at: time.now()) })
        return FeedbackProgress(
            lastResult: last?.text, lastTime: last?.time, lastFailure: last?.failure, runningSince: oldest?.begun,
            missedTicks: oldest?.missed ?? 0)
    }

    /// Returns a Boolean value that indicates whether a run is at work.
    func hasRun(_ number: UInt64) -> Bool { book.withLock { $0.contains(number) } }

    /// Returns the fault of a run that takes too long.
    func fault(of run: RunBook.Run) -> Fault {
        let reason =
            switch run.limit {
            case .declared(let limit): "beyond its time of \(TimeSpan(limit)?.brief ?? "\(limit)")"
            case .ticks(_, let count): "more than \(count) ticks missed"
            case nil: ""
            }
        return Fault(
            "feedback \(definition.name)", in: .feedback(definition.name),
            message: "it has run since \(run.begun), \(reason)",
            condition: .overdue(feedback: definition.name, run: run.number))
    }
}
