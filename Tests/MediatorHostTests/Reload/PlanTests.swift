import CommonExpression
import MediatorConfiguration
import MediatorHost
import Testing

/// The graph of a configuration, given as files.
func graph(_ texts: String..., effects: [EffectSchema] = EffectSchema.builtin) throws -> Graph {
    let files = texts.enumerated().map { ConfigurationFile(path: "test\($0).yaml", text: $1) }
    let result = ConfigurationCompiler.compile(files: files, effects: effects)
    for diagnostic in result.diagnostics where diagnostic.severity == .error {
        Issue.record("\(diagnostic.rendered())")
    }
    return try #require(result.graph)
}

extension Plan {
    /// The same plan without the changes within definitions.
    var withoutChanges: Plan {
        var plan = self
        for index in plan.systems.indices { plan.systems[index].changes = [] }
        for index in plan.buses.indices { plan.buses[index].changes = [] }
        for index in plan.links.indices { plan.links[index].changes = [] }
        return plan
    }
}

private let lamp = """
    system: lamp
    description: A lamp.
    states: { Off: {}, On: { left: int, note: string } }
    events: { Press: {}, Expire: { early: bool } }
    fromOutside: any
    initialState: Off
    mailbox: { limit: 5 }
    feedbacks:
      expire: { onState: On, after: 60s, emit: { Expire: { early: false } } }
      tell: { onState: Off, log: "off" }
    transitions:
      Off:
        Press: { to: On, set: { left: 30, note: "new" } }
        Expire: stay
      On:
        Expire:
          - { when: event.early, to: Off }
          - { to: On, set: { left: 1, note: x } }

    """

private let wiring = """
    buses:
      level: { kind: currentValue, value: int, initial: 0 }
      news: { kind: passthrough, value: { a: int, b: string }, fromOutside: both }
    links:
      up: { attach: lamp, onState: { On: { note: x } }, to: level, emitValue: "${state.left}" }
      down: { attach: lamp, to: level, when: value > 3, emitEvent: Press }

    """

@Suite struct `A fingerprint` {
    @Test(arguments: [
        // Places, comments, descriptions.
        (from: "system: lamp\n", to: "# A comment.\n\nsystem: lamp   # another\n"),
        (from: "A lamp.", to: "Another text."),
        // Key order.
        (from: "states: { Off: {}, On: ", to: "states: { On: "),
        (from: "events: { Press: {}, Expire: { early: bool } }", to: "events: { Expire: { early: bool }, Press: {} }"),
        (from: "{ to: On, set: { left: 30, note: \"new\" } }", to: "{ set: { note: \"new\", left: 30 }, to: On }"),
        // Quotes.
        (from: "note: \"new\"", to: "note: 'new'"),
        (from: "note: x", to: "note: \"x\""),
    ])
    func `is the same for what means the same`(from: String, to: String) throws {
        var text = lamp.replacing(from, with: to)
        if from.hasPrefix("states") {
            text = text.replacing("note: string } }", with: "note: string }, Off: {} }")
        }
        #expect(text != lamp)
        let plan = Plan(from: try graph(lamp, wiring), to: try graph(text, wiring))
        #expect(plan.isEmpty, "\(plan)")
    }

    @Test(arguments: [
        (from: "left: 30", to: "left: 31"),
        (from: "after: 60s", to: "after: 61s"),
        (from: "early: false", to: "early: true"),
        (from: "limit: 5", to: "limit: 6"),
        (from: "when: event.early", to: "when: \"!event.early\""),
        (from: "initialState: Off", to: "initialState: Off\nunhandled: warn"),
        (from: "initialState: Off", to: "initialState: Off\nready: Off"),
        (from: "initialState: Off", to: "initialState: Off\nhealth: { Off: degraded }"),
        (from: "log: \"off\"", to: "log: \"of\""),
        (from: "Expire: stay", to: "Expire: Off"),
        (from: "onState: On, after", to: "onState: On, strategy: continueOnNewState, after"),
        (from: "onState: On, after", to: "onState: On, strategy: continueOnNewState, mode: single, after"),
        (from: "onState: On, after", to: "onState: On, strategy: continueOnNewState, limit: 2, after"),
    ])
    func `differs for what means something else`(from: String, to: String) throws {
        let text = lamp.replacing(from, with: to)
        #expect(text != lamp)
        let plan = Plan(from: try graph(lamp, wiring), to: try graph(text, wiring))
        #expect(plan.systems.map(\.action) == [.change], "\(plan)")
        #expect(plan.buses.map(\.action) == [.keep, .keep])
        #expect(plan.links.map(\.action) == [.keep, .keep])
    }

