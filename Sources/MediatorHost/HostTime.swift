public import CommonExpression

/// What time it is for a host: how long things take, and what the calendar says.
public struct HostTime: Sendable {
    /// The clock that side effects wait by.
    public let clock: any Clock<Duration>
    /// How long ago the host was made.
    let elapsed: @Sendable () -> Duration
    /// What the calendar says; expressions see it as `now`.
    public let now: @Sendable () -> Timestamp

    /// A host's time by the given clock and calendar.
    public init<C: Clock>(clock: C, now: @escaping @Sendable () -> Timestamp) where C.Duration == Duration {
        self.clock = clock
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        self.now = now
    }
}
