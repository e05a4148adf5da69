import CommonExpression
import Foundation
import MediatorConfiguration
import Testing

@Suite struct `The schema for editors` {
    @Test(arguments: [("configuration", false), ("drop-in", true)])
    func `is the file beside the documentation`(name: String, isDropIn: Bool) throws {
        let file = Snapshots.repository.appending(path: "Documentation/\(name).schema.json")
        let text = ConfigurationSchema(isDropIn: isDropIn).text
        if Snapshots.isRewriting { try text.write(to: file, atomically: true, encoding: .utf8) }
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
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
