/// Limits as written.
struct WrittenLimits: Sendable {
    var source: SourceText
    var limits: MemoryLimits
    /// The key under which they stand.
    var span: Span
}

/// Reads how much memory data may take: shape only.
struct LimitsDecoder {
    /// The keys.
    static let keys = ["value", "states", "mailboxes"]
    private static let hint = "write limits: { value: 1MiB }"

    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// Reads the value of `limits`. Mistakes are reported and then ignored.
    func limits(_ node: Node, at key: Scalar) -> WrittenLimits? {
        guard case .mapping = node.content else {
            decoder.report(
                .wrongShape, at: node.mark, "'limits' must be a mapping, not \(node.kind)", hint: Self.hint)
            return nil
        }
        guard let keyed = decoder.keyed(node, "'limits'", known: Self.keys) else { return nil }
        var limits = MemoryLimits.standard
        limits.value = size("value", keyed, in: MemoryLimits.valueRange) ?? limits.value
        limits.states = size("states", keyed, in: MemoryLimits.totalRange) ?? limits.states
        limits.mailboxes = size("mailboxes", keyed, in: MemoryLimits.totalRange) ?? limits.mailboxes
        return WrittenLimits(source: decoder.source, limits: limits, span: key.span)
    }

    private func size(_ key: String, _ keyed: Keyed, in range: ClosedRange<Int>) -> Int? {
        keyed[key].flatMap { decoder.size($0, "'\(key)' of 'limits'", in: range) }
    }
}

extension Decoder {
    /// A number of bytes. Nil after reporting.
    func size(_ node: Node, _ what: String, in range: ClosedRange<Int>) -> Int? {
        guard let text = scalar(node, what, hint: "write a size such as 1MiB") else { return nil }
        // As they are written.
        let (least, most) = (
            ByteSize.text(of: range.lowerBound).filter { $0 != " " },
            ByteSize.text(of: range.upperBound).filter { $0 != " " }
        )
        guard let bytes = ByteSize.bytes(in: text.text) else {
            // One with a sign is out of range, and so is one with too many digits.
            if Double(text.text) != nil, !text.text.contains(".") {
                report(.outOfRange, at: text.span, "\(what) is from \(least) to \(most), not \(text.text)")
            } else {
                report(
                    .wrongType, at: text.span, "\(what) is a size, not '\(text.text)'",
                    hint: ByteSize.hint(for: text.text))
            }
            return nil
        }
        guard range.contains(bytes) else {
            report(.outOfRange, at: text.span, "\(what) is from \(least) to \(most), not \(text.text)")
            return nil
        }
        return bytes
    }
}
