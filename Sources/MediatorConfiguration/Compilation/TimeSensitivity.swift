import CommonExpression

/// When it is so what was found of times that come for the last time.
struct TimeSensitivity: Sendable {
    /// The time at which it was found; before, it may have been otherwise.
    var since: Timestamp
    /// The time at which it may no longer be so; nil: it stays so.
    var until: Timestamp?
    /// The machine's time zone in which it is so.
    var zone: LocalTimeZone.Identity

    /// When both are so. Both were found in one compilation or in one that went on from the other, in the same zone.
    func intersection(_ other: TimeSensitivity) -> TimeSensitivity {
        TimeSensitivity(
            since: max(since, other.since), until: [until, other.until].compactMap(\.self).min(), zone: other.zone)
    }

    /// Whether it is so at a time; nil: nobody knows what time it is.
    func holds(at now: Timestamp?) -> Bool {
        guard let now else { return true }
        return now >= since && until.map { now < $0 } ?? true && zone == LocalTimeZone.machine.identity()
    }
}
