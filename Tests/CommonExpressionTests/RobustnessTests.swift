import CommonExpression
import Testing

/// A small generator of numbers, the same on every run (G. Marsaglia, "Xorshift RNGs", 2003).
struct Xorshift: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

@Suite("Robustness")
struct RobustnessTests {
    private static let tokens = [
        "1", "2u", "1.5", "'a'", "b'x'", "true", "null", "count", "state", "event", "now", "anything", "ready", "x",
        ".name", ".tags", ".labels", ".failures",
        "(", ")", "[", "]", "{", "}", ",", ".", ":", "?", "+", "-", "*", "/", "%", "!", "<", "<=", "==", "!=", "&&",
        "||", " in ", "size(", "has(", ".map(x,",
        ".all(x,", ".filter(x,", "string(", "int(", "dyn(", ".contains(", "duration('1s')", "timestamp(0)", "[1, 2]",
        "{'a': 1}", "0", "9223372036854775807",
        "'", "\"", "'''", "`", "\\", "//", "\n", "r'", "0x", "1e", "$", "${", "$${", "#", "é", "\u{0}", "=", "&", "if",
        "cel.bind(", ".?", ".with('a',", ".without(", ".sortBy(x,", "toJson(", "parseJson(", "pow(", "humanize(",
        "format(now,", "'%H'",
    ]

    /// Reads, checks and evaluates a source. Returns whether it had a value.
    private func exercise(_ source: String) -> Bool {
        do {
            let value = try Fixture.program(source).evaluate(Fixture.values())
            return !value.description.isEmpty
        } catch {
            return false
        }
    }

    @Test(arguments: [1, 2, 3, 4])
    func `random tokens neither crash nor hang`(seed: UInt64) {
        var generator = Xorshift(state: seed &* 0x9E37_79B9_7F4A_7C15)
        var valued = 0
        for _ in 0..<20_000 {
            var source = ""
            for _ in 0..<Int.random(in: 1...9, using: &generator) {
                source += Self.tokens[Int.random(in: 0..<Self.tokens.count, using: &generator)]
            }
            if exercise(source) { valued += 1 }
        }
        #expect(valued > 0)
    }

    @Test func `random expressions of the grammar are mostly evaluated`() {
        var generator = Xorshift(state: 42)
        var valued = 0
        for _ in 0..<10_000 where exercise(expression(depth: 3, &generator)) { valued += 1 }
        #expect(valued > 500)
    }

    @Test func `random bytes neither crash nor hang, in templates too`() {
        var generator = Xorshift(state: 7)
        for _ in 0..<10_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            let source = String(decoding: bytes, as: UTF8.self)
            _ = exercise(source)
            do {
                let program = try Template(parsing: "a ${" + source + "} b").checked(in: Fixture.environment)
                #expect(try program.evaluate(Fixture.values()).text != nil)
            } catch let problems as Problems {
                for problem in problems.problems {
                    #expect(problem.range.start <= problem.range.end && problem.range.end <= problems.source.utf8.count)
                }
            } catch {
                #expect(error is EvaluationError)
            }
        }
    }

    private func expression(depth: Int, _ generator: inout Xorshift) -> String {
        let atoms = [
            "1", "2", "count", "state.failures", "anything", "0", "'a'", "state.name", "ready", "true", "1.5", "now",
            "event.tags", "[1, 2]",
        ]
        guard depth > 0, Int.random(in: 0..<5, using: &generator) > 0 else {
            return atoms[Int.random(in: 0..<atoms.count, using: &generator)]
        }
        let operators = ["+", "-", "*", "/", "%", "<", ">", "==", "!=", "&&", "||", "in"]
        let left = expression(depth: depth - 1, &generator)
        let right = expression(depth: depth - 1, &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: return "(\(left)) ? (\(right)) : (\(left))"
        case 1: return "string(\(left))"
        case 2: return "[\(left), \(right)].map(x, dyn(x))"
        case 3: return "dyn(\(left)) == (\(right))"
        default: return "(\(left)) \(operators[Int.random(in: 0..<operators.count, using: &generator)]) (\(right))"
        }
    }

    @Test func `one program is evaluated by several tasks at once`() async throws {
        let program = try Fixture.program(
            "state.failures < 3 && event.reason != 'maintenance' && event.tags.all(t, size(t) == 1)")
        let template = try Template(parsing: "${state.failures}: ${event.tags.map(t, t + t)[1]}").checked(
            in: Fixture.environment)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<4 {
                group.addTask {
                    var held = 0
                    for turn in 0..<500 {
                        let values = Fixture.values(failures: Int64((turn + task) % 6))
                        if try program.evaluateBool(values) { held += 1 }
                        #expect(try template.evaluate(values) == .string("\((turn + task) % 6): bb"))
                    }
                    return held
                }
            }
            for try await held in group { #expect((249...252).contains(held)) }
        }
    }
}
