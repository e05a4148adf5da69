import CommonExpression
import MediatorConfiguration
import Testing
import TestSupport

/// A saved state whose definition has changed.
@Suite struct `A state of an earlier definition` {
    /// A system that has these states beside another one.
    private static func definition(_ states: String) throws -> SystemDefinition {
        try system(
            """
            system: s
            states: { Idle: {}\(states.isEmpty ? "" : ", \(states)") }
            events: {}
            initialState: Idle
            """)
    }

    /// The form of the last state of a definition in another one: its name and fields, and the differences.
    private static func result(of old: String, in new: String) throws -> String {
        let earlier = try #require(try definition(old).states.last).type
        let values = earlier.fields.indices.map { Value.int(Int64($0 + 1)) }
        let saved = SavedSystem(state: earlier, fields: values, since: .epoch)
        let later = try definition(new)
        do throws(StateFit.Misfit) {
            let (state, fit) = try saved.fitted(to: later)
            #expect(state.since == saved.since)
            let fields = zip(state.state.fields, state.fields).map { "\($0.name): \($1)" }.joined(separator: ", ")
            return "\(state.state.name) { \(fields) }" + (fit.text.map { "; \($0)" } ?? "")
        } catch {
            return error.text("was")
        }
    }

    @Test(arguments: [
        ("On: { a: int, b: int }", "On: { a: int, b: int }", "On { a: 1, b: 2 }"),
        ("On: { a: int, b: int }", "On: { b: int, a: int }", "On { b: 2, a: 1 }; its fields have another order"),
        ("On: { a: int }", "On: { b: { type: int, was: a } }", "On { b: 1 }; 'a' is 'b' now"),
        ("On: { a: int }", "On: { a: int, b: { type: int, default: 7 } }", "On { a: 1, b: 7 }; 'b' has its default"),
        ("On: { a: int, b: int }", "On: { b: int }", "On { b: 2 }; 'a' is dropped"),
        ("On: { a: int }", "Lit: { was: On, a: int }", "Lit { a: 1 }; its state 'On' is 'Lit' now"),
        (
            "On: { a: int }", "Lit: { was: On, n: { type: int, was: a }, m: { type: string, default: x } }",
            "Lit { n: 1, m: \"x\" }; its state 'On' is 'Lit' now, 'a' is 'n' now, 'm' has its default"
        ),
        // The field of the same name counts, and the default does not.
        ("On: { a: int }", "On: { a: { type: int, default: 7 } }", "On { a: 1 }"),
        // A field can be named was.
        ("On: { was: int }", "On: { was: int }", "On { was: 1 }"),
        ("On: { a: int }", "On: { was: { type: int, was: a } }", "On { was: 1 }; 'a' is 'was' now"),
        // The fields of the states around belong to a state.
        (
            "Run: { a: int }, Run.Copy: { b: int }",
            "Work: { x: { type: int, was: a } }, Work.Copy: { was: Run.Copy, b: int, c: { type: bool, default: true } }",
            "Work.Copy { x: 1, b: 2, c: true }; its state 'Run.Copy' is 'Work.Copy' now, 'a' is 'x' now, 'c' has its default"
        ),
        ("On: { a: int }", "Lit: { a: int }", "it was in the state 'On', which there is no more"),
        (
            "On: { a: int }", "On: { b: int }",
            "it was in the state 'On', whose fields have changed: 'b' is new and has no default"
        ),
        (
            "On: { a: int }", "On: { a: { type: string, default: x } }",
            "it was in the state 'On', whose fields have changed: 'a' was int and is string"
        ),
    ])
    func `is converted, or refused with the reason`(old: String, new: String, expected: String) throws {
        #expect(try Self.result(of: old, in: new) == expected)
    }

    /// A random pair of definitions, with the result that a simple model expects.
    @Test func `is what a model expects, for random definitions`() throws {
        var dice = Random(state: 20_261_128)
        let types = ["int", "string", "bool"]
        func value(_ type: String) -> (Value, String) {
            switch type {
            case "int": (.int(7), "7")
            case "string": (.string("x"), "x")
            default: (.bool(true), "true")
            }
        }
        var kept = 0
        for _ in 0..<300 {
            let names = ["a", "b", "c", "d", "e"]
            let old = names.filter { _ in Bool.random(using: &dice) }.map {
                ($0, types.randomElement(using: &dice) ?? "int")
            }
            var expected: [Value]? = []
            var fields: [String] = []
            let new = names.filter { _ in Bool.random(using: &dice) }
            for name in new {
                let type = types.randomElement(using: &dice) ?? "int"
                let was = names.filter { !new.contains($0) && !fields.joined().contains("was: \($0)") }.randomElement(
                    using: &dice)
                let renames = Bool.random(using: &dice) ? was : nil
                let hasDefault = Bool.random(using: &dice)
                fields.append(
                    "\(name): { type: \(type)" + (renames.map { ", was: \($0)" } ?? "")
                        + (hasDefault ? ", default: \(value(type).1)" : "") + " }")
                let source = old.first { $0.0 == name } ?? old.first { $0.0 == renames }
                // The saved values tell the fields apart from the defaults.
                if let source {
                    if source.1 == type { expected?.append(.string(source.0)) } else { expected = nil }
                } else if hasDefault {
                    expected?.append(value(type).0)
                } else {
                    expected = nil
                }
            }
            let before = StructureType(
                name: "On",
                fields: try Self.definition("On: { \(old.map { "\($0): \($1)" }.joined(separator: ", ")) }").states[1]
                    .type.fields)
            let after = try Self.definition("On: { \(fields.joined(separator: ", ")) }")
            let found = (try? StateFit(before, in: after))?.fields(from: old.map { .string($0.0) })
            #expect(found == expected, "\(old) -> \(fields)")
            if found != nil { kept += 1 }
        }
        #expect(kept > 30 && kept < 270)
    }

    @Test func `of a template has the earlier name of its instance`() throws {
        let text = """
            system: line@
            was: uplink@
            states: { Up: {} }
            events: {}
            initialState: Up
            ---
            instances: { line@eth0: {} }
            """
        #expect(try system(text).was == "uplink@eth0")
        #expect(try Self.definition("").was == nil)
    }

    @Test func `changes no fingerprint`() throws {
        let plain = try Self.definition("On: { a: int }")
        let other = try Self.definition("On: { was: Lit, a: { type: int, was: b, default: 3 } }")
        #expect(plain.fingerprint == other.fingerprint)
    }
}
