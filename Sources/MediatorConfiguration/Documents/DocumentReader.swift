import CYaml

/// One YAML document of a file.
struct Document {
    /// Its file.
    var source: SourceText
    /// Its only node.
    var root: Node
}

/// The contents of a file: its documents, and the facts that are known about unreadable ones.
struct DocumentList {
    /// The readable documents, in order.
    var documents: [Document] = []
    /// A Boolean value that indicates whether some document could not be read.
    var isIncomplete = false
    /// Names of systems that unreadable documents seem to define.
    var brokenSystems: [String] = []
    /// A Boolean value that indicates whether unreadable parts may define buses.
    var mayDefineBuses = false
    /// A Boolean value that indicates whether unreadable parts may define systems of any name.
    var mayDefineSystems = false
}

/// Reads a file's bytes into trees of nodes, within limits and without recursion. After a document that is not YAML it
/// continues with the next one.
///
/// It reads libyaml's events: nesting, aliases and duplicate keys can be limited and reported before a tree exists.
struct DocumentReader {
    private let source: SourceText
    private let diagnostics: DiagnosticsCollector
    private let isDropIn: Bool
    private var result = DocumentList()
    private var nodes = 0

    private init(_ source: SourceText, _ diagnostics: DiagnosticsCollector, isDropIn: Bool) {
        self.isDropIn = isDropIn
        self.source = source
        self.diagnostics = diagnostics
    }

    /// Reads a file. Everything wrong with its YAML is reported.
    static func read(_ source: SourceText, _ diagnostics: DiagnosticsCollector, isDropIn: Bool = false) -> DocumentList
    {
        var reader = DocumentReader(source, diagnostics, isDropIn: isDropIn)
        if let fault = Encoding.firstFault(in: source) {
            let span = Span(start: fault.offset, end: fault.offset + 1)
            diagnostics.report(.encoding, in: source, at: span, fault.message, hint: fault.hint)
            return DocumentList(isIncomplete: true, mayDefineBuses: true, mayDefineSystems: true)
        }
        var start = 0
        var broken = 0
        while let failure = reader.readDocuments(from: start) {
            reader.result.isIncomplete = true
            broken += 1
            let next = reader.nextDocument(from: failure.offset, after: start)
            reader.salvage(failure.documentStart..<(next ?? source.bytes.count))
            guard let next, !failure.isFinal else { break }
            guard broken < ConfigurationLimits.brokenDocuments else {
                reader.result.mayDefineBuses = true
                reader.result.mayDefineSystems = true
                let message = "this file has \(broken) broken documents; the rest of it was not looked at"
                diagnostics.report(.tooManyDiagnostics, in: source, at: Span(start: next, end: next + 3), message)
                break
            }
            start = next
        }
        return reader.result
    }

    /// The place at which reading stopped.
    private struct Failure {
        var offset: Int
        var documentStart: Int
        var isFinal = false
    }

