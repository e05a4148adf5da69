import MediatorControl

/// The answer of `list --waits`.
struct WaitsReport: Report {
    let reply: ListWaitsReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        guard !reply.waits.isEmpty else { return "no wait is pending\n" }
        return Self.table(reply.waits, style, withSystem: true).text(style) + Self.rest(reply.leftOut)
    }

    /// A table of waits.
    ///
    /// - Parameter withSystem: whether the system of each wait is shown.
    static func table(_ waits: [Wait], _ style: TextStyle, withSystem: Bool) -> Table {
        let columns: [Table.Column] = [
            .text("FEEDBACK"), .flexible("KEY"), .text("WAIT"), .time("UNTIL"), .flexible("THEN"),
        ]
        let rows = waits.map { wait -> [Table.Cell] in
            let cells: [Table.Cell] = [
                .init(wait.feedback ?? ""), .init(wait.key.map(style.value) ?? ""), .init(wait.kind),
                .init(style.coming(wait.due)), .init(wait.action),
            ]
            return withSystem ? [.init(wait.system)] + cells : cells
        }
        return Table(withSystem ? [.name("SYSTEM")] + columns : columns, rows: rows)
    }

    /// A line about the waits that were left out, or no line.
    static func rest(_ count: Int) -> String {
        count > 0 ? "and \(Count.text(count, "later wait", "later waits"))\n" : ""
    }
}

extension Wait {
    /// The wait of a stop in a line, such as `waits for the side effect copy of backup, until 12:00:03 (in 3 s)`.
    func ofStop(_ style: TextStyle) -> String {
        "waits for the side effect \(PlainText.cleaned(feedback ?? "")) of \(PlainText.cleaned(system)) to end, "
            + "until \(style.coming(due))"
    }

    /// Whether a run of a feedback is due by its schedule.
    var isOfSchedule: Bool { ["after", "every", "at", "debounce", "throttle"].contains(kind) }
}
