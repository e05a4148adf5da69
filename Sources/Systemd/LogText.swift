import Logging

/// Text made safe for a log line: without line breaks and terminal control characters.
enum LogText {
    /// The deepest level of nested metadata that is printed. Deeper values become "…".
    static let depthLimit = 8

    /// Appends text, with control characters escaped as in Swift.
    static func append(_ text: String, to line: inout String) {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
            line += text
        } else {
            for scalar in text.unicodeScalars { appendScalar(scalar, to: &line) }
        }
    }

    /// Appends a value: a quoted text if it would be ambiguous, arrays in `[]`, dictionaries in `{}`.
    static func appendValue(_ value: Logger.MetadataValue, to line: inout String, depth: Int = 0) {
        guard depth < depthLimit else {
            line += "…"
            return
        }
        switch value {
        case .string(let text): appendQuotingIfNeeded(text, to: &line)
        case .stringConvertible(let convertible): appendQuotingIfNeeded(convertible.description, to: &line)
        case .array(let values):
            line += "["
            for (index, element) in values.enumerated() {
                if index > 0 { line += ", " }
                appendValue(element, to: &line, depth: depth + 1)
            }
            line += "]"
        case .dictionary(let entries):
            line += "{"
            for (index, (key, element)) in entries.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { line += ", " }
                append(key, to: &line)
                line += ": "
                appendValue(element, to: &line, depth: depth + 1)
            }
            line += "}"
        }
    }

    /// Returns `line` within `limit` bytes of UTF-8, cut at a scalar's boundary and then ended by "…".
    static func truncated(_ line: String, limit: Int) -> String {
        guard line.utf8.count > limit else { return line }
        let ellipsis = "…"
        var end = line.utf8.index(line.startIndex, offsetBy: limit - ellipsis.utf8.count)
        while end.samePosition(in: line.unicodeScalars) == nil { end = line.utf8.index(before: end) }
        return line[..<end] + ellipsis
    }

    private static func appendQuotingIfNeeded(_ text: String, to line: inout String) {
        guard text.isEmpty || text.unicodeScalars.contains(where: { isUnsafe($0) || isAmbiguous($0) }) else {
            line += text
            return
        }
        line += "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { line += "\\" }
            appendScalar(scalar, to: &line)
        }
        line += "\""
    }

    private static func appendScalar(_ scalar: Unicode.Scalar, to line: inout String) {
        switch scalar {
        case "\n": line += "\\n"
        case "\r": line += "\\r"
        case "\t": line += "\\t"
        case _ where isUnsafe(scalar): line += "\\u{\(String(scalar.value, radix: 16))}"
        default: line.unicodeScalars.append(scalar)
        }
    }

    /// Returns whether a scalar in a value could be mistaken for the value's end or for a list.
    private static func isAmbiguous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case " ", "\"", "=", "[", "]", "{", "}", ",": true
        default: false
        }
    }

    /// Returns whether a scalar breaks lines, controls a terminal, or changes the direction of the following text.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
