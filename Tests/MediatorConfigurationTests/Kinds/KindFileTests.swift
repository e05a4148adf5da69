import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `A file of kinds` {
    @Test func `says everything there is to know of them`() throws {
        #expect(try KindFile(json: Array(KindFile(sampleKinds).json().utf8)) == KindFile(sampleKinds))
    }

    @Test func `keeps times and lengths of time`() throws {
        let time = try #require(Timestamp(rfc3339: "2026-11-21T10:00:00Z"))
        let span = try #require(TimeSpan(text: "1.5s"))
        let inner = StructureType(
            name: "", fields: [.init(name: "at", type: .timestamp), .init(name: "n", type: .double)])
        let kind = SystemKind(
            name: "k",
            parameters: [
                .init(field: .init(name: "a", type: .duration), default: .duration(span)),
                .init(field: .init(name: "b", type: .optional(.int)), default: .optional(nil)),
                .init(
                    field: .init(name: "c", type: .list(.structure(inner))),
                    default: .list([.structure(Structure(type: inner, fields: [.timestamp(time), .double(2)]))])),
                .init(
                    field: .init(name: "d", type: .map(key: .string, value: .uint)),
                    default: .map([.string("x"): .uint(3)])),
            ], states: [.init(name: "S")])
        #expect(try KindFile(json: Array(KindFile([kind]).json().utf8)).kinds == [kind])
    }

    @Test func `has side effects as they are`() throws {
        let effects = EffectSchema.builtin.filter { !$0.emitsDirectly && !$0.publishesDirectly }.map {
            $0.renamed("own")
        }
        let range = EffectSchema.Parameter(name: "share", type: .double, constraint: .number(0.5...2))
        let file = KindFile(sampleKinds, effects: effects + [EffectSchema(name: "last", parameters: [range])])
        let text = try file.json()
        let read = try KindFile(json: Array(text.utf8))
        #expect(read == file)
        #expect(read.effects.count > 15)
        // And once more the same text.
        #expect(try read.json() == text)
    }

    @Test func `says of a result without words only that there is one`() throws {
        let point = StructureType(
            name: "point", fields: [.init(name: "x", type: .int), .init(name: "of", type: .bytes)])
        let odd = StructureType(name: "odd", fields: [.init(name: "content-type", type: .string)])
        let deep = (0..<12).reduce(ValueType.int) { type, _ in .list(type) }
        let result = StructureType(
            name: "result",
            fields: [
                .init(name: "raw", type: .bytes), .init(name: "points", type: .list(.structure(point))),
                .init(name: "odd", type: .structure(odd)), .init(name: "deep", type: deep),
            ])
        let effect = EffectSchema(name: "e", outcomes: [.init(name: "onDone", result: result)])
        let read = try #require(try KindFile(json: Array(KindFile([], effects: [effect]).json().utf8)).effects.first)
        #expect(
            read.outcomes.first?.result.fields.map { "\($0.name): \($0.type)" } == [
                "raw: bytes", "points: list({ x: int, of: bytes })", "odd: dyn", "deep: dyn",
            ])
    }

    @Test func `bounds that are none stay none`() throws {
        let parameters: [EffectSchema.Parameter] = [
            .init(name: "a", type: .double, constraint: .number(0...(.infinity))),
            .init(name: "b", type: .duration, constraint: .time(.seconds(1)...(.seconds(Int64.max)))),
            .init(name: "c", type: .duration, constraint: .time(.nanoseconds(1)...(.milliseconds(1_500)))),
        ]
        let file = KindFile([], effects: [EffectSchema(name: "e", parameters: parameters)])
        #expect(try KindFile(json: Array(file.json().utf8)) == file)
    }

    @Test func `what a newer daemon demands of a parameter is not looked at here`() throws {
        for constraint in [#""odd""#, #"{"odd":[1,2]}"#] {
            let text =
                #"{"kinds":[],"effects":[{"name":"e","parameters":[{"name":"p","type":"int","constraint":"#
                + constraint + "}]}]}"
            let read = try KindFile(json: Array(text.utf8))
            #expect(read.effects.first?.parameters.first?.constraint == nil)
        }
    }

    @Test func `a side effect that goes on and tells is for nothing without a rule, wherever it is told`() throws {
        let text = #"{"kinds":[],"effects":[{"name":"e","isLasting":true,"outcomes":[{"name":"onSeen"}]}]}"#
        #expect(try KindFile(json: Array(text.utf8)).effects.first?.onlyTells == true)
    }

    @Test func `a daemon has not more side effects of its own than a schema can tell`() throws {
        func text(_ count: Int) -> String {
            #"{"kinds":[],"effects":["# + (0..<count).map { #"{"name":"e\#($0)"}"# }.joined(separator: ",") + "]}"
        }
        #expect(try KindFile(json: Array(text(128).utf8)).effects.count == 128)
        let error = #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(text(129).utf8)) }
        #expect(error?.description == "it has more than 128 side effects")
    }

    @Test(arguments: [
        (#"{"name":"run"}"#, "every daemon has a side effect 'run'"),
        (#"{"name":"a b"}"#, "the side effect 'a b': 'a b' cannot name a side effect"),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"number"}]}"#,
            "effects[0].parameters[0].type: there is no type 'number'"
        ),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"int","default":"x"}]}"#,
            "effects[0].parameters[0].default: it is not of type int"
        ),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"dyn"}]}"#,
            "effects[0].parameters[0].type: there is no type 'dyn'"
        ),
        (#"{"name":"a","isProbe":true}"#, "it counts successes and failures, and has not what withThresholds() adds"),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"int","companion":"q"}]}"#,
            "has a companion, 'q', that is no parameter"
        ),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"int","constraint":{"whole":[2,1]}}]}"#,
            "of a range the lesser bound comes first"
        ),
        (
            #"{"name":"a","parameters":[{"name":"p","type":"duration","constraint":{"time":["1h","x"]}}]}"#,
            "'x' is no length of time"
        ),
        (#"{"name":"a","shortForm":"p"}"#, "it speaks of the parameter 'p', which there is not"),
        (
            #"{"name":"a","outcomes":[{"name":"onDone","result":[{"name":"x"}]}]}"#,
            "effects[0].outcomes[0].result[0].type is missing"
        ),
    ])
    func `is refused where a side effect is wrong`(effect: String, message: String) {
        let text = #"{"kinds":[],"effects":["# + effect + "]}"
        let error = #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(text.utf8)) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ("", "it is not valid JSON, at line 1, column 1"), ("{}", "kinds is missing"),
        (
            #"{"version":2,"systems":[]}"#,
            "it is of version 2, and only version 1 is known here; take the mediatorctl of"
        ),
        (#"{"version":"x","kinds":[]}"#, "version: a number is expected"),
        (#"{"version":1.5,"kinds":[]}"#, "it is of version 1.5, and only"),
        (#"{"version":99999999999999999999,"kinds":[]}"#, "it is of version 1e+20, and only"),
        (#"{"kinds":{}}"#, "kinds: a list is expected"), (#"{"kinds":["a"]}"#, "kinds[0]: an object is expected"),
        (#"{"kinds":[{"name":1,"states":[]}]}"#, "kinds[0].name: a text is expected"),
        (#"{"kinds":[{"name":null,"states":[]}]}"#, "kinds[0].name: a text is expected"),
        ("[]", "the file: an object is expected"),
        (
            #"{"kinds":[],"effects":[{"name":"e","isLasting":"yes"}]}"#,
            "effects[0].isLasting: true or false is expected"
        ),
        (#"{"kinds":[{"name":"a"}]}"#, "kinds[0].states is missing"),
        (#"{"kinds":[{"name":"a","states":[]}]}"#, "the kind 'a': it has no state"),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"number"}]}]}]}"#,
            "kinds[0].states[0].fields[0].type: there is no type 'number'"
        ),
        (#"{"kinds":[{"name":"a","states":[{"name":"any"}]}]}"#, "'any' cannot name a state"),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S"},{"name":"S"}]}]}"#, "two states have the name 'S'"
        ),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S"}]},{"name":"a","states":[{"name":"S"}]}]}"#,
            "two kinds have the name 'a'"
        ),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"int","choices":["a"]}]}]}]}"#,
            "what the field 'x' must be does not fit its type int"
        ),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"int","minimum":2,"maximum":1}]}]}]}"#,
            "kinds[0].states[0].fields[0].maximum: it is less than the minimum"
        ),
        (
            #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"string","format":"url"}]}]}]}"#,
            "kinds[0].states[0].fields[0].format: there is no format 'url'"
        ),
        (
            #"{"kinds":[{"name":"a","parameters":[{"name":"p","type":"int","default":"x"}],"states":[{"name":"S"}]}]}"#,
            "kinds[0].parameters[0].default: it is not of type int"
        ),
    ])
    func `is refused where it is wrong`(text: String, message: String) {
        let error = #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(text.utf8)) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ("", 1, 1), ("{", 1, 2), ("{\n \"kinds\": [1,, 2]\n}", 2, 14), ("{\"kinds\": []\n}}", 2, 2),
        ("{\"kinds\": [[], {}, \"a\\\"b\", -1.5e+3, true, nul]}", 1, 43), ("{\"kinds\" []}", 1, 10), ("[1 2]", 1, 4),
        ("[[] 2]", 1, 5),
        (String(repeating: "[", count: 1_000), 1, 129),
    ])
    func `is told where it is no JSON`(text: String, line: Int, column: Int) {
        let error = #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(text.utf8)) }
        let place = "it is not valid JSON, at line \(line), column \(column): "
        #expect(error?.description.hasPrefix(place) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: ["{ a: int", "list(", "list(int", "optional()", "map(int, int)", "{ a: int, a: int }", "int int"])
    func `has no other types than those of configurations`(text: String) {
        let json = #"{"kinds":[{"name":"a","states":[{"name":"S","fields":[{"name":"x","type":"\#(text)"}]}]}]}"#
        #expect(throws: KindFile.Failure.self) { try KindFile(json: Array(json.utf8)) }
    }
}

extension EffectSchema {
    /// The same by another name.
    fileprivate func renamed(_ prefix: String) -> EffectSchema {
        EffectSchema(
            name: prefix + name, summary: summary, parameters: parameters, shortForm: shortForm,
            exactlyOneOf: exactlyOneOf,
            outcomes: outcomes, emitsDirectly: emitsDirectly, isLasting: isLasting, isProbe: isProbe,
            onlyTells: onlyTells)
    }
}
