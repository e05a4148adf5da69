import CYaml

/// Explains the parser's errors in plain words.
enum SyntaxFault {
    /// Reports the parser's error.
    ///
    /// - Parameters:
    ///   - innermost: The place of the innermost open list or mapping.
    ///   - flowStart: The place of the outermost open brackets or braces.
    ///   - root: The document that the parser took to be complete.
    ///   - quoted: The place of the quoted text before the error.
    /// - Returns: The offset at which it gave up, and whether the report is about the document that it took to be
    ///   complete.
    static func report(
        _ parser: UnsafeMutablePointer<yaml_parser_t>, _ cursor: inout CharacterCursor, _ source: SourceText,
        _ diagnostics: DiagnosticsCollector, innermost: Int?, flowStart: Int?, behind root: Node?,
        quoted: Span?
    ) -> (offset: Int, isOfRoot: Bool) {
        let text = parser.pointee.problem.map { String(cString: $0) } ?? ""
        let problem = SyntaxProblem(rawValue: text)
        let context = parser.pointee.context.flatMap { SyntaxContext(rawValue: String(cString: $0)) }
        let stopped = cursor.offset(of: parser.pointee.problem_mark)
        var place = stopped
        let begun = cursor.offset(of: parser.pointee.context_mark)
        if let tab = indentingTab(before: stopped, source) {
            diagnostics.report(
                .tab, in: source, at: Span(start: tab, end: tab + 1), "a tab cannot indent in YAML",
                hint: "indent with spaces")
            return (stopped, false)
        }
        if let mark = mergeMark(before: stopped, source) {
            diagnostics.report(
                .syntax, in: source, at: mark, "a merge has left a mark here",
                hint:
                    "the lines to '=======' are one version, those to '>>>>>>>' the other: keep one of them, and no mark"
            )
            return (stopped, root?.span.start == mark.start)
        }
        if CutValueMender(source: source, diagnostics: diagnostics).complain(inFlowAt: flowStart, upTo: stopped) {
            return (stopped, false)
        }
        if let root, let words = slip(problem, root, source, stopped) {
            let start = root.span.start
            diagnostics.report(
                .syntax, in: source, at: Span(start: start, end: start + 1), words.message, hint: words.hint)
            return (stopped, true)
        }
        if let quoted, let words = unclosedQuote(quoted, source) {
            let start = quoted.start
            diagnostics.report(
                .syntax, in: source, at: Span(start: start, end: start + 1), words.message, hint: words.hint)
            return (stopped, false)
        }
        var words = explanation(problem, context, source, stopped) ?? Words(message: "not YAML: \(text)")
        if words.isAtBeginning { place = begun }
        if words.isAtKey { place = firstCharacter(ofLineAt: stopped, source) }
        if problem == .noNodeContent, let innermost, isAtEnd(stopped, source) {
            words = neverClosed(isList: source.bytes[innermost] == UInt8(ascii: "["))
            place = innermost
        }
        if place >= source.bytes.count, place > 0, !words.isAtBeginning { place = lastCharacter(source) }
        var message = words.message
        if !words.isAtBeginning, let what = context?.construct, begun < place {
            let line = source.location(at: begun).line
            if line != source.location(at: place).line { message += " (in \(what) that begins at line \(line))" }
        }
        diagnostics.report(.syntax, in: source, at: Span(start: place, end: place + 1), message, hint: words.hint)
        return (stopped, false)
    }

    /// The first line before an offset, or in its line, that a merge has left which could not decide between two versions.
    private static func mergeMark(before offset: Int, _ source: SourceText) -> Span? {
        for index in 0...source.lineIndex(at: min(offset, source.bytes.count)) {
            let line = source.line(index)
            if ["<<<<<<< ", "||||||| ", ">>>>>>> "].contains(where: { line.starts(with: $0.utf8) })
                || line.elementsEqual("=======".utf8)
            {
                return Span(start: line.startIndex, end: line.startIndex + 7)
            }
        }
        return nil
    }

