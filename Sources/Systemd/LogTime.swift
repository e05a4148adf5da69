import Glibc

/// The time of day, as log lines show it.
enum LogTime {
    /// The present time, counted from 1970-01-01T00:00:00Z.
    static func now() -> Duration {
        var now = timespec()
        // Cannot fail: the clock exists on every Linux, and the address is valid.
        _ = clock_gettime(CLOCK_REALTIME, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }

    /// `HH:MM:SS`, in the process's time zone or in UTC.
    static func clock(_ time: Duration, local: Bool) -> String {
        let parts = broken(time, local: local)
        return "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))"
    }

    /// `YYYY-MM-DDTHH:MM:SS.mmmZ`. Source: RFC 3339, section 5.6.
    static func rfc3339(_ time: Duration) -> String {
        let parts = broken(time, local: false)
        let milliseconds = Int32(truncatingIfNeeded: time.components.attoseconds / 1_000_000_000_000_000)
        let date = "\(padded(parts.tm_year &+ 1900, to: 4))-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
        return "\(date)T\(clock(time, local: false)).\(padded(max(0, milliseconds), to: 3))Z"
    }

    private static func broken(_ time: Duration, local: Bool) -> tm {
        var seconds = time_t(time.components.seconds)
        var parts = tm()
        // Neither can fail before the year 2^31; `parts` then stays all zeros, which prints.
        _ = local ? localtime_r(&seconds, &parts) : gmtime_r(&seconds, &parts)
        return parts
    }

    private static func padded(_ number: Int32, to width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
