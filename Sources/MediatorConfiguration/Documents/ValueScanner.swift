/// A value that YAML ends too early, since it is an expression without quotes.
struct CutValue {
    /// The key whose value it is; nil: it is an element of a list.
    var key: String?
    /// The whole value as its author meant it.
    var span: Span
    /// The offset of the character with which it is no longer one value for YAML.
    var end: Int
    /// A Boolean value that indicates whether it stands within `{ … }` or `[ … ]`, and if so, which of them.
    var opening: UInt8?
    /// A Boolean value that indicates whether its last character is a quote that closes nothing: the opening one is missing.
    var lacksOpeningQuote = false
}

/// Reads values in YAML as expressions: brackets close, texts end, and `? :` has both parts. So it finds the values that YAML
/// ends too early: at a `,` or a bracket within `{ … }`, at a `: `, or behind a quote.
///
/// It never reports a value that YAML takes whole. Linear, and without recursion.
struct ValueScanner {
    /// Bytes of the longest value that is read.
    private static let longest = 4_096
    private let source: SourceText
    private var index: Int
    private var found: [CutValue] = []
    private var open: [Open] = []
    /// The key whose value comes next.
    private var key: String?
    /// The bytes that may still be read for expressions. Without a limit each element of a long list could read the whole length
    /// of a value.
    private var budget = 128 * longest

    /// A list or mapping that is not closed yet.
    private struct Open {
        var bracket: UInt8
        var start: Int
        var key: String?
    }

    private init(_ source: SourceText, at index: Int) {
        self.source = source
        self.index = index
    }

    /// The cut values of the list or mapping in brackets that begins at an offset, in order.
    static func cuts(inFlowAt start: Int, of source: SourceText) -> [CutValue] {
        var scanner = ValueScanner(source, at: start)
        // It may have an anchor or a tag.
        while let byte = scanner.current, byte != .brace, byte != .bracket { scanner.index += 1 }
        scanner.scan()
        return scanner.found
    }

    /// The value of a line's key outside of brackets, if YAML cuts it.
    static func cut(inLineAt offset: Int, of source: SourceText) -> CutValue? {
        let line = source.line(source.lineIndex(at: min(offset, source.bytes.count)))
        var scanner = ValueScanner(source, at: line.startIndex)
        while let byte = scanner.current, byte == .space || (byte == .hyphen && scanner.next == .space) {
            scanner.index += 1
        }
        guard let key = scanner.readKey(), scanner.index < line.endIndex else { return nil }
        while scanner.current == .space { scanner.index += 1 }
        guard scanner.index < line.endIndex else { return nil }
        scanner.key = key
        scanner.readValue(until: line.endIndex)
        return scanner.found.first
    }

    private var current: UInt8? { byte(index) }
    private var next: UInt8? { byte(index + 1) }
    private func byte(_ index: Int) -> UInt8? { source.bytes.indices.contains(index) ? source.bytes[index] : nil }

    private func isBlank(_ index: Int) -> Bool { byte(index).map { $0 <= .space } ?? true }

    /// Returns whether a ':' is one that YAML takes for the end of a key.
    private func isColon(_ index: Int, isFlow: Bool) -> Bool {
        guard byte(index) == .colon else { return false }
        return isBlank(index + 1) || (isFlow && byte(index + 1).map(Self.isFlowMark) ?? false)
    }

    private static func isFlowMark(_ byte: UInt8) -> Bool {
        switch byte {
        case .comma, .brace, .closingBrace, .bracket, .closingBracket: true
        default: false
        }
    }

    private mutating func scan() {
        repeat {
            guard let byte = current else { return }
            if byte <= .space {
                index += 1
            } else if byte == .hash {
                while let byte = current, byte != 0x0A, byte != 0x0D { index += 1 }
            } else if byte == .comma {
                index += 1
                key = nil
            } else if byte == .brace || byte == .bracket {
                guard open.count < ConfigurationLimits.nesting else { return }
                open.append(Open(bracket: byte, start: index, key: key))
                key = nil
                index += 1
            } else if byte == .closingBrace || byte == .closingBracket {
                close()
            } else if open.last?.bracket == .brace, key == nil {
                guard readKey() != nil else { return }
            } else if !readValue(until: min(source.bytes.count, index + Self.longest)) {
                return
            }
        } while !open.isEmpty
    }

    /// Closes the innermost list or mapping; if an expression goes on behind it, it was the beginning of that.
    private mutating func close() {
        guard let closed = open.popLast() else { return }
        index += 1
        key = nil
        guard let outer = open.last, goesOn(at: index) else { return }
        guard let end = expressionEnd(closed.start, until: min(source.bytes.count, closed.start + Self.longest)) else {
            return
        }
        // They are in the order in which they begin.
        while let last = found.last, last.span.start >= closed.start { found.removeLast() }
        add(closed.key, closed.start..<end, cutAt: index, in: outer.bracket)
    }

