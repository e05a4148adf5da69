import Glibc

/// The time of day in log lines.
enum LogTime {
    /// Returns the current time since 1970-01-01T00:00:00Z.
    static func now() -> Duration {
        var now = timespec()
        // This cannot fail: the clock exists on every Linux, and the address is valid.
        _ = clock_gettime(CLOCK_REALTIME, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }

    /// Returns `HH:MM:SS` in the process's time zone or in UTC.
    static func clock(_ time: Duration, local: Bool) -> String {
        let parts = broken(time, local: local)
        return text([(parts.tm_hour, 2, ":"), (parts.tm_min, 2, ":"), (parts.tm_sec, 2, nil)])
    }

    /// Returns `YYYY-MM-DDTHH:MM:SS.mmmZ`. Source: RFC 3339, section 5.6.
    static func rfc3339(_ time: Duration) -> String {
        let parts = broken(time, local: false)
        let milliseconds = Int32(truncatingIfNeeded: time.components.attoseconds / 1_000_000_000_000_000)
        return text([
            (parts.tm_year &+ 1900, 4, "-"), (parts.tm_mon + 1, 2, "-"), (parts.tm_mday, 2, "T"),
            (parts.tm_hour, 2, ":"), (parts.tm_min, 2, ":"), (parts.tm_sec, 2, "."), (max(0, milliseconds), 3, "Z"),
        ])
    }

    /// Returns numbers with a minimum of digits, each followed by its separator.
    private static func text(_ parts: [(number: Int32, digits: Int, end: Unicode.Scalar?)]) -> String {
        var text = ""
        for part in parts {
            var bound: Int32 = 10
            for _ in 1..<part.digits {
                if part.number < bound { text.unicodeScalars.append("0") }
                bound *= 10
            }
            text += String(part.number)
            if let end = part.end { text.unicodeScalars.append(end) }
        }
        return text
    }

    private static func broken(_ time: Duration, local: Bool) -> tm {
        var seconds = time_t(time.components.seconds)
        var parts = tm()
        // Neither function can fail before the year 2^31. `parts` would then stay all zeros, which also prints.
        _ = local ? localtime_r(&seconds, &parts) : gmtime_r(&seconds, &parts)
        return parts
    }
}
