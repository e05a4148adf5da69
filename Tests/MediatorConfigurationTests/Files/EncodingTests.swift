import MediatorConfiguration
import Testing

@Suite struct `Encoding` {
    @Test(
        arguments: [
            (
                Array("system: disk\ndescription: caf".utf8) + [0xE9, 0x0A],
                """
                a.yaml:2:17: error: the byte 0xE9 is not UTF-8 [encoding]
                  description: caf\u{FFFD}
                                  ^
                  hint: save the file as UTF-8
                """
            ),
            (
                Array("description: a\u{07}b".utf8),
                """
                a.yaml:1:15: error: the control character U+0007 is not allowed in YAML [encoding]
                  description: a b
                                ^
                  hint: delete it, or write it as an escape in double quotes
                """
            ),
            (
                [0x73, 0x00, 0x79, 0x00],
                """
                a.yaml:1:2: error: the file has a NUL byte: it is not text, or is UTF-16 [encoding]
                  s y
                   ^
                  hint: save the file as UTF-8
                """
            ),
            (
                [0xFF, 0xFE, 0x73],
                """
                a.yaml:1:1: error: the file is UTF-16 or UTF-32, not UTF-8 [encoding]
                  \u{FFFD}\u{FFFD}s
                  ^
                  hint: save the file as UTF-8
                """
            ),
            (
                Array("a: \u{80}é".utf8),
                """
                a.yaml:1:4: error: U+0080 is not allowed in YAML [encoding]
                  a:  é
                     ^
                  hint: delete it, or write it as an escape in double quotes
                """
            ),
        ] as [([UInt8], String)])
    func `what is not UTF-8 text is refused`(bytes: [UInt8], expected: String) {
        let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", contents: bytes)])
        #expect(result.diagnostics.map { $0.rendered() } == [expected])
        #expect(result.graph == nil)
    }

    @Test(
        arguments: [
            [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0x80],
            [0xFE],
        ] as [[UInt8]])
    func `overlong, cut and impossible sequences are refused`(bytes: [UInt8]) {
        let contents = Array("é: ".utf8) + bytes
        let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", contents: contents)])
        #expect(result.diagnostics.map(\.code) == [.encoding])
        #expect(result.diagnostics.first?.location?.column == 4)
    }

    @Test func `a byte order mark is accepted`() throws {
        let system = try system("\u{FEFF}system: a\nstates: { A: {} }\ninitialState: A")
        #expect(system.source == SourceLocation(file: "a.yaml", line: 1, column: 9))
    }

    @Test func `columns count characters, not bytes`() throws {
        let result = compile("# äöü €\nsystem: a\nstates: { A: {} }\ninitialState: { \"ä😀\": {} }")
        #expect(result.diagnostics.first?.location == SourceLocation(file: "a.yaml", line: 4, column: 17))
        #expect(result.diagnostics.first?.caretLength == 4)
    }

    @Test func `a name that is too long is refused`() throws {
        let name = String(repeating: "x", count: 129)
        let diagnostic = try #require(compile("system: \(name)\nstates: { A: {} }\ninitialState: A").diagnostics.first)
        #expect(diagnostic.code == .invalidName)
        #expect(compile("system: \(name.dropLast())\nstates: { A: {} }\ninitialState: A").diagnostics.isEmpty)
    }
}
