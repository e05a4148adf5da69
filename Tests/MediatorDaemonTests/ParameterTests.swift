import CommonExpression
import MediatorConfiguration
import MediatorControl
import MediatorDaemon
import Testing
import Varlink

@Suite struct `What an instance was given` {
    private static let place = StructureType(
        name: "", fields: [.init(name: "host", type: .string), .init(name: "key", type: .string)])
    private static let kind = SystemKind(
        name: "vault",
        parameters: [
            .init(field: .init(name: "flag", type: .bool), default: .bool(true)),
            .init(field: .init(name: "keys", type: .list(.string)), default: .list([])),
            .init(field: .init(name: "limit", type: .optional(.int))),
            .init(
                field: .init(name: "named", type: .map(key: .string, value: .string)), default: .map([:])),
            .init(field: .init(name: "open", type: .bool), default: .bool(true)),
            .init(field: .init(name: "place", type: .optional(.structure(place)))),
            .init(field: .init(name: "token", type: .string), default: .string("none")),
        ], states: [.init(name: "Shut")])

    /// The shown parameters of an instance, by name: the value, or that it is hidden.
    private func told(_ with: String, template: Bool = false) throws -> [String: String] {
        let values = ExternalValues(environment: { ["TOKEN": "s3cret", "EMPTY": "", "FLAG": "true", "LIMIT": "7"][$0] })
        let text =
            template
            ? "system: v@\nparameters: { token: string }\nkind: vault\nwith: \(with)\n---\ninstances: { v@a: { token: !env TOKEN } }\n"
            : "system: v\nkind: vault\nwith: \(with)\n"
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: [Self.kind], values: values)
        let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
        let instance = try #require(graph.systems.first?.kind)
        let told = Parameter.all(of: instance)
        #expect(told.map(\.name) == ["flag", "keys", "limit", "named", "open", "place", "token"])
        #expect(told.allSatisfy { !$0.isConcealed || $0.value == nil })
        return Dictionary(
            uniqueKeysWithValues: told.map {
                ($0.name, $0.isConcealed ? "concealed" : $0.value.map { "\($0)" } ?? "none")
            })
    }

    private let plain = [
        "flag": "true", "keys": "[]", "limit": "none", "named": "{}", "open": "true", "place": "none",
        "token": "\"none\"",
    ]

    @Test func `is told with what it is by default`() throws {
        #expect(try told("{}") == plain)
        let given = try told(
            "{ limit: 7, keys: [a], place: { host: x, key: y }, token: !env { name: NONE, default: d } }")
        #expect(given["limit"] == "7")
        #expect(given["keys"] == #"["a"]"#)
        #expect(given["place"] == #"{"host":"x","key":"y"}"#)
        #expect(given["token"] == #""d""#)
    }

    @Test(arguments: [
        ("{ token: !env TOKEN }", "token"), ("{ token: !env EMPTY }", "token"),
        ("{ token: !credential { name: t, default: \"\" } }", "token"),
        ("{ token: !credential { name: t, default: none } }", "token"), ("{ keys: [a, !env TOKEN] }", "keys"),
        ("{ named: { a: !env TOKEN } }", "named"), ("{ place: { host: x, key: !env TOKEN } }", "place"),
        // A value is shown if it is the same for another reason.
        ("{ flag: !env FLAG }", "flag"), ("{ limit: !env LIMIT }", "limit"),
    ])
    func `is not told where something comes from elsewhere`(with: String, concealed: String) throws {
        var expected = plain
        expected[concealed] = "concealed"
        #expect(try told(with) == expected)
    }

    @Test(arguments: [
        ("{ token: \"x-${parameters.token}\" }", "token"), ("{ keys: [\"${parameters.token}\"] }", "keys"),
        ("{ keys: \"${[parameters.token].filter(t, t == 'zz')}\" }", "keys"),
        ("{ named: \"${ {parameters.token: ''} }\" }", "named"), ("{ limit: \"${size(parameters.token)}\" }", "limit"),
    ])
    func `is not told where it is made of what comes from elsewhere`(with: String, concealed: String) throws {
        var expected = plain
        expected[concealed] = "concealed"
        #expect(try told(with, template: true) == expected)
    }
}
