import CommonExpression
import Synchronization
import Testing

@Suite("Host functions")
struct HostFunctionTests {
    private struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    private static let environment: Environment = {
        var environment = Fixture.environment
        environment.functions = [
            Environment.Function("twice", isMember: true) { (number: Int64) in number &* 2 },
            Environment.Function("net.port") { (service: String) -> Int? in ["http": 80][service] },
            Environment.Function("join3") { (a: String, b: Double, c: [Int]) in "\(a) \(b) \(c)" },
            Environment.Function("refuse") { (why: String) -> Bool in throw Refusal(description: why) },
            Environment.Function("small") { (number: Int) -> [String: Bool] in ["small": number < 10] },
            Environment.Function(
                "kind",
                overloads: [
                    Environment.Function.Overload([.int], result: .string) { _ in .string("number") },
                    Environment.Function.Overload([.string], result: .string) { _ in .string("text") },
                    Environment.Function.Overload([.list(.dyn)], result: .string, isMember: true) { _ in .string("list")
                    },
                ]),
            Environment.Function("liar", overloads: [.init([], result: .int) { _ in .string("no") }]),
            Environment.Function(
                "large", overloads: [.init([], result: .bytes) { _ in .bytes(.init(repeating: 0, count: 2_000_000)) }]),
            Environment.Function("size") { (text: String) in -1 },
            Environment.Function("nest", overloads: [.init([.dyn], result: .dyn) { .list($0) }]),
        ]
        return environment
    }()

    private func evaluate(_ source: String) throws -> String {
        try Expression(parsing: source).checked(in: Self.environment).evaluate(Fixture.values()).description
    }

    @Test(arguments: [
        ("count.twice() + 1", "5"), ("net.port('http').orValue(0)", "80"), ("net.port('ftp')", "optional.none()"),
        ("join3('a', 1.5, [1, 2])", #""a 1.5 [1, 2]""#), ("small(3).small", "true"),
        ("kind(1) + kind('a')", #""numbertext""#),
        ("[1].kind()", #""list""#), ("dyn('x').twice() == 1 || true", "true"), ("kind(anything)", #""number""#),
        ("size('abc')", "-1"), ("[1, 2].map(x, x.twice())", "[2, 4]"), ("nest(nest(1))", "[[1]]"),
    ])
    func `a closure is a function of the language`(source: String, value: String) throws {
        #expect(try evaluate(source) == value)
    }

    @Test(arguments: [
        ("refuse('no way')", EvaluationError.Code.hostFailure, "refuse() failed: no way"),
        ("liar()", .hostFailure, "liar() gave string, but is declared to give int"),
        ("kind(dyn(1.5))", .noSuchOverload, "kind() does not take double"),
        ("large()", .valueTooLarge, "the value would have 2000000 bytes, more than 1048576, which is the limit"),
    ])
    func `a failing function is an evaluation error`(
        source: String, code: EvaluationError.Code, message: String
    ) throws {
        let program = try Expression(parsing: source).checked(in: Self.environment)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values()) }
        #expect(error.code == code)
        #expect(error.message == message)
    }

    @Test(arguments: [
        ("count.twise()", "unknown function 'twise'; did you mean 'twice'?"),
        ("twice(count)", "twice is called on a value; write count.twice()"),
        ("net.prt('a')", "unknown function 'net.prt'; did you mean 'net.port'?"),
        ("state.name.twice()", "there is no string.twice(); twice takes int; convert it with int(state.name)"),
        ("kind(true)", "there is no kind(bool); kind takes int or string"),
    ])
    func `a wrong call is found before evaluation`(source: String, message: String) {
        do throws(Problems) {
            _ = try Expression(parsing: source).checked(in: Self.environment)
            Issue.record("the call was accepted")
        } catch {
            #expect(error.problems.map(\.message) == [message])
        }
    }

    @Test func `a function is called at each evaluation, and costs steps`() throws {
        let counter = Counter()
        var environment = Environment(functions: [
            Environment.Function("tick", overloads: [.init([], result: .int) { _ in .int(counter.next()) }], cost: 600)
        ])
        let program = try Expression(parsing: "tick() + 0").checked(in: environment)
        #expect(program.constant == nil)
        #expect(try program.evaluate([]) == .int(1))
        #expect(try program.evaluate([]) == .int(2))
        environment.limits.cost = 1_000
        let twice = try Expression(parsing: "tick() + tick()").checked(in: environment)
        #expect(throws: EvaluationError.self) { try twice.evaluate([]) }
    }

    /// A number that grows with each read.
    private final class Counter: Sendable {
        private let count = Mutex<Int64>(0)

        func next() -> Int64 {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    @Test func `operands that share their parts cost as much as reading all of them`() throws {
        var environment = Environment(
            variables: [Environment.Variable(name: "rows", type: .list(.dyn))],
            functions: [Environment.Function("count") { (rows: [[[Int]]]) in rows.count }])
        environment.limits.cost = 100_000
        let row = Value.list(Array(repeating: .int(1), count: 1_000))
        let rows = Value.list(Array(repeating: row, count: 1_000))
        let program = try Expression(parsing: "count([rows, rows])").checked(in: environment)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate([rows]) }
        #expect(error.code == .costExceeded)
        let expecting = try Expression(parsing: "dyn([rows, rows])").checked(
            in: environment, expecting: .list(.list(.list(.int))))
        #expect(throws: EvaluationError.self) { try expecting.evaluate([rows]) }
    }

    @Test func `a function cannot nest values without limit`() {
        let source = "[1]" + String(repeating: ".map(x, nest(x))", count: 70)
        #expect(throws: Problems.self) { try Expression(parsing: source).checked(in: Self.environment) }
    }
}
