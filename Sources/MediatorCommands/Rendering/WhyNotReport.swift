import MediatorControl

/// The answer of `why-not`.
struct WhyNotReport: Report {
    let system: String
    let event: String
    let reply: WhyNotReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let since = style.colored("since \(style.moment(reply.since))", .dim)
        var lines = ["\(style.colored("\(system) is in \(StateText.text(reply.state, style))", .bold)) \(since)"]
        if let obstacle = reply.obstacle {
            lines.append(style.colored("It takes no events: \(PlainText.cleaned(obstacle))", .red))
        }
        lines.append(PlainText.cleaned(verdict))
        for candidate in reply.transitions { lines += Self.lines(candidate, style) }
        if !reply.senders.isEmpty {
            lines.append(isAlways ? "What sets their inputs:" : "What sends \(PlainText.cleaned(event)):")
        }
        for sender in reply.senders { lines += Self.lines(sender, style) }
        let name = PlainText.cleaned(event)
        if !reply.unknownSenders.isEmpty {
            let word = reply.unknownSenders.count == 1 ? "One feedback is" : "Some feedbacks are"
            lines.append(
                "\(word) written in Swift, and may send \(name), though none of them has so far: "
                    + PlainText.names(reply.unknownSenders))
        } else if reply.senders.isEmpty, !isAlways {
            lines.append(
                "No link and no feedback sends \(name): it comes from outside only, such as by `mediatorctl emit`.")
        }
        if !reply.detached.isEmpty {
            lines.append("Detached links, which send nothing: \(PlainText.names(reply.detached))")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Whether the question is about rules that are tried after each event.
    private var isAlways: Bool { event == "always" }

    /// What the rules of `always` wait for.
    private var verdictOfAlways: String {
        guard !reply.transitions.isEmpty else {
            let others = reply.otherStates
            return "\(reply.state.name) has no rule of always"
                + (others.isEmpty ? ", and no other state has one." : "; there are some in \(Self.list(others)).")
        }
        if let failing = reply.transitions.first(where: \.fails) {
            let part = failing.field.map { "the `set` of '\($0)'" } ?? "its condition"
            return "A rule cannot be applied: \(part) fails, which is a fault."
        }
        if let holding = reply.transitions.first(where: { $0.holds == true }) {
            return holding.to == "stay"
                ? "\(reply.state.name) stays as it is: a rule with `to: stay` holds."
                : "A rule holds, and was not applied: see the last fault in `mediatorctl show`."
        }
        if let waiting = reply.transitions.first(where: { $0.due != nil }) {
            return waiting.to == "in place"
                ? "A rule waits for its time." : "The rule to \(waiting.to) waits for its time."
        }
        return "No rule of always applies: no condition holds."
    }

    /// The effect that the event would have.
    private var verdict: String {
        if isAlways { return verdictOfAlways }
        if reply.opaque { return "It is written in Swift: what it would do with \(event) is not known here." }
        guard !reply.transitions.isEmpty else {
            let others = reply.otherStates
            return switch others.count {
            case 0: "\(reply.state.name) has no transition on \(event), and no other state has one."
            case 1: "\(reply.state.name) has no transition on \(event); only \(others[0]) has one."
            default: "\(reply.state.name) has no transition on \(event); there is one in \(Self.list(others))."
            }
        }
        if let taken = reply.transitions.first(where: { $0.fails || $0.holds != false }) {
            if taken.fails {
                let part = taken.field.map { "the `set` of '\($0)'" } ?? "a condition"
                return "\(event) would change nothing: \(part) fails, which is a fault."
            }
            let way =
                switch taken.to {
                case "stay": "It would handle \(event), and stay as it is"
                case "in place": "\(event) would update \(reply.state.name) in place"
                default: "\(event) would lead to \(taken.to)"
                }
            if taken.holds == nil, taken.condition == nil {
                return taken.to == "any"
                    ? "It takes \(event), and decides in Swift where that leads."
                    : "\(way), unless it decides otherwise in Swift."
            }
            guard taken.holds == true else { return "\(way), if the condition holds." }
            return taken.field.map { "\(way), if the `set` of '\($0)' does not fail." } ?? "\(way)."
        }
        return "\(event) would not be handled: no condition holds."
    }

    /// `Idle, Filling and Full`.
    private static func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " and " + last
    }

    private static func lines(_ candidate: CandidateTransition, _ style: TextStyle) -> [String] {
        let condition = candidate.condition.map { " when \($0)" } ?? ""
        let rule = PlainText.cleaned("\(candidate.from): \(candidate.event) → \(candidate.to)\(condition)")
        var lines = ["  \(rule)  " + style.colored(PlainText.cleaned(candidate.source), .dim)]
        if let reason = candidate.reason {
            let fails = candidate.fails && candidate.field == nil
            let word =
                fails ? "fails" : candidate.due != nil ? "waits" : candidate.holds.map { $0 ? "yes" : "no" } ?? "open"
            lines.append(
                "    \(style.colored(word, candidate.holds == true ? .green : .yellow)): "
                    + Moments.shortened(Moments.explained(PlainText.cleaned(reason), style), style))
        }
        if let field = candidate.field, let reason = candidate.fieldReason {
            let word = style.colored(candidate.fails ? "fails" : "open", candidate.fails ? .red : .yellow)
            lines.append("    \(word): set \(PlainText.cleaned("\(field): \(reason)"))")
        }
        return lines
    }

    private static func lines(_ sender: Sender, _ style: TextStyle) -> [String] {
        let head = PlainText.cleaned("\(sender.kind.rawValue) \(sender.name): \(sender.description)")
        return ["  \(head)  " + style.colored(PlainText.cleaned(sender.source), .dim)]
            + sender.reasons.map { reason in
                "    \(style.colored("no", .yellow)): \(Moments.explained(PlainText.cleaned(reason), style))"
            }
            + ["    \(Moments.shortened(PlainText.cleaned(sender.waits), style))"]
    }
}

/// Times within a text.
enum Moments {
    /// An explanation `condition — result, values` with times as on the clock, except in the condition as it is written.
    static func explained(_ reason: String, _ style: TextStyle) -> String {
        guard let dash = reason.firstRange(of: " — ") else { return reason }
        return "\(reason[..<dash.upperBound])\(style.withClocks(in: String(reason[dash.upperBound...])))"
    }

    /// The text with each time that travels as RFC 3339 shown as on the clock.
    static func shortened(_ text: String, _ style: TextStyle) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let end = word.hasSuffix(";") ? ";" : word.hasSuffix(",") ? "," : ""
            let time = word.dropLast(end.count)
            guard time.hasSuffix("Z"), let seconds = Timestamp.seconds(String(time)) else { return String(word) }
            return style.clock(seconds) + end
        }.joined(separator: " ")
    }
}
