package import StrictJSON

/// Text that can be shown: what comes from the daemon must not steer the terminal.
package enum PlainText {
    /// The text with every control character, line separator and direction mark written as an escape.
    package static func cleaned(_ text: String) -> String {
        // The usual case.
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Names, joined by commas.
    static func names(_ names: [String]) -> String { names.map(cleaned).joined(separator: ", ") }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        case .format: scalar.properties.isBidiControl
        default: false
        }
    }

    /// A value in few letters: a word is shown as it is, other text in quotes, everything else as JSON.
    package static func value(_ value: JSONValue) -> String {
        guard case .string(let text) = value else { return cleaned(value.description) }
        let isWord =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                !scalar.properties.isWhitespace && !isUnsafe(scalar) && scalar != "\"" && scalar != "="
            }
        return isWord ? text : cleaned(value.description)
    }

    /// Fields with their values: `percent=97 mount=/var`.
    package static func fields(_ data: JSONObject) -> String {
        data.sorted { $0.key < $1.key }.map { "\(cleaned($0.key))=\(value($0.value))" }.joined(separator: " ")
    }
}
