/// The functions of times and durations beyond the standard: `humanize` and `format`.
enum TimeExtension {
    /// All functions of the extension except `format`.
    static let all: [Function] = [
        Function(
            "humanize", [.function(.duration, result: .string)],
            unary: { value, range, _ throws(EvaluationError) in
                guard case .duration(let span) = value else {
                    throw CallArguments(name: "humanize", values: [value], range: range).noOverload()
                }
                return .string(span.humanized)
            })
    ]

    /// `format(time, pattern[, zone])`, which is another function than `text.format(list)`. Without a zone, it uses the
    /// time zone of the machine, which may change.
    static let format = Function(
        "format",
        [
            .function(.timestamp, .string, result: .string), .function(.timestamp, .string, .string, result: .string),
        ],
        binary: { time, pattern, range, frame throws(EvaluationError) in
            let arguments = CallArguments(name: "format", values: [time, pattern], range: range)
            return try write(arguments, try Self.pattern(arguments, &frame), .local, &frame)
        },
        general: { values, range, frame throws(EvaluationError) in
            let arguments = CallArguments(name: "format", values: values, range: range)
            let format = try Self.pattern(arguments, &frame)
            return try write(arguments, format, .named(try arguments.text(2, &frame)), &frame)
        },
        specialize: { pattern, _ in
            guard case .string(let source) = pattern, let format = try? TimeFormat(source) else { return nil }
            return { time, range, frame throws(EvaluationError) in
                let arguments = CallArguments(name: "format", values: [time, pattern], range: range)
                return try write(arguments, format, .local, &frame)
            }
        }, isImpure: true)

    private enum Zone {
        case local
        case named(String)
    }

    /// Returns the message about an invalid pattern.
    static func message(_ pattern: String, _ refusal: TimeFormat.Refusal) -> String {
        "the pattern \(ValueExcerpt.text(of: .string(pattern))) \(refusal.message)"
    }

    /// Reads the pattern of a call.
    private static func pattern(
        _ arguments: CallArguments, _ frame: inout Frame
    ) throws(EvaluationError) -> TimeFormat {
        let source = try arguments.text(1, &frame)
        do throws(TimeFormat.Refusal) { return try TimeFormat(source) } catch {
            throw arguments.invalid(message(source, error))
        }
    }

    /// Looks up the time zone and writes the time of a call.
    private static func write(
        _ arguments: CallArguments, _ format: TimeFormat, _ zone: Zone, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        guard case .timestamp(let time) = arguments.values[0] else { throw arguments.noOverload() }
        try frame.charge(DatePart.zoneCost, at: arguments.range)
        let offset: Int64
        switch zone {
        case .local: offset = LocalTimeZone.machine.offsets().offset(at: time.seconds)
        case .named(let name):
            do throws(TimeZoneDatabase.Failure) {
                offset = try ZoneReference(name: name).offset(at: time.seconds)
            } catch {
                throw arguments.invalid("the time zone \(ValueExcerpt.text(of: .string(name))) \(error.advice)")
            }
        }
        let text = format.text(of: time, offset: offset)
        try frame.create(octets: text.utf8.count, at: arguments.range)
        return .string(text)
    }
}
