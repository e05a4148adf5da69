/// Reports values that YAML ends too early, once for each line, and restores them as their author meant them. So no later
/// check complains about them.
struct CutValueMender {
    private let source: SourceText
    private let diagnostics: DiagnosticsCollector
    /// The last list or mapping that was scanned, with its cut values.
    private var scanned: (start: Int, cuts: Cuts)?
    /// The last line whose cut values were reported.
    private var lineTold: Int?

    /// The cut values of a list or mapping, in order, and the place of each among them by its offset.
    private struct Cuts {
        var list: [CutValue]
        var places: [Int: Int]

        /// The one that begins at an offset.
        subscript(offset: Int) -> CutValue? { places[offset].map { list[$0] } }
    }

    /// Bytes of the longest line, and of the longest value, that a hint repeats.
    private static let longestShown = 240

    /// A mender for a file.
    init(source: SourceText, diagnostics: DiagnosticsCollector) {
        self.source = source
        self.diagnostics = diagnostics
    }

    /// Repairs the cut values among some entries, after reporting them.
    ///
    /// - Parameter start: The place of the outermost brackets around them.
    mutating func mend(_ entries: inout [Node.Entry], inFlowAt start: Int?) {
        guard entries.contains(where: { Self.mayBeCut($0.value) }), let start else { return }
        let cuts = cuts(inFlowAt: start)
        guard !cuts.list.isEmpty else { return }
        var end = 0
        entries = entries.compactMap { entry in
            guard entry.key.span.start >= end else { return nil }
            guard let cut = cuts[entry.value.span.start] else { return entry }
            tell(cut, among: cuts.list)
            end = cut.span.end
            return Node.Entry(key: entry.key, value: whole(cut))
        }
    }

    /// The same of elements of a list.
    mutating func mend(_ items: inout [Node], inFlowAt start: Int?) {
        guard items.contains(where: Self.mayBeCut), let start else { return }
        let cuts = cuts(inFlowAt: start)
        guard !cuts.list.isEmpty else { return }
        var end = 0
        items = items.compactMap { item in
            guard item.span.start >= end else { return nil }
            guard let cut = cuts[item.span.start] else { return item }
            tell(cut, among: cuts.list)
            end = cut.span.end
            return whole(cut)
        }
    }

    /// Reports the first cut value because of which a document cannot be read. Returns false if it has none.
    ///
    /// - Parameters:
    ///   - start: The place of the outermost open brackets; nil: no brackets are open.
    ///   - offset: The place at which reading stopped.
    func complain(inFlowAt start: Int?, upTo offset: Int) -> Bool {
        let cuts =
            start.map { ValueScanner.cuts(inFlowAt: $0, of: source) }
            ?? ValueScanner.cut(inLineAt: offset, of: source).map { [$0] } ?? []
        guard let cut = cuts.first(where: { $0.end <= offset }) else { return false }
        report(cut, among: cuts)
        return true
    }

    /// Reports an expression that begins with '!', which YAML takes for a tag. Returns false for other texts.
    ///
    /// - Parameters:
    ///   - offset: The place of the expression.
    ///   - start: The offset of the outermost brackets around it; nil if it stands outside of brackets.
    mutating func complainOfTag(at offset: Int, inFlowAt start: Int?) -> Bool {
        let cut = start.map { cuts(inFlowAt: $0)[offset] } ?? ValueScanner.cut(inLineAt: offset, of: source)
        guard let cut, cut.span.start == offset, cut.end == offset else { return false }
        report(cut, among: start.map { cuts(inFlowAt: $0).list } ?? [cut])
        diagnostics.silence(offset, in: source)
        return true
    }

    /// Returns whether a value has a parenthesis that is not closed, or a quote that has no other.
    private static func mayBeCut(_ node: Node) -> Bool {
        guard case .scalar(let scalar) = node.content, scalar.style == .plain else { return false }
        var parentheses = 0
        var quotes = 0
        for byte in scalar.text.utf8 {
            switch byte {
            case UInt8(ascii: "("): parentheses += 1
            case UInt8(ascii: ")"): parentheses -= 1
            case UInt8(ascii: "\""), UInt8(ascii: "'"): quotes += 1
            default: break
            }
        }
        return parentheses > 0 || quotes % 2 == 1
    }

