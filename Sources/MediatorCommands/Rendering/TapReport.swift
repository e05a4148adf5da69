import MediatorControl
import StrictJSON
import Varlink

/// A change of a part that is tapped.
struct WatchReport: Report {
    let reply: WatchReply
    /// The width of names; nil if there is one name only, which is left out.
    let nameWidth: Int?

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        var lines = ""
        if reply.dropped > 0 {
            let count = Count.text(reply.dropped, "change", "changes")
            lines += style.fitted(style.colored("… \(count) missed, because they were read too slowly", .yellow)) + "\n"
        }
        let clock = Timestamp.seconds(reply.time).map(style.clock) ?? PlainText.cleaned(reply.time)
        return lines + style.fitted(style.colored(clock, .dim) + "  " + name(style) + what(style)) + "\n"
    }

    private func name(_ style: TextStyle) -> String {
        guard let nameWidth, let name = reply.name else { return "" }
        let color: TextStyle.Color =
            switch reply.kind {
            case .bus: .cyan
            case .link: .magenta
            default: .bold
            }
        let clean = PlainText.cleaned(name)
        let blanks = String(repeating: " ", count: max(0, nameWidth - TextWidth.columns(clean)))
        return style.colored(clean, color) + blanks + "  "
    }

    private func what(_ style: TextStyle) -> String {
        switch reply.topic {
        case .state: return state(style)
        case .value:
            let value = reply.value.map(style.value) ?? style.colored("no value yet", .dim)
            return (reply.replayed ? style.colored("is ", .dim) : "") + value
        case .fired:
            guard let event = reply.event else { return "→ " + (reply.value.map(style.value) ?? "") }
            return "→ " + Self.event(event, reply.eventData, style)
        case .began: return style.colored("begins", .yellow)
        case .ended: return style.colored("has ended", .red)
        case .leftOut:
            let count = Count.text(reply.leftOut ?? 0, "change", "changes")
            return style.colored("… \(count) left out by --rate", .yellow)
        // Nobody asks for it who is shown this.
        case .watching: return style.colored("watching", .dim)
        }
    }

    private func state(_ style: TextStyle) -> String {
        let state = reply.state.map { StateText.text($0, style) } ?? ""
        guard !reply.replayed else { return style.colored("is", .dim) + " \(state)" }
        guard let previous = reply.previous.map(PlainText.cleaned) else {
            // Of an event that updated the state in place, no state was left.
            return reply.event.map { "updated ─ \(Self.event($0, reply.eventData, style)) → \(state)" } ?? "→ \(state)"
        }
        guard let event = reply.event else { return "\(previous) → \(state)" }
        return "\(previous) ─ \(Self.event(event, reply.eventData, style)) → \(state)"
    }

    private static func event(_ name: String, _ data: JSONObject?, _ style: TextStyle) -> String {
        let fields = data.map(style.fields) ?? ""
        return PlainText.cleaned(name) + (fields.isEmpty ? "" : "(\(fields))")
    }
}
