import CommonExpression
import MediatorConfiguration
import Testing

/// Random changes of random links, beside the same changes made by hand.
@Suite struct `Random changes of links` {
    private static let systems = """
        system: lamp
        states: { Off: { n: int }, On: { n: int } }
        events: { Press: {}, Dim: { by: int } }
        fromOutside: any
        initialState: { Off: { n: 0 } }
        transitions:
          Off: { Press: On, Dim: stay }
          On: { Press: Off, Dim: stay }
        ---
        buses:
          light: { kind: currentValue, value: int, initial: 0, fromOutside: both }
          level: { kind: passthrough, value: int, fromOutside: both }

        """

    /// A link by its keys: what becomes a value of a bus, or a value that becomes an event.
    private static func definition(_ random: inout Random) -> [String: String] {
        if Bool.random(using: &random) {
            var keys = [
                "attach": "lamp", "to": Bool.random(using: &random) ? "light" : "level",
                "onState": ["On", "Off", "any", "[On, Off]"].randomElement(using: &random) ?? "On",
                "emitValue": "\(Int.random(in: 0..<3, using: &random))",
            ]
            if Bool.random(using: &random) { keys["when"] = "state.n > \(Int.random(in: 0..<3, using: &random))" }
            return keys
        }
        var keys = [
            "attach": "lamp", "to": "level",
            "emitEvent": "{ Dim: { by: \(Int.random(in: 0..<3, using: &random)) } }",
        ]
        if Bool.random(using: &random) { keys["onValue"] = "\(Int.random(in: 0..<3, using: &random))" }
        return keys
    }

    private static func text(_ keys: [String: String]) -> String {
        "{ " + keys.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + " }"
    }

    private static func file(_ links: [String: [String: String]], _ path: String = "/m/a.yaml") -> ConfigurationFile {
        let lines = links.sorted { $0.key < $1.key }.map { "  \($0.key): \(text($0.value))\n" }
        return ConfigurationFile(path: path, text: systems + (lines.isEmpty ? "" : "links:\n" + lines.joined()))
    }

    @Test(arguments: 0..<100) func `mean what they mean when they are written by hand`(seed: UInt64) throws {
        var random = Random(state: seed)
        let names = ["a", "b", "c", "d"]
        var model: [String: [String: String]] = [:]
        for name in names where Bool.random(using: &random) { model[name] = Self.definition(&random) }
        let original = model
        var files = [Self.file(model)]
        var layer = TransientLayer()
        for _ in 0..<12 {
            let name = names.randomElement(using: &random) ?? "a"
            let change: LinkChange
            if let present = model[name] {
                if Int.random(in: 0..<3, using: &random) == 0 {
                    model[name] = nil
                    change = LinkChange(link: name, action: .detach)
                } else {
                    // From one definition to another, key by key.
                    let wanted = Self.definition(&random)
                    model[name] = wanted
                    let removed = present.keys.filter { wanted[$0] == nil }.map {
                        LinkChange.Setting(key: $0, value: "")
                    }
                    let set = wanted.sorted { $0.key < $1.key }.map { LinkChange.Setting(key: $0.key, value: $0.value) }
                    change = LinkChange(link: name, action: .set(removed + set))
                }
            } else {
                let wanted = Self.definition(&random)
                model[name] = wanted
                change = LinkChange(link: name, action: .attach(Self.text(wanted), []))
            }
            layer = try layer.applying(change, to: files)
            if Int.random(in: 0..<4, using: &random) == 0 {
                guard let file = try layer.persisting(name, in: "/m", files: files, remark: "A test.") else { continue }
                (layer, files) = (file.layer, file.files)
            }
            let result = ConfigurationCompiler.compile(
                contents: ConfigurationLayers.Contents(files: files), layer: layer
            ).result
            let expected = ConfigurationCompiler.compile(files: [Self.file(model)])
            #expect(result.partial == [] && expected.partial == [])
            let graph = try #require(result.graph)
            #expect(graph.means(try #require(expected.graph)))
            #expect(layer.links.allSatisfy { model[$0] == nil || layer.kind(ofLink: $0) != .detached })
        }
        for name in layer.links {
            let file = try #require(try layer.persisting(name, in: "/m", files: files, remark: "A test."))
            (layer, files) = (file.layer, file.files)
        }
        let written = try #require(ConfigurationCompiler.compile(files: files).graph)
        #expect(written.means(try #require(ConfigurationCompiler.compile(files: [Self.file(model)]).graph)))
        // Text that was written by hand did not change.
        #expect(files.first?.contents == Self.file(original).contents)
    }
}
