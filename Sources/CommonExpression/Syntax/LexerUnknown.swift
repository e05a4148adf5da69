/// Characters that begin no token, with advice about the token that was probably meant.
extension Lexer {
    /// Reports the third character of `===` and `!==`.
    mutating func takeExcess(of kind: Token.Kind, from start: Int) {
        guard kind == .equal || kind == .notEqual, peek() == UInt8(ascii: "=") else { return }
        position += 1
        let word = kind == .equal ? "equality" : "inequality"
        reportUnknown("\(kind.symbol)=", "\(word) is written '\(kind.symbol)'", from: start)
    }

    /// Reports a character that begins no token. Continues with the token that was probably meant.
    mutating func readUnknown(_ byte: UInt8, _ next: UInt8?) {
        let start = position
        position += 1
        while let byte = peek(), byte & 0xC0 == 0x80 { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if let scalar = text.unicodeScalars.first, let lookAlike = LookAlike(scalar) {
            return take(lookAlike, text, from: start)
        }
        let (advice, kind): (String?, Token.Kind?) =
            switch byte {
            case UInt8(ascii: "=") where next == UInt8(ascii: "~"): ("try a pattern with .matches(…)", .invalid)
            case UInt8(ascii: "~") where next == UInt8(ascii: "="): ("try a pattern with .matches(…)", .invalid)
            case UInt8(ascii: "="): ("equality is written '=='", .equal)
            case UInt8(ascii: "&"): ("'and' is written '&&'", .and)
            case UInt8(ascii: "|"): ("'or' is written '||'", .or)
            case UInt8(ascii: "#"): ("a comment begins with '//'", .invalid)
            case UInt8(ascii: "$") where next == UInt8(ascii: "{"):
                ("the text is already an expression; remove '${' and '}'", .invalid)
            case UInt8(ascii: "$"): ("write the variable without it", nil)
            default: (nil, .invalid)
            }
        let isMatch = byte == UInt8(ascii: "=") && next == UInt8(ascii: "~")
        if isMatch || (byte == UInt8(ascii: "~") && next == UInt8(ascii: "=")) { position += 1 }
        reportUnknown(String(decoding: bytes[start..<position], as: UTF8.self), advice, from: start)
        if let kind { add(kind, from: start) }
    }

    private mutating func take(_ lookAlike: LookAlike, _ text: String, from start: Int) {
        switch lookAlike {
        case .blank(let advice): reportUnknown(text, advice, from: start)
        case .quote(let closing):
            let advice = "a string is written between \" or '"
            guard let end = closed(by: closing) else {
                reportUnknown(text, advice, from: start)
                return add(.invalid, from: start)
            }
            let string = String(decoding: bytes[position..<end.lowerBound], as: UTF8.self)
            position = end.upperBound
            reportUnknown(text, advice, from: start)
            add(.string, .text(string), from: start)
        case .token(let kind):
            reportUnknown(text, "it is written '\(kind.symbol)'", from: start)
            add(kind, from: start)
        }
    }

    /// Returns the range of the next closing character on this line.
    private func closed(by closing: Set<Unicode.Scalar>) -> Range<Int>? {
        var end = position
        while end < bytes.count, bytes[end] != 0x0A, bytes[end] != 0x0D {
            let start = end
            end += 1
            guard bytes[start] >= 0x80 else { continue }
            while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
            let text = String(decoding: bytes[start..<end], as: UTF8.self)
            if let scalar = text.unicodeScalars.first, closing.contains(scalar) { return start..<end }
        }
        return nil
    }

    /// Reports the text from an offset to the current position.
    mutating func reportUnknown(_ text: String, _ advice: String?, from start: Int) {
        let shown = text.unicodeScalars.allSatisfy { scalar in
            if case .blank? = LookAlike(scalar) { return false }
            return scalar.value >= 0x20 && scalar.value != 0x7F
        }
        let name = shown ? "'\(text)'" : "the character U+\(Self.codePoint(of: text))"
        report(.syntax, "\(name) is not part of the language", advice: advice, from: start, to: position)
    }

    private static func codePoint(of text: String) -> String {
        let digits = String(text.unicodeScalars.first?.value ?? 0, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}
