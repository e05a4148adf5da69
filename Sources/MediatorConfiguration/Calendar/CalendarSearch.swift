public import CommonExpression

extension CalendarExpression {
    private static let microsecondsPerDay: Int64 = 86_400_000_000
    /// More changes of the clock than any zone has from the first year to the last.
    private static let mostTransitions = 2_048

    /// The first point in time after another, to the microsecond; nil: it never comes again.
    ///
    /// - Parameter local: The time zone, if the expression names none.
    /// - Complexity: Linear in the changes of the clock and in the months until then: at most some thousand steps.
    public func next(after time: Timestamp, in local: ZoneOffsets) -> Timestamp? {
        let zone = zone ?? local
        let (second, micro) = (max(time.seconds, 0), time.seconds < 0 ? -1 : Int64(time.nanoseconds) / 1_000)
        // Between two changes of the clock, local time and UTC run in parallel. Each such stretch begins where the last
        // one has ended, so that a local time does not come twice.
        var offset = zone.offset(at: second)
        var end = zone.transition(after: second)
        var bound = (second + offset) * 1_000_000 + micro + 1
        var found: Int64?
        for _ in 0..<Self.mostTransitions {
            if found.map({ $0 < bound }) ?? true { found = first(from: bound) }
            guard let candidate = found else { return nil }
            if let begin = end, candidate >= (begin + offset) * 1_000_000 {
                bound = max((begin + offset) * 1_000_000, (begin + zone.offset(at: begin)) * 1_000_000)
                offset = zone.offset(at: begin)
                end = zone.transition(after: begin)
                continue
            }
            let instant = candidate - offset * 1_000_000
            let seconds = CivilDate.floor(instant, 1_000_000)
            return Timestamp(seconds: seconds, nanoseconds: Int32(instant - seconds * 1_000_000) * 1_000)
        }
        return nil
    }

    // MARK: Local time

    /// The first local time from another on, both in microseconds since 1970-01-01T00:00:00.
    private func first(from bound: Int64) -> Int64? {
        let days = CivilDate.floor(bound, Self.microsecondsPerDay)
        let date = CivilDate(secondsSinceEpoch: days * 86_400)
        var (year, month, day) = (date.year, date.month, date.day)
        var timeOfDay = bound - days * Self.microsecondsPerDay
        while year <= Self.lastYear {
            guard let nextYear = Self.first(from: max(year, Self.firstYear), years), nextYear <= Self.lastYear else {
                return nil
            }
            if nextYear > year { (year, month, day, timeOfDay) = (nextYear, 1, 1, 0) }
            guard let nextMonth = Self.first(from: month, months), nextMonth <= 12 else {
                (year, month, day, timeOfDay) = (year + 1, 1, 1, 0)
                continue
            }
            if nextMonth > month { (month, day, timeOfDay) = (nextMonth, 1, 0) }
            if let nextDay = self.day(from: day, year, month) {
                if nextDay > day { (day, timeOfDay) = (nextDay, 0) }
                if let time = self.timeOfDay(from: timeOfDay),
                    let days = CivilDate.days(year: year, month: month, day: day)
                {
                    return days * Self.microsecondsPerDay + time
                }
                (day, timeOfDay) = (day + 1, 0)
            } else {
                (month, day, timeOfDay) = (month + 1, 1, 0)
            }
        }
        return nil
    }

    /// The first day of a month from one on, by date and day of the week.
    private func day(from first: Int64, _ year: Int64, _ month: Int64) -> Int64? {
        let length = CivilDate.length(ofMonth: month, year: year)
        guard let firstOfMonth = CivilDate.days(year: year, month: month, day: 1) else { return nil }
        let components = countsFromEnd ? days.map { Self.fromStart($0, length) } : days
        var day = first
        while let next = Self.first(from: day, components), next <= length {
            // 1970-01-01 was a Thursday, which is 3 where Monday is 0.
            let dayOfWeek = (firstOfMonth + next - 1 + 3) % 7
            if weekdays == 0 || weekdays & 1 << dayOfWeek != 0 { return next }
            day = next + 1
        }
        return nil
    }

    /// Days counted from the end of a month as they count from its start.
    private static func fromStart(_ component: Component, _ length: Int64) -> Component {
        let start = length + 1 - component.start
        guard let stop = component.stop else { return Component(start: start, step: component.step) }
        return Component(start: length + 1 - stop, stop: start, step: component.step)
    }

    /// The first time of a day from one on, in microseconds since midnight.
    private func timeOfDay(from first: Int64) -> Int64? {
        var (hour, minute, micro) = (first / 3_600_000_000, first / 60_000_000 % 60, first % 60_000_000)
        while let nextHour = Self.first(from: hour, hours), nextHour <= 23 {
            if nextHour > hour { (hour, minute, micro) = (nextHour, 0, 0) }
            while let nextMinute = Self.first(from: minute, minutes), nextMinute <= 59 {
                if nextMinute > minute { (minute, micro) = (nextMinute, 0) }
                if let next = Self.first(from: micro, microseconds), next < 60_000_000 {
                    return hour * 3_600_000_000 + minute * 60_000_000 + next
                }
                (minute, micro) = (minute + 1, 0)
            }
            (hour, minute, micro) = (hour + 1, 0, 0)
        }
        return nil
    }

    /// The first value from one on that a list has.
    private static func first(from value: Int64, _ components: [Component]) -> Int64? {
        guard !components.isEmpty else { return value }
        var found: Int64?
        for component in components {
            var candidate = component.start
            if candidate < value {
                guard component.step > 0 else { continue }
                candidate += (value - candidate + component.step - 1) / component.step * component.step
                if let stop = component.stop, candidate > stop { continue }
            }
            found = min(found ?? candidate, candidate)
        }
        return found
    }
}
