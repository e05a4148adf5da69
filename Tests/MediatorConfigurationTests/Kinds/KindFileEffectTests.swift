import CommonExpression
import MediatorConfiguration
import Testing

extension `A file of kinds` {
    @Test(arguments: [
        ValueType.dyn, .bytes, .map(key: .int, value: .string), .list(.bytes),
        .structure(StructureType(name: "", fields: [.init(name: "content-type", type: .string)])),
    ])
    func `a parameter is of a type that a configuration has words for`(type: ValueType) {
        let effect = EffectSchema(name: "e", parameters: [.init(name: "p", type: type)])
        #expect(effect.flaws.contains { $0.contains("'p' is of a type for which a configuration has no words") })
    }

    @Test(
        arguments: [
            (
                [.init(name: "p", type: .string, constraint: .whole(1...2))],
                "'p' has a constraint that says nothing of its type, string"
            ),
            (
                [.init(name: "p", type: .list(.string), constraint: .host)],
                "'p' has a constraint that says nothing of its type, list(string)"
            ),
            ([.init(name: "p", type: .uint, default: .uint(9), constraint: .whole(1...2))], "9u: must be from 1 to 2"),
            ([.init(name: "p", type: .double, default: .double(.nan))], ": must be a finite number"),
            ([.init(name: "p", type: .string, default: .string(""), allowsEmpty: false)], "must not be empty"),
            ([.init(name: "p", type: .string, default: .string("c"), choices: ["a", "b"])], "must be one of 'a', 'b'"),
            ([.init(name: "p", type: .string, upperBound: "p")], "has a bound, 'p', that it cannot be compared with"),
            (
                [.init(name: "p", type: .int, upperBound: "q"), .init(name: "q", type: .double)],
                "has a bound, 'q', that it cannot be compared with"
            ),
            (
                [
                    .init(name: "p", type: .int, default: .int(5), upperBound: "q"),
                    .init(name: "q", type: .int, default: .int(4)),
                ], "its defaults do not go together: the parameter 'p' must not exceed 'q'"
            ),
        ] as [([EffectSchema.Parameter], String)])
    func `what a parameter cannot be is said when it is declared`(parameters: [EffectSchema.Parameter], flaw: String) {
        let effect = EffectSchema(name: "e", parameters: parameters)
        #expect(effect.flaws.count == 1 && effect.flaws.allSatisfy { $0.contains(flaw) }, "\(effect.flaws)")
    }

    @Test func `a short form is not written as the parameters are`() {
        let type = ValueType.structure(StructureType(name: "", fields: [.init(name: "a", type: .int)]))
        let effect = EffectSchema(name: "e", parameters: [.init(name: "p", type: type)], shortForm: "p")
        #expect(effect.flaws == ["its short form, 'p', is written as a mapping, as its parameters are"])
    }

    @Test func `side effects and outcomes do not share a name`() {
        let result = StructureType(name: "result", fields: [])
        func clashes(_ name: String, _ outcome: String) -> [String] {
            let effect = EffectSchema(name: name, outcomes: [.init(name: outcome, result: result)])
            return EffectSchema.clashes(of: [effect], with: EffectSchema.builtin)
        }
        #expect(clashes("e", "onDone") == [])
        #expect(clashes("e", "run") == ["the side effect 'e': the outcome 'run' has the name of a side effect"])
        #expect(clashes("onSuccess", "onDone") == ["the side effect 'onSuccess' has the name of an outcome"])
        let file = #"{"kinds":[],"effects":[{"name":"e","outcomes":[{"name":"run"}]}]}"#
        #expect {
            try KindFile(json: Array(file.utf8))
        } throws: {
            "\($0)".contains("the outcome 'run' has the name of a side effect")
        }
    }

    @Test(arguments: [
        (#""whole""#, "'whole' is without its limits"),
        (#"{"whole":[1,2],"text":3}"#, "only one thing can be asked of a parameter"),
        (#"{"whole":[1,1e30]}"#, "constraint.whole[1]: a whole number is expected"),
    ])
    func `a demand that is half written is none that a newer daemon has`(constraint: String, problem: String) {
        let text =
            #"{"kinds":[],"effects":[{"name":"e","parameters":[{"name":"p","type":"int","constraint":"# + constraint
            + "}]}]}"
        #expect {
            try KindFile(json: Array(text.utf8))
        } throws: {
            "\($0)".contains(problem)
        }
    }

    @Test(
        arguments: [
            ("{ q: 1 }", "a.yaml:5:39", "must not exceed 'q'", "'p' is 5 where it is not written"),
            ("{ p: 7, q: 6 }", "a.yaml:5:39", "must not exceed 'q'", nil), ("{ q: 5 }", nil, "", nil),
            ("{ p: 1, q: 1 }", nil, "", nil),
        ] as [(String, String?, String, String?)])
    func `a default that does not go with what is written is told there`(
        arguments: String, place: String?, message: String, hint: String?
    ) {
        let effect = EffectSchema(
            name: "e",
            parameters: [
                .init(name: "p", type: .int, default: .int(5), upperBound: "q"), .init(name: "q", type: .int),
            ])
        let text = """
            system: s
            states: { A: {} }
            initialState: A
            feedbacks:
              f: { onState: A, every: 1s, e: \(arguments) }
            """
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], effects: EffectSchema.builtin + [effect])
        #expect((result.graph?.systems.count == 1) == (place == nil), "\(result.diagnostics)")
        let errors = result.diagnostics.filter { $0.severity == .error }
        #expect(errors.count == (place == nil ? 0 : 1))
        for error in errors {
            #expect(error.rendered().contains(place ?? ""), "\(error.rendered())")
            #expect(error.message.contains(message))
            #expect(error.hint == hint)
        }
    }

    @Test func `no time at all is out of a range as any other is`() {
        let effect = EffectSchema(
            name: "e",
            parameters: [.init(name: "wait", type: .duration, constraint: .time(.seconds(2)...(.seconds(60))))])
        for (wait, message) in [("0s", "from 2s to 1m"), ("1s", "from 2s to 1m"), ("2s", nil)] {
            let text =
                "system: s\nstates: { A: {} }\ninitialState: A\nfeedbacks: { f: { onState: A, e: { wait: \(wait) } } }\n"
            let result = ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)], effects: EffectSchema.builtin + [effect])
            let errors = result.diagnostics.filter { $0.severity == .error }
            #expect(errors.count == (message == nil ? 0 : 1), "\(errors)")
            #expect(errors.allSatisfy { $0.rendered().contains(message ?? "") }, "\(errors.map { $0.rendered() })")
        }
    }

    @Test(
        arguments: [
            (.whole(2...(.max)), .int(1), "must be at least 2"), (.whole(.min...2), .int(3), "must be at most 2"),
            (.number(0...(.infinity)), .double(-1), "must be at least 0.0"),
            (.time(.seconds(1)...(.seconds(Int64.max))), TimeSpan(.zero).map { .duration($0) }, "must be at least 1s"),
            (
                .time(.milliseconds(1_500)...(.seconds(90))), TimeSpan(.zero).map { .duration($0) },
                "must be from 1.5s to 1m30s"
            ),
        ] as [(EffectSchema.Parameter.Constraint, Value?, String)])
    func `a range with one end is told as such`(
        constraint: EffectSchema.Parameter.Constraint, value: Value?, message: String
    ) throws {
        #expect(constraint.problem(with: try #require(value)) == message)
    }
}
