/// The place of each byte of a scalar's text in the file.
///
/// The written form is unquoted and unfolded once more (YAML 1.2.2 §§ 7.3, 8.1), this time with the place of every
/// byte. The result is used only if it is exactly the parser's text.
struct ScalarMap {
    /// The offset in the file of each byte of the text, and of its end.
    private let offsets: [Int]

    /// A map of a scalar, or nil if its written form could not be followed. Linear.
    init?(_ scalar: Scalar, in source: SourceText) {
        let text = Array(scalar.text.utf8)
        guard scalar.span.end <= source.bytes.count, scalar.span.start <= scalar.span.end else { return nil }
        var writing = Writing(bytes: source.bytes[scalar.span.start..<scalar.span.end])
        writing.skipProperties()
        switch scalar.style {
        case .plain, .list: writing.unfoldPlain()
        case .singleQuoted: writing.unquoteSingle()
        case .doubleQuoted: writing.unquoteDouble()
        case .literal, .folded:
            guard let block = Self.block(writing, isFolded: scalar.style == .folded, text) else { return nil }
            writing = block
        }
        guard writing.text.starts(with: text), writing.offsets.count >= text.count else { return nil }
        let end = text.count < writing.offsets.count ? writing.offsets[text.count] : writing.end
        offsets = writing.offsets.prefix(text.count) + [end]
    }

    /// The range in the file of a part of the text.
    func span(_ range: Range<Int>) -> Span {
        let last = offsets.count - 1
        let start = offsets[min(max(0, range.lowerBound), last)]
        guard range.upperBound > range.lowerBound else { return Span(start: start, end: start + 1) }
        let end = offsets[min(max(0, range.upperBound - 1), last)] + 1
        return Span(start: start, end: max(end, start + 1))
    }

    private static func block(_ header: Writing, isFolded: Bool, _ text: [UInt8]) -> Writing? {
        var writing = header
        let indicator = writing.skipBlockHeader()
        let detected = writing.detectedIndentation()
        // With an indentation indicator the depth depends on the parent, which is not known here: the one that gives
        // the text is right.
        let candidates = indicator == nil ? detected...detected : 0...min(detected, ConfigurationLimits.nesting * 8)
        for indentation in candidates {
            var attempt = writing
            attempt.unfoldBlock(indentation: indentation, isFolded: isFolded)
            if attempt.text.starts(with: text) { return attempt }
        }
        return nil
    }
}

/// A scalar as written, being read.
private struct Writing {
    private let bytes: ArraySlice<UInt8>
    private var index: Int
    /// The text so far.
    private(set) var text: [UInt8] = []
    /// The place of each byte.
    private(set) var offsets: [Int] = []

