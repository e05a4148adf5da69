/// A part of a source by zero-based UTF-8 offsets. `start` is its first byte, `end` the byte after its last.
public struct SourceRange: Sendable, Hashable {
    /// The offset of the first byte.
    public let start: Int
    /// The offset of the byte after the last; equal to `start` for an empty range.
    public let end: Int

    /// Creates a range.
    public init(start: Int, end: Int) {
        self.start = start
        self.end = end
    }

    /// Returns the least range that covers both.
    func joined(with other: SourceRange) -> SourceRange {
        SourceRange(start: min(start, other.start), end: max(end, other.end))
    }
}

/// A problem in an expression that is found before evaluation.
public struct Problem: Error, Sendable, Hashable {
    /// The kind of problem. It is a structure rather than an enumeration, so that kinds can be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable name of the kind, for machines.
        public let rawValue: String

        /// Creates a kind.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable name.
        public var description: String { rawValue }

        /// The text does not follow the grammar.
        public static let syntax = Code(rawValue: "syntax")
        /// A literal is malformed or out of range.
        public static let invalidLiteral = Code(rawValue: "invalidLiteral")
        /// No variable has this name.
        public static let unknownVariable = Code(rawValue: "unknownVariable")
        /// The operand's type has no field of this name.
        public static let unknownField = Code(rawValue: "unknownField")
        /// No function has this name.
        public static let unknownFunction = Code(rawValue: "unknownFunction")
        /// The operator or function does not take operands of these types.
        public static let noOverload = Code(rawValue: "noOverload")
        /// The result does not have the needed type.
        public static let typeMismatch = Code(rawValue: "typeMismatch")
        /// The source is longer than the limit.
        public static let tooLong = Code(rawValue: "tooLong")
        /// The expression is nested deeper than the limit.
        public static let tooDeep = Code(rawValue: "tooDeep")
        /// The expression has more parts than the limit.
        public static let tooComplex = Code(rawValue: "tooComplex")
        /// A part of the language that is not supported.
        public static let unsupported = Code(rawValue: "unsupported")
    }

    /// The data of a problem, for callers that look for its cause outside the expression.
    package enum Detail: Sendable, Hashable {
        /// A string, or the `${` of a template, has no closing mark.
        case unclosed(by: String)
        /// The source ends where more is expected.
        case endsEarly(expected: String)
    }

    /// The kind of problem.
    public let code: Code
    /// The description of the problem, without advice.
    public let statement: String
    /// The remedy, as a clause without a final stop; nil if the statement says enough.
    public let advice: String?
    /// The location.
    public let range: SourceRange
    /// The nearest known name, if one is near. The advice contains it.
    public let suggestion: String?
    /// The data of the problem, if the kind does not say enough.
    package let detail: Detail?

    /// The statement and the advice.
    public var message: String { advice.map { "\(statement); \($0)" } ?? statement }

    /// Creates a problem.
    public init(
        code: Code, statement: String, advice: String? = nil, range: SourceRange, suggestion: String? = nil
    ) {
        self.init(
            code: code, statement: statement, advice: advice, range: range, suggestion: suggestion, detail: nil)
    }

    /// Creates a problem with data.
    package init(
        code: Code, statement: String, advice: String? = nil, range: SourceRange, suggestion: String? = nil,
        detail: Detail?
    ) {
        self.code = code
        self.statement = statement
        self.advice = advice
        self.range = range
        self.suggestion = suggestion
        self.detail = detail
    }

    /// Returns the line and column of the problem's start, both from 1. Columns count Unicode scalars. Lines end with
    /// LF, CR or CR LF. Linear in the offset.
    public func position(in source: String) -> (line: Int, column: Int) {
        var (line, column, offset) = (1, 1, 0)
        var previous: Unicode.Scalar?
        for scalar in source.unicodeScalars {
            let length = UTF8.width(scalar)
            guard offset + length <= range.start else { break }
            offset += length
            if scalar == "\n", previous == "\r" {
                previous = scalar
                continue
            }
            if scalar == "\n" || scalar == "\r" {
                line += 1
                column = 1
            } else {
                column += 1
            }
            previous = scalar
        }
        return (line, column)
    }
}

/// All problems of one expression or template.
public struct Problems: Error, Sendable, Hashable {
    /// The most problems that are kept for one source.
    package static let most = 100

    /// The source. The ranges of the problems are offsets into it.
    public let source: String
    /// The problems, sorted by their starts; never empty.
    public let problems: [Problem]

    /// Sorts the problems. Drops repetitions and those after the hundredth.
    init(source: String, sorting problems: [Problem]) {
        self.source = source
        let sorted = problems.enumerated().sorted {
            ($0.element.range.start, $0.offset) < ($1.element.range.start, $1.offset)
        }
        var kept: [Problem] = []
        for (_, problem) in sorted where kept.count < Self.most && kept.last != problem {
            kept.append(problem)
        }
        self.problems = kept
    }
}

extension Problems: CustomStringConvertible {
    /// One line per problem: line, column and message.
    public var description: String {
        problems.map { problem in
            let (line, column) = problem.position(in: source)
            return "\(line):\(column): \(problem.message)"
        }.joined(separator: "\n")
    }
}