    /// Reads a key with its ':', if any. Nil: the text here is not a key.
    @discardableResult private mutating func readKey() -> String? {
        let isFlow = !open.isEmpty
        let start = index
        if let quote = current, quote == .quote || quote == .apostrophe {
            guard let end = textEnd(index) else { return nil }
            index = end
            while current == .space { index += 1 }
        }
        while let byte = current, byte != 0x0A, byte != 0x0D {
            if isColon(index, isFlow: isFlow) {
                key = String(decoding: source.bytes[start..<index], as: UTF8.self)
                index += 1
                return key
            }
            if isFlow, Self.isFlowMark(byte) { return byte == .comma || byte == .closingBrace ? "" : nil }
            index += 1
        }
        return isFlow ? "" : nil
    }

    /// Reads a value that begins with no bracket, or in a line with any character; false: it cannot be read.
    @discardableResult private mutating func readValue(until limit: Int) -> Bool {
        let start = index
        let bracket = open.last?.bracket
        let plainEnd: Int
        var loneQuote: Int?
        switch source.bytes[start] {
        case .quote, .apostrophe:
            guard let end = textEnd(start) else { return false }
            index = end
            guard goesOn(at: end) else { return true }
            plainEnd = end
        case .exclamation where !isTag(start):
            plainEnd = start
        case .exclamation, .ampersand, .asterisk:
            while !isBlank(index) { index += 1 }
            return true
        case .brace where bracket == nil, .bracket where bracket == nil:
            guard let end = bracketEnd(start, until: limit), goesOn(at: end) else { return true }
            plainEnd = end
        default:
            plainEnd = self.plainEnd(start, until: limit)
            if bracket != nil { loneQuote = closingQuoteAlone(start, until: limit) }
        }
        // Without its quote the value ends within it for YAML.
        if let loneQuote, loneQuote >= plainEnd {
            add(key, start..<(loneQuote + 1), cutAt: plainEnd, in: bracket, lacksOpeningQuote: true)
            return true
        }
        guard var end = expressionEnd(start, until: limit) else {
            // A value that YAML takes as a whole is skipped.
            index = plainEnd
            return plainEnd > start && byte(plainEnd).map { $0 != .colon && $0 != .brace && $0 != .bracket } ?? false
        }
        index = end
        guard end > plainEnd else { return true }
        // A list may hold words with parentheses of their own, as the arguments of find(1) are.
        if bracket == .bracket, byte(plainEnd) == .comma, !callsFunction(start..<plainEnd) {
            index = plainEnd
            return true
        }
        if let loneQuote { end = loneQuote + 1 }
        add(key, start..<end, cutAt: plainEnd, in: bracket, lacksOpeningQuote: loneQuote != nil)
        return true
    }

    private mutating func add(
        _ key: String?, _ range: Range<Int>, cutAt place: Int, in bracket: UInt8?, lacksOpeningQuote: Bool = false
    ) {
        var end = range.upperBound
        while end > range.lowerBound, isBlank(end - 1) { end -= 1 }
        index = end
        found.append(
            CutValue(
                key: key, span: Span(start: range.lowerBound, end: end), end: place, opening: bracket,
                lacksOpeningQuote: lacksOpeningQuote))
    }

    /// Returns whether the last parenthesis that opens in a part is that of a call.
    private func callsFunction(_ range: Range<Int>) -> Bool {
        guard let parenthesis = source.bytes[range].lastIndex(of: .parenthesis), parenthesis > range.lowerBound else {
            return false
        }
        return isOfName(parenthesis - 1)
    }

    private func isOfName(_ index: Int) -> Bool {
        byte(index).map { Names.isLetterOrDigit($0) || $0 == UInt8(ascii: "_") } ?? false
    }

    /// Returns whether a quote may begin a text of an expression, as the one in `it's` does not.
    private func mayBeginText(_ index: Int) -> Bool {
        guard isOfName(index - 1), let prefix = byte(index - 1) else { return true }
        return "rRbB".utf8.contains(prefix) && !isOfName(index - 2)
    }

    /// The place of a quote that ends the value at an offset, if it is the first one there, as in `a ${b}", "c"`. Nil if that
    /// quote may open a text.
    private mutating func closingQuoteAlone(_ start: Int, until limit: Int) -> Int? {
        guard budget > 0 else { return nil }
        var index = start
        defer { budget -= index - start }
        var depth = 0
        while index < limit {
            switch source.bytes[index] {
            case .quote, .apostrophe: return depth == 0 && closesText(index) ? index : nil
            case .parenthesis, .bracket, .brace: depth += 1
            case .closingParenthesis, .closingBracket, .closingBrace:
                depth -= 1
                if depth < 0 { return nil }
            case .comma where depth == 0: return nil
            case .hash where isBlank(index - 1): return nil
            case 0x0A, 0x0D: return nil
            default: break
            }
            index += 1
        }
        return nil
    }

    /// Returns whether a quote can only close a text, since it follows a word or a closing bracket and ends a value.
    private func closesText(_ index: Int) -> Bool {
        var next = index + 1
        while byte(next) == .space { next += 1 }
        guard let behind = byte(next), behind == .comma || behind == .closingBracket || behind == .closingBrace,
            let before = byte(index - 1)
        else { return false }
        switch before {
        case .closingParenthesis, .closingBracket, .closingBrace: return true
        default: return isOfName(index - 1) && !mayBeginText(index)
        }
    }