    /// Reads documents from an offset on, to the end or the first failure, which is reported.
    private mutating func readDocuments(from start: Int) -> Failure? {
        // The bytes must stay until the parser is deleted. They are UTF-8 (``Encoding``).
        let input = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: source.bytes.count - start)
        defer { input.deallocate() }
        _ = input.initialize(from: source.bytes[start...])
        // libyaml keeps the parser's address, so it must not move.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        guard yaml_parser_initialize(parser) == 1 else {
            diagnostics.report(.unreadable, in: source, at: Span(start: start, end: start), "out of memory")
            return Failure(offset: start, documentStart: start, isFinal: true)
        }
        defer { yaml_parser_delete(parser) }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, input.baseAddress, input.count)
        var cursor = CharacterCursor(source: source, base: start)
        return readEvents(parser, &cursor)
    }

    /// Feeds the parser's events to a builder.
    private mutating func readEvents(
        _ parser: UnsafeMutablePointer<yaml_parser_t>, _ cursor: inout CharacterCursor
    ) -> Failure? {
        var documentStart = cursor.base
        // Of the document that began last, if it is complete.
        var complete: (root: Node, count: Int)?
        // The quoted text that was read last, if nothing came after it.
        var quoted: Span?
        var builder = TreeBuilder(source: source, diagnostics: diagnostics, nodes: nodes, isDropIn: isDropIn)
        while true {
            var event = yaml_event_t()
            guard yaml_parser_parse(parser, &event) == 1 else {
                nodes = builder.nodes
                let offset = SyntaxFault.report(
                    parser, &cursor, source, diagnostics, innermost: builder.innermost, flowStart: builder.flowStart,
                    behind: complete?.root, quoted: quoted)
                if offset.isOfRoot, let complete { result.documents.removeLast(complete.count) }
                return Failure(offset: offset.offset, documentStart: documentStart)
            }
            defer { yaml_event_delete(&event) }
            switch event.type {
            case YAML_STREAM_START_EVENT, YAML_DOCUMENT_END_EVENT, YAML_NO_EVENT:
                break
            case YAML_STREAM_END_EVENT:
                return nil
            case YAML_DOCUMENT_START_EVENT:
                documentStart = cursor.offset(of: event.start_mark)
                complete = nil
                quoted = nil
            default:
                let span = Span(start: cursor.offset(of: event.start_mark), end: cursor.offset(of: event.end_mark))
                quoted = Self.isQuoted(event) ? span : nil
                switch builder.take(event, span) {
                case .more: break
                case .abandoned(let isFinal):
                    nodes = builder.nodes
                    return Failure(offset: span.start, documentStart: documentStart, isFinal: isFinal)
                case .roots(let roots):
                    nodes = builder.nodes
                    let documents = roots.filter { !$0.isNull }.map { Document(source: source, root: $0) }
                    result.documents += documents
                    complete = roots.first.map { ($0, documents.count) }
                    builder.restart()
                }
            }
        }
    }

    private static func isQuoted(_ event: yaml_event_t) -> Bool {
        guard event.type == YAML_SCALAR_EVENT else { return false }
        let style = event.data.scalar.style
        return style == YAML_DOUBLE_QUOTED_SCALAR_STYLE || style == YAML_SINGLE_QUOTED_SCALAR_STYLE
    }

    /// The offset of the first line from that of `offset` on, but beyond `start`, that begins a document with `---`.
    private func nextDocument(from offset: Int, after start: Int) -> Int? {
        var index = source.lineIndex(at: min(offset, source.bytes.count))
        while index < source.lineCount {
            let line = source.line(index)
            if line.startIndex > start, line.starts(with: "---".utf8),
                line.count == 3 || [UInt8(ascii: " "), UInt8(ascii: "\t")].contains(line[line.startIndex + 3])
            {
                return line.startIndex
            }
            index += 1
        }
        return nil
    }

    /// Notes what a broken document seems to define, so that those who refer to it are not blamed as well.
    private mutating func salvage(_ range: Range<Int>) {
        var index = source.lineIndex(at: range.lowerBound)
        while index < source.lineCount {
            let line = source.line(index)
            guard line.startIndex < range.upperBound else { break }
            // It may be the indentation that is wrong, or the ':' that is missing.
            let text = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            func begins(with key: String) -> Bool {
                text.starts(with: key.utf8) && text.dropFirst(key.utf8.count).first.map { !Names.isPublic($0) } ?? true
            }
            if begins(with: "buses") { result.mayDefineBuses = true }
            if begins(with: "system") {
                let rest = String(decoding: text.dropFirst(6), as: UTF8.self)
                let name = rest.split(whereSeparator: { " \t\"'#:=\r".contains($0) }).first
                if let name { result.brokenSystems.append(String(name)) }
            }
            index += 1
        }
    }
}

/// Turns libyaml's marks, which count characters, into byte offsets. Amortized constant, since marks hardly go back.
struct CharacterCursor {
    /// The offset that the parser's character 0 has.
    let base: Int
    private let source: SourceText
    private var index = 0
    private var offset: Int

    /// A cursor for a parser that began at an offset.
    init(source: SourceText, base: Int) {
        self.source = source
        self.base = base
        offset = base
    }

    /// The byte offset of a mark.
    mutating func offset(of mark: yaml_mark_t) -> Int {
        let target = Int(mark.index)
        if source.isASCII { return min(base + target, source.bytes.count) }
        source.bytes.withUnsafeBufferPointer { bytes in
            while index < target, offset < bytes.count {
                offset += 1
                while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
                index += 1
            }
            while index > target, offset > base {
                offset -= 1
                while offset > base, bytes[offset] & 0xC0 == 0x80 { offset -= 1 }
                index -= 1
            }
        }
        return offset
    }
}
