/// A text in which `${…}` holds an expression.
///
/// An expression alone keeps its type. Within text, its value is converted to text. `$${` stands for `${`, and any
/// other `$` stands for itself.
public struct Template: Sendable {
    /// A section of the source.
    enum Part: Sendable {
        /// Text in which `$${` is replaced.
        case text(String)
        case expression(Expression)
    }

    /// The template. The ranges of problems are offsets into it.
    public let source: String

    private let parts: [Part]

    /// Parses a template in time linear in its length.
    /// - Parameters:
    ///   - source: The template.
    ///   - limits: The limits. The limit for length applies to the whole template, those for nesting and nodes to each
    ///     expression.
    /// - Throws: The problems of all expressions in the template.
    public init(parsing source: String, limits: Limits = .default) throws(Problems) {
        try Expression.checkLength(of: source, limits)
        var splitter = TemplateSplitter(source: source, limits: limits)
        splitter.run()
        guard splitter.problems.isEmpty else { throw Problems(source: source, sorting: splitter.problems) }
        self.source = source
        parts = splitter.parts
    }

    /// A Boolean value that indicates whether the template has no expression.
    public var isLiteral: Bool { literalText != nil }

    /// The text with `$${` replaced; nil if the template has an expression.
    public var literalText: String? {
        guard let first = parts.first else { return "" }
        if parts.count == 1, case .text(let text) = first { return text }
        return nil
    }

    /// The errors of its expressions that occur for any values of the variables (``Expression/certainFailures``).
    public var certainFailures: [EvaluationError] {
        parts.flatMap { part -> [EvaluationError] in
            if case .expression(let expression) = part { expression.certainFailures } else { [] }
        }
    }

    /// Returns the advice for a text with expressions in place of another type.
    private func advice(on type: ValueType) -> String {
        guard case .duration = type, parts.count == 2, case .expression(let expression) = parts[0],
            case .text(let unit) = parts[1], ["h", "m", "s", "ms", "us", "ns"].contains(unit)
        else { return "a lone ${…} keeps its type" }
        let number = String(decoding: Array(source.utf8)[expression.range.start..<expression.range.end], as: UTF8.self)
        return "write ${duration(string(\(number)) + '\(unit)')}"
    }

    /// Checks the expressions against an environment and compiles them.
    ///
    /// A lone `${…}` has the type of its expression, which must fit the expected type. Any other template is a
    /// `string`, and `string()` must take each of its expressions.
    /// - Parameters:
    ///   - environment: The variables that the expressions may use, and the limits for evaluation.
    ///   - expecting: The type that the result must have; `dyn` for any.
    /// - Throws: The problems of all expressions at once.
    public func checked(in environment: Environment, expecting: ValueType = .dyn) throws(Problems) -> TemplateProgram {
        if parts.count == 1, case .expression(let expression) = parts[0] {
            return TemplateProgram(lone: try expression.checked(in: environment, expecting: expecting))
        }
        var problems: [Problem] = []
        if expecting != .dyn, expecting != .string {
            problems.append(
                Problem(
                    code: .typeMismatch,
                    statement: "the text is a string, but \(expecting) is needed", advice: advice(on: expecting),
                    range: SourceRange(start: 0, end: source.utf8.count)))
        }
        var pieces: [TemplateProgram.Piece] = []
        for part in parts {
            switch part {
            case .text(let text): pieces.append(.text(text))
            case .expression(let expression):
                do throws(Problems) {
                    let program = try expression.checked(in: environment)
                    if let problem = Self.problem(with: program.type, at: expression.range) { problems.append(problem) }
                    pieces.append(.program(program, expression.range))
                } catch {
                    problems += error.problems
                }
            }
        }
        guard problems.isEmpty else { throw Problems(source: source, sorting: problems) }
        return TemplateProgram(pieces, limits: environment.limits, length: source.utf8.count)
    }

    /// Returns the problem with an expression of a type within text; nil if `string()` takes the type.
    private static func problem(with type: ValueType, at range: SourceRange) -> Problem? {
        switch type {
        case .dyn, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration: nil
        case .null, .list, .map, .structure, .type, .optional:
            Problem(
                code: .noOverload,
                statement: "\(type) cannot become text",
                advice: "string() takes bool, int, uint, double, string, bytes, timestamp and duration",
                range: range)
        }
    }
}

/// Finds the expressions in a template.
struct TemplateSplitter {
    private(set) var parts: [Template.Part] = []
    private(set) var problems: [Problem] = []

    private let source: String
    private let bytes: [UInt8]
    private let limits: Limits
    private var position = 0
    private var text: [UInt8] = []

    init(source: String, limits: Limits) {
        self.source = source
        self.limits = limits
        bytes = Array(source.utf8)
    }

    /// Splits the whole template. Stops at a `${` that is not closed.
    mutating func run() {
        let (dollar, brace) = (UInt8(ascii: "$"), UInt8(ascii: "{"))
        while position < bytes.count {
            let rest = bytes[position...].prefix(3)
            if rest.elementsEqual([dollar, dollar, brace]) {
                text += [dollar, brace]
                position += 3
            } else if rest.prefix(2).elementsEqual([dollar, brace]) {
                finishText()
                guard readExpression() else { return }
            } else {
                text.append(bytes[position])
                position += 1
            }
        }
        finishText()
    }

    private mutating func finishText() {
        guard !text.isEmpty else { return }
        parts.append(.text(String(decoding: text, as: UTF8.self)))
        text = []
    }

    /// Reads from `${` to its closing brace. Returns false if the brace is missing.
    private mutating func readExpression() -> Bool {
        let start = position
        var lexer = Lexer(bytes, from: start + 2, extent: .braces)
        lexer.run()
        guard lexer.isClosed else {
            // An unclosed string also takes the brace, and the lexer has reported that string.
            problems += lexer.problems
            if lexer.problems.isEmpty {
                problems.append(
                    Problem(
                        code: .syntax, statement: "'${' is not closed with '}'",
                        advice: "a literal '${' is written '$${'",
                        range: SourceRange(start: start, end: start + 2), detail: .unclosed(by: "}")))
            }
            return false
        }
        position = lexer.position
        let parser = Parser(lexer: lexer, limits: limits)
        parser.run()
        problems += parser.problems
        if parser.problems.isEmpty {
            let expression = Expression(parser.tree, source: source, text: SourceText(bytes), from: start + 2)
            parts.append(.expression(expression))
        }
        return true
    }
}
