/// `size()` and the functions of strings (CEL specification, "List of Standard Definitions").
enum TextFunctions {
    static let size: Function.Unary = { value, range, frame throws(EvaluationError) in
        switch value {
        case .string(let text):
            try frame.charge(octets: text.utf8.count, at: range)
            return .int(Int64(text.unicodeScalars.count))
        case .bytes(let bytes): return .int(Int64(bytes.count))
        case .list(let elements): return .int(Int64(elements.count))
        case .map(let entries): return .int(Int64(entries.count))
        default:
            throw EvaluationError(
                code: .noSuchOverload, message: "size() takes string, bytes, list or map, not \(value.typeName)",
                range: range)
        }
    }

    static let contains: Function.Binary = { value, part, range, frame throws(EvaluationError) in
        let (text, part) = try strings(value, part, "contains", range)
        try frame.charge(octets: text.utf8.count + part.utf8.count, at: range)
        return .bool(text.containsScalars(of: part))
    }

    static let startsWith: Function.Binary = { value, part, range, frame throws(EvaluationError) in
        let (text, part) = try strings(value, part, "startsWith", range)
        try frame.charge(octets: part.utf8.count, at: range)
        return .bool(text.beginsWithScalars(of: part))
    }

    static let endsWith: Function.Binary = { value, part, range, frame throws(EvaluationError) in
        let (text, part) = try strings(value, part, "endsWith", range)
        try frame.charge(octets: part.utf8.count, at: range)
        return .bool(text.endsWithScalars(of: part))
    }

    /// Returns two strings, or throws the error for operands of other types.
    static func strings(
        _ value: Value, _ argument: Value, _ name: String, _ range: SourceRange
    ) throws(EvaluationError) -> (String, String) {
        guard case .string(let text) = value, case .string(let part) = argument else {
            throw EvaluationError(
                code: .noSuchOverload,
                message: "\(name)() takes two strings, not \(value.typeName) and \(argument.typeName)", range: range)
        }
        return (text, part)
    }
}
