/// The functions that read a part of a timestamp or duration (CEL specification, "List of Standard Definitions" and
/// "Timezones").
enum DatePart: String, Sendable, CaseIterable {
    case year = "getFullYear"
    /// The month, from 0.
    case month = "getMonth"
    /// The day of the month from 1.
    case date = "getDate"
    /// The day of the month from 0.
    case dayOfMonth = "getDayOfMonth"
    /// The day of the week, from 0 for Sunday.
    case dayOfWeek = "getDayOfWeek"
    /// The day of the year, from 0.
    case dayOfYear = "getDayOfYear"
    case hours = "getHours"
    case minutes = "getMinutes"
    case seconds = "getSeconds"
    /// The milliseconds, 0 ... 999.
    case milliseconds = "getMilliseconds"

    /// The steps that looking up a time zone costs.
    static let zoneCost = 100

    /// A Boolean value that indicates whether durations have the part.
    var isOfDuration: Bool {
        switch self {
        case .hours, .minutes, .seconds, .milliseconds: true
        default: false
        }
    }

    /// Returns the part of a timestamp in UTC or of a duration. A duration gives all its hours, minutes or seconds, and
    /// the milliseconds beyond the seconds.
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

    /// Returns the part of a timestamp in a time zone.
    func value(of value: Value, zone: Value, at range: SourceRange) throws(EvaluationError) -> Value {
        guard case .timestamp(let timestamp) = value, case .string(let name) = zone else {
            throw noOverload(value, at: range)
        }
        do throws(TimeZoneDatabase.Failure) {
            return .int(part(of: timestamp, in: try ZoneReference(name: name)))
        } catch {
            throw EvaluationError(
                code: .invalidArgument, message: "the time zone \(ValueExcerpt.text(of: zone)) \(error.advice)",
                range: range)
        }
    }

    /// Returns the function with its time zone looked up once; nil if the zone does not exist.
    func specialized(zone: Value) -> Function.Unary? {
        guard case .string(let name) = zone else { return nil }
        let reference: ZoneReference
        do throws(TimeZoneDatabase.Failure) {
            reference = try ZoneReference(name: name)
        } catch {
            return nil
        }
        return { value, range, _ throws(EvaluationError) in
            guard case .timestamp(let timestamp) = value else { throw noOverload(value, at: range) }
            return .int(part(of: timestamp, in: reference))
        }
    }

    private func part(of timestamp: Timestamp, in zone: ZoneReference) -> Int64 {
        part(of: timestamp, offset: zone.offset(at: timestamp.seconds))
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

/// The time zone that a name refers to.
enum ZoneReference: Sendable {
    /// A fixed number of seconds ahead of UTC.
    case fixed(Int64)
    case named(ZoneOffsets)

    /// Reads `UTC`, `hh:mm` with an optional sign, or a name of the IANA database.
    init(name: String) throws(TimeZoneDatabase.Failure) {
        if let offset = Self.fixedOffset(name) {
            self = .fixed(offset)
        } else {
            self = .named(try TimeZoneDatabase.system.zone(named: name))
        }
    }

    /// Returns how many seconds local time is ahead of UTC at a moment.
    func offset(at seconds: Int64) -> Int64 {
        switch self {
        case .fixed(let offset): offset
        case .named(let zone): zone.offset(at: seconds)
        }
    }

    private static func fixedOffset(_ name: String) -> Int64? {
        if name == "UTC" || name == "Z" { return 0 }
        var reader = DigitReader(Array(name.utf8))
        let isNegative = reader.take("-")
        if !isNegative { _ = reader.take("+") }
        guard let offset = reader.hoursAndMinutes(), reader.isAtEnd else { return nil }
        return isNegative ? -offset : offset
    }
}
