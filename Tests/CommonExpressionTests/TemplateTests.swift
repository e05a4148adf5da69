import CommonExpression
import Testing

@Suite("Templates")
struct TemplateTests {
    private func problems(_ source: String, expecting: ValueType = .dyn) -> [String] {
        do throws(Problems) {
            _ = try Template(parsing: source).checked(in: Fixture.environment, expecting: expecting)
            return []
        } catch {
            return error.problems.map { "\($0.code) \($0.range.start)..<\($0.range.end) \($0.message)" }
        }
    }

    @Test(arguments: [
        ("${count}", Value.int(2)), ("${ event.tags }", .list([.string("a"), .string("b")])),
        ("${count} ", .string("2 ")),
        ("${state.name}: ${count + 1} at ${now}", .string("uplink: 3 at 2026-11-21T10:05:00Z")),
        ("${1}${2}", .string("12")),
        (#"${"}"} ${{"a": {"b": "}"}}["a"].b}"#, .string("} }")), ("${[1, 2].map(x, {'k': x})[1].k}", .int(2)),
        ("${'a' // }\n}", .string("a")), ("${state.load} ${ready} ${event.size}", .string("0.5 true 7")),
        ("${anything}!", .string("5!")),
    ])
    func `a lone expression keeps its type, others become text`(source: String, value: Value) throws {
        let program = try Template(parsing: source).checked(in: Fixture.environment)
        #expect(try program.evaluate(Fixture.values()) == value)
        #expect(program.type.accepts(value))
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("$${x}", "${x}"), ("a $ b $$ c { } $", "a $ b $$ c { } $"), ("$$${x}", "$${x}"),
        ("é$${", "é${"),
    ])
    func `text without expressions is literal`(source: String, text: String) throws {
        let template = try Template(parsing: source)
        #expect(template.isLiteral)
        #expect(template.literalText == text)
        let program = try template.checked(in: Environment(), expecting: .string)
        #expect(program.constant == .string(text))
        #expect(try program.evaluate([]) == .string(text))
    }

    @Test(arguments: [
        ("abc ${count", "syntax 4..<6 '${' is not closed with '}'; a literal '${' is written '$${'"),
        ("a ${ {1: 2} ", "syntax 2..<4 '${' is not closed with '}'; a literal '${' is written '$${'"),
        (
            "${'x} y",
            "syntax 2..<7 the string is not closed with '; a string over several lines is written between three quotes"
        ),
        ("a ${}", "syntax 4..<4 an expression is missing here"),
        ("é ${1 +} b", "syntax 8..<8 expected a value, but the expression ends here"),
        ("x ${state.nam}", "unknownField 10..<13 'state' (Degraded) has no field 'nam'; did you mean 'name'?"),
        (
            "x ${event.tags}",
            "noOverload 4..<14 list(string) cannot become text; string() takes bool, int, uint, double, string, bytes, timestamp and duration"
        ),
    ])
    func `problems have offsets into the whole text`(source: String, problem: String) {
        #expect(problems(source) == [problem])
    }

    @Test func `the problems of all expressions are reported at once`() {
        #expect(problems("${xyz} and ${count + 'a'} and ${1 2}").count == 1)
        #expect(problems("${xyz} and ${count + 'a'}").map { $0.prefix(10) } == ["unknownVar", "noOverload"])
        #expect(problems("${1 +} and ${2 *}").count == 2)
    }

    @Test func `a lone expression and a text must have the expected type`() {
        #expect(problems("${count}", expecting: .int).isEmpty)
        #expect(
            problems("${count}", expecting: .double) == [
                "typeMismatch 2..<7 the result is int, but double is needed; convert it with double(count)"
            ])
        #expect(
            problems("${count}s", expecting: .int) == [
                "typeMismatch 0..<9 the text is a string, but int is needed; a lone ${…} keeps its type"
            ])
        #expect(problems("5", expecting: .int).count == 1)
    }

    @Test func `references and constants span all expressions`() throws {
        let program = try Template(parsing: "${count} ${state.name}").checked(in: Fixture.environment)
        #expect(program.references == [["count"], ["state", "name"]])
        #expect(program.constant == nil)
        #expect(try Template(parsing: "a${1 + 1}b").checked(in: Environment()).constant == .string("a2b"))
    }

    @Test func `a value without text fails at evaluation`() throws {
        let program = try Template(parsing: "x ${anything}").checked(in: Fixture.environment)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values(anything: .null)) }
        #expect(error.code == .noSuchOverload)
        #expect(error.range == SourceRange(start: 4, end: 12))
    }

    @Test func `the limit for sizes applies to the text`() throws {
        var environment = Fixture.environment
        environment.limits.valueSize = 10
        let program = try Template(parsing: "${state.name}${state.name}").checked(in: environment)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values()) }
        #expect(error.code == .valueTooLarge)
    }
}
