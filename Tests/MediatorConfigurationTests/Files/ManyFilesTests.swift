import MediatorConfiguration
import Testing

@Suite struct `Several files` {
    private func messages(_ files: (String, String)...) -> String {
        let files = files.map { ConfigurationFile(path: $0.0, text: $0.1) }
        return ConfigurationCompiler.compile(files: files).diagnostics.map { $0.rendered() }.joined(separator: "\n")
    }

    private static let disk = """
        system: disk
        states: { Normal: {}, Full: {} }
        events: { Cleaned: {} }
        initialState: Normal

        """

    @Test func `all mistakes of all files come at once, sorted by file, line and column`() {
        let printed = messages(
            (
                "b.yaml",
                """
                links:
                  a: { attach: disk, to: status, onState: Ful, emitValue: x }
                  b: { attach: dsk, to: statu, onState: Full, emitValue: 3 }
                """
            ),
            ("c.yaml", "buses: { status: { kind: passthrough, value: string } }\nlinks: [\n"),
            ("a.yaml", Self.disk + "transitions: { Full: { Cleaned: Norml, Clened: Normal } }\nredy: Normal\n"))
        #expect(
            printed == """
                a.yaml:5:33: error: 'disk' has no state 'Norml' [unknown-state]
                  transitions: { Full: { Cleaned: Norml, Clened: Normal } }
                                                  ^~~~~
                  hint: did you mean 'Normal'?
                a.yaml:5:40: error: 'disk' has no event 'Clened' [unknown-event]
                  transitions: { Full: { Cleaned: Norml, Clened: Normal } }
                                                         ^~~~~~
                  hint: did you mean 'Cleaned'?
                a.yaml:6:1: error: a system has no key 'redy' [unknown-key]
                  redy: Normal
                  ^~~~
                  hint: did you mean 'ready'?
                b.yaml:2:43: error: 'disk' has no state 'Ful' [unknown-state]
                    a: { attach: disk, to: status, onState: Ful, emitValue: x }
                                                            ^~~
                  hint: did you mean 'Full'?
                b.yaml:3:16: error: there is no system 'dsk' [unknown-system]
                    b: { attach: dsk, to: statu, onState: Full, emitValue: 3 }
                                 ^~~
                  hint: did you mean 'disk'?
                c.yaml:2:8: error: this '[' is never closed [syntax]
                  links: [
                         ^
                """)
    }

    @Test func `two of one name name both places`() {
        let bus = "buses: { status: { kind: passthrough, value: string } }\n"
        let link = "links: { l: { attach: disk, to: status, onState: Full, emitValue: x } }\n"
        let printed = messages(
            ("a.yaml", Self.disk + "---\n" + bus + link), ("b.yaml", Self.disk + "---\n" + bus + link))
        #expect(
            printed == """
                b.yaml:1:9: error: there is a system 'disk' already, at a.yaml:1:9 [duplicate-name]
                  system: disk
                          ^~~~
                  note: b.yaml:6:10: there is a bus 'status' already, at a.yaml:6:10
                  note: b.yaml:7:10: there is a link 'l' already, at a.yaml:7:10
                  hint: rename one of each two, or remove one of the files
                """)
    }

    @Test func `of a long copy the first names are told, and how many others there are`() {
        let buses =
            "buses:\n" + (1...20).map { "  b\($0): { kind: passthrough, value: string, fromOutside: both }\n" }.joined()
        let printed = messages(("a.yaml", buses), ("b.yaml", buses))
        #expect(printed.hasPrefix("b.yaml:2:3: error: there is a bus 'b1' already, at a.yaml:2:3 [duplicate-name]\n"))
        #expect(printed.contains("  note: b.yaml:10:3: there is a bus 'b9' already, at a.yaml:10:3\n"))
        #expect(
            printed.hasSuffix("note: and at 3 more places\n  hint: rename one of each two, or remove one of the files"))
    }

    @Test func `an unreadable file silences those who refer to what it may hold`() {
        let broken = ConfigurationFile(path: "a.yaml", contents: [0xFF, 0xFE, 0x00])
        let links = ConfigurationFile(
            path: "b.yaml", text: "links: { l: { attach: disk, to: status, onState: Full, emitValue: x } }")
        let result = ConfigurationCompiler.compile(files: [broken, links])
        #expect(result.diagnostics.map(\.code) == [.encoding])
    }

    @Test func `a broken document hides no other document of its file`() {
        let text = (0..<5).map {
            "system: s\($0)\nstates: {\n---\nsystem: t\($0)\nstates: { A: {} }\ninitialState: B\n"
        }
        let result = compile(text.joined(separator: "---\n"))
        #expect(result.diagnostics.filter { $0.code == .syntax }.count == 5)
        #expect(result.diagnostics.filter { $0.code == .unknownState }.count == 5)
    }

    @Test func `empty files, empty documents and comments are nothing`() throws {
        for text in ["", "\n\n", "# nothing\n", "---\n---\n...\n", "~\n", "\u{FEFF}", "{}"] {
            let graph = try graph(text)
            #expect(graph.systems.isEmpty)
        }
    }

    @Test func `a thousand systems in a thousand files compile quickly`() throws {
        let files = (0..<1000).map { number in
            ConfigurationFile(
                path: "system-\(number).yaml",
                text: `The format's sketch`.uplink.replacing("system: uplink", with: "system: uplink-\(number)"))
        }
        let clock = ContinuousClock()
        var result: CompilationResult?
        let duration = clock.measure { result = ConfigurationCompiler.compile(files: files) }
        #expect(result?.partial.isEmpty == true)
        #expect(result?.graph?.systems.count == 1000)
        // A debug build on a busy machine needs about two seconds; anything quadratic needs minutes.
        #expect(duration < .seconds(30))
    }

    @Test func `more files than allowed are refused`() {
        let files = Array(repeating: ConfigurationFile(path: "a", text: ""), count: ConfigurationLimits.files + 1)
        let result = ConfigurationCompiler.compile(files: files)
        #expect(
            result.diagnostics.map { $0.rendered() }
                == ["error: 10001 files are more than the 10000 that are allowed [too-large]"])
        #expect(result.graph == nil)
    }
}
