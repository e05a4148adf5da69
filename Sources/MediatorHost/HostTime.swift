public import CommonExpression
import FeedbackKit

/// What time it is for a host: how long things take, and what the calendar says.
public struct HostTime: Sendable {
    /// The clock that side effects wait by.
    public let clock: any Clock<Duration>
    /// How long ago the host was made.
    let elapsed: @Sendable () -> Duration
    /// Returns when the host is so old, or the task is cancelled.
    let sleep: @Sendable (_ until: Duration) async throws -> Void
    /// What the calendar says; expressions see it as `now`.
    public let now: @Sendable () -> Timestamp
    /// The time zone of those calendar times that name none, as it is now.
    public let zone: @Sendable () -> ZoneOffsets
    /// Returns when the calendar says so, or earlier, as when the clock has been set: who waits looks again.
    let sleepUntil: @Sendable (Timestamp) async throws -> Void
    /// A number from 0 up to 1, for delays that are to differ.
    let random: @Sendable () -> Double

    /// A host's time by the given clock and calendar.
    ///
    /// - Parameters:
    ///   - zone: the time zone of those calendar times that name none.
    ///   - sleepUntil: returns when the calendar says so, the clock has been set, or the task is cancelled; nil: the clock's
    ///     own waiting, after each minute of which the calendar is looked at.
    ///   - random: gives a number from 0 up to, but not, 1, each time another.
    public init<C: Clock>(
        clock: C, now: @escaping @Sendable () -> Timestamp,
        zone: @escaping @Sendable () -> ZoneOffsets = { .utc },
        sleepUntil: (@Sendable (Timestamp) async throws -> Void)? = nil,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) where C.Duration == Duration {
        self.clock = clock
        self.random = random
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
        self.now = now
        self.zone = zone
        self.sleepUntil =
            sleepUntil ?? { due in
                // If time passes between the two, the wait ends early rather than late.
                let start = clock.now
                let left = due.span(since: now())
                guard left > .zero else { return }
                try await clock.sleep(until: start.advanced(by: min(left, Self.longestNap)), tolerance: nil)
            }
    }

    /// Waits until `done` is called, the limit has passed, or the task is cancelled.
    func race(within limit: Duration, _ body: (@escaping @Sendable () -> Void) -> [Subscription]) async {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let subscriptions = body { continuation.finish() }
        let end = elapsed() + limit
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in stream {} }
            group.addTask { try? await sleep(end) }
            await group.next()
            group.cancelAll()
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    /// How long nobody looks whether the clock has been set, where nobody tells.
    static let longestNap = Duration.seconds(60)
}

extension Timestamp {
    /// The moment so much later, to the nanosecond; nil beyond what a moment can be.
    func later(by duration: Duration) -> Timestamp? {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = Int64(nanoseconds) + attoseconds / 1_000_000_000
        let (sum, isOver) = self.seconds.addingReportingOverflow(seconds)
        guard !isOver else { return nil }
        let carry = nanoseconds >= 1_000_000_000 ? 1 : nanoseconds < 0 ? -1 : Int64(0)
        return Timestamp(seconds: sum + carry, nanoseconds: Int32(nanoseconds - carry * 1_000_000_000))
    }
}
