package import CommonExpression

/// Calendar times in the syntax of systemd's `OnCalendar=`: `Mon..Fri 08:00`, `*-*~1 23:00 Europe/Berlin`.
///
/// The syntax, the normal form and the next time follow systemd.time(7), "Calendar Events", with two exceptions. A time
/// zone is `UTC` or a name of the IANA database, but not the local zone's abbreviation (`CET` is the zone of that
/// name). And `@` with seconds since 1970 is not accepted. The years are 1970 to 2199.
///
/// If a change of the clock skips a local time, that time does not come on that day. If a local time comes twice, the
/// first one counts.
public struct CalendarExpression: Sendable, Equatable, CustomStringConvertible {
    /// The first year.
    static let firstYear: Int64 = 1970
    /// The last year.
    static let lastYear: Int64 = 2199
    /// The largest number of values and ranges in one place.
    static let mostComponents = 240
    /// Bytes of the longest expression.
    static let longestText = 4_096

    /// A value, or a range, or either with repetitions.
    struct Component: Sendable, Hashable, Comparable {
        /// The first value; in days that are counted from the end of the month, 1 for the last day.
        var start: Int64
        /// The last value there may be; nil: that of the place.
        var stop: Int64?
        /// The distance between the values; 0: only the first value.
        var step: Int64 = 0

        static func < (left: Component, right: Component) -> Bool {
            (left.start, left.stop ?? -1, left.step) < (right.start, right.stop ?? -1, right.step)
        }
    }

    /// A bit for each day of the week, Monday's the lowest; 0: any.
    var weekdays: UInt8 = 0
    /// The values of each place; empty: any value.
    var years: [Component] = []
    var months: [Component] = []
    var days: [Component] = []
    /// A Boolean value that indicates whether days count from the end of the month.
    var countsFromEnd = false
    var hours: [Component] = []
    var minutes: [Component] = []
    /// Seconds of the minute, in microseconds; never empty.
    var microseconds: [Component] = [Component(start: 0)]
    /// The name of the time zone; nil: that of the machine.
    public internal(set) var zoneName: String?
    /// The time zone of that name.
    package internal(set) var zone: ZoneOffsets?

    /// An expression for every second.
    init() {}

    /// Reads an expression; its time zone is looked up in the machine's database.
    public init(_ text: String) throws(CalendarProblem) {
        try self.init(text, zones: .system)
    }

    /// Reads an expression; its time zone is looked up in the given database.
    package init(_ text: String, zones: TimeZoneDatabase) throws(CalendarProblem) {
        var parser = CalendarParser(text)
        self = try parser.expression(zones)
    }

    /// Returns whether two expressions mean the same.
    public static func == (left: CalendarExpression, right: CalendarExpression) -> Bool {
        left.description == right.description
    }

    // MARK: Normal form

    /// The normal form, as `systemd-analyze calendar` prints it.
    public var description: String {
        var text = weekdays == 0 ? "" : Self.text(ofWeekdays: weekdays) + " "
        text += Self.text(years, width: 4) + "-" + Self.text(months, width: 2) + (countsFromEnd ? "~" : "-")
        text += Self.text(days, width: 2) + " " + Self.text(hours, width: 2) + ":" + Self.text(minutes, width: 2) + ":"
        text +=
            microseconds == [Component(start: 0, step: 1_000_000)] ? "*" : Self.text(microseconds, width: 2, scale: 6)
        if let zoneName { text += " " + zoneName }
        return text
    }

    /// The days of the week by name, Monday first.
    package static let weekdayNames = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

    private static func text(ofWeekdays bits: UInt8) -> String {
        var parts: [String] = []
        var day = 0
        while day < 7 {
            guard bits & 1 << day != 0 else {
                day += 1
                continue
            }
            var last = day
            while last < 6, bits & 1 << (last + 1) != 0 { last += 1 }
            let (from, to) = (weekdayNames[day].prefix(3), weekdayNames[last].prefix(3))
            parts.append(last == day ? "\(from)" : last == day + 1 ? "\(from),\(to)" : "\(from)..\(to)")
            day = last + 1
        }
        return parts.joined(separator: ",")
    }

    /// The text of one place. `scale`: the number of decimals.
    private static func text(_ components: [Component], width: Int, scale: Int = 0) -> String {
        guard !components.isEmpty else { return "*" }
        let one: Int64 = scale == 0 ? 1 : 1_000_000
        func padded(_ number: Int64, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        func number(_ number: Int64, _ width: Int) -> String {
            padded(number / one, width) + (number % one > 0 ? "." + padded(number % one, scale) : "")
        }
        return components.map { component in
            var text = number(component.start, width)
            if let stop = component.stop { text += ".." + number(stop, width) }
            if component.step > 0, component.stop == nil || component.step != one {
                text += "/" + number(component.step, 1)
            }
            return text
        }.joined(separator: ",")
    }
}

/// A mistake in a calendar time.
public struct CalendarProblem: Error, Hashable, CustomStringConvertible {
    /// The mistake.
    public let message: String
    /// The place, in bytes of UTF-8.
    public let range: Range<Int>
    /// Advice.
    public let hint: String?
    /// The mistake without parts of the text, which may be confidential.
    package let reason: String

    /// - Parameter reason: The mistake without parts of the text; nil: the message has none.
    init(_ message: String, at range: Range<Int>, hint: String? = nil, reason: String? = nil) {
        self.message = message
        self.range = range
        self.hint = hint
        self.reason = reason ?? message
    }

    /// The mistake in one line.
    public var description: String { hint.map { "\(message); \($0)" } ?? message }
}
