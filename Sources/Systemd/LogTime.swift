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

    /// Returns a text in which each time in UTC (RFC 3339) is replaced by the time on the clock: `HH:MM:SS`. The date stands
    /// before it if that is not the date of `now`. Only whole words are times.
    static func onTheClock(_ text: String, now: Duration, local: Bool) -> String {
        guard text.utf8.contains(UInt8(ascii: "Z")) else { return text }
        let today = date(now, local: local)
        return text.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let end = word.hasSuffix(",") || word.hasSuffix(";") ? word.suffix(1) : ""
            guard let time = moment(word.dropLast(end.count)) else { return String(word) }
            let day = date(time, local: local)
            return (day == today ? "" : day + " ") + clock(time, local: local) + end
        }.joined(separator: " ")
    }

    /// Returns `YYYY-MM-DD`.
    private static func date(_ time: Duration, local: Bool) -> String {
        let parts = broken(time, local: local)
        return text([(parts.tm_year &+ 1900, 4, "-"), (parts.tm_mon + 1, 2, "-"), (parts.tm_mday, 2, nil)])
    }

    /// Returns the time of a word such as `2026-11-28T14:02:11.5Z` to the second, or `nil` for another word.
    private static func moment(_ word: Substring) -> Duration? {
        guard (20...30).contains(word.utf8.count), word.hasSuffix("Z") else { return nil }
        let pieces = word.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard pieces.dropFirst().allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isWholeNumber) }) else { return nil }
        let numbers = pieces[0].split(omittingEmptySubsequences: false) { "-T:".contains($0) }.map { Int32($0) ?? -1 }
        guard numbers.count == 6 else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
        let time = Duration.seconds(timegm(&parts))
        // Another text, or a date that does not exist, gives another time.
        return rfc3339(time).hasPrefix(pieces[0]) ? time : nil
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
