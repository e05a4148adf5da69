/// The functions of the regex extension (github.com/google/cel-go/ext, "Regex"). Patterns have the syntax of RE2.
enum RegexExtension {
    /// All functions of the extension.
    static let all: [Function] = [
        PatternFunctions.function(
            "regex.extract", [.function(.string, .string, result: .optional(.string))], extract),
        PatternFunctions.function(
            "regex.extractAll", [.function(.string, .string, result: .list(.string))], extractAll),
        Function(
            "regex.replace",
            [
                .function(.string, .string, .string, result: .string),
                .function(.string, .string, .string, .int, result: .string),
            ], general: replace),
    ]

    /// The factor by which text behind a match costs less. Few patterns make the library read that far, and it reads fast.
    private static let aheadFactor = 16

    /// Returns the message about a pattern with too many groups for a function; nil for other patterns and functions.
    static func message(_ expression: RegularExpression, in function: String) -> String? {
        guard function.hasPrefix("regex.extract"), expression.groups > 1 else { return nil }
        return
            "the pattern has \(expression.groups) groups, but \(function)() extracts at most one; write (?:…) for the others"
    }

    /// Returns the index of the extracted group: 1 for the only group, or 0 for the whole match.
    private static func group(
        of expression: RegularExpression, in function: String, _ range: SourceRange
    ) throws(EvaluationError) -> Int {
        if let message = message(expression, in: function) {
            throw EvaluationError(code: .invalidArgument, message: message, range: range)
        }
        return expression.groups
    }

    /// Calls a function with each match, from left to right, until it returns `false`. After an empty match, the search
    /// continues behind the next character. An empty match at the end of another match is left out.
    private static func forEachMatch(
        _ bytes: [UInt8], _ expression: RegularExpression, _ range: SourceRange, _ frame: inout Frame,
        _ body: ([Range<Int>?], inout Frame) throws(EvaluationError) -> Bool
    ) throws(EvaluationError) {
        var start = 0
        var last: Range<Int>?
        while start <= bytes.count {
            try PatternFunctions.charge((bytes.count - start) / aheadFactor, expression, range, &frame)
            guard let spans = expression.find(in: bytes, from: start), let match = spans[0] else { return }
            try PatternFunctions.charge(match.upperBound - start, expression, range, &frame)
            let isLeftOut = match.isEmpty && last?.upperBound == match.lowerBound
            if !isLeftOut, try !body(spans, &frame) { return }
            last = match
            start = match.upperBound
            if match.isEmpty {
                start += 1
                while start < bytes.count, bytes[start] & 0xC0 == 0x80 { start += 1 }
            }
        }
    }

    private static func text(_ bytes: [UInt8], _ part: Range<Int>) -> String {
        String(decoding: bytes[part], as: UTF8.self)
    }

    private static let extract: PatternFunctions.Search = { value, expression, range, frame throws(EvaluationError) in
        let group = try group(of: expression, in: "regex.extract", range)
        let bytes = Array(value.utf8)
        try PatternFunctions.charge(bytes.count, expression, range, &frame)
        guard let spans = expression.find(in: bytes, from: 0), let part = spans[group] else { return .optional(nil) }
        return .optional(.string(text(bytes, part)))
    }

    private static let extractAll: PatternFunctions.Search = {
        value, expression, range, frame throws(EvaluationError) in
        let group = try group(of: expression, in: "regex.extractAll", range)
        let bytes = Array(value.utf8)
        var parts: [Value] = []
        try forEachMatch(bytes, expression, range, &frame) { spans, frame throws(EvaluationError) in
            guard let part = spans[group] else { return true }
            try frame.grow(elements: parts.count + 1, at: range)
            parts.append(.string(text(bytes, part)))
            return true
        }
        return .list(parts)
    }

    // MARK: Replacing

    /// A piece of a replacement.
    private enum Piece {
        case text(ArraySlice<UInt8>)
        case group(Int)
    }

    /// Reads a replacement, in which `\1` stands for the first group, `\0` for the match, and `\\` for a backslash.
    private static func pieces(
        of replacement: [UInt8], groups: Int, _ range: SourceRange
    ) throws(EvaluationError) -> [Piece] {
        func invalid(_ message: String) -> EvaluationError {
            EvaluationError(code: .invalidArgument, message: "the replacement \(message)", range: range)
        }
        var (pieces, start): ([Piece], Int) = ([], 0)
        while let backslash = replacement[start...].firstIndex(of: UInt8(ascii: "\\")) {
            pieces.append(.text(replacement[start..<backslash]))
            guard backslash + 1 < replacement.count else { throw invalid(#"ends with a single '\'"#) }
            switch replacement[backslash + 1] {
            case UInt8(ascii: "\\"): pieces.append(.text(replacement[backslash...backslash]))
            case let digit where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit):
                let number = Int(digit - UInt8(ascii: "0"))
                guard number <= groups else {
                    throw invalid("names the group \(number), but the pattern has \(groups)")
                }
                pieces.append(.group(number))
            default: throw invalid(#"has a '\' that is followed neither by a digit nor by '\'"#)
            }
            start = backslash + 2
        }
        return pieces + [.text(replacement[start...])]
    }

    private static let replace: Function.General = { values, range, frame throws(EvaluationError) in
        let arguments = CallArguments(name: "regex.replace", values: values, range: range)
        let bytes = Array(try arguments.text(0, &frame).utf8)
        let expression = try PatternFunctions.compile(try arguments.text(1, &frame), range, &frame)
        let pieces = try pieces(of: Array(try arguments.text(2, &frame).utf8), groups: expression.groups, range)
        let limit = try arguments.int(3, default: -1)
        guard limit != 0 else { return values[0] }
        var left = limit < 0 ? Int64.max : limit
        var (result, start): ([UInt8], Int) = ([], 0)
        func append(_ part: ArraySlice<UInt8>, _ frame: inout Frame) throws(EvaluationError) {
            try frame.create(octets: result.count + part.count, at: range, beyond: result.count)
            result += part
        }
        try forEachMatch(bytes, expression, range, &frame) { spans, frame throws(EvaluationError) in
            guard let match = spans[0] else { return true }
            try append(bytes[start..<match.lowerBound], &frame)
            start = match.upperBound
            for piece in pieces {
                switch piece {
                case .text(let text): try append(text, &frame)
                case .group(let number): if let part = spans[number] { try append(bytes[part], &frame) }
                }
            }
            left -= 1
            return left != 0
        }
        try append(bytes[start...], &frame)
        return .string(String(decoding: result, as: UTF8.self))
    }
}
