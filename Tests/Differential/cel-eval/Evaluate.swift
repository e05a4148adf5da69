import CommonExpression
import Foundation

/// Reads requests as lines of JSON from standard input, `{"expr": …, "bindings": {name: value, …}}`. Writes one line of
/// JSON for each: the value without a check of types (`unchecked`), and after a check with the types of the values
/// (`checked`). With `"explain": true` it also writes each subexpression (`parts`). Values are pairs of type and
/// content; see ``TypedValue``.
@main
enum Evaluate {
    private struct Request: Decodable {
        let expr: String
        let bindings: [String: TypedValue]
        let explain: Bool?
    }

    private struct Answer: Encodable {
        var unchecked: Outcome
        var checked: Outcome
        var parts: [Part]?
    }

    /// A subexpression: where it stands, in UTF-8 bytes, and its value as it is written.
    private struct Part: Encodable {
        let start: Int
        let end: Int
        let text: String
        let depth: Int
        let value: String?
    }

    static func main() throws {
        let (decoder, encoder) = (JSONDecoder(), JSONEncoder())
        while let line = readLine() {
            let request = try decoder.decode(Request.self, from: Data(line.utf8))
            let answer = try encoder.encode(answer(to: request))
            print(String(decoding: answer, as: UTF8.self))
            fflush(nil)
        }
    }

    private static func answer(to request: Request) -> Answer {
        let names = request.bindings.keys.sorted()
        let values = names.map { request.bindings[$0]?.value ?? .null }
        let types = values.map(\.type)
        func environment(_ types: [ValueType]) -> Environment {
            Environment(variables: zip(names, types).map { Environment.Variable(name: $0, type: $1) })
        }
        var answer = Answer(
            unchecked: outcome {
                try Expression(parsing: request.expr).unchecked(in: environment(types)).evaluate(values)
            },
            checked: outcome { try Expression(parsing: request.expr).checked(in: environment(types)).evaluate(values) })
        if request.explain == true {
            let program = try? Expression(parsing: request.expr).unchecked(in: environment(types))
            answer.parts = program?.explain(values).parts.map { part in
                var value: String?
                if case .success(let known)? = part.result { value = known.description }
                return Part(
                    start: part.range.start, end: part.range.end, text: part.text, depth: part.depth, value: value)
            }
        }
        return answer
    }

    private static func outcome(_ evaluate: () throws -> Value) -> Outcome {
        do {
            return Outcome(value: TypedValue(value: try evaluate()))
        } catch let error as EvaluationError {
            return Outcome(error: error.code.rawValue, message: error.message)
        } catch let problems as Problems {
            return Outcome(problem: problems.problems[0].code.rawValue, message: problems.description)
        } catch {
            return Outcome(problem: "unknown", message: "\(error)")
        }
    }
}

/// A value, or the reason why there is no value: at evaluation (`error`) or before (`problem`).
private struct Outcome: Encodable {
    var value: TypedValue?
    var error: String?
    var problem: String?
    var message: String?
}
