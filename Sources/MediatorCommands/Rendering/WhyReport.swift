import MediatorControl

/// The answer of `why`.
struct WhyReport: Report {
    let reply: WhyReply
    /// The number of earlier states that are left out.
    private let omitted: Int

    /// - Parameter limit: the limit on states; nil for all.
    init(reply: WhyReply, limit: Int? = nil) {
        let states = reply.hops.indices.filter { reply.hops[$0].kind == .state }
        guard let limit, states.count > limit else {
            (self.reply, omitted) = (reply, 0)
            return
        }
        var shown = reply
        // With the causes of the last one.
        shown.hops = Array(reply.hops[..<states[limit]])
        (self.reply, omitted) = (shown, states.count - limit)
    }

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    /// A line for each step, those that led to a state behind it.
    func text(_ style: TextStyle) -> String {
        var lines: [String] = []
        for (index, hop) in reply.hops.enumerated() {
            let text = style.withClocks(in: PlainText.cleaned(hop.text))
            guard hop.kind == .state else {
                // The time of the event is that of the state.
                let isTold = hop.kind == .event || hop.kind == .link
                let time =
                    isTold
                    ? nil
                    : hop.time.flatMap(Timestamp.seconds).map {
                        (hop.replayed == true ? ", since " : ", ") + style.clock($0)
                    }
                lines.append(style.fitted("  \(text)", end: style.colored(time ?? "", .dim)))
                continue
            }
            let time = hop.time.map(style.moment) ?? ""
            let end =
                hop.entered.map { " at \(style.moment($0)), and which was updated at \(time)" } ?? " since \(time)"
            let since = hop.time == nil ? "" : style.colored(end, .dim)
            lines.append(style.fitted(index == 0 ? style.colored(text, .bold) : text, end: since))
        }
        if let failing = reply.failing {
            let text = style.colored("it is degraded: \(Moments.shortened(PlainText.cleaned(failing), style))", .yellow)
            lines.insert("  \(text)", at: min(1, lines.count))
        }
        if omitted > 0 {
            let states = Count.text(omitted, "earlier state", "earlier states")
            lines.append("  " + style.colored("and \(states), which --limit leaves out", .dim))
        } else if reply.cut {
            lines.append("  " + style.colored("earlier causes are no longer kept", .dim))
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
