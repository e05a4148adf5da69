import CommonExpression
import Glibc
import Synchronization

/// A part of a file: zero-based byte offsets into its text without the byte order mark.
struct Span: Sendable, Hashable {
    private var first: Int32
    private var beyond: Int32

    /// A part; files are far smaller than `Int32.max`.
    init(start: Int, end: Int) {
        first = Int32(truncatingIfNeeded: start)
        beyond = Int32(truncatingIfNeeded: end)
    }

    /// The first byte.
    var start: Int { Int(first) }
    /// The byte after the last.
    var end: Int { Int(beyond) }
}

extension Unicode.Scalar {
    /// A Boolean value that indicates whether it breaks lines or changes their direction, so that a terminal would show
    /// a different text.
    var steersText: Bool {
        switch value {
        case 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0x061C: true
        default: false
        }
    }
}

/// A file's text with its lines, for turning offsets into places and excerpts.
///
/// Lines end at LF, CR LF or a lone CR, as in editors; YAML 1.1's other line breaks (NEL, LS, PS) do not count.
final class SourceText: Sendable {
    /// The path to show.
    let path: String
    /// The bytes without a byte order mark.
    let bytes: [UInt8]
    /// A Boolean value that indicates whether all bytes are ASCII, so that characters and bytes count alike.
    let isASCII: Bool
    /// A Boolean value that indicates whether some byte is an ASCII control character other than tabs and line breaks.
    let hasControlCharacters: Bool
    private let lineStarts: [Int32]
    /// The place that was asked for last: its line's start, its offset, its column.
    private let last = Mutex(Column(start: 0, offset: 0, column: 0))
    /// The texts it is made of, each with the offset at which it begins; empty for a single file's.
    private let parts: [(base: Int, text: SourceText)]

    /// A place in a line.
    private struct Column {
        var start: Int
        var offset: Int
        var column: Int
    }

    /// Several files' texts one after the other, a byte apart, under the first one's path. Places and excerpts are
    /// those of the file that an offset lies in.
    init(joining texts: [SourceText]) {
        path = texts.first?.path ?? ""
        isASCII = texts.allSatisfy(\.isASCII)
        hasControlCharacters = texts.contains(where: \.hasControlCharacters)
        lineStarts = [0]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(texts.reduce(0) { $0 + $1.bytes.count + 1 })
        var parts: [(base: Int, text: SourceText)] = []
        for text in texts {
            parts.append((bytes.count, text))
            bytes += text.bytes
            bytes.append(0x0A)
        }
        self.bytes = bytes
        self.parts = parts
    }

    /// The offsets at which the joined texts begin.
    var bases: [Int] { parts.map(\.base) }

    /// The file's own text in which a part lies, and its place there. Logarithmic.
    func resolved(_ span: Span) -> (source: SourceText, span: Span) {
        guard parts.count > 1 else {
            return (parts.first?.text ?? self, span)
        }
        var low = 0
        var high = parts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if parts[middle].base <= span.start { low = middle } else { high = middle }
        }
        return (parts[low].text, Span(start: span.start - parts[low].base, end: span.end - parts[low].base))
    }

    /// Takes a file's bytes, of which there may be at most `Int32.max`.
    init(path: String, contents: [UInt8]) {
        self.path = path
        bytes = contents.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(contents.dropFirst(3)) : contents
        (lineStarts, isASCII, hasControlCharacters) = bytes.withUnsafeBufferPointer { buffer in
            // Without branches, so that the compiler takes many bytes at a time.
            var high: UInt8 = 0
            var rare: UInt8 = 0
            for byte in buffer {
                high |= byte
                let isLow: UInt8 = byte < 0x20 ? 1 : 0
                let isEnd: UInt8 = byte == 0x0A ? 1 : 0
                let isDelete: UInt8 = byte == 0x7F ? 1 : 0
                rare |= (isLow ^ isEnd) | isDelete
            }
            guard rare == 0 else {
                let (starts, isControlled) = Self.linesOfAnyKind(buffer)
                return (starts, high < 0x80, isControlled)
            }
            return (Self.lines(buffer), high < 0x80, false)
        }
        parts = []
    }

    /// The starts of lines that all end with LF.
    private static func lines(_ buffer: UnsafeBufferPointer<UInt8>) -> [Int32] {
        var starts: [Int32] = [0]
        starts.reserveCapacity(buffer.count / 24 + 4)
        guard let base = buffer.baseAddress else { return starts }
        var start = 0
        while start < buffer.count, let end = memchr(base + start, 0x0A, buffer.count - start) {
            start = UnsafeRawPointer(end) - UnsafeRawPointer(base) + 1
            starts.append(Int32(start))
        }
        return starts
    }

    /// The starts of lines, and whether the text has control characters other than tabs and line breaks.
    private static func linesOfAnyKind(_ buffer: UnsafeBufferPointer<UInt8>) -> ([Int32], Bool) {
        var starts: [Int32] = [0]
        var isControlled = false
        for index in buffer.indices {
            let byte = buffer[index]
            if byte >= 0x20, byte != 0x7F { continue }
            if byte == 0x0A {
                starts.append(Int32(index + 1))
            } else if byte == 0x0D, index + 1 == buffer.count || buffer[index + 1] != 0x0A {
                starts.append(Int32(index + 1))
            } else if byte != 0x0D, byte != 0x09 {
                isControlled = true
            }
        }
        return (starts, isControlled)
    }

    /// The index of the line that holds an offset, from 0. Logarithmic.
    func lineIndex(at offset: Int) -> Int {
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if Int(lineStarts[middle]) <= offset { low = middle } else { high = middle }
        }
        return low
    }

    /// The number of lines, at least 1.
    var lineCount: Int { lineStarts.count }

    /// The bytes of a line without its line break.
    func line(_ index: Int) -> ArraySlice<UInt8> {
        let start = Int(lineStarts[index])
        var end = index + 1 < lineStarts.count ? Int(lineStarts[index + 1]) : bytes.count
        while end > start, bytes[end - 1] == 0x0A || bytes[end - 1] == 0x0D { end -= 1 }
        return bytes[start..<end]
    }

    /// The place of an offset; columns count Unicode scalars.
    func location(at offset: Int) -> SourceLocation {
        if !parts.isEmpty {
            let (source, span) = resolved(Span(start: offset, end: offset))
            return source.location(at: span.start)
        }
        let bounded = min(max(0, offset), bytes.count)
        let index = lineIndex(at: bounded)
        let start = Int(lineStarts[index])
        let column = isASCII ? bounded - start : column(of: bounded, from: start)
        return SourceLocation(file: path, line: index + 1, column: column + 1)
    }

    /// The number of Unicode scalars between a line's start and an offset. It continues from the last call, so that all
    /// places of a long line together take time linear in it.
    private func column(of offset: Int, from start: Int) -> Int {
        let known = last.withLock { $0 }
        let from =
            known.start != start || known.offset > offset ? Column(start: start, offset: start, column: 0) : known
        let found = Column(
            start: start, offset: offset, column: from.column + scalarCount(from.offset..<offset))
        last.withLock { $0 = found }
        return found.column
    }

    /// The number of Unicode scalars that begin in a range of bytes.
    func scalarCount(_ range: Range<Int>) -> Int {
        isASCII ? range.count : bytes[range].reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
    }
}

