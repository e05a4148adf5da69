/// A pattern in the style of strftime(3), which writes a moment of a time zone as text.
///
/// It knows the letters that do not depend on a language: names are English. `%-` before a number drops its leading zeros.
package struct TimeFormat: Sendable {
    /// The reason why a text is not a pattern.
    package enum Refusal: Error {
        case tooLong
        case incomplete
        case unknown(String)

        /// The reason as the end of a sentence about the pattern.
        var message: String {
            switch self {
            case .tooLong: "is longer than \(TimeFormat.longestPattern) bytes, which is the limit"
            case .incomplete: "ends within a letter; write '%%' for a percent sign"
            case .unknown(let letter):
                "has the unknown letter '\(letter)'; use \(Letter.allCases.map { "%\($0.rawValue)" }.joined(separator: " "))"
            }
        }
    }

    /// A part of a moment.
    private enum Letter: Character, CaseIterable {
        case year = "Y"
        case shortYear = "y"
        case month = "m"
        case day = "d"
        case paddedDay = "e"
        case hour = "H"
        case halfDayHour = "I"
        case minute = "M"
        case second = "S"
        case halfDay = "p"
        case dayOfYear = "j"
        case weekday = "u"
        case shortWeekdayName = "a"
        case weekdayName = "A"
        case shortMonthName = "b"
        case monthName = "B"
        case week = "V"
        case weekYear = "G"
        case date = "F"
        case time = "T"
        case shortTime = "R"
        case offset = "z"
        case unixTime = "s"
        case percent = "%"
    }

    private enum Piece {
        case text(String)
        case letter(Letter, isPadded: Bool)
    }

    /// The longest pattern, in bytes.
    static let longestPattern = 1_024

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    private let pieces: [Piece]

    /// Reads a pattern.
    package init(_ pattern: String) throws(Refusal) {
        guard pattern.utf8.count <= Self.longestPattern else { throw .tooLong }
        var pieces: [Piece] = []
        var text = String.UnicodeScalarView()
        var rest = pattern.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "%" else {
                text.append(scalar)
                continue
            }
            if !text.isEmpty { pieces.append(.text(String(text))) }
            text = String.UnicodeScalarView()
            let isPadded = rest.first != "-"
            if !isPadded { rest.removeFirst() }
            guard let name = rest.popFirst() else { throw .incomplete }
            guard let letter = Letter(rawValue: Character(name)) else {
                throw .unknown((isPadded ? "%" : "%-") + String(Character(name)))
            }
            pieces.append(.letter(letter, isPadded: isPadded))
        }
        if !text.isEmpty { pieces.append(.text(String(text))) }
        self.pieces = pieces
    }

    /// Returns the text of a moment, at a number of seconds ahead of UTC.
    package func text(of timestamp: Timestamp, offset: Int64) -> String {
        let local = timestamp.seconds + offset
        let date = CivilDate(secondsSinceEpoch: local)
        return pieces.reduce(into: "") { text, piece in
            switch piece {
            case .text(let part): text += part
            case .letter(let letter, let isPadded):
                text += Self.text(letter, isPadded: isPadded, date, local: local, offset: offset)
            }
        }
    }

    private static func text(
        _ letter: Letter, isPadded: Bool, _ date: CivilDate, local: Int64, offset: Int64
    ) -> String {
        func number(_ number: Int64, _ width: Int, _ fill: Character = "0") -> String {
            let digits = String(number)
            return isPadded ? String(repeating: fill, count: max(0, width - digits.utf8.count)) + digits : digits
        }
        let weekday = date.dayOfWeek == 0 ? 7 : date.dayOfWeek
        // A week of ISO 8601 belongs to the year of its Thursday.
        var thursday: CivilDate { CivilDate(secondsSinceEpoch: local + (4 - weekday) * 86_400) }
        func joined(_ letters: [Letter], _ separator: String) -> String {
            letters.map { text($0, isPadded: true, date, local: local, offset: offset) }.joined(separator: separator)
        }
        return switch letter {
        case .year: number(date.year, 4)
        case .shortYear: number(date.year % 100, 2)
        case .month: number(date.month, 2)
        case .day: number(date.day, 2)
        case .paddedDay: number(date.day, 2, " ")
        case .hour: number(date.hour, 2)
        case .halfDayHour: number((date.hour + 11) % 12 + 1, 2)
        case .minute: number(date.minute, 2)
        case .second: number(date.second, 2)
        case .halfDay: date.hour < 12 ? "AM" : "PM"
        case .dayOfYear: number(date.dayOfYear + 1, 3)
        case .weekday: String(weekday)
        case .shortWeekdayName: String(weekdays[Int(date.dayOfWeek)].prefix(3))
        case .weekdayName: weekdays[Int(date.dayOfWeek)]
        case .shortMonthName: String(months[Int(date.month - 1)].prefix(3))
        case .monthName: months[Int(date.month - 1)]
        case .week: number(thursday.dayOfYear / 7 + 1, 2)
        case .weekYear: number(thursday.year, 4)
        case .date: joined([.year, .month, .day], "-")
        case .time: joined([.hour, .minute, .second], ":")
        case .shortTime: joined([.hour, .minute], ":")
        case .offset:
            (offset < 0 ? "-" : "+") + String(offset.magnitude / 3_600 + 100).dropFirst()
                + String(offset.magnitude / 60 % 60 + 100).dropFirst()
        case .unixTime: String(local - offset)
        case .percent: "%"
        }
    }
}
