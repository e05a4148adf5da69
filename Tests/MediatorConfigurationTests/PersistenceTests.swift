import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `What survives the end of the process` {
    private static let lamp = """
        system: lamp
        states: { Off: {}, On: {} }
        events: { Press: {} }
        fromOutside: Press
        initialState: Off
        feedbacks: { tell: { onState: On, log: lit } }
        transitions: { Off: { Press: On }, On: { Press: Off } }

        """
    private static let level = "buses: { level: { kind: currentValue, value: int, initial: 0, fromOutside: both } }\n"

    @Test(arguments: [
        ("", Persistence.none), ("persist: none\n", .none), ("persist: state\n", .state),
        ("---\nstore: { default: state }\n", .state), ("---\nstore: { default: none }\n", .none),
        ("persist: none\n---\nstore: { default: state }\n", .none),
        ("persist: state\n---\nstore: { default: none }\n", .state), ("---\nstore:\n", .none),
    ])
    func `is said by a system, or by the default`(text: String, expected: Persistence) throws {
        #expect(try system(Self.lamp + text).persistence == expected)
    }

    @Test(arguments: [
        ("", false), (", persist: false", false), (", persist: true", true),
    ])
    func `is said by a bus, or by the default`(key: String, isPersisted: Bool) throws {
        let text = Self.level.replacing("both }", with: "both\(key) }")
        #expect(try graph(text).buses.first?.isPersisted == isPersisted)
        let byDefault = try graph(text + "store: { default: state }\n").buses.first?.isPersisted
        #expect(byDefault == (key.isEmpty || isPersisted))
        #expect(try graph(text + "store: { default: none }\n").buses.first?.isPersisted == isPersisted)
    }

    @Test func `is nothing for a bus that remembers nothing`() throws {
        let text = "buses: { b: { kind: passthrough, value: int, fromOutside: both, persist: false } }\n"
        #expect(try graph(text + "store: { default: state }\n").buses.map(\.isPersisted) == [false])
        let wrong = compile(text.replacing("false", with: "\"true\"")).diagnostics
        #expect(wrong.map(\.hint) == ["write it without quotation marks"])
    }

    @Test func `is the same for all instances of a template`() throws {
        let text =
            Self.lamp.replacing("system: lamp", with: "system: lamp@")
            + "PERSIST---\ninstances: { lamp@a: {}, lamp@b: {} }\n"
        func found(_ key: String) throws -> [Persistence] {
            try graph(text.replacing("PERSIST", with: key)).systems.map(\.persistence)
        }
        #expect(try found("persist: state\n") == [.state, .state])
        #expect(try found("") == [.none, .none])
        #expect(compile(text.replacing("PERSIST", with: "")).diagnostics.map(\.code) == [.undecidedPersistence])
    }

    @Test func `is a change of the definition, and none of its feedbacks`() throws {
        let without = try system(Self.lamp)
        let with = try system(Self.lamp + "persist: state\n")
        let byDefault = try system(Self.lamp + "---\nstore: { default: state }\n")
        #expect(without.fingerprint == (try system(Self.lamp + "persist: none\n")).fingerprint)
        #expect(without.fingerprint != with.fingerprint)
        #expect(byDefault.fingerprint == with.fingerprint)
        for (old, new) in [(without, with), (with, without), (without, byDefault)] {
            let changes = new.changes(from: old)
            #expect(changes.map(\.part) == ["persist"] && changes.map(\.kind) == [.changed])
            #expect(changes.map(\.oldValue) == [old.persistence.rawValue])
            #expect(changes.map(\.newValue) == [new.persistence.rawValue])
            #expect(changes.map(\.old) == [old.source] && changes.map(\.new) == [new.source])
        }
        let more = try system(Self.lamp + "unhandled: fault\npersist: state\n")
        #expect(more.changes(from: without).map(\.part) == ["unhandled", "persist"])
        #expect(with.feedbacksUnchanged(since: without) == ["tell"])
        let buses = try ["", "store: { default: state }\n"].map { try #require(graph(Self.level + $0).buses.first) }
        #expect(buses[0].fingerprint != buses[1].fingerprint)
        let change = try #require(buses[1].changes(from: buses[0]).first)
        #expect(change.part == "persist" && change.oldValue == "false" && change.newValue == "true")
    }

    @Test func `follows the default also for what was compiled before`() {
        func compiled(_ store: String, _ parts: CompiledParts) -> CompilationResult {
            ConfigurationCompiler.compile(
                files: [
                    ConfigurationFile(path: "a.yaml", text: Self.lamp), ConfigurationFile(path: "b.yaml", text: store),
                ], effects: EffectSchema.builtin, values: .none, unreadable: [], now: nil, reusing: parts)
        }
        let first = compiled("store: { default: none }\n", CompiledParts())
        #expect(first.diagnostics.isEmpty)
        let second = compiled("store: { default: state }\n", first.parts)
        #expect(second.graph?.systems.map(\.persistence) == [.state])
        let third = compiled("# nothing\n", second.parts)
        #expect(third.graph?.systems.map(\.persistence) == [Persistence.none])
        #expect(third.diagnostics.map(\.code) == [.undecidedPersistence])
    }

    private static let transitions = "transitions: { Off: { Press: On }, On: { Press: Off } }"

    @Test(arguments: [
        // Nothing changes.
        (transitions, "transitions: { Off: { Press: stay }, On: { Press: stay } }"),
        (transitions, "transitions: { any: { Press: Off } }"),
        // The event does not come from outside.
        ("fromOutside: Press", "inputs: {}"),
        // A default decides.
        (transitions, transitions + "\n---\nstore: { default: none }"),
    ])
    func `is no question where nobody sets anything`(old: String, new: String) {
        let found = compile(Self.lamp.replacing(old, with: new)).diagnostics
        #expect(!found.contains { $0.code == .undecidedPersistence || $0.severity == .error }, "\(found)")
        #expect(compile(Self.lamp).diagnostics.map(\.code) == [.undecidedPersistence])
    }

    // Kinds

    /// A kind with a state whose field has some levels of lists.
    private static func kind(_ levels: Int) -> SystemKind {
        let type = (1..<levels).reduce(ValueType.int) { type, _ in .list(type) }
        return SystemKind(name: "deep", states: [.init(name: "Only", fields: [.init(name: "lists", type: type)])])
    }

    @Test func `a kind may be nested as deep as the store goes, and no deeper`() {
        let text = "system: well\nkind: deep\npersist: state\n"
        #expect(compile(text, kinds: [Self.kind(23)]).diagnostics == [])
        #expect(
            compile(text, kinds: [Self.kind(24)]).diagnostics.map { $0.rendered() } == [
                """
                a.yaml:1:9: error: 'well' cannot be stored: 'lists' of its state 'Only' is nested more than 24 levels deep [too-deep]
                  system: well
                          ^~~~
                  hint: write persist: none, or give the kind a flatter state
                """
            ])
        #expect(compile(text.replacing("state", with: "none"), kinds: [Self.kind(24)]).diagnostics == [])
        let byDefault = "system: well\nkind: deep\n---\nstore: { default: state }\n"
        #expect(compile(byDefault, kinds: [Self.kind(24)]).diagnostics.map(\.code) == [.tooDeep])
    }

    @Test func `a kind is persisted, and says so like others`() throws {
        #expect(try sampleDefinition(kitchenHead + "persist: state\n").persistence == .state)
        let open = kitchenHead + "fromOutside: Mute\n"
        #expect(compile(open, kinds: sampleKinds).diagnostics.map(\.code) == [.undecidedPersistence])
        #expect(compile(open + "persist: none\n", kinds: sampleKinds).diagnostics == [])
    }

    @Test func `a parameter from elsewhere is stored with a field of its name`() {
        func codes(_ parameters: String) -> [Diagnostic.Code] {
            let text = "system: kitchen\nkind: speaker\npersist: state\nwith: { \(parameters) }\n"
            return ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)], kinds: sampleKinds,
                values: ExternalValues(environment: { _ in "7" })
            ).diagnostics.map(\.code)
        }
        #expect(codes("target: 15, volume: !env VOLUME") == [.persistedSecret])
        #expect(codes("target: !env TARGET") == [])
    }
}