    @Test func `of an instance follows its own parameters only`() throws {
        func fingerprints(_ left: String, _ right: String) throws -> [String: String] {
            let text = """
                system: door@
                parameters: { places: "map(string, int)", name: string }
                states: { Shut: {} }
                initialState: Shut
                feedbacks:
                  tell: { onState: Shut, log: "${parameters.name} ${parameters.places.size()}" }
                ---
                instances:
                  door@left: { name: left, places: \(left) }
                  door@right: { name: right, places: \(right) }

                """
            return Dictionary(uniqueKeysWithValues: try graph(text).systems.map { ($0.name, $0.fingerprint) })
        }
        let first = try fingerprints("{ a: 1, b: 2, c: 3 }", "{ a: 1 }")
        let second = try fingerprints("{ c: 3, b: 2, a: 1 }", "{ a: 2 }")
        #expect(first["door@left"] == second["door@left"])
        #expect(first["door@right"] != second["door@right"])
        #expect(first["door@left"] != first["door@right"])
    }

    @Test func `follows the value of what is written elsewhere`() throws {
        func fingerprint(_ value: String) throws -> String {
            let text = lamp.replacing("left: 30", with: "left: !env LEFT")
            let result = ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)], values: ExternalValues { _ in value })
            return try #require(result.graph?.systems.first?.fingerprint)
        }
        #expect(try fingerprint("30") == fingerprint("30"))
        #expect(try fingerprint("30") != fingerprint("31"))
        #expect(try fingerprint("30").utf8.count == 32)
    }
}

