public import CommonExpression

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
    /// A number from 0 up to 1, for delays that are to differ.
    let random: @Sendable () -> Double

    /// A host's time by the given clock and calendar.
    ///
    /// - Parameter random: gives a number from 0 up to, but not, 1, each time another.
    public init<C: Clock>(
        clock: C, now: @escaping @Sendable () -> Timestamp,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) where C.Duration == Duration {
        self.clock = clock
        self.random = random
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
        self.now = now
    }
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