    init(bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    /// The place of the next byte.
    var end: Int { index }

    private var current: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

    private mutating func append(_ byte: UInt8, at offset: Int) {
        text.append(byte)
        offsets.append(offset)
    }

    private static func isBreak(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private mutating func skipBreak() {
        if current == 0x0D, index + 1 < bytes.endIndex, bytes[index + 1] == 0x0A { index += 1 }
        index += 1
    }

    private mutating func skipBlanks() {
        while let byte = current, Self.isBlank(byte) { index += 1 }
    }

    /// Skips an anchor or tag before the scalar.
    mutating func skipProperties() {
        while let byte = current, byte == UInt8(ascii: "&") || byte == UInt8(ascii: "!") {
            while let byte = current, byte > 0x20 { index += 1 }
            while let byte = current, byte <= 0x20 { index += 1 }
        }
    }

    // Flow scalars

    /// Folds line breaks at the current place: one is a space, each further one a line break.
    private mutating func fold(keeping kept: Int) {
        while text.count > kept, let last = text.last, Self.isBlank(last) {
            text.removeLast()
            offsets.removeLast()
        }
        let first = index
        var breaks: [Int] = []
        while let byte = current, Self.isBreak(byte) || Self.isBlank(byte) {
            if Self.isBreak(byte) {
                breaks.append(index)
                skipBreak()
            } else {
                index += 1
            }
        }
        if breaks.count == 1 {
            append(0x20, at: first)
        } else {
            for place in breaks.dropFirst() { append(0x0A, at: place) }
        }
    }

    mutating func unfoldPlain() {
        while let byte = current {
            if Self.isBreak(byte) {
                fold(keeping: 0)
            } else {
                append(byte, at: index)
                index += 1
            }
        }
    }

    mutating func unquoteSingle() {
        guard current == UInt8(ascii: "'") else { return }
        index += 1
        while let byte = current {
            if Self.isBreak(byte) {
                fold(keeping: 0)
                continue
            }
            if byte == UInt8(ascii: "'") {
                guard index + 1 < bytes.endIndex, bytes[index + 1] == byte else { return }
                append(byte, at: index)
                index += 2
                continue
            }
            append(byte, at: index)
            index += 1
        }
    }

    mutating func unquoteDouble() {
        guard current == UInt8(ascii: "\"") else { return }
        index += 1
        var kept = 0
        while let byte = current {
            if Self.isBreak(byte) {
                fold(keeping: kept)
                continue
            }
            if byte == UInt8(ascii: "\"") { return }
            if byte == UInt8(ascii: "\\") {
                guard escape() else { return }
                kept = text.count
                continue
            }
            append(byte, at: index)
            index += 1
        }
    }

    /// Reads one escape (YAML 1.2.2 § 5.7).
    private mutating func escape() -> Bool {
        let start = index
        index += 1
        guard let kind = current else { return false }
        if Self.isBreak(kind) {
            skipBreak()
            skipBlanks()
            while let byte = current, Self.isBreak(byte) {
                append(0x0A, at: index)
                skipBreak()
                skipBlanks()
            }
            return true
        }
        index += 1
        let digits: Int
        switch kind {
        case UInt8(ascii: "x"): digits = 2
        case UInt8(ascii: "u"): digits = 4
        case UInt8(ascii: "U"): digits = 8
        default:
            guard let scalar = Self.simpleEscapes[kind] else { return false }
            for byte in String(scalar).utf8 { append(byte, at: start) }
            return true
        }
        guard index + digits <= bytes.endIndex else { return false }
        let hexadecimal = String(decoding: bytes[index..<(index + digits)], as: UTF8.self)
        guard let code = UInt32(hexadecimal, radix: 16), let scalar = UnicodeScalar(code) else { return false }
        for byte in String(Character(scalar)).utf8 { append(byte, at: start) }
        index += digits
        return true
    }

    private static let simpleEscapes: [UInt8: Character] = [
        UInt8(ascii: "0"): "\0", UInt8(ascii: "a"): "\u{07}", UInt8(ascii: "b"): "\u{08}", UInt8(ascii: "t"): "\t",
        0x09: "\t", UInt8(ascii: "n"): "\n", UInt8(ascii: "v"): "\u{0B}", UInt8(ascii: "f"): "\u{0C}",
        UInt8(ascii: "r"): "\r", UInt8(ascii: "e"): "\u{1B}", 0x20: " ", UInt8(ascii: "\""): "\"",
        UInt8(ascii: "/"): "/", UInt8(ascii: "\\"): "\\", UInt8(ascii: "N"): "\u{85}", UInt8(ascii: "_"): "\u{A0}",
        UInt8(ascii: "L"): "\u{2028}", UInt8(ascii: "P"): "\u{2029}",
    ]

    // Block scalars

    /// Skips `|` or `>` to the first line of text, and returns the indentation indicator, if any.
    mutating func skipBlockHeader() -> UInt8? {
        var indicator: UInt8?
        var isComment = false
        while let byte = current, !Self.isBreak(byte) {
            if byte == UInt8(ascii: "#") { isComment = true }
            if !isComment, (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(byte) { indicator = byte }
            index += 1
        }
        if current != nil { skipBreak() }
        return indicator
    }

    /// The column of the first line that is not blank.
    func detectedIndentation() -> Int {
        var spaces = 0
        for byte in bytes[index...] {
            if byte == 0x20 {
                spaces += 1
            } else if Self.isBreak(byte) {
                spaces = 0
            } else {
                return spaces
            }
        }
        return spaces
    }

    mutating func unfoldBlock(indentation: Int, isFolded: Bool) {
        var leading: Int?
        var trailing: [Int] = []
        var leadingBlank = false
        while current != nil {
            var spaces = 0
            while spaces < indentation, current == 0x20 {
                index += 1
                spaces += 1
            }
            guard let byte = current else { break }
            if Self.isBreak(byte) {
                trailing.append(index)
                skipBreak()
                continue
            }
            let trailingBlank = Self.isBlank(byte)
            if let place = leading {
                if isFolded, !leadingBlank, !trailingBlank {
                    if trailing.isEmpty { append(0x20, at: place) }
                } else {
                    append(0x0A, at: place)
                }
            }
            for place in trailing { append(0x0A, at: place) }
            trailing = []
            leadingBlank = trailingBlank
            while let byte = current, !Self.isBreak(byte) {
                append(byte, at: index)
                index += 1
            }
            leading = index
            if current != nil { skipBreak() }
        }
        if let leading { append(0x0A, at: leading) }
        for place in trailing { append(0x0A, at: place) }
    }
}
