import CommonExpression

/// Reads a calendar time, by systemd.time(7), "Calendar Events".
struct CalendarParser {
    typealias Component = CalendarExpression.Component

    /// The values that one place may have.
    struct Place {
        let name: String
        let range: ClosedRange<Int64>
        var isSeconds = false

        static let year = Place(name: "year", range: CalendarExpression.firstYear...CalendarExpression.lastYear)
        static let month = Place(name: "month", range: 1...12)
        static let day = Place(name: "day", range: 1...31)
        /// Counted from the end, where every month has as many.
        static let dayFromEnd = Place(name: "day before the end of the month", range: 1...28)
        static let hour = Place(name: "hour", range: 0...23)
        static let minute = Place(name: "minute", range: 0...59)
        static let second = Place(name: "second", range: 0...59_999_999, isSeconds: true)

        /// A value of this place in words.
        func text(_ value: Int64) -> String { isSeconds ? "\(value / 1_000_000)" : "\(value)" }
    }

    /// A list of values, and where each is written.
    struct Chain {
        var components: [(Component, Range<Int>)] = []
        var range: Range<Int>
    }

    let bytes: [UInt8]
    var position = 0
    var end: Int
    static let longestNumber = 9

    init(_ text: String) {
        bytes = Array(text.utf8)
        end = bytes.count
    }

    /// The whole.
    mutating func expression(_ zones: TimeZoneDatabase) throws(CalendarProblem) -> CalendarExpression {
        guard bytes.count <= CalendarExpression.longestText else {
            throw CalendarProblem(
                "a calendar time has at most \(CalendarExpression.longestText) bytes", at: 0..<bytes.count)
        }
        while end > 0, bytes[end - 1] == UInt8(ascii: " ") { end -= 1 }
        while position < end, bytes[position] == UInt8(ascii: " ") { position += 1 }
        guard position < end else {
            throw CalendarProblem("a calendar time is empty", at: 0..<bytes.count, hint: Self.example)
        }
        if let word = foreignWord { throw word }
        guard !isOfCron else {
            throw CalendarProblem(
                "these are the five fields of cron, and no calendar time", at: position..<end,
                hint:
                    "write such as \"*:0/5\" for every five minutes, \"Mon..Fri 08:30\", \"*-*-01 00:00:00\" or \"daily\""
            )
        }
        let zone = try zone(zones)
        var expression = CalendarExpression()
        if let word = try shorthand() { expression = word } else { expression = try points() }
        (expression.zoneName, expression.zone) = (zone?.name, zone?.offsets)
        return expression
    }

    /// The problem with a word of cron such as '@daily', with 'every day', or with a time such as '2am'.
    private var foreignWord: CalendarProblem? {
        let text = String(decoding: bytes[position..<end], as: UTF8.self).lowercased()
        let words = text.split(separator: " ")
        func problem(_ message: String, _ hint: String, reason: String? = nil) -> CalendarProblem {
            CalendarProblem(message, at: position..<end, hint: hint, reason: reason)
        }
        let units = ["minute": "minutely", "hour": "hourly", "day": "daily", "week": "weekly", "month": "monthly"]
        if text == "@reboot" {
            return problem(
                "'@reboot' is a word of cron, and no calendar time",
                "leave 'at' out: a feedback of the initial state runs at the start", reason: "it is a word of cron")
        }
        if text.hasPrefix("@") {
            let word = ["@midnight": "daily", "@annually": "yearly"][text] ?? String(text.dropFirst())
            return problem(
                "'\(text.prefix(20))' is a word of cron",
                Self.shorthands.contains(word) ? "write \"\(word)\"" : Self.example, reason: "it is a word of cron")
        }
        if words.count == 2, words[0] == "every", let word = units[String(words[1])] {
            return problem(
                "this is no calendar time", "write \"\(word)\"", reason: "'every' is no part of a calendar time")
        }
        let digits = text.prefix { $0.isNumber }
        let half = text.drop { $0.isNumber || $0 == ":" || $0 == " " }
        guard ["am", "pm"].contains(half), let hour = Int(digits), (1...12).contains(hour) else { return nil }
        let hours = hour % 12 + (half == "pm" ? 12 : 0)
        let rest = text.dropFirst(digits.count).prefix { $0.isNumber || $0 == ":" }
        return problem(
            "times have 24 hours", "write \"\(hours < 10 ? "0" : "")\(hours)\(rest.isEmpty ? ":00" : String(rest))\"")
    }

