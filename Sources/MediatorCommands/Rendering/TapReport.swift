import MediatorControl
import Varlink

/// A change of a system that is tapped.
struct StateChangeReport: Report {
    let reply: WatchSystemReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        var line = TapLine.time(reply.time, style)
        if reply.replayed {
            line += style.colored("is", .dim)
        } else if let event = reply.event {
            let fields = reply.eventData.map(PlainText.fields) ?? ""
            let data = fields.isEmpty ? "" : "(\(fields))"
            line += "\(PlainText.cleaned(reply.previous ?? "?")) ─ \(PlainText.cleaned(event))\(data) →"
        } else {
            line += "\(PlainText.cleaned(reply.previous ?? "?")) →"
        }
        return TapLine.missed(reply.dropped, "change", "changes", style) + "\(line) \(StateText.text(reply.state))\n"
    }
}

/// A value of a bus that is tapped.
struct BusValueReport: Report {
    let reply: WatchBusReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let value = reply.value.map(PlainText.value) ?? style.colored("no value yet", .dim)
        let mark = reply.replayed ? style.colored("is ", .dim) : ""
        return TapLine.missed(reply.dropped, "value", "values", style)
            + "\(TapLine.time(reply.time, style))\(mark)\(value)\n"
    }
}

/// Parts of a line of `tap`.
private enum TapLine {
    static func time(_ text: String, _ style: TextStyle) -> String {
        let clock = Timestamp.seconds(text).map(style.clock) ?? PlainText.cleaned(text)
        return style.colored(clock, .dim) + "  "
    }

    static func missed(_ count: Int, _ one: String, _ many: String, _ style: TextStyle) -> String {
        guard count > 0 else { return "" }
        return style.colored("… \(Count.text(count, one, many)) missed, as they were read too slowly", .yellow) + "\n"
    }
}