    /// Returns whether an expression goes on where YAML takes a value to be complete.
    private func goesOn(at index: Int) -> Bool {
        var index = index
        while let byte = byte(index), byte == .space { index += 1 }
        guard let byte = byte(index) else { return false }
        if byte == UInt8(ascii: "i") { return self.byte(index + 1) == UInt8(ascii: "n") && isBlank(index + 2) }
        return "=!<>+.?&|[%*/".utf8.contains(byte)
    }

    /// Returns whether a '!' begins a value from elsewhere, or an intended YAML tag.
    private func isTag(_ start: Int) -> Bool {
        let word = source.bytes[start...].prefix { $0 > .space && !Self.isFlowMark($0) }
        return word.dropFirst().allSatisfy { Names.isLetterOrDigit($0) || $0 == .exclamation || $0 == .hyphen }
            && !word.dropFirst().isEmpty && !word.dropFirst().elementsEqual("value".utf8)
    }

    /// The end of what YAML takes for a plain value.
    private func plainEnd(_ start: Int, until limit: Int) -> Int {
        let isFlow = !open.isEmpty
        var index = start
        while index < limit {
            let byte = source.bytes[index]
            if isFlow, Self.isFlowMark(byte) { return index }
            if isColon(index, isFlow: isFlow) || (byte == .hash && isBlank(index - 1)) { return index }
            index += 1
        }
        return limit
    }

    /// The offset behind the bracket that closes the one at an offset.
    private func bracketEnd(_ start: Int, until limit: Int) -> Int? {
        var depth = 0
        var index = start
        while index < limit {
            switch source.bytes[index] {
            case .quote, .apostrophe:
                guard let end = textEnd(index) else { return nil }
                index = end
                continue
            case .brace, .bracket: depth += 1
            case .closingBrace, .closingBracket:
                depth -= 1
                if depth == 0 { return index + 1 }
            default: break
            }
            index += 1
        }
        return nil
    }

    /// The offset behind the quote that closes the one at an offset, in the same line.
    private func textEnd(_ start: Int) -> Int? {
        let quote = source.bytes[start]
        var index = start + 1
        while let byte = byte(index), byte != 0x0A, byte != 0x0D {
            if byte == quote { return index + 1 }
            index += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    /// The end of the expression that begins at an offset; nil if the expression is not complete.
    private mutating func expressionEnd(_ start: Int, until limit: Int) -> Int? {
        guard budget > 0 else { return nil }
        var index = start
        defer { budget -= index - start }
        let isFlow = !open.isEmpty
        // The brackets that are open, with how many `?` wait for their `:` in each.
        var levels: [(closing: UInt8?, questions: Int)] = [(nil, 0)]
        while index < limit {
            let byte = source.bytes[index]
            let isWithin = levels.count > 1
            switch byte {
            case .quote where mayBeginText(index), .apostrophe where mayBeginText(index):
                guard let end = textEnd(index), !isOfName(end) else { return nil }
                index = end
                continue
            case .parenthesis: levels.append((.closingParenthesis, 0))
            case .bracket: levels.append((.closingBracket, 0))
            case .brace: levels.append((.closingBrace, 0))
            case .closingParenthesis, .closingBracket, .closingBrace:
                if !isWithin { return isFlow && byte != .closingParenthesis ? index : nil }
                guard levels.removeLast().closing == byte else { return nil }
            case .comma where !isWithin && isFlow: return index
            case .hash where isBlank(index - 1): return isWithin || isFlow ? nil : index
            case UInt8(ascii: "?") where isBlank(index + 1): levels[levels.count - 1].questions += 1
            case .colon where isColon(index, isFlow: isFlow) && levels[levels.count - 1].closing != .closingBrace:
                guard levels[levels.count - 1].questions > 0 else { return nil }
                levels[levels.count - 1].questions -= 1
            default: break
            }
            index += 1
        }
        return isFlow || levels.count > 1 ? nil : limit
    }
}

extension UInt8 {
    fileprivate static let space = UInt8(ascii: " ")
    fileprivate static let hash = UInt8(ascii: "#")
    fileprivate static let comma = UInt8(ascii: ",")
    fileprivate static let colon = UInt8(ascii: ":")
    fileprivate static let hyphen = UInt8(ascii: "-")
    fileprivate static let quote = UInt8(ascii: "\"")
    fileprivate static let apostrophe = UInt8(ascii: "'")
    fileprivate static let exclamation = UInt8(ascii: "!")
    fileprivate static let ampersand = UInt8(ascii: "&")
    fileprivate static let asterisk = UInt8(ascii: "*")
    fileprivate static let brace = UInt8(ascii: "{")
    fileprivate static let closingBrace = UInt8(ascii: "}")
    fileprivate static let bracket = UInt8(ascii: "[")
    fileprivate static let closingBracket = UInt8(ascii: "]")
    fileprivate static let parenthesis = UInt8(ascii: "(")
    fileprivate static let closingParenthesis = UInt8(ascii: ")")
}
