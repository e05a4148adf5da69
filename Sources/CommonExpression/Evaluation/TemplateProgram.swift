/// A checked and compiled template. It is immutable, and any number of threads may evaluate it at once.
public struct TemplateProgram: Sendable {
    /// A section of the result.
    enum Piece: Sendable {
        case text(String)
        case program(Program, SourceRange)
    }

    /// The data that copies of a program share.
    private final class Storage: Sendable {
        let type: ValueType
        let constant: Value?
        let lone: Program?
        let pieces: [Piece]
        let limits: Limits
        let range: SourceRange

        /// Creates the data of a template that consists of one expression.
        init(lone program: Program) {
            type = program.type
            constant = program.constant
            lone = program
            pieces = []
            limits = .default
            range = SourceRange(start: 0, end: program.source.utf8.count)
        }

        /// Creates the data of a text with or without expressions.
        init(_ pieces: [Piece], limits: Limits, length: Int) {
            type = .string
            lone = nil
            self.pieces = pieces
            self.limits = limits
            range = SourceRange(start: 0, end: length)
            var text: String? = ""
            for piece in pieces {
                switch piece {
                case .text(let literal): text? += literal
                case .program(let program, _):
                    let part = program.constant?.text
                    if let part { text? += part } else { text = nil }
                }
            }
            constant = text.flatMap { $0.utf8.count <= limits.valueSize ? .string($0) : nil }
        }
    }

    private let storage: Storage

    /// The static type of the result.
    public var type: ValueType { storage.type }
    /// The value, if the template reads no variable and evaluates without error.
    public var constant: Value? { storage.constant }
    /// The paths that the expressions read; see ``Program/references``.
    public var references: Set<[String]> {
        programs.reduce(into: []) { $0.formUnion($1.references) }
    }

    /// The paths of the expressions that do not give a number, a Boolean or a time; see ``Program/references``.
    package var referencesOfTexts: Set<[String]> {
        func references(_ program: Program) -> Set<[String]> {
            switch program.type {
            case .bool, .int, .uint, .double, .timestamp, .duration, .null: []
            default: program.references
            }
        }
        return programs.reduce(into: []) { $0.formUnion(references($1)) }
    }

    /// The expressions, in the order of the template.
    package var programs: [Program] {
        if let lone { return [lone] }
        return pieces.compactMap { if case .program(let program, _) = $0 { program } else { nil } }
    }

    private var lone: Program? { storage.lone }
    private var pieces: [Piece] { storage.pieces }
    private var limits: Limits { storage.limits }

    /// Creates a template that consists of one expression.
    init(lone program: Program) { storage = Storage(lone: program) }

    /// Creates a text with or without expressions.
    init(_ pieces: [Piece], limits: Limits, length: Int) {
        storage = Storage(pieces, limits: limits, length: length)
    }

    /// Evaluates the expressions of the template one by one and returns the outcome of each part.
    /// - Parameter variables: One value per variable of the environment, in its order.
    /// - Returns: One explanation for each expression, in the order of the template.
    public func explain(_ variables: [Value]) -> [Explanation] {
        programs.map { $0.explain(variables) }
    }

    /// Evaluates the template. Each expression has its own limit for cost. The limit for size applies to the whole
    /// text.
    /// - Parameter variables: One value per variable of the environment, in its order.
    /// - Throws: The reason why there is no value.
    public func evaluate(_ variables: [Value]) throws(EvaluationError) -> Value {
        var variables = Variables(variables)
        return try evaluate(&variables)
    }

    /// Evaluates the template. Each expression has its own limit for cost. The limit for size applies to the whole
    /// text.
    /// - Parameter variables: One value per variable of the environment, in its order.
    /// - Throws: The reason why there is no value.
    public func evaluate(_ variables: inout Variables) throws(EvaluationError) -> Value {
        if let lone { return try lone.evaluate(&variables) }
        if let constant { return constant }
        var text = ""
        for piece in pieces {
            switch piece {
            case .text(let literal): text += literal
            case .program(let program, let range):
                let value = try program.evaluate(&variables)
                guard let part = value.text else {
                    throw EvaluationError(
                        code: .noSuchOverload,
                        message: "\(value.typeName) cannot become text; string() does not take it",
                        range: range)
                }
                text += part
            }
            guard text.utf8.count <= limits.valueSize else {
                throw EvaluationError(
                    code: .valueTooLarge,
                    message: "the text would have more than \(limits.valueSize) bytes, which is the limit",
                    range: storage.range
                )
            }
        }
        return .string(text)
    }
}