    /// A Boolean value that indicates whether it is written as in crontab(5): five fields of numbers, `*`, names and
    /// what joins these, without a colon.
    private var isOfCron: Bool {
        let fields = bytes[position..<end].split(separator: UInt8(ascii: " "))
        return fields.count == 5
            && fields.allSatisfy { field in
                field.contains { Self.isDigit($0) || $0 == UInt8(ascii: "*") }
                    && field.allSatisfy { Self.isDigit($0) || Self.isLetter($0) || "*/,-".utf8.contains($0) }
                    || field.count == 3 && field.allSatisfy(Self.isLetter)
            }
    }

    static let example = "write such as \"Mon..Fri 08:00\", \"*-*-01 00:00:00\" or \"daily\""

    // MARK: Time zone

    /// Removes the time zone from the end and returns it.
    private mutating func zone(_ zones: TimeZoneDatabase) throws(CalendarProblem) -> (
        name: String, offsets: ZoneOffsets
    )? {
        guard let space = bytes[position..<end].lastIndex(of: UInt8(ascii: " ")), Self.isLetter(bytes[space + 1]) else {
            return nil
        }
        let word = space + 1..<end
        let name = String(decoding: bytes[word], as: UTF8.self)
        var rest = space
        while rest > position, bytes[rest - 1] == UInt8(ascii: " ") { rest -= 1 }
        if name.lowercased() == "utc" {
            end = rest
            return ("UTC", .utc)
        }
        if weekday(at: word.lowerBound) != nil {
            throw CalendarProblem(
                "days of the week stand in front, without spaces between them", at: word,
                hint: "write such as Mon,Fri 08:00")
        }
        do throws(TimeZoneDatabase.Failure) {
            let offsets = try zones.zone(named: name)
            end = rest
            return (name, offsets)
        } catch {
            switch error {
            case .unknown:
                throw CalendarProblem(
                    "there is no time zone '\(name.prefix(64))'", at: word,
                    hint: Self.zoneMeant(by: name, zones).map { "did you mean '\($0)'?" }
                        ?? "write UTC, or a name such as Europe/Berlin, as the time zone database has it",
                    reason: "there is no time zone of its name")
            case .missing(let directory):
                throw CalendarProblem(
                    "the time zone database is missing from \(directory)", at: word,
                    hint: "install tzdata, or write UTC")
            case .malformed:
                throw CalendarProblem(
                    "the time zone database's file of '\(name)' cannot be read", at: word,
                    reason: "the time zone database's file of its time zone cannot be read")
            }
        }
    }

    /// The zone that a name means if its region or a '_' between words is missing, such as `NewYork`; nil: none.
    private static func zoneMeant(by name: String, _ zones: TimeZoneDatabase) -> String? {
        var spelt = ""
        for character in name {
            if character.isUppercase, spelt.last?.isLowercase ?? false { spelt.append("_") }
            spelt.append(character)
        }
        let regions = ["", "Europe/", "America/", "Asia/", "Africa/", "Australia/", "Pacific/", "Atlantic/"]
        return regions.flatMap { [$0 + name, $0 + spelt] }.first { (try? zones.zone(named: $0)) != nil }
    }