    private mutating func cuts(inFlowAt start: Int) -> Cuts {
        if let scanned, scanned.start == start { return scanned.cuts }
        let list = ValueScanner.cuts(inFlowAt: start, of: source)
        let places = Dictionary(
            list.enumerated().map { ($0.element.span.start, $0.offset) }, uniquingKeysWith: { first, _ in first })
        let cuts = Cuts(list: list, places: places)
        scanned = (start, cuts)
        return cuts
    }

    private mutating func tell(_ cut: CutValue, among cuts: [CutValue]) {
        let line = source.lineIndex(at: cut.span.start)
        guard line != lineTold else { return }
        lineTold = line
        report(cut, among: cuts)
    }

    private func whole(_ cut: CutValue) -> Node {
        Node(
            content: .scalar(Scalar(text: text(of: cut), style: .plain, span: cut.span)), span: cut.span)
    }

    /// The value's text, without a quote that closes nothing.
    private func text(of cut: CutValue) -> String {
        text(Span(start: cut.span.start, end: cut.span.end - (cut.lacksOpeningQuote ? 1 : 0)))
    }

    /// The value's text, on one line.
    private func text(_ span: Span) -> String {
        String(decoding: source.bytes[span.start..<span.end], as: UTF8.self)
            .split(whereSeparator: \.isNewline).map { Substring($0).trimmingBlanks }.filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    private func report(_ cut: CutValue, among cuts: [CutValue]) {
        let what = cut.key.map { "the value of '\($0)'" } ?? "an element"
        let place = cut.opening.map { $0 == UInt8(ascii: "[") ? "within [ … ] " : "within { … } " } ?? ""
        let message: String
        switch source.bytes[cut.end] {
        case _ where cut.lacksOpeningQuote:
            message = "the quote at the end of \(what) has no opening quote"
        case UInt8(ascii: "!") where cut.end == cut.span.start:
            message = "a '!' at the beginning of \(what) makes it a tag, so it needs quotes"
        case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: "]"), UInt8(ascii: "}"):
            let character = Character(UnicodeScalar(source.bytes[cut.end]))
            message = "\(place)a '\(character)' ends \(what), so it needs quotes"
        case UInt8(ascii: ":"):
            message = "\(place)a ': ' ends \(what), so it needs quotes"
        default:
            let part = text(Span(start: cut.span.start, end: min(cut.end, cut.span.start + 40)))
            message = "YAML ends \(what) behind \(part), so it needs quotes"
        }
        diagnostics.report(.syntax, in: source, at: cut.span, message, hint: hint(cut, among: cuts))
    }

    /// The line with quotes, to be pasted.
    private func hint(_ cut: CutValue, among cuts: [CutValue]) -> String {
        let index = source.lineIndex(at: cut.span.start)
        let line = source.line(index)
        guard cut.span.end - cut.span.start <= Self.longestShown else { return "put it in quotes" }
        guard cut.span.end <= line.endIndex, line.count <= Self.longestShown else {
            return "write \(cut.key.map { "\($0): " } ?? "")\(Self.quoted(text(of: cut)))"
        }
        var shown = ""
        var start = line.startIndex
        for cut in cuts where cut.span.start >= start && cut.span.end <= line.endIndex {
            shown += String(decoding: source.bytes[start..<cut.span.start], as: UTF8.self) + Self.quoted(text(of: cut))
            start = cut.span.end
        }
        shown += String(decoding: source.bytes[start..<line.endIndex], as: UTF8.self)
        return "write \(shown[...].trimmingBlanks)"
    }

    /// A text in the quotes that leave most of it as it is (YAML 1.2.2 § 7.3).
    private static func quoted(_ text: String) -> String {
        guard text.contains(where: { $0 == "\"" || $0 == "\\" }) else { return "\"\(text)\"" }
        return "'\(text.replacing("'", with: "''"))'"
    }
}

extension Substring {
    /// Without spaces and tabs at either end.
    fileprivate var trimmingBlanks: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
