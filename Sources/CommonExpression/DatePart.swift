/// The functions that read a part of a timestamp or duration (CEL specification, "List of Standard Definitions" and
/// "Timezones").
enum DatePart: String, Sendable, CaseIterable {
    case year = "getFullYear"
    /// From 0.
    case month = "getMonth"
    /// The day of the month from 1.
    case date = "getDate"
    /// The day of the month from 0.
    case dayOfMonth = "getDayOfMonth"
    /// From 0, which is Sunday.
    case dayOfWeek = "getDayOfWeek"
    /// From 0.
    case dayOfYear = "getDayOfYear"
    case hours = "getHours"
    case minutes = "getMinutes"
    case seconds = "getSeconds"
    /// 0 ... 999.
    case milliseconds = "getMilliseconds"

    /// Whether durations have the part.
    var isOfDuration: Bool {
        switch self {
        case .hours, .minutes, .seconds, .milliseconds: true
        default: false
        }
    }

    /// The part of a timestamp in UTC, or of a duration: all its hours, minutes or seconds, and the milliseconds
    /// beyond the seconds.
    func value(of value: Value, at range: SourceRange) throws(EvaluationError) -> Value {
        switch value {
        case .timestamp(let timestamp): return .int(part(of: timestamp, offset: 0))
        case .duration(let duration) where isOfDuration:
            return switch self {
            case .hours: .int(duration.seconds / 3_600)
            case .minutes: .int(duration.seconds / 60)
            case .seconds: .int(duration.seconds)
            default: .int(Int64(duration.nanoseconds) / 1_000_000)
            }
        default: throw noOverload(value, at: range)
        }
    }

    /// The part of a timestamp in a time zone.
    func value(of value: Value, zone: Value, at range: SourceRange) throws(EvaluationError) -> Value {
        guard case .timestamp(let timestamp) = value, case .string(let name) = zone else {
            throw noOverload(value, at: range)
        }
        guard let offset = Self.offset(ofZone: name) else {
            throw EvaluationError(
                code: .invalidArgument,
                message: "the time zone \(ValueExcerpt.text(of: zone)) is not supported; use \"UTC\" or \"+02:00\"",
                range: range)
        }
        return .int(part(of: timestamp, offset: offset))
    }

    /// The seconds that a zone is ahead of UTC: `UTC`, or `hh:mm` with an optional sign; nil for others.
    static func offset(ofZone name: String) -> Int64? {
        if name == "UTC" || name == "Z" { return 0 }
        var reader = DigitReader(Array(name.utf8))
        let isNegative = reader.take("-")
        if !isNegative { _ = reader.take("+") }
        guard let offset = reader.hoursAndMinutes(), reader.isAtEnd else { return nil }
        return isNegative ? -offset : offset
    }

    private func part(of timestamp: Timestamp, offset: Int64) -> Int64 {
        let date = CivilDate(secondsSinceEpoch: timestamp.seconds + offset)
        return switch self {
        case .year: date.year
        case .month: date.month - 1
        case .date: date.day
        case .dayOfMonth: date.day - 1
        case .dayOfWeek: date.dayOfWeek
        case .dayOfYear: date.dayOfYear
        case .hours: date.hour
        case .minutes: date.minute
        case .seconds: date.second
        case .milliseconds: Int64(timestamp.nanoseconds) / 1_000_000
        }
    }

    private func noOverload(_ value: Value, at range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .noSuchOverload, message: "\(rawValue)() does not take \(value.typeName)", range: range)
    }
}
