import CommonExpression
import Glibc
import MediatorConfiguration
import Synchronization
import Testing

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

    private func compile(_ layer: TransientLayer, _ files: [ConfigurationFile] = [file]) -> CompilationResult {
        ConfigurationCompiler.compile(contents: Self.contents(files), layer: layer).result
    }

    private func graph(_ layer: TransientLayer, _ files: [ConfigurationFile] = [file]) throws -> Graph {
        let result = compile(layer, files)
        #expect(result.diagnostics.filter { $0.severity == .error }.map { $0.rendered() } == [])
        return try #require(result.graph)
    }

    private func layer(
        _ changes: LinkChange..., over files: [ConfigurationFile] = [file]
    ) throws(LinkChangeError) -> TransientLayer {
        var layer = TransientLayer()
        for change in changes { layer = try layer.applying(change, to: files) }
        return layer
    }

    private static func attach(_ link: String, _ text: String) -> LinkChange {
        LinkChange(link: link, action: .attach(text, []))
    }

    private static func set(_ link: String, _ settings: (String, String)...) -> LinkChange {
        LinkChange(link: link, action: .set(settings.map { LinkChange.Setting(key: $0.0, value: $0.1) }))
    }

    private static func detach(_ link: String) -> LinkChange { LinkChange(link: link, action: .detach) }

    private static let definition = "{ attach: lamp, to: light, onState: Off, emitValue: dark }"

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
            guard case .invalid(let findings) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(findings.map(\.code).contains(code))
            #expect(findings.first.map { $0.location.map { "\($0)" } ?? "" }?.hasPrefix(place) == true, "\(findings)")
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

    private func persisted(
        _ layer: TransientLayer, _ link: String, _ files: [ConfigurationFile] = [file]
    ) throws -> PersistedLink {
        try #require(try layer.persisting(link, in: "/etc/m", files: files, remark: "A test."))
    }

    @Test func `a new link goes into a file of its own, a change into a drop-in`() throws {
        var layer = try layer(
            Self.attach("more", Self.definition), Self.set("tell", ("emitValue", "x"), ("when", "state.n > 1")),
            Self.detach("dim"))
        let wanted = try graph(layer)
        var files = [Self.file]
        for (link, path) in [
            ("more", "90-mediatorctl.yaml"), ("tell", "lamp.yaml.d/90-mediatorctl.yaml"),
            ("dim", "lamp.yaml.d/90-mediatorctl.yaml"),
        ] {
            let file = try persisted(layer, link, files)
            #expect(file.path == "/etc/m/\(path)")
            #expect(file.layer.kind(ofLink: link) == nil)
            (layer, files) = (file.layer, file.files)
            #expect(try graph(layer, files).means(wanted))
        }
        #expect(layer.links == [])
        #expect(
            files.last.map { String(decoding: $0.contents, as: UTF8.self) } == """
                # Written by mediatorctl: links that were changed while mediatord ran.
                # It is written anew with the next such change, so what you write yourself belongs into another file.
                # A test.
                links:
                  more:
                    attach: lamp
                    to: light
                    onState: Off
                    emitValue: dark

                """)
        // A later change is written into the same files.
        for change in [
            Self.set("more", ("emitValue", "y")), Self.set("tell", ("when", "")),
            Self.attach("dim", "{attach: lamp, to: levels, emitEvent: Press}"),
            Self.detach("more"),
        ] {
            layer = try layer.applying(change, to: files)
            let wanted = try graph(layer, files)
            let file = try persisted(layer, change.link, files)
            #expect(file.previous != nil)
            (layer, files) = (file.layer, file.files)
            #expect(try graph(layer, files).means(wanted), "\(change)")
            #expect(layer.links == [])
        }
        #expect(try layer.persisting("tell", in: "/etc/m", files: files, remark: "") == nil)
    }

    @Test func `what was detached for good comes back as it is written`() throws {
        let again = LinkChange(link: "dim", action: .attachAgain)
        var layer = try layer(Self.detach("dim"), Self.detach("tell"))
        var files = [Self.file]
        for link in ["dim", "tell"] {
            let file = try persisted(layer, link, files)
            (layer, files) = (file.layer, file.files)
        }
        #expect(try graph(layer, files).links.isEmpty)
        #expect(throws: LinkChangeError.detached("dim")) {
            try layer.applying(Self.set("dim", ("when", "value > 9")), to: files)
        }
        #expect(try layer.applying(Self.detach("dim"), to: files).says(layer, ofLink: "dim"))
        #expect(throws: LinkChangeError.noSuchLink("dimm", nearest: "dim")) {
            try layer.applying(LinkChange(link: "dimm", action: .attachAgain), to: files)
        }

        // For the time being, and taken back.
        let present = try layer.applying(again, to: files)
        #expect(
            try graph(present, files).links.map(\.fingerprint) == [try graph(TransientLayer()).links[0].fingerprint])
        #expect(try present.applying(Self.detach("dim"), to: files).links == [])
        // Another than it was: what is other is written.
        let other = try present.applying(Self.set("dim", ("when", "value > 9")), to: files)
        let otherFile = try persisted(other, "dim", files)
        #expect(otherFile.text?.hasSuffix("links:\n  dim:\n    when: value > 9\n  tell: null\n") == true)
        #expect(try graph(otherFile.layer, otherFile.files).means(graph(other, files)))

        // For good: with the last of them the file goes.
        for link in ["dim", "tell"] {
            layer = try layer.applying(LinkChange(link: link, action: .attachAgain), to: files)
            let file = try persisted(layer, link, files)
            #expect((file.text == nil) == (link == "tell"))
            (layer, files) = (file.layer, file.files)
        }
        #expect(files == [Self.file] && layer.links == [])
    }

    @Test func `what comes later than what is written is known`() throws {
        var file = Self.file
        for (name, text) in [
            ("10", "tell: {}"), ("95", "tell: { emitValue: a }"), ("96", "dim: {}"), ("99", "tell: {}"),
        ] {
            file.dropIns.append(
                ConfigurationFile(path: "/etc/m/lamp.yaml.d/\(name)-x.yaml", text: "links: { \(text) }"))
        }
        let layer = try layer(Self.set("tell", ("emitValue", "b")), over: [file])
        #expect(
            try persisted(layer, "tell", [file]).overriding == [
                "/etc/m/lamp.yaml.d/95-x.yaml", "/etc/m/lamp.yaml.d/99-x.yaml",
            ])
    }

    @Test func `what somebody else has written is left alone`() throws {
        for text in ["links: {}", "# Written by mediatorctl\nlinks: {}\nbuses: {}", "# Written by mediatorctl\n- a"] {
            let foreign = ConfigurationFile(path: "/etc/m/90-mediatorctl.yaml", text: text)
            let layer = try layer(Self.attach("more", Self.definition))
            #expect(throws: PersistError.self) { try persisted(layer, "more", [Self.file, foreign]) }
        }
        let lower = ConfigurationFile(path: "/usr/m/90-mediatorctl.yaml", text: "# Written by mediatorctl\nlinks: {}")
        let error = #expect(throws: PersistError.self) {
            try persisted(layer(Self.attach("more", Self.definition)), "more", [Self.file, lower])
        }
        #expect(error?.reason.contains("/usr/m/90-mediatorctl.yaml") == true)
    }

    @Test func `a file is written whole or not at all, and can be taken back`() throws {
        let root = try TemporaryDirectory()
        var file = Self.file
        file.path = "\(root.path)/lamp.yaml"
        try root.write("lamp.yaml", Self.text)
        let layer = try layer(Self.detach("dim"), over: [file])
        let persisted = try #require(try layer.persisting("dim", in: root.path, files: [file], remark: "A test."))
        let layers = ConfigurationLayers([root.path])
        let before = layers.read().files
        let written = try persisted.write()
        #expect(layers.read().files.first?.dropIns == persisted.files.first?.dropIns)
        #expect(throws: PersistError.self) { try persisted.write() }
        #expect(written.undo())
        #expect(layers.read().files == before)

        _ = try persisted.write()
        let files = layers.read().files
        let next = try TransientLayer().applying(Self.set("tell", ("emitValue", "x")), to: files)
        let second = try #require(try next.persisting("tell", in: root.path, files: files, remark: "A test."))
        let again = try second.write()
        #expect(again.undo())
        #expect(layers.read().files == files)
        // A file with nothing left goes, with its directory, and can be put back.
        let back = try TransientLayer().applying(LinkChange(link: "dim", action: .attachAgain), to: files)
        let third = try #require(try back.persisting("dim", in: root.path, files: files, remark: "A test."))
        #expect(third.text == nil)
        let removed = try third.write()
        #expect(layers.read().files == before)
        #expect(access("\(file.path).d", F_OK) != 0)
        #expect(removed.undo())
        #expect(layers.read().files == files)
        // Somebody else has changed it since.
        try root.write("lamp.yaml.d/90-mediatorctl.yaml", "# Written by mediatorctl\nlinks: {}")
        let error = #expect(throws: PersistError.self) { try second.write() }
        #expect(error?.reason == "it has been changed since the last reload; reload first")
    }

    @Test func `what was being written when the power failed goes with the next change`() throws {
        let root = try TemporaryDirectory()
        var file = Self.file
        file.path = "\(root.path)/lamp.yaml"
        try root.write("lamp.yaml", Self.text)
        let half = "\(root.path)/lamp.yaml.d/.90-mediatorctl.yaml.1h2k3j"
        let foreign = "\(root.path)/lamp.yaml.d/.90-mediatorctl.yaml"
        root.make("lamp.yaml.d")
        for path in [half, foreign] {
            try root.write(String(path.dropFirst(root.path.utf8.count + 1)), "# Written by medi")
        }
        let layer = try layer(Self.detach("dim"), over: [file])
        let persisted = try #require(try layer.persisting("dim", in: root.path, files: [file], remark: "A test."))
        _ = try persisted.write()
        #expect(access(half, F_OK) != 0 && access(foreign, F_OK) == 0)
        // A change that leaves nothing works in the same way, and then nothing is left.
        let files = ConfigurationLayers([root.path]).read().files
        let back = try TransientLayer().applying(LinkChange(link: "dim", action: .attachAgain), to: files)
        unlink(foreign)
        try root.write("lamp.yaml.d/.90-mediatorctl.yaml.1h2k3j", "")
        _ = try #require(try back.persisting("dim", in: root.path, files: files, remark: "A test.")).write()
        #expect(access("\(root.path)/lamp.yaml.d", F_OK) != 0)
    }

    @Test func `the first directory that outlasts the daemon is written to`() {
        #expect(ConfigurationLayers.system.persistentDirectory == "/etc/mediatord")
        #expect(ConfigurationLayers(["/run/x", "/srv/y", "/z"]).persistentDirectory == "/srv/y")
        #expect(ConfigurationLayers(["/run"]).persistentDirectory == nil)
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
