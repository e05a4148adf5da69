import Glibc

/// A time as a calendar and a clock show it.
public struct CalendarTime: Sendable, Hashable {
    /// The year.
    public var year: Int
    /// The month, from 1.
    public var month: Int
    /// The day of the month, from 1.
    public var day: Int
    /// The hour, from 0 to 23.
    public var hour: Int
    /// The minute.
    public var minute: Int
    /// The second.
    public var second: Int

    /// A time.
    public init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// Seconds since 1970 in the time zone of this process.
    public static func local(_ seconds: Int64) -> CalendarTime {
        broken(seconds, localtime_r)
    }

    /// Seconds since 1970 in UTC.
    public static func utc(_ seconds: Int64) -> CalendarTime {
        broken(seconds, gmtime_r)
    }

    private static func broken(
        _ seconds: Int64,
        _ convert: (UnsafePointer<time_t>, UnsafeMutablePointer<tm>) -> UnsafeMutablePointer<tm>?
    ) -> CalendarTime {
        var time = time_t(seconds)
        var parts = tm()
        _ = convert(&time, &parts)
        return CalendarTime(
            year: Int(parts.tm_year) + 1900,
            month: Int(parts.tm_mon) + 1,
            day: Int(parts.tm_mday),
            hour: Int(parts.tm_hour),
            minute: Int(parts.tm_min),
            second: Int(parts.tm_sec)
        )
    }
}
