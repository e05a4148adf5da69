import ArgumentParser
import CommonExpression
import MediatorConfiguration
import MediatorControl
import StrictJSON
import Varlink

/// `mediatorctl eval`
struct EvalVerb: LocalVerb {
    static let configuration = CommandConfiguration(
        commandName: "eval",
        abstract: "Evaluate an expression, to try it out.",
        discussion: """
            The expression is CEL, as in `when:` and within ${…} of the configuration. No daemon is needed. Values \
            are JSON; text that does not begin like JSON is a string, and the fields of an object are checked. now \
            is the present time, unless it is given.

            EXAMPLES
              mediatorctl eval '1 + 2 * 3'
              mediatorctl eval 'state.failures < 3 && event.reason != "maintenance"' \\
                  --with 'state={"failures": 5}' --with 'event={"reason": "cut"}' --explain
              mediatorctl eval 'duration("90m") > duration("1h")' --json
              mediatorctl eval 'now > timestamp("2026-01-01T00:00:00Z")'

            \(CommandStatus.help(.ofLocal, [.refused: "the expression is wrong, or fails"]))
            """
    )

    @Argument(help: "The expression.")
    var expression: String

    @Option(
        name: .customLong("with"), parsing: .singleValue,
        help: ArgumentHelp("A variable and its value; may be repeated.", valueName: "name=json"))
    var variables: [String] = []

    @Flag(help: "Show each part of the expression with its value.")
    var explain = false

    @Flag(help: "Print JSON instead of text for people.")
    var json = false

    var isJSON: Bool { json }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        var declared = Environment()
        var values: [Value] = []
        for text in variables {
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw CommandError(.usage, "--with wants NAME=JSON, not '\(text)'")
            }
            let name = String(text[..<equals])
            let written = String(text[text.index(after: equals)...])
            guard !declared.variables.contains(where: { $0.name == name }) else {
                throw CommandError(.usage, "--with gives '\(name)' twice")
            }
            let value = Self.value(try Self.json(written, of: name), name: name)
            declared.variables.append(.init(name: name, type: value.type))
            values.append(value)
        }
        if !declared.variables.contains(where: { $0.name == "now" }),
            let now = CommonExpression.Timestamp(seconds: environment.now(), nanoseconds: 0)
        {
            declared.variables.append(.init(name: "now", type: .timestamp))
            values.append(.timestamp(now))
        }
        do {
            let program = try Expression(parsing: expression).checked(in: declared)
            return try report(program, values, environment)
        } catch let problems as Problems {
            if json { throw Self.error(problems, in: expression) }
            for problem in problems.problems { environment.writeError(Self.text(of: problem, in: expression)) }
            if let advice = Self.advice(for: problems) { environment.writeError("\(advice)\n") }
            return .refused
        }
    }

    private func report(
        _ program: Program, _ values: [Value], _ environment: CommandEnvironment
    ) throws -> CommandStatus {
        let explanation = program.explain(values)
        var failure: EvaluationError?
        var result: Value?
        switch explanation.result {
        case .success(let value): result = value
        case .failure(let error): failure = error
        }
        if json {
            var object: JSONObject = ["type": .string("\(program.type)")]
            if let result { object["value"] = ValueCoding.json(result) }
            if let failure { object["error"] = .string(failure.message) }
            if explain {
                object["parts"] = .array(
                    explanation.parts.map { part in
                        var entry: JSONObject = ["text": .string(part.text), "depth": .int(Int64(part.depth))]
                        if case .success(let value)? = part.result { entry["value"] = ValueCoding.json(value) }
                        if case .failure(let error)? = part.result { entry["error"] = .string(error.message) }
                        return .object(entry)
                    })
            }
            try environment.write("\(JSONValue.object(object))\n")
            if let failure { throw CommandError(.refused, failure.message, code: "evaluation-failed") }
        } else {
            // A value alone needs no explanation.
            let parts = explain ? explanation.description : ""
            if !parts.isEmpty { try environment.write("\(parts)\n") }
            if let result, parts.isEmpty { try environment.write("\(result)\n") }
            if let failure { environment.writeError("mediatorctl: \(PlainText.cleaned(failure.message))\n") }
        }
        return failure == nil ? .success : .refused
    }

    /// The value of a variable: JSON, or else text, unless it begins like JSON that is more than a word.
    private static func json(_ written: String, of name: String) throws(CommandError) -> JSONValue {
        do {
            return try JSONValue(parsing: written)
        } catch {
            guard let first = written.first, "{[\"".contains(first) else { return .string(written) }
            throw CommandError(
                .usage, "--with \(name)= is no JSON: \(error)",
                advice: "Names and texts stand in double quotes, such as --with 'state={\"failures\": 5}'.")
        }
    }

    /// The advice on an expression that cannot be evaluated, if there is any.
    private static func advice(for problems: Problems) -> String? {
        problems.problems.contains { $0.code == .unknownVariable && $0.suggestion == nil }
            ? "A variable is given its value with --with NAME=JSON." : nil
    }

    /// A JSON value as an expression sees it: an object as a structure, so that its fields are checked.
    static func value(_ json: JSONValue, name: String) -> Value {
        switch json {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .int(let value): return .int(value)
        case .uint(let value): return .uint(value)
        case .double(let value): return .double(value)
        case .string(let value): return .string(value)
        case .array(let values): return .list(values.map { Self.value($0, name: "") })
        case .object(let entries):
            let sorted = entries.sorted { $0.key < $1.key }.map { ($0.key, Self.value($0.value, name: $0.key)) }
            let type = StructureType(name: name, fields: sorted.map { .init(name: $0.0, type: $0.1.type) })
            return .structure(Structure(type: type, fields: sorted.map(\.1)))
        }
    }

    /// Problems for programs: the first in words, all with their places.
    private static func error(_ problems: Problems, in source: String) -> CommandError {
        let all = problems.problems.map { problem in
            let (line, column) = problem.position(in: source)
            return JSONValue.object([
                "line": .int(Int64(line)), "column": .int(Int64(column)),
                "code": .string(Diagnostic.Code(problem.code).rawValue),
                "message": .string(problem.message),
            ])
        }
        return CommandError(
            .refused, problems.problems.first?.message ?? "\(problems)", advice: advice(for: problems),
            code: "invalid-expression",
            details: ["problems": .array(all)])
    }

    /// A problem with the place it is at.
    private static func text(of problem: Problem, in source: String) -> String {
        let (line, column) = problem.position(in: source)
        let excerpt = source.split(separator: "\n", omittingEmptySubsequences: false)[line - 1]
        let width = max(1, problem.range.end - problem.range.start)
        let caret = String(repeating: " ", count: column - 1) + "^" + String(repeating: "~", count: min(width, 80) - 1)
        return "\(line):\(column): error: \(problem.message) [\(Diagnostic.Code(problem.code).rawValue)]\n"
            + "  \(PlainText.cleaned(String(excerpt)))\n  \(caret)\n"
    }
}
