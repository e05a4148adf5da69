import CommonExpression
import Glibc
import MediatorConfiguration
import Testing
import TestSupport

@Suite struct `Layers of directories` {
    private let root: TemporaryDirectory

    init() throws { root = TemporaryDirectory() }

    private var layers: ConfigurationLayers {
        ConfigurationLayers(["etc", "run", "local", "lib"].map { "\(root.path)/\($0)" }, mustExist: false)
    }

    /// The files, as `file: text` and `file < drop-in: text`, without the root.
    private func read() -> [String] {
        layers.read().files.flatMap { file in
            let path = file.path.dropFirst(root.path.count + 1)
            return ["\(path): \(String(decoding: file.contents, as: UTF8.self))"]
                + file.dropIns.map { dropIn in
                    "\(path) < \(dropIn.path.dropFirst(root.path.count + 1)): "
                        + String(decoding: dropIn.contents, as: UTF8.self)
                }
        }
    }

    private func diagnostics() -> [String] {
        layers.read().diagnostics.sorted().map { $0.rendered().replacing(root.path + "/", with: "") }
    }

    @Test func `the system's are systemd's, the administrator's first`() {
        #expect(
            ConfigurationLayers.system.directories == [
                "/etc/mediatord", "/run/mediatord", "/usr/local/lib/mediatord", "/usr/lib/mediatord",
            ])
        #expect(!ConfigurationLayers.system.mustExist)
    }

    @Test(arguments: [
        (["lib"], "lib"), (["lib", "local"], "local"), (["lib", "local", "run"], "run"),
        (["lib", "local", "run", "etc"], "etc"), (["lib", "etc"], "etc"),
    ])
    func `a file replaces one of its name in a lower layer`(present: [String], winner: String) throws {
        for layer in present { try root.add("\(layer)/a.yaml", layer) }
        try root.add("lib/b.yaml", "b")
        #expect(read() == ["\(winner)/a.yaml: \(winner)", "lib/b.yaml: b"])
        #expect(diagnostics() == [])
    }

    @Test(arguments: ["", "bravo", "alphabet", "alph", "alpha"])
    func `a file that is read again holds what is there now`(text: String) throws {
        try root.add("etc/a.yaml", "alpha")
        try root.add("etc/b.yaml", "b")
        let before = layers.read()
        try root.add("etc/a.yaml", text)
        let again = layers.read(reusing: before)
        #expect(again.files == layers.read().files)
        // Equal texts are not kept twice.
        func place(_ contents: ConfigurationLayers.Contents) -> UnsafeRawPointer? {
            contents.files.last?.contents.withUnsafeBytes { $0.baseAddress }
        }
        #expect(place(again) == place(before))
        #expect(place(layers.read()) != place(before))
    }

    @Test func `an empty file and a link to nowhere mask`() throws {
        for name in ["a.yaml", "b.yaml", "c.yaml"] {
            try root.add("lib/\(name)", "text")
            try root.add("lib/\(name).d/x.yaml", "drop-in")
        }
        try root.add("etc/a.yaml", "")
        symlink("/dev/null", "\(root.path)/etc/b.yaml")
        #expect(read() == ["lib/c.yaml: text", "lib/c.yaml < lib/c.yaml.d/x.yaml: drop-in"])
        #expect(diagnostics() == [])
        let masked = layers.read().masked
        #expect(masked.map(\.name) == ["a.yaml", "b.yaml"])
        #expect(masked.map(\.mask) == ["\(root.path)/etc/a.yaml", "\(root.path)/etc/b.yaml"])
        #expect(masked.map(\.paths) == [["\(root.path)/lib/a.yaml"], ["\(root.path)/lib/b.yaml"]])
    }

    @Test func `a mask that is overridden masks nothing`() throws {
        try root.add("lib/a.yaml", "")
        try root.add("etc/a.yaml", "text")
        #expect(read() == ["etc/a.yaml: text"])
        #expect(layers.read().masked.isEmpty)
    }

    @Test func `a file with nothing but a comment replaces, and is none that masks`() throws {
        try root.add("lib/a.yaml", "text")
        try root.add("etc/a.yaml", "# nothing\n")
        #expect(read() == ["etc/a.yaml: # nothing\n"])
    }

    @Test func `a directory named like a file is an error, and does not let the next one through`() throws {
        try root.add("lib/a.yaml", "text")
        root.make("etc/a.yaml")
        #expect(read() == [])
        #expect(layers.read().diagnostics.map(\.message) == ["this is a directory, not a regular file"])
    }

    @Test func `drop-ins of all layers apply in the order of their names`() throws {
        try root.add("run/a.yaml", "text")
        try root.add("lib/a.yaml.d/50-b.yaml", "1")
        try root.add("etc/a.yaml.d/10-a.yaml", "2")
        try root.add("local/a.yaml.d/60-c.yml", "3")
        try root.add("run/a.yaml.d/20.yaml", "4")
        try root.add("run/a.yaml.d/.hidden.yaml", "5")
        try root.add("run/a.yaml.d/20.conf", "6")
        #expect(
            read() == [
                "run/a.yaml: text", "run/a.yaml < etc/a.yaml.d/10-a.yaml: 2", "run/a.yaml < run/a.yaml.d/20.yaml: 4",
                "run/a.yaml < lib/a.yaml.d/50-b.yaml: 1", "run/a.yaml < local/a.yaml.d/60-c.yml: 3",
            ])
    }

    @Test func `a drop-in replaces and masks one of its name in a lower layer`() throws {
        try root.add("lib/a.yaml", "text")
        for name in ["1.yaml", "2.yaml", "3.yaml"] { try root.add("lib/a.yaml.d/\(name)", "lib") }
        try root.add("run/a.yaml.d/1.yaml", "run")
        try root.add("etc/a.yaml.d/2.yaml", "")
        symlink("/dev/null", "\(root.path)/etc/a.yaml.d/3.yaml")
        #expect(read() == ["lib/a.yaml: text", "lib/a.yaml < run/a.yaml.d/1.yaml: run"])
    }

    @Test func `drop-ins without a file are warned of, with the likely one`() throws {
        try root.add("lib/disk-guard.yaml", "text")
        try root.add("etc/disk-gaurd.yaml.d/x.yaml", "a")
        try root.add("etc/disk-guard.d/x.yaml", "a")
        try root.add("etc/other.d/x.yaml", "a")
        try root.add("etc/empty.yaml.d/x.conf", "a")
        #expect(
            diagnostics() == [
                """
                etc/disk-gaurd.yaml.d/x.yaml:1:1: warning: there is no file 'disk-gaurd.yaml' that this drop-in could \
                change [unused-drop-in]
                  hint: did you mean 'disk-guard.yaml.d'?
                """,
                """
                etc/disk-guard.d:1:1: warning: this directory's files are not read [unused-drop-in]
                  hint: drop-ins of 'disk-guard.yaml' lie in 'disk-guard.yaml.d'
                """,
            ])
        #expect(read() == ["lib/disk-guard.yaml: text"])
    }

    @Test func `a drop-in that is called as those of systemd is warned of`() throws {
        try root.add("lib/lamp.yaml", "text")
        try root.add("etc/lamp.yaml.d/10-own.conf", "a")
        try root.add("etc/lamp.yaml.d/README", "a")
        // This is no directory, and nothing to complain of.
        try root.add("run/lamp.yaml.d", "a")
        #expect(
            diagnostics() == [
                """
                etc/lamp.yaml.d/10-own.conf:1:1: warning: this file is not read [unused-drop-in]
                  hint: call it 10-own.yaml: drop-ins end in .yaml or .yml
                """
            ])
    }

    @Test func `what is not configuration lies beside it undisturbed`() throws {
        try root.add("run/io.mediatord.Control", "a socket")
        try root.add("run/a.yaml", "text")
        #expect(read() == ["run/a.yaml: text"])
        #expect(diagnostics() == [])
    }

    @Test func `no layer at all is an empty configuration, a directory of one's own must be there`() {
        #expect(read() == [])
        let message =
            "there is no configuration file in 'etc', 'run', 'local' or 'lib'; files must end in .yaml or .yml"
        #expect(diagnostics() == ["warning: \(message) [no-files]"])
        let own = ConfigurationLayers(["\(root.path)/nowhere"]).read()
        #expect(own.diagnostics.map(\.code) == [.unreadable])
    }

    @Test func `nothing but masks is an empty configuration, too`() throws {
        try root.add("etc/a.yaml", "")
        try root.add("lib/a.yaml", "text")
        #expect(read() == [])
        let message = "every configuration file in 'etc', 'run', 'local' and 'lib' is empty"
        #expect(diagnostics() == ["warning: \(message) [no-files]"])
    }

    @Test func `nothing but comments is an empty configuration, too`() throws {
        try root.add("etc/a.yaml", "\u{FEFF}# One.\r\n\n  # Two.\n--- # Three.\n...\n")
        let message = "only comments are in the configuration files of 'etc', 'run', 'local' and 'lib'"
        #expect(diagnostics() == ["warning: \(message) [no-files]"])
        try root.add("lib/a.yaml.d/1.yaml", "buses: {}")
        #expect(diagnostics() == [])
    }

    @Test func `a file that cannot be read does not make way for the one it overrides`() throws {
        try root.add("lib/a.yaml", "text")
        root.make("etc")
        symlink("\(root.path)/gone", "\(root.path)/etc/a.yaml")
        #expect(read() == [])
        #expect(
            diagnostics().map { $0.prefix { $0 != "\n" } } == [
                "etc/a.yaml:1:1: error: cannot open 'etc/a.yaml': No such file or directory [unreadable]"
            ])
    }

    @Test(.timeLimit(.minutes(5))) func `a thousand files and a thousand drop-ins are compiled soon`() throws {
        root.make("lib")
        for index in 0..<1000 {
            try root.write("lib/s\(index).yaml", "system: s\(index)\nstates: { A: {}, B: {} }\ninitialState: A\n")
            root.make("etc/s\(index).yaml.d")
            try root.write("etc/s\(index).yaml.d/x.yaml", "system: s\(index)\ninitialState: B\n")
        }
        try root.add("lib/wiring.yaml", "buses: { b: { kind: currentValue, value: int, initial: 0 } }\n")
        root.make("etc/wiring.yaml.d")
        for index in 0..<1000 {
            try root.write("etc/wiring.yaml.d/\(index + 10_000).yaml", "buses: { b: { initial: \(index) } }\n")
        }
        var result: CompilationResult?
        let duration = ContinuousClock().measure { result = ConfigurationCompiler.compile(layers: layers) }
        let graph = try #require(result?.graph)
        #expect(result?.partial == [])
        #expect(graph.systems.count == 1000)
        #expect(graph.systems.allSatisfy { $0.initialState.state == 1 })
        #expect(graph.buses.first?.initial == .int(999))
        #expect(result?.files.count == 3001)
        // A debug build on a busy machine needs about three seconds; anything quadratic needs minutes.
        #expect(duration < .seconds(60))
    }
}

