/// A moment in the proleptic Gregorian calendar.
///
/// The conversions are those of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". Years begin in March, so
/// that the leap day is the last of its year. They repeat every 400 years, which are 146 097 days.
package struct CivilDate: Sendable, Hashable {
    /// The year in astronomical numbering.
    package let year: Int64
    /// The month, 1 ... 12.
    package let month: Int64
    /// The day, 1 ... 31.
    package let day: Int64
    /// The hour, 0 ... 23.
    package let hour: Int64
    /// The minute, 0 ... 59.
    package let minute: Int64
    /// The second, 0 ... 59.
    package let second: Int64
    /// The day of the week, 0 for Sunday.
    package let dayOfWeek: Int64
    /// The day of the year, 0 for the first of January.
    let dayOfYear: Int64

    /// Creates the date of a number of seconds since 1970-01-01T00:00:00Z, which must be within or near a timestamp's
    /// range.
    package init(secondsSinceEpoch: Int64) {
        let days = Self.floor(secondsSinceEpoch, 86_400)
        let secondOfDay = secondsSinceEpoch - days * 86_400
        let shifted = days + 719_468
        let era = Self.floor(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfMarchYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfMarchYear + 2) / 153
        day = dayOfMarchYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = secondOfDay / 3_600
        minute = secondOfDay / 60 % 60
        second = secondOfDay % 60
        dayOfWeek = days + 4 - Self.floor(days + 4, 7) * 7
        dayOfYear = days - Self.daysUnchecked(year: year, month: 1, day: 1)
    }

    /// Returns the days from 1970-01-01 to a date, or nil if the calendar has no such date. The year must be 0 ...
    /// 9999.
    package static func days(year: Int64, month: Int64, day: Int64) -> Int64? {
        guard (1...12).contains(month), day >= 1, day <= length(ofMonth: month, year: year) else { return nil }
        return daysUnchecked(year: year, month: month, day: day)
    }

    private static func daysUnchecked(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let era = floor(marchYear, 400)
        let yearOfEra = marchYear - era * 400
        let marchMonth = month > 2 ? month - 3 : month + 9
        let dayOfMarchYear = (153 * marchMonth + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfMarchYear - 719_468
    }

    /// Returns the number of days of a month.
    package static func length(ofMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Divides and rounds down. The divisor is positive.
    package static func floor(_ dividend: Int64, _ divisor: Int64) -> Int64 {
        dividend >= 0 ? dividend / divisor : (dividend + 1) / divisor - 1
    }
}
