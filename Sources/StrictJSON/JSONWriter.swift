extension JSONValue {
    /// Returns the value as JSON text on one line, in UTF-8, with member names in alphabetical order.
    ///
    /// The text has no control character and so no NUL, which lets it be framed unchanged. A number that JSON cannot
    /// express (infinite, not a number) is written as `null`.
    public func serialized() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        Self.write(self, to: &bytes)
        return bytes
    }

    /// Returns the value as JSON text with each element and member on a line of its own, indented by two spaces for each
    /// level. Member names are in alphabetical order. The text has no line break at its end.
    public func indented() -> String {
        var bytes: [UInt8] = []
        Self.writeIndented(self, level: 0, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func writeIndented(_ value: JSONValue, level: Int, to bytes: inout [UInt8]) {
        func parts(_ open: String, _ close: String, count: Int, _ part: (Int, inout [UInt8]) -> Void) {
            bytes.append(contentsOf: open.utf8)
            for index in 0..<count {
                bytes.append(contentsOf: "\(index == 0 ? "" : ",")\n\(String(repeating: "  ", count: level + 1))".utf8)
                part(index, &bytes)
            }
            bytes.append(contentsOf: "\n\(String(repeating: "  ", count: level))\(close)".utf8)
        }
        switch value {
        case .array(let elements) where !elements.isEmpty:
            parts("[", "]", count: elements.count) { writeIndented(elements[$0], level: level + 1, to: &$1) }
        case .object(let members) where !members.isEmpty:
            let members = members.sorted { $0.key < $1.key }
            parts("{", "}", count: members.count) { index, bytes in
                write(members[index].key, to: &bytes)
                bytes.append(contentsOf: ": ".utf8)
                writeIndented(members[index].value, level: level + 1, to: &bytes)
            }
        default: write(value, to: &bytes)
        }
    }

    /// Appends the text of a value. Stops soon after a limit for all bytes; the text is then incomplete.
    package static func write(_ value: JSONValue, to bytes: inout [UInt8], limit: Int = .max) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .int(let value): bytes.append(contentsOf: String(value).utf8)
        case .uint(let value): bytes.append(contentsOf: String(value).utf8)
        case .double(let value):
            // Swift prints the shortest text that reads back as the same number, and that text is valid JSON.
            bytes.append(contentsOf: (value.isFinite ? value.description : "null").utf8)
        case .string(let value): write(value, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            var isFirst = true
            for element in elements {
                guard bytes.count <= limit else { return }
                if !isFirst { bytes.append(UInt8(ascii: ",")) }
                isFirst = false
                write(element, to: &bytes, limit: limit)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members): write(members, to: &bytes, limit: limit)
        }
    }

    /// Appends the text of an object. Stops soon after a limit for all bytes; the text is then incomplete.
    package static func write(_ members: JSONObject, to bytes: inout [UInt8], limit: Int = .max) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard bytes.count <= limit else { return }
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            write(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            write(value, to: &bytes, limit: limit)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends a string with its quotes and escapes.
    ///
    /// Besides what JSON requires, it escapes the control, format and line-separating characters up to U+FFFF: a terminal
    /// may act on them, or show a text in another order. YAML also understands these escapes.
    package static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { units in
            var plainStart = 0
            var index = 0
            while index < units.count {
                let unit = units[index]
                let start = index
                index += 1
                if unit < 0x80 {
                    guard unit < 0x20 || unit == UInt8(ascii: "\"") || unit == UInt8(ascii: "\\") || unit == 0x7F else {
                        continue
                    }
                    bytes.append(contentsOf: units[plainStart..<start])
                    writeEscape(unit, to: &bytes)
                } else {
                    guard let character = hiddenCharacter(in: units, at: start) else { continue }
                    index += character.utf8Length - 1
                    bytes.append(contentsOf: units[plainStart..<start])
                    bytes.append(contentsOf: "\\u".utf8)
                    for shift in [12, 8, 4, 0] { bytes.append(hexDigit(UInt8(character.value >> shift & 0xF))) }
                }
                plainStart = index
            }
            bytes.append(contentsOf: units[plainStart...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Returns the character that begins at an index of valid UTF-8 if it must be escaped, and its length.
    private static func hiddenCharacter(
        in units: UnsafeBufferPointer<UInt8>, at index: Int
    ) -> (value: UInt16, utf8Length: Int)? {
        let lead = UInt16(units[index])
        let value: UInt16
        let length: Int
        switch lead {
        // Only these begin such a character.
        case 0xC2, 0xD8, 0xDB, 0xDC:
            length = 2
            value = (lead & 0x1F) << 6 | UInt16(units[index + 1] & 0x3F)
        case 0xE0...0xE2, 0xEF:
            length = 3
            value = (lead & 0x0F) << 12 | UInt16(units[index + 1] & 0x3F) << 6 | UInt16(units[index + 2] & 0x3F)
        default: return nil
        }
        switch Unicode.Scalar(value)?.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return (value, length)
        default: return nil
        }
    }

    private static func writeEscape(_ unit: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch unit {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(unit)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(hexDigit(unit >> 4))
            bytes.append(hexDigit(unit & 0xF))
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