    /// The mistake if the parser takes the first lines of a document for the whole document.
    private static func slip(_ problem: SyntaxProblem?, _ root: Node, _ source: SourceText, _ stopped: Int) -> Words? {
        // A line that begins or ends a document is nothing that stands too far out.
        let lines = source.lineIndex(at: root.span.start)...source.lineIndex(at: min(stopped, source.bytes.count))
        guard ![lines.lowerBound, lines.upperBound].contains(where: { source.line($0).starts(with: "---".utf8) }) else {
            return nil
        }
        if case (.noDocumentStart, .sequence) = (problem, root.content),
            source.line(lines.lowerBound).last(where: { $0 > 0x20 }) == UInt8(ascii: "]")
        {
            return Words(
                message: "this is a section of an INI file, and a configuration is YAML",
                hint:
                    "begin a system with system: NAME; what runs is a feedback, with 'run', 'every' or 'at', and 'supervision' restarts"
            )
        }
        switch (problem, root.content) {
        case (.noDocumentStart, .mapping):
            let column = source.location(at: root.span.start).column
            guard source.bytes[root.span.start] != UInt8(ascii: "{"), stopped < source.bytes.count,
                source.location(at: stopped).column < column,
                !lines.contains(where: { source.line($0).starts(with: "...".utf8) })
            else { return nil }
            return Words(
                message: "this key stands further in than those below it",
                hint: "keys of one mapping stand in the same column")
        case (.mappingValueNotAllowed, .scalar(let scalar)) where scalar.style == .plain:
            return Words(
                message: "this line is neither 'key: value' nor part of a text",
                hint: scalar.text.holds("=") ? "write ':' and a space instead of '='" : "is a ':' missing?")
        default: return nil
        }
    }

    /// The mistake if a quote is closed by the opening quote of a later text, so that more text follows it.
    private static func unclosedQuote(_ quoted: Span, _ source: SourceText) -> Words? {
        let end = source.location(at: quoted.end - 1).line
        let rest = source.bytes[quoted.end...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard source.location(at: quoted.start).line < end, let next = rest.first, !",:]}#\r\n".utf8.contains(next)
        else {
            return nil
        }
        return Words(
            message: "this quote is closed only by the next quote, at line \(end), and more text follows it",
            hint: "close it where its text ends")
    }

    private struct Words {
        var message: String
        var hint: String?
        var isAtBeginning = false
        var isAtKey = false
    }

    /// Returns the words for a problem; nil if libyaml's own serve best.
    private static func explanation(
        _ problem: SyntaxProblem?, _ context: SyntaxContext?, _ source: SourceText, _ offset: Int
    ) -> Words? {
        let rest = source.bytes[min(offset, source.bytes.count)...]
        let isAtEnd = isAtEnd(offset, source)
        let character = rest.first.map { String(UnicodeScalar($0)) } ?? ""
        switch problem {
        case .mappingValueNotAllowed where standsTooDeep(source, offset):
            return Words(
                message: "this key stands further in than the one above it, which has its value already",
                hint:
                    "keys of one mapping stand in the same column; a text that goes on here with ': ' in it needs quotes",
                isAtKey: true)
        case .mappingValueNotAllowed:
            return Words(
                message: "a ':' that makes a key is not possible here",
                hint: "text that holds ': ' needs quotes; a nested mapping begins on a new line")
        case .noColon where isMissingSpace(source, offset):
            return Words(
                message: "this line is neither 'key: value' nor part of a text", hint: "a ':' needs a space after it",
                isAtBeginning: true)
        case .unexpectedColon:
            return Words(message: "a ':' that makes a key is not possible here", hint: "a ':' needs a space after it")
        case .noDocumentStart:
            return Words(
                message: "a new document was expected here", hint: "after '...' and before '%', write a line '---'")
        case .unknownDirective, .incompatibleVersion:
            return Words(message: "the only directive there is, is '%YAML 1.2'", hint: "leave the line out")
        case .undefinedTagHandle:
            return Words(message: "tags are not used here", hint: "text that begins with '!' needs quotes")
        case .noLineBreak:
            return Words(message: "nothing but a line break may follow here", hint: "text begins on the next line")
        case .noHexadecimalNumber:
            return Words(message: "an escape needs more hexadecimal digits", hint: "\\xNN, \\uNNNN or \\UNNNNNNNN")
        case .invalidEscapedCharacter:
            return Words(message: "this escape stands for no character", hint: nil)
        case .noNodeContent:
            return Words(message: "a value was expected here", hint: nil)
        case .noColon:
            return Words(
                message: "this line is neither 'key: value' nor part of a text", hint: "is a ':' missing?",
                isAtBeginning: true)
        case .noListEnd where isAtEnd, .noMappingEnd where isAtEnd:
            return neverClosed(isList: context == .flowSequence)
        case .noKey where character == "-":
            return Words(
                message: "an entry '- …' of a list cannot stand here",
                hint: "entries of one list stand in the same column; if this is no list, leave the '- ' out")
        case .noKey:
            return Words(
                message: "a key was expected here",
                hint: "keys of one mapping stand in the same column; after a closing quote nothing may follow")
        case .noListEntry:
            return Words(
                message: "an entry '- …' of the list was expected here",
                hint: "entries of one list stand in the same column")
        case .noListEnd where isBehindQuote(source, offset):
            return Words(
                message: "',' or ']' was expected here",
                hint: "a text begins and ends with a quote of one kind, and has none of that kind within")
        case .noListEnd:
            return Words(message: "',' or ']' was expected here", hint: "close the list with ']'")
        case .noMappingEnd:
            return Words(
                message: "',' or '}' was expected here",
                hint: "close the mapping with '}'; text with ',', '{' or '}' in it needs quotes here")
        case .unexpectedEnd where context == .quotedScalar,
            .unexpectedDocumentMark where context == .quotedScalar:
            return Words(message: "this quote is never closed", hint: nil, isAtBeginning: true)
        case .noToken:
            return Words(
                message: "a value cannot begin with '\(character)'",
                hint: "text that begins with '\(character)' needs quotes")
        case .noName where context == .alias:
            return Words(
                message: "an alias '*…' needs a name of letters, digits, '_' and '-'",
                hint: "text that begins with '*' needs quotes")
        case .unknownEscape:
            return Words(message: "this escape is not known in double quotes", hint: "write \\\\ for a backslash")
        case .unexpectedEnd, .unexpectedDocumentMark, .noName, nil:
            return nil
        }
    }

    /// Returns whether a quote is the last character before an offset, in the same line.
    private static func isBehindQuote(_ source: SourceText, _ offset: Int) -> Bool {
        let before = source.bytes[..<min(offset, source.bytes.count)].last { $0 != UInt8(ascii: " ") }
        return before == UInt8(ascii: "\"") || before == UInt8(ascii: "'")
    }

    /// Returns whether the line before an offset has a ':' that only lacks a space.
    private static func isMissingSpace(_ source: SourceText, _ offset: Int) -> Bool {
        let index = source.lineIndex(at: min(offset, source.bytes.count))
        guard index > 0 else { return false }
        let line = source.line(index - 1).drop { $0 == UInt8(ascii: " ") }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return false }
        return line[..<colon].allSatisfy { $0 > 0x20 } && !line[colon...].contains(UInt8(ascii: " "))
    }

