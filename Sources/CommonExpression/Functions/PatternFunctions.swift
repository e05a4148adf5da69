/// `matches()` (CEL specification, "List of Standard Definitions").
enum PatternFunctions {
    /// The steps of compiling a pattern that is not a constant, in addition to one for each of its instructions.
    static let compilationCost = 1_000

    /// The upper bound of the limit for literal patterns in one expression.
    static let mostPatterns = 64

    /// The instructions of a pattern that the usual steps for reading a text cover.
    static let instructionsPerStep = 64

    /// All functions that take patterns.
    static let all: [Function] = [
        Function(
            "matches", [.member(.string, .string, result: .bool), .function(.string, .string, result: .bool)],
            binary: matches, specialize: specialize)
    ]

    private static let matches: Function.Binary = { value, pattern, range, frame throws(EvaluationError) in
        guard case .string(let text) = value, case .string(let source) = pattern else {
            throw noOverload(value, pattern, range)
        }
        try frame.charge(Self.compilationCost, at: range)
        try frame.charge(octets: source.utf8.count, at: range)
        let expression = try compile(source, frame.limits, range)
        try frame.charge(expression.size, at: range)
        return .bool(try matches(text, expression, range, &frame))
    }

    /// Returns the function with its pattern compiled once.
    private static let specialize: Function.Specialize = { pattern, limits in
        guard case .string(let source) = pattern else { return nil }
        let expression: RegularExpression
        do throws(RegularExpression.Refusal) {
            expression = try RegularExpression(source, memory: limits.patternMemory)
        } catch {
            return nil
        }
        return { value, range, frame throws(EvaluationError) in
            guard case .string(let text) = value else { throw noOverload(value, pattern, range) }
            return .bool(try matches(text, expression, range, &frame))
        }
    }

    private static func matches(
        _ text: String, _ expression: RegularExpression, _ range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        let steps = 1 + text.utf8.count / Frame.octetsPerStep
        let (cost, overflows) = steps.multipliedReportingOverflow(by: 1 + expression.size / instructionsPerStep)
        try frame.charge(overflows ? Int.max / 2 : cost, at: range)
        return expression.matches(text)
    }

    private static func compile(
        _ source: String, _ limits: Limits, _ range: SourceRange
    ) throws(EvaluationError) -> RegularExpression {
        do throws(RegularExpression.Refusal) {
            return try RegularExpression(source, memory: limits.patternMemory)
        } catch {
            throw EvaluationError(code: .invalidArgument, message: message(source, error), range: range)
        }
    }

    /// Returns the message about an invalid pattern.
    static func message(_ source: String, _ refusal: RegularExpression.Refusal) -> String {
        "\(ValueExcerpt.text(of: .string(source))) is not a regular expression of RE2: \(refusal.message)"
    }

    private static func noOverload(_ value: Value, _ pattern: Value, _ range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .noSuchOverload,
            message: "matches() takes two strings, not \(value.typeName) and \(pattern.typeName)", range: range)
    }
}
