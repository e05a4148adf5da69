/// A table for people: headed columns, aligned, in the width there is.
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
            /// When that does not suffice: words, titles of numbers, and how long ago a time was.
            case firm
            /// The last column to be cut: the name, which tells rows apart.
            case firmest
        }

        var title: String
        var isNumber = false
        var isTime = false
        var firmness = Firmness.firm
        /// Whether the column is cut, or left out, before any other is cut.
        var isOptional = false
        /// Whether the column is cut in a pipe, too, since a long value would move the columns behind it.
        var isCutInPipe = false

        static func name(_ title: String) -> Column { Column(title: title, firmness: .firmest) }
        static func text(_ title: String) -> Column { Column(title: title) }
        static func flexible(_ title: String) -> Column { Column(title: title, firmness: .flexible) }
        static func value(_ title: String) -> Column {
            Column(title: title, firmness: .flexible, isCutInPipe: true)
        }
        static func optional(_ title: String) -> Column {
            Column(title: title, firmness: .flexible, isOptional: true)
        }
        static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
        static func time(_ title: String) -> Column { Column(title: title, isTime: true) }
    }

    /// The handling of text that is too long for the terminal.
    enum Excess {
        /// It ends in an ellipsis, and columns for which there is no room are left out.
        case cut
        /// It goes on below, between two words, where it stands in a flexible column; where that does not suffice, all lines
        /// are as long as they are.
        case wrapped
    }

    /// The least width of a column that is cut first.
    private static let leastWidth = 12
    /// The least width of any text that is cut.
    private static let leastOfAll = 5
    /// The least width of the title of a number.
    private static let leastOfTitle = 3
    /// The least width of a time: the clock, with the date before it.
    private static let leastOfTime = 13
    /// The least width of an optional column: with less it is left out.
    private static let leastOfOptional = 20
    /// The width to which a flexible column is filled up where lines may have any length, and a value is cut.
    private static let widestOfFlexible = 60
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
    ///
    /// - Parameter hasHead: whether the titles are shown.
    func text(
        _ style: TextStyle, indentation: Int = 0, excess: Excess = .cut, hasHead: Bool = true
    ) -> String {
        let available = style.columns.map { $0 - indentation }
        let whole = columns.indices.map { index in
            rows.map { TextWidth.columns($0[index].text) }.reduce(columns[index].title.count, max)
        }
        var widths = whole
        if available == nil, excess == .cut {
            // In a pipe little is cut, and one long value must not move all other lines.
            for index in columns.indices where columns[index].firmness == .flexible {
                widths[index] = min(whole[index], Self.widestOfFlexible)
            }
        }
        if let available, excess == .cut, let optional = columns.lastIndex(where: \.isOptional) {
            // It gives way before anything else is cut, and where hardly anything would be left of it, altogether.
            let lack = whole.reduce(0, +) + Self.gap * max(0, whole.count - 1) - available
            if lack > 0 {
                guard whole[optional] - lack >= Self.leastOfOptional else {
                    return without(optional).text(style, indentation: indentation, hasHead: hasHead)
                }
                widths[optional] -= lack
            }
        }
        if let available, !fit(&widths, into: available, .flexible, partsWords: excess == .cut) {
            if excess == .wrapped {
                widths = whole
            } else if !fit(&widths, into: available, .firm) {
                let others = columns.indices.filter { columns[$0].firmness != .firmest }
                if columns.count > 1, let last = others.last {
                    return without(last).text(style, indentation: indentation, hasHead: hasHead)
                }
                _ = fit(&widths, into: available, .firmest)
            }
        }
        let margin = String(repeating: " ", count: indentation)
        let head = line(columns.map { Cell($0.title, .bold) }, widths, style)
        let lines = rows.flatMap { row in
            (excess == .wrapped ? wrapped(row, widths) : [row]).map { line($0, widths, style) }
        }
        return ((hasHead ? [head] : []) + lines).map { margin + $0 + "\n" }.joined()
    }

    /// The lines of a row of which no cell is wider than its column.
    private func wrapped(_ row: [Cell], _ widths: [Int]) -> [[Cell]] {
        let cells = row.indices.map { TextWidth.wrapped(row[$0].text, to: widths[$0]) }
        return (0..<(cells.map(\.count).max() ?? 0)).map { number in
            row.indices.map { Cell(cells[$0].count > number ? cells[$0][number] : "", row[$0].color) }
        }
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
    private func fit(
        _ widths: inout [Int], into available: Int, _ firmness: Column.Firmness, partsWords: Bool = true
    ) -> Bool {
        let least = columns.indices.map { index in
            let column = columns[index]
            guard column.firmness.rawValue <= firmness.rawValue else {
                // A name of more than half of the line would leave no room for the other columns.
                return column.firmness == .firmest && firmness == .firm ? max(available / 2, Self.leastOfAll) : Int.max
            }
            // A number is never cut, only its title.
            if column.isNumber { return rows.map { TextWidth.columns($0[index].text) }.reduce(Self.leastOfTitle, max) }
            if column.isTime { return Self.leastOfTime }
            if !partsWords {
                return rows.flatMap { $0[index].text.split(separator: " ") }.map { TextWidth.columns(String($0)) }
                    .reduce(max(Self.leastWidth, column.title.count), max)
            }
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
            let isCut = style.columns != nil || (columns[index].isCutInPipe && !isLast)
            let text = isCut ? TextWidth.cut(cell.text, to: widths[index]) : cell.text
            let padding = String(repeating: " ", count: max(0, widths[index] - TextWidth.columns(text)))
            let shown = cell.color.map { style.colored(text, $0) } ?? text
            line += columns[index].isNumber ? padding + shown : shown + padding
            if !isLast { line += String(repeating: " ", count: Self.gap) }
        }
        while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
        return line
    }
}
