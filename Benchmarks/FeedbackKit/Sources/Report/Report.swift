import Glibc

/// Reads lines of `round`, `program`, `name`, `figure`, `processor nanoseconds`, separated by tabs, and prints the table;
/// `--json` prints it as JSON, `--strict` exits with 1 where a target is missed.
@main
enum Report {
    static func main() {
        var rounds: [Int: [Figure: (value: Double, processor: Double)]] = [:]
        while let line = readLine() {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard fields.count >= 4, let round = Int(fields[0]), let value = Double(fields[3]) else { continue }
            let processor = fields.count > 4 ? Double(fields[4]) ?? 0 : 0
            rounds[round, default: [:]][Figure(String(fields[1]), String(fields[2]))] = (value, processor)
        }
        let results = Row.all.map { Result($0, rounds: Array(rounds.values)) }
        let arguments = CommandLine.arguments
        print(arguments.contains("--json") ? json(results) : table(results), terminator: "")
        if arguments.contains("--strict"), results.contains(where: { $0.isMet != true && $0.row.target != nil }) {
            exit(1)
        }
    }

    // MARK: Table

    private static func table(_ results: [Result]) -> String {
        let isColoured = isatty(1) == 1 && getenv("NO_COLOR") == nil
        var rows = [["line", "", "peer", "", "ratio", "of rounds", "target", ""]]
        rows += results.map { result in
            [
                result.row.title, text(result.ours, result.row.unit), result.row.peer,
                text(result.theirs, result.row.unit), result.ratio.map { times($0) } ?? "–",
                result.spread.map { "\(times($0.least))…\(times($0.greatest))" } ?? "",
                result.row.target.map { times($0) } ?? "–",
                result.isMet.map { $0 ? "met" : "missed" } ?? (result.row.target == nil ? "" : "not measured"),
            ]
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let rightAligned: Set = [1, 3, 4, 5, 6]
        var lines = ""
        for (index, row) in rows.enumerated() {
            let cells = row.enumerated().map { column, cell in
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return rightAligned.contains(column) ? space + cell : cell + space
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            if isColoured, index > 0, let isMet = results[index - 1].isMet {
                line = "\u{1B}[\(isMet ? 32 : 31)m\(line)\u{1B}[0m"
            }
            lines += line + "\n"
        }
        return lines
    }

    /// With three significant digits: `1.23 M/s`.
    private static func text(_ value: Double?, _ unit: Row.Unit) -> String {
        guard let value else { return "–" }
        switch unit {
        case .bytes: return "\(digits(value)) B"
        case .perSecond where value >= 1e6: return "\(digits(value / 1e6)) M/s"
        case .perSecond where value >= 1e3: return "\(digits(value / 1e3)) k/s"
        case .perSecond: return "\(digits(value)) /s"
        }
    }

    /// A ratio.
    private static func times(_ value: Double) -> String { "\(digits(value)) ×" }

    /// Three significant digits, without an exponent.
    private static func digits(_ value: Double) -> String {
        let decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2
        let scale = [1.0, 10, 100][decimals]
        let scaled = Int64((min(value, 1e15) * scale).rounded())
        guard decimals > 0 else { return String(scaled) }
        let fraction = String(scaled % Int64(scale))
        return "\(scaled / Int64(scale)).\(String(repeating: "0", count: decimals - fraction.count))\(fraction)"
    }

    // MARK: JSON

    private static func json(_ results: [Result]) -> String {
        let objects = results.map { result in
            let members: [(String, String)] = [
                ("line", quoted(result.row.title)),
                ("unit", quoted(result.row.unit == .bytes ? "bytes" : "per second")),
                ("figure", number(result.ours)), ("processorNanoseconds", number(result.processor)),
                ("peer", quoted(result.row.peer)), ("peerFigure", number(result.theirs)),
                ("ratio", number(result.ratio)), ("leastRatio", number(result.spread?.least)),
                ("greatestRatio", number(result.spread?.greatest)), ("target", number(result.row.target)),
                ("met", result.isMet.map { "\($0)" } ?? "null"),
            ]
            return "  {" + members.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}"
        }
        return "[\n" + objects.joined(separator: ",\n") + "\n]\n"
    }

    private static func number(_ value: Double?) -> String {
        guard let value, value.isFinite else { return "null" }
        return "\(value)"
    }

    /// The titles and peers of the table, none of which has a control character.
    private static func quoted(_ text: String) -> String {
        "\"" + text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] } + "\""
    }
}
