import CommonExpression

/// Lengths of time as people write them who know other programs' units.
enum DurationText {
    private static let units: [(names: Set<String>, unit: String, factor: Int)] = [
        (["ms", "msec", "msecs", "millisecond", "milliseconds"], "ms", 1),
        (["s", "sec", "secs", "second", "seconds"], "s", 1),
        (["m", "min", "mins", "minute", "minutes"], "m", 1),
        (["h", "hr", "hrs", "hour", "hours"], "h", 1),
        (["d", "day", "days"], "h", 24),
        (["w", "week", "weeks"], "h", 168),
    ]

    /// A length of time that was probably meant: `5m` by `5 min`, `24h` by `1d`; nil: nothing that one could know.
    static func meant(by text: String) -> String? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let written = text.dropFirst(digits.count).drop { $0 == " " }
        // A lone M is a month to systemd.
        let name = written == "M" ? "" : written.lowercased()
        guard digits.count < 10, let number = Int(digits), let unit = units.first(where: { $0.names.contains(name) })
        else { return nil }
        let meant = "\(number * unit.factor)\(unit.unit)"
        return meant != text && TimeSpan(text: meant) != nil ? meant : nil
    }

    /// A suggestion in place of a text.
    static func hint(for text: String) -> String {
        meant(by: text).map { "write \($0): the units are h, m, s, ms, us and ns" }
            ?? "write a number and a unit, such as 5s, 200ms or 1h30m"
    }
}