@Suite struct `A plan` {
    @Test(arguments: ["K_one", "K_${instance}"])
    func `follows the value that an instance names elsewhere`(name: String) throws {
        func graph(_ value: String) throws -> Graph {
            let text = """
                system: t@
                states: { A: {} }
                events: { E: {} }
                initialState: A
                feedbacks:
                  f: { onState: A, run: { command: [a], environment: { K: !env "\(name)" } }, onSuccess: E }
                ---
                instances: { t@one: {} }
                """
            let result = ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)],
                values: ExternalValues(environment: { $0 == "K_one" ? value : nil }))
            return try #require(result.graph)
        }
        #expect(Plan(from: try graph("first"), to: try graph("first")).isEmpty)
        #expect(Plan(from: try graph("first"), to: try graph("second")).systems.map(\.action) == [.change])
    }

    @Test func `compares buses and links`() throws {
        let new = wiring.replacing("initial: 0", with: "initial: 7").replacing("value > 3", with: "value > 4")
            .replacing("  up:", with: "  over:").replacing("b: string }", with: "b: int }")
        let plan = Plan(from: try graph(lamp, wiring), to: try graph(new, lamp))
        #expect(plan.systems == [.init(name: "lamp", action: .keep)])
        #expect(
            plan.withoutChanges.buses == [
                .init(
                    name: "level", action: .change, value: .keep, reason: "its first value is another, for later starts"
                ),
                .init(name: "news", action: .change, reason: "its definition has changed"),
            ])
        #expect(
            plan.withoutChanges.links == [
                .init(name: "down", action: .change, reason: "its definition has changed"),
                .init(name: "over", action: .add), .init(name: "up", action: .remove),
            ])
        #expect(plan.summary == "1 kept; 2 buses changed; 3 links changed")
        #expect(!plan.isEmpty)
    }

    @Test(arguments: [
        ("level: { kind: currentValue, value: int, initial: 0, limit: 3 }", Plan.ValueAfterChange.keep),
        ("level: { kind: currentValue, value: double, initial: 0.0 }", .initial),
        ("level: { kind: passthrough, value: int }", nil),
    ])
    func `says what becomes of a bus's value`(bus: String, value: Plan.ValueAfterChange?) throws {
        let old = "level: { kind: currentValue, value: int, initial: 0 }"
        func file(_ bus: String) throws -> Graph { try graph("buses: { \(bus.dropLast()), fromOutside: both } }") }
        let plan = Plan(from: try file(old), to: try file(bus))
        #expect(plan.buses.map(\.action) == [.change])
        #expect(plan.buses.map(\.value) == [value])
        let back = Plan(from: try file(bus), to: try file(old))
        #expect(back.buses.map(\.value) == [value ?? .initial])
    }

    @Test func `says which parts of a definition have changed, and where they were and are`() throws {
        let old = try graph(lamp + "---\n" + wiring)
        let new = try graph(
            "# A comment.\n"
                + lamp.replacing("after: 60s", with: "after: 90s").replacing(
                    "Press: {}, ", with: "Press: {}, Extra: {}, "
                )
                .replacing("      tell: { onState: Off, log: \"off\" }\n", with: "")
                .replacing("  tell: { onState: Off, log: \"off\" }\n", with: "")
                .replacing("left: 1, note: x", with: "left: 2, note: x").replacing("limit: 5", with: "limit: 6")
                + "---\n"
                + wiring.replacing("value > 3", with: "value > 4").replacing("initial: 0", with: "initial: 1"))
        let plan = Plan(from: old, to: new)
        func text(_ changes: [DefinitionChange]) -> [String] {
            changes.map { change in
                let places = [change.old, change.new].map { $0.map { "\($0.line):\($0.column)" } ?? "-" }
                let values = change.oldValue.map { ", \($0) → \(change.newValue ?? "-")" } ?? ""
                return "\(change.kind) \(change.part) \(places.joined(separator: " "))\(values)"
            }
        }
        #expect(plan.systems.map(\.action) == [.change])
        #expect(
            text(plan.systems[0].changes) == [
                "added event Extra - 5:22", "changed mailbox - -, 5 → 6", "changed feedback expire 9:3 10:3, 60s → 90s",
                "changed transition On: Expire 16:5 16:5, 1 → 2", "removed feedback tell 10:3 -",
            ])
        #expect(
            plan.buses.first { $0.name == "level" }.map { text($0.changes) } == ["changed initial 21:53 21:53, 0 → 1"])
        #expect(
            plan.links.first { $0.name == "down" }.map { text($0.changes) }
                == ["changed when 25:42 25:42, value > 3 → value > 4"])
        // A kept system has no changes, and neither has a new one.
        #expect(Plan(from: old, to: old).systems[0].changes.isEmpty)
        #expect(Plan(from: try graph(""), to: old).systems[0].changes.isEmpty)
    }

    @Test func `tells of an instance which parameters have changed, and of what comes from elsewhere that it has`()
        throws
    {
        let text = """
            system: probe@
            parameters: { limit: int, name: { type: string, default: a }, period: { type: duration, default: 60s } }
            states: { S: { n: int } }
            events: { E: {} }
            fromOutside: any
            initialState: { S: { n: "${parameters.limit}" } }
            transitions: { S: { E: S } }
            ---
            instances: { probe@x: { limit: 1 } }

            """
        let changes = Plan(from: try graph(text), to: try graph(text.replacing("limit: 1", with: "limit: 2"))).systems[
            0
        ].changes
        #expect(
            changes == [
                DefinitionChange(part: "parameter limit", kind: .changed, oldValue: "1", newValue: "2")
            ])
        let others = text.replacing("limit: 1", with: "limit: 1, name: a b, period: 90s")
        #expect(
            Plan(from: try graph(text), to: try graph(others)).systems[0].changes == [
                DefinitionChange(part: "parameter name", kind: .changed, oldValue: "a", newValue: "a b"),
                DefinitionChange(part: "parameter period", kind: .changed, oldValue: "1m", newValue: "1m30s"),
            ])
    }

    @Test(arguments: [
        ("log: { message: a, level: info }", "log: { message: b, level: info }", "a → b"),
        ("log: { message: a, level: info }", "log: { message: b, level: error }", nil),
        ("log: { message: a }", "log: { message: a, level: error }", nil),
        ("log: a", "log: \(String(repeating: "a", count: 81))", nil),
        ("run: { command: [a], environment: { K: !env K } }", "run: { command: [b], environment: { K: !env K } }", nil),
        ("run: { command: [!env K] }", "run: { command: [!env L] }", nil),
    ])
    func `says which value of a part has changed, if it is one, is short and is no secret`(
        old: String, new: String, change: String?
    ) throws {
        func graph(_ effect: String) throws -> Graph {
            let text = """
                system: s
                states: { A: {} }
                events: { E: {} }
                fromOutside: any
                initialState: A
                feedbacks: { f: { onState: A, \(effect) } }
                transitions: { A: { E: A } }
                """
            let result = ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)],
                values: ExternalValues(environment: { ["K": "first", "L": "second"][$0] }))
            return try #require(result.graph, "\(result.diagnostics)")
        }
        let changes = Plan(from: try graph(old), to: try graph(new)).systems[0].changes
        #expect(changes.map(\.part) == ["feedback f"])
        #expect(changes[0].oldValue.map { "\($0) → \(changes[0].newValue ?? "-")" } == change)
    }

    @Test func `says nothing of a parameter's value that comes from elsewhere`() throws {
        func graph(_ token: String) throws -> Graph {
            let text = """
                system: s@
                parameters: { token: string }
                states: { A: {} }
                events: { E: {} }
                fromOutside: any
                initialState: A
                feedbacks: { f: { onState: A, log: "${parameters.token}" } }
                transitions: { A: { E: A } }
                ---
                instances: { s@a: { token: !env K } }
                """
            let result = ConfigurationCompiler.compile(
                files: [ConfigurationFile(path: "a.yaml", text: text)],
                values: ExternalValues(environment: { $0 == "K" ? token : nil }))
            return try #require(result.graph, "\(result.diagnostics)")
        }
        let changes = Plan(from: try graph("first"), to: try graph("second")).systems[0].changes
        #expect(changes == [DefinitionChange(part: "parameter token", kind: .changed)])
    }

    @Test func `tells of feedbacks that only change places`() throws {
        let expire = "  expire: { onState: On, after: 60s, emit: { Expire: { early: false } } }\n"
        let tell = "  tell: { onState: Off, log: \"off\" }\n"
        let plan = Plan(from: try graph(lamp), to: try graph(lamp.replacing(expire + tell, with: tell + expire)))
        #expect(plan.systems[0].changes.map(\.part) == ["order of feedbacks"])
    }

    @Test func `carries a state over where it still fits`() throws {
        let old = try graph(lamp)
        let new = try graph(
            lamp.replacing("note: string", with: "note: string, more: int")
                .replacing("note: x", with: "note: x, more: 1").replacing("note: \"new\"", with: "note: new, more: 1"))
        let off = Plan(from: old, running: { _ in .init(state: 0, feedbacks: ["tell", "a"]) }, to: new)
        var expected = FeedbackSteps()
        // The definition does not have the second one, so an earlier reload has removed it.
        (expected.goingOn, expected.finishing) = (["tell"], ["a"])
        #expect(
            off.withoutChanges.systems == [
                .init(
                    name: "lamp", action: .change, reason: "it goes on in its state 'Off'", feedbacks: expected)
            ])
        let on = Plan(from: old, running: { _ in .init(state: 1, feedbacks: ["expire"]) }, to: new)
        #expect(on.systems.map(\.action) == [.restart])
        #expect(on.systems[0].feedbacks.ending == ["expire"] && on.systems[0].feedbacks.beginning == ["tell"])
        #expect(
            on.systems[0].reason
                == "it is in the state 'On', whose fields have changed: 'more' is new and has no default")
        let renamed = try graph(lamp.replacing("Off", with: "Dark"))
        let gone = Plan(from: old, to: renamed)
        #expect(gone.systems[0].reason == "it is in the state 'Off', which there is no more")
        #expect(Plan(from: old, to: Graph()).systems == [.init(name: "lamp", action: .remove)])
        expected = FeedbackSteps()
        expected.beginning = ["tell"]
        #expect(Plan(from: Graph(), to: old).systems == [.init(name: "lamp", action: .add, feedbacks: expected)])
        #expect(Plan(from: Graph(), to: old).summary == "0 kept, 1 added")
    }
}
