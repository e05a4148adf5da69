/// A table for people: headed columns, aligned, cut to the width there is.
struct Table {
    /// A cell; its colour is put around the text once that has its final width.
    struct Cell {
        var text: String
        var color: TextStyle.Color?

        init(_ text: String, _ color: TextStyle.Color? = nil) {
            self.text = PlainText.cleaned(text)
            self.color = color
        }
    }

    /// A column; numbers stand to the right.
    struct Column {
        var title: String
        var isNumber = false
        /// Whether the column may be cut when the line is too long.
        var isFlexible = false
        /// Whether the column may be left out when cutting does not suffice.
        var isOptional = false

        static func text(_ title: String) -> Column { Column(title: title) }
        static func flexible(_ title: String) -> Column { Column(title: title, isFlexible: true) }
        static func optional(_ title: String) -> Column { Column(title: title, isFlexible: true, isOptional: true) }
        static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
    }

    /// The least width of a column that is cut.
    private static let leastWidth = 12
    private static let gap = 2

    private let columns: [Column]
    private let rows: [[Cell]]

    /// A table; every row has a cell for each column. A column without any text is left out.
    init(_ columns: [Column], rows: [[Cell]]) {
        let used = columns.indices.filter { index in rows.contains { !$0[index].text.isEmpty } }
        self.columns = used.map { columns[$0] }
        self.rows = rows.map { row in used.map { row[$0] } }
    }

    /// The lines, each ended by a newline; `indentation` columns from the left.
    func text(_ style: TextStyle, indentation: Int = 0) -> String {
        let available = style.columns.map { $0 - indentation }
        let (widths, fits) = widths(available)
        if !fits, let optional = columns.lastIndex(where: \.isOptional) {
            return without(optional).text(style, indentation: indentation)
        }
        let margin = String(repeating: " ", count: indentation)
        let head = line(columns.map { Cell($0.title, .bold) }, widths, style)
        return ([head] + rows.map { line($0, widths, style) }).map { margin + $0 + "\n" }.joined()
    }

    private func without(_ column: Int) -> Table {
        var columns = columns
        columns.remove(at: column)
        return Table(
            columns,
            rows: rows.map { row in
                var row = row
                row.remove(at: column)
                return row
            }
        )
    }

    /// The width of each column, and whether all together have room.
    private func widths(_ available: Int?) -> (widths: [Int], fits: Bool) {
        var widths = columns.indices.map { index in
            max(columns[index].title.count, rows.map { $0[index].text.count }.max() ?? 0)
        }
        guard let available else { return (widths, true) }
        func excess() -> Int { widths.reduce(0, +) + Self.gap * max(0, widths.count - 1) - available }
        while excess() > 0 {
            // The widest flexible column gives way, down to its title and no further.
            let flexible = columns.indices.filter { index in
                columns[index].isFlexible && widths[index] > max(Self.leastWidth, columns[index].title.count)
            }
            guard let widest = flexible.max(by: { widths[$0] < widths[$1] }) else { return (widths, false) }
            widths[widest] -= 1
        }
        return (widths, true)
    }

    private func line(_ cells: [Cell], _ widths: [Int], _ style: TextStyle) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            let isLast = index == cells.count - 1
            let text = cell.text.count > widths[index] ? cell.text.prefix(widths[index] - 1) + "…" : cell.text[...]
            let padding = String(repeating: " ", count: widths[index] - text.count)
            let shown = cell.color.map { style.colored(String(text), $0) } ?? String(text)
            line += columns[index].isNumber ? padding + shown : shown + padding
            if !isLast { line += String(repeating: " ", count: Self.gap) }
        }
        let blanks = line.reversed().prefix { $0 == " " }
        return String(line.dropLast(blanks.count))
    }
}
