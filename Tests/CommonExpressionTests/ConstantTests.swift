import CommonExpression
import Testing

@Suite struct `Constants of an environment` {
    private static let type = StructureType(
        name: "parameters", fields: [.init(name: "interface", type: .string), .init(name: "limit", type: .int)])

    private static var environment: Environment {
        let value = Value.structure(Structure(type: type, fields: [.string("eth0"), .int(3)]))
        var environment = Environment(variables: [.init(name: "state", type: .int)])
        environment.constants = [
            .init(name: "instance", type: .string, value: .string("one")),
            .init(name: "parameters", type: .structure(type), value: value),
        ]
        return environment
    }

    @Test func `an expression that reads only constants is a constant`() throws {
        let program = try Expression(parsing: "parameters.interface + '/' + instance").checked(in: Self.environment)
        #expect(program.constant == .string("eth0/one"))
        #expect(program.references.isEmpty)
        let text = try Template(parsing: "${instance} at ${parameters.limit}").checked(in: Self.environment)
        #expect(text.constant == .string("one at 3"))
    }

    @Test func `constants take no slot of variables`() throws {
        let program = try Expression(parsing: "state < parameters.limit").checked(in: Self.environment)
        #expect(program.constant == nil)
        #expect(program.references == [["state"]])
        #expect(try program.evaluateBool([.int(2)]))
        #expect(try !program.evaluateBool([.int(3)]))
    }

    @Test func `their fields and types are checked`() throws {
        let problems = #expect(throws: Problems.self) {
            try Expression(parsing: "parameters.intreface == 3").checked(in: Self.environment)
        }
        #expect(problems?.problems.first?.suggestion == "interface")
        #expect(throws: Problems.self) {
            try Expression(parsing: "parameters.interface == 3").checked(in: Self.environment)
        }
        let misspelt = #expect(throws: Problems.self) {
            try Expression(parsing: "instanse").checked(in: Self.environment)
        }
        #expect(misspelt?.problems.first?.suggestion == "instance")
    }

    @Test func `a variable, and a variable of a macro, hide one of the same name`() throws {
        var environment = Self.environment
        environment.variables.append(.init(name: "instance", type: .int))
        let program = try Expression(parsing: "instance + 1").checked(in: environment)
        #expect(try program.evaluate([.int(0), .int(4)]) == .int(5))
        let macro = try Expression(parsing: "[1].map(instance, instance + 1)").checked(in: Self.environment)
        #expect(macro.constant == .list([.int(2)]))
    }

    @Test(
        arguments: [
            ("state > 0 && int('x') == 1", "\"x\" is not an int", "int('x')"),
            ("duration(\"5 min\") > duration('1s')", "\"5 min\" is not a duration", "duration(\"5 min\")"),
            ("[1, [2, 3][2]].size() == state", "the index 2 is out of range for a list of 2", "[2, 3][2]"),
            ("state + 9223372036854775807 * 2", "out of range", "9223372036854775807 * 2"),
            ("state / 0 + int('x')", "state / 0: division by zero", "state / 0"),
            ("state > 1 / (2 - 2) ? 1 : 2", "1 / 0: division by zero", "1 / (2 - 2)"),
            ("[1, 2].map(i, i + int('x')).size()", "\"x\" is not an int", "int('x')"),
            ("{'a': 1}['b'] == 1", "the map has no key \"b\"", "{'a': 1}['b']"),
        ])
    func `certain failures are known before evaluation`(text: String, message: String, part: String) throws {
        let failure = try #require(try Expression(parsing: text).certainFailures.first)
        #expect(failure.message.contains(message), "\(failure.message)")
        let bytes = Array(text.utf8)[failure.range.start..<failure.range.end]
        #expect(String(decoding: bytes, as: UTF8.self) == part)
        let template = "a ${1} b ${\(text)}"
        let again = try #require(try Template(parsing: template).certainFailures.first)
        #expect(again.message == failure.message)
        #expect(String(decoding: Array(template.utf8)[again.range.start..<again.range.end], as: UTF8.self) == part)
    }

    @Test(
        arguments: [
            "state / 2 + int('7')", "duration('1h') > duration('1m')", "1.0 / 0.0 > 1.0", "[1, 2][1] == state", "-5",
            // Evaluation takes long.
            "'\(String(repeating: "a", count: 900))'.replace('a', '\(String(repeating: "b", count: 900))').size() / 0.0 > 1.0",
            // The checker reports these.
            "int([1]) == 1", "unknown('x')", "other + 1", "size(1, 2)",
        ])
    func `parts with a value and parts for the checker are not reported`(text: String) throws {
        #expect(try Expression(parsing: text).certainFailures.isEmpty)
    }
}