extension SourceText {
    /// The most characters of a line that an excerpt shows.
    private static let excerptWidth = 160

    /// Notes on characters that look like spaces but are other characters to YAML. Only the line of an offset and the
    /// one before it are searched, at places where spaces matter: at the start, at the end, and between keys and
    /// values.
    func falseBlanks(before offset: Int) -> [Diagnostic.Note] {
        let last = lineIndex(at: min(max(0, offset), bytes.count))
        return (max(0, last - 1)...last).compactMap { index in
            let slice = line(index)
            guard slice.count <= Self.excerptWidth * 4, slice.contains(where: { $0 >= 0x80 }) else { return nil }
            let scalars = Array(String(decoding: slice, as: UTF8.self).unicodeScalars)
            let structural = { (scalar: Unicode.Scalar?) in
                scalar.map { ":,-{}[]#?".unicodeScalars.contains($0) } ?? true
            }
            var isIndented = true
            var quote: Unicode.Scalar?
            for (position, scalar) in scalars.enumerated() {
                defer { if scalar != " " { isIndented = false } }
                // Such characters have no effect within a text or a comment.
                if let open = quote {
                    if scalar == open { quote = nil }
                    continue
                }
                let isFirst = position == 0 || " {[,".unicodeScalars.contains(scalars[position - 1])
                if scalar == "#", isFirst { break }
                if scalar == "\"" || scalar == "'", isFirst { quote = scalar }
                guard let advice = Typography.advice(onBlank: scalar) else { continue }
                let next = position + 1 < scalars.count ? scalars[position + 1] : nil
                guard isIndented || structural(next) || structural(scalars[position - 1]) else { continue }
                let digits = String(scalar.value, radix: 16, uppercase: true)
                let name = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
                return Diagnostic.Note(
                    location: SourceLocation(file: path, line: index + 1, column: position + 1),
                    message: "the character \(name) stands here; \(advice)")
            }
            return nil
        }
    }

    /// A part of the file as a diagnostic shows it.
    func excerpt(of span: Span) -> (text: String, caretOffset: Int, caretLength: Int) {
        let start = min(max(0, span.start), bytes.count)
        let slice = line(lineIndex(at: start))
        var before = Substring(printable(slice[slice.startIndex..<min(max(slice.startIndex, start), slice.endIndex)]))
        let marked = slice[min(start, slice.endIndex)..<min(max(start, span.end), slice.endIndex)]
        var length = scalarCount(marked.indices)
        var text: String
        if slice.count <= Self.excerptWidth {
            text = printable(slice)
        } else {
            let count = before.unicodeScalars.count
            if count > Self.excerptWidth / 2 {
                before = before.unicodeScalars.suffix(Self.excerptWidth / 2).reduce(into: "…") {
                    $0.unicodeScalars.append($1)
                }
            }
            let rest = slice[min(start, slice.endIndex)...]
            let tail = printable(rest.prefix(Self.excerptWidth * 4)).unicodeScalars
            let room = max(8, Self.excerptWidth - before.unicodeScalars.count)
            text = String(before)
            text.unicodeScalars.append(contentsOf: tail.prefix(room))
            length = min(length, room)
            if tail.count > room || rest.count > Self.excerptWidth * 4 { text += "…" }
        }
        let offset = before.unicodeScalars.count
        let trailing = text.unicodeScalars.reversed().prefix { $0 == " " }.count
        text.unicodeScalars.removeLast(min(trailing, max(0, text.unicodeScalars.count - offset)))
        return (text, offset, max(1, length))
    }

    /// Bytes as text. Control characters and tabs become spaces, and bytes that are not UTF-8 become U+FFFD.
    private func printable(_ slice: ArraySlice<UInt8>) -> String {
        var text = ""
        for scalar in String(decoding: slice, as: UTF8.self).unicodeScalars {
            let isControl = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
            text.unicodeScalars.append(isControl ? " " : scalar.steersText ? "\u{FFFD}" : scalar)
        }
        return text
    }
}
