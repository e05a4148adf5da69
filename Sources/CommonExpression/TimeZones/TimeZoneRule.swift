/// A rule for local time in POSIX format (`TZ`, "Other Environment Variables"), with the extensions of RFC 8536,
/// section 3.3.1: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct TimeZoneRule: Sendable {
    /// The day of a change within a year.
    private enum Day: Sendable {
        /// A day from 1 to 365, which never counts the 29th of February.
        case julian(Int64)
        /// A day from 0 to 365.
        case zeroBased(Int64)
        /// A day of the week in a week of a month; week 5 is the last.
        case week(month: Int64, week: Int64, day: Int64)
    }

    private struct Change: Sendable {
        let day: Day
        /// Seconds of local time since midnight, possibly negative or more than a day.
        let time: Int64
    }

    private let standard: Int64
    private let summer: (offset: Int64, start: Change, end: Change)?

    /// Reads a rule, or nil if it is malformed.
    init?(text: [UInt8]) {
        var reader = Reader(bytes: text)
        guard reader.name(), let standard = reader.offset() else { return nil }
        self.standard = -standard
        guard !reader.isAtEnd else {
            summer = nil
            return
        }
        guard reader.name() else { return nil }
        var offset = self.standard + 3_600
        if !reader.isAtEnd, !reader.peeks(",") {
            guard let given = reader.offset() else { return nil }
            offset = -given
        }
        guard let start = reader.change(), let end = reader.change(), reader.isAtEnd else { return nil }
        summer = (offset, start, end)
    }

    /// Returns how many seconds local time is ahead of UTC at a moment.
    func offset(at seconds: Int64) -> Int64 {
        guard let summer else { return standard }
        let year = CivilDate(secondsSinceEpoch: seconds + standard).year
        let start = Self.seconds(of: summer.start, year) - standard
        let end = Self.seconds(of: summer.end, year) - summer.offset
        let isSummer = start < end ? seconds >= start && seconds < end : seconds >= start || seconds < end
        return isSummer ? summer.offset : standard
    }

    /// Returns the next change of the offset after a moment, in seconds since 1970-01-01T00:00:00Z; nil if it never
    /// changes.
    func change(after seconds: Int64) -> Int64? {
        guard let summer else { return nil }
        let year = CivilDate(secondsSinceEpoch: seconds + standard).year
        // A change may lie up to a week outside its year (RFC 8536, section 3.3.1).
        let changes = (year - 1...year + 1).flatMap { year in
            [
                Self.seconds(of: summer.start, year) - standard,
                Self.seconds(of: summer.end, year) - summer.offset,
            ]
        }
        return changes.filter { $0 > seconds }.min()
    }

    /// Returns the local time of a change in seconds since 1970-01-01T00:00:00.
    private static func seconds(of change: Change, _ year: Int64) -> Int64 {
        let newYear = CivilDate.days(year: year, month: 1, day: 1) ?? 0
        let day: Int64
        switch change.day {
        case .zeroBased(let number): day = newYear + number
        case .julian(let number):
            let isLeap = CivilDate.days(year: year, month: 2, day: 29) != nil
            day = newYear + number - 1 + (isLeap && number >= 60 ? 1 : 0)
        case .week(let month, let week, let dayOfWeek):
            let first = CivilDate.days(year: year, month: month, day: 1) ?? newYear
            // 1970-01-01 was a Thursday.
            let firstDayOfWeek = ((first + 4) % 7 + 7) % 7
            var candidate = first + (dayOfWeek - firstDayOfWeek + 7) % 7 + (week - 1) * 7
            let next = CivilDate.days(year: month == 12 ? year + 1 : year, month: month % 12 + 1, day: 1)
            while let next, candidate >= next { candidate -= 7 }
            day = candidate
        }
        return day * 86_400 + change.time
    }

    /// Reads the parts of a rule.
    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { position == bytes.count }

        func peeks(_ character: Unicode.Scalar) -> Bool {
            position < bytes.count && UInt32(bytes[position]) == character.value
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard peeks(character) else { return false }
            position += 1
            return true
        }

        /// Reads the name of a time: letters, or anything between `<` and `>`.
        mutating func name() -> Bool {
            let start = position
            if take("<") {
                while position < bytes.count, !peeks(">") { position += 1 }
                return take(">")
            }
            while position < bytes.count, isLetter(bytes[position]) { position += 1 }
            return position - start >= 3
        }

        private func isLetter(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }

        /// Reads a number of at most three digits.
        mutating func number(upTo most: Int64) -> Int64? {
            var number: Int64 = 0
            let start = position
            while position < bytes.count, position - start < 3, (0x30...0x39).contains(bytes[position]) {
                number = number * 10 + Int64(bytes[position] - 0x30)
                position += 1
            }
            return position > start && number <= most ? number : nil
        }

        /// Reads `[±]hh[:mm[:ss]]` in seconds, at most 167 hours.
        mutating func offset() -> Int64? {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            guard let hours = number(upTo: 167) else { return nil }
            var seconds = hours * 3_600
            if take(":") {
                guard let minutes = number(upTo: 59) else { return nil }
                seconds += minutes * 60
                if take(":") {
                    guard let rest = number(upTo: 59) else { return nil }
                    seconds += rest
                }
            }
            return isNegative ? -seconds : seconds
        }

        /// Reads `,date[/time]`. The default time is 02:00.
        mutating func change() -> Change? {
            guard take(","), let day = day() else { return nil }
            guard take("/") else { return Change(day: day, time: 7_200) }
            return offset().map { Change(day: day, time: $0) }
        }

        private mutating func day() -> Day? {
            if take("J") { return number(upTo: 365).flatMap { $0 >= 1 ? .julian($0) : nil } }
            guard take("M") else { return number(upTo: 365).map { .zeroBased($0) } }
            guard let month = number(upTo: 12), month >= 1, take("."), let week = number(upTo: 5), week >= 1,
                take("."), let day = number(upTo: 6)
            else { return nil }
            return .week(month: month, week: week, day: day)
        }
    }
}
