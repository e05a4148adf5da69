import MediatorConfiguration
import Testing

@Suite struct `Access rules` {
    @Test(arguments: [
        ("a", "a", true), ("a", "b", false), ("a", "ab", false), ("a", "", false), ("*", "", true), ("*", "x", true),
        ("ups*", "ups", true), ("ups*", "ups-1", true), ("ups*", "pups", false), ("*ups", "pups", true),
        ("*ups", "upsa", false), ("a*b*c", "abc", true), ("a*b*c", "axxbyybzzc", true), ("a*b*c", "axxcyyb", false),
        ("**", "anything", true), ("a**b", "ab", true), ("net@*", "net@eth0:1", true), ("net@*", "net", false),
        ("*a*a*a*b", String(repeating: "a", count: 128), false),
    ])
    func `a pattern matches`(pattern: String, name: String, matches: Bool) {
        #expect(NamePattern(pattern).matches(name) == matches)
    }

    @Test func `grants of all files and documents add up`() throws {
        let result = ConfigurationCompiler.compile(files: [
            ConfigurationFile(
                path: "a.yaml",
                text:
                    "access: { read: { groups: adm }, administer: { users: [1000] } }\n---\naccess: { read: { users: bob } }\n"
            ),
            ConfigurationFile(
                path: "b.yaml", text: "access: { inject: [{ groups: ops }, { users: x, systems: [] }] }\n"),
        ])
        #expect(result.diagnostics.map(\.code) == [.empty])
        let fixed = ConfigurationCompiler.compile(files: [
            ConfigurationFile(
                path: "a.yaml",
                text:
                    "access: { read: { groups: adm }, administer: { users: [1000] } }\n---\naccess: { read: { users: bob } }\n"
            ),
            ConfigurationFile(path: "b.yaml", text: "access: { inject: [{ groups: ops }] }\n"),
        ])
        let grants = try #require(fixed.graph?.access.grants)
        #expect(
            grants.map { "\($0.right) \($0.users.map(\.text)) \($0.groups.map(\.text)) \($0.source)" } == [
                #"read [] ["adm"] a.yaml:1:11"#, #"administer ["1000"] [] a.yaml:1:34"#,
                #"read ["bob"] [] a.yaml:3:11"#, #"inject [] ["ops"] b.yaml:1:20"#,
            ])
    }

    @Test(arguments: [
        ("", "", ""),
        ("read: { groups: [a, b] }", "read: [{ groups: b }, { groups: a }]", ""),
        (
            "read: { groups: adm }", "inject: { users: [alice, \"*\"], systems: [\"ups*\", door], buses: power }",
            "now: everybody may inject into door ups* and on power, user alice may inject into door ups* and on power; "
                + "no longer: members of adm may read"
        ),
        ("administer: { users: [1000] }", "", "no longer: user 1000 may administer"),
        (
            "", "read: { users: [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9] }",
            "now: " + (0...7).map { "user a\($0) may read" }.joined(separator: ", ") + ", and 2 more"
        ),
    ])
    func `a difference is told by who may do what`(old: String, new: String, difference: String) throws {
        func rules(_ text: String) throws -> AccessRules {
            let whole = """
                buses: { power: { kind: passthrough, value: int, fromOutside: both } }
                ---
                system: door
                states: { A: {} }
                events: { E: {} }
                fromOutside: any
                initialState: A
                transitions: { A: { E: stay } }

                """ + (text.isEmpty ? "" : "---\naccess: { \(text) }\n")
            return try #require(compile(whole).graph?.access)
        }
        #expect(try rules(new).difference(from: rules(old)) == difference)
    }

    @Test func `what is written elsewhere or otherwise means the same`() throws {
        func rules(_ text: String) throws -> AccessRules {
            try #require(compile(text).graph?.access)
        }
        let rules = try rules("access: { read: [{ groups: [a, b] }, { users: c }] }\n")
        #expect(try rules.means(self.rules("# x\naccess:\n  read:\n  - users: [c]\n  - groups: [b, 'a']\n")))
        #expect(try !rules.means(self.rules("access: { read: [{ groups: [a] }, { users: c }] }\n")))
        #expect(try !rules.means(self.rules("access: { inject: [{ groups: [a, b] }, { users: c }] }\n")))
    }

    private func rules(_ text: String) throws -> AccessRules { try #require(compile(text).graph?.access) }

    @Test func `a drop-in adds, changes and takes away`() throws {
        var file = ConfigurationFile(
            path: "a.yaml",
            text: "access: { read: { groups: [adm] }, inject: { users: [x] }, administer: { groups: wheel } }\n")
        file.dropIns = [
            ConfigurationFile(
                path: "a.yaml.d/1.yaml",
                text: "access: { read: { users: [bob] }, inject: { users: [y] }, administer: null }\n")
        ]
        let result = ConfigurationCompiler.compile(files: [file])
        #expect(result.diagnostics.isEmpty)
        let grants = try #require(result.graph?.access.grants)
        #expect(
            grants.map { "\($0.right) \($0.users.map(\.text)) \($0.groups.map(\.text))" } == [
                #"read ["bob"] ["adm"]"#, #"inject ["y"] []"#,
            ])
    }

    @Test func `too many names are an error`() {
        let names = (0...AccessRules.limit).map { "u\($0)" }.joined(separator: ", ")
        let result = compile("access: { read: { users: [\(names)] } }\n")
        #expect(result.diagnostics.map(\.code) == [.tooLarge])
    }

    private static let wiring = "buses: { power: { kind: passthrough, value: int, fromOutside: both } }\n---\n"

    @Test(arguments: [
        ("access: [adm]", "1:9: error: 'access' must be a mapping, not a list [wrong-shape]"),
        ("access: { raed: { groups: adm } }", "1:11: error: 'access' has no key 'raed' [unknown-key]"),
        (
            "access: { read: adm }",
            "1:17: error: 'read' must be a mapping or a list of mappings, not a single value [wrong-shape]"
        ),
        ("access: { read: [] }", "1:17: error: 'read' grants nothing [empty]"),
        ("access: { read: {} }", "1:11: error: 'read' needs 'users' or 'groups' [missing-key]"),
        ("access: { read: { groups: [] } }", "1:27: error: 'groups' names none [empty]"),
        ("access: { read: { users: a, buses: x } }", "1:29: error: 'read' has no key 'buses' [unknown-key]"),
        ("access: { read: { user: a } }", "1:19: error: 'read' has no key 'user' [unknown-key]"),
        (
            "access: { read: { users: 4294967295 } }",
            "1:26: error: the number of a user is from 0 to 4294967294, not 4294967295 [out-of-range]"
        ),
        ("access: { read: { users: 'a b' } }", "1:26: error: 'a b' cannot name a user [invalid-name]"),
        ("access: { read: { groups: '*' } }", "1:27: error: '*' cannot name a group [invalid-name]"),
        (
            "access: { read: { groups: { a: b } } }",
            "1:27: error: 'groups' must be a single value, not a mapping [wrong-shape]"
        ),
        (
            "access: { inject: { users: a, systems: ['u p'] } }",
            "1:41: error: 'u p' is no pattern of the names of systems [invalid-name]"
        ),
        ("access: { inject: { users: a, systems: [ups] } }", "1:41: error: there is no system 'ups' [unknown-system]"),
        ("access: { inject: { users: a, buses: powr } }", "1:38: error: there is no bus 'powr' [unknown-bus]"),
        (
            "access: { inject: { users: a, buses: 'x*' } }",
            "1:38: warning: the name of no bus is of the pattern 'x*' [moot]"
        ),
    ])
    func `a mistake gives one message`(text: String, message: String) {
        let result = compile(text + "\n---\n" + Self.wiring)
        let found = result.partial.map { $0.rendered().split(separator: "\n").first.map(String.init) ?? "" }
        #expect(found == ["a.yaml:\(message)"])
    }
}
