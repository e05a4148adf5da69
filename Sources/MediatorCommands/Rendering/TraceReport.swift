import CommonExpression
import MediatorControl

/// The answer of `trace`.
struct TraceReport: Report {
    let reply: TraceReply
    /// The number of the step that was shown last. The steps that are missing behind it count as left out.
    var lastNumber: Int?
    /// A Boolean value that indicates whether steps that did not change the state are left out.
    var changesOnly = false
    /// The maximum number of steps.
    var limit = Int.max

    func encode(to encoder: any Encoder) throws { try TraceReply(steps: steps).encode(to: encoder) }

    /// The steps to show.
    var steps: [TraceStep] { chosen.map(\.step) }

    func text(_ style: TextStyle) -> String {
        let chosen = self.chosen
        guard !chosen.isEmpty else { return changesOnly ? "nothing has changed\n" : "it has done nothing yet\n" }
        return Self.lines(chosen).map { Self.text($0, style) }.joined()
    }

    /// A step to show, with the number of steps before it that the daemon no longer has.
    private typealias Choice = (step: TraceStep, leftOut: Int)

    /// The steps to show, each with the number of missing steps before it.
    private var chosen: [Choice] {
        var before: [Int: Int] = [:]
        var previous = lastNumber
        for number in reply.steps.compactMap(\.number).sorted() {
            before[number] = previous.map { max(0, number - $0 - 1) }
            previous = number
        }
        var leftOut = 0
        let chosen = reply.steps.compactMap { step -> Choice? in
            leftOut += step.number.flatMap { before[$0] } ?? 0
            guard !changesOnly || Self.changes(step.kind) else { return nil }
            defer { leftOut = 0 }
            return (step, leftOut)
        }
        guard limit < chosen.count else { return chosen }
        // Steps stand in the order of time, and a run has its number when it ends.
        let numbers = chosen.compactMap(\.step.number).sorted().suffix(limit)
        var last = chosen.filter { $0.step.number.map { $0 >= numbers.first ?? 0 } ?? true }.suffix(limit)
        // Steps before the first one that is shown were not asked for, so they do not count as left out.
        if !last.isEmpty { last[last.startIndex].leftOut = 0 }
        return Array(last)
    }

    private static func changes(_ kind: TraceKind) -> Bool {
        switch kind {
        case .began, .transition, .update: true
        case .stay, .unhandled, .dropped, .fault, .run, .skipped, .paused, .resumed: false
        }
    }

    /// The parts of the report at one time.
    private struct Line {
        let time: String
        let text: String
        let kind: TraceKind
        var guards: [TraceGuard] = []
        var leftOut = 0
    }

    /// A line for each step, and for each outcome of a side effect that had several, in the order of time.
    private static func lines(_ steps: [Choice]) -> [Line] {
        var lines: [Line] = []
        for (step, leftOut) in steps {
            guard step.outcomes.count > 1 else {
                let time = step.outcomes.last?.time ?? step.ended ?? step.time
                lines.append(Line(time: time, text: step.text, kind: step.kind, guards: step.guards, leftOut: leftOut))
                continue
            }
            for (index, outcome) in step.outcomes.enumerated() {
                let more = index == 0 && step.more > 0 ? " (and \(step.more) before)" : ""
                // The step stands where its last outcome does.
                let place = lines.lastIndex { isEarlier($0.time, outcome.time) }.map { $0 + 1 } ?? 0
                lines.insert(
                    Line(
                        time: outcome.time, text: outcome.text + more, kind: step.kind,
                        leftOut: index == 0 ? leftOut : 0), at: place)
            }
        }
        return lines
    }

    /// Whether a time comes before another one, or is the same.
    private static func isEarlier(_ first: String, _ second: String) -> Bool {
        guard let first = CommonExpression.Timestamp(rfc3339: first),
            let second = CommonExpression.Timestamp(rfc3339: second)
        else { return true }
        return first <= second
    }

    private static func text(_ line: Line, _ style: TextStyle) -> String {
        let clock = Timestamp.seconds(line.time).map(style.clock) ?? PlainText.cleaned(line.time)
        let text = style.withClocks(in: PlainText.cleaned(line.text))
        var lines: [String] = []
        if line.leftOut > 0 {
            lines.append(style.colored("… \(Count.text(line.leftOut, "step", "steps")) left out", .dim))
        }
        lines.append(style.colored(clock, .dim) + "  " + (color(line.kind).map { style.colored(text, $0) } ?? text))
        for each in line.guards {
            let word = style.colored(each.holds ? "yes" : "no", each.holds ? .green : .yellow)
            lines.append("    \(word): \(Moments.explained(PlainText.cleaned(each.reason), style))")
        }
        return lines.map { style.fitted($0) + "\n" }.joined()
    }

    private static func color(_ kind: TraceKind) -> TextStyle.Color? {
        switch kind {
        case .fault: .red
        case .unhandled, .dropped, .paused, .resumed: .yellow
        case .stay, .run, .skipped: .dim
        case .began, .transition, .update: nil
        }
    }
}
