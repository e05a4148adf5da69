import CommonExpression
import Glibc
import MediatorConfiguration
import Synchronization
import Testing
import TestSupport

@Suite struct `Changes of links that are in no file` {
    static let text = """
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
          light: { kind: currentValue, value: string, initial: dark, fromOutside: both }
          levels: { kind: passthrough, value: int, fromOutside: both }
        links:
          tell: { attach: lamp, to: light, onState: On, emitValue: "lit ${state.n}" }
          dim: { attach: lamp, to: levels, when: value > 3, emitEvent: { Dim: { by: "${value}" } } }

        """
    static let file = ConfigurationFile(path: "/etc/m/lamp.yaml", text: text)

    static func contents(_ files: [ConfigurationFile]) -> ConfigurationLayers.Contents {
        ConfigurationLayers.Contents(files: files, diagnostics: [])
    }

    func compile(_ layer: TransientLayer, _ files: [ConfigurationFile] = [file]) -> CompilationResult {
        ConfigurationCompiler.compile(contents: Self.contents(files), layer: layer).result
    }

    func graph(_ layer: TransientLayer, _ files: [ConfigurationFile] = [file]) throws -> Graph {
        let result = compile(layer, files)
        #expect(result.diagnostics.filter { $0.severity == .error }.map { $0.rendered() } == [])
        return try #require(result.graph)
    }

    func layer(
        _ changes: LinkChange..., over files: [ConfigurationFile] = [file]
    ) throws(LinkChangeError) -> TransientLayer {
        var layer = TransientLayer()
        for change in changes { layer = try layer.applying(change, to: files) }
        return layer
    }

    static func attach(_ link: String, _ text: String) -> LinkChange {
        LinkChange(link: link, action: .attach(text, []))
    }

    static func set(_ link: String, _ settings: (String, String)...) -> LinkChange {
        LinkChange(link: link, action: .set(settings.map { LinkChange.Setting(key: $0.0, value: $0.1) }))
    }

    static func detach(_ link: String) -> LinkChange { LinkChange(link: link, action: .detach) }

    static let definition = "{ attach: lamp, to: light, onState: Off, emitValue: dark }"

