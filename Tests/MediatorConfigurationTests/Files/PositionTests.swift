import MediatorConfiguration
import Testing

@Suite struct `Positions` {
    /// The first line and column of `oops` in a text, columns in Unicode scalars.
    private func place(in text: String) -> (line: Int, column: Int)? {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let scalars = Array(line.unicodeScalars)
            for start in scalars.indices where scalars[start...].starts(with: "oops".unicodeScalars) {
                return (index + 1, start + 1)
            }
        }
        return nil
    }

    private static func file(_ scalar: String) -> String {
        """
        # Größe
        system: a
        states: { A: {}, B: { text: string } }
        events: { E: { text: string } }
        initialState: A
        feedbacks:
          f:
            onState: B
            log: \(scalar)
        """
    }

    @Test(arguments: [
        "${oops}", "a ${oops} b", "größer ${oops}", "${state.text}${oops}", "'${oops}'", "'it''s ${oops}'",
        "''' ''${oops}'''", "\"${oops}\"", "\"a\\tb\\x41\\u00e4\\U0001F600 ${oops}\"", "\"\\\"${oops}\\\"\"",
        "\"${'\\\\n' + oops}\"", "\"\\/\\_\\N\\L\\P\\e\\0 ${oops}\"",
        "one line\n      and ${oops}", "one line   \n\n\n      and ${oops}", "'one line\n      and ''${oops}'",
        "\"one line\n\n      and ${oops}\"", "\"one line \\\n      and ${oops}\"", "\"kept \\ \n      and ${oops}\"",
        "|\n      ${oops}\n", "|\n      first\n      second ${oops}\n", "|-\n      first\n\n        more ${oops}\n",
        "|+\n\n      first\n\n      ${oops}\n\n", "|2\n       ${oops}\n", "| # comment 3\n      ${oops}\n",
        ">\n      first\n      second ${oops}\n", ">\n      first\n\n      second\n        more\n      ${oops}\n",
        ">-\n      first\n\n\n      ${oops}\n", ">\n\n      first\n        more\n\n        more ${oops}\n",
        "&anchor ${oops}", "&anchor \"é ${oops}\"", "&anchor\n      ${oops}", ">1-\n      first\n      ${oops}\n",
    ])
    func `an expression's mistake is found where it is written`(scalar: String) throws {
        for text in [
            Self.file(scalar), Self.file(scalar).replacing("\n", with: "\r\n"), "\u{FEFF}" + Self.file(scalar),
        ] {
            let result = compile(text)
            #expect(result.diagnostics.count == 1)
            let diagnostic = try #require(result.diagnostics.first)
            #expect(diagnostic.code == .unknownVariable)
            let readable = text.replacing("\r\n", with: "\n").replacing("\u{FEFF}", with: "")
            let expected = try #require(place(in: readable))
            #expect(diagnostic.location?.line == expected.line)
            #expect(diagnostic.location?.column == expected.column)
            #expect(diagnostic.caretLength == 4)
        }
    }

    @Test func `a lone carriage return ends a line`() throws {
        let result = compile("system: a\rstates: { A: {} }\rinitialState: B")
        #expect(result.diagnostics.first?.location == SourceLocation(file: "a.yaml", line: 3, column: 15))
    }

    @Test func `a long line is cut around the mistake`() throws {
        let names = (0..<500).map { "A\($0)" }
        let states = names.map { "\($0): {}" }.joined(separator: ", ")
        let before = names[..<250].joined(separator: ", ")
        let text =
            "system: a\nstates: { \(states) }\ninitialState: A0\n"
            + "ready: [\(before), B, \(names[250...].joined(separator: ", "))]"
        let diagnostic = try #require(compile(text).diagnostics.first)
        let excerpt = try #require(diagnostic.excerpt)
        #expect(excerpt.count < 200)
        #expect(excerpt.hasPrefix("…"))
        #expect(excerpt.hasSuffix("…"))
        #expect(excerpt.dropFirst(diagnostic.caretOffset).first == "B")
        #expect(diagnostic.location?.column == "ready: [\(before), ".count + 1)
    }

    @Test func `control characters never reach a terminal`() throws {
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", contents: Array("system: \u{1B}[31mred\n".utf8))])
        let text = try #require(result.diagnostics.first).rendered()
        #expect(!text.unicodeScalars.contains("\u{1B}"))
    }
}
