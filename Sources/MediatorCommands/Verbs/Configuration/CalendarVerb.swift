import ArgumentParser
import CommonExpression
import MediatorConfiguration
import StrictJSON
import Varlink

/// `mediatorctl calendar`
struct CalendarVerb: LocalVerb {
    static let configuration = CommandConfiguration(
        commandName: "calendar",
        abstract: "Explain a calendar time, and show when it comes next.",
        discussion: """
            Calendar times are those of `at:` in the configuration, in the format of systemd's OnCalendar=. No \
            daemon is needed. An expression without a time zone uses that of TZ, else of the machine.

            EXAMPLES
              mediatorctl calendar 'Mon..Fri 08:00'
              mediatorctl calendar '*-*~1 23:30 Europe/Berlin' --iterations 12
              mediatorctl calendar daily --base-time 2026-12-24T00:00:00Z --json

            \(CommandStatus.help(.ofLocal, [.refused: "an expression is wrong, or its time never comes again"]))
            """
    )

    @Argument(help: "The calendar times.")
    var expressions: [String]

    @Option(name: .long, help: ArgumentHelp("The number of next times to show.", valueName: "number"))
    var iterations = 1

    @Option(
        name: .long, help: ArgumentHelp("The time after which to begin, as RFC 3339 (default: now).", valueName: "time")
    )
    var baseTime: String?

    @Flag(help: "Print JSON instead of text for people.")
    var json = false

    /// The limit on times.
    static let mostIterations = 1_000

    var isJSON: Bool { json }

    func validate() throws {
        guard (1...Self.mostIterations).contains(iterations) else {
            throw ValidationError("--iterations is from 1 to \(Self.mostIterations), not \(iterations)")
        }
    }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        guard let now = CommonExpression.Timestamp(seconds: environment.now(), nanoseconds: 0) else {
            throw CommandError(.refused, "the machine's clock is outside the years 1 to 9999")
        }
        var base = now
        if let baseTime {
            guard let time = CommonExpression.Timestamp(rfc3339: baseTime) else {
                throw CommandError(.usage, "--base-time wants a time such as 2026-12-24T18:00:00Z, not '\(baseTime)'")
            }
            base = time
        }
        let local = LocalTimeZone(variable: environment.variable("TZ")).offsets()
        var replies: [JSONValue] = []
        var status = CommandStatus.success
        var isFirst = true
        for text in expressions {
            let expression: CalendarExpression
            do throws(CalendarProblem) {
                expression = try CalendarExpression(text)
            } catch {
                guard !json else { throw Self.error(error, in: text) }
                environment.writeError(Self.text(of: error, in: text))
                status = .refused
                continue
            }
            let times = Self.times(expression, after: base, iterations, local)
            if times.isEmpty { status = .refused }
            let zone = expression.zoneName == nil ? local : expression.zone ?? local
            if json {
                replies.append(
                    .object([
                        "expression": .string(text), "normalForm": .string("\(expression)"),
                        "next": .array(
                            times.map {
                                .object(["time": .string("\($0)"), "local": .string(Self.text($0, zone))])
                            }),
                    ]))
            } else {
                let style = TextStyle(environment)
                let lines = times.map { time in
                    let distance =
                        baseTime == nil
                        ? style.ago(time.seconds) : "\(TextStyle.coming(seconds: time.seconds - base.seconds)) later"
                    return "\(Self.text(time, zone)) (\(distance))"
                }
                try environment.write(
                    (isFirst ? "" : "\n") + style.colored(PlainText.cleaned(text), .bold) + "\n"
                        + "  normal form  \(expression)\n  next         "
                        + (lines.isEmpty ? "never" : lines.joined(separator: "\n               ")) + "\n")
            }
            isFirst = false
        }
        if json { try environment.write("\(JSONValue.object(["calendars": .array(replies)]))\n") }
        return status
    }

    private static func times(
        _ expression: CalendarExpression, after base: CommonExpression.Timestamp, _ count: Int, _ local: ZoneOffsets
    ) -> [CommonExpression.Timestamp] {
        var times: [CommonExpression.Timestamp] = []
        while times.count < count, let time = expression.next(after: times.last ?? base, in: local) {
            times.append(time)
        }
        return times
    }

    /// A time in a zone: `Mon 2026-11-23 08:00:00 +01:00`.
    private static func text(_ time: CommonExpression.Timestamp, _ zone: ZoneOffsets) -> String {
        let offset = Int(zone.offset(at: time.seconds))
        let local = CommonExpression.Timestamp(
            seconds: time.seconds + Int64(offset), nanoseconds: time.nanoseconds)
        let days = CivilDate.floor(time.seconds + Int64(offset), 86_400)
        // 1970-01-01 was a Thursday, which is 3 where Monday is 0.
        let day = CalendarExpression.weekdayNames[Int(((days + 3) % 7 + 7) % 7)].prefix(3)
        let date = "\(local ?? time)".dropLast().split(separator: "T").joined(separator: " ")
        let (hours, minutes) = (abs(offset) / 3_600, abs(offset) / 60 % 60)
        return "\(day) \(date) \(offset < 0 ? "-" : "+")\(Timestamp.padded(hours)):\(Timestamp.padded(minutes))"
    }

    /// A problem for programs, with its place.
    private static func error(_ problem: CalendarProblem, in text: String) -> CommandError {
        CommandError(
            .refused, problem.message, advice: problem.hint, code: "invalid-calendar-time",
            details: ["expression": .string(text), "column": .int(Int64(column(problem, in: text)))])
    }

    /// A problem with the place it is at.
    private static func text(of problem: CalendarProblem, in text: String) -> String {
        let column = column(problem, in: text)
        let width = max(1, problem.range.count)
        let caret = String(repeating: " ", count: column - 1) + "^" + String(repeating: "~", count: min(width, 80) - 1)
        return "1:\(column): error: \(PlainText.cleaned(problem.message)) [invalid-calendar-time]\n"
            + "  \(PlainText.cleaned(text))\n  \(caret)\n"
            + (problem.hint.map { "  hint: \(PlainText.cleaned($0))\n" } ?? "")
    }

    /// The column of its first character, from 1.
    private static func column(_ problem: CalendarProblem, in text: String) -> Int {
        String(decoding: Array(text.utf8).prefix(problem.range.lowerBound), as: UTF8.self).count + 1
    }
}