    /// Returns whether an offset is that of the ':' of a line's key, and the line above is a key with a value, further out.
    private static func standsTooDeep(_ source: SourceText, _ offset: Int) -> Bool {
        var index = source.lineIndex(at: min(offset, source.bytes.count))
        let line = source.line(index)
        let indentation = line.prefix { $0 == UInt8(ascii: " ") }.count
        guard line.firstIndex(of: UInt8(ascii: ":")) == offset,
            line[line.startIndex..<offset].dropFirst(indentation).allSatisfy({ Names.isPublic($0) })
        else { return false }
        while index > 0 {
            index -= 1
            let above = source.line(index)
            let text = above.drop { $0 == UInt8(ascii: " ") }
            guard let first = text.first, first != UInt8(ascii: "#"), first != UInt8(ascii: "\r") else { continue }
            guard above.count - text.count < indentation, let colon = text.firstIndex(of: UInt8(ascii: ":")) else {
                return false
            }
            return text[(colon + 1)...].contains { $0 > 0x20 }
        }
        return false
    }

    private static func firstCharacter(ofLineAt offset: Int, _ source: SourceText) -> Int {
        let line = source.line(source.lineIndex(at: min(offset, source.bytes.count)))
        return line.firstIndex { $0 != UInt8(ascii: " ") } ?? offset
    }

    /// Returns whether nothing of a document comes after an offset.
    private static func isAtEnd(_ offset: Int, _ source: SourceText) -> Bool {
        let rest = source.bytes[min(offset, source.bytes.count)...]
        return rest.isEmpty || rest.starts(with: "---".utf8) || rest.starts(with: "...".utf8)
    }

    private static func neverClosed(isList: Bool) -> Words {
        let bracket = isList ? "[" : "{"
        return Words(message: "this '\(bracket)' is never closed", isAtBeginning: true)
    }

    /// A tab in the white space before an offset's line begins in earnest.
    private static func indentingTab(before offset: Int, _ source: SourceText) -> Int? {
        let line = source.line(source.lineIndex(at: min(offset, source.bytes.count)))
        let blank = line.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let tab = blank.firstIndex(of: UInt8(ascii: "\t")), offset <= blank.endIndex else { return nil }
        return tab
    }

    private static func lastCharacter(_ source: SourceText) -> Int {
        var index = source.bytes.count - 1
        while index > 0, source.bytes[index] <= 0x20 || source.bytes[index] & 0xC0 == 0x80 { index -= 1 }
        return index
    }
}
