/// Finds the place where a text stops being JSON (RFC 8259), as the decoder does not report it.
struct JSONFault {
    /// Deeper than this nothing is looked at; the fault is then where it goes deeper.
    private static let deepest = 512
    private let bytes: [UInt8]
    private var index = 0
    /// A Boolean value that indicates whether a list or object has just begun, so that no comma comes first.
    private var isBehindOpening = false

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The line and column, from 1, of the first byte that cannot stand there, or of the end if more must follow; nil if it is
    /// JSON. Columns count bytes. Linear.
    static func place(in bytes: [UInt8]) -> (line: Int, column: Int)? {
        var reader = JSONFault(bytes)
        guard !reader.isWhole() else { return nil }
        let before = bytes[..<min(reader.index, bytes.count)]
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return (before.count { $0 == UInt8(ascii: "\n") } + 1, before.count - start + 1)
    }

    /// Reads all; false at a fault, which is then at `index`.
    private mutating func isWhole() -> Bool {
        // The closing brackets that are awaited.
        var open: [UInt8] = []
        while true {
            guard takeValueOrOpening(&open) else { return false }
            if open.count > Self.deepest { return false }
            // Behind a value: what closes, and then a comma, or the end.
            while let close = open.last, isNext(close) {
                index += 1
                open.removeLast()
                isBehindOpening = false
            }
            guard let close = open.last else {
                skipSpace()
                return index == bytes.count
            }
            if isBehindOpening {
                isBehindOpening = false
            } else {
                guard isNext(UInt8(ascii: ",")) else { return false }
                index += 1
            }
            if close == UInt8(ascii: "}"), !takeName() { return false }
        }
    }

    private mutating func takeValueOrOpening(_ open: inout [UInt8]) -> Bool {
        skipSpace()
        guard index < bytes.count else { return false }
        isBehindOpening = false
        switch bytes[index] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            open.append(bytes[index] == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]"))
            isBehindOpening = true
            index += 1
            return true
        case UInt8(ascii: "\""): return takeText()
        case UInt8(ascii: "t"): return take("true")
        case UInt8(ascii: "f"): return take("false")
        case UInt8(ascii: "n"): return take("null")
        default: return takeNumber()
        }
    }

    private mutating func skipSpace() {
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
    }

    private mutating func isNext(_ byte: UInt8) -> Bool {
        skipSpace()
        return index < bytes.count && bytes[index] == byte
    }

    /// An object's member up to its colon.
    private mutating func takeName() -> Bool {
        guard isNext(UInt8(ascii: "\"")), takeText(), isNext(UInt8(ascii: ":")) else { return false }
        index += 1
        return true
    }

    private mutating func take(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { word in
            for byte in word {
                guard index < bytes.count, bytes[index] == byte else { return false }
                index += 1
            }
            return true
        }
    }

    private mutating func takeText() -> Bool {
        index += 1
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index += 1
                return true
            case UInt8(ascii: "\\"): index += min(2, bytes.count - index)
            case ..<0x20: return false
            default: index += 1
            }
        }
        return false
    }

    private mutating func takeDigits() -> Bool {
        let start = index
        while index < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) { index += 1 }
        return index > start
    }

    private mutating func takeNumber() -> Bool {
        func isAt(_ byte: UInt8) -> Bool { index < bytes.count && bytes[index] == byte }
        if isAt(UInt8(ascii: "-")) { index += 1 }
        guard takeDigits() else { return false }
        if isAt(UInt8(ascii: ".")) {
            index += 1
            guard takeDigits() else { return false }
        }
        guard isAt(UInt8(ascii: "e")) || isAt(UInt8(ascii: "E")) else { return true }
        index += 1
        if isAt(UInt8(ascii: "+")) || isAt(UInt8(ascii: "-")) { index += 1 }
        return takeDigits()
    }
}
