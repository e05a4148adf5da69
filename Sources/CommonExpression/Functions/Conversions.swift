/// The conversion functions (CEL specification, "List of Standard Definitions").
enum Conversions {
    static let string: Function.Unary = { value, range, frame throws(EvaluationError) in
        switch value {
        case .string: return value
        case .bytes(let bytes):
            try frame.create(octets: bytes.count, at: range)
            guard let text = value.text else {
                throw EvaluationError(
                    code: .invalidConversion, message: "the bytes are not UTF-8, so string() cannot convert them",
                    range: range)
            }
            return .string(text)
        default:
            guard let text = value.text else { throw noOverload("string", value, range) }
            return .string(text)
        }
    }

    static let int: Function.Unary = { value, range, frame throws(EvaluationError) in
        switch value {
        case .int: return value
        case .uint(let uint):
            if let int = Int64(exactly: uint) { return .int(int) }
        case .double(let double):
            // The bounds are excluded, as in the conformance suite.
            if double > -0x1p63, double < 0x1p63 { return .int(Int64(double)) }
        case .string(let text):
            try frame.charge(octets: text.utf8.count, at: range)
            if let int = Int64(text) { return .int(int) }
            throw malformed(value, "an int", range)
        case .timestamp(let timestamp): return .int(timestamp.seconds)
        default: throw noOverload("int", value, range)
        }
        throw outOfRange(value, "int", range)
    }

    static let uint: Function.Unary = { value, range, frame throws(EvaluationError) in
        switch value {
        case .uint: return value
        case .int(let int):
            if let uint = UInt64(exactly: int) { return .uint(uint) }
        case .double(let double):
            if double >= 0, double < 0x1p64 { return .uint(UInt64(double)) }
        case .string(let text):
            try frame.charge(octets: text.utf8.count, at: range)
            if let uint = UInt64(text) { return .uint(uint) }
            throw malformed(value, "a uint", range)
        default: throw noOverload("uint", value, range)
        }
        throw outOfRange(value, "uint", range)
    }

    static let double: Function.Unary = { value, range, frame throws(EvaluationError) in
        switch value {
        case .double: return value
        case .int(let int): return .double(Double(int))
        case .uint(let uint): return .double(Double(uint))
        case .string(let text):
            try frame.charge(octets: text.utf8.count, at: range)
            guard let double = DoubleText.number(in: text) else { throw malformed(value, "a double", range) }
            return .double(double)
        default: throw noOverload("double", value, range)
        }
    }

    static let bool: Function.Unary = { value, range, _ throws(EvaluationError) in
        switch value {
        case .bool: return value
        case .string(let text):
            switch text {
            case "1", "t", "true", "TRUE", "True": return .bool(true)
            case "0", "f", "false", "FALSE", "False": return .bool(false)
            default: throw malformed(value, "a bool", range)
            }
        default: throw noOverload("bool", value, range)
        }
    }

    static let bytes: Function.Unary = { value, range, frame throws(EvaluationError) in
        switch value {
        case .bytes: return value
        case .string(let text):
            try frame.create(octets: text.utf8.count, at: range)
            return .bytes(Array(text.utf8))
        default: throw noOverload("bytes", value, range)
        }
    }

    static let timestamp: Function.Unary = { value, range, frame throws(EvaluationError) in
        switch value {
        case .timestamp: return value
        case .string(let text):
            try frame.charge(octets: text.utf8.count, at: range)
            guard let timestamp = Timestamp(rfc3339: text) else {
                throw malformed(value, "a timestamp such as \"2026-11-21T10:00:00Z\"", range)
            }
            return .timestamp(timestamp)
        case .int(let seconds):
            guard let timestamp = Timestamp(seconds: seconds, nanoseconds: 0) else {
                throw outOfRange(value, "timestamp", range)
            }
            return .timestamp(timestamp)
        default: throw noOverload("timestamp", value, range)
        }
    }

    static let duration: Function.Unary = { value, range, frame throws(EvaluationError) in
        switch value {
        case .duration: return value
        case .string(let text):
            try frame.charge(octets: text.utf8.count, at: range)
            guard let span = TimeSpan(text: text) else {
                throw malformed(value, "a duration such as \"1h30m\" or \"1.5s\" within 10000 years", range)
            }
            return .duration(span)
        default: throw noOverload("duration", value, range)
        }
    }

    private static func noOverload(_ name: String, _ value: Value, _ range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .noSuchOverload, message: "\(name)() does not take \(value.typeName)", range: range)
    }

    private static func malformed(_ value: Value, _ what: String, _ range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .invalidConversion, message: "\(ValueExcerpt.text(of: value)) is not \(what)", range: range)
    }

    private static func outOfRange(_ value: Value, _ type: String, _ range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .overflow, message: "\(ValueExcerpt.text(of: value)) is out of range for \(type)", range: range)
    }
}

/// Shows values in messages.
enum ValueExcerpt {
    /// The longest text that is shown whole.
    static let longest = 60

    /// Returns the value as in an expression, cut off after 60 code points. Of a list, map or structure it returns only
    /// the type.
    static func text(of value: Value) -> String {
        switch value {
        case .list, .map, .structure, .optional: return "a \(value.typeName)"
        case .bytes: return "bytes"
        case .string(let text):
            var shown = String.UnicodeScalarView()
            for scalar in text.unicodeScalars.prefix(longest) { shown.append(scalar) }
            let isCut = shown.count == longest
            return Value.string(String(shown)).description + (isCut ? "…" : "")
        default: return value.description
        }
    }
}
