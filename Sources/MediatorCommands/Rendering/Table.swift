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
        /// When a column is cut, if the lines are too long for the terminal.
        enum Firmness: Int {
            /// First, where there is much to be read.
            case flexible
            /// When that does not suffice: names, and titles of numbers.
            case firm
            /// Last: a time, of which nobody can guess the rest.
            case firmest
        }

        var title: String
        var isNumber = false
        var firmness = Firmness.firm
        /// Whether the column may be left out when to cut what is flexible does not suffice.
        var isOptional = false

        static func text(_ title: String) -> Column { Column(title: title) }
        static func flexible(_ title: String) -> Column { Column(title: title, firmness: .flexible) }
        static func optional(_ title: String) -> Column {
            Column(title: title, firmness: .flexible, isOptional: true)
        }
        static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
        static func time(_ title: String) -> Column { Column(title: title, firmness: .firmest) }
    }

    /// The least width of a column that is cut first.
    private static let leastWidth = 12
    /// The least width of any text that is cut.
    private static let leastOfAll = 5
    /// The least width of the title of a number.
    private static let leastOfTitle = 3
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
        var widths = columns.indices.map { index in
            rows.map { TextWidth.columns($0[index].text) }.reduce(columns[index].title.count, max)
        }
        if let available, !fit(&widths, into: available, .flexible) {
            if let optional = columns.lastIndex(where: \.isOptional) {
                return without(optional).text(style, indentation: indentation)
            }
            let fits = fit(&widths, into: available, .firm) || fit(&widths, into: available, .firmest)
            if !fits, columns.count > 1 {
                return without(columns.count - 1).text(style, indentation: indentation)
            }
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

    /// Narrows columns until all together have room, the widest first; whether they have.
    private func fit(_ widths: inout [Int], into available: Int, _ firmness: Column.Firmness) -> Bool {
        let least = columns.indices.map { index in
            let column = columns[index]
            guard column.firmness.rawValue <= firmness.rawValue else { return Int.max }
            // A number is never cut, only its title.
            if column.isNumber { return rows.map { TextWidth.columns($0[index].text) }.reduce(Self.leastOfTitle, max) }
            return firmness == .flexible ? max(Self.leastWidth, column.title.count) : Self.leastOfAll
        }
        while widths.reduce(0, +) + Self.gap * max(0, widths.count - 1) > available {
            let narrowable = columns.indices.filter { widths[$0] > least[$0] }
            guard let widest = narrowable.max(by: { widths[$0] < widths[$1] }) else { return false }
            widths[widest] -= 1
        }
        return true
    }

    private func line(_ cells: [Cell], _ widths: [Int], _ style: TextStyle) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            let isLast = index == cells.count - 1
            let text = TextWidth.cut(cell.text, to: widths[index])
            let padding = String(repeating: " ", count: max(0, widths[index] - TextWidth.columns(text)))
            let shown = cell.color.map { style.colored(text, $0) } ?? text
            line += columns[index].isNumber ? padding + shown : shown + padding
            if !isLast { line += String(repeating: " ", count: Self.gap) }
        }
        let blanks = line.reversed().prefix { $0 == " " }
        return String(line.dropLast(blanks.count))
    }
}
