import CommonExpression
import Foundation
import Synchronization
import Testing

@Suite("Limits")
struct LimitTests {
    /// Runs on a thread with three quarters of the 512 KiB that some pools give a thread. The rest is for the caller.
    private func onSmallStack<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: body()) }
            thread.stackSize = 384 * 1_024
            thread.start()
        }
    }

    static let hostile: [String] = [
        String(repeating: "(", count: 50_000), String(repeating: "-", count: 50_000) + "1",
        String(repeating: "!", count: 50_000) + "true",
        "a" + String(repeating: ".a", count: 30_000), String(repeating: "[", count: 50_000),
        String(repeating: "{1:", count: 20_000),
        "1" + String(repeating: "+1", count: 30_000), "'a'" + String(repeating: "+'a'", count: 16_000),
        "1" + String(repeating: "<1", count: 30_000),
        String(repeating: "size(", count: 10_000), String(repeating: "a(", count: 10_000),
        "a" + String(repeating: "[0]", count: 20_000),
        String(repeating: "true ? 1 : ", count: 5_000) + "1", String(repeating: "[1].map(x, ", count: 5_000),
        "[1]" + String(repeating: ".map(x, x)", count: 5_000),
        "true" + String(repeating: "&&true", count: 10_000), "true" + String(repeating: "||false&&true", count: 4_000),
        "a" + String(repeating: ".f()", count: 15_000),
        String(repeating: "1+(", count: 20_000), String(repeating: "\"", count: 60_000),
        String(repeating: "'\\", count: 30_000), String(repeating: "`", count: 60_000),
        String(repeating: "// ", count: 20_000), String(repeating: "a,", count: 30_000),
        "[" + String(repeating: "1,", count: 30_000), String(repeating: "?", count: 60_000),
        String(repeating: "cel.bind(x,1,", count: 4_000), "state" + String(repeating: ".?a", count: 20_000),
        String(repeating: "[?", count: 30_000), String(repeating: "optional.of(", count: 5_000),
        "anything" + String(repeating: ".optMap(x,x", count: 5_000), String(repeating: "math.abs(", count: 6_000),
        "anything" + String(repeating: ".a", count: 20_000) + ".b.c()",
    ]

    @Test(arguments: hostile.indices)
    func `a hostile source gives a clear answer on a small stack`(index: Int) async {
        let problems = await onSmallStack { Fixture.problems(Self.hostile[index]) }
        #expect(!problems.isEmpty || index == 21)
        for problem in problems.prefix(1) { #expect(problem.utf8.count < 400) }
    }

    @Test(arguments: [
        String(repeating: "a", count: 60_000), String(repeating: "a", count: 60_000) + "()",
        "1 " + String(repeating: "a", count: 60_000),
        "state." + String(repeating: "a", count: 60_000), String(repeating: "1", count: 60_000) + "x",
        String(repeating: "1", count: 400) + ".0",
        "size(" + String(repeating: "1,", count: 9_000) + "1)",
        "startsWith(" + String(repeating: "'a',", count: 9_000) + "'a')",
        "'" + String(repeating: "a", count: 60_000) + "' + 1",
        String(repeating: "[", count: 60) + String(repeating: "]", count: 60) + ".x",
        String(repeating: "optional.of(", count: 60) + "1" + String(repeating: ")", count: 60) + " == 1",
    ])
    func `a message that quotes long text stays short`(source: String) {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1)
        for problem in problems { #expect(problem.utf8.count < 600) }
    }

    @Test func `a long constant that fails is tried once`() throws {
        let source = "1 / 0" + String(repeating: " + 1", count: 4_900)
        #expect(try Fixture.program(source).constant == nil)
        #expect(try Fixture.failure(source) == "divisionByZero at 1 / 0: 1 / 0: division by zero")
    }

    @Test(arguments: [
        ("(((1)))", "tooDeep 2..<3 the expression is nested more than 2 levels deep, which is the limit; split it"),
        ("--count", "tooDeep 0..<7 the expression is nested more than 2 levels deep, which is the limit; split it"),
        ("[[[1]]]", "tooDeep 2..<3 the expression is nested more than 2 levels deep, which is the limit; split it"),
    ])
    func `nesting beyond the limit is reported`(source: String, problem: String) {
        #expect(Fixture.problems(source, limits: Limits(nesting: 2)).first == problem)
    }

    @Test func `a source that is too long or has too many parts is reported`() {
        #expect(
            Fixture.problems("1 + 1", limits: Limits(sourceLength: 4)) == [
                "tooLong 4..<5 the source has 5 bytes, more than 4, which is the limit"
            ])
        #expect(
            Fixture.problems("1 + 1", limits: Limits(nodes: 2)) == [
                "tooComplex 0..<5 the expression has more than 2 parts, which is the limit; split it"
            ])
    }

    /// Expressions of the default nesting, whose chains of operators are as long as the limit for nodes allows.
    static let deepest: [(source: String, value: String)] = {
        func nested(_ open: String, _ inner: String, _ close: String, _ count: Int) -> String {
            String(repeating: open, count: count) + inner + String(repeating: close, count: count)
        }
        return [
            (nested("(", "count", ")", 63), "2"), (nested("1+(", "count", ")", 62), "64"),
            (nested("-(", "count", ")", 62), "2"),
            (nested("dyn(", "count", ")", 62), "2"), ("count" + String(repeating: "+count", count: 4_900), "9802"),
            ("state.name" + String(repeating: "+'a'", count: 4_900) + " == 'x'", "false"),
            (nested("true ? ", "count", " : 0", 1), "2"),
            (String(repeating: "!ready ? 0 : ", count: 60) + "count", "2"),
            (nested("[", "count", "]", 54) + String(repeating: "[0]", count: 54), "2"),
            ("size(" + nested("{1:", "count", "}", 60) + ")", "1"),
            ("ready" + String(repeating: "&&ready", count: 4_900), "true"),
            (nested("ready && (ready || ", "ready", ")", 30), "true"),
            ("size([1]" + String(repeating: ".map(x,x+count)", count: 50) + ")", "1"),
            (nested("[1].map(x,x+", "count", ")[0]", 20), "22"),
            ("anything" + String(repeating: "-1-count*1", count: 1_500), "-4495"),
            (nested("[1].exists(x,", "ready", ")", 60), "true"),
            (nested("cel.bind(x, count, x + ", "count", ")", 31), "64"),
            (nested("optional.of(1).optMap(x, x + ", "count", ").value()", 15), "17"),
            (nested("optional.of(", "count", ")", 62) + " == dyn(1)", "false"),
            (nested("math.abs(", "count", ")", 62), "2"),
            (nested("[?optional.of(", "count", ")]", 28) + ".size()", "1"),
            ("size('a'" + String(repeating: ".replace('a', 'a')", count: 1_500) + ")", "1"),
            ("dyn(optional.none())" + String(repeating: ".?a", count: 1_500), "optional.none()"),
        ]
    }()

    @Test(arguments: deepest.indices)
    func `the deepest expressions are explained on a small stack`(index: Int) async {
        let (source, value) = Self.deepest[index]
        let result = await onSmallStack { () -> String in
            do {
                return try Fixture.program(source).explain(Fixture.values()).result.get().description
            } catch {
                return "\(error)"
            }
        }
        #expect(result == value)
    }

    @Test(arguments: deepest.indices)
    func `the deepest expressions the limits allow are evaluated on a small stack`(index: Int) async {
        let (source, value) = Self.deepest[index]
        let result = await onSmallStack { () -> String in
            do { return try Fixture.value(source) } catch { return "\(error)" }
        }
        #expect(result == value)
    }

    @Test(arguments: [("[", "]"), (#"{"a":"#, "}")])
    func `the deepest JSON is read and written on a small stack`(open: String, close: String) async {
        let text = String(repeating: open, count: 127) + (open == "[" ? "" : "1") + String(repeating: close, count: 127)
        let result = await onSmallStack { () -> Value? in
            try? Fixture.program("toJson(parseJson(anything))").evaluate(Fixture.values(anything: .string(text)))
        }
        #expect(result == .string(text))
    }

    @Test func `the nesting of macros is bounded`() async {
        let source = "[1]" + String(repeating: ".map(x, [[[[[[[[x]]]]]]]])", count: 40)
        let problems = await onSmallStack { Fixture.problems(source) }
        #expect(problems.count == 1)
        #expect(problems.first?.contains("the value is nested more than 64 levels deep") == true)
    }

    @Test(arguments: [
        "[1, 2, 3, 4, 5, 6, 7, 8].all(a, [1, 2, 3, 4, 5, 6, 7, 8].all(b, a + b + count > 0))",
        "event.tags.map(x, [x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x]).map(x, x.map(y, y + y)).size() > 0",
        "[1, 2, 3, 4, 5, 6, 7, 8].exists(a, [1, 2, 3, 4, 5, 6, 7, 8].exists(b, 1 / (count - 2) == 1)) || ready",
    ])
    func `an evaluation ends when its cost is used up`(source: String) throws {
        var environment = Fixture.environment
        environment.limits.cost = 100
        let program = try Expression(parsing: source).checked(in: environment)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values()) }
        #expect(error.code == .costExceeded)
        #expect(error.message == "the evaluation needs more than 100 steps, which is the limit")
    }

    @Test(arguments: [
        "state.name + state.name", "event.tags + event.tags", "bytes(state.name) + b'a'",
        "event.tags.map(x, x) + ['a']",
    ])
    func `a value that would be too large is an error, also beside a decisive operand`(source: String) throws {
        var environment = Fixture.environment
        environment.limits.valueSize = source.contains("tags") ? 2 : 6
        for source in [source, "size(\(source)) > 0 || ready"] {
            let program = try Expression(parsing: source).checked(in: environment)
            let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values()) }
            #expect(error.code == .valueTooLarge)
        }
    }

    @Test func `a result that would hold too much is an error, also if one part repeats`() throws {
        var environment = Fixture.environment
        environment.limits.resultSize = 10_000
        let text = Value.string(String(repeating: "x", count: 2_000))
        let nine = "[" + Array(repeating: "anything", count: 9).joined(separator: ", ") + "]"
        let four = try Expression(parsing: "[anything, anything, anything, anything]").checked(in: environment)
        #expect(try four.evaluate(Fixture.values(anything: text)).heldBytes > 8_000)
        let program = try Expression(parsing: nine).checked(in: environment)
        let error = try #require(throws: EvaluationError.self) {
            try program.evaluate(Fixture.values(anything: text))
        }
        #expect(error.code == .valueTooLarge)
        #expect(error.message == "the result would hold more than 10000 bytes, which is the limit")
        #expect(program.explain(Fixture.values(anything: text)).result == .failure(error))
        // A number holds no bytes, whatever its expression computed from.
        let size = try Expression(parsing: "\(nine).size()").checked(in: environment)
        #expect(try size.evaluate(Fixture.values(anything: text)) == .int(9))
    }

    @Test func `exponential growth ends at a limit while compiling and evaluating`() throws {
        let growth = "['ab']" + String(repeating: ".map(x, x + x)", count: 40)
        let constant = try Fixture.program(growth)
        #expect(constant.constant == nil)
        #expect(throws: EvaluationError.self) { try constant.evaluate(Fixture.values()) }
        let lists = "event.tags" + String(repeating: ".map(x, [x, x])", count: 5) + ".size()"
        #expect(try Fixture.program(lists).evaluate(Fixture.values()) == .int(2))
    }
}