@Suite struct `A merged configuration` {
    @Test func `places in a long line that is not ASCII are found in linear time`() {
        let count = 60_000
        let items = Array(repeating: "\"ü\"", count: count).joined(separator: ",")
        let file = ConfigurationFile(path: "a.yaml", text: "{links: [\(items)]}")
        var merged: MergedConfiguration?
        let duration = ContinuousClock().measure { merged = ConfigurationCompiler.merged(files: [file]) }
        guard case .list(let list)? = merged?.documents.first?.root["links"]?.content else {
            Issue.record("no list")
            return
        }
        let column = list.last?.source.column
        #expect(column == 10 + (count - 1) * 4)
        // A debug build needs about a second; counting each column from the line's start, minutes.
        #expect(duration < .seconds(20))
    }

    @Test func `a part is found under each of its names`() {
        var file = ConfigurationFile(
            path: "/etc/a.yaml", text: "system: s\n---\nbuses: { b: {}, c: {} }\nlinks: { l: {} }\n")
        file.dropIns = [ConfigurationFile(path: "/run/a.yaml.d/1.yaml", text: "links: { m: {} }")]
        let merged = ConfigurationCompiler.merged(files: [
            file, ConfigurationFile(path: "/etc/z.yaml", text: "buses: {}"),
        ])
        #expect(merged.names == ["a.yaml", "b", "c", "l", "m", "s", "z.yaml"])
        #expect(merged.documents.map(\.dropIns) == [[], ["/run/a.yaml.d/1.yaml"], []])
        for (name, count) in [("a.yaml", 2), ("/etc/a.yaml", 2), ("s", 1), ("c", 1), ("m", 1), ("z.yaml", 1)] {
            let (selection, unknown) = merged.selecting([name])
            #expect(selection.documents.count == count, "\(name)")
            #expect(unknown.isEmpty)
        }
        #expect(merged.selecting(["c"]).selection.documents[0].root["buses"]?.entries.map(\.key) == ["c"])
        #expect(merged.selecting(["x", "s"]).unknown == ["x"])
    }

    @Test func `all instances of a template are found with it`() {
        let merged = ConfigurationCompiler.merged(files: [
            ConfigurationFile(path: "/etc/a.yaml", text: "system: t@\n---\nsystem: u@\n"),
            ConfigurationFile(path: "/etc/b.yaml", text: "instances: { t@one: {}, u@one: {}, t@two: {} }\n"),
        ])
        let (selection, unknown) = merged.selecting(["t@*"])
        #expect(unknown == [])
        #expect(selection.documents.compactMap(\.system) == ["t@"])
        #expect(selection.documents.last?.root["instances"]?.entries.map(\.key) == ["t@one", "t@two"])
        #expect(merged.selecting(["v@*"]).unknown == ["v@*"])
    }
}
