/// The rest of a text that a comma has cut within `{ … }`: YAML takes it for a key without a value.
struct CutText {
    /// The advice: the text in quotes, or as a list.
    var hint: String
    /// Whether this is the first part behind the text's beginning. The others need no message of their own.
    var isFirst: Bool

    /// Bytes of the longest text that a hint repeats.
    private static let longestShown = 240
    /// Keys that take several names as a list.
    private static let lists: Set<String> = ["onState", "in", "systems", "users", "groups", "fromOutside"]

    /// Finds the text of an unknown key; nil if the key has a colon, or no plain text stands before it in its line.
    init?(_ entry: Node.Entry, in source: SourceText) {
        let bytes = source.bytes
        func skip(_ index: Int, by step: Int) -> Int {
            var index = index
            while bytes.indices.contains(index), bytes[index] == UInt8(ascii: " ") { index += step }
            return index
        }
        func isEnd(_ index: Int) -> Bool {
            bytes.indices.contains(index) && (bytes[index] == UInt8(ascii: ",") || bytes[index] == UInt8(ascii: "}"))
        }
        let comma = skip(entry.key.span.start - 1, by: -1)
        guard entry.value.isNull, entry.key.style == .plain, isEnd(skip(entry.key.span.end, by: 1)),
            bytes.indices.contains(comma), bytes[comma] == UInt8(ascii: ",")
        else { return nil }
        // Back to the colon behind the key of the text.
        var colon = comma - 1
        while colon > 0, !(bytes[colon] == UInt8(ascii: ":") && bytes[colon + 1] == UInt8(ascii: " ")) {
            guard comma - colon < Self.longestShown, !"{}[]\"'\n".utf8.contains(bytes[colon]) else { return nil }
            colon -= 1
        }
        guard colon > 0 else { return nil }
        // Forward over further parts without a colon.
        var end = entry.key.span.end
        var index = skip(end, by: 1)
        while bytes.indices.contains(index), bytes[index] == UInt8(ascii: ",") {
            let part = bytes[(index + 1)...].prefix { !",}".utf8.contains($0) }
            guard part.endIndex - colon < Self.longestShown, !part.contains(where: { ":{[]\"'\n".utf8.contains($0) })
            else { break }
            end = part.endIndex
            index = part.endIndex
        }
        func text(_ range: Range<Int>) -> String {
            String(decoding: bytes[range], as: UTF8.self).split(separator: " ", omittingEmptySubsequences: true)
                .joined(separator: " ")
        }
        let key = text((bytes[..<colon].lastIndex { " ,{\n".utf8.contains($0) }.map { $0 + 1 } ?? 0)..<colon)
        let value = text((colon + 1)..<end)
        guard !key.isEmpty, !value.isEmpty else { return nil }
        hint =
            Self.lists.contains(key)
            ? "several names are a list: write \(key): [\(value)]"
            : "a ',' ends a text within { … }: write \(key): \"\(value)\""
        isFirst = !bytes[colon..<comma].contains(UInt8(ascii: ","))
    }
}
