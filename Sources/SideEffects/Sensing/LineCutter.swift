/// Cuts bytes into lines, and keeps no more of a line than a limit.
struct LineCutter {
    /// A line, without its line break.
    struct Line {
        var bytes: [UInt8]
        /// Whether it went on, and its rest was forgotten.
        var isCut: Bool
    }

    private let limit: Int
    private var bytes: [UInt8] = []
    private var isCut = false

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes in bytes; the lines that end in them.
    mutating func add(_ new: some Collection<UInt8>) -> [Line] {
        var lines: [Line] = []
        var isFirst = true
        for part in new.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if !isFirst { lines.append(take()) }
            isFirst = false
            let room = limit - bytes.count
            bytes.append(contentsOf: part.prefix(room))
            if part.count > room { isCut = true }
        }
        return lines
    }

    /// There is no more: the last line, if it had no line break.
    mutating func finish() -> Line? {
        bytes.isEmpty && !isCut ? nil : take()
    }

    private mutating func take() -> Line {
        defer {
            bytes = []
            isCut = false
        }
        return Line(bytes: bytes, isCut: isCut)
    }
}
