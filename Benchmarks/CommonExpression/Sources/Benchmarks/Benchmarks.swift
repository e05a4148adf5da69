import CAllocationCount
import CommonExpression

/// Measures what compiling and evaluating expressions costs, beside the same condition as a Swift closure. Prints one
/// line of tab-separated figures for each: name, nanoseconds, allocations, both for one evaluation.
@main
enum Benchmarks {
    struct Degraded {
        var failures: Int64
        var name: String
    }

    struct ProbeFailed {
        var reason: String
        var tags: [String]
    }

    static let stateType = StructureType(
        name: "Degraded",
        fields: [StructureType.Field(name: "failures", type: .int), StructureType.Field(name: "name", type: .string)])
    static let eventType = StructureType(
        name: "ProbeFailed",
        fields: [
            StructureType.Field(name: "reason", type: .string),
            StructureType.Field(name: "tags", type: .list(.string)),
        ])
    static let environment = Environment(variables: [
        Environment.Variable(name: "state", type: .structure(stateType)),
        Environment.Variable(name: "event", type: .structure(eventType)),
        Environment.Variable(name: "x", type: .int),
        Environment.Variable(name: "y", type: .int),
        Environment.Variable(name: "numbers", type: .list(.int)),
    ])

    static let guardSource = #"state.failures < 3 && event.reason != "maintenance""#
    static let cases: [(name: String, source: String)] = [
        ("guard", guardSource),
        ("arithmetic", "(x + 3) * y - x / 2 + y % 7"),
        ("concatenation", #"state.name + ": " + event.reason + " after " + string(state.failures)"#),
        ("comprehension of 100", "numbers.filter(n, n % 2 == 0).map(n, n * n).exists(n, n == 9604)"),
    ]

    static func main() throws {
        // Values that differ from turn to turn, so that nothing is computed once for all.
        let rows = (0..<64).map { row in
            (
                state: Degraded(failures: Int64(row % 5), name: "uplink"),
                event: ProbeFailed(reason: row % 3 == 0 ? "maintenance" : "timed out", tags: ["a"])
            )
        }
        let values = rows.map { row in
            [
                Value.structure(
                    Structure(type: stateType, fields: [.int(row.state.failures), .string(row.state.name)])),
                .structure(
                    Structure(type: eventType, fields: [.string(row.event.reason), .list([.string("a")])])),
                .int(row.state.failures + 40), .int(7), .list((0..<100).map { .int($0) }),
            ]
        }
        try measureGuard(rows.map { ($0.state, $0.event) }, values)
        for (name, source) in cases {
            try measureCompilation(name, source)
            let program = try Expression(parsing: source).checked(in: environment)
            measure("\(name), evaluated", turns: name.hasPrefix("compre") ? 20_000 : 1_000_000) { turn in
                _ = try? program.evaluate(values[turn & 63])
            }
        }
    }

    /// The guard as a closure over Swift values, as one over the values of the language, and as an expression.
    private static func measureGuard(_ rows: [(Degraded, ProbeFailed)], _ values: [[Value]]) throws {
        let program = try Expression(parsing: guardSource).checked(in: environment)
        let closure = opaque { (state: Degraded, event: ProbeFailed) in
            state.failures < 3 && event.reason != "maintenance"
        }
        let valueClosure = opaque { (values: [Value]) in
            guard case .structure(let state) = values[0], case .structure(let event) = values[1],
                case .int(let failures) = state.fields[0], case .string(let reason) = event.fields[0]
            else { return false }
            return failures < 3 && reason != "maintenance"
        }
        var held = 0
        measure("guard, Swift closure over structs", turns: 4_000_000) { turn in
            let (state, event) = rows[turn & 63]
            if closure(state, event) { held += 1 }
        }
        measure("guard, Swift closure over values", turns: 4_000_000) { turn in
            if valueClosure(values[turn & 63]) { held += 1 }
        }
        measure("guard, evaluateBool", turns: 4_000_000) { turn in
            if (try? program.evaluateBool(values[turn & 63])) == true { held += 1 }
        }
        precondition(held > 0)
    }

    private static func measureCompilation(_ name: String, _ source: String) throws {
        measure("\(name), compiled", turns: 20_000) { _ in
            _ = try? Expression(parsing: source).checked(in: environment)
        }
    }

    /// A closure the optimizer does not see through.
    @inline(never)
    private static func opaque<each Argument>(
        _ closure: @escaping (repeat each Argument) -> Bool
    ) -> (repeat each Argument) -> Bool {
        closure
    }

    /// Takes the best of five rounds, and the allocations of the last.
    @inline(never)
    private static func measure(_ name: String, turns: Int, _ body: (Int) -> Void) {
        var best = Duration.seconds(1_000)
        var allocations = 0
        for _ in 0..<5 {
            let before = allocation_count()
            let time = ContinuousClock().measure { for turn in 0..<turns { body(turn) } }
            allocations = allocation_count() - before
            best = min(best, time)
        }
        let nanoseconds = Double(best.components.attoseconds) / 1e9 + Double(best.components.seconds) * 1e9
        let text = "\((nanoseconds / Double(turns) * 100).rounded() / 100)"
        print("\(name)\t\(text)\t\((Double(allocations) / Double(turns) * 100).rounded() / 100)")
    }
}
