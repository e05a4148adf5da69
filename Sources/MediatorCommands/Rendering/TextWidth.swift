/// The width of text on a terminal.
package enum TextWidth {
    /// The number of columns of a text: two for letters that East Asian Width (UAX #11) calls wide and for pictures,
    /// none for marks on the letter before.
    package static func columns(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + columns($1) }
    }

    /// The beginning of a text that has room in so many columns; if it is cut, an ellipsis is its last letter.
    package static func cut(_ text: String, to width: Int) -> String {
        guard columns(text) > width else { return text }
        guard width > 0 else { return "" }
        var result = ""
        var room = width - 1
        for letter in text {
            room -= columns(letter)
            if room < 0 { break }
            result.append(letter)
        }
        return result + "…"
    }

    /// The whole text in lines of so many columns, parted at blanks, and within a word only where it is longer than a line.
    package static func wrapped(_ text: String, to width: Int) -> [String] {
        guard width > 1, columns(text) > width else { return [text] }
        var lines: [String] = []
        var (line, used) = (Substring(), 0)
        var rest = text[...]
        while let letter = rest.first {
            guard used + columns(letter) > width else {
                line.append(letter)
                used += columns(letter)
                rest.removeFirst()
                continue
            }
            if letter == " " {
                rest.removeFirst()
            } else if let blank = line.lastIndex(of: " ") {
                rest = line[line.index(after: blank)...] + rest
                line = line[..<blank]
            }
            lines.append(String(line))
            (line, used) = ("", 0)
        }
        return lines + [String(line)]
    }

    /// The columns of a text that may bear colours.
    static func columns(ofColored text: String) -> Int { columns(plain(text)) }

    /// The beginning of a text that may bear colours, which end where it is cut.
    static func cut(colored text: String, to width: Int) -> String {
        guard columns(ofColored: text) > width else { return text }
        guard text.contains("\u{1B}") else { return cut(text, to: width) }
        var result = ""
        var room = width - 1
        var isEscape = false
        for letter in text {
            isEscape = isEscape || letter == "\u{1B}"
            if isEscape {
                isEscape = letter != "m"
            } else {
                room -= columns(letter)
                if room < 0 { break }
            }
            result.append(letter)
        }
        return result + "…\u{1B}[0m"
    }

    /// A text without its colours.
    private static func plain(_ text: String) -> String {
        guard text.contains("\u{1B}") else { return text }
        var isEscape = false
        return String(
            text.filter { letter in
                guard !isEscape, letter != "\u{1B}" else {
                    isEscape = letter != "m"
                    return false
                }
                return true
            })
    }

    /// The text with blanks up to a width, cut if it is longer.
    package static func padded(_ text: String, to width: Int, isNumber: Bool = false) -> String {
        let text = cut(text, to: width)
        let blanks = String(repeating: " ", count: max(0, width - columns(text)))
        return isNumber ? blanks + text : text + blanks
    }

    private static func columns(_ letter: Character) -> Int {
        guard let first = letter.unicodeScalars.first else { return 0 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
            0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
