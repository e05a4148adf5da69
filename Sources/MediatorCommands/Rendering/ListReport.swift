import MediatorControl

/// The answer of `list`: what was asked for is there, the rest is nil.
struct ListReport: Report {
    var systems: [SystemSummary]?
    var buses: [BusSummary]?
    var links: [LinkSummary]?
    /// The changes of links that are in no file, where links are listed.
    var changes: [TransientChange]?

    func text(_ style: TextStyle) -> String {
        var parts: [String] = []
        if let systems { parts.append(systems.isEmpty ? "no systems\n" : SystemTable.text(systems, style)) }
        if let buses { parts.append(buses.isEmpty ? "no buses\n" : Self.table(buses, style)) }
        if let links { parts.append(links.isEmpty ? "no links\n" : Self.table(links, style)) }
        let detached = (changes ?? []).filter { $0.kind == .detached }.map(\.link)
        if !detached.isEmpty { parts.append("detached, and in no file: \(PlainText.names(detached))\n") }
        return parts.joined(separator: "\n")
    }

    private static func table(_ buses: [BusSummary], _ style: TextStyle) -> String {
        let columns: [Table.Column] = [
            .name("BUS"), .text("KIND"), .value("TYPE"), .value("VALUE"), .time("SINCE"), .number("PUBLISHED"),
            .number("DROPPED"), .number("READERS"), .number("WRITERS"), .optional("DESCRIPTION"),
        ]
        let rows = buses.map { bus -> [Table.Cell] in
            [
                .init(bus.name),
                .init(bus.kind.rawValue),
                .init(bus.valueType),
                .init(bus.value.map(style.value) ?? ""),
                .init(bus.since.map(style.moment) ?? ""),
                .init(String(bus.published)),
                .init(bus.dropped == 0 ? "" : String(bus.dropped), .yellow),
                .init(String(bus.readers)),
                .init(String(bus.writers)),
                .init(bus.description ?? ""),
            ]
        }
        return Table(columns, rows: rows).text(style)
    }

    private static func table(_ links: [LinkSummary], _ style: TextStyle) -> String {
        let columns: [Table.Column] = [
            .name("LINK"), .flexible("RULE"), .number("FIRED"), .time("LAST FIRED"),
            .text("HELD BACK"), .text("TRANSIENT"),
        ]
        let rows = links.map { link -> [Table.Cell] in
            [
                .init(link.name), .init(link.description), .init(String(link.fired)),
                .init(link.lastFired.map(style.moment) ?? ""), .init(HeldBack.text(link) ?? "", .yellow),
                .init(link.origin == .written ? "" : link.origin.rawValue, .yellow),
            ]
        }
        return Table(columns, rows: rows).text(style)
    }
}

/// The state of a link's breaker, unless it is closed.
enum HeldBack {
    /// - Parameter reason: why it is open, as a clause, where that is known.
    static func text(_ link: LinkSummary, because reason: String? = nil) -> String? {
        guard link.open || link.dropped > 0 else { return nil }
        let times = Count.text(link.dropped, "time", "times")
        guard link.open else { return times }
        return "\(times), and still is" + (reason.map { ", since \(PlainText.cleaned($0))" } ?? "")
    }
}