    @Test func `a link is added, and lies in a file of its own name`() throws {
        let layer = try layer(Self.attach("more", Self.definition))
        let graph = try graph(layer)
        #expect(graph.links.map(\.name) == ["dim", "more", "tell"])
        #expect("\(graph.links[1].source)" == "<control more>:2:3")
        #expect(layer.kind(ofLink: "more") == .attached)
        #expect(layer.kind(ofLink: "more@instance") == .attached)
        #expect(layer.kind(ofLink: "tell") == nil)
        #expect(
            layer.list.map(\.text) == [
                "links:\n  more:\n    attach: lamp\n    to: light\n    onState: Off\n    emitValue: dark\n"
            ])
    }

    @Test func `keys are merged into what is written, and the rest stays`() throws {
        let layer = try layer(
            Self.set("dim", ("emitEvent.Dim.by", "7"), ("when", "")), Self.set("dim", ("onValue", "4")))
        let graph = try graph(layer)
        #expect(graph.links[0].emits == "{ Dim: { by: 7 } }")
        #expect(graph.links[0].conditionText == "onValue: 4")
        #expect("\(graph.links[0].source)" == "/etc/m/lamp.yaml:15:3")
        #expect(
            layer.list.first?.text
                == "links:\n  dim:\n    emitEvent: { Dim: { by: 7 } }\n    onValue: 4\n    when: null\n")
    }

    @Test func `a change that is taken back is none`() throws {
        let settings = LinkChange.Setting(key: "when", value: "value > 3")
        #expect(try layer(Self.set("dim", ("when", "value > 9")), Self.set("dim", ("when", "value > 3"))).links == [])
        #expect(try layer(Self.detach("dim"), LinkChange(link: "dim", action: .attachAgain)).links == [])
        #expect(try layer(Self.attach("x", Self.definition), Self.detach("x")).links == [])
        let same = "{ emitEvent: { Dim: { by: '${value}' } }, 'to': levels, attach: lamp }"
        #expect(
            try layer(Self.detach("dim"), LinkChange(link: "dim", action: .attach(same, [settings]))).links == [])
        #expect(try layer(Self.set("dim", ("loop.limit", "1 per 1s")), Self.set("dim", ("loop", ""))).links == [])
        // A loop without its limit is none.
        #expect(
            try layer(Self.set("dim", ("loop.limit", "1 per 1s")), Self.set("dim", ("loop.limit", ""))).links == [])
        #expect(try layer(LinkChange(link: "dim", action: .attachAgain)).links == [])
    }

    @Test func `the same again is no change`() throws {
        let once = try layer(Self.attach("x", Self.definition))
        let again = try once.applying(
            Self.attach("x", "attach: lamp\nto: 'light'\nemitValue: dark\nonState: Off\n"), to: [Self.file])
        #expect(again.list == once.list)
        #expect(try layer(Self.detach("tell"), Self.detach("tell")).links == ["tell"])
        #expect(
            try layer(Self.attach("tell", "{attach: lamp, to: light, onState: On, emitValue: 'lit ${state.n}'}")).links
                == [])
    }

    @Test func `a link that was detached can be another`() throws {
        let layer = try layer(Self.detach("tell"), Self.attach("tell", Self.definition))
        #expect(layer.kind(ofLink: "tell") == .attached)
        let graph = try graph(layer)
        #expect(graph.links.map(\.name) == ["dim", "tell"])
        #expect(graph.links[1].summary == "lamp: Off → bus light")
        // No word of the written text is left.
        let other = try self.layer(
            Self.detach("dim"), Self.attach("dim", "{ attach: lamp, to: levels, emitEvent: Press }"))
        #expect(try self.graph(other).links[0].conditionText == nil)
    }

    @Test(arguments: [
        (detach("tel"), LinkChangeError.noSuchLink("tel", nearest: "tell")),
        (set("dimm", ("when", "true")), .noSuchLink("dimm", nearest: "dim")),
        (attach("tell", definition), .exists("tell")),
        (LinkChange(link: "nothing", action: .attachAgain), .noSuchLink("nothing", nearest: nil)),
        (detach("tell@x"), .oneOfMany("tell@x", link: "tell")), (detach("lamp/tell"), .published("lamp/tell")),
        (set("lamp/tell", ("when", "true")), .published("lamp/tell")),
    ])
    func `what does not fit is an error`(change: LinkChange, error: LinkChangeError) {
        #expect(throws: error) { try layer(change) }
    }

    @Test(arguments: [
        (attach("x", "{ attach: lamp"), "<control x>:1:", Diagnostic.Code.syntax),
        (attach("x", "- a"), "<control x>:1:1", .wrongShape), (attach("x", ""), "<control x>:1:1", .wrongShape),
        (attach("x", "{}\n---\n{}"), "<control x>:3:1", .syntax), (attach("a b", "{}"), "", .invalidName),
        (attach("x\n", "{}"), "", .invalidName), (set("tell", ("loop", "")), "<control tell>:1:1", .nothingToRemove),
        (set("tell", ("when.x", "")), "<control tell>:1:1", .nothingToRemove),
        (set("tell", ("a.", "1")), "<control tell>:1:1", .unknownKey),
        (set("tell", ("when", "true"), ("when", "false")), "<control tell>:1:1", .duplicateKey),
        (set("tell", ("", "1")), "<control tell>:1:1", .unknownKey),
        (set("tell", ("when", "!!str x")), "<control tell>:1:1", .tag),
        (set("tell", (String(repeating: "a.", count: 80) + "a", "1")), "<control tell>:1:1", .unknownKey),
    ])
    func `what cannot be read is found where it stands`(change: LinkChange, place: String, code: Diagnostic.Code) {
        do throws(LinkChangeError) {
            _ = try layer(change)
            Issue.record("nothing was wrong")
        } catch {
            guard case .invalid(let diagnostics) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(diagnostics.map(\.code).contains(code))
            #expect(
                diagnostics.first.map { $0.location.map { "\($0)" } ?? "" }?.hasPrefix(place) == true, "\(diagnostics)")
        }
    }

    @Test func `what is wrong with the link itself is found by compiling, in a line of its own file`() throws {
        let printed = compile(try layer(Self.set("tell", ("onState", "Onn"), ("emitValue", "\"a: ${state.m}\""))))
            .diagnostics
            .filter { $0.severity == .error }.map { $0.rendered() }
        #expect(
            printed == [
                """
                <control tell>:3:14: error: 'lamp' has no state 'Onn' [unknown-state]
                      onState: Onn
                               ^~~
                  hint: did you mean 'On'?
                """
            ])
    }

    @Test func `a change of what is written no longer changes nothing, with a warning`() throws {
        let layer = try layer(
            Self.set("tell", ("emitValue", "x")), Self.detach("dim"), Self.attach("more", Self.definition))
        let bare = ConfigurationFile(
            path: "a.yaml",
            text: Self.text.replacing("links:", with: "# links").replacing("\n  tell:", with: "\n  # ").replacing(
                "\n  dim:", with: "\n  # "))
        let (result, moot) = ConfigurationCompiler.compile(contents: Self.contents([bare]), layer: layer)
        #expect(moot == ["dim", "tell"])
        #expect(result.graph?.links.map(\.name) == ["more"])
        #expect(
            result.diagnostics.first { $0.code == .unusedDropIn }?.rendered()
                == "<control dim>:1:1: warning: there is no link 'dim' any longer that this change could change [unused-drop-in]"
        )
        #expect(layer.without(moot).links == ["more"])
    }

    @Test func `a drop-in of whatever name comes before`() throws {
        var file = Self.file
        file.dropIns = [
            ConfigurationFile(path: "/etc/m/lamp.yaml.d/zzz.yaml", text: "links: { tell: { emitValue: last } }")
        ]
        let layer = try layer(Self.set("tell", ("emitValue", "first")), over: [file])
        #expect(try graph(layer, [file]).links[1].emits == "first")
    }

    @Test func `there are at most so many`() throws {
        var layer = TransientLayer()
        // Without files, so that nothing is read each time.
        for index in 0..<TransientLayer.limit { layer = try layer.applying(Self.attach("l\(index)", "{}"), to: []) }
        let half = String(repeating: "x", count: TransientLayer.byteLimit / 2)
        var long = try TransientLayer().applying(Self.attach("a", "{ emitValue: \(half) }"), to: [])
        #expect(throws: LinkChangeError.tooLarge) {
            try long.applying(Self.attach("b", "{ emitValue: \(half) }"), to: [])
        }
        long = try long.applying(Self.detach("a"), to: [])
        #expect(try long.applying(Self.attach("b", "{ emitValue: \(half) }"), to: []).links == ["b"])
        #expect(throws: LinkChangeError.tooMany) { try layer.applying(Self.attach("more", "{}"), to: []) }
        #expect(try layer.applying(Self.set("l7", ("to", "x")), to: []).links.count == TransientLayer.limit)
        let many = Array(repeating: LinkChange.Setting(key: "to", value: "x"), count: ConfigurationLimits.fields + 1)
        #expect(throws: LinkChangeError.self) {
            try layer.applying(LinkChange(link: "l7", action: .set(many)), to: [])
        }
        let large = String(repeating: "x", count: ConfigurationLimits.fileSize + 1)
        #expect(throws: LinkChangeError.self) { try TransientLayer().applying(Self.attach("a", large), to: []) }
    }

    /// Values that YAML writes in several ways.
    @Test(arguments: [
        "plain", "\"12\"", "12", "-1.5e3", "true", "'true'", "null text", "\"a: b # c\"", "\"line\\nbreak\\ttab\"",
        "'say \"it\"'", "\"\\u0007\\u202E\"", "ü→𝄞", "\"- dash\"", "\"${state.n}\"", "a ${state.n}", "\"\"", "' x '",
        "!env { name: NOBODY, default: 12 }", "\"@x\"", "value == \"x\" && !(1 < 2)", "~x", "0x1F", ".inf", "'*a'",
        "'&a'",
        "|\n  block\n  text\n", ">\n  folded\n  text\n", "\"\\\\\"",
    ])
    func `a value means the same when it is written again`(value: String) throws {
        let text = "attach: lamp\nto: light\nonState: Off\nemitValue: \(value)"
        let file = ConfigurationFile(
            path: "b.yaml", text: "links:\n  x:\n" + text.split(separator: "\n").map { "    \($0)\n" }.joined())
        let values = ExternalValues(environment: { _ in nil })
        let written = ConfigurationCompiler.compile(files: [Self.file, file], values: values)
        let changed = ConfigurationCompiler.compile(
            contents: Self.contents([Self.file]), layer: try layer(Self.attach("x", text)), values: values
        ).result
        #expect((written.graph == nil) == (changed.graph == nil), "\(changed.diagnostics)")
        #expect(written.graph?.links.map(\.fingerprint) == changed.graph?.links.map(\.fingerprint))
    }

    // MARK: Writing

    func persisted(
        _ layer: TransientLayer, _ link: String, _ files: [ConfigurationFile] = [file]
    ) throws -> PersistedLink {
        try #require(try layer.persisting(link, in: "/etc/m", files: files, remark: "A test."))
    }

    @Test func `values from elsewhere stay as they were found`() throws {
        let count = Counter()
        let values = ExternalValues(environment: { _ in "\(count.next())" }).remembering()
        let text = "buses: { b: { kind: currentValue, value: string, initial: !env X } }"
        let files = [ConfigurationFile(path: "a.yaml", text: text)]
        let first = ConfigurationCompiler.compile(files: files, values: values).graph
        let second = ConfigurationCompiler.compile(files: files, values: values).graph
        #expect(first?.buses.first?.initial == second?.buses.first?.initial)
        let third = ConfigurationCompiler.compile(files: files, values: values.remembering()).graph
        #expect(third?.buses.first?.initial != second?.buses.first?.initial)
    }
}

/// Numbers, each once.
private final class Counter: Sendable {
    private let last = Mutex(0)

    func next() -> Int {
        last.withLock { last in
            last += 1
            return last
        }
    }
}