    // MARK: Words

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// A word that stands for the whole.
    private func shorthand() throws(CalendarProblem) -> CalendarExpression? {
        guard bytes[position..<end].allSatisfy({ Self.isLetter($0) || $0 == UInt8(ascii: "-") }) else { return nil }
        guard weekday(at: position) == nil else { return nil }
        let word = String(decoding: bytes[position..<end], as: UTF8.self).lowercased()
        var expression = CalendarExpression()
        func fixed(_ values: Int64...) -> [Component] { values.map { Component(start: $0) } }
        switch word {
        case "minutely": break
        case "hourly": expression.minutes = fixed(0)
        case "daily": break
        case "weekly": expression.weekdays = 1
        case "monthly": expression.days = fixed(1)
        case "quarterly": expression.months = fixed(1, 4, 7, 10)
        case "semiannually", "semi-annually", "biannually", "bi-annually": expression.months = fixed(1, 7)
        case "yearly", "annually", "anually": expression.months = fixed(1)
        default:
            throw CalendarProblem(
                "'\(word.prefix(40))' is no calendar time", at: position..<end,
                hint: nearestName(to: word, among: Self.shorthands).map { "did you mean '\($0)'?" } ?? Self.example,
                reason: "it is neither a date, nor a time of day, nor a word such as 'daily'")
        }
        if word != "minutely", word != "hourly" {
            expression.hours = fixed(0)
            expression.minutes = fixed(0)
        }
        if !expression.months.isEmpty { expression.days = fixed(1) }
        return expression
    }

    private static let shorthands = [
        "minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually", "yearly",
    ]

    /// The day of the week that begins here, from 0 for Monday, and how long its name is.
    private func weekday(at start: Int) -> (day: Int, length: Int)? {
        var length = 0
        while start + length < end, Self.isLetter(bytes[start + length]) { length += 1 }
        let word = String(decoding: bytes[start..<start + length], as: UTF8.self).lowercased()
        let day = CalendarExpression.weekdayNames.firstIndex { name in
            name.lowercased() == word || name.prefix(3).lowercased() == word
        }
        return day.map { ($0, length) }
    }

    // MARK: Parts

    func peeks(_ text: StaticString) -> Bool {
        guard position + text.utf8CodeUnitCount <= end else { return false }
        return text.withUTF8Buffer { $0.elementsEqual(bytes[position..<position + text.utf8CodeUnitCount]) }
    }

    mutating func takes(_ text: StaticString) -> Bool {
        guard peeks(text) else { return false }
        position += text.utf8CodeUnitCount
        return true
    }

    private mutating func skipSpaces() {
        while takes(" ") {}
    }

    var isAtEnd: Bool { position == end }

    /// A problem that names the text at this position.
    func unexpected(_ expected: String, hint: String? = nil) -> CalendarProblem {
        guard !isAtEnd else {
            return CalendarProblem("\(expected) is missing at the end", at: end..<end, hint: hint)
        }
        // A whole character.
        var next = position + 1
        while next < end, bytes[next] & 0xC0 == 0x80 { next += 1 }
        let character = String(decoding: bytes[position..<next], as: UTF8.self)
        return CalendarProblem(
            "'\(character)' stands where \(expected) is expected", at: position..<next, hint: hint,
            reason: "something else stands where \(expected) is expected")
    }

    /// Advice about a day of the week in the wrong position.
    var misplacedDay: String? {
        guard !isAtEnd, weekday(at: position) != nil else { return nil }
        return "days of the week stand in front, without spaces between them"
    }

    private mutating func points() throws(CalendarProblem) -> CalendarExpression {
        var expression = CalendarExpression()
        let bits = try weekdays()
        expression.weekdays = bits == 0x7F ? 0 : bits
        try date(&expression)
        try time(&expression)
        return expression
    }

