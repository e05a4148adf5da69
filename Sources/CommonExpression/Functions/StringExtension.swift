/// The functions of the strings extension. Positions and lengths count code points.
enum StringExtension {
    /// All functions of the extension.
    static let all: [Function] = [
        Function("charAt", [.member(.string, .int, result: .string)], binary: charAt),
        Function(
            "indexOf",
            [.member(.string, .string, result: .int), .member(.string, .string, .int, result: .int)],
            general: indexOf),
        Function(
            "lastIndexOf",
            [.member(.string, .string, result: .int), .member(.string, .string, .int, result: .int)],
            general: lastIndexOf),
        Function(
            "join",
            [.member(.list(.string), result: .string), .member(.list(.string), .string, result: .string)],
            general: join),
        Function(
            "lowerAscii", [.member(.string, result: .string)],
            unary: { value, range, frame throws(EvaluationError) in
                try mapAscii(value, "lowerAscii", range, &frame) { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
            }),
        Function(
            "upperAscii", [.member(.string, result: .string)],
            unary: { value, range, frame throws(EvaluationError) in
                try mapAscii(value, "upperAscii", range, &frame) { $0 >= 0x61 && $0 <= 0x7A ? $0 & ~0x20 : $0 }
            }),
        Function(
            "replace",
            [
                .member(.string, .string, .string, result: .string),
                .member(.string, .string, .string, .int, result: .string),
            ],
            general: replace),
        Function(
            "split",
            [
                .member(.string, .string, result: .list(.string)),
                .member(.string, .string, .int, result: .list(.string)),
            ],
            general: split, nesting: .operands),
        Function(
            "substring",
            [.member(.string, .int, result: .string), .member(.string, .int, .int, result: .string)],
            general: substring),
        Function("trim", [.member(.string, result: .string)], unary: trim),
        Function(
            "reverse",
            [
                .member(.string, result: .string),
                .member(.list(.parameter("T")), result: .list(.parameter("T"))),
            ], unary: reverse),
        Function(
            "format",
            [Function.Overload(isMember: true, parameters: [.type(.string), .anyList], result: .string)],
            binary: TextFormat.format),
        Function("strings.quote", [.function(.string, result: .string)], unary: quote),
    ]

    // MARK: Positions

    static let charAt: Function.Binary = { value, position, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "charAt", values: [value, position], range: range)
        let scalars = Array(try arguments.text(0, &frame).unicodeScalars)
        let position = try arguments.position(1, default: 0, count: scalars.count)
        return .string(position < scalars.count ? String(Character(scalars[position])) : "")
    }

