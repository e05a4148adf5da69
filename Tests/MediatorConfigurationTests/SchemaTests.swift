import CommonExpression
import Foundation
import MediatorConfiguration
import Testing

@Suite struct `The schema for editors` {
    private static let file = Snapshots.repository.appending(path: "Documentation/configuration.schema.json")

    @Test func `is the file beside the documentation`() throws {
        let text = ConfigurationSchema().text
        if Snapshots.isRewriting { try text.write(to: Self.file, atomically: true, encoding: .utf8) }
        #expect(try String(contentsOf: Self.file, encoding: .utf8) == text)
    }

    @Test func `says something about every key that a decoder knows`() {
        // A key without a schema of its own would accept everything.
        #expect(!ConfigurationSchema().text.contains(": true"))
    }

    @Test func `has the side effects it is given`() {
        let effect = EffectSchema(
            name: "blink",
            parameters: [.init(name: "times", type: .int, required: true)],
            outcomes: [.init(name: "onEnd", result: .init(name: "result", fields: []))])
        let text = ConfigurationSchema(effects: [effect]).text
        #expect(text.contains(##""blink": { "$ref": "#/$defs/effect-blink" }"##))
        #expect(text.contains(#""required": ["times"]"#))
        #expect(text.contains(#""onEnd": {"#))
        #expect(!text.contains(#""run""#))
    }
}
