public import CommonExpression
public import FeedbackKit

/// The time of a host: a clock for durations, a calendar, and the executor that decides when its parts run. It is a single
/// reference, because each part of a system has one.
public struct HostTime: Sendable {
    private final class Storage: Sendable {
        let clock: any Clock<Duration>
        let start: ContinuousClock.Instant?
        let elapsed: @Sendable () -> Duration
        let sleep: @Sendable (_ until: Duration) async throws -> Void
        let now: @Sendable () -> Timestamp
        let zone: @Sendable () -> ZoneOffsets
        let sleepUntil: @Sendable (Timestamp) async throws -> Void
        let random: @Sendable () -> Double
        let executor: (any LoopExecutor & TaskExecutor)?

        init<C: Clock>(
            clock: C, now: @escaping @Sendable () -> Timestamp, zone: @escaping @Sendable () -> ZoneOffsets,
            sleepUntil: (@Sendable (Timestamp) async throws -> Void)?, random: @escaping @Sendable () -> Double,
            executor: (any LoopExecutor & TaskExecutor)?
        ) where C.Duration == Duration {
            self.clock = clock
            self.now = now
            self.zone = zone
            self.random = random
            self.executor = executor
            let start = clock.now
            self.start = start as? ContinuousClock.Instant
            elapsed = { start.duration(to: clock.now) }
            sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
            self.sleepUntil =
                sleepUntil ?? { due in
                    // The clock is read before the calendar, so the wait ends early rather than late if time passes in
                    // between.
                    let start = clock.now
                    let left = due.span(since: now())
                    guard left > .zero else { return }
                    try await clock.sleep(until: start.advanced(by: min(left, HostTime.longestNap)), tolerance: nil)
                }
        }
    }

    private let storage: Storage

    /// The clock by which side effects wait.
    public var clock: any Clock<Duration> { storage.clock }
    /// The time at which this value was created, if `clock` is the continuous clock.
    var start: ContinuousClock.Instant? { storage.start }
    /// Returns the duration since this value was created.
    var elapsed: @Sendable () -> Duration { storage.elapsed }
    /// Waits until ``elapsed`` reaches a duration. Throws early if the task is cancelled.
    var sleep: @Sendable (_ until: Duration) async throws -> Void { storage.sleep }
    /// Returns the calendar time, which expressions see as `now`.
    public var now: @Sendable () -> Timestamp { storage.now }
    /// Returns the present time zone of calendar times without a time zone.
    public var zone: @Sendable () -> ZoneOffsets { storage.zone }
    /// Waits until a calendar time. May return early, for example if the clock is set, so the caller must check the time.
    var sleepUntil: @Sendable (Timestamp) async throws -> Void { storage.sleepUntil }
    /// Returns a random number from 0 up to, but not including, 1, for delays that must differ.
    var random: @Sendable () -> Double { storage.random }
    /// The executor of systems, side effects and waits, or `nil` for the shared pool and Swift's concurrency runtime.
    var executor: (any LoopExecutor & TaskExecutor)? { storage.executor }

    /// Creates the time of a host from a clock and a calendar.
    ///
    /// - Parameters:
    ///   - clock: The clock by which side effects wait.
    ///   - now: A function that returns the calendar time.
    ///   - zone: A function that returns the time zone of calendar times without a time zone.
    ///   - sleepUntil: A function that waits until a calendar time, a change of the clock setting, or the cancellation of
    ///     the task. If `nil`, the host waits by `clock`, and checks the calendar after each minute.
    ///   - random: A function that returns a new random number from 0 up to, but not including, 1.
    ///   - executor: An executor of everything that the host runs, such as a simulation in a test. Its `clock` belongs to it.
    ///     If `nil`, systems run on the shared pool, side effects on Swift's global concurrent executor, and waits by the
    ///     continuous clock in a heap of the library. A system written in Swift that has an executor of its own keeps it.
    public init<C: Clock>(
        clock: C, now: @escaping @Sendable () -> Timestamp,
        zone: @escaping @Sendable () -> ZoneOffsets = { .utc },
        sleepUntil: (@Sendable (Timestamp) async throws -> Void)? = nil,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        executor: (any LoopExecutor & TaskExecutor)? = nil
    ) where C.Duration == Duration {
        storage = Storage(
            clock: clock, now: now, zone: zone, sleepUntil: sleepUntil, random: random, executor: executor)
    }

    /// Returns the calendar time at which ``elapsed`` reaches a duration, as the calendar stands now; `nil` if it is out of
    /// the range of times.
    func moment(at due: Duration) -> Timestamp? { now().later(by: due - elapsed()) }

    /// The executor of tasks, or `nil` for Swift's global concurrent executor.
    var taskExecutor: (any TaskExecutor)? { executor }

    /// Calls a function when ``elapsed`` reaches a time, unless the call is cancelled before.
    ///
    /// With the continuous clock the call is an entry in the queue of waits. It is made by a task that serves all of them, so the
    /// function should be short.
    func call(at end: Duration, _ body: @escaping @Sendable () -> Void) -> PendingCall {
        if let start, executor == nil {
            return PendingCall(end: end, kind: .alarm(Alarms.shared.set(at: start + end, body)))
        }
        let task = Task(executorPreference: taskExecutor) {
            guard (try? await sleep(end)) != nil else { return }
            body()
        }
        return PendingCall(end: end, kind: .task(task))
    }

    /// Waits until `done` is called, the limit has passed, or the task is cancelled.
    func race(within limit: Duration, _ body: (@escaping @Sendable () -> Void) -> [Subscription]) async {
        await race(until: elapsed() + limit, body)
    }

    /// Waits until `done` is called, ``elapsed`` has reached a time, or the task is cancelled. The wait has the priority of the task, so
    /// that an overseer goes on when side effects hold the threads of all other tasks.
    func race(until end: Duration, _ body: (@escaping @Sendable () -> Void) -> [Subscription]) async {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let subscriptions = body { continuation.finish() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in stream {} }
            group.addTask { try? await sleep(end) }
            await group.next()
            group.cancelAll()
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    /// The longest wait before a check of the calendar, if no function reports changes of the clock setting.
    static let longestNap = Duration.seconds(60)
}

/// A call that waits for its time.
struct PendingCall: Sendable {
    fileprivate enum Kind: Sendable {
        case alarm(Alarms.Alarm)
        case task(Task<Void, Never>)
    }

    /// The time of the call, by the clock of the host.
    let end: Duration
    fileprivate let kind: Kind

    /// Keeps the function from being called, unless that has begun.
    func cancel() {
        switch kind {
        case .alarm(let alarm): alarm.cancel()
        case .task(let task): task.cancel()
        }
    }
}

extension Timestamp {
    /// The nearest whole millisecond, so that a time that is computed from two clocks is the same in each look.
    package var toMillisecond: Timestamp {
        let rest = nanoseconds % 1_000_000
        return advanced(by: .nanoseconds(rest < 500_000 ? -Int64(rest) : 1_000_000 - Int64(rest))) ?? self
    }

    /// Returns the time after a duration, to the nanosecond, or `nil` if it is out of the range of times.
    func later(by duration: Duration) -> Timestamp? {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = Int64(nanoseconds) + attoseconds / 1_000_000_000
        let (sum, isOver) = self.seconds.addingReportingOverflow(seconds)
        guard !isOver else { return nil }
        let carry = nanoseconds >= 1_000_000_000 ? 1 : nanoseconds < 0 ? -1 : Int64(0)
        return Timestamp(seconds: sum + carry, nanoseconds: Int32(nanoseconds - carry * 1_000_000_000))
    }
}
