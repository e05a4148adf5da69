import CommonExpression

/// The times at which diagnostics about calendar times hold: a time may pass and never come again.
struct TimeSensitivity: Sendable {
    /// The time at which they were found; they may be wrong before it.
    var since: Timestamp
    /// The time at which they may become wrong; nil: they stay right.
    var until: Timestamp?
    /// The machine's time zone in which they hold.
    var zone: LocalTimeZone.Identity

    /// The times at which both hold. Both are of the same zone, as a part is used again only while its times hold.
    func intersection(_ other: TimeSensitivity) -> TimeSensitivity {
        TimeSensitivity(
            since: max(since, other.since), until: [until, other.until].compactMap(\.self).min(), zone: other.zone)
    }

    /// Returns whether the diagnostics hold at a time; nil: the time is unknown.
    func holds(at now: Timestamp?) -> Bool {
        guard let now else { return true }
        return now >= since && until.map { now < $0 } ?? true && zone == LocalTimeZone.machine.identity()
    }
}
