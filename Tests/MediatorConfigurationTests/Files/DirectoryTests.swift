import Glibc
import MediatorConfiguration
import Testing
import TestSupport

@Suite struct `A directory` {
    private let directory: TemporaryDirectory

    init() throws { directory = TemporaryDirectory() }

    @Test func `its YAML files are read, sorted by name`() throws {
        try directory.write("b.yml", "b")
        try directory.write("a.yaml", "a")
        try directory.write("c.txt", "c")
        try directory.write(".d.yaml", "d")
        try directory.write("a.yaml~", "e")
        mkdir("\(directory.path)/f.d", 0o700)
        symlink("/dev/null", "\(directory.path)/masked.yaml")
        let files = try ConfigurationDirectory.read(directory.path)
        #expect(
            files == [
                ConfigurationFile(path: "\(directory.path)/a.yaml", text: "a"),
                ConfigurationFile(path: "\(directory.path)/b.yml", text: "b"),
            ])
        #expect(
            try ConfigurationDirectory.read(directory.path + "/")
                == files.map { file in
                    ConfigurationFile(path: file.path, contents: file.contents)
                })
    }

    @Test(arguments: ["b.yaml", "a.yaml.d/b.yml"])
    func `a directory in the place of a file is an error`(name: String) throws {
        try directory.write("a.yaml", "groups: {}")
        mkdir("\(directory.path)/a.yaml.d", 0o700)
        #expect(mkdir("\(directory.path)/\(name)", 0o700) == 0)
        let result = ConfigurationCompiler.compile(directory: directory.path)
        #expect(
            result.diagnostics.map { $0.rendered() } == [
                """
                \(directory.path)/\(name):1:1: error: this is a directory, not a regular file [unreadable]
                  hint: give the directory another name: only files end in .yaml or .yml
                """
            ])
        #expect(result.graph == nil)
        #expect(throws: Diagnostic.self) { try ConfigurationDirectory.read(directory.path) }
    }

    @Test func `an empty directory is an empty configuration`() throws {
        let result = ConfigurationCompiler.compile(directory: directory.path)
        #expect(result.graph?.systems.isEmpty == true)
        #expect(result.files.isEmpty)
    }

    @Test func `a directory is compiled`() throws {
        try directory.write("uplink.yaml", `The format's sketch`.uplink)
        try directory.write("wiring.yaml", `The format's sketch`.wiring)
        try directory.write("others.yaml", `The format's sketch`.others)
        let result = ConfigurationCompiler.compile(directory: directory.path)
        #expect(result.partial.isEmpty)
        #expect(result.graph?.links.count == 5)
        #expect(result.files.count == 3)
    }

    @Test func `a directory that is not there is an error`() {
        let result = ConfigurationCompiler.compile(directory: "/nowhere/at/all")
        #expect(
            result.diagnostics.map { $0.rendered() } == [
                """
                error: cannot read the directory '/nowhere/at/all': No such file or directory [unreadable]
                  hint: is the path right?
                """
            ])
        #expect(result.graph == nil)
        #expect(result.diagnostics.map(\.errorNumber) == [ENOENT])
        #expect(throws: Diagnostic.self) { try ConfigurationDirectory.read("/nowhere/at/all") }
    }

    @Test func `a file is no directory`() throws {
        try directory.write("a.yaml", "")
        let result = ConfigurationCompiler.compile(directory: "\(directory.path)/a.yaml")
        #expect(
            result.diagnostics.map { $0.rendered() } == [
                """
                error: cannot read the directory '\(directory.path)/a.yaml': Not a directory [unreadable]
                  hint: give the directory that holds the files
                """
            ])
    }

    @Test func `what cannot be read is reported beside the other mistakes`() throws {
        mkfifo("\(directory.path)/pipe.yaml", 0o600)
        symlink("/nowhere/at/all", "\(directory.path)/dangling.yaml")
        try directory.write("a.yaml", "system: a\nstates: { A: {} }\ninitialState: B")
        try directory.write("large.yaml", String(repeating: "#", count: ConfigurationLimits.fileSize + 1))
        try directory.write("wiring.yaml", "links: { l: { attach: x, to: y, onState: A, emitValue: z } }")
        let result = ConfigurationCompiler.compile(directory: directory.path)
        let printed = result.diagnostics.map { $0.rendered().replacing(directory.path, with: "") }
        #expect(
            printed == [
                """
                /a.yaml:3:15: error: 'a' has no state 'B' [unknown-state]
                  initialState: B
                                ^
                  hint: possible here: A
                """,
                """
                /dangling.yaml:1:1: error: cannot open '/dangling.yaml': No such file or directory [unreadable]
                  hint: is the path right?
                """,
                "/large.yaml:1:1: error: this file has more than the 1048576 bytes that are allowed [too-large]",
                "/pipe.yaml:1:1: error: this is not a regular file [unreadable]",
            ])
        #expect(result.diagnostics.map(\.errorNumber) == [nil, ENOENT, nil, nil])
    }
}