    /// `Mon..Wed,Sat`, and the spaces behind it.
    private mutating func weekdays() throws(CalendarProblem) -> UInt8 {
        guard !isAtEnd, Self.isLetter(bytes[position]) else { return 0 }
        var bits: UInt8 = 0
        var first: (day: Int, start: Int)?
        while true {
            guard let (day, length) = weekday(at: position) else {
                if isAtEnd || !Self.isLetter(bytes[position]) { throw unexpected("a day of the week") }
                let start = position
                while !isAtEnd, Self.isLetter(bytes[position]) { position += 1 }
                let word = String(decoding: bytes[start..<position], as: UTF8.self)
                throw CalendarProblem(
                    "'\(word.prefix(40))' is no day of the week", at: start..<position,
                    hint: "they are Mon, Tue, Wed, Thu, Fri, Sat and Sun",
                    reason: "a word stands where a day of the week is expected")
            }
            let start = position
            position += length
            if let from = first {
                guard from.day <= day else {
                    throw CalendarProblem(
                        "a range of days ends before it begins; the week begins on Monday", at: from.start..<position,
                        hint: "write such as Sun,Mon or Sat,Sun,Mon")
                }
                for between in from.day...day { bits |= 1 << between }
                first = nil
                if peeks("..") || peeks("-") { throw unexpected("a comma or a space") }
            } else {
                bits |= 1 << day
                // The hyphen is how older versions of systemd wrote ranges.
                if takes("..") || takes("-") {
                    first = (day, start)
                    continue
                }
            }
            if takes(",") {
                // One at the end does no harm.
                guard isAtEnd || peeks(" ") else { continue }
            }
            guard isAtEnd || peeks(" ") else { throw unexpected("a comma, '..' or a space") }
            skipSpaces()
            return bits
        }
    }

    /// `2026-*-01`, `*-01` or `*-02~03`, and the spaces behind it; nothing where a time stands here.
    private mutating func date(_ expression: inout CalendarExpression) throws(CalendarProblem) {
        guard !isAtEnd else { return }
        let start = position
        let first = try chain(.month)
        guard !isAtEnd, !peeks(":") else {
            position = start
            if isAtEnd || bytes[start..<end].contains(UInt8(ascii: ":")) { return }
            throw CalendarProblem(
                "this is neither a date nor a time of day", at: start..<end, hint: "write such as 08:00, or *-12-24")
        }
        var fromEnd = takes("~")
        guard fromEnd || takes("-") else { throw unexpected("'-', '~' or ':'") }
        let second = try chain(.day)
        var parts = (year: Chain?.none, month: first, day: second)
        if !isAtEnd, !peeks(" ") {
            if fromEnd { throw unexpected("a space", hint: "'~' stands before the day") }
            fromEnd = takes("~")
            guard fromEnd || takes("-") else { throw unexpected("'-', '~' or a space") }
            parts = (first, second, try chain(.day))
            guard isAtEnd || peeks(" ") else { throw unexpected("a space") }
        }
        skipSpaces()
        if let year = parts.year {
            var year = year
            for index in year.components.indices {
                year.components[index].0.start = Self.fullYear(year.components[index].0.start)
                year.components[index].0.stop = year.components[index].0.stop.map(Self.fullYear)
            }
            expression.years = try normal(year, .year)
        }
        expression.months = try normal(parts.month, .month)
        expression.days = try normal(parts.day, fromEnd ? .dayFromEnd : .day)
        expression.countsFromEnd = fromEnd && !expression.days.isEmpty
    }

    /// 26 is 2026, 89 is 1989.
    private static func fullYear(_ year: Int64) -> Int64 {
        year < 70 ? year + 2_000 : year < 100 ? year + 1_900 : year
    }

    /// `08:00`, `*:0/15:30`; midnight if the time is missing.
    private mutating func time(_ expression: inout CalendarExpression) throws(CalendarProblem) {
        guard !isAtEnd else {
            expression.hours = [Component(start: 0)]
            expression.minutes = [Component(start: 0)]
            return
        }
        expression.hours = try normal(try chain(.hour), .hour)
        guard takes(":") else { throw unexpected("':'", hint: "write such as 08:00") }
        expression.minutes = try normal(try chain(.minute), .minute)
        guard !isAtEnd else { return }
        guard takes(":") else { throw unexpected("':' or the end") }
        expression.microseconds = try normal(try chain(.second), .second)
        guard isAtEnd else { throw unexpected("the end") }
    }
}
