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
    package static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { units in
            var plainStart = 0
            for index in units.indices {
                let unit = units[index]
                guard unit < 0x20 || unit == UInt8(ascii: "\"") || unit == UInt8(ascii: "\\") || unit == 0x7F else {
                    continue
                }
                bytes.append(contentsOf: units[plainStart..<index])
                plainStart = index + 1
                writeEscape(unit, to: &bytes)
            }
            bytes.append(contentsOf: units[plainStart...])
        }
        bytes.append(UInt8(ascii: "\""))
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
            for digit in [unit >> 4, unit & 0xF] {
                bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
        }
    }
}