    static let indexOf: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "indexOf", values: values, range: range)
        let text = Array(try arguments.text(0, &frame).unicodeScalars)
        let part = Array(try arguments.text(1, &frame).unicodeScalars)
        let start = try arguments.position(2, default: 0, count: text.count)
        return .int(Int64(SequenceSearch.first(part, in: text, from: start) ?? -1))
    }

    /// Finds the last position up to a given one, as the first position in the reversed text.
    static let lastIndexOf: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "lastIndexOf", values: values, range: range)
        let text = Array(try arguments.text(0, &frame).unicodeScalars)
        let part = Array(try arguments.text(1, &frame).unicodeScalars)
        let last = try arguments.position(2, default: text.count, count: text.count)
        let latest = min(last, text.count - part.count)
        guard latest >= 0 else { return .int(-1) }
        let found = SequenceSearch.first(
            part.reversed(), in: text.reversed(), from: text.count - part.count - latest)
        return .int(found.map { Int64(text.count - part.count - $0) } ?? -1)
    }

    static let substring: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "substring", values: values, range: range)
        let text = Array(try arguments.text(0, &frame).unicodeScalars)
        let start = try arguments.position(1, default: 0, count: text.count)
        let end = try arguments.position(2, default: text.count, count: text.count)
        guard start <= end else { throw arguments.invalid("the start \(start) lies after the end \(end)") }
        return .string(string(text[start..<end]))
    }

    private static func string(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    // MARK: Lists

    static let join: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "join", values: values, range: range)
        guard case .list(let elements)? = values.first else { throw arguments.noOverload() }
        let separator = values.count > 1 ? try arguments.text(1, &frame) : ""
        var text = ""
        for (index, element) in elements.enumerated() {
            guard case .string(let part) = element else {
                throw EvaluationError(
                    code: .noSuchOverload, message: "join() takes strings, not \(element.typeName)", range: range)
            }
            let separator = index > 0 ? separator : ""
            try frame.create(
                octets: text.utf8.count + separator.utf8.count + part.utf8.count, at: range, beyond: text.utf8.count)
            text += separator
            text += part
        }
        return .string(text)
    }

    static let split: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "split", values: values, range: range)
        let text = try arguments.text(0, &frame)
        let separator = try arguments.text(1, &frame)
        let limit = try arguments.int(2, default: -1)
        guard limit != 0 else { return .list([]) }
        let most = limit < 0 ? Int.max : Int(limit)
        var parts: [Value] = []
        let (bytes, mark) = (Array(text.utf8), Array(separator.utf8))
        var start = 0
        for found in mark.isEmpty ? characterStarts(bytes) : SequenceSearch.all(mark, in: bytes) {
            guard parts.count + 1 < most else { break }
            try frame.grow(elements: parts.count + 1, at: range)
            parts.append(.string(String(decoding: bytes[start..<found], as: UTF8.self)))
            start = found + mark.count
        }
        // An empty text has no characters, but one part between separators.
        if !mark.isEmpty || start < bytes.count {
            try frame.grow(elements: parts.count + 1, at: range)
            parts.append(.string(String(decoding: bytes[start...], as: UTF8.self)))
        }
        return .list(parts)
    }

    /// Returns the starts of all characters except the first.
    private static func characterStarts(_ bytes: [UInt8]) -> [Int] {
        bytes.indices.dropFirst().filter { bytes[$0] & 0xC0 != 0x80 }
    }

    // MARK: Changes

    /// Replaces up to a number of occurrences from the left, or all if the number is negative. An empty text occurs
    /// before each character and at the end.
    static let replace: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "replace", values: values, range: range)
        let bytes = Array(try arguments.text(0, &frame).utf8)
        let old = Array(try arguments.text(1, &frame).utf8)
        let new = Array(try arguments.text(2, &frame).utf8)
        let limit = try arguments.int(3, default: -1)
        var found: ArraySlice<Int> =
            old.isEmpty
            ? ([0] + characterStarts(bytes) + (bytes.isEmpty ? [] : [bytes.count]))[...]
            : SequenceSearch.all(old, in: bytes)[...]
        if limit >= 0 { found = found.prefix(Int(limit)) }
        let (growth, overflows) = found.count.multipliedReportingOverflow(by: new.count)
        try frame.create(
            octets: overflows ? Int.max : bytes.count - found.count * old.count + min(growth, Int.max / 2), at: range)
        var result: [UInt8] = []
        var start = 0
        for position in found {
            result += bytes[start..<position]
            result += new
            start = position + old.count
        }
        result += bytes[start...]
        return .string(String(decoding: result, as: UTF8.self))
    }

    /// Removes White_Space (Unicode Standard Annex 44) from both ends.
    static let trim: Function.Unary = { value, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "trim", values: [value], range: range)
        let scalars = try arguments.text(0, &frame).unicodeScalars
        guard let start = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return .string("") }
        return .string(String(scalars[start...last]))
    }

    /// Reverses a text or a list.
    static let reverse: Function.Unary = { value, range, frame throws(EvaluationError) in
        if case .list(let elements) = value { return try ListExtension.reverse(elements, range, &frame) }
        let arguments = CallArguments(name: "reverse", values: [value], range: range)
        return .string(string(try arguments.text(0, &frame).unicodeScalars.reversed()))
    }

    private static func mapAscii(
        _ value: Value, _ name: String, _ range: SourceRange, _ frame: inout Frame, _ transform: (UInt8) -> UInt8
    ) throws(EvaluationError) -> Value {
        let text = try CallArguments(name: name, values: [value], range: range).text(0, &frame)
        return .string(String(decoding: text.utf8.map(transform), as: UTF8.self))
    }

    /// Encloses a text in double quotes. Escapes the characters that would end or change it.
    static let quote: Function.Unary = { value, range, frame throws(EvaluationError) in
        let text = try CallArguments(name: "strings.quote", values: [value], range: range).text(0, &frame)
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if let letter = escapes[byte] {
                quoted.append(UInt8(ascii: "\\"))
                quoted.append(letter)
            } else {
                quoted.append(byte)
            }
        }
        quoted.append(UInt8(ascii: "\""))
        try frame.create(octets: quoted.count, at: range)
        return .string(String(decoding: quoted, as: UTF8.self))
    }

    private static let escapes: [UInt8: UInt8] = [
        0x07: UInt8(ascii: "a"), 0x08: UInt8(ascii: "b"), 0x0C: UInt8(ascii: "f"), 0x0A: UInt8(ascii: "n"),
        0x0D: UInt8(ascii: "r"), 0x09: UInt8(ascii: "t"), 0x0B: UInt8(ascii: "v"), 0x5C: 0x5C, 0x22: 0x22,
    ]
}
