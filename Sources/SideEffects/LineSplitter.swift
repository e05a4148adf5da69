import Glibc

/// Splits bytes into lines, up to a limit for each line.
struct LineSplitter {
    /// A line, without its line break.
    struct Line {
        var bytes: [UInt8]
        /// A Boolean value that indicates whether the line was longer and its rest was discarded.
        var isCut: Bool
    }

    private let limit: Int
    private var bytes: [UInt8] = []
    private var isCut = false

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds bytes. Returns the lines that end in them.
    mutating func add(_ new: UnsafeRawBufferPointer) -> [Line] {
        guard let base = new.baseAddress else { return [] }
        var lines: [Line] = []
        var begin = 0
        while begin < new.count {
            let found = memchr(base + begin, Int32(UInt8(ascii: "\n")), new.count - begin)
            let end = found.map { base.distance(to: UnsafeRawPointer($0)) } ?? new.count
            let room = limit - bytes.count
            if room > 0 { bytes.append(contentsOf: new[begin..<min(end, begin + room)]) }
            if end - begin > room { isCut = true }
            if found != nil { lines.append(take()) }
            begin = end + 1
        }
        return lines
    }

    /// Ends the input. Returns the last line if it had no line break.
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
