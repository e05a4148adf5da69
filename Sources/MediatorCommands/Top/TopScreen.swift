import MediatorControl

/// The model of `top` as lines of a screen.
package struct TopScreen {
    /// The number of lines above and below the list.
    static let frameHeight = 5

    let model: TopModel
    let columns: Int
    let rows: Int
    let style: TextStyle

    /// A screen of a size.
    init(model: TopModel, columns: Int, rows: Int, style: TextStyle) {
        self.model = model
        self.columns = columns
        self.rows = rows
        self.style = style
    }

    /// A screen without colours, at a time in seconds since 1970, in UTC.
    package init(model: TopModel, columns: Int, rows: Int, now: Int64) {
        var style = TextStyle()
        style.now = now
        self.init(model: model, columns: columns, rows: rows, style: style)
    }

    /// The number of parts, or lines of a report, that fit.
    static func pageLength(rows: Int) -> Int { max(1, rows - frameHeight) }

    /// As many lines as the screen has rows, none wider than it.
    package var lines: [String] {
        guard columns >= 20, rows >= 6 else {
            let text = TextWidth.cut("too small", to: columns)
            return [text] + Array(repeating: "", count: max(0, rows - 1))
        }
        var body: [String]
        switch model.page {
        case .list: body = list
        case .report(_, let lines): body = report(lines)
        case .help: body = help
        }
        body = Array(body.prefix(rows - 4))
        body += Array(repeating: "", count: rows - 4 - body.count)
        return [title, sums, tabs] + body + [keys]
    }

    /// A whole frame, to be written at once: from the upper left corner, without clearing first, so that nothing flickers.
    var frame: String {
        "\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
    }

    // MARK: Head

    private func cut(_ text: String) -> String { TextWidth.cut(text, to: columns) }

    private var title: String {
        guard let status = model.sample?.status else { return style.colored("mediatord", .bold) }
        let uptime = Timestamp.seconds(status.started).map { "up \(TextStyle.span(max(0, style.now - $0)))" } ?? ""
        let head = "mediatord \(PlainText.cleaned(status.version))  \(uptime)  "
        let text = cut(head + PlainText.cleaned(status.statusText))
        guard text.count > head.count else { return text }
        return head + style.colored(String(text.dropFirst(head.count)), TextStyle.color(status.health))
    }

    private var sums: String {
        func sum(_ kind: PartKind) -> String {
            Self.number(model.rows.filter { $0.kind == kind }.reduce(0) { $0 + $1.rate })
        }
        guard let sample = model.sample else { return "" }
        let running = model.rows.reduce(0) { $0 + ($1.running ?? 0) }
        let drops = model.rows.reduce(0) { $0 + $1.dropRate }
        let parts = [
            "\(Count.text(sample.status.systems.count, "system", "systems")) \(sum(.system)) events/s",
            "\(Count.text(sample.buses.count, "bus", "buses")) \(sum(.bus)) values/s",
            "\(Count.text(sample.links.count, "link", "links")) \(sum(.link)) firings/s",
            "\(Count.text(running, "effect", "effects")) running", "\(Self.number(drops)) dropped/s",
        ]
        return cut(parts.joined(separator: ", "))
    }

    private var tabs: String {
        if let trouble = model.trouble { return style.colored(cut(PlainText.cleaned(trouble)), .red) }
        if model.isTyping { return cut("filter: \(PlainText.cleaned(model.filter))█") }
        let views = ["all", "systems", "buses", "links"].enumerated().map { index, name in
            index == model.view.rawValue ? "[\(index + 1) \(name)]" : " \(index + 1) \(name) "
        }.joined()
        var text = views + "  by \(Self.word(model.sort))\(model.isReversed ? ", reversed" : "")"
        if !model.filter.isEmpty { text += "  filter: \(PlainText.cleaned(model.filter))" }
        if model.isHeld { text += "  held" }
        return cut(text)
    }

    private var keys: String {
        let text: String
        switch model.page {
        case .list: text = "q quit  ? help  s sort  r reverse  / filter  tab view  enter open  w waits  space hold"
        case .report: text = "q back  ? help  arrows scroll  space hold"
        case .help: text = "any key: back"
        }
        return style.colored(cut(text), .dim)
    }

    private static func word(_ sort: TopModel.Sort) -> String {
        switch sort {
        case .rate: "rate"
        case .total: "total"
        case .drops: "drops"
        case .running: "effects running"
        case .name: "name"
        }
    }

    // MARK: Pages

    /// A column of the list; those that are not needed go first where there is no room.
    private struct Column {
        let title: String
        let width: Int
        let isNumber: Bool
        /// From which width of the screen on it is shown.
        let from: Int
        let text: (TopModel.Row) -> String
    }

    private var list: [String] {
        let rows = model.listed
        let longest = rows.map { TextWidth.columns(PlainText.cleaned($0.name)) }.max() ?? 0
        let width = max(8, min(40, columns / 3, longest))
        let all = [
            Column(title: "KIND", width: 6, isNumber: false, from: 60) { $0.kind.rawValue },
            Column(title: "NAME", width: width, isNumber: false, from: 0) { PlainText.cleaned($0.name) },
            Column(title: "RATE/S", width: 8, isNumber: true, from: 0) { Self.number($0.rate) },
            Column(title: "TOTAL", width: 10, isNumber: true, from: 50) { String($0.total) },
            Column(title: "DROPS/S", width: 8, isNumber: true, from: 80) {
                $0.dropRate == 0 ? "" : Self.number($0.dropRate)
            },
            Column(title: "DROPPED", width: 8, isNumber: true, from: 100) { $0.dropped == 0 ? "" : String($0.dropped) },
            Column(title: "RUNS", width: 5, isNumber: true, from: 70) { $0.running.map(String.init) ?? "" },
        ].filter { columns >= $0.from }
        let used = all.reduce(0) { $0 + $1.width + 2 }
        let rest = columns - used
        let header =
            all.map { TextWidth.padded($0.title, to: $0.width, isNumber: $0.isNumber) + "  " }.joined()
            + (rest >= 8 ? "STATE" : "")
        let length = Self.pageLength(rows: self.rows)
        // As far down as the selection needs.
        let first = max(0, min(model.selection - length / 2, rows.count - length))
        var lines = [style.colored(cut(header), .bold)]
        if rows.isEmpty {
            lines.append(model.sample == nil ? "" : "nothing is listed")
        }
        for (index, row) in rows.enumerated().dropFirst(first).prefix(length) {
            let text = all.map { TextWidth.padded($0.text(row), to: $0.width, isNumber: $0.isNumber) + "  " }.joined()
            let isWell = row.health == nil || row.health == .healthy
            let state = rest >= 8 ? TextWidth.cut(row.told, to: rest) : ""
            if index == model.selection {
                lines.append("\u{1B}[7m" + TextWidth.padded(text + state, to: columns) + "\u{1B}[0m")
            } else {
                let color = row.health.map(TextStyle.color) ?? .dim
                lines.append(cut(text) + (isWell ? state : style.colored(state, color)))
            }
        }
        return lines
    }

    private func report(_ lines: [String]?) -> [String] {
        guard let lines else { return ["…"] }
        return lines.dropFirst(model.scroll).prefix(Self.pageLength(rows: rows)).map { cut($0) }
    }

    private var help: [String] {
        [
            "q, ^C         end", "arrows, j, k  choose; page up, page down, home, end as well",
            "enter         show everything about the chosen row; q or escape goes back",
            "w             show the pending waits of all systems, the first to end first",
            "1 2 3 4, tab  all, systems, buses, links",
            "s             sort by rate, total, drops, effects running, name",
            "r             reverse the order", "/             list only names that contain a text; escape: all",
            "space         hold: show nothing new until pressed again", "",
            "A system's rate is of events, a bus's of values, a link's of firings.",
        ].map { cut($0) }
    }

    /// A number a second in few letters.
    static func number(_ value: Double) -> String {
        switch value {
        case ..<0.05: return "0"
        case ..<99.95:
            let tenths = Int((value * 10).rounded())
            return "\(tenths / 10).\(tenths % 10)"
        case ..<1e6: return String(Int(value.rounded()))
        default: return "\(Int((value / 1e6).rounded()))M"
        }
    }
}
