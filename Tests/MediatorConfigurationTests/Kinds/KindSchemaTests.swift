import CommonExpression
import MediatorConfiguration
import Testing

extension `A file of kinds` {
    @Test func `what is optional may be null for an editor, also where it has a range`() {
        func schema(_ type: ValueType) -> String {
            let effect = EffectSchema(
                name: "e", parameters: [.init(name: "strokes", type: type, constraint: .whole(1...12))])
            let text = ConfigurationSchema(effects: EffectSchema.builtin + [effect]).text
            return String(text.split(separator: "\"strokes\"", maxSplits: 1).last?.prefix(300) ?? "")
        }
        #expect(schema(.int).contains("12") && !schema(.int).contains("null"), "\(schema(.int))")
        #expect(schema(.optional(.int)).contains("12") && schema(.optional(.int)).contains("null"))
    }

    @Test func `an editor is told how much a parameter may be, in words where a schema has none`() {
        func schema(_ parameter: EffectSchema.Parameter) -> String {
            let effect = EffectSchema(name: "e", parameters: [parameter])
            let text = ConfigurationSchema(effects: EffectSchema.builtin + [effect]).text
            return String(text.split(separator: "\"effect-e\"", maxSplits: 1).last?.prefix(500) ?? "")
        }
        let share = schema(.init(name: "p", type: .double, constraint: .number(0.25...2)))
        #expect(share.contains(#"{ "type": "number", "minimum": 0.25, "maximum": 2 }"#), "\(share)")
        let most = schema(.init(name: "p", type: .double, constraint: .number((-.infinity)...2)))
        #expect(most.contains(#"{ "type": "number", "maximum": 2 }"#), "\(most)")
        let wait = EffectSchema.Parameter(
            name: "p", summary: "how long it waits", type: .duration,
            constraint: .time(.milliseconds(1_500)...(.seconds(60))))
        #expect(schema(wait).contains("How long it waits. From 1.5s to 1m."), "\(schema(wait))")
        let text = EffectSchema.Parameter(name: "p", type: .string, constraint: .text(limit: 5))
        #expect(schema(text).contains(#""description": "At most 5 bytes long.""#), "\(schema(text))")
    }

    @Test func `any text and any depth make a schema, soon`() throws {
        let effect = EffectSchema(
            name: "e", summary: "rings\tonce\u{1}, \"so\"",
            parameters: [.init(name: "p", type: (0..<6).reduce(ValueType.int) { type, _ in .list(type) })])
        let text = ConfigurationSchema(effects: EffectSchema.builtin + [effect]).text
        #expect(text.contains(#""Rings\tonce\u0001, \"so\".""#))
    }

    @Test func `makes a schema for editors`() {
        let text = ConfigurationSchema(kinds: sampleKinds).text
        #expect(text.contains(#""enum": ["speaker", "timer", "server"]"#))
        #expect(text.contains(#""maximum": 65535"#))
        #expect(text.contains(#""enum": [1, 2]"#))
        #expect(text.contains(#""enum": ["fast", "slow"]"#))
        #expect(text.contains(#""required": ["target"]"#))
        #expect(text.contains(#""enum": ["kitchen", "bath"]"#))
        #expect(!text.contains(": true"), "\(text.split(separator: "\n").filter { $0.contains(": true") })")
    }
}
