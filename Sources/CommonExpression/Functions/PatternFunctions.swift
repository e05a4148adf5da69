/// The functions of patterns: `matches()` (CEL specification, "List of Standard Definitions") and the regex extension.
enum PatternFunctions {
    /// The steps of compiling a pattern that is not a constant, in addition to one for each of its instructions.
    static let compilationCost = 1_000

    /// The upper bound of the limit for literal patterns in one expression.
    static let mostPatterns = 64

    /// The instructions of a pattern that the usual steps for reading a text cover.
    static let instructionsPerStep = 64

    /// All functions that take patterns.
    static let all: [Function] =
        [
            function(
                "matches", [.member(.string, .string, result: .bool), .function(.string, .string, result: .bool)]
            ) { text, expression, range, frame throws(EvaluationError) in
                try charge(text.utf8.count, expression, range, &frame)
                return .bool(expression.matches(text))
            }
        ] + RegexExtension.all

    /// The names of these functions. Their second operand, counted with the receiver, is the pattern.
    static let names = Set(all.map(\.name))

    /// A search in a text.
    typealias Search =
        @Sendable (String, RegularExpression, SourceRange, inout Frame) throws(EvaluationError) -> Value

    /// Returns a function of a text and a pattern. A constant pattern is compiled once.
    static func function(_ name: String, _ overloads: [Function.Overload], _ search: @escaping Search) -> Function {
        Function(
            name, overloads,
            binary: { value, pattern, range, frame throws(EvaluationError) in
                let (text, source) = try TextFunctions.strings(value, pattern, name, range)
                return try search(text, try compile(source, range, &frame), range, &frame)
            },
            specialize: { pattern, limits in
                guard case .string(let source) = pattern,
                    let expression = try? RegularExpression(source, memory: limits.patternMemory)
                else { return nil }
                return { value, range, frame throws(EvaluationError) in
                    let (text, _) = try TextFunctions.strings(value, pattern, name, range)
                    return try search(text, expression, range, &frame)
                }
            })
    }

    /// Charges the steps of a search through a number of octets.
    static func charge(
        _ octets: Int, _ expression: RegularExpression, _ range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) {
        let steps = 1 + octets / Frame.octetsPerStep
        let (cost, overflows) = steps.multipliedReportingOverflow(by: 1 + expression.size / instructionsPerStep)
        try frame.charge(overflows ? Int.max / 2 : cost, at: range)
    }

    /// Compiles a pattern that is not a constant, and charges the steps for that.
    static func compile(
        _ source: String, _ range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> RegularExpression {
        try frame.charge(compilationCost, at: range)
        try frame.charge(octets: source.utf8.count, at: range)
        let expression: RegularExpression
        do throws(RegularExpression.Refusal) {
            expression = try RegularExpression(source, memory: frame.limits.patternMemory)
        } catch {
            throw EvaluationError(code: .invalidArgument, message: message(source, error), range: range)
        }
        try frame.charge(expression.size, at: range)
        return expression
    }

    /// Returns the message about an invalid pattern.
    static func message(_ source: String, _ refusal: RegularExpression.Refusal) -> String {
        "\(ValueExcerpt.text(of: .string(source))) is not a regular expression of RE2: \(refusal.message)"
    }
}
