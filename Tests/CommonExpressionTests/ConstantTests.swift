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

    @Test func `what reads only constants is one`() throws {
        let program = try Expression(parsing: "parameters.interface + '/' + instance").checked(in: Self.environment)
        #expect(program.constant == .string("eth0/one"))
        #expect(program.references.isEmpty)
        let text = try Template(parsing: "${instance} at ${parameters.limit}").checked(in: Self.environment)
        #expect(text.constant == .string("one at 3"))
    }

    @Test func `beside variables they take no slot`() throws {
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
}
